//! The methods that every property of the engine is tested with: one row each, and all tests walk over the rows.

use super::{Correction, Method, effort_sides};
use powerbond_core::controller::{Fixed, Pi, Rejecting, StepBounds, StepController};
use powerbond_core::correction::{
    DefectRule, EffortSide, EnergyCorrection, Flow, Form, GiveBack, InputCorrection, Nepce, ResidualInputs,
    StepRatio, ZetaRule,
};
use powerbond_core::estimator::{
    BigStep, Energy, ErrorEstimator, Jump, OutputTolerance, Predictor, Residual, Richardson, Steering,
    Tolerance,
};
use powerbond_core::hold::InputFeed;
use powerbond_core::network::Network;
use powerbond_core::step::{ScheduleKind, Seen};

/// A method under test, and what it is made from.
pub struct Row<T> {
    pub name: &'static str,
    pub make: T,
}

/// What policies are made for.
pub struct Case<'a> {
    pub network: &'a Network,
    pub method: &'a Method,
    /// Richardson estimates are taken off outputs.
    pub extrapolate: bool,
}

pub type Make<T> = fn(&Case<'_>) -> Box<T>;

pub const SCHEDULES: &[Row<ScheduleKind>] = &[
    Row { name: "jacobi", make: ScheduleKind::Jacobi { fast: Seen::Held } },
    Row { name: "jacobi, latest", make: ScheduleKind::Jacobi { fast: Seen::Latest } },
    Row { name: "jacobi, between", make: ScheduleKind::Jacobi { fast: Seen::Between } },
    Row { name: "gauss-seidel", make: ScheduleKind::GaussSeidel { order: None, seen: Seen::Latest } },
    Row {
        name: "gauss-seidel, between",
        make: ScheduleKind::GaussSeidel { order: None, seen: Seen::Between },
    },
];

/// The order, and how every subsystem is fed if the order varies.
pub const HOLDS: &[Row<(u8, Option<InputFeed>)>] = &[
    Row { name: "0", make: (0, None) },
    Row { name: "1", make: (1, None) },
    Row { name: "2", make: (2, None) },
    Row { name: "variable, derivatives", make: (2, Some(InputFeed::Derivatives(2))) },
    Row { name: "variable, radau", make: (2, Some(InputFeed::Radau)) },
    Row { name: "variable, halves", make: (2, Some(InputFeed::Halves)) },
    Row { name: "variable, value", make: (2, Some(InputFeed::Value)) },
    Row { name: "variable, mean", make: (2, Some(InputFeed::Mean)) },
    Row { name: "variable, dithered", make: (2, Some(InputFeed::Dithered)) },
];

pub const CORRECTIONS: &[Row<Make<dyn InputCorrection>>] = &[
    Row {
        name: "give-back",
        make: |case| Box::new(GiveBack::new(case.network, &[], |i| case.network.wiring.is_coupled(i))),
    },
    Row { name: "nepce", make: |case| Box::new(case.nepce(0.5, false)) },
    Row { name: "nepce, model", make: |case| Box::new(case.nepce(0.5, true)) },
    Row { name: "nepce, mean", make: |case| Box::new(case.mean_nepce(0.5)) },
    Row { name: "nepce, gated", make: |case| Box::new(case.gated_nepce(0.5)) },
    Row { name: "energy, power", make: |case| Box::new(case.energy_correction(Form::Power)) },
    Row { name: "energy, difference", make: |case| Box::new(case.energy_correction(Form::Difference)) },
    Row {
        name: "energy, capped",
        make: |case| {
            let capped = |side| EffortSide { relative_cap: 0.2, absolute_cap: 100.0, nu: 0.2, ..side };
            let sides = effort_sides(case.network).into_iter().map(capped).collect();
            Box::new(EnergyCorrection::new(sides, Form::Power))
        },
    },
    Row {
        name: "energy, other options",
        make: |case| {
            let limited = |side| EffortSide { rate_limit: 1e3, ..side };
            let sides = effort_sides(case.network).into_iter().map(limited).collect();
            let mut correction = EnergyCorrection::new(sides, Form::Power);
            correction.zeta = ZetaRule::Trapezoid;
            correction.flow = Flow::Predicted;
            correction.residual = ResidualInputs::Held;
            Box::new(correction)
        },
    },
];

pub const ESTIMATORS: &[Row<Make<dyn ErrorEstimator>>] = &[
    Row { name: "richardson", make: |case| Box::new(case.richardson(BigStep::Modified)) },
    Row { name: "richardson, classic", make: |case| Box::new(case.richardson(BigStep::Classic)) },
    Row {
        name: "energy",
        make: |case| {
            let n = case.network.bonds.bonds.len();
            Box::new(Energy::new(vec![1e-4; n], vec![Some(1.0); n], Residual::Held, case.method.hold))
        },
    },
    Row {
        name: "energy, projected",
        make: |case| {
            let n = case.network.bonds.bonds.len();
            Box::new(Energy::new(vec![1e-3; n], vec![None; n], Residual::Held, case.method.hold))
        },
    },
    Row {
        name: "predictor",
        make: |case| {
            let tolerance = OutputTolerance { absolute: 1e-3, rho: 1e-4 };
            Box::new(Predictor::new(vec![tolerance; case.network.n_outputs], case.method.hold))
        },
    },
    Row {
        name: "jump",
        make: |case| {
            let values_only = !matches!(case.method.variable, None | Some(InputFeed::Derivatives(_)));
            let groups = Jump::groups(case.network, |_| false);
            Box::new(Jump::new(1e-3, &groups, vec![values_only; case.network.n_inputs]))
        },
    },
    Row {
        name: "jump, steered",
        make: |case| {
            let n = case.network.n_inputs;
            let mut jump = Jump::new(1e-3, &Jump::groups(case.network, |_| false), vec![false; n]);
            jump.set_steering(Steering::new(1e-3, case.network, &[], 0..n));
            jump.share_scales(vec![0; n]);
            Box::new(jump)
        },
    },
];

/// Several estimators at once; the first one steers.
const COMBINATIONS: &[Row<&[&str]>] = &[
    Row { name: "none", make: &[] },
    Row { name: "both", make: &["energy", "predictor"] },
    Row { name: "jump and richardson", make: &["jump", "richardson"] },
    Row { name: "all", make: &["richardson, classic", "richardson", "energy", "predictor"] },
];

pub const CONTROLLERS: &[Row<Make<dyn StepController>>] = &[
    Row { name: "fixed", make: |case| Box::new(Fixed { step: case.method.step }) },
    Row { name: "ecco", make: |case| Box::new(Pi::ecco(case.method.step, case.bounds())) },
    Row {
        name: "ecco, rejects jumps",
        make: |case| {
            let mut pi = Pi::ecco(case.method.step, case.bounds());
            pi.rejects_jumps = true;
            Box::new(pi)
        },
    },
    Row { name: "i", make: |case| Box::new(Pi::integral(case.method.step, case.bounds())) },
    Row {
        name: "rejecting",
        make: |case| {
            let StepBounds { min_step, max_step, .. } = case.bounds();
            Box::new(Rejecting::new(case.method.step, min_step, max_step))
        },
    },
];

/// What the row of a name is made from. A name that no row has is a slip of the test.
pub fn row<'a, T>(table: &'a [Row<T>], name: &str) -> &'a T {
    let found = table.iter().find(|row| row.name == name);
    let known = || table.iter().map(|row| row.name).collect::<Vec<_>>().join("`, `");
    &found.unwrap_or_else(|| panic!("no row is called `{name}`; there are `{}`", known())).make
}

