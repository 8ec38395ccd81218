//! Connections between outputs and inputs that nothing feeds: by terminals, names and units.

use super::interface::{Interface, Signal, SignalKind};
use super::quantity::{KnownFrom, dimensions, power};
use super::terminals;
use super::words::{meaning, words};
use powerbond_core::network::VariableName;
use powerbond_core::subsystem::ValueKind;
use powerbond_core::units::Conversion;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A connection that could be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Wire {
    /// The output.
    pub from: VariableName,
    /// The input.
    pub to: VariableName,
    /// Multiplies the output.
    pub gain: f64,
    /// Nothing else fits as well, and what fits is more than a unit.
    pub certain: bool,
    /// Why, in words.
    pub reason: String,
}

impl Serialize for Wire {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Wire { from, to, gain, certain, reason } = self;
        let (from, to) = (from.to_string(), to.to_string());
        let value =
            serde_json::json!({ "from": from, "to": to, "gain": gain, "certain": certain, "reason": reason });
        value.serialize(serializer)
    }
}

/// More outputs than one asks about for an input.
const MOST: usize = 3;

/// More subsystems than whose names are looked for in names of variables.
const MANY: usize = 200;

/// Whether an output may feed an input as it is: kind, and units that can be converted where both are known.
pub fn fits(output: &Signal, input: &Signal) -> bool {
    let units = match (&output.unit, &input.unit) {
        (Some(a), Some(b)) => {
            matches!(a.conversion_to(b), Conversion::Linear { .. } | Conversion::Unknown)
        }
        _ => true,
    };
    output.kind.may_feed(&input.kind) && units
}

/// Connections for the inputs that are not in `fed`, in the order of inputs: one that is certain, or several that are likely.
pub fn connections(interfaces: &[Interface], fed: &BTreeSet<VariableName>) -> Vec<Wire> {
    let mut found: BTreeMap<VariableName, Vec<Wire>> = BTreeMap::new();
    let mut add = |wire: Wire| {
        let known = found.entry(wire.to.clone()).or_default();
        if !known.iter().any(|other| other.from == wire.from) {
            known.push(wire);
        }
    };
    terminals::wires(interfaces, fed).into_iter().for_each(&mut add);
    let search = Search::new(interfaces, fed);
    let taken: BTreeSet<VariableName> = found.keys().cloned().collect();
    for (place, name) in search.open(&taken) {
        search.by_name(place, &name).into_iter().for_each(|wire| {
            found.entry(name.clone()).or_default().push(wire);
        });
    }
    let certain: Vec<Wire> = found.values().flatten().filter(|wire| wire.certain).cloned().collect();
    let taken: BTreeSet<VariableName> = found.keys().cloned().collect();
    for (place, name) in search.open(&taken) {
        let wires = search.by_unit(place, &name, &certain, &taken);
        let wires = if wires.is_empty() { search.by_words(place, &name) } else { wires };
        let wires = if wires.is_empty() { search.by_subsystem(place, &name) } else { wires };
        if !wires.is_empty() {
            found.insert(name, wires);
        }
    }
    let order = interfaces.iter().flat_map(|i| i.inputs.iter().map(|input| i.full(&input.name)));
    let mut list: Vec<Wire> = order.filter_map(|name| found.remove(&name)).flatten().collect();
    doubt_copies(interfaces, &mut list);
    list
}

/// What instances of the same model have in common tells them not apart: whether they feed each other, and whether one output feeds
/// the same input of all of them, only the user knows.
fn doubt_copies(interfaces: &[Interface], wires: &mut [Wire]) {
    let origin: BTreeMap<&str, &str> =
        interfaces.iter().map(|i| (i.name.as_str(), i.origin.as_str())).collect();
    let of = |wire: &Wire| (wire.from.clone(), origin[wire.to.subsystem.as_str()], wire.to.variable.clone());
    let mut fed: BTreeMap<(VariableName, &str, String), usize> = BTreeMap::new();
    wires.iter().for_each(|wire| *fed.entry(of(wire)).or_default() += 1);
    for wire in wires.iter_mut().filter(|wire| wire.certain) {
        let doubt = if origin[wire.from.subsystem.as_str()] == origin[wire.to.subsystem.as_str()] {
            "both are the same model: which one feeds which?"
        } else if fed[&of(wire)] > 1 {
            "there are several of this model: does it feed all of them?"
        } else {
            continue;
        };
        wire.certain = false;
        wire.reason += &format!("; {doubt}");
    }
}

/// `(subsystem, input)`.
type Place = (usize, usize);

/// Outputs by what they can be found by.
struct Search<'a> {
    interfaces: &'a [Interface],
    fed: &'a BTreeSet<VariableName>,
    /// By the name in lower case.
    names: BTreeMap<String, Vec<Place>>,
    /// By single words.
    words: BTreeMap<String, Vec<Place>>,
    /// By dimension.
    units: BTreeMap<[i8; 8], Vec<Place>>,
}

