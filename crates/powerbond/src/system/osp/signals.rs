//! Connections of simulators, of their groups and through functions become connections of the engine.

use super::groups::{self, Group};
use super::structure::{End, Function, FunctionKind, Structure, Wire, WireKind};
use crate::Error;
use crate::error::Collector;
use crate::source::At;
use crate::system::{Connection, Given};
use powerbond_core::network::{NameIndex, VariableName};
use powerbond_core::suggest::hint;
use powerbond_fmi::Fmu;
use powerbond_fmi::description::Causality;
use std::collections::{BTreeMap, BTreeSet};

/// A simulator whose FMU is known.
pub struct Known {
    /// As the file calls it.
    pub written: String,
    /// As the system calls it.
    pub name: String,
    /// None if it could not be opened, which was told.
    pub fmu: Option<Fmu>,
    /// The groups of its model, if there is a file of them, or what is wrong with it.
    pub groups: Option<Vec<Group>>,
}

/// From an output to an input.
#[derive(Clone, Debug)]
pub struct Directed {
    /// Where it stands.
    pub place: At<()>,
    /// The simulator and its output.
    pub from: (usize, String),
    /// The simulator and its input.
    pub to: (usize, String),
    /// The simulator that the file names first.
    pub first: usize,
    /// The power bond that it belongs to, and whether the file contradicts the models.
    pub bond: Option<String>,
}

/// Everything that is connected.
#[derive(Default)]
pub struct Signals {
    /// For the engine.
    pub connections: Vec<Connection>,
    /// Those between two variables.
    pub directed: Vec<Directed>,
    /// Power bonds of connections with mistakes.
    pub broken_bonds: BTreeSet<String>,
}

/// Reads directions from the models, whatever the order in the file.
pub fn connect(
    structure: &Structure<'_>,
    known: &[Known],
    notes: &mut Vec<String>,
    problems: &mut Collector,
) -> Signals {
    let Structure { connections: wires, functions, .. } = structure;
    let index: NameIndex<&str> = known.iter().map(|k| k.written.as_str()).collect();
    let mut context = Context { known, index, notes };
    let mut signals = Signals::default();
    let mut feeds: Vec<Feeds> = functions.iter().map(|_| Feeds::default()).collect();
    let mut broken = BTreeSet::new();
    for wire in wires {
        let done = match (wire.kind, &wire.ends[..], &wire.signal) {
            (WireKind::Variables, [a, b], _) => {
                context.variables(wire, (a, &a.name), (b, &b.name), &mut signals)
            }
            (WireKind::Groups, [a, b], _) => context.grouped(wire, a, b, &mut signals),
            (_, [_], Some((function, _))) if structure.unread.contains(&function.value) => Ok(()),
            (_, [end], Some((function, signal))) => {
                let done = context.signal(wire, end, (function, signal), functions, &mut feeds);
                if done.is_err() {
                    // What it would bring is not missing.
                    broken.insert(&function.value);
                }
                done
            }
            _ => Ok(()),
        };
        let is_whole = ends_are_known(wire, &context);
        if problems.keep(done).is_none() || !is_whole {
            signals.broken_bonds.extend(wire.bond.clone());
        }
    }
    for (function, feeds) in functions.iter().zip(&feeds).filter(|(f, _)| !broken.contains(&f.name.value)) {
        let done = context.function(function, feeds, &mut signals);
        problems.keep(done);
    }
    note_fed_twice(&signals, problems);
    signals
}

/// Whether all simulators of a connection could be opened.
fn ends_are_known(wire: &Wire, context: &Context<'_>) -> bool {
    let is_open = |end: &End| context.simulator(end).is_ok_and(|s| context.known[s].fmu.is_some());
    wire.ends.iter().all(is_open)
}

/// An input has one source.
fn note_fed_twice(signals: &Signals, problems: &mut Collector) {
    let mut fed: BTreeMap<&VariableName, &At<VariableName>> = BTreeMap::new();
    for Connection { to, .. } in &signals.connections {
        match fed.get(&to.value) {
            Some(first) => {
                let message = format!(
                    "`{}` is connected twice; the first connection to it is at {}. A function `Sum` adds signals",
                    to.value,
                    first.place().map_or_else(String::new, |place| place.to_string())
                );
                problems.add(Error::input(to.place(), message));
            }
            None => {
                fed.insert(&to.value, to);
            }
        }
    }
}

/// What is connected to a function, by signal.
#[derive(Default)]
struct Feeds {
    inputs: BTreeMap<(usize, usize), (At<()>, VariableName)>,
    outputs: Vec<(At<()>, usize, VariableName)>,
}

