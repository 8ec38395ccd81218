//! What inputs jump by at communication points.

use crate::Error;
use crate::catalogue::{Context, Domain, Entry, Kind, Knob, Make, Written, is_discrete, knobs};
use powerbond_core::controller::Ceiling;
use powerbond_core::estimator::{self, ErrorEstimator, Steering};
use powerbond_core::network::Network;
use std::collections::BTreeMap;

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
/// The smallest tolerance that is tried or proposed: below it defects are round-off.
pub const SMALLEST_TOLERANCE: f64 = 1e-10;

/// The jump norm.
pub const JUMP: Entry = Entry {
    kind: Kind::Estimator,
    name: "jump",
    about: "prediction defects of inputs relative to their range so far",
    paper: "",
    knobs: &[
        TOLERANCE,
        Knob {
            name: "kappa",
            domain: Domain::Number { min: 0.0, max: 1e3, open: true },
            rule: Some(|| {
                let held = estimator::Jump::KAPPA;
                format!(
                    "{held}; {GIVEN_BACK} (0.01/tolerance)^(1/4) with correction `give-back` and no means held"
                )
            }),
            unit: "",
            about: "a norm of 1 is a defect of kappa · tolerance",
        },
        Knob {
            name: "steered",
            domain: Domain::Flag,
            rule: Some(|| "with correction `give-back` and no means held".to_owned()),
            unit: "",
            about: "kappa follows the error that the defects so far amount to, from 0.05 to 1 times",
        },
        Knob {
            name: "shared_scales",
            domain: Domain::Flag,
            rule: None,
            unit: "",
            about: "the scale of an input is at least 1 % of the largest of its unit",
        },
    ],
    uses: None,
    plain: || Box::new(Jump::default()),
};

/// κ at a tolerance of 0.01 where what held inputs lacked is given back: the order of the error is one higher than that of the defects.
const GIVEN_BACK: f64 = 2.0;

/// The prediction defects of inputs at communication points against the range in which they have moved.
#[derive(Clone, Debug, PartialEq)]
pub struct Jump {
    /// The wanted error of the coupled outputs, relative to the range in which they move.
    pub tolerance: f64,
    /// κ; `None`: by what becomes of the defects.
    pub kappa: Option<f64>,
    /// κ follows what the defects so far amount to; `None`: by what becomes of the defects.
    pub steered: Option<bool>,
    /// The scale of an input is at least a hundredth of the largest of its unit.
    pub shared_scales: bool,
}

impl Default for Jump {
    fn default() -> Self {
        Jump { tolerance: DEFAULT_TOLERANCE, kappa: None, steered: None, shared_scales: true }
    }
}

knobs!(Jump, JUMP, tolerance, kappa, steered, shared_scales);

/// The first step of a run that the jump norm steers, over its length: it has to find the scales of all inputs.
/// With a ceiling it is the shortest one, too, but for the opening: no run has more than 1e8 steps.
pub const FIRST_STEP: f64 = 1e-8;

impl Make<Option<Box<dyn ErrorEstimator>>> for Jump {
    fn make(
        &mut self,
        _written: &Written,
        context: &Context<'_>,
    ) -> Result<Option<Box<dyn ErrorEstimator>>, Error> {
        let network = context.network;
        let values_only =
            (0..network.n_inputs).map(|i| context.variable_hold && !context.follows(i)).collect();
        let groups = estimator::Jump::groups(network, |i| is_discrete(network, i));
        let mut jump = estimator::Jump::new(self.tolerance, &groups, values_only);
        let raised = context.gives_back && context.judged().all(|i| context.follows(i));
        let kappa =
            if raised { GIVEN_BACK * (0.01 / self.tolerance).powf(0.25) } else { estimator::Jump::KAPPA };
        jump.set_bound(*self.kappa.get_or_insert(kappa) * self.tolerance);
        if *self.steered.get_or_insert(raised) {
            jump.set_steering(Steering::new(self.tolerance, network, context.refresh, context.judged()));
        }
        jump.set_opening(Ceiling::OPENING * FIRST_STEP * context.duration);
        if self.shared_scales {
            jump.share_scales(units(network));
        }
        Ok(Some(Box::new(jump)))
    }
}

/// Numbers of inputs that are the same where units are; what has none is alone.
fn units(network: &Network) -> Vec<u32> {
    let mut known: BTreeMap<&str, u32> = BTreeMap::new();
    let mut next = 0..;
    let mut number = |i: usize| {
        let unit = network.input_variable(i).unit.as_ref().map(|unit| unit.symbol.as_str());
        match unit.filter(|unit| !unit.is_empty() && *unit != "1") {
            Some(unit) => *known.entry(unit).or_insert_with(|| next.next().unwrap_or(u32::MAX)),
            None => next.next().unwrap_or(u32::MAX),
        }
    };
    (0..network.n_inputs).map(&mut number).collect()
}
