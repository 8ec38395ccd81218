//! Nested systems become one list of FMUs, and their connectors one graph.

use super::description::{Connector, Element, End, Flow, Level, Part, Structure};
use super::signals::variable;
use super::transformation::Transformation;
use super::values::Parameter;
use crate::Error;
use crate::error::Collector;
use crate::source::At;
use crate::system::structure::path_name;
use powerbond_core::suggest::hint;
use powerbond_core::units::Unit;
use powerbond_fmi::Fmu;
use powerbond_fmi::description::Causality;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

/// An FMU.
pub struct Leaf {
    /// The path to it.
    pub name: At<String>,
    /// Its file.
    pub path: At<PathBuf>,
    /// It runs in a process of its own.
    pub own_process: bool,
    /// In which steps its author would run it, in s.
    pub hint: Option<At<f64>>,
}

/// A component, a system or a dictionary.
pub struct Owner {
    /// The path to it; empty: the outermost system.
    pub path: String,
    /// The FMU, if it is one.
    pub leaf: Option<usize>,
    is_dictionary: bool,
    /// The dictionary of which it is a view.
    view_of: Option<usize>,
    connectors: BTreeMap<String, Connector>,
    children: HashMap<String, usize>,
    /// Values for what is in it.
    pub bindings: Vec<Parameter>,
    /// How many systems are around it.
    pub depth: usize,
}

/// A connector of an owner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Port {
    /// Whose.
    pub owner: usize,
    /// Its name.
    pub name: String,
}

/// A connection.
pub struct Edge {
    /// Where it stands.
    pub place: At<()>,
    /// From where; before [`Flat::direct`], the end that the file names first.
    pub from: Port,
    /// The element of an array that it begins at, as in `[2,1]`; empty: all of it.
    pub from_element: String,
    /// To where.
    pub to: Port,
    /// The element of an array that it ends at.
    pub to_element: String,
    /// What becomes of the value after its unit was converted.
    pub then: Option<Transformation>,
    /// Units are not converted.
    pub suppress_units: bool,
    /// What the file says of the ways of values at both ends, as seen in the system of the connection.
    said: [Option<Flow>; 2],
}

/// Everything in one level.
pub struct Flat {
    /// In the order of the file.
    pub leaves: Vec<Leaf>,
    /// The outermost system first.
    pub owners: Vec<Owner>,
    /// In the order of the file.
    pub edges: Vec<Edge>,
    into: HashMap<Port, Vec<usize>>,
    out: HashMap<Port, Vec<usize>>,
}

/// The connections through which a value comes, the last one first, and the element of an array that it is in the beginning.
pub type Chain<'a> = (Vec<&'a Edge>, String);

impl Flat {
    /// Of the outermost system.
    pub fn of(structure: &mut Structure, problems: &mut Collector) -> Self {
        let mut flat = Flat {
            leaves: Vec::new(),
            owners: Vec::new(),
            edges: Vec::new(),
            into: HashMap::new(),
            out: HashMap::new(),
        };
        let root = &mut structure.root;
        flat.owners.push(Owner {
            path: String::new(),
            leaf: None,
            is_dictionary: false,
            view_of: None,
            connectors: std::mem::take(&mut root.connectors),
            children: HashMap::new(),
            bindings: std::mem::take(&mut root.bindings),
            depth: 0,
        });
        if let Part::System(level) = std::mem::replace(&mut root.part, Part::System(Level::default())) {
            flat.level(level, 0, &mut Vec::new(), problems);
        }
        let mut names: HashMap<&str, &At<String>> = HashMap::new();
        for leaf in &flat.leaves {
            if let Some(first) = names.insert(&leaf.name.value, &leaf.name) {
                let message = format!(
                    "`{}` is the name of two components, here and at {}: dots and nested systems are both written as `/`",
                    leaf.name.value,
                    first.place().map_or_else(String::new, |place| place.to_string())
                );
                problems.add(Error::input(leaf.name.place(), message));
            }
        }
        flat
    }

