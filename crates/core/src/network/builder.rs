//! Names become indices, and everything that can be wrong with a coupled system is found.

use super::wiring::{Row, Wiring};
use super::{External, Member, Network, Packets, graph};
use crate::bond::{Bonds, Port, Term};
use crate::signal::Signal;
use crate::subsystem::{Binding, Causality, FeedThrough, Packet, Subsystem, SubsystemError, Variable};
use crate::suggest::{closest, hint};
use crate::units::{Conversion, Unit};
use std::collections::BTreeMap;
use std::fmt;

/// `subsystem.variable`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VariableName {
    /// The subsystem.
    pub subsystem: String,
    /// Its variable.
    pub variable: String,
}

impl VariableName {
    /// From its two parts.
    pub fn new(subsystem: &str, variable: &str) -> Self {
        VariableName { subsystem: subsystem.to_owned(), variable: variable.to_owned() }
    }

    /// Splits `subsystem.variable` at the first dot; variables may contain more.
    pub fn parse(text: &str) -> Option<Self> {
        let (subsystem, variable) = text.split_once('.')?;
        (!subsystem.is_empty() && !variable.is_empty()).then(|| VariableName::new(subsystem, variable))
    }
}

impl fmt::Display for VariableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.subsystem, self.variable)
    }
}

/// A connection to be made: `to = offset + Σ gain · source`.
#[derive(Clone, Debug)]
pub struct ConnectionSpec {
    /// Outputs and their gains.
    pub from: Vec<(VariableName, f64)>,
    /// The input.
    pub to: VariableName,
    /// Is added.
    pub offset: f64,
    /// Convert units where both ends know theirs.
    pub convert_units: bool,
}

/// One side of a bond to be made. Vectors have several inputs and as many outputs.
#[derive(Clone, Debug)]
pub struct PortSpec {
    /// Inputs of one subsystem.
    pub inputs: Vec<VariableName>,
    /// Outputs of the same subsystem.
    pub outputs: Vec<VariableName>,
    /// +1 if `u·y` is power that leaves the subsystem, -1 if it enters.
    pub sign: f64,
    /// Multiplies `u·y`, in W where the units of both are known (a gear ratio).
    pub ratio: f64,
}

/// A bond to be made.
#[derive(Clone, Debug)]
pub struct BondSpec {
    /// Its name.
    pub name: String,
    /// Two or more ports.
    pub ports: Vec<PortSpec>,
}

/// Which part of the description an error is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// A subsystem.
    Subsystem(String),
    /// The n-th connection.
    Connection(usize),
    /// The n-th external input.
    External(usize),
    /// The n-th bond, and its n-th port.
    Bond(usize, Option<usize>),
    /// The n-th recorded variable.
    Record(usize),
}

