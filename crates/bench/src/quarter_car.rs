//! The quarter car of both papers as a system file, and what the tables measure on it.

use crate::reference::{Exact, PowerError};
use crate::report::digits;
use crate::{Models, Quantity, Source};
use powerbond::Error;
use powerbond::core::observe::{Flow, Observer, StepReport};
use powerbond::core::step::StepView;
use powerbond::models::quarter_car::{Damper, Reference};

/// Which side the suspension belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Reticulation 1: to the wheel.
    R1,
    /// Reticulation 2: to the chassis.
    R2,
}

/// A quarter car to be run.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// How it is split.
    pub split: Split,
    /// The damper follows a square root.
    pub nonlinear: bool,
    /// Euler steps of every subsystem in a macro step.
    pub micro_steps: u32,
    /// Euler steps of the wheel alone, where it differs.
    pub wheel_micro_steps: u32,
    /// Length of the run, in s.
    pub stop: f64,
}

impl Case {
    /// 4 s with a linear damper, 2 s with the other one.
    pub fn new(split: Split, nonlinear: bool, micro_steps: u32) -> Self {
        let stop = if nonlinear { 2.0 } else { 4.0 };
        Case { split, nonlinear, micro_steps, wheel_micro_steps: micro_steps, stop }
    }

    /// The system file. The rules that both papers leave open are written out: the far end of the suspension moves
    /// once per step, the last step is not shortened, and energies are summed by the rectangle rule.
    pub fn file(&self, step: f64, method: &str) -> String {
        let Case { split, nonlinear, micro_steps: n, wheel_micro_steps: nw, stop } = *self;
        let (damping, damper) = if nonlinear { (900, "square-root") } else { (1000, "linear") };
        let suspension =
            format!("stiffness = 15000, damping = {damping}, damper = \"{damper}\", far_end = \"once\"");
        let (models, connections, ports) = match split {
            Split::R1 => (
                format!(
                    "[subsystems.chassis]\nmodel = \"quarter-car/chassis\"\nparameters = {{ mass = 400, micro_steps = {n} }}\n\
                     [subsystems.wheel]\nmodel = \"quarter-car/wheel-suspension\"\n\
                     parameters = {{ mass = 40, tyre_stiffness = 150000, {suspension}, micro_steps = {nw} }}\n"
                ),
                "[[connections]]\nfrom = \"chassis.velocity\"\nto = \"wheel.chassis_velocity\"\n\
                 [[connections]]\nfrom = \"wheel.suspension_force\"\nto = \"chassis.force\"\ngain = -1\n",
                "{ input = \"chassis.force\", output = \"chassis.velocity\", sign = -1 },\n\
                 { input = \"wheel.chassis_velocity\", output = \"wheel.suspension_force\", sign = -1 }",
            ),
            Split::R2 => (
                format!(
                    "[subsystems.chassis]\nmodel = \"quarter-car/chassis-suspension\"\n\
                     parameters = {{ mass = 400, {suspension}, micro_steps = {n} }}\n\
                     [subsystems.wheel]\nmodel = \"quarter-car/wheel\"\n\
                     parameters = {{ mass = 40, tyre_stiffness = 150000, micro_steps = {nw} }}\n"
                ),
                "[[connections]]\nfrom = \"wheel.velocity\"\nto = \"chassis.wheel_velocity\"\n\
                 [[connections]]\nfrom = \"chassis.suspension_force\"\nto = \"wheel.force\"\ngain = -1\n",
                "{ input = \"chassis.wheel_velocity\", output = \"chassis.suspension_force\", sign = 1 },\n\
                 { input = \"wheel.force\", output = \"wheel.velocity\", sign = 1 }",
            ),
        };
        format!(
            "[simulation]\nstop = {stop}\nstep = {step}\nend = \"overshoot\"\n{models}{connections}\
             [inputs]\n\"wheel.road\" = 0.1\n[bonds.suspension]\nports = [{ports}]\n[method]\nmeter = \"rectangle\"\n{method}\n[record]\nvariables = []\n"
        )
    }

    /// Runs it with a `[method]` block and measures what the tables print.
    pub fn measure(&self, models: &Models, step: f64, method: &str) -> Result<Measured, Error> {
        let mut assembled = models.assemble("quarter car", &self.file(step, method))?;
        let mut meter = PowerError::new(exact(self.split, self.nonlinear));
        assembled.run(&mut meter)?;
        let (time, sum) = (assembled.engine.time(), assembled.engine.meter().sums[0]);
        let steps = assembled.engine.statistics().accepted as f64;
        Ok(Measured {
            steps,
            mean_step: 1e3 * time / steps,
            p12: sum.transmitted / time,
            dp: meter.sum / time,
            de: sum.endpoint_residual,
            error_bar: 0.5 * sum.endpoint_residual_abs / time,
        })
    }
}

