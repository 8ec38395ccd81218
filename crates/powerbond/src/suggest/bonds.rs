//! Power bonds that a system does not declare: connections that cross between two subsystems and multiply to a power.

use super::interface::{Interface, Signal};
use super::quantity::{KnownFrom, Quantity, power};
use super::signs::Relation;
use super::terminals;
use super::words::{axis, is_wish, meaning, words};
use crate::system::System;
use powerbond_core::network::VariableName;
use powerbond_core::units::{Conversion, Unit};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A bond that could be declared.
#[derive(Clone, Debug, Serialize)]
pub struct BondSuggestion {
    /// A name that no other bond has.
    pub name: String,
    /// Its two sides.
    pub ports: [PortSuggestion; 2],
    /// What multiplies to a power is known from more than letters, and there is one way to pair it.
    pub certain: bool,
    /// Why it is a power bond, in words.
    pub reason: String,
    /// Where the signs come from, in words.
    pub signs: String,
    /// What contradicts the gains of the connections, in words.
    pub doubt: Option<String>,
    /// How the signs of both sides depend on each other.
    #[serde(skip)]
    pub(super) relation: Relation,
}

/// A side of it.
#[derive(Clone, Debug, Serialize)]
pub struct PortSuggestion {
    /// Inputs.
    #[serde(serialize_with = "as_texts")]
    pub inputs: Vec<VariableName>,
    /// Outputs.
    #[serde(serialize_with = "as_texts")]
    pub outputs: Vec<VariableName>,
    /// The outputs whose shares of the inputs are meant, where several feed one of them; else empty.
    #[serde(serialize_with = "as_texts")]
    pub from: Vec<VariableName>,
    /// +1: the product leaves the subsystem.
    pub sign: f64,
    /// Multiplies the product.
    pub ratio: f64,
    /// What a trial found: 1 if the output first moves with the input, -1 if against it.
    pub response: Option<f64>,
    /// The sign that a terminal of FMI 3 tells.
    #[serde(skip)]
    pub(super) told: Option<f64>,
}

fn as_texts<S: serde::Serializer>(names: &[VariableName], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(names.iter().map(ToString::to_string))
}

/// A connection of a system: one output, one input.
struct Line<'a> {
    from: VariableName,
    to: VariableName,
    output: &'a Signal,
    input: &'a Signal,
    /// With the conversion of units.
    gain: f64,
    /// Others feed the input, too.
    is_shared: bool,
}

/// A line there and a line back.
struct Crossing {
    there: usize,
    back: usize,
    quantity: Option<Quantity>,
    known: KnownFrom,
    /// Words that all four names have in common, beside quantities and names of subsystems.
    common: usize,
}

/// The bonds that `system` could declare in addition, with signs by convention: [`settle`](super::BondSuggestion::settle) knows better
/// after a trial. `interfaces` are those of its subsystems.
pub fn bonds(system: &System, interfaces: &[Interface]) -> Vec<BondSuggestion> {
    let lines = lines(system, interfaces);
    let used = used(system);
    let is_free = |line: &Line| {
        !used.contains(&(line.to.clone(), None))
            && !used.contains(&(line.to.clone(), Some(line.from.clone())))
    };
    let mut pairs: BTreeMap<(&str, &str), [Vec<usize>; 2]> = BTreeMap::new();
    for (n, line) in lines.iter().enumerate().filter(|(_, line)| is_free(line)) {
        let (a, b) = (line.from.subsystem.as_str(), line.to.subsystem.as_str());
        let (key, side) = if a < b { ((a, b), 0) } else { ((b, a), 1) };
        if a != b {
            pairs.entry(key).or_default()[side].push(n);
        }
    }
    let mut found = Vec::new();
    let of_name: BTreeMap<&str, &Interface> = interfaces.iter().map(|i| (i.name.as_str(), i)).collect();
    for ((a, b), [there, back]) in &pairs {
        let (Some(first), Some(second)) = (of_name.get(a), of_name.get(b)) else { continue };
        let crossings = crossings(&lines, there, back, (first, second));
        let mut made: Vec<(usize, BondSuggestion)> = Vec::new();
        for (n, crossing) in crossings.iter().enumerate() {
            let rivals = rivals(&crossings, n);
            let best = rivals.iter().all(|&r| crossings[r].common < crossing.common);
            let is_chosen = rivals.is_empty() || best && crossing.common > 0;
            let beaten = rivals.iter().any(|&r| crossings[r].common > crossing.common);
            if beaten {
                continue;
            }
            made.push((n, suggest(&lines, crossing, is_chosen, rivals.is_empty(), (first, second))));
        }
        found.extend(as_vectors(made, &lines, &crossings));
    }
    name_them(system, &mut found);
    found
}