/// What is wrong with it.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // The fields are what the message prints.
pub enum Problem {
    DuplicateSubsystem { name: String },
    NoSubsystem { name: String, suggestion: Option<String> },
    NoVariable { kind: String, name: VariableName, wanted: Option<Causality>, hint: String },
    WrongCausality { name: VariableName, wanted: Causality, found: Causality },
    Types { from: VariableName, from_kind: String, to: VariableName, to_kind: String },
    NotANumber { name: VariableName, kind: String },
    NotAsItIs { from: VariableName, kind: String },
    FedTwice { input: VariableName, other: &'static str },
    NotFinite { what: String, value: f64 },
    Units { from: VariableName, from_unit: String, to: VariableName, to_unit: String },
    Turns { from: VariableName, from_unit: String, to: VariableName, to_unit: String, gain: f64 },
    TooFewPorts { bond: String, ports: usize },
    SplitPort { input: VariableName, output: VariableName },
    PortLengths { inputs: usize, outputs: usize },
    Unfed { input: VariableName },
    Foreign { input: VariableName, source: VariableName },
    NotAPower { input: VariableName, input_unit: String, output: VariableName, output_unit: String },
    BadSign { sign: f64 },
    BadRatio { ratio: f64 },
    UnitTwice { ratio: f64, input_unit: String, output_unit: String },
    UsedTwice { input: VariableName, bond: String },
    Unbalanced { bond: String, first: VariableName, second: VariableName, sum: f64 },
    Refused { name: String, error: SubsystemError },
}

/// An error of the description.
#[derive(Clone, Debug, PartialEq)]
pub struct BuildError {
    /// Which part.
    pub subject: Subject,
    /// What.
    pub problem: Problem,
}

fn noun(causality: Causality) -> &'static str {
    match causality {
        Causality::Input => "input",
        Causality::Output => "output",
        Causality::Local => "local variable",
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hint = |f: &mut fmt::Formatter<'_>, suggestion: &Option<String>| match suggestion {
            Some(name) => write!(f, ". Did you mean `{name}`?"),
            None => Ok(()),
        };
        match self {
            Problem::DuplicateSubsystem { name } => write!(f, "there are two subsystems called `{name}`"),
            Problem::NoSubsystem { name, suggestion } => {
                write!(f, "there is no subsystem `{name}`")?;
                hint(f, suggestion)
            }
            Problem::NoVariable { kind, name, wanted, hint } => {
                let what = wanted.map_or("variable", noun);
                write!(f, "`{}` ({kind}) has no {what} `{}`.{hint}", name.subsystem, name.variable)
            }
            Problem::WrongCausality { name, wanted, found } => {
                let article = if *found == Causality::Local { "a" } else { "an" };
                write!(f, "`{name}` is {article} {}, an {} is needed here", noun(*found), noun(*wanted))
            }
            Problem::Types { from, from_kind, to, to_kind } => {
                write!(f, "`{from}` is {from_kind} and `{to}` is {to_kind}: they cannot be connected")
            }
            Problem::NotANumber { name, kind } => {
                write!(f, "`{name}` is {kind}; a variable with a number is needed here")
            }
            Problem::NotAsItIs { from, kind } => write!(
                f,
                "`{from}` is {kind}, which is passed on as it is: one source, without gain and offset"
            ),
            Problem::FedTwice { input, other } => write!(
                f,
                "`{input}` is fed already by {other}. An input has one feeder; to add signals up, write one connection \
                 with `from = [\"a.x\", \"b.y\"]`"
            ),
            Problem::NotFinite { what, value } => write!(f, "{what} is {value}; a finite number is needed"),
            Problem::Units { from, from_unit, to, to_unit } => write!(
                f,
                "`{from}` is in {from_unit} and `{to}` in {to_unit}: these cannot be converted into each other. Write \
                 `convert_units = false` to connect the numbers as they are"
            ),
            Problem::Turns { from, from_unit, to, to_unit, gain } => write!(
                f,
                "`{from}` is in {from_unit} and `{to}` in {to_unit}: one counts turns, the other radians. Write \
                 `convert_units = false` and the `gain` that is meant, {gain} if a turn has 2π radians"
            ),
            Problem::TooFewPorts { bond, ports } => {
                write!(f, "bond `{bond}` has {ports} port(s); power flows between at least two")
            }
            Problem::SplitPort { input, output } => write!(
                f,
                "`{input}` and `{output}` are on different subsystems; the input and the output of a port belong to one"
            ),
            Problem::PortLengths { inputs, outputs } => {
                write!(f, "the port has {inputs} input(s) and {outputs} output(s); they must pair up")
            }
            Problem::Unfed { input } => {
                write!(f, "`{input}` is a side of a bond, but no connection feeds it")
            }
            Problem::Foreign { input, source } => write!(
                f,
                "`{input}` is fed by `{source}`, which is not an output of another port of this bond, so its product is not \
                 the power of the bond"
            ),
            Problem::NotAPower { input, input_unit, output, output_unit } => write!(
                f,
                "`{input}` in {input_unit} times `{output}` in {output_unit} is not a power. A bond pairs force and \
                 velocity, torque and speed, voltage and current, or pressure and flow"
            ),
            Problem::BadSign { sign } => write!(
                f,
                "`sign` is {sign}; write 1 if input times output is power that leaves the subsystem, -1 if it enters"
            ),
            Problem::BadRatio { ratio } => {
                write!(f, "`ratio` is {ratio}; a finite number other than 0 is needed")
            }
            Problem::UnitTwice { ratio, input_unit, output_unit } => write!(
                f,
                "`ratio` = {ratio} is what makes watts of {input_unit} times {output_unit}. Leave it out: known units are \
                 converted already"
            ),
            Problem::UsedTwice { input, bond } => write!(f, "`{input}` is a side of bond `{bond}` already"),
            Problem::Unbalanced { bond, first, second, sum } => write!(
                f,
                "the powers of bond `{bond}` cannot cancel: with exact coupling `{first}` times `{second}` is left with \
                 factor {sum}. Check the `sign` of the ports, their `ratio` and the `gain` of the connections between them"
            ),
            Problem::Refused { name, error } => write!(f, "`{name}` refused its ports: {error}"),
        }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl std::error::Error for BuildError {}

/// The names behind the indices of a [`Network`].
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Subsystems.
    pub subsystems: Vec<String>,
    /// Inputs.
    pub inputs: Vec<VariableName>,
    /// Outputs.
    pub outputs: Vec<VariableName>,
    /// Probes.
    pub probes: Vec<VariableName>,
    /// Bonds, in the order of [`Bonds::bonds`].
    pub bonds: Vec<String>,
    /// Ports, by the name of their subsystem, in the order of [`Bonds::ports`].
    pub ports: Vec<String>,
    /// Connections of texts and binaries: from, to.
    pub packets: Vec<(VariableName, VariableName)>,
    /// The place of each bond in the order in which they were given to the builder.
    pub bond_order: Vec<usize>,
}