/// A run at its communication points.
pub struct Trace {
    /// In s.
    pub t: Vec<f64>,
    /// P_12, in W.
    pub power: Vec<f64>,
    /// The same of the monolithic solution, in W.
    pub exact_power: Vec<f64>,
    /// Σ δE so far, in J.
    pub residual_energy: Vec<f64>,
    /// (1/T) Σ |P_12 − exact| h so far, in W (sadjina2020 eq. 15a).
    pub mean_error: Vec<f64>,
    exact: Exact,
    stop: f64,
}

impl Case {
    /// Runs it with a `[method]` block and keeps what the figures draw.
    pub fn trace(&self, models: &Models, step: f64, method: &str) -> Result<Trace, Error> {
        let mut assembled = models.assemble("quarter car", &self.file(step, method))?;
        let list = Vec::new;
        let mut trace = Trace {
            t: list(),
            power: list(),
            exact_power: list(),
            residual_energy: list(),
            mean_error: list(),
            exact: exact(self.split, self.nonlinear),
            stop: self.stop,
        };
        assembled.run(&mut trace)?;
        Ok(trace)
    }
}

impl Observer for Trace {
    fn accepted(&mut self, step: &StepView<'_>, _report: &StepReport<'_>) -> Flow {
        let (flow, h) = (&step.flows[0], step.span.h);
        let mut y = [0.0; 2];
        (self.exact)(step.span.end, &mut y);
        let so_far = |list: &[f64]| list.last().copied().unwrap_or(0.0);
        let error = (flow.transmitted_power - y[0] * y[1]).abs();
        self.mean_error.push(so_far(&self.mean_error) + error * h / self.stop);
        self.residual_energy.push(so_far(&self.residual_energy) + flow.residual_power * h);
        self.t.push(step.span.end);
        self.power.push(flow.transmitted_power);
        self.exact_power.push(y[0] * y[1]);
        Flow::Continue
    }
}

/// The monolithic solution.
pub fn reference(nonlinear: bool) -> Reference {
    Reference::new(if nonlinear { Damper::SquareRoot(900.0) } else { Damper::Linear(1000.0) })
}

/// Kinetic energy of both masses and energy of both springs of the monolithic solution, in J.
pub fn energy(car: &Reference) -> f64 {
    let [chassis, wheel] = car.positions();
    let kinetic = 400.0 * car.chassis_velocity().powi(2) + 40.0 * car.wheel_velocity().powi(2);
    0.5 * (kinetic + 15e3 * (chassis - wheel).powi(2) + 150e3 * (wheel - 0.1).powi(2))
}

/// The monolithic solution: outputs of the chassis and the wheel.
pub fn exact(split: Split, nonlinear: bool) -> Exact {
    let mut car = reference(nonlinear);
    Box::new(move |t, y| {
        car.advance_to(t);
        y.copy_from_slice(&match split {
            Split::R1 => [car.chassis_velocity(), car.force()],
            Split::R2 => [car.force(), car.wheel_velocity()],
        });
    })
}

/// What the tables print.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Macro steps.
    pub steps: f64,
    /// In ms.
    pub mean_step: f64,
    /// Mean transmitted power, in W.
    pub p12: f64,
    /// Mean |error of the transmitted power|, in W.
    pub dp: f64,
    /// Sum of the residual energy, in J.
    pub de: f64,
    /// Half the mean |residual power|, in W.
    pub error_bar: f64,
}

