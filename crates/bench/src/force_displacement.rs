//! The systems of rodriguez2022 as system files: force givers around one motion giver, with what the figures measure.

use crate::Models;
use powerbond::Error;
use powerbond::core::network::VariableName;
use powerbond::core::observe::{Flow, Observer, StepReport};
use powerbond::core::run::Engine;
use powerbond::core::step::StepView;
use powerbond::models::{ParameterValue, nonlinear_oscillator, oscillator, pendula};

type Given = Vec<(String, ParameterValue)>;

/// Force givers around one motion giver.
#[derive(Clone)]
pub struct Star {
    /// Model and parameters of each force giver.
    pub giver: (&'static str, Given),
    /// How many there are.
    pub givers: u32,
    /// Model and parameters of the motion giver.
    pub motion: (&'static str, Given),
    /// Names of force components.
    pub forces: &'static [&'static str],
    /// Names of position components.
    pub positions: &'static [&'static str],
    /// Names of velocity components.
    pub velocities: &'static [&'static str],
    /// What is recorded.
    pub record: &'static [&'static str],
    /// Sub-steps of force givers and of the motion giver.
    pub rates: (u32, u32),
    /// Macro step, in s.
    pub step: f64,
    /// Length of the run, in s.
    pub stop: f64,
}

impl Star {
    /// One rate, steps of 1 ms, one force, position and velocity, nothing recorded.
    fn new(giver: (&'static str, Given), motion: (&'static str, Given), stop: f64) -> Self {
        Star {
            giver,
            givers: 1,
            motion,
            forces: &["force"],
            positions: &["position"],
            velocities: &["velocity"],
            record: &[],
            rates: (1, 1),
            step: 1e-3,
            stop,
        }
    }

    /// Linear oscillators, 10 s.
    pub fn oscillator(case: &oscillator::Case) -> Self {
        let giver = ("oscillator/force-giver", case.giver_parameters());
        let star = Star::new(giver, ("oscillator/mass", case.mass_parameters()), 10.0);
        Star { givers: case.givers, ..star }
    }

    /// Nonlinear oscillators, 10 s.
    pub fn nonlinear(case: &nonlinear_oscillator::Case) -> Self {
        let giver = ("nonlinear-oscillator/force-giver", case.giver_parameters());
        let star = Star::new(giver, ("nonlinear-oscillator/mass", case.mass_parameters()), 10.0);
        Star { givers: case.oscillator.givers, ..star }
    }

    /// Two pendula, 30 s.
    pub fn pendula(case: &pendula::Case) -> Self {
        let giver = ("pendula/force-giver", case.giver_parameters());
        let star = Star::new(giver, ("pendula/pendulum", case.pendulum_parameters()), 30.0);
        Star {
            forces: &["force_x", "force_y"],
            positions: &["position_x", "position_y"],
            velocities: &["velocity_x", "velocity_y"],
            ..star
        }
    }

    /// The hydraulic crane, 10 s.
    pub fn crane() -> Self {
        let star = Star::new(("crane/hydraulics", Vec::new()), ("crane/mechanics", Vec::new()), 10.0);
        Star { positions: &["length"], velocities: &["speed"], ..star }
    }

