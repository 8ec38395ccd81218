//! The quarter car of both papers as a system file, and what the tables measure on it.

use crate::reference::{Exact, PowerError};
use crate::{Models, Quantity};
use powerbond::Error;
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

/// The monolithic solution: outputs of the chassis and the wheel.
pub fn exact(split: Split, nonlinear: bool) -> Exact {
    let damper = if nonlinear { Damper::SquareRoot(900.0) } else { Damper::Linear(1000.0) };
    let mut car = Reference::new(damper);
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
    /// Within this share.
    Band(&'static str, f64),
    /// Not reproducible.
    Known(&'static str),
}

impl Rule {
    /// Judges a measured number.
    pub fn judge(self, name: &str, unit: &'static str, measured: f64) -> Quantity {
        match self {
            Rule::Digit(printed) => Quantity::digit(name, unit, printed, measured),
            Rule::Band(printed, share) => Quantity::band(name, unit, printed, share, measured),
            Rule::Known(printed) => Quantity::known(name, unit, Some(printed), measured),
        }
    }
}

/// Errors and small mean powers are held to this share, large mean powers to [`POWER`], adaptive step counts to [`STEPS`].
pub const SMALL: f64 = 0.35;
/// See [`SMALL`].
pub const POWER: f64 = 0.005;
/// See [`SMALL`].
pub const STEPS: f64 = 0.10;