    /// Adds what is in the system `owner`. `dictionaries` are those that can be seen, by name, the nearest last.
    fn level(
        &mut self,
        level: Level,
        owner: usize,
        dictionaries: &mut Vec<(String, usize)>,
        problems: &mut Collector,
    ) {
        let seen = dictionaries.len();
        for dictionary in level.dictionaries {
            let id = self.owners.len();
            self.owners.push(Owner {
                path: path_name(&self.owners[owner].path, &dictionary.name.value),
                leaf: None,
                is_dictionary: true,
                view_of: None,
                connectors: dictionary.entries,
                children: HashMap::new(),
                bindings: Vec::new(),
                depth: self.owners[owner].depth + 1,
            });
            dictionaries.push((dictionary.name.value, id));
        }
        for element in level.elements {
            self.element(element, owner, dictionaries, problems);
        }
        for wire in level.wires {
            let is_unread =
                |end: &End| end.element.as_ref().is_some_and(|element| level.unread.contains(element));
            if is_unread(&wire.start) || is_unread(&wire.end) {
                continue;
            }
            let (from, to) =
                (self.port(owner, &wire.start, &wire.place), self.port(owner, &wire.end, &wire.place));
            let (Some(from), Some(to)) = (problems.keep(from), problems.keep(to)) else { continue };
            self.edges.push(Edge {
                place: wire.place,
                from: from.0,
                from_element: wire.start.indices,
                to: to.0,
                to_element: wire.end.indices,
                then: wire.then,
                suppress_units: wire.suppress_units,
                said: [from.1, to.1],
            });
        }
        dictionaries.truncate(seen);
    }

    /// Turns every connection round that begins where values enter: what a file calls start and end says nothing of the way, the models
    /// do, and the kinds of connectors where there are none. `fmus` are those of the leaves.
    pub fn direct(&mut self, fmus: &[Option<Fmu>], problems: &mut Collector) {
        for edge in 0..self.edges.len() {
            let flow = |port: &Port, said| self.flow(fmus, port).or(said);
            let Edge { from, to, said, .. } = &self.edges[edge];
            let flows = [flow(from, said[0]), flow(to, said[1])];
            match flows {
                [Some(Flow::In), Some(Flow::Out) | None] | [None, Some(Flow::Out)] => {
                    let edge = &mut self.edges[edge];
                    std::mem::swap(&mut edge.from, &mut edge.to);
                    std::mem::swap(&mut edge.from_element, &mut edge.to_element);
                }
                [Some(a), Some(b)] if a == b => {
                    let what = if a == Flow::In { "take a value" } else { "give one" };
                    let message = format!(
                        "`{}` and `{}` both {what}; a connection goes from an output to an input",
                        self.shown(from),
                        self.shown(to)
                    );
                    problems.add(Error::input(self.edges[edge].place.place(), message));
                    continue;
                }
                _ => {}
            }
            let Edge { place, from, to, to_element, .. } = &self.edges[edge];
            self.out.entry(from.clone()).or_default().push(edge);
            let others = self.into.get(to).into_iter().flatten().map(|&other| &self.edges[other]);
            let whole = |edge: &Edge| edge.to_element.is_empty();
            let same =
                |other: &&Edge| other.to_element == *to_element || whole(other) || to_element.is_empty();
            if let Some(first) = others.clone().find(same) {
                let is_shared = self.owners[to.owner].is_dictionary;
                let what = if is_shared { "signal of a dictionary" } else { "connector" };
                let message = format!(
                    "the {what} `{}` is connected twice; the first connection to it is at {}",
                    self.shown(to),
                    first.place.place().map_or_else(String::new, |place| place.to_string())
                );
                problems.add(Error::input(place.place(), message));
            }
            self.into.entry(to.clone()).or_default().push(edge);
        }
    }

    /// The way of values at a connector of an FMU that it has.
    fn flow(&self, fmus: &[Option<Fmu>], port: &Port) -> Option<Flow> {
        let fmu = fmus[self.owners[port.owner].leaf?].as_ref()?;
        match variable(fmu, &port.name)?.causality {
            Causality::Input | Causality::Parameter | Causality::StructuralParameter => Some(Flow::In),
            // It may be set before the start, and be read later.
            Causality::Local => None,
            _ => Some(Flow::Out),
        }
    }

