//! Proportional-integral control, and integral control alone.

use super::{Bounds, MAX_RATE, MAX_STEP, MIN_RATE, MIN_STEP, SAFETY};
use crate::Error;
use crate::catalogue::{Context, Domain, Entry, Kind, Knob, Make, Word, Written, knobs};
use powerbond_core::controller::{Pi, StepController};

/// ECCO.
pub const ECCO: Entry = Entry {
    kind: Kind::Controller,
    name: "ecco",
    about: "proportional-integral control of the step size, without rollback",
    paper: "sadjina2017 eq. 15",
    knobs: &[
        SAFETY_BY_ESTIMATOR,
        MIN_STEP,
        MAX_STEP,
        MIN_RATE,
        MAX_RATE,
        Knob {
            name: "opening_rate",
            domain: Domain::Number { min: 1.0, max: 1e6, open: false },
            rule: Some(|| format!("max_rate; {OPENING_RATE_WITH_JUMPS} with the jump estimator")),
            unit: "",
            about: "largest ratio of successive step sizes until the error norm first exceeds 0.1",
        },
        Knob {
            name: "restart_rate",
            domain: Domain::Number { min: 0.0, max: 1.0, open: true },
            rule: Some(|| format!("{}; {RESTART_RATE_WITH_JUMPS} with the jump estimator", Pi::RESTART_RATE)),
            unit: "",
            about: "factor on the step size at an event",
        },
        Knob {
            name: "rejects_jumps",
            domain: Domain::Flag,
            rule: Some(|| "with the jump estimator, if every subsystem can be restored".to_owned()),
            unit: "",
            about: "a step over a discontinuity that was not announced is rejected and repeated with a fifth of its size",
        },
        INTEGRAL_GAIN,
        Knob {
            name: "proportional_gain",
            domain: Domain::Number { min: 0.0, max: 10.0, open: false },
            rule: Some(|| format!("{}/k", Pi::PROPORTIONAL_GAIN)),
            unit: "",
            about: "kP",
        },
        AGE,
        AT_REST,
        Knob {
            name: "error_floor",
            domain: Domain::Number { min: 0.0, max: 1.0, open: false },
            rule: None,
            unit: "",
            about: "lower bound of the last error norm (0 in the papers)",
        },
    ],
    uses: None,
    plain: || Box::new(Ecco::default()),
};

/// Integral control.
pub const INTEGRAL: Entry = Entry {
    kind: Kind::Controller,
    name: "i",
    about: "integral control of the step size, without rollback",
    paper: "sadjina2020 eq. 13",
    knobs: &[SAFETY_BY_ESTIMATOR, MIN_STEP, MAX_STEP, MIN_RATE, MAX_RATE, INTEGRAL_GAIN, AGE, AT_REST],
    uses: None,
    plain: || Box::new(Integral::default()),
};

const SAFETY_BY_ESTIMATOR: Knob =
    Knob { rule: Some(|| format!("{}; {SAFETY_WITH_JUMPS} with the jump estimator", Pi::SAFETY)), ..SAFETY };
const INTEGRAL_GAIN: Knob = Knob {
    name: "integral_gain",
    domain: Domain::Number { min: 0.0, max: 10.0, open: true },
    rule: Some(|| format!("{}/k, k the order of the estimate", Pi::INTEGRAL_GAIN)),
    unit: "",
    about: "kI",
};
const AGE: Knob = Knob {
    name: "age",
    domain: Domain::Choice(&["newest", "previous"]),
    rule: None,
    unit: "",
    about: "which error norm is used: the newest, or that of the step before (sadjina2020 eq. 13, literally)",
};

const AT_REST: Knob = Knob {
    name: "at_rest",
    domain: Domain::Choice(&["wait", "grow"]),
    rule: Some(|| format!("{}; {} with the jump estimator", AtRest::Wait.word(), AtRest::Grow.word())),
    unit: "",
    about: "error norms of exactly 0 before anything has moved: steps of at most 1 % of the time so far, or the largest growth (the \
            papers)",
};

