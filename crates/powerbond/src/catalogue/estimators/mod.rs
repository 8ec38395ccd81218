//! How wrong a step was: one file per method, its entry beside its make.

mod none;
mod energy;
mod predictor;
mod jump;
mod libcosim;
mod richardson;

pub use energy::{ENERGY, ENERGY_SCALE, ENERGY_TOLERANCE, Energy};
pub use jump::{DEFAULT_TOLERANCE, FIRST_STEP, JUMP, Jump, SMALLEST_TOLERANCE, TOLERANCE};
pub use libcosim::{LIBCOSIM, Libcosim};
pub use none::{NONE, Off};
pub use predictor::{PREDICTOR, Predictor};
pub use richardson::{RICHARDSON, Richardson};

use super::Kind;
use super::part::choice;
use powerbond_core::estimator::{Constants, ErrorEstimator};

choice!(
    /// How wrong a step was.
    Estimator,
    Kind::Estimator,
    Option<Box<dyn ErrorEstimator>>,
    [Off, Energy, Predictor, Jump, Richardson, Libcosim]
);

impl Estimator {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        matches!(self, Estimator::Off(_))
    }

    /// Whether it compares pairs of steps with big ones.
    pub fn compares_pairs(&self) -> bool {
        matches!(self, Estimator::Richardson(_))
    }

    /// Whether it divides all outputs by the constants that arnold2013 prints.
    pub fn has_published_constants(&self) -> bool {
        matches!(self, Estimator::Richardson(Richardson { constants: Constants::Published, .. }))
    }
}