    fn element(
        &mut self,
        element: Element,
        owner: usize,
        dictionaries: &mut Vec<(String, usize)>,
        problems: &mut Collector,
    ) {
        let Element { name, connectors, bindings, part } = element;
        let mut view_of = None;
        if let Part::Dictionary(dictionary) = &part {
            view_of =
                dictionaries.iter().rev().find(|(known, _)| *known == dictionary.value).map(|(_, id)| *id);
            if view_of.is_none() {
                let known = dictionaries.iter().map(|(name, _)| name.as_str());
                let hint = hint(&dictionary.value, known);
                let message = format!("unknown signal dictionary `{}`.{hint}", dictionary.value);
                problems.add(Error::input(dictionary.place(), message));
                return;
            }
        }
        let (path, id) = (path_name(&self.owners[owner].path, &name.value), self.owners.len());
        self.owners[owner].children.insert(name.value.clone(), id);
        let leaf = matches!(part, Part::Fmu { .. }).then_some(self.leaves.len());
        self.owners.push(Owner {
            path: path.clone(),
            leaf,
            is_dictionary: false,
            view_of,
            connectors,
            children: HashMap::new(),
            bindings,
            depth: self.owners[owner].depth + 1,
        });
        match part {
            Part::Fmu { path: file, own_process, hint } => {
                self.leaves.push(Leaf { name: name.with(path), path: file, own_process, hint });
            }
            Part::System(level) => self.level(level, id, dictionaries, problems),
            Part::Dictionary(_) => {}
        }
    }

    /// The connector that an end of a connection in the system `owner` names, and which way values go there by the file.
    fn port(&self, owner: usize, end: &End, place: &At<()>) -> Result<(Port, Option<Flow>), Error> {
        let fail = |message: String| Err(Error::input(place.place(), message));
        let name = end.connector.clone();
        let flow = |owner: usize| self.owners[owner].connectors.get(&name).and_then(|found| found.flow);
        let (owner, said) = match &end.element {
            None => (owner, flow(owner).map(Flow::reversed)),
            Some(element) => match self.owners[owner].children.get(element) {
                Some(&child) => (self.owners[child].view_of.unwrap_or(child), flow(child)),
                None => {
                    let mut names: Vec<&str> =
                        self.owners[owner].children.keys().map(String::as_str).collect();
                    names.sort_unstable();
                    return fail(format!("unknown element `{element}`.{}", hint(element, names)));
                }
            },
        };
        let found = &self.owners[owner];
        // Connectors of FMUs are their variables, listed or not; those of systems are what is written.
        if found.leaf.is_none() && !found.connectors.contains_key(&name) {
            let of =
                if found.path.is_empty() { "the system".to_owned() } else { format!("`{}`", found.path) };
            let hint = hint(&name, found.connectors.keys().map(String::as_str));
            return fail(format!("unknown connector `{name}` of {of}.{hint}"));
        }
        Ok((Port { owner, name }, said))
    }

    /// A connector for people.
    pub fn shown(&self, port: &Port) -> String {
        match self.owners[port.owner].path.as_str() {
            "" => port.name.clone(),
            path => format!("{path}.{}", port.name),
        }
    }

    /// Connectors of systems whose names also mean a variable of an element in the same system, which both are `a.k` then, and that
    /// variable. `fmus` are those of the leaves.
    pub fn ambiguous(&self, fmus: &[Option<Fmu>]) -> Vec<(Port, Port)> {
        let mut found = Vec::new();
        for (n, owner) in self.owners.iter().enumerate().filter(|(_, owner)| !owner.children.is_empty()) {
            for name in owner.connectors.keys().filter(|name| name.contains('.')) {
                let Some(other) = self.inside(n, name) else { continue };
                let is_there = match self.owners[other.owner].leaf {
                    Some(leaf) => fmus[leaf].as_ref().is_some_and(|fmu| variable(fmu, &other.name).is_some()),
                    None => true,
                };
                if is_there {
                    found.push((Port { owner: n, name: name.clone() }, other));
                }
            }
        }
        found
    }