struct Context<'a> {
    known: &'a [Known],
    index: NameIndex<&'a str>,
    notes: &'a mut Vec<String>,
}

impl Context<'_> {
    fn simulator(&self, end: &End) -> Result<usize, Error> {
        self.index.place(end.simulator.value.as_str()).ok_or_else(|| {
            let names = self.known.iter().map(|k| k.written.as_str());
            let hint = hint(&end.simulator.value, names);
            Error::input(end.simulator.place(), format!("unknown simulator `{}`.{hint}", end.simulator.value))
        })
    }

    /// The causality of a variable; none of a simulator that could not be opened.
    fn causality(&self, s: usize, end: &End, variable: &str) -> Result<Option<Causality>, Error> {
        let Some(fmu) = &self.known[s].fmu else { return Ok(None) };
        match crate::system::variable_of(fmu, variable) {
            Some(found) => Ok(Some(found.causality)),
            None => {
                let signals = fmu.description().variables.iter();
                let signals = signals.filter(|v| matches!(v.causality, Causality::Input | Causality::Output));
                let hint = hint(variable, signals.map(|v| &*v.name));
                let message = format!("`{}` has no variable `{variable}`.{hint}", end.simulator.value);
                Err(Error::input(end.simulator.place(), message))
            }
        }
    }

    fn variables(
        &mut self,
        wire: &Wire,
        (a, first): (&End, &str),
        (b, second): (&End, &str),
        signals: &mut Signals,
    ) -> Result<(), Error> {
        let mut problems = Collector::new();
        let mut side = |end: &End, variable: &str| {
            let s = problems.keep(self.simulator(end))?;
            Some((s, problems.keep(self.causality(s, end, variable))?))
        };
        let (one, other) = (side(a, first), side(b, second));
        problems.finish(())?;
        let (Some((s, Some(x))), Some((t, Some(y)))) = (one, other) else { return Ok(()) };
        let is_input = |causality| causality == Causality::Input;
        let unlike = |from: &(usize, String), to: &(usize, String)| {
            let variable =
                |(s, name): &(usize, String)| crate::system::variable_of(self.known[*s].fmu.as_ref()?, name);
            powerbond_fmi::unlike(variable(from)?, variable(to)?)
        };
        let (from, to) = match (is_input(x), is_input(y)) {
            (false, true) => ((s, first.to_owned()), (t, second.to_owned())),
            (true, false) => ((t, second.to_owned()), (s, first.to_owned())),
            _ => {
                let message = format!(
                    "`{}.{first}` is {}, `{}.{second}` is {}; a connection goes from an output to an input",
                    a.simulator.value,
                    x.noun(),
                    b.simulator.value,
                    y.noun()
                );
                return Err(Error::input(wire.place.place(), message));
            }
        };
        if let Some([have, want]) = unlike(&from, &to) {
            let message = format!(
                "`{}.{}` is {have} and `{}.{}` is {want}: they cannot be connected",
                self.known[from.0].written, from.1, self.known[to.0].written, to.1
            );
            return Err(Error::input(wire.place.place(), message));
        }
        // As seen from the bond: what is an output of a model is an input of the bond.
        for (end, causality) in [(a, x), (b, y)] {
            let by_model = if causality == Causality::Input { "output" } else { "input" };
            if end.causality.as_deref().is_some_and(|said| said != by_model) {
                self.notes.push(format!(
                    "{}`{}.{}` is {} of its model, and therefore an {by_model} of the bond; the file says otherwise and is not \
                     followed",
                    end.simulator.prefix(),
                    end.simulator.value,
                    end.name,
                    causality.noun()
                ));
            }
        }
        let name = |(s, variable): &(usize, String)| {
            wire.place.with(VariableName::new(&self.known[*s].name, variable))
        };
        self.note_units(wire, &from, &to);
        signals.connections.push(Connection {
            from: vec![(name(&from), 1.0)],
            to: name(&to),
            offset: 0.0,
            convert_units: false,
            table: None,
        });
        signals.directed.push(Directed {
            place: wire.place.clone(),
            from,
            to,
            first: s,
            bond: wire.bond.clone(),
        });
        Ok(())
    }

    /// Values are passed on as they are, which is noted where the units differ.
    fn note_units(&mut self, wire: &Wire, from: &(usize, String), to: &(usize, String)) {
        let unit = |(s, name): &(usize, String)| {
            let fmu = self.known[*s].fmu.as_ref()?;
            fmu.description().unit_of(crate::system::variable_of(fmu, name)?)
        };
        if let (Some(a), Some(b)) = (unit(from), unit(to))
            && a.symbol != b.symbol
            && (a.si.is_none() || b.si.is_none() || a.si != b.si)
        {
            self.notes.push(format!(
                "{}`{}.{}` is in {}, `{}.{}` in {}: the number is passed on as it is, as in libcosim",
                wire.place.prefix(),
                self.known[from.0].written,
                from.1,
                a.symbol,
                self.known[to.0].written,
                to.1,
                b.symbol
            ));
        }
    }

    fn group(&self, s: usize, end: &End) -> Result<Group, Error> {
        let known = &self.known[s];
        let Some(groups) = &known.groups else {
            let model = known.fmu.as_ref().map_or("", |fmu| &fmu.description().model_name);
            let message = format!(
                "`{}` is a group of variables, and there is no `{}` beside the FMU or this file that describes it",
                end.name,
                groups::file_name(model)
            );
            return Err(Error::input(end.simulator.place(), message));
        };
        groups::find(groups, &end.name)
            .cloned()
            .ok_or_else(|| groups::unknown(groups, &end.name, &end.simulator))
    }

    fn grouped(&mut self, wire: &Wire, a: &End, b: &End, signals: &mut Signals) -> Result<(), Error> {
        let mut problems = Collector::new();
        let mut side = |end: &End| {
            let s = problems.keep(self.simulator(end))?;
            problems.keep(self.group(s, end))
        };
        let (one, other) = (side(a), side(b));
        problems.finish(())?;
        let (Some(one), Some(other)) = (one, other) else { return Ok(()) };
        let pairs = groups::pairs(&one, &other).map_err(|why| Error::input(wire.place.place(), why))?;
        let mut problems = Collector::new();
        for (x, y) in pairs {
            // What a file says of a group, it does not say of its variables.
            let plain =
                |end: &End| End { simulator: end.simulator.clone(), name: end.name.clone(), causality: None };
            let (a, b) = (plain(a), plain(b));
            problems.keep(self.variables(wire, (&a, &x), (&b, &y), signals));
        }
        problems.finish(())
    }

    fn signal(
        &mut self,
        wire: &Wire,
        end: &End,
        (function, signal): (&At<String>, &str),
        functions: &[Function],
        feeds: &mut [Feeds],
    ) -> Result<(), Error> {
        let Some(f) = functions.iter().position(|known| known.name.value == function.value) else {
            let hint = hint(&function.value, functions.iter().map(|known| known.name.value.as_str()));
            return Err(Error::input(
                function.place(),
                format!("unknown function `{}`.{hint}", function.value),
            ));
        };
        let s = self.simulator(end)?;
        let places = signal_places(&functions[f], function, signal, wire.kind == WireKind::SignalGroup)?;
        let variables = match wire.kind {
            WireKind::SignalGroup => self.group(s, end)?.variables,
            _ => vec![end.name.clone()],
        };
        if variables.len() != places.1.len() {
            let message = format!(
                "`{}` has {} variables, `{signal}` of `{}` has {} elements",
                end.name,
                variables.len(),
                function.value,
                places.1.len()
            );
            return Err(Error::input(wire.place.place(), message));
        }
        for (variable, place) in variables.into_iter().zip(places.1) {
            let Some(causality) = self.causality(s, end, &variable)? else { continue };
            let name = VariableName::new(&self.known[s].name, &variable);
            let wrong = |wanted: &str| {
                let message = format!(
                    "`{}.{variable}` is {}; `{signal}` of `{}` is connected to {wanted}",
                    end.simulator.value,
                    causality.noun(),
                    function.value
                );
                Err(Error::input(wire.place.place(), message))
            };
            if !places.0 {
                if causality != Causality::Input {
                    return wrong("an input");
                }
                feeds[f].outputs.push((wire.place.clone(), place.1, name));
            } else {
                if causality == Causality::Input {
                    return wrong("an output");
                }
                if feeds[f].inputs.insert(place, (wire.place.clone(), name)).is_some() {
                    let message = format!("`{signal}` of `{}` is connected twice", function.value);
                    return Err(Error::input(wire.place.place(), message));
                }
            }
        }
        Ok(())
    }

    /// The connections of what a function feeds.
    fn function(&mut self, function: &Function, feeds: &Feeds, signals: &mut Signals) -> Result<(), Error> {
        let (factor, offset, inputs, dimension) = match function.kind {
            FunctionKind::Linear { factor, offset } => (factor, offset, 1, 1),
            FunctionKind::Sum { inputs } => (1.0, 0.0, inputs, 1),
            FunctionKind::VectorSum { inputs, dimension } => (1.0, 0.0, inputs, dimension),
        };
        if feeds.outputs.is_empty() {
            self.notes.push(format!(
                "{}the function `{}` feeds nothing",
                function.name.prefix(),
                function.name.value
            ));
            return Ok(());
        }
        let missing = inputs * dimension - feeds.inputs.len();
        if missing > 0 && !feeds.inputs.is_empty() {
            self.notes.push(format!(
                "{}{missing} of {} inputs of the function `{}` are not connected; they count as 0",
                function.name.prefix(),
                inputs * dimension,
                function.name.value
            ));
        }
        for (place, element, to) in &feeds.outputs {
            let from: Vec<(At<VariableName>, f64)> = feeds
                .inputs
                .iter()
                .filter(|((_, j), _)| j == element)
                .map(|(_, (place, name))| (place.with(name.clone()), factor))
                .collect();
            if from.is_empty() {
                let message = format!("the function `{}` has no connected input", function.name.value);
                return Err(Error::input(function.name.place(), message));
            }
            let to = place.with(to.clone());
            signals.connections.push(Connection { from, to, offset, convert_units: false, table: None });
        }
        Ok(())
    }
}

