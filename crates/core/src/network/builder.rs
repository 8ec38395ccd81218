//! Names become indices, and everything that can be wrong with a coupled system is found.

mod bonds;
mod feeds;

use super::wiring::{Row, ValueTable, Wiring};
use super::{
    BondSpec, BuildError, BuildErrors, ConnectionSpec, External, InputScale, Member, NameIndex, Network,
    Problem, Subject, VariableName,
};
use crate::feed_through::{Evidence, FeedThroughPair, GainSource};
use crate::subsystem::{Binding, Causality, FeedThrough, Info, Packet, Subsystem, Variable};
use crate::suggest::{closest, hint};
use crate::time::signal::Signal;
use crate::units::Unit;
use bonds::Sides;
use feeds::Fed;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

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
    /// Bonds, in the order of [`Bonds::bonds`](crate::energy::Bonds::bonds).
    pub bonds: Vec<String>,
    /// Ports, by the name of their subsystem, in the order of [`Bonds::ports`](crate::energy::Bonds::ports).
    pub ports: Vec<String>,
    /// Connections of texts and binaries: from, to.
    pub packets: Vec<(VariableName, VariableName)>,
    /// The place of each bond in the order in which they were given to the builder.
    pub bond_order: Vec<usize>,
}

/// Collects the parts of a coupled system and checks them together.
#[derive(Default)]
pub struct NetworkBuilder {
    /// As they were added; in name order from the start of `build` on.
    subsystems: Vec<Named>,
    /// Their places.
    places: NameIndex<String>,
    connections: Vec<ConnectionSpec>,
    externals: Vec<(VariableName, Signal)>,
    bonds: Vec<BondSpec>,
    /// Bonds that are no power bonds.
    pseudo: BTreeSet<usize>,
    records: Vec<VariableName>,
    /// Tables behind connections, by input.
    tables: Vec<(VariableName, ValueTable)>,
    /// How often the nearest name was searched for.
    searches: Cell<usize>,
}

/// A search costs in proportion to how many names there are: a file in which everything is called otherwise is told so in time.
const MAX_SEARCHES: usize = 100;

/// What is wrong so far.
#[derive(Default)]
struct Errors(Vec<BuildError>);

impl Errors {
    /// The value, or none and its error is kept.
    fn keep<T>(&mut self, result: Result<T, BuildError>) -> Option<T> {
        result.map_err(|error| self.0.push(error)).ok()
    }

    /// Everything that is wrong, if anything is; nothing stays.
    fn take(&mut self) -> Result<(), BuildErrors> {
        if self.0.is_empty() { Ok(()) } else { Err(BuildErrors(std::mem::take(&mut self.0))) }
    }
}

/// A subsystem, and where the names of its variables are.
struct Named {
    name: String,
    simulator: Box<dyn Subsystem>,
    variables: NameIndex<String>,
    packets: NameIndex<String>,
}

impl NetworkBuilder {
    /// Nothing yet.
    pub fn new() -> Self {
        NetworkBuilder::default()
    }

    /// Adds a subsystem.
    pub fn subsystem(mut self, name: &str, simulator: Box<dyn Subsystem>) -> Self {
        let variables = simulator.info().variables.iter().map(|v| v.name.clone()).collect();
        let packets = simulator.packets().iter().map(|p| p.name.clone()).collect();
        self.places.insert(name.to_owned(), self.subsystems.len());
        self.subsystems.push(Named { name: name.to_owned(), simulator, variables, packets });
        self
    }

    /// Adds a plain connection `to = gain · from`.
    pub fn connect(self, from: &str, to: &str, gain: f64) -> Self {
        let name = |text: &str| VariableName::parse(text).unwrap_or_else(|| VariableName::new(text, ""));
        let (from, to) = (vec![(name(from), gain)], name(to));
        self.connection(ConnectionSpec { from, to, offset: 0.0, convert_units: false })
    }