/// The jump norm is right at its tolerance, and its first steps are far too short.
const SAFETY_WITH_JUMPS: f64 = 0.9;
const OPENING_RATE_WITH_JUMPS: f64 = 2.0;
const RESTART_RATE_WITH_JUMPS: f64 = 0.01;
/// Θ of sadjina2017.
const MIN_RATE_USED: f64 = 0.2;
const MAX_RATE_USED: f64 = 1.5;

/// Which error decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Age {
    /// The newest.
    #[default]
    Newest,
    /// The one of the step before.
    Previous,
}

impl Word for Age {
    const WORDS: &'static [(&'static str, Self)] = &[("newest", Age::Newest), ("previous", Age::Previous)];
}

/// What errors of exactly 0 mean before anything has moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtRest {
    /// Nothing about the step: it is at most 1 % of the time so far.
    Wait,
    /// The largest growth, as any other error of 0.
    Grow,
}

impl Word for AtRest {
    const WORDS: &'static [(&'static str, Self)] = &[("wait", AtRest::Wait), ("grow", AtRest::Grow)];
}

/// `h' = h · safety · e^−(kI + kP) · e_last^kP` within bounds; steps are never rejected. Sadjina 2017, eq. 15.
#[derive(Clone, Debug, PartialEq)]
pub struct Ecco {
    /// Factor on every new step size; `None`: by estimator.
    pub safety: Option<f64>,
    /// Smallest step, in s; `None`: a share of the run.
    pub min_step: Option<f64>,
    /// Largest step, in s; `None`: a share of the run.
    pub max_step: Option<f64>,
    /// Smallest ratio of neighbouring steps.
    pub min_rate: f64,
    /// Largest ratio of neighbouring steps.
    pub max_rate: f64,
    /// Largest ratio until an error first exceeds a tenth of the tolerance; `None`: by estimator.
    pub opening_rate: Option<f64>,
    /// Factor on the step size at an event; `None`: by estimator.
    pub restart_rate: Option<f64>,
    /// Steps over discontinuities that were not announced are rejected; `None`: with the jump estimator, if every subsystem can be
    /// restored.
    pub rejects_jumps: Option<bool>,
    /// kI; `None`: by the order of the estimate.
    pub integral_gain: Option<f64>,
    /// kP; `None`: by the order of the estimate.
    pub proportional_gain: Option<f64>,
    /// Which error decides.
    pub age: Age,
    /// What errors of exactly 0 mean before anything has moved; `None`: by estimator.
    pub at_rest: Option<AtRest>,
    /// The last error counts as at least this.
    pub error_floor: f64,
}

impl Default for Ecco {
    fn default() -> Self {
        Ecco {
            safety: None,
            min_step: None,
            max_step: None,
            min_rate: MIN_RATE_USED,
            max_rate: MAX_RATE_USED,
            opening_rate: None,
            restart_rate: None,
            rejects_jumps: None,
            integral_gain: None,
            proportional_gain: None,
            age: Age::Newest,
            at_rest: None,
            error_floor: Pi::ERROR_FLOOR,
        }
    }
}

knobs!(
    Ecco,
    ECCO,
    safety,
    min_step,
    max_step,
    min_rate,
    max_rate,
    opening_rate,
    restart_rate,
    rejects_jumps,
    integral_gain,
    proportional_gain,
    age,
    at_rest,
    error_floor,
);

impl Make<Box<dyn StepController>> for Ecco {
    fn make(&mut self, written: &Written, context: &Context<'_>) -> Result<Box<dyn StepController>, Error> {
        let Ecco { min_step, max_step, min_rate, max_rate, .. } = self;
        let bounds = Bounds { min_step, max_step, min_rate: *min_rate, max_rate: *max_rate };
        let mut pi = Pi::ecco(context.step, bounds.settle(written, context)?);
        pi.safety = safety(&mut self.safety, context);
        if context.steered_by_jumps {
            self.opening_rate.get_or_insert(OPENING_RATE_WITH_JUMPS);
        }
        pi.opening_rate = self.opening_rate;
        self.opening_rate.get_or_insert(self.max_rate);
        let rate = if context.steered_by_jumps { RESTART_RATE_WITH_JUMPS } else { Pi::RESTART_RATE };
        pi.restart_rate = *self.restart_rate.get_or_insert(rate);
        pi.rejects_jumps = self.rejects_jumps(written, context)?;
        pi.integral_gain = self.integral_gain;
        pi.proportional_gain = self.proportional_gain;
        pi.set_error_floor(self.error_floor);
        pi.age = u8::from(self.age == Age::Previous);
        pi.rest_share = rest_share(&mut self.at_rest, context);
        Ok(Box::new(pi))
    }
}