impl<'a> Search<'a> {
    fn new(interfaces: &'a [Interface], fed: &'a BTreeSet<VariableName>) -> Self {
        let (mut names, mut by_word, mut units) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for (s, interface) in interfaces.iter().enumerate() {
            for (o, output) in interface.outputs.iter().enumerate() {
                let names: &mut Vec<Place> = names.entry(output.name.to_lowercase()).or_default();
                names.push((s, o));
                for word in words(&output.name).into_iter().collect::<BTreeSet<_>>() {
                    let list: &mut Vec<Place> = by_word.entry(word).or_default();
                    list.push((s, o));
                }
                if let Some(dimensions) = dimensions_of(output) {
                    let list: &mut Vec<Place> = units.entry(dimensions).or_default();
                    list.push((s, o));
                }
            }
        }
        Search { interfaces, fed, names, words: by_word, units }
    }

    /// Inputs that neither the system nor a suggestion feeds.
    fn open(&self, taken: &BTreeSet<VariableName>) -> Vec<(Place, VariableName)> {
        let mut open = Vec::new();
        for (s, interface) in self.interfaces.iter().enumerate() {
            for (i, input) in interface.inputs.iter().enumerate() {
                let name = interface.full(&input.name);
                if !self.fed.contains(&name) && !taken.contains(&name) {
                    open.push(((s, i), name));
                }
            }
        }
        open
    }