    /// What the file says of a connector.
    pub fn connector(&self, port: &Port) -> Option<&Connector> {
        self.owners[port.owner].connectors.get(&port.name)
    }

    /// The connectors of systems at which values enter.
    pub fn entrances(&self) -> impl Iterator<Item = Port> + '_ {
        let is_system =
            |owner: &Owner| owner.leaf.is_none() && !owner.is_dictionary && owner.view_of.is_none();
        let systems = self.owners.iter().enumerate().filter(move |(_, owner)| is_system(owner));
        systems.flat_map(|(n, owner)| {
            let entering = owner.connectors.iter().filter(|(_, c)| c.flow == Some(Flow::In));
            entering.map(move |(name, _)| Port { owner: n, name: name.clone() })
        })
    }

    /// All connectors of an owner.
    pub fn connectors(&self, owner: usize) -> impl Iterator<Item = (&String, &Connector)> {
        self.owners[owner].connectors.iter()
    }

    /// The unit that the file says of a connector.
    pub fn unit(&self, port: &Port) -> Option<&Unit> {
        self.connector(port)?.unit.as_ref()
    }

    /// The items of the enumeration that the file says of a connector.
    pub fn items(&self, port: &Port) -> Option<Arc<Vec<(String, f64)>>> {
        Some(self.connector(port)?.items.clone()).filter(|items| !items.is_empty())
    }

    /// The connections that begin at a connector.
    pub fn onward<'a>(&'a self, port: &Port) -> impl Iterator<Item = &'a Edge> + 'a {
        self.out.get(port).into_iter().flatten().map(|&edge| &self.edges[edge])
    }

    /// Whether a connection is one of elements of arrays.
    pub fn has_elements(&self) -> bool {
        self.edges.iter().any(|edge| !edge.from_element.is_empty() || !edge.to_element.is_empty())
    }

    /// The connections from which the value of the input of `edge` comes, where `element` of an array is meant (empty: all of it); none if no
    /// FMU feeds it.
    pub fn chain(&self, edge: usize, element: &str) -> Option<Chain<'_>> {
        let first = &self.edges[edge];
        // An element of what arrives, or all of it.
        let before = |edge: &Edge, element: String| match edge.from_element.is_empty() {
            true if edge.to_element.is_empty() => element,
            true => String::new(),
            false => edge.from_element.clone(),
        };
        let (mut chain, mut element) = (vec![first], before(first, element.to_owned()));
        loop {
            let from = &chain.last()?.from;
            if self.owners[from.owner].leaf.is_some() {
                return Some((chain, element));
            }
            let edges = self.into.get(from)?.iter().map(|&edge| &self.edges[edge]);
            let next = edges.clone().find(|e| e.to_element == element);
            let next = next.or_else(|| edges.clone().find(|e| e.to_element.is_empty()))?;
            // Systems that pass a signal on in a circle.
            if chain.len() > self.edges.len() {
                return None;
            }
            chain.push(next);
            element = before(next, element);
        }
    }

    /// The owner and its variable that `name` means in the system `owner`: a connector of it, or something inside of an element of it.
    pub fn named(&self, owner: usize, name: &str) -> Option<Port> {
        let owner = self.owners[owner].view_of.unwrap_or(owner);
        let found = &self.owners[owner];
        if found.leaf.is_some() || found.connectors.contains_key(name) {
            return Some(Port { owner, name: name.to_owned() });
        }
        self.inside(owner, name)
    }

    /// What `name` means inside of an element of the system `owner`; of elements the longest name first: names may contain dots.
    fn inside(&self, owner: usize, name: &str) -> Option<Port> {
        let dots: Vec<usize> = name.match_indices('.').map(|(dot, _)| dot).collect();
        let child = |dot: &usize| Some((*self.owners[owner].children.get(&name[..*dot])?, &name[dot + 1..]));
        dots.iter().rev().find_map(child).and_then(|(child, rest)| self.named(child, rest))
    }
}