impl Ecco {
    /// Whether steps over discontinuities are rejected.
    fn rejects_jumps(&mut self, written: &Written, context: &Context<'_>) -> Result<bool, Error> {
        let members = &context.network.members;
        let stuck = members.iter().position(|m| !m.capabilities.can_restore);
        match (self.rejects_jumps, stuck) {
            (Some(true), Some(s)) => Err(Error::input(
                written.knob("rejects_jumps"),
                format!(
                    "`{}` cannot save and restore its state, which `rejects_jumps` needs; set it to false",
                    context.names.subsystems[s]
                ),
            )),
            (_, stuck) => Ok(*self.rejects_jumps.get_or_insert(context.steered_by_jumps && stuck.is_none())),
        }
    }
}

/// `h' = h · safety · e^−kI` within bounds; steps are never rejected. Sadjina 2020, eq. 13.
#[derive(Clone, Debug, PartialEq)]
pub struct Integral {
    /// Factor on every new step size; `None`: by estimator.
    pub safety: Option<f64>,
    /// Smallest step, in s; `None`: a share of the run.
    pub min_step: Option<f64>,
    /// Largest step, in s; `None`: a share of the run.
    pub max_step: Option<f64>,
    /// Smallest ratio of neighbouring steps.
    pub min_rate: f64,
    /// Largest ratio of neighbouring steps.
    pub max_rate: f64,
    /// kI; `None`: by the order of the estimate.
    pub integral_gain: Option<f64>,
    /// Which error decides.
    pub age: Age,
    /// What errors of exactly 0 mean before anything has moved; `None`: by estimator.
    pub at_rest: Option<AtRest>,
}

impl Default for Integral {
    fn default() -> Self {
        let Ecco { safety, min_step, max_step, min_rate, max_rate, integral_gain, age, at_rest, .. } =
            Ecco::default();
        Integral { safety, min_step, max_step, min_rate, max_rate, integral_gain, age, at_rest }
    }
}

knobs!(Integral, INTEGRAL, safety, min_step, max_step, min_rate, max_rate, integral_gain, age, at_rest);

impl Make<Box<dyn StepController>> for Integral {
    fn make(&mut self, written: &Written, context: &Context<'_>) -> Result<Box<dyn StepController>, Error> {
        let Integral { min_step, max_step, min_rate, max_rate, .. } = self;
        let bounds = Bounds { min_step, max_step, min_rate: *min_rate, max_rate: *max_rate };
        let mut pi = Pi::integral(context.step, bounds.settle(written, context)?);
        pi.safety = safety(&mut self.safety, context);
        pi.opening_rate = context.steered_by_jumps.then_some(OPENING_RATE_WITH_JUMPS);
        pi.integral_gain = self.integral_gain;
        pi.age = u8::from(self.age == Age::Previous);
        pi.rest_share = rest_share(&mut self.at_rest, context);
        Ok(Box::new(pi))
    }
}

fn rest_share(given: &mut Option<AtRest>, context: &Context<'_>) -> Option<f64> {
    let by_estimator = if context.steered_by_jumps { AtRest::Grow } else { AtRest::Wait };
    (*given.get_or_insert(by_estimator) == AtRest::Wait).then_some(Pi::REST_SHARE)
}

fn safety(given: &mut Option<f64>, context: &Context<'_>) -> f64 {
    *given.get_or_insert(if context.steered_by_jumps { SAFETY_WITH_JUMPS } else { Pi::SAFETY })
}