/// Every connection between numbers, source by source.
fn lines<'a>(system: &System, interfaces: &'a [Interface]) -> Vec<Line<'a>> {
    let of_name: BTreeMap<&str, &Interface> = interfaces.iter().map(|i| (i.name.as_str(), i)).collect();
    let mut lines = Vec::new();
    for connection in &system.connections {
        let to = &connection.to.value;
        let input = of_name.get(to.subsystem.as_str()).and_then(|i| i.input(&to.variable));
        for (from, gain) in &connection.from {
            let from = &from.value;
            let output = of_name.get(from.subsystem.as_str()).and_then(|i| i.output(&from.variable));
            let (Some(input), Some(output)) = (input, output) else { continue };
            let converted = match (&output.unit, &input.unit) {
                (Some(a), Some(b)) if connection.convert_units => match a.conversion_to(b) {
                    Conversion::Linear { gain, .. } => gain,
                    _ => 1.0,
                },
                _ => 1.0,
            };
            lines.push(Line {
                from: from.clone(),
                to: to.clone(),
                output,
                input,
                gain: gain * converted,
                is_shared: connection.from.len() > 1,
            });
        }
    }
    lines
}

/// Inputs of declared bonds, whole or a share.
fn used(system: &System) -> BTreeSet<(VariableName, Option<VariableName>)> {
    let ports = system.bonds.iter().flat_map(|bond| &bond.ports);
    ports
        .flat_map(|port| {
            let share = |i: usize| port.from.get(i).map(|from| from.value.clone());
            port.inputs.iter().enumerate().map(move |(i, input)| (input.value.clone(), share(i)))
        })
        .collect()
}