/// The estimators of a name: that of a row, or of several.
fn names_of(estimator: &'static str) -> Vec<&'static str> {
    match COMBINATIONS.iter().find(|row| row.name == estimator) {
        Some(several) => several.make.to_vec(),
        None => vec![estimator],
    }
}

/// No correction and every other one.
pub fn corrections() -> Vec<Correction> {
    std::iter::once(Correction::None).chain(CORRECTIONS.iter().map(|row| Correction::Row(row.name))).collect()
}

/// Every hold with every correction and every estimator, alone and with others; all else takes turns.
pub fn methods() -> Vec<Method> {
    let several = COMBINATIONS.iter().map(|row| row.name);
    let estimators: Vec<&'static str> = ESTIMATORS.iter().map(|row| row.name).chain(several).collect();
    let mut list = Vec::new();
    for hold in HOLDS {
        for correction in corrections() {
            for &estimator in &estimators {
                // The next round begins with the next row of what takes turns.
                let turn = list.len() / estimators.len() + list.len() % estimators.len();
                let steered = CONTROLLERS[turn % CONTROLLERS.len()].name;
                let (hold, variable) = hold.make;
                list.push(Method {
                    schedule: SCHEDULES[turn % SCHEDULES.len()].make.clone(),
                    hold,
                    variable,
                    identify: turn / 3 % 2 == 1,
                    refresh: turn / 2 % 2 == 1,
                    correction,
                    estimator,
                    controller: if estimator == "none" { "fixed" } else { steered },
                    ..Method::default()
                });
            }
        }
    }
    list
}

impl Case<'_> {
    pub fn correction(&self) -> Option<Box<dyn InputCorrection>> {
        match self.method.correction {
            Correction::None => None,
            Correction::Nepce(alpha) => Some(Box::new(self.nepce(alpha, false))),
            Correction::NepceModel(alpha) => Some(Box::new(self.nepce(alpha, true))),
            Correction::NepceGated(alpha) => Some(Box::new(self.gated_nepce(alpha))),
            Correction::Energy(form) => Some(Box::new(self.energy_correction(form))),
            Correction::Row(name) => Some(row(CORRECTIONS, name)(self)),
        }
    }

    pub fn estimators(&self) -> Vec<Box<dyn ErrorEstimator>> {
        names_of(self.method.estimator).into_iter().map(|name| row(ESTIMATORS, name)(self)).collect()
    }

    pub fn controller(&self) -> Box<dyn StepController> {
        row(CONTROLLERS, self.method.controller)(self)
    }

    /// From a hundredth to ten times the first step.
    pub fn bounds(&self) -> StepBounds {
        let step = self.method.step;
        StepBounds { min_step: step / 100.0, max_step: 10.0 * step, min_rate: 0.2, max_rate: 1.5 }
    }

    fn nepce(&self, alpha: f64, uses: bool) -> Nepce {
        let uses = vec![uses; self.network.feed_through.len()];
        Nepce::new(self.network, vec![alpha; self.network.n_inputs], StepRatio::Growth, &uses)
    }

    fn mean_nepce(&self, alpha: f64) -> Nepce {
        let mut nepce = self.nepce(alpha, true);
        nepce.rule = DefectRule::Mean;
        nepce
    }

    fn gated_nepce(&self, alpha: f64) -> Nepce {
        let mut nepce = self.nepce(alpha, true);
        nepce.set_gated(true);
        nepce
    }

    fn energy_correction(&self, form: Form) -> EnergyCorrection {
        EnergyCorrection::new(effort_sides(self.network), form)
    }

    fn richardson(&self, big: BigStep) -> Richardson {
        let tolerance = vec![Tolerance { absolute: 1e-3, relative: 1e-3 }; self.network.n_outputs];
        let mut richardson = Richardson::new(tolerance, vec![self.method.hold; self.network.n_inputs], big);
        richardson.extrapolate = self.extrapolate;
        richardson
    }
}
