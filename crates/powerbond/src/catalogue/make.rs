//! From chosen methods to the policies of the engine: every entry knows how its policy is made.

use super::{Context, Kind, PolicySpec, of_kind};
use crate::Error;
use crate::source::At;
use crate::system::Method;
use powerbond_core::controller::StepController;
use powerbond_core::correction::InputCorrection;
use powerbond_core::estimator::ErrorEstimator;
use powerbond_core::hold::Hold;
use powerbond_core::step::Schedule;

/// Makes a policy with its knobs for a system.
pub type MakeOf<T> = fn(&PolicySpec, &Context<'_>) -> Result<T, Error>;

/// How a method becomes a policy.
#[derive(Clone, Copy, Debug)]
pub enum Make {
    /// A choice of all the others, from the tolerance if one is given.
    Method(fn(Option<At<f64>>) -> Method),
    /// Who steps when.
    Schedule(MakeOf<Schedule>),
    /// How inputs are held.
    Hold {
        /// The order; `None` if it varies.
        order: Option<u8>,
        /// Holds every input with its order of the context.
        make: fn(&Context<'_>) -> Box<dyn Hold>,
    },
    /// How held inputs are corrected, if they are.
    Correction(MakeOf<Option<Box<dyn InputCorrection>>>),
    /// How wrong a step was, if it is estimated.
    Estimator(MakeOf<Option<Box<dyn ErrorEstimator>>>),
    /// The next step size.
    Controller(MakeOf<Box<dyn StepController>>),
}

impl Make {
    /// What is made.
    pub const fn kind(&self) -> Kind {
        match self {
            Make::Method(_) => Kind::Method,
            Make::Schedule(_) => Kind::Schedule,
            Make::Hold { .. } => Kind::Hold,
            Make::Correction(_) => Kind::Correction,
            Make::Estimator(_) => Kind::Estimator,
            Make::Controller(_) => Kind::Controller,
        }
    }
}

/// All parts of a whole method.
pub fn whole_method(spec: &PolicySpec, tolerance: Option<At<f64>>) -> Method {
    let Make::Method(make) = spec.make() else { not_a(Kind::Method, spec) };
    make(tolerance)
}

/// Who steps when.
pub fn schedule(spec: &PolicySpec, context: &Context<'_>) -> Result<Schedule, Error> {
    let Make::Schedule(make) = spec.make() else { not_a(Kind::Schedule, spec) };
    make(spec, context)
}

/// How inputs are held: with one order or with several, or with orders that vary (`None`).
pub fn extrapolation(order: Option<u8>, context: &Context<'_>) -> Box<dyn Hold> {
    let make = of_kind(Kind::Hold).find_map(|e| match e.make {
        Make::Hold { order: of, make } if of == order => Some(make),
        _ => None,
    });
    make.unwrap_or_else(|| panic!("the catalogue has no hold of order {order:?}"))(context)
}

/// How held inputs are corrected.
pub fn correction(
    spec: &PolicySpec,
    context: &Context<'_>,
) -> Result<Option<Box<dyn InputCorrection>>, Error> {
    let Make::Correction(make) = spec.make() else { not_a(Kind::Correction, spec) };
    make(spec, context)
}

/// How wrong a step was.
pub fn estimator(spec: &PolicySpec, context: &Context<'_>) -> Result<Option<Box<dyn ErrorEstimator>>, Error> {
    let Make::Estimator(make) = spec.make() else { not_a(Kind::Estimator, spec) };
    make(spec, context)
}

/// The next step size.
pub fn controller(spec: &PolicySpec, context: &Context<'_>) -> Result<Box<dyn StepController>, Error> {
    let Make::Controller(make) = spec.make() else { not_a(Kind::Controller, spec) };
    make(spec, context)
}

/// A spec is read as one of its kind; one at the wrong place is a mistake of the caller.
fn not_a(kind: Kind, spec: &PolicySpec) -> ! {
    panic!("`{}` is a {}, not a {}", spec.name(), spec.entry.value.kind().key(), kind.key())
}
