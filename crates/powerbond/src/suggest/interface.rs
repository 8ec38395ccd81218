//! What the subsystems of a system offer for coupling, without running anything of them.

use super::words::own_words;
use crate::Error;
use crate::system::{
    Factory, Order, SharedFactory, SimulatorSpec, SubsystemSpec, System, fmu_error, open_fmu,
};
use powerbond_core::network::VariableName;
use powerbond_core::subsystem::{Causality, Digits, Packet, PacketKind, ValueKind, Variable};
use powerbond_core::units::Unit;
use powerbond_fmi::Fmu;
use powerbond_fmi::description::{ModelDescription, Terminal};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a signal holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignalKind {
    /// A number.
    Number(ValueKind),
    /// A string or bytes.
    Packet(PacketKind),
}

impl SignalKind {
    /// Whether an output of this kind may feed an input of kind `to`.
    pub fn may_feed(&self, to: &SignalKind) -> bool {
        match (self, to) {
            (SignalKind::Number(a), SignalKind::Number(b)) => a.may_feed(*b),
            (SignalKind::Packet(a), SignalKind::Packet(b)) => a.may_feed(b),
            _ => false,
        }
    }
}

/// An input or an output.
#[derive(Clone, Debug)]
pub struct Signal {
    /// Its name in its subsystem.
    pub name: String,
    /// What it holds.
    pub kind: SignalKind,
    /// Its unit, where known.
    pub unit: Option<Arc<Unit>>,
    /// What its author says that it measures, and the name of its declared type; may be empty.
    pub quantity: String,
    /// Its name in a terminal, as one that both sides of it have; may be empty.
    pub member: String,
    /// The value of an input that nothing feeds.
    pub start: f64,
    /// One line for people.
    pub description: String,
}

/// What a subsystem offers.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Two subsystems with the same origin are instances of the same model.
    pub origin: String,
    /// Words that others call it by.
    pub words: BTreeSet<String>,
    /// Its inputs.
    pub inputs: Vec<Signal>,
    /// Its outputs.
    pub outputs: Vec<Signal>,
    /// Its terminals, those inside of others, too.
    pub terminals: Vec<Terminal>,
    places: BTreeMap<(bool, String), usize>,
}

impl Interface {
    /// Those of a system, in its order.
    pub fn of(system: &System) -> Result<Vec<Interface>, Error> {
        system.subsystems.iter().map(|spec| Interface::of_subsystem(system, spec)).collect()
    }

    fn of_subsystem(system: &System, spec: &SubsystemSpec) -> Result<Interface, Error> {
        let name = &spec.name.value;
        let model = |factory: &SharedFactory, model: &str| {
            let order = Order { name: &spec.name, parameters: &spec.parameters };
            let made = factory.make(&order)?;
            let variables = made.info().variables.iter().map(|v| signal(v, None));
            Ok(Interface::new(name, model, variables.collect(), Vec::new()))
        };
        match &spec.simulator {
            SimulatorSpec::Fmu(path, _) => {
                let fmu = open_fmu(system.folder(), path)?;
                let mut made = Interface::of_fmu(name, &fmu).map_err(|e| fmu_error(path, &e))?;
                // What a group of OSP is called says what is in it, where the FMU does not.
                let signals = made.inputs.iter_mut().chain(&mut made.outputs);
                for signal in signals.filter(|signal| signal.quantity.is_empty()) {
                    signal.quantity = system.quantity(name, &signal.name).unwrap_or_default().to_owned();
                }
                Ok(made)
            }
            SimulatorSpec::Model(kind) => {
                let unknown =
                    |hint| Error::input(kind.place(), format!("unknown model `{}`.{hint}", kind.value));
                model(&system.models.find(&kind.value).map_err(unknown)?, &kind.value)
            }
            SimulatorSpec::Own(factory) => model(factory, name),
        }
    }

