//! Power bonds of OSP: connections of one name between two simulators, there and back.

use super::signals::{Directed, Known, Signals};
use crate::Error;
use crate::error::Collector;
use crate::source::At;
use crate::system::{Bond, BondPort};
use powerbond_core::network::VariableName;
use std::collections::BTreeMap;

/// The bonds that connections belong to. The file does not say which way power counts: it is that from the simulator that is named
/// first to the other one.
pub fn bonds(signals: &Signals, known: &[Known], problems: &mut Collector) -> Vec<Bond> {
    let mut by_name: BTreeMap<&str, Vec<&Directed>> = BTreeMap::new();
    for connection in &signals.directed {
        if let Some(name) = &connection.bond {
            by_name.entry(name).or_default().push(connection);
        }
    }
    // What a connection lacks that is wrong itself is not missing.
    let whole = by_name.into_iter().filter(|(name, _)| !signals.broken_bonds.contains(*name));
    whole.filter_map(|(name, list)| problems.keep(bond(name, &list, known))).collect()
}

fn bond(name: &str, list: &[&Directed], known: &[Known]) -> Result<Bond, Error> {
    let place = &list[0].place;
    let fail = |message: String| Err(Error::input(place.place(), format!("power bond `{name}`: {message}")));
    let (from, to, first) = (list[0].from.0, list[0].to.0, list[0].first);
    let second = if first == from { to } else { from };
    if first == second {
        return fail("it connects a simulator with itself".to_owned());
    }
    if let Some(odd) =
        list.iter().find(|c| [c.from.0, c.to.0] != [first, second] && [c.from.0, c.to.0] != [second, first])
    {
        let names = |c: &Directed| format!("`{}` and `{}`", known[c.from.0].written, known[c.to.0].written);
        let message = format!("power bond `{name}`: it connects {} and also {}", names(list[0]), names(odd));
        return Err(Error::input(odd.place.place(), message));
    }
    let (there, back): (Vec<&&Directed>, Vec<&&Directed>) = list.iter().partition(|c| c.from.0 == first);
    if there.len() != back.len() {
        return fail(format!(
            "{} connections from `{}` to `{}` and {} back; each effort needs its flow",
            there.len(),
            known[first].written,
            known[second].written,
            back.len()
        ));
    }
    let names = |list: &[(usize, &str, &At<()>)]| {
        list.iter()
            .map(|(s, variable, place)| place.with(VariableName::new(&known[*s].name, variable)))
            .collect::<Vec<_>>()
    };
    let of = |list: &[&&Directed], is_from: bool| {
        let ends: Vec<(usize, &str, &At<()>)> = list
            .iter()
            .map(|c| {
                let (s, variable) = if is_from { &c.from } else { &c.to };
                (*s, variable.as_str(), &c.place)
            })
            .collect();
        names(&ends)
    };
    let port = |inputs: Vec<At<VariableName>>, outputs: Vec<At<VariableName>>, sign: f64| BondPort {
        inputs,
        outputs,
        sign: place.with(sign),
        ratio: 1.0,
        from: Vec::new(),
    };
    Ok(Bond {
        name: place.with(name.to_owned()),
        ports: vec![
            port(of(&back, false), of(&there, true), 1.0),
            port(of(&there, false), of(&back, true), -1.0),
        ],
        energy_scale: None,
        tolerance: None,
        pseudo: false,
    })
}