/// All ways to pair lines there with lines back to a power.
fn crossings(
    lines: &[Line<'_>],
    there: &[usize],
    back: &[usize],
    (first, second): (&Interface, &Interface),
) -> Vec<Crossing> {
    let others: BTreeSet<String> = first.words.union(&second.words).cloned().collect();
    let label = |line: &Line| -> BTreeSet<String> {
        let all = [&line.from, &line.to].into_iter().flat_map(|name| meaning(&name.variable, &others));
        all.collect()
    };
    let mut found = Vec::new();
    for (&t, &b) in there.iter().flat_map(|t| back.iter().map(move |b| (t, b))) {
        let (go, come) = (&lines[t], &lines[b]);
        // What both sides say of it must not contradict, and one of them has to say something.
        let sides = [power(come.input, go.output), power(go.input, come.output)];
        let mut known: Vec<(Option<Quantity>, KnownFrom)> = Vec::new();
        let is_possible = sides.into_iter().all(|side| side.map(|some| known.extend(some)).is_ok());
        if known.is_empty() {
            let flows = [
                terminals::sign(first, &come.to.variable, &go.from.variable),
                terminals::sign(second, &go.to.variable, &come.from.variable),
            ];
            known.extend(flows.iter().flatten().map(|_| (None, KnownFrom::Terminal)));
        }
        let Some(&(quantity, from)) = known.iter().min_by_key(|(_, from)| *from).filter(|_| is_possible)
        else {
            continue;
        };
        let quantity = quantity.or_else(|| known.iter().find_map(|(q, _)| *q));
        let common = label(go).intersection(&label(come)).count();
        found.push(Crossing { there: t, back: b, quantity, known: from, common });
    }
    found
}

/// Crossings that use one of the same lines.
fn rivals(crossings: &[Crossing], n: usize) -> Vec<usize> {
    let this = &crossings[n];
    let shares =
        |(m, other): &(usize, &Crossing)| *m != n && (other.there == this.there || other.back == this.back);
    crossings.iter().enumerate().filter(shares).map(|(m, _)| m).collect()
}

fn suggest(
    lines: &[Line<'_>],
    crossing: &Crossing,
    is_chosen: bool,
    is_only: bool,
    (first, second): (&Interface, &Interface),
) -> BondSuggestion {
    let (go, come) = (&lines[crossing.there], &lines[crossing.back]);
    let watts = |a: &Signal, b: &Signal| unit_watts(a.unit.as_deref(), b.unit.as_deref());
    let (watts_first, watts_second) = (watts(come.input, go.output), watts(go.input, come.output));
    // P1 = s1·(g1 w1)·y1·y2 and P2 = s2·(g2 w2)·y1·y2 have to cancel.
    let (p1, p2) = (come.gain * watts_first, go.gain * watts_second);
    let ratio = (p1 / p2).abs();
    let ratio = if (ratio - 1.0).abs() < 1e-6 || !ratio.is_finite() || ratio == 0.0 { 1.0 } else { ratio };
    let port = |fed: &Line, gives: &Line, of: &Interface, ratio: f64| {
        let told = terminals::sign(of, &fed.to.variable, &gives.from.variable);
        let from = if fed.is_shared { vec![fed.from.clone()] } else { Vec::new() };
        PortSuggestion {
            inputs: vec![fed.to.clone()],
            outputs: vec![gives.from.clone()],
            from,
            sign: -1.0,
            ratio,
            response: None,
            told: told.map(|(sign, _)| sign),
        }
    };
    let ports = [port(come, go, first, 1.0), port(go, come, second, ratio)];
    let wish = [go, come].iter().any(|l| is_wish(&l.from.variable) || is_wish(&l.to.variable));
    let certain = is_chosen && crossing.known < KnownFrom::Letter && !wish;
    let unknown = || match crossing.known {
        KnownFrom::Terminal => "a flow and its potential".to_owned(),
        _ => "their product is a power".to_owned(),
    };
    let pair = crossing.quantity.map_or_else(unknown, |q| {
        let q = if q.is_through() { q } else { q.partner() };
        format!("{q} and {}", q.partner())
    });
    let mut reason = format!("{pair}, {}", crossing.known.words());
    if is_chosen && !is_only {
        reason += "; paired by names";
    }
    if !is_chosen {
        reason += "; one of several pairings";
    }
    if wish {
        reason += "; a set-point by its name, which carries no power";
    }
    if crossing.known > KnownFrom::Unit {
        reason += "; SI units are assumed";
    }
    let through = crossing.quantity.map(|_| {
        let of = |line: &Line| {
            let (all, _) = super::quantity::quantities(line.input);
            let (more, _) = super::quantity::quantities(line.output);
            all.iter().chain(&more).any(|q| q.is_through())
        };
        if of(come) { come.to.clone() } else { go.to.clone() }
    });
    let relation = Relation { product: p1.signum() * p2.signum(), through };
    let mut bond = BondSuggestion {
        name: bond_name(lines, crossing, (first, second)),
        ports,
        certain,
        reason,
        signs: String::new(),
        doubt: None,
        relation,
    };
    bond.settle();
    bond
}

fn unit_watts(a: Option<&Unit>, b: Option<&Unit>) -> f64 {
    a.zip(b).and_then(|(a, b)| a.watts(b)).unwrap_or(1.0)
}

/// Both subsystems, or a terminal that both have.
fn bond_name(lines: &[Line<'_>], crossing: &Crossing, (first, second): (&Interface, &Interface)) -> String {
    let (go, come) = (&lines[crossing.there], &lines[crossing.back]);
    let terminal = |of: &Interface, input: &str, output: &str| {
        terminals::sign(of, input, output).map(|(_, name)| words(name).join("_"))
    };
    let a = terminal(first, &come.to.variable, &go.from.variable);
    let b = terminal(second, &go.to.variable, &come.from.variable);
    match (a, b) {
        (Some(a), Some(b)) if a == b && !a.is_empty() => a,
        _ => format!("{}_{}", bare(&first.name), bare(&second.name)),
    }
}

/// As it can stand in a file without quotes.
fn bare(name: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    name.chars().map(kept).collect()
}

/// Components x, y and z of the same names become one bond.
fn as_vectors(
    made: Vec<(usize, BondSuggestion)>,
    lines: &[Line<'_>],
    crossings: &[Crossing],
) -> Vec<BondSuggestion> {
    let stem = |n: usize| -> Option<[String; 4]> {
        let Crossing { there, back, .. } = crossings[n];
        let (go, come) = (&lines[there], &lines[back]);
        let names = [&go.from, &go.to, &come.from, &come.to];
        let axes: BTreeSet<char> = names.iter().filter_map(|name| axis(&name.variable)).collect();
        let has_all = names.iter().all(|name| axis(&name.variable).is_some());
        (has_all && axes.len() == 1).then(|| {
            names.map(|name| {
                let mut all = words(&name.variable);
                // `force_x` loses its axis, `fx` becomes `f`.
                let last = all.pop().unwrap_or_default();
                all.push(last[..last.len() - 1].to_owned());
                all.join(" ")
            })
        })
    };
    let mut found: Vec<(Option<[String; 4]>, BondSuggestion)> = Vec::new();
    for (n, bond) in made {
        let stem = stem(n).filter(|_| bond.certain && bond.ports.iter().all(|p| p.ratio == 1.0));
        let same = found.iter_mut().find(|(other, into)| {
            stem.is_some() && *other == stem && into.relation.product == bond.relation.product
        });
        match same {
            None => found.push((stem, bond)),
            Some((_, into)) => {
                for (port, more) in into.ports.iter_mut().zip(bond.ports) {
                    port.inputs.extend(more.inputs);
                    port.outputs.extend(more.outputs);
                    port.from.extend(more.from);
                    port.told = port.told.filter(|told| more.told == Some(*told));
                }
                if !into.reason.ends_with("one vector") {
                    into.reason += "; components of one vector";
                    into.reason = into.reason.replace("; paired by names", "");
                }
            }
        }
    }
    let mut found: Vec<BondSuggestion> = found.into_iter().map(|(_, bond)| bond).collect();
    // Either all inputs of a port are shares, or none is named.
    found.retain(|bond| bond.ports.iter().all(|p| p.from.is_empty() || p.from.len() == p.inputs.len()));
    found.iter_mut().for_each(BondSuggestion::settle);
    found
}

/// Names that are taken get what tells them apart, or a number.
fn name_them(system: &System, bonds: &mut [BondSuggestion]) {
    let mut taken: BTreeSet<String> = system.bonds.iter().map(|bond| bond.name.value.clone()).collect();
    let counts = bonds.iter().fold(BTreeMap::<String, usize>::new(), |mut counts, bond| {
        *counts.entry(bond.name.clone()).or_default() += 1;
        counts
    });
    for bond in bonds.iter_mut() {
        if counts[&bond.name] > 1 {
            let variable = bond.relation.through.as_ref().unwrap_or(&bond.ports[0].inputs[0]);
            bond.name = format!("{}_{}", bond.name, bare(&variable.variable));
        }
        let plain = bond.name.clone();
        let mut n = 2;
        while !taken.insert(bond.name.clone()) {
            bond.name = format!("{plain}_{n}");
            n += 1;
        }
    }
}