/// Collects the parts of a coupled system and checks them together.
#[derive(Default)]
pub struct NetworkBuilder {
    subsystems: Vec<(String, Box<dyn Subsystem>)>,
    connections: Vec<ConnectionSpec>,
    externals: Vec<(VariableName, Signal)>,
    bonds: Vec<BondSpec>,
    records: Vec<VariableName>,
}

impl NetworkBuilder {
    /// Nothing yet.
    pub fn new() -> Self {
        NetworkBuilder::default()
    }

    /// Adds a subsystem.
    pub fn subsystem(mut self, name: &str, simulator: Box<dyn Subsystem>) -> Self {
        self.subsystems.push((name.to_owned(), simulator));
        self
    }

    /// Adds a plain connection `to = gain · from`.
    pub fn connect(self, from: &str, to: &str, gain: f64) -> Self {
        let name = |text: &str| VariableName::parse(text).unwrap_or_else(|| VariableName::new(text, ""));
        let (from, to) = (vec![(name(from), gain)], name(to));
        self.connection(ConnectionSpec { from, to, offset: 0.0, convert_units: false })
    }

    /// Adds a connection.
    pub fn connection(mut self, spec: ConnectionSpec) -> Self {
        self.connections.push(spec);
        self
    }

    /// Adds an external input.
    pub fn external(mut self, input: VariableName, signal: Signal) -> Self {
        self.externals.push((input, signal));
        self
    }

    /// Adds a power bond.
    pub fn bond(mut self, spec: BondSpec) -> Self {
        self.bonds.push(spec);
        self
    }

    /// Asks for a variable to be recorded. Recording changes no step: what is not exchanged is read as a probe.
    pub fn record(mut self, name: VariableName) -> Self {
        self.records.push(name);
        self
    }

    /// The subsystems so far, for looking at what they offer.
    pub fn subsystems(&self) -> impl Iterator<Item = (&str, &dyn Subsystem)> {
        self.subsystems.iter().map(|(name, s)| (name.as_str(), s.as_ref()))
    }