    /// Of an FMU that is called `name`.
    pub fn of_fmu(name: &str, fmu: &Fmu) -> Result<Interface, powerbond_fmi::FmuError> {
        let (variables, packets) = fmu.variables()?;
        let description = fmu.description();
        let numbers = variables.iter().map(|v| signal(v, Some(description)));
        let signals = numbers.chain(packets.iter().map(packet)).collect();
        let mut terminals = Vec::new();
        let mut open: Vec<&Terminal> = description.terminals.iter().rev().collect();
        while let Some(terminal) = open.pop() {
            terminals.push(terminal.clone());
            open.extend(terminal.terminals.iter().rev());
        }
        let origin = format!("{} {}", fmu.path().display(), description.token);
        let mut interface = Interface::new(name, &origin, signals, terminals);
        interface.name_members();
        interface.words.extend(own_words(&[&description.model_name]));
        Ok(interface)
    }

    fn new(
        name: &str,
        origin: &str,
        signals: Vec<Option<(Causality, Signal)>>,
        terminals: Vec<Terminal>,
    ) -> Interface {
        let (mut inputs, mut outputs, mut places) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (causality, signal) in signals.into_iter().flatten() {
            let is_input = causality == Causality::Input;
            let list = if is_input { &mut inputs } else { &mut outputs };
            places.insert((is_input, signal.name.clone()), list.len());
            list.push(signal);
        }
        let words = own_words(&[name]);
        Interface {
            name: name.to_owned(),
            origin: origin.to_owned(),
            words,
            inputs,
            outputs,
            terminals,
            places,
        }
    }

    /// Gives signals their names in terminals.
    fn name_members(&mut self) {
        let members = self.terminals.iter().flat_map(|terminal| &terminal.members);
        for member in members.filter(|member| !member.member.is_empty()) {
            for (is_input, list) in [(true, &mut self.inputs), (false, &mut self.outputs)] {
                if let Some(&i) = self.places.get(&(is_input, member.variable.clone())) {
                    list[i].member.clone_from(&member.member);
                }
            }
        }
    }

    /// The input called `name`.
    pub fn input(&self, name: &str) -> Option<&Signal> {
        self.places.get(&(true, name.to_owned())).map(|&i| &self.inputs[i])
    }

    /// The output called `name`.
    pub fn output(&self, name: &str) -> Option<&Signal> {
        self.places.get(&(false, name.to_owned())).map(|&i| &self.outputs[i])
    }

    /// The full name of one of its variables.
    pub fn full(&self, variable: &str) -> VariableName {
        VariableName::new(&self.name, variable)
    }
}

/// An input or an output as a signal. Another name of the same variable is left out: it offers nothing new.
fn signal(variable: &Variable, description: Option<&ModelDescription>) -> Option<(Causality, Signal)> {
    if variable.digits == Digits::Rest || variable.causality == Causality::Local {
        return None;
    }
    let described = description.and_then(|d| {
        let array = || variable.name.split('[').next().and_then(|array| d.find(array));
        d.find(&variable.name).or_else(array).map(|v| (d, &d.variables[v]))
    });
    if described.is_some_and(|(_, v)| v.alias_of.is_some()) {
        return None;
    }
    let quantity = described.map_or(String::new(), |(d, v)| {
        let declared = d.type_of(v).map_or("", |t| t.name.as_str());
        format!("{} {declared}", d.quantity_of(v).unwrap_or("")).trim().to_owned()
    });
    let signal = Signal {
        name: variable.name.clone(),
        kind: SignalKind::Number(variable.kind),
        unit: variable.unit.clone().filter(|unit| !unit.symbol.is_empty()),
        quantity,
        member: String::new(),
        start: variable.start,
        description: variable.description.clone(),
    };
    Some((variable.causality, signal))
}

fn packet(packet: &Packet) -> Option<(Causality, Signal)> {
    (packet.causality != Causality::Local).then(|| {
        let signal = Signal {
            name: packet.name.clone(),
            kind: SignalKind::Packet(packet.kind.clone()),
            unit: None,
            quantity: String::new(),
            member: String::new(),
            start: 0.0,
            description: String::new(),
        };
        (packet.causality, signal)
    })
}