    /// The system file. Models take values only: inputs are sampled at the start of each sub-step, as in the paper.
    pub fn file(&self, method: &str) -> String {
        let mut text =
            format!("[simulation]\nstop = {}\nstep = {}\nend = \"overshoot\"\n", self.stop, self.step);
        let subsystem = |name: &str, (model, given): &(&str, Given), rate: u32| {
            let list: Vec<String> = given.iter().map(|(k, v)| format!("{k} = {v}")).collect();
            let comma = if list.is_empty() { "" } else { ", " };
            format!(
                "[subsystems.{name}]\nmodel = \"{model}\"\nrate = {rate}\nparameters = {{ {}{comma}input_derivatives = 0 }}\n",
                list.join(", ")
            )
        };
        let names: Vec<String> = (1..=self.givers).map(|i| format!("giver{i}")).collect();
        for name in &names {
            text += &subsystem(name, &self.giver, self.rates.0);
        }
        text += &subsystem("motion", &self.motion, self.rates.1);
        let quoted = |name: &str, list: &[&str]| {
            let all: Vec<String> = list.iter().map(|v| format!("\"{name}.{v}\"")).collect();
            format!("[{}]", all.join(", "))
        };
        let mut ports = vec![format!(
            "{{ input = {}, output = {}, sign = -1 }}",
            quoted("motion", self.forces),
            quoted("motion", self.velocities)
        )];
        for name in &names {
            for v in self.positions.iter().chain(self.velocities) {
                text += &format!("[[connections]]\nfrom = \"motion.{v}\"\nto = \"{name}.{v}\"\n");
            }
            let (input, output) = (quoted(name, self.velocities), quoted(name, self.forces));
            ports.push(format!("{{ input = {input}, output = {output}, sign = 1 }}"));
        }
        for force in self.forces {
            let all: Vec<String> = names.iter().map(|n| format!("\"{n}.{force}\"")).collect();
            text += &format!("[[connections]]\nfrom = [{}]\nto = \"motion.{force}\"\n", all.join(", "));
        }
        let record: Vec<String> = self.record.iter().map(|r| format!("\"{r}\"")).collect();
        text + &format!(
            "[bonds.coupling]\nports = [{}]\n[record]\nvariables = [{}]\n[method]\nmeter = \"rectangle\"\n{method}\n",
            ports.join(", "),
            record.join(", ")
        )
    }

    /// Runs it; `see` gets every step and the places of `outputs` and recorded probes by name.
    pub fn run(
        &self,
        models: &Models,
        method: &str,
        outputs: &[&str],
        mut see: impl FnMut(&Seen<'_>),
    ) -> Result<Engine, Error> {
        let mut assembled = models.assemble("rodriguez2022", &self.file(method))?;
        let find = |name: &&str| assembled.names.outputs.iter().position(|n| n.to_string() == **name);
        let places: Vec<usize> = outputs.iter().filter_map(find).collect();
        let probes: Vec<VariableName> = assembled.names.probes.clone();
        let mut watch = Watch(|step: &StepView<'_>, report: &StepReport<'_>| {
            see(&Seen { step, values: report.probes, outputs: &places, names: &probes });
        });
        assembled.run(&mut watch)?;
        Ok(assembled.engine)
    }
}

/// A step as a measurement sees it.
pub struct Seen<'a> {
    /// The step.
    pub step: &'a StepView<'a>,
    values: &'a [f64],
    outputs: &'a [usize],
    names: &'a [VariableName],
}

impl Seen<'_> {
    /// The n-th wanted output now.
    pub fn output(&self, n: usize) -> f64 {
        self.step.y_step[self.outputs[n]]
    }

    /// The n-th wanted output at the start of the step.
    pub fn output_before(&self, n: usize) -> f64 {
        self.step.y_prev[self.outputs[n]]
    }

    /// δP = f_k v_{k+1} − f_{k+1} v_k of two wanted outputs, in W: rodriguez2022 takes inputs as unchanged over a macro step.
    pub fn paper_residual(&self, force: usize, velocity: usize) -> f64 {
        self.output_before(force) * self.output(velocity) - self.output(force) * self.output_before(velocity)
    }

    /// The sum of all recorded variables called `variable`.
    pub fn sum(&self, variable: &str) -> f64 {
        self.names.iter().zip(self.values).filter(|(n, _)| n.variable == variable).map(|(_, v)| v).sum()
    }

    /// The recorded variable `subsystem.variable`.
    pub fn value(&self, name: &str) -> f64 {
        self.names.iter().zip(self.values).find(|(n, _)| n.to_string() == name).map_or(f64::NAN, |(_, v)| *v)
    }
}

struct Watch<F>(F);

impl<F: FnMut(&StepView<'_>, &StepReport<'_>)> Observer for Watch<F> {
    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        (self.0)(step, report);
        Flow::Continue
    }
}