    fn input(&self, (s, i): Place) -> &'a Signal {
        &self.interfaces[s].inputs[i]
    }

    fn output(&self, (s, o): Place) -> &'a Signal {
        &self.interfaces[s].outputs[o]
    }

    /// Outputs of others that fit.
    fn fitting(&self, input: Place, candidates: &[Place]) -> Vec<Place> {
        let fits = |o: &&Place| o.0 != input.0 && fits(self.output(**o), self.input(input));
        candidates.iter().filter(fits).copied().collect()
    }

    fn wires(&self, to: &VariableName, outputs: &[Place], certain: bool, reason: &str) -> Vec<Wire> {
        let wire = |&(s, o): &Place| Wire {
            from: self.interfaces[s].full(&self.interfaces[s].outputs[o].name),
            to: to.clone(),
            gain: 1.0,
            certain,
            reason: reason.to_owned(),
        };
        outputs.iter().take(MOST).map(wire).collect()
    }

    /// Outputs of the same name, or of one that differs in directions and in names of subsystems only.
    fn by_name(&self, place: Place, name: &VariableName) -> Vec<Wire> {
        let input = self.input(place);
        let same = self.names.get(&input.name.to_lowercase()).map_or(&[][..], Vec::as_slice);
        let same = self.fitting(place, same);
        let (found, reason) = match same.is_empty() {
            false => (same, "same name"),
            true => (self.same_meaning(place), "names that mean the same"),
        };
        let unit = |o: &Place| match (dimensions_of(self.output(*o)), dimensions_of(input)) {
            (Some(_), Some(_)) => " and the same unit",
            _ => "",
        };
        match found.as_slice() {
            [] => Vec::new(),
            [only] => self.wires(name, &[*only], true, &format!("{reason}{}", unit(only))),
            several => {
                let reason = format!("{reason}, as {} outputs have", several.len());
                self.wires(name, several, false, &reason)
            }
        }
    }

    fn same_meaning(&self, place: Place) -> Vec<Place> {
        let input = self.input(place);
        let own = &self.interfaces[place.0].words;
        // A word that names no subsystem has to be in both: the rarest one leads to the fewest outputs.
        let is_name = |word: &&String| self.interfaces.iter().any(|i| i.words.contains(*word));
        let all = meaning(&input.name, &BTreeSet::new());
        let listed = |word: &String| self.words.get(word).map_or(&[][..], Vec::as_slice);
        let near: Vec<Place> =
            match all.iter().filter(|word| !is_name(word)).map(listed).min_by_key(|l| l.len()) {
                Some(list) => list.to_vec(),
                None => all.iter().flat_map(listed).copied().collect::<BTreeSet<_>>().into_iter().collect(),
            };
        let means_the_same = |o: &Place| {
            let mut others = if self.interfaces.len() > MANY { BTreeSet::new() } else { own.clone() };
            others
                .extend(self.interfaces[o.0].words.iter().filter(|_| self.interfaces.len() <= MANY).cloned());
            meaning(&input.name, &others) == meaning(&self.output(*o).name, &others)
        };
        let near: Vec<Place> = near.into_iter().filter(|o| o.0 != place.0).filter(means_the_same).collect();
        self.fitting(place, &near)
    }

    /// Outputs of the same dimension: certain where both are the only ones, and complete a power bond with a connection that is
    /// certain.
    fn by_unit(
        &self,
        place: Place,
        name: &VariableName,
        certain: &[Wire],
        taken: &BTreeSet<VariableName>,
    ) -> Vec<Wire> {
        let input = self.input(place);
        let Some(dimensions) = dimensions_of(input) else { return Vec::new() };
        let candidates = self.units.get(&dimensions).map_or(&[][..], Vec::as_slice);
        let mut outputs = self.fitting(place, candidates);
        // An output that is certain to feed this subsystem is not fed to it twice for its unit alone: a torque and a brake.
        let is_there = |o: &Place| {
            let full = self.interfaces[o.0].full(&self.output(*o).name);
            certain.iter().any(|wire| wire.from == full && wire.to.subsystem == self.interfaces[place.0].name)
        };
        outputs.retain(|o| !is_there(o));
        let unit = input.unit.as_ref().map_or("", |unit| unit.symbol.as_str());
        let interface = &self.interfaces[place.0];
        let rivals = interface.inputs.iter().filter(|other| {
            let full = interface.full(&other.name);
            dimensions_of(other) == Some(dimensions) && !self.fed.contains(&full) && !taken.contains(&full)
        });
        let is_only_input = rivals.count() == 1;
        match outputs.as_slice() {
            [] => Vec::new(),
            [only] => {
                let back = certain.iter().find(|wire| {
                    wire.from.subsystem == interface.name
                        && wire.to.subsystem == self.interfaces[only.0].name
                        && interface
                            .output(&wire.from.variable)
                            .is_some_and(|back| matches!(power(input, back), Ok(Some((_, KnownFrom::Unit)))))
                });
                match back.filter(|_| is_only_input) {
                    Some(back) => {
                        let reason = format!(
                            "the only output in {unit}, and the other half of a power with `{}`",
                            back.from
                        );
                        self.wires(name, &[*only], true, &reason)
                    }
                    None => self.wires(name, &[*only], false, &format!("the only output in {unit}")),
                }
            }
            several if several.len() <= 2 * MOST => {
                let words_of = |text: &str| words(text).into_iter().collect::<BTreeSet<_>>();
                let own = words_of(&input.name);
                let common = |o: &Place| words_of(&self.output(*o).name).intersection(&own).count();
                let count = several.len();
                outputs.sort_by_key(|o| std::cmp::Reverse(common(o)));
                self.wires(name, &outputs, false, &format!("one of {count} outputs in {unit}"))
            }
            _ => Vec::new(),
        }
    }

    /// Outputs whose name is part of the input's, or the other way round.
    fn by_words(&self, place: Place, name: &VariableName) -> Vec<Wire> {
        let input = self.input(place);
        if !matches!(input.kind, SignalKind::Number(ValueKind::Real)) {
            return Vec::new();
        }
        let own = meaning(&input.name, &BTreeSet::new());
        // Letters and numbers are in too many names.
        let telling = own.iter().filter(|word| word.chars().count() > 2);
        let near: BTreeSet<Place> = telling
            .filter_map(|word| self.words.get(word).filter(|list| list.len() <= 8 * MOST))
            .flatten()
            .copied()
            .collect();
        let is_part = |o: &Place| {
            let other = meaning(&self.output(*o).name, &BTreeSet::new());
            own.is_subset(&other) || other.is_subset(&own)
        };
        let near: Vec<Place> = near.into_iter().filter(is_part).collect();
        match self.fitting(place, &near).as_slice() {
            several if several.len() > MOST => Vec::new(),
            found => self.wires(name, found, false, "similar names"),
        }
    }

    /// Outputs of the subsystem whose name is in the input's: a `load` of a motor, beside a subsystem `Load`.
    fn by_subsystem(&self, place: Place, name: &VariableName) -> Vec<Wire> {
        let input = self.input(place);
        if self.interfaces.len() > MANY || !matches!(input.kind, SignalKind::Number(ValueKind::Real)) {
            return Vec::new();
        }
        let own = meaning(&input.name, &BTreeSet::new());
        let is_named = |i: &Interface| own.iter().any(|word| word.len() > 2 && i.words.contains(word));
        let mut others = self.interfaces.iter().enumerate().filter(|(s, i)| *s != place.0 && is_named(i));
        let (Some((s, other)), None) = (others.next(), others.next()) else { return Vec::new() };
        let outputs: Vec<Place> = (0..other.outputs.len()).map(|o| (s, o)).collect();
        match self.fitting(place, &outputs).as_slice() {
            several if several.len() > MOST => Vec::new(),
            found => self.wires(name, found, false, &format!("named after `{}`", other.name)),
        }
    }
}

/// Of a real signal whose unit is known and not 1.
fn dimensions_of(signal: &Signal) -> Option<[i8; 8]> {
    let is_real = signal.kind == SignalKind::Number(ValueKind::Real);
    signal.unit.as_ref().filter(|_| is_real).and_then(|unit| dimensions(unit))
}
