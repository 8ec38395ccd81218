//! Give-back: what the integral of a held input lacked is returned.

use crate::Error;
use crate::catalogue::{Context, Entry, Kind, Make, Written, is_discrete, knobs};
use powerbond_core::correction::{self, InputCorrection};

/// Give-back.
pub const GIVE_BACK: Entry = Entry {
    kind: Kind::Correction,
    name: "give-back",
    about: "what the integral of a held input lacked in a step is returned over the next: NEPCE with exact weights",
    paper: "after sadjina2020 eq. 11",
    knobs: &[],
    uses: None,
    plain: || Box::new(GiveBack),
};

/// What the integral of a held input lacked in a step is returned over the next one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GiveBack;

knobs!(GiveBack, GIVE_BACK);

impl Make<Option<Box<dyn InputCorrection>>> for GiveBack {
    fn make(
        &mut self,
        _written: &Written,
        context: &Context<'_>,
    ) -> Result<Option<Box<dyn InputCorrection>>, Error> {
        let Context { network, refresh, .. } = context;
        let takes = |i: usize| context.follows(i) && !is_discrete(network, i);
        Ok(Some(Box::new(correction::GiveBack::new(network, refresh, takes))))
    }
}