/// Whether a signal is an input, and its places: which input, which element.
fn signal_places(
    function: &Function,
    at: &At<String>,
    signal: &str,
    is_group: bool,
) -> Result<(bool, Vec<(usize, usize)>), Error> {
    let (inputs, dimension) = match function.kind {
        FunctionKind::Linear { .. } => (1, 1),
        FunctionKind::Sum { inputs } => (inputs, 1),
        FunctionKind::VectorSum { inputs, dimension } => (inputs, dimension),
    };
    let indices = |text: &str| -> Option<Vec<usize>> {
        let inner = text.strip_prefix('[')?.strip_suffix(']')?;
        inner.split("][").map(|n| n.trim().parse().ok()).collect()
    };
    let all = |i: usize| (0..dimension).map(|j| (i, j)).collect::<Vec<_>>();
    let vector = matches!(function.kind, FunctionKind::VectorSum { .. });
    let (is_input, rest) = match (signal.strip_prefix("in"), signal.strip_prefix("out")) {
        (Some(rest), _) => (true, Some(rest)),
        (_, Some(rest)) => (false, Some(rest)),
        _ => (false, None),
    };
    let written = rest.map(|rest| if rest.is_empty() { Some(Vec::new()) } else { indices(rest) });
    let found = match (function.kind, is_input, written.flatten().as_deref()) {
        (FunctionKind::Linear { .. }, true, Some([])) => Some(vec![(0, 0)]),
        (FunctionKind::Sum { .. }, true, Some(&[i])) if i < inputs => Some(vec![(i, 0)]),
        (FunctionKind::VectorSum { .. }, true, Some(&[i])) if is_group && i < inputs => Some(all(i)),
        (FunctionKind::VectorSum { .. }, true, Some(&[i, j])) if i < inputs && j < dimension => {
            Some(vec![(i, j)])
        }
        (FunctionKind::VectorSum { .. }, false, Some([])) if is_group => Some(all(0)),
        (FunctionKind::VectorSum { .. }, false, Some(&[j])) if j < dimension => Some(vec![(0, j)]),
        (_, false, Some([])) if !vector => Some(vec![(0, 0)]),
        _ => None,
    };
    found.map(|places| (is_input, places)).ok_or_else(|| {
        let known = match (function.kind, is_group) {
            (FunctionKind::Linear { .. }, _) => "`in` and `out`".to_owned(),
            (FunctionKind::Sum { .. }, _) => format!("`in[0]` to `in[{}]` and `out`", inputs - 1),
            (_, true) => format!("`in[0]` to `in[{}]` and `out`", inputs - 1),
            (_, false) => format!(
                "`in[0][0]` to `in[{}][{}]` and `out[0]` to `out[{}]`",
                inputs - 1,
                dimension - 1,
                dimension - 1
            ),
        };
        Error::input(
            at.place(),
            format!("the function `{}` has no signal `{signal}`; there are {known}", at.value),
        )
    })
}

/// What is set before the start, with parameters apart.
pub fn values(fmu: &Fmu, values: Vec<(At<String>, Given)>) -> [Vec<(At<String>, Given)>; 2] {
    let is_parameter = |name: &str| {
        crate::system::variable_of(fmu, name)
            .is_some_and(|v| matches!(v.causality, Causality::Parameter | Causality::StructuralParameter))
    };
    let (parameters, start) = values.into_iter().partition(|(name, _)| is_parameter(&name.value));
    [parameters, start]
}