    /// Checks everything and makes the network. Subsystems, bonds and sums are put in name order, so that the
    /// order of listing changes no bit of the results.
    pub fn build(mut self) -> Result<(Network, Names), BuildError> {
        self.subsystems.sort_by(|a, b| a.0.cmp(&b.0));
        if let Some(pair) = self.subsystems.windows(2).find(|w| w[0].0 == w[1].0) {
            let name = pair[0].0.clone();
            return Err(BuildError {
                subject: Subject::Subsystem(name.clone()),
                problem: Problem::DuplicateSubsystem { name },
            });
        }
        let mut names = Names::default();
        let packets = self.resolve_packets(&mut names)?;
        let feeds = self.resolve_feeds()?;
        let outputs_used = self.outputs_used(&feeds)?;

        let mut bindings = Vec::new();
        let mut place_of_input = BTreeMap::new();
        let mut place_of_output = BTreeMap::new();
        let mut probe_wish: Vec<Vec<usize>> = vec![Vec::new(); self.subsystems.len()];
        for (n, name) in self.records.iter().enumerate() {
            let (s, v) = self.find(name, None, Subject::Record(n))?;
            let used = feeds.contains_key(&(s, v)) || outputs_used[s].contains(&v);
            if !used && !probe_wish[s].contains(&v) {
                probe_wish[s].push(v);
            }
        }
        for (s, (name, simulator)) in self.subsystems.iter().enumerate() {
            let info = simulator.info();
            let full = |v: usize| VariableName::new(name, &info.variables[v].name);
            let inputs: Vec<usize> =
                (0..info.variables.len()).filter(|&v| feeds.contains_key(&(s, v))).collect();
            let outputs: Vec<usize> =
                (0..info.variables.len()).filter(|v| outputs_used[s].contains(v)).collect();
            for &v in &inputs {
                place_of_input.insert((s, v), names.inputs.len());
                names.inputs.push(full(v));
            }
            for &v in &outputs {
                place_of_output.insert((s, v), names.outputs.len());
                names.outputs.push(full(v));
            }
            names.probes.extend(probe_wish[s].iter().map(|&v| full(v)));
            names.subsystems.push(name.clone());
            let feed_through = match &info.feed_through {
                FeedThrough::Declared(pairs) => {
                    let place = |list: &[usize], v: usize| list.iter().position(|&x| x == v);
                    let mut bound: Vec<(usize, usize)> = pairs
                        .iter()
                        .filter_map(|&(o, i)| Some((place(&outputs, o)?, place(&inputs, i)?)))
                        .collect();
                    bound.sort_unstable();
                    bound.dedup();
                    bound
                }
                FeedThrough::Unknown => Vec::new(),
            };
            bindings.push(Binding {
                inputs,
                outputs,
                probes: std::mem::take(&mut probe_wish[s]),
                feed_through,
            });
        }

        let mut rows = vec![Row::default(); names.inputs.len()];
        let mut externals = Vec::new();
        let mut signals: Vec<Option<Signal>> =
            self.externals.drain(..).map(|(_, signal)| Some(signal)).collect();
        for (key, feed) in &feeds {
            let input = place_of_input[key];
            match feed {
                Feed::Outputs { sources, offset } => {
                    let sources =
                        sources.iter().map(|(source, gain)| (place_of_output[source], *gain)).collect();
                    rows[input] = Row { sources, offset: *offset };
                }
                Feed::External(n) => {
                    externals.extend(signals[*n].take().map(|signal| External { input, signal }))
                }
            }
        }
        let wiring = Wiring::new(&rows);
        let bonds = self.resolve_bonds(&wiring, &place_of_input, &place_of_output, &mut names)?;

        let mut members = Vec::new();
        let mut feed_through = Vec::new();
        let (mut n_inputs, mut n_outputs, mut n_probes) = (0, 0, 0);
        let (mut owner_of_input, mut owner_of_output) = (Vec::new(), Vec::new());
        let mut input_start = Vec::new();
        for (s, ((name, mut simulator), binding)) in self.subsystems.into_iter().zip(bindings).enumerate() {
            simulator.bind(&binding).map_err(|error| BuildError {
                subject: Subject::Subsystem(name.clone()),
                problem: Problem::Refused { name: name.clone(), error },
            })?;
            let first_pair = feed_through.len();
            feed_through.extend(binding.feed_through.iter().map(|&(o, i)| (n_outputs + o, n_inputs + i)));
            let info = simulator.info();
            input_start.extend(binding.inputs.iter().map(|&v| info.variables[v].start));
            members.push(Member {
                inputs: n_inputs..n_inputs + binding.inputs.len(),
                outputs: n_outputs..n_outputs + binding.outputs.len(),
                probes: n_probes..n_probes + binding.probes.len(),
                feed_through: first_pair..feed_through.len(),
                feed_through_known: matches!(info.feed_through, FeedThrough::Declared(_)),
                probed: None,
                capabilities: info.capabilities,
                simulator,
            });
            n_inputs += binding.inputs.len();
            n_outputs += binding.outputs.len();
            n_probes += binding.probes.len();
            owner_of_input.resize(n_inputs, s);
            owner_of_output.resize(n_outputs, s);
        }
        let mut network = Network {
            members,
            wiring,
            externals,
            packets,
            bonds,
            feed_through,
            input_start,
            n_inputs,
            n_outputs,
            n_probes,
            owner_of_input,
            owner_of_output,
            evaluation_order: Vec::new(),
        };
        network.evaluation_order = graph::components(&network.feed_through_edges()).concat();
        Ok((network, names))
    }

