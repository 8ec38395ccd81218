//! Outputs against what the past predicts.

use crate::Error;
use crate::catalogue::knob::LARGEST;
use crate::catalogue::{Context, Domain, Entry, Kind, Knob, Make, PerVariable, Written, knobs};
use powerbond_core::estimator::{self, ErrorEstimator, OutputTolerance};

/// The predictor.
pub const PREDICTOR: Entry = Entry {
    kind: Kind::Estimator,
    name: "predictor",
    about: "outputs of a step compared with their extrapolation",
    paper: "sadjina2017 eq. 16–17",
    knobs: &[
        Knob {
            name: "tolerance",
            domain: Domain::NumberByName { min: 1.0 / LARGEST, max: LARGEST, open: false },
            rule: Some(|| format!("{RELATIVE:e} of the output's nominal value")),
            unit: "the unit of the output",
            about: "TOL; a number, or a table by output",
        },
        Knob {
            name: "rho",
            domain: Domain::NumberByName { min: 0.0, max: LARGEST, open: false },
            rule: Some(|| format!("{RHO:e}")),
            unit: "1/unit of the output",
            about: "ρ, weight of the output's magnitude; a number, or a table by output",
        },
        Knob {
            name: "order",
            domain: Domain::Number { min: 0.0, max: HIGHEST, open: false },
            rule: Some(|| "hold + 1".to_owned()),
            unit: "",
            about: "order of the polynomial through past outputs: 0, 1, 2 or 3",
        },
    ],
    uses: None,
    plain: || Box::new(Predictor::default()),
};

/// TOL over the nominal value, and ρ, where none is given.
const RELATIVE: f64 = 1e-3;
const RHO: f64 = 1e-4;
/// The highest order.
const HIGHEST: f64 = 3.0;

/// What a step returned against what the past predicted. Sadjina 2017, eq. 16–17.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Predictor {
    /// TOL, in the unit of the output; `None`: a share of its nominal value.
    pub tolerance: Option<PerVariable>,
    /// ρ, weight of the output's size, per unit of the output.
    pub rho: Option<PerVariable>,
    /// Order of the polynomial through past outputs, an integer; `None`: one more than the hold.
    pub order: Option<f64>,
}

knobs!(Predictor, PREDICTOR, tolerance, rho, order);

impl Make<Option<Box<dyn ErrorEstimator>>> for Predictor {
    fn make(
        &mut self,
        written: &Written,
        context: &Context<'_>,
    ) -> Result<Option<Box<dyn ErrorEstimator>>, Error> {
        let outputs = &context.names.outputs;
        let relative = |o: usize| RELATIVE * context.nominal(o);
        let place = |knob: &str| written.knob(knob);
        let tolerance =
            context.per_variable(&mut self.tolerance, place("tolerance"), outputs, "output", relative)?;
        let rho = context.per_variable(&mut self.rho, place("rho"), outputs, "output", |_| RHO)?;
        let both = tolerance.iter().zip(&rho).map(|(&absolute, &rho)| OutputTolerance { absolute, rho });
        let mut predictor = estimator::Predictor::new(both.collect(), context.hold_order());
        let order = *self.order.get_or_insert(f64::from(predictor.order));
        if order.fract() != 0.0 {
            let message = format!("`order` is {order}; expected 0, 1, 2 or 3");
            return Err(Error::input(written.knob("order"), message));
        }
        predictor.order = order as u8;
        Ok(Some(Box::new(predictor)))
    }
}
