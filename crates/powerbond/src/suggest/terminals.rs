//! Terminals of FMI 3 that fit each other: their members are connected, and flows tell the signs of powers.

use super::connections::{Wire, fits};
use super::interface::Interface;
use powerbond_core::network::VariableName;
use powerbond_fmi::description::{Member, Terminal};
use std::collections::BTreeSet;

const INFLOW: &str = "inflow";
const OUTFLOW: &str = "outflow";

/// A terminal of a subsystem.
type Place = (usize, usize);

/// The connections of all terminals that fit: certain where only one does.
pub fn wires(interfaces: &[Interface], fed: &BTreeSet<VariableName>) -> Vec<Wire> {
    let terminals = || {
        let of = |(s, interface): (usize, &Interface)| (0..interface.terminals.len()).map(move |t| (s, t));
        interfaces.iter().enumerate().flat_map(of)
    };
    let mut pairs: Vec<(Place, Place, Vec<Wire>)> = Vec::new();
    for a in terminals() {
        for b in terminals().filter(|b| b.0 > a.0) {
            pairs.extend(members(interfaces, a, b).map(|wires| (a, b, wires)));
        }
    }
    let name = |(s, t): Place| &interfaces[s].terminals[t].name;
    let mut found = Vec::new();
    for (a, b, wires) in &pairs {
        let rivals = |place: Place| pairs.iter().filter(move |(c, d, _)| *c == place || *d == place).count();
        let is_only = rivals(*a) == 1 && rivals(*b) == 1;
        let named = |(c, d, _): &&(Place, Place, Vec<Wire>)| {
            (c == a || d == a || c == b || d == b) && name(*c) == name(*d)
        };
        let by_name = name(*a) == name(*b) && pairs.iter().filter(named).count() == 1;
        let certain = is_only || by_name;
        let (first, second) = (&interfaces[a.0].name, &interfaces[b.0].name);
        let text = format!("terminals `{}` of {first} and `{}` of {second} fit", name(*a), name(*b));
        let reason = if certain { text } else { format!("{text}, as others do") };
        let open = wires.iter().filter(|wire| !fed.contains(&wire.to));
        found.extend(open.map(|wire| Wire { certain, reason: reason.clone(), ..wire.clone() }));
    }
    found
}

/// The connections between two terminals by their matching rule; none if they do not fit.
fn members(interfaces: &[Interface], a: Place, b: Place) -> Option<Vec<Wire>> {
    let [first, second] = [a, b].map(|(s, t)| &interfaces[s].terminals[t]);
    if first.matching_rule != second.matching_rule || first.kind != second.kind {
        return None;
    }
    let matched =
        |m: &'_ Member, other: &'_ Terminal| other.members.iter().position(|n| n.member == m.member);
    let same_number = first.members.len() == second.members.len();
    let pairs: Vec<(usize, usize)> = match first.matching_rule.as_str() {
        "sequence" if same_number => (0..first.members.len()).map(|i| (i, i)).collect(),
        "plug" if same_number => {
            let pair = |(i, m): (usize, &Member)| Some((i, matched(m, second)?));
            first.members.iter().enumerate().map(pair).collect::<Option<_>>()?
        }
        "bus" => {
            let pair = |(i, m): (usize, &Member)| Some((i, matched(m, second)?));
            first.members.iter().enumerate().filter_map(pair).collect()
        }
        _ => return None,
    };
    let wires: Option<Vec<Wire>> = pairs
        .into_iter()
        .map(|(i, j)| wire((&interfaces[a.0], &first.members[i]), (&interfaces[b.0], &second.members[j])))
        .collect();
    wires.filter(|wires| !wires.is_empty())
}

/// The connection between two members: one of them is an output, the other an input. Flows add up to zero (FMI 3.0, 2.4.10).
fn wire((a, first): (&Interface, &Member), (b, second): (&Interface, &Member)) -> Option<Wire> {
    let flow = |m: &Member| match m.kind.as_str() {
        INFLOW => Some(1.0),
        OUTFLOW => Some(-1.0),
        _ => None,
    };
    let gain = match (flow(first), flow(second)) {
        (Some(x), Some(y)) => -x * y,
        (None, None) => 1.0,
        _ => return None,
    };
    let there = |from: &Interface, m: &Member, to: &Interface, n: &Member| {
        let (output, input) = (from.output(&m.variable)?, to.input(&n.variable)?);
        let (from, to) = (from.full(&m.variable), to.full(&n.variable));
        fits(output, input).then(|| Wire { from, to, gain, certain: true, reason: String::new() })
    };
    there(a, first, b, second).or_else(|| there(b, second, a, first))
}

/// The sign of the power `input · output` of a port, where both belong to one terminal and one of them is a flow: an inflow times
/// its potential enters. With the terminal's name.
pub fn sign<'a>(interface: &'a Interface, input: &str, output: &str) -> Option<(f64, &'a str)> {
    interface.terminals.iter().find_map(|terminal| {
        let member = |name: &str| terminal.members.iter().find(|m| m.variable == name);
        let kinds = [member(input)?.kind.as_str(), member(output)?.kind.as_str()];
        let sign = match kinds {
            [INFLOW, other] | [other, INFLOW] if other != INFLOW && other != OUTFLOW => -1.0,
            [OUTFLOW, other] | [other, OUTFLOW] if other != INFLOW && other != OUTFLOW => 1.0,
            _ => return None,
        };
        Some((sign, terminal.name.as_str()))
    })
}
