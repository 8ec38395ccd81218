//! rodriguez2022: the claims of its figures 9 to 37 and of eq. 20–21, and energy errors of all oscillators.
//!
//! Most figures have no numbers beside them. What the text says of a figure is judged as it is said; values are held against the same
//! scheme in a plain loop that shares no code with the engine.

mod trace;
mod plain;
mod oscillators;
mod rules;
mod pendula;
mod plain_pendula;
mod plain_crane;
mod crane;
mod figures;

pub use figures::FIGURES;

use crate::{Models, Plan, Quantity};
use powerbond::Error;

fn plan(
    id: impl Into<String>,
    case: impl Into<String>,
    measure: impl Fn(&Models) -> Result<Vec<Quantity>, Error> + Send + Sync + 'static,
) -> Plan {
    Plan { id: id.into(), case: case.into(), measure: Box::new(measure) }
}

/// All rows of the suite.
pub fn rows() -> Vec<Plan> {
    let mut plans = oscillators::figures();
    plans.extend(pendula::figures());
    plans.extend(crane::figures());
    plans.extend(rules::rows());
    plans.extend(oscillators::energy_errors());
    plans
}
