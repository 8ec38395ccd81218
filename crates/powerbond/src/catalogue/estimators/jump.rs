//! What inputs jump by at communication points.

use crate::Error;
use crate::catalogue::{Context, Domain, Entry, Kind, Knob, Make, Written, is_discrete, knobs};
use powerbond_core::estimator::{self, ErrorEstimator};
use powerbond_core::hold::InputFeed;

/// Of the jump norm, and of the whole method that it steers.
pub const TOLERANCE: Knob = Knob {
    name: "tolerance",
    domain: Domain::Number { min: 0.0, max: 0.999, open: true },
    rule: None,
    unit: "",
    about: "wanted error of the coupled outputs, relative to the range in which they move",
};

/// The tolerance where none is given.
pub const DEFAULT_TOLERANCE: f64 = 1e-3;

/// The jump norm.
pub const JUMP: Entry = Entry {
    kind: Kind::Estimator,
    name: "jump",
    about: "prediction defects of inputs relative to their range so far",
    paper: "",
    knobs: &[TOLERANCE],
    uses: None,
    plain: || Box::new(Jump::default()),
};

/// The prediction defects of inputs at communication points against the range in which they have moved.
#[derive(Clone, Debug, PartialEq)]
pub struct Jump {
    /// The wanted error of the coupled outputs, relative to the range in which they move.
    pub tolerance: f64,
}

impl Default for Jump {
    fn default() -> Self {
        Jump { tolerance: DEFAULT_TOLERANCE }
    }
}

knobs!(Jump, JUMP, tolerance);

/// The first step of a run that the jump norm steers, over its length: it has to find the scales of all inputs.
pub const FIRST_STEP: f64 = 1e-6;

impl Make<Option<Box<dyn ErrorEstimator>>> for Jump {
    fn make(
        &mut self,
        _written: &Written,
        context: &Context<'_>,
    ) -> Result<Option<Box<dyn ErrorEstimator>>, Error> {
        let follows = |feed: &InputFeed| matches!(feed, InputFeed::Derivatives(_) | InputFeed::Radau);
        let values_only = context.feeds.iter().map(|feed| !follows(feed)).collect();
        let groups = estimator::Jump::groups(context.network, |i| is_discrete(context.network, i));
        let small = 10.0 * FIRST_STEP * context.duration;
        Ok(Some(Box::new(estimator::Jump::new(self.tolerance, &groups, values_only, small))))
    }
}