    /// Looks a variable up; `wanted` is what it has to be.
    fn find(
        &self,
        name: &VariableName,
        wanted: Option<Causality>,
        subject: Subject,
    ) -> Result<(usize, usize), BuildError> {
        let fail = |problem| Err(BuildError { subject: subject.clone(), problem });
        let Ok(s) = self.subsystems.binary_search_by(|(n, _)| n.as_str().cmp(&name.subsystem)) else {
            let suggestion = closest(&name.subsystem, self.subsystems.iter().map(|(n, _)| n.as_str()));
            return fail(Problem::NoSubsystem {
                name: name.subsystem.clone(),
                suggestion: suggestion.map(str::to_owned),
            });
        };
        let info = self.subsystems[s].1.info();
        let Some(v) = info.find(&name.variable) else {
            if let Some((_, packet)) = self.packet(name) {
                return fail(Problem::NotANumber { name: name.clone(), kind: packet.kind.noun() });
            }
            let fitting = info.variables.iter().filter(|v| wanted.is_none_or(|w| w == v.causality));
            let hint = hint(&name.variable, fitting.map(|v| v.name.as_str()));
            return fail(Problem::NoVariable { kind: info.kind.clone(), name: name.clone(), wanted, hint });
        };
        match wanted {
            Some(wanted) if info.variables[v].causality != wanted => fail(Problem::WrongCausality {
                name: name.clone(),
                wanted,
                found: info.variables[v].causality,
            }),
            _ => Ok((s, v)),
        }
    }

    /// A variable that is no number, and its place.
    fn packet(&self, name: &VariableName) -> Option<(Place, &Packet)> {
        let s = self.subsystems.binary_search_by(|(n, _)| n.as_str().cmp(&name.subsystem)).ok()?;
        let packets = self.subsystems[s].1.packets();
        let p = packets.iter().position(|packet| packet.name == name.variable)?;
        Some(((s, p), &packets[p]))
    }

