//! How held inputs are corrected: one file per method, its entry beside its make.

mod none;
mod nepce;
mod energy;
mod give_back;

pub use energy::{Cap, ENERGY, Energy};
pub use give_back::{GIVE_BACK, GiveBack};
pub use nepce::{Gains, NEPCE, Nepce};
pub use none::{NONE, Off};

use super::part::choice;
use super::{Chosen, Kind};
use crate::Error;
use powerbond_core::correction::InputCorrection;
use powerbond_core::network::{Names, Network};

choice!(
    /// How held inputs are corrected.
    Correction,
    Kind::Correction,
    Option<Box<dyn InputCorrection>>,
    [Off, GiveBack, Nepce, Energy]
);

impl Correction {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        matches!(self, Correction::Off(_))
    }

    /// Whether it is give-back.
    pub fn gives_back(&self) -> bool {
        matches!(self, Correction::GiveBack(_))
    }

    /// Where it takes ∂y/∂u from.
    pub fn gains(&self) -> &Gains {
        match self {
            Correction::Nepce(nepce) => &nepce.feed_through,
            Correction::Off(_) | Correction::GiveBack(_) | Correction::Energy(_) | Correction::Own(_) => {
                &Gains::Ignored
            }
        }
    }
}

impl Chosen<Correction> {
    /// Enters where the correction wants the gains of feed-through to come from.
    pub fn settle_gains(&self, network: &mut Network, names: &Names) -> Result<(), Error> {
        match &self.value {
            Correction::Nepce(nepce) => nepce.settle_gains(&self.written, network, names),
            Correction::Off(_) | Correction::GiveBack(_) | Correction::Energy(_) | Correction::Own(_) => {
                Ok(())
            }
        }
    }
}
