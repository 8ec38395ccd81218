//! Coupled systems in the force-displacement split of rodriguez2022: force givers around one motion giver.
#![allow(dead_code)]

use powerbond_core::controller::Fixed;
use powerbond_core::hold::Polynomial;
use powerbond_core::network::{BondSpec, ConnectionSpec, Network, NetworkBuilder, PortSpec, VariableName};
use powerbond_core::observe::{Flow, Observer, StepReport};
use powerbond_core::run::{Engine, Policies, Settings, StartUp};
use powerbond_core::step::StepView;
use powerbond_core::step::{Schedule, ScheduleKind};
use powerbond_core::subsystem::Subsystem;
use powerbond_core::time::EndRule;
use powerbond_models::{self, ParameterValue};

pub type Given = Vec<(String, ParameterValue)>;

/// A built-in model that takes values only: it samples its inputs at the start of every sub-step, as in the paper.
pub fn values_only(name: &str, mut given: Given) -> Box<dyn Subsystem> {
    given.extend(ParameterValue::numbers(&[("input_derivatives", 0.0)]));
    powerbond_models::find(name).expect(name).build(&given).expect(name)
}

/// A built-in model with an accurate integrator that follows its inputs within a step.
pub fn accurate(name: &str, mut given: Given) -> Box<dyn Subsystem> {
    given.push(("integrator".to_owned(), ParameterValue::Text("accurate".to_owned())));
    powerbond_models::find(name).expect(name).build(&given).expect(name)
}

/// `text` = `subsystem.variable`.
pub fn variable(text: &str) -> VariableName {
    VariableName::parse(text).expect(text)
}

/// `motion` gives positions and velocities to all `givers`, their forces add up on it. One bond with a port for each;
/// forces and velocities pair up. Members are called `giver1`, `giver2`, … and `motion`, which is also their order.
pub fn star(
    givers: Vec<Box<dyn Subsystem>>,
    motion: Box<dyn Subsystem>,
    [forces, positions, velocities]: [&[&str]; 3],
) -> NetworkBuilder {
    let port = |member: &str, inputs: &[&str], outputs: &[&str], sign: f64| {
        let of = |names: &[&str]| names.iter().map(|v| VariableName::new(member, v)).collect();
        PortSpec { inputs: of(inputs), outputs: of(outputs), sign, ratio: 1.0 }
    };
    let names: Vec<String> = (1..=givers.len()).map(|i| format!("giver{i}")).collect();
    let mut ports = vec![port("motion", forces, velocities, -1.0)];
    let mut builder = NetworkBuilder::new().subsystem("motion", motion);
    for (name, giver) in names.iter().zip(givers) {
        builder = builder.subsystem(name, giver);
        for v in positions.iter().chain(velocities) {
            builder = builder.connect(&format!("motion.{v}"), &format!("{name}.{v}"), 1.0);
        }
        ports.push(port(name, velocities, forces, 1.0));
    }
    for force in forces {
        builder = builder.connection(ConnectionSpec {
            from: names.iter().map(|name| (VariableName::new(name, force), 1.0)).collect(),
            to: VariableName::new("motion", force),
            offset: 0.0,
            convert_units: false,
        });
    }
    builder.bond(BondSpec { name: "coupling".to_owned(), ports })
}

/// The names of forces, positions and velocities of the oscillators.
pub const ALONG: [&[&str]; 3] = [&["force"], &["position"], &["velocity"]];

/// A run with constant macro steps. Inputs are held with `order`.
pub struct Run {
    pub kind: ScheduleKind,
    pub rates: Vec<u32>,
    pub order: u8,
    pub step: f64,
    pub settings: Settings,
}

impl Run {
    /// Jacobi with a zero-order hold from 0 to `stop`; the first step is not split and the last one not shortened.
    pub fn new(rates: &[u32], step: f64, stop: f64) -> Self {
        let settings =
            Settings { end_rule: EndRule::Overshoot, start_up: StartUp::Plain, ..Settings::new(0.0, stop) };
        let kind = ScheduleKind::Jacobi { fast: Default::default() };
        Run { kind, rates: rates.to_vec(), order: 0, step, settings }
    }

    /// Makes the run; `see` gets every step and the probes.
    pub fn make(&self, network: Network, see: impl FnMut(&StepView<'_>, &[f64])) -> Engine {
        let handed = network.owner_of_input.iter();
        let handed = handed.map(|&s| network.members[s].capabilities.input_derivatives).collect();
        let policies = Policies {
            ceiling: None,
            identifier: None,
            sampled: None,
            schedule: Schedule::new(&network, &self.kind, &self.rates),
            extrapolation: Box::new(Polynomial::new(vec![self.order; network.n_inputs], handed)),
            correction: None,
            estimators: Vec::new(),
            controller: Box::new(Fixed { step: self.step }),
        };
        let mut engine = Engine::new(network, policies, self.settings.clone());
        engine.run(&mut Watch(see)).expect("the run");
        engine
    }
}

struct Watch<F>(F);

impl<F: FnMut(&StepView<'_>, &[f64])> Observer for Watch<F> {
    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        (self.0)(step, report.probes);
        Flow::Continue
    }
}

/// The place of `text` in a list of names.
pub fn place(names: &[VariableName], text: &str) -> usize {
    names.iter().position(|n| *n == variable(text)).expect(text)
}