    /// The connections of texts and binaries.
    fn resolve_packets(&self, names: &mut Names) -> Result<Packets, BuildError> {
        let mut links: Vec<(Place, Place)> = Vec::new();
        for (n, spec) in self.connections.iter().enumerate() {
            let error = |problem| BuildError { subject: Subject::Connection(n), problem };
            let to = self.packet(&spec.to);
            for (name, gain) in &spec.from {
                let from = self.packet(name);
                if from.is_none() && to.is_none() {
                    continue;
                }
                // The side that is a number, or whatever is wrong with it.
                let number = |name: &VariableName, wanted| {
                    let place = self.find(name, Some(wanted), Subject::Connection(n))?;
                    Ok(self.variable(place).kind.noun().to_owned())
                };
                let kind = |found: Option<(Place, &Packet)>, name: &VariableName, wanted| match found {
                    None => number(name, wanted),
                    Some((_, packet)) if packet.causality == wanted => Ok(packet.kind.noun()),
                    Some((_, packet)) => {
                        let (name, found) = (name.clone(), packet.causality);
                        Err(error(Problem::WrongCausality { name, wanted, found }))
                    }
                };
                let from_kind = kind(from, name, Causality::Output)?;
                let to_kind = kind(to, &spec.to, Causality::Input)?;
                let (from, to) = match (from, to) {
                    (Some(from), Some(to)) if from.1.kind.may_feed(&to.1.kind) => (from.0, to.0),
                    _ => {
                        let (from, to) = (name.clone(), spec.to.clone());
                        return Err(error(Problem::Types { from, from_kind, to, to_kind }));
                    }
                };
                if spec.from.len() > 1 || *gain != 1.0 || spec.offset != 0.0 {
                    return Err(error(Problem::NotAsItIs { from: name.clone(), kind: from_kind }));
                }
                if links.iter().any(|link| link.1 == to) {
                    let (input, other) = (spec.to.clone(), "another connection");
                    return Err(error(Problem::FedTwice { input, other }));
                }
                links.push((from, to));
                names.packets.push((name.clone(), spec.to.clone()));
            }
        }
        Ok(Packets::new(links))
    }

    fn variable(&self, (s, v): Place) -> &Variable {
        &self.subsystems[s].1.info().variables[v]
    }

    fn unit(&self, place: Place) -> Option<&Unit> {
        self.variable(place).unit.as_ref()
    }

    /// What feeds each input; sums in name order.
    fn resolve_feeds(&self) -> Result<BTreeMap<Place, Feed>, BuildError> {
        let mut feeds = BTreeMap::new();
        for (n, spec) in self.connections.iter().enumerate() {
            if self.packet(&spec.to).is_some() {
                continue;
            }
            let subject = || Subject::Connection(n);
            let fail = |problem| Err(BuildError { subject: subject(), problem });
            let to = self.find(&spec.to, Some(Causality::Input), subject())?;
            let mut offset = spec.offset;
            let mut sources = Vec::new();
            let mut sorted = spec.from.clone();
            sorted.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            for (name, gain) in &sorted {
                let from = self.find(name, Some(Causality::Output), subject())?;
                let (from_kind, to_kind) = (self.variable(from).kind, self.variable(to).kind);
                if !from_kind.may_feed(to_kind) {
                    return fail(Problem::Types {
                        from: name.clone(),
                        from_kind: from_kind.noun().to_owned(),
                        to: spec.to.clone(),
                        to_kind: to_kind.noun().to_owned(),
                    });
                }
                let mut gain = *gain;
                if let (true, Some(a), Some(b)) = (spec.convert_units, self.unit(from), self.unit(to)) {
                    match a.conversion_to(b) {
                        Conversion::Linear { gain: factor, offset: shift } => {
                            offset += gain * shift;
                            gain *= factor;
                        }
                        Conversion::Unknown => {}
                        Conversion::Turns { gain } => {
                            return fail(Problem::Turns {
                                from: name.clone(),
                                from_unit: a.symbol.clone(),
                                to: spec.to.clone(),
                                to_unit: b.symbol.clone(),
                                gain,
                            });
                        }
                        Conversion::Impossible => {
                            return fail(Problem::Units {
                                from: name.clone(),
                                from_unit: a.symbol.clone(),
                                to: spec.to.clone(),
                                to_unit: b.symbol.clone(),
                            });
                        }
                    }
                }
                if !gain.is_finite() {
                    return fail(Problem::NotFinite { what: format!("the gain of `{name}`"), value: gain });
                }
                sources.push((from, gain));
            }
            if !offset.is_finite() {
                return fail(Problem::NotFinite { what: "the offset".to_owned(), value: offset });
            }
            if feeds.insert(to, Feed::Outputs { sources, offset }).is_some() {
                return fail(Problem::FedTwice { input: spec.to.clone(), other: "another connection" });
            }
        }
        for (n, (name, _)) in self.externals.iter().enumerate() {
            let subject = Subject::External(n);
            let to = self.find(name, Some(Causality::Input), subject.clone())?;
            match feeds.insert(to, Feed::External(n)) {
                None => {}
                Some(Feed::Outputs { .. }) => {
                    let problem = Problem::FedTwice { input: name.clone(), other: "a connection" };
                    return Err(BuildError { subject, problem });
                }
                Some(Feed::External(_)) => {
                    let problem = Problem::FedTwice { input: name.clone(), other: "another external input" };
                    return Err(BuildError { subject, problem });
                }
            }
        }
        Ok(feeds)
    }