    /// Puts a table behind the connection to an input that takes integers.
    pub fn table(mut self, input: VariableName, table: ValueTable) -> Self {
        self.tables.push((input, table));
        self
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

    /// Adds a bond whose products are no powers, such as of temperature and heat flow: they keep their own unit, whatever that is.
    pub fn pseudo_bond(mut self, bond: BondSpec) -> Self {
        self.pseudo.insert(self.bonds.len());
        self.bond(bond)
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

    /// The subsystems so far in name order, for looking at what they offer.
    pub fn subsystems(&self) -> impl Iterator<Item = (&str, &dyn Subsystem)> {
        let mut ordered: Vec<&Named> = self.subsystems.iter().collect();
        ordered.sort_by(|a, b| a.name.cmp(&b.name));
        ordered.into_iter().map(|s| (s.name.as_str(), s.simulator.as_ref()))
    }

    /// The subsystem of this name.
    pub fn simulator(&self, name: &str) -> Option<&dyn Subsystem> {
        self.places.place(name).map(|s| self.subsystems[s].simulator.as_ref())
    }

    /// The variable of this name: its index in its subsystem, and what it is.
    pub fn variable_of(&self, name: &VariableName) -> Option<(usize, &Variable)> {
        let subsystem = &self.subsystems[self.places.place(&name.subsystem)?];
        let v = subsystem.variables.place(&name.variable)?;
        Some((v, &subsystem.simulator.info().variables[v]))
    }

    /// Checks everything and makes the network. Subsystems, bonds and sums are put in name order, so that the
    /// order of listing changes no bit of the results. The error has all that is wrong, without what follows from it: what
    /// feeds the sides of bonds is looked at once every name and connection is sound.
    pub fn build(mut self) -> Result<(Network, Names), BuildErrors> {
        self.subsystems.sort_by(|a, b| a.name.cmp(&b.name));
        self.places = self.subsystems.iter().map(|s| s.name.clone()).collect();
        let mut errors = Errors::default();
        for pair in self.subsystems.chunk_by(|a, b| a.name == b.name).filter(|same| same.len() > 1) {
            let name = pair[0].name.clone();
            let subject = Subject::Subsystem(name.clone());
            errors.0.push(BuildError { subject, problem: Problem::DuplicateSubsystem { name } });
        }
        let mut names = Names::default();
        let (packets, failed) = self.resolve_packets(&mut names, &mut errors);
        let feeds = self.resolve_feeds(&failed, &mut errors);
        let sides = self.resolve_sides(&mut errors);
        let records = self.resolve_records(&mut errors);
        errors.take()?;
        let (bindings, places) = self.bindings(&feeds, &sides, &records, &mut names);
        let (wiring, externals) = self.wire(&feeds, &places);
        let bonds = self.resolve_bonds(&sides, &wiring, &places, &mut names, &mut errors);
        errors.take()?;
        let mut network = Network {
            members: Vec::new(),
            wiring,
            external_of_input: Vec::new(),
            is_external: Vec::new(),
            externals,
            packets,
            bonds,
            feed_through: Vec::new(),
            integrations: Vec::new(),
            input_start: Vec::new(),
            input_scale: Vec::new(),
            n_inputs: 0,
            n_outputs: 0,
            n_probes: 0,
            owner_of_input: Vec::new(),
            owner_of_output: Vec::new(),
            evaluation_order: Vec::new(),
        };
        for (Named { name, simulator, .. }, binding) in self.subsystems.into_iter().zip(bindings) {
            errors.keep(network.add(&name, simulator, binding));
        }
        errors.take()?;
        network.integrations = vec![None; network.n_outputs];
        network.external_of_input = vec![None; network.n_inputs];
        for (e, external) in network.externals.iter().enumerate() {
            network.external_of_input[external.input] = Some(e);
        }
        network.is_external = network.external_of_input.iter().map(Option::is_some).collect();
        network.find_evaluation_order();
        Ok((network, names))
    }

    /// Which variables of each subsystem take part, and the flat places of its inputs and outputs.
    fn bindings(
        &self,
        feeds: &BTreeMap<Place, Fed>,
        sides: &[Vec<Vec<Sides>>],
        records: &[Place],
        names: &mut Names,
    ) -> (Vec<Binding>, Places) {
        let used = self.outputs_used(feeds, sides);
        let probes = self.probes(feeds, &used, records);
        let (mut bindings, mut places) = (Vec::new(), Places::default());
        let parts = self.subsystems.iter().zip(used).zip(probes).enumerate();
        for (s, ((Named { name, simulator, .. }, outputs), probes)) in parts {
            let info = simulator.info();
            let full = |v: usize| VariableName::new(name, &info.variables[v].name);
            let inputs: Vec<usize> = feeds.range((s, 0)..(s + 1, 0)).map(|(&(_, v), _)| v).collect();
            for &v in &inputs {
                places.inputs.insert((s, v), names.inputs.len());
                names.inputs.push(full(v));
            }
            for &v in &outputs {
                places.outputs.insert((s, v), names.outputs.len());
                names.outputs.push(full(v));
            }
            names.probes.extend(probes.iter().map(|&v| full(v)));
            names.subsystems.push(name.clone());
            let feed_through = bound_feed_through(info, &inputs, &outputs);
            bindings.push(Binding { inputs, outputs, probes, feed_through });
        }
        (bindings, places)
    }

    /// The places of what is recorded.
    fn resolve_records(&self, errors: &mut Errors) -> Vec<Place> {
        let found = |(n, name)| self.find(name, None, Subject::Record(n));
        self.records.iter().enumerate().filter_map(|record| errors.keep(found(record))).collect()
    }

    /// Variables of each subsystem that are recorded and not exchanged.
    fn probes(
        &self,
        feeds: &BTreeMap<Place, Fed>,
        used: &[Vec<usize>],
        records: &[Place],
    ) -> Vec<Vec<usize>> {
        let mut probes: Vec<Vec<usize>> = vec![Vec::new(); self.subsystems.len()];
        let count = |s: &Named| s.simulator.info().variables.len();
        let mut read: Vec<Vec<bool>> = self.subsystems.iter().map(|s| vec![false; count(s)]).collect();
        feeds.keys().for_each(|&(s, v)| read[s][v] = true);
        read.iter_mut().zip(used).for_each(|(read, used)| used.iter().for_each(|&v| read[v] = true));
        for &(s, v) in records {
            if !std::mem::replace(&mut read[s][v], true) {
                probes[s].push(v);
            }
        }
        probes
    }

    /// `u = L y + offset`, and the inputs that follow signals, which are taken out of the builder.
    fn wire(&mut self, feeds: &BTreeMap<Place, Fed>, places: &Places) -> (Wiring, Vec<External>) {
        let mut rows = vec![Row::default(); places.inputs.len()];
        let mut externals = Vec::new();
        let mut signals: Vec<Option<Signal>> =
            self.externals.drain(..).map(|(_, signal)| Some(signal)).collect();
        for (key, feed) in feeds {
            let input = places.inputs[key];
            match feed {
                Fed::Outputs { sources, offset } => {
                    let sources =
                        sources.iter().map(|(source, gain)| (places.outputs[source], *gain)).collect();
                    rows[input] = Row { sources, offset: *offset };
                }
                Fed::External(n) => {
                    externals.extend(signals[*n].take().map(|signal| External { input, signal }))
                }
            }
        }
        let mut wiring = Wiring::new(&rows);
        for (name, table) in std::mem::take(&mut self.tables) {
            let place = self.places.place(&name.subsystem);
            let place = place.and_then(|s| Some((s, self.subsystems[s].variables.place(&name.variable)?)));
            if let Some(&input) = place.and_then(|place| places.inputs.get(&place)) {
                wiring.set_table(input, table);
            }
        }
        (wiring, externals)
    }

    /// Looks a variable up; `wanted` is what it has to be.
    fn find(
        &self,
        name: &VariableName,
        wanted: Option<Causality>,
        subject: Subject,
    ) -> Result<(usize, usize), BuildError> {
        let fail = |problem| Err(BuildError { subject: subject.clone(), problem });
        let Some(s) = self.places.place(&name.subsystem) else {
            let names = || self.subsystems.iter().map(|s| s.name.as_str());
            let suggestion = self.may_search().then(|| closest(&name.subsystem, names())).flatten();
            return fail(Problem::NoSubsystem {
                name: name.subsystem.clone(),
                suggestion: suggestion.map(str::to_owned),
            });
        };
        let Named { simulator, variables, .. } = &self.subsystems[s];
        let info = simulator.info();
        let Some(v) = variables.place(&name.variable) else {
            if let Some((_, packet)) = self.packet(name) {
                return fail(Problem::NotANumber { name: name.clone(), kind: packet.kind.noun() });
            }
            let fitting = info.variables.iter().filter(|v| wanted.is_none_or(|w| w == v.causality));
            let fitting = fitting.map(|v| v.name.as_str());
            let hint = if self.may_search() { hint(&name.variable, fitting) } else { String::new() };
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

    /// Whether the nearest of all names may be searched for once more.
    fn may_search(&self) -> bool {
        self.searches.replace(self.searches.get() + 1) < MAX_SEARCHES
    }

    /// A variable that is not numeric, and its place.
    fn packet(&self, name: &VariableName) -> Option<(Place, &Packet)> {
        let s = self.places.place(&name.subsystem)?;
        let p = self.subsystems[s].packets.place(&name.variable)?;
        Some(((s, p), &self.subsystems[s].simulator.packets()[p]))
    }

    fn variable(&self, (s, v): Place) -> &Variable {
        &self.subsystems[s].simulator.info().variables[v]
    }

    fn unit(&self, place: Place) -> Option<&Unit> {
        self.variable(place).unit.as_deref()
    }
}

impl Network {
    /// Adds the next subsystem in name order: it learns which of its variables take part.
    fn add(
        &mut self,
        name: &str,
        mut simulator: Box<dyn Subsystem>,
        binding: Binding,
    ) -> Result<(), BuildError> {
        simulator.bind(&binding).map_err(|error| BuildError {
            subject: Subject::Subsystem(name.to_owned()),
            problem: Problem::Refused { name: name.to_owned(), error },
        })?;
        let (inputs, outputs, probes) = (self.n_inputs, self.n_outputs, self.n_probes);
        let first_pair = self.feed_through.len();
        let pair = |&(o, i): &(usize, usize)| FeedThroughPair {
            output: outputs + o,
            input: inputs + i,
            gain: GainSource::Unknown,
        };
        self.feed_through.extend(binding.feed_through.iter().map(pair));
        self.n_inputs += binding.inputs.len();
        self.n_outputs += binding.outputs.len();
        self.n_probes += binding.probes.len();
        let info = simulator.info();
        let bound = || binding.inputs.iter().map(|&v| &info.variables[v]);
        self.input_start.extend(bound().map(|v| v.start));
        self.input_scale.extend(bound().map(|v| InputScale {
            kind: v.kind,
            nominal: v.nominal,
            min: v.min,
            max: v.max,
        }));
        self.owner_of_input.resize(self.n_inputs, self.members.len());
        self.owner_of_output.resize(self.n_outputs, self.members.len());
        self.members.push(Member {
            inputs: inputs..self.n_inputs,
            outputs: outputs..self.n_outputs,
            probes: probes..self.n_probes,
            feed_through: first_pair..self.feed_through.len(),
            evidence: match info.feed_through {
                FeedThrough::Declared(_) => Evidence::Declared,
                FeedThrough::Unknown => Evidence::Unknown,
            },
            capabilities: info.capabilities,
            binding,
            simulator,
        });
        self.settle_gain_sources(self.members.len() - 1);
        Ok(())
    }
}

/// Declared feed-through among the variables that take part, as places in `outputs` and `inputs`, which ascend.
fn bound_feed_through(info: &Info, inputs: &[usize], outputs: &[usize]) -> Vec<(usize, usize)> {
    let FeedThrough::Declared(pairs) = &info.feed_through else { return Vec::new() };
    let place = |list: &[usize], v: usize| list.binary_search(&v).ok();
    let mut bound: Vec<(usize, usize)> =
        pairs.iter().filter_map(|&(o, i)| Some((place(outputs, o)?, place(inputs, i)?))).collect();
    bound.sort_unstable();
    bound.dedup();
    bound
}

/// `(subsystem, variable)`.
type Place = (usize, usize);

/// Where exchanged variables are in the flat arrays.
#[derive(Default)]
struct Places {
    inputs: BTreeMap<Place, usize>,
    outputs: BTreeMap<Place, usize>,
}