/// The rule for one printed number.
#[derive(Clone, Copy)]
pub enum Rule {
    /// Within its last digit.
    Digit(&'static str),
    /// Within a unit of its last digit, and why not half.
    Unit(&'static str, &'static str),
    /// Within half of its last digit, and what tolerances that round to the printed one move; but at most within a share.
    Rounded(&'static str, Most),
    /// Within so much of it, in its unit, and why.
    Within(&'static str, f64, &'static str),
    /// Not reproducible: what comes out instead, by which share that may move, and what is known of it.
    Deviates(&'static str, f64, f64, &'static str),
}

impl Rule {
    /// Judges a measured number that is printed at `place`.
    pub fn judge(self, name: &str, unit: &'static str, place: &'static str, measured: f64) -> Quantity {
        self.judge_moved(name, unit, place, measured, 0.0)
    }

    /// The same of a number that tolerances which round to the printed one move by up to `moved`.
    pub fn judge_moved(
        self,
        name: &str,
        unit: &'static str,
        place: &'static str,
        measured: f64,
        moved: f64,
    ) -> Quantity {
        match self {
            Rule::Unit(printed, why) => {
                let width = 2.0 * digits(printed).1;
                Quantity::band(name, unit, place, printed, (width, why), measured)
            }
            Rule::Rounded(printed, Most { share, why }) => {
                let (value, half) = digits(printed);
                let width = (half + moved).min(share * value.abs());
                Quantity::band(name, unit, place, printed, (width, why), measured)
            }
            Rule::Digit(printed) => Quantity::digit(name, unit, place, printed, measured),
            Rule::Within(printed, width, why) => {
                Quantity::band(name, unit, place, printed, (width, why), measured)
            }
            Rule::Deviates(printed, was, share, why) => {
                let width = (share * was).abs();
                Quantity::deviation(name, unit, Source::Print(place), (was, width), why, measured)
                    .published(printed)
            }
        }
    }
}

/// By how much a printed number of a run with step control may be missed at most, however much it is moved.
#[derive(Clone, Copy)]
pub struct Most {
    /// As a share of it.
    pub share: f64,
    /// Why so much.
    pub why: &'static str,
}

/// Errors, steps and small mean powers.
pub const ERROR: Most = Most {
    share: 1.0 / 3.0,
    why: "half of the last digit, and as much as tolerances that round to the printed one move it, at most a third",
};
/// Mean powers of 187 or 377 W.
pub const POWER: Most = Most {
    share: 0.002,
    why: "half of the last digit, and as much as tolerances that round to the printed one move it, at most 0.2 %",
};
/// Why a printed number of a run with step control does not come out.
pub const CONTROL: &str = "no tolerance that rounds to the printed one gives it; the first steps and the order of the controller's operations are not printed";
/// Ratios of what the tables print.
pub const RATIO: &str =
    "a unit of the last digit: a ratio of numbers of which the tables print one or two digits";

/// How far numbers are moved by tolerances that round to the printed one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moved {
    /// Of the mean power, in W.
    pub p12: f64,
    /// Of its error, in W.
    pub dp: f64,
    /// Of the residual energy, in J.
    pub de: f64,
    /// Of the number of steps.
    pub steps: f64,
}

impl Moved {
    /// Runs with tolerances up to half a unit of the second digit, which is the last one that both papers print.
    pub fn by_rounding(
        tolerance: f64,
        unmoved: &Measured,
        measure: impl Fn(f64) -> Result<Measured, Error>,
    ) -> Result<Self, Error> {
        let half = digits(&format!("{tolerance:.1e}")).1;
        let mut moved = Moved::default();
        for n in (-5..=5).filter(|n| *n != 0) {
            let m = measure(tolerance + 0.2 * f64::from(n) * half)?;
            let farther = |so_far: &mut f64, a: f64, b: f64| *so_far = so_far.max((a - b).abs());
            farther(&mut moved.p12, m.p12, unmoved.p12);
            farther(&mut moved.dp, m.dp, unmoved.dp);
            farther(&mut moved.de, m.de, unmoved.de);
            farther(&mut moved.steps, m.steps, unmoved.steps);
        }
        Ok(moved)
    }
}

/// What a paper's text says about several errors at once: reduced by between so many and so many percent.
pub struct Reductions {
    /// Its id.
    pub id: &'static str,
    /// Where it is said.
    pub place: &'static str,
    /// What is said, in words.
    pub case: &'static str,
    /// Rows with and without what reduces them.
    pub rows: &'static [(&'static str, &'static str)],
    /// Of the error of the power.
    pub power: bool,
    /// Of the residual energy.
    pub energy: bool,
    /// The printed least reduction.
    pub least: Rule,
    /// The printed greatest one; none where one number is printed for all.
    pub greatest: Option<Rule>,
}

impl Reductions {
    /// Judges the smallest and the largest reduction; `measure` knows rows by their ids.
    pub fn judge(&self, measure: impl Fn(&str) -> Result<Measured, Error>) -> Result<Vec<Quantity>, Error> {
        let (mut list, mut all) = (Vec::new(), Vec::new());
        for (with, without) in self.rows {
            let (new, old) = (measure(with)?, measure(without)?);
            let wanted = [("dp", self.power, new.dp / old.dp), ("de", self.energy, new.de / old.de)];
            for (name, _, share) in wanted.into_iter().filter(|(_, wanted, _)| *wanted) {
                all.push(100.0 * (1.0 - share));
                list.push(Quantity::shown(&format!("{name}_{with}"), "%", 100.0 * (1.0 - share)));
            }
        }
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let name = if self.greatest.is_some() { "least" } else { "reduction" };
        let mut judged = vec![self.least.judge(name, "%", self.place, least)];
        match self.greatest {
            Some(rule) => judged.push(rule.judge("greatest", "%", self.place, greatest)),
            // One number for all: the one that is farthest from the first holds, too.
            None if all.len() > 1 => {
                judged.push(self.least.judge("reduction_of_the_other", "%", self.place, greatest))
            }
            None => {}
        }
        if all.len() > 1 {
            judged.extend(list);
        }
        Ok(judged)
    }
}