    /// Which outputs are exchanged: those that are connected or part of a bond.
    fn outputs_used(&self, feeds: &BTreeMap<Place, Feed>) -> Result<Vec<Vec<usize>>, BuildError> {
        let mut used = vec![Vec::new(); self.subsystems.len()];
        for feed in feeds.values() {
            if let Feed::Outputs { sources, .. } = feed {
                sources.iter().for_each(|&((s, v), _)| used[s].push(v));
            }
        }
        for (b, bond) in self.bonds.iter().enumerate() {
            for (p, port) in bond.ports.iter().enumerate() {
                for name in &port.outputs {
                    let (s, v) = self.find(name, Some(Causality::Output), Subject::Bond(b, Some(p)))?;
                    used[s].push(v);
                }
            }
        }
        used.iter_mut().for_each(|list| {
            list.sort_unstable();
            list.dedup();
        });
        Ok(used)
    }

    fn resolve_bonds(
        &self,
        wiring: &Wiring,
        place_of_input: &BTreeMap<Place, usize>,
        place_of_output: &BTreeMap<Place, usize>,
        names: &mut Names,
    ) -> Result<Bonds, BuildError> {
        let mut order: Vec<usize> = (0..self.bonds.len()).collect();
        order.sort_by(|&a, &b| self.bonds[a].name.cmp(&self.bonds[b].name));
        let mut bonds = Bonds::default();
        let mut bond_of_input: BTreeMap<usize, &str> = BTreeMap::new();
        for &b in &order {
            let spec = &self.bonds[b];
            if spec.ports.len() < 2 {
                let problem = Problem::TooFewPorts { bond: spec.name.clone(), ports: spec.ports.len() };
                return Err(BuildError { subject: Subject::Bond(b, None), problem });
            }
            let first_port = bonds.ports.len();
            for (p, port) in spec.ports.iter().enumerate() {
                let subject = || Subject::Bond(b, Some(p));
                let fail = |problem| Err(BuildError { subject: subject(), problem });
                if port.inputs.len() != port.outputs.len() || port.inputs.is_empty() {
                    return fail(Problem::PortLengths {
                        inputs: port.inputs.len(),
                        outputs: port.outputs.len(),
                    });
                }
                if port.sign.abs() != 1.0 {
                    return fail(Problem::BadSign { sign: port.sign });
                }
                if !port.ratio.is_finite() || port.ratio == 0.0 {
                    return fail(Problem::BadRatio { ratio: port.ratio });
                }
                let first_term = bonds.terms.len();
                let mut owner = None;
                for (input, output) in port.inputs.iter().zip(&port.outputs) {
                    let from = self.find(output, Some(Causality::Output), subject())?;
                    let to = self.find(input, Some(Causality::Input), subject())?;
                    if from.0 != to.0 || owner.is_some_and(|s| s != to.0) {
                        return fail(Problem::SplitPort { input: input.clone(), output: output.clone() });
                    }
                    owner = Some(to.0);
                    let Some(&u) = place_of_input.get(&to).filter(|&&u| wiring.is_coupled(u)) else {
                        return fail(Problem::Unfed { input: input.clone() });
                    };
                    let watts = self
                        .watts((input, to), (output, from), port.ratio)
                        .map_err(|problem| BuildError { subject: subject(), problem })?;
                    if let Some(other) = bond_of_input.insert(u, &spec.name) {
                        return fail(Problem::UsedTwice { input: input.clone(), bond: other.to_owned() });
                    }
                    bonds.terms.push(Term {
                        u,
                        y: place_of_output[&from],
                        factor: port.sign * port.ratio * watts,
                    });
                }
                bonds
                    .ports
                    .push(Port { subsystem: owner.unwrap_or(0), terms: first_term..bonds.terms.len() });
                names.ports.push(port.inputs[0].subsystem.clone());
            }
            let ports = first_port..bonds.ports.len();
            self.check_balance(b, &bonds, ports.clone(), wiring, names)?;
            bonds.bonds.push(ports);
            names.bonds.push(spec.name.clone());
        }
        names.bond_order = order;
        Ok(bonds)
    }

    /// How many watts one input times one output is; 1 where a unit is not known.
    fn watts(
        &self,
        (input, to): (&VariableName, Place),
        (output, from): (&VariableName, Place),
        ratio: f64,
    ) -> Result<f64, Problem> {
        let (Some(a), Some(b)) = (self.unit(to), self.unit(from)) else { return Ok(1.0) };
        let (input_unit, output_unit) = (a.symbol.clone(), b.symbol.clone());
        if a.product_is_power(b) == Some(false) {
            let (input, output) = (input.clone(), output.clone());
            return Err(Problem::NotAPower { input, input_unit, output, output_unit });
        }
        let watts = a.watts(b).unwrap_or(1.0);
        // Somebody has converted by hand what is converted anyway: no gear has such a ratio by chance.
        if (watts - 1.0).abs() > 1e-9 && (ratio.abs() / watts - 1.0).abs() < 1e-3 {
            return Err(Problem::UnitTwice { ratio, input_unit, output_unit });
        }
        Ok(watts)
    }

    /// With exact coupling the powers of all ports must cancel for every y: the bilinear form Σ s·ratio·(L y)·y
    /// has to vanish. This finds a wrong sign, ratio or gain before the first step.
    fn check_balance(
        &self,
        b: usize,
        bonds: &Bonds,
        ports: std::ops::Range<usize>,
        wiring: &Wiring,
        names: &Names,
    ) -> Result<(), BuildError> {
        let mut form: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
        for p in ports.clone() {
            let others = |y: usize| {
                ports
                    .clone()
                    .filter(|&q| q != p)
                    .any(|q| bonds.terms[bonds.ports[q].terms.clone()].iter().any(|t| t.y == y))
            };
            for term in &bonds.terms[bonds.ports[p].terms.clone()] {
                for (source, gain) in wiring.sources(term.u) {
                    if !others(source) {
                        let problem = Problem::Foreign {
                            input: names.inputs[term.u].clone(),
                            source: names.outputs[source].clone(),
                        };
                        return Err(BuildError { subject: Subject::Bond(b, Some(p - ports.start)), problem });
                    }
                    let entry = form.entry((source.min(term.y), source.max(term.y))).or_default();
                    entry.0 += term.factor * gain;
                    entry.1 += (term.factor * gain).abs();
                }
            }
        }
        // Gains that come from unit conversions carry round-off.
        match form.iter().find(|(_, (sum, size))| sum.abs() > 1e-9 * size) {
            None => Ok(()),
            Some((&(i, j), &(sum, _))) => {
                let problem = Problem::Unbalanced {
                    bond: self.bonds[b].name.clone(),
                    first: names.outputs[i].clone(),
                    second: names.outputs[j].clone(),
                    sum,
                };
                Err(BuildError { subject: Subject::Bond(b, None), problem })
            }
        }
    }
}

/// `(subsystem, variable)`.
type Place = (usize, usize);

enum Feed {
    Outputs { sources: Vec<(Place, f64)>, offset: f64 },
    External(usize),
}
