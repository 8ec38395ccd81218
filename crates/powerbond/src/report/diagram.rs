//! The system of a run as a picture: bonds are as wide as the energy that went through, and coloured by their residual.

use crate::number::{percent, short};
use crate::picture::{Block, Bond, Connection, Diagram, Grade, Input, Look, Loop, Output};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// More subsystems than this are no picture any more.
const MOST: usize = 40;
/// Of more connections, those between two subsystems are drawn as one.
const MOST_CONNECTIONS: usize = 60;
/// Bonds and loops that the legend has room for.
const MOST_WORDS: usize = 12;

/// An element that shows the system of a run; a sentence where it would show nothing.
pub fn element(summary: &Value) -> String {
    let names: Vec<&str> = list(&summary["subsystems"]).filter_map(|s| s["name"].as_str()).collect();
    match names.len() {
        0 => return "<p>No subsystems.</p>".to_owned(),
        n if n > MOST => return format!("<p>{n} subsystems: too many for a picture.</p>"),
        _ => {}
    }
    let connections: Vec<Connection> = list(&summary["config"]["connections"]).map(connection).collect();
    let wires: usize = connections.iter().map(|c| c.from.len()).sum();
    let mut diagram = Diagram {
        title: "Subsystems, connections and bonds".to_owned(),
        blocks: list(&summary["subsystems"]).map(|s| block(s, summary)).collect(),
        bonds: bonds(summary),
        loops: loops(summary, &connections),
        connections,
        ..Diagram::default()
    };
    if wires > MOST_CONNECTIONS {
        gather(&mut diagram);
    }
    ports(&mut diagram, summary);
    diagram.element("system")
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or("").to_owned()
}

/// With four digits.
fn rounded(x: f64) -> String {
    short(format!("{x:.3e}").parse().unwrap_or(x))
}

fn connection(value: &Value) -> Connection {
    let source = |s: &Value| (text(&s["output"]), s["gain"].as_f64().unwrap_or(1.0));
    Connection {
        from: list(&value["from"]).map(source).collect(),
        to: text(&value["to"]),
        offset: value["offset"].as_f64().unwrap_or(0.0),
    }
}

/// A subsystem, still without its ports.
fn block(subsystem: &Value, summary: &Value) -> Block {
    let name = text(&subsystem["name"]);
    let rate = summary["config"]["method"]["rates"][&name].as_u64().unwrap_or(1);
    let refreshed =
        |choice: &Value| choice["name"] == subsystem["name"] && choice["feed_through"] == "refreshed";
    Block {
        kind: text(&subsystem["kind"]),
        rate: u32::try_from(rate).unwrap_or(u32::MAX),
        refreshed: list(&summary["choices"]["subsystems"]).any(refreshed),
        name,
        ..Block::default()
    }
}

fn bonds(summary: &Value) -> Vec<Bond> {
    let exchanged = |b: &Value| b["exchanged"].as_f64().unwrap_or(0.0);
    let most = list(&summary["bonds"]).map(exchanged).fold(f64::MIN_POSITIVE, f64::max);
    let bond = |(n, bond): (usize, &Value)| {
        let share = bond["residual_share"].as_f64().map(f64::abs);
        let grade = match share {
            Some(s) if s < 0.01 => Grade::Good,
            Some(s) if s < 0.05 => Grade::Fair,
            _ => Grade::Poor,
        };
        let name = text(&bond["name"]);
        let residual = share.map_or("?".to_owned(), percent);
        let words =
            format!("bond {name}: {} J exchanged, {residual} of it residual", rounded(exchanged(bond)));
        let sides = |key: &str| list(&bond["ports"]).flat_map(|p| list(&p[key])).map(text).collect();
        Bond {
            name,
            words: if n < MOST_WORDS { words } else { String::new() },
            inputs: sides("inputs"),
            outputs: sides("outputs"),
            look: Look::Judged { grade, weight: (exchanged(bond) / most).sqrt() },
        }
    };
    list(&summary["bonds"]).enumerate().map(bond).collect()
}

/// Loops along feed-through between inputs of one loop, and along the connections that close it.
fn loops(summary: &Value, connections: &[Connection]) -> Vec<Loop> {
    let one = |(n, found): (usize, &Value)| {
        let inputs: BTreeSet<String> = list(&found["inputs"]).map(text).collect();
        let pairs = list(&summary["feed_through"]).map(|pair| (text(&pair["input"]), text(&pair["output"])));
        let through: Vec<(String, String)> = pairs.filter(|(input, _)| inputs.contains(input)).collect();
        let known: BTreeSet<&String> = through.iter().map(|(_, output)| output).collect();
        let into = connections.iter().filter(|c| inputs.contains(&c.to));
        let wires: Vec<(String, String)> = into
            .flat_map(|c| c.from.iter().map(|(from, _)| (from.clone(), c.to.clone())))
            .filter(|(from, _)| known.contains(from))
            .collect();
        let closing: BTreeSet<&String> = wires.iter().map(|(from, _)| from).collect();
        let through: Vec<_> =
            through.iter().filter(|(_, output)| closing.contains(output)).cloned().collect();
        let names: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let words = format!("algebraic loop of {}", names.join(", "));
        Loop {
            words: if n < MOST_WORDS { words } else { String::new() },
            steps: wires.into_iter().chain(through).collect(),
        }
    };
    list(&summary["loops"]).enumerate().map(one).collect()
}

/// One connection for all from one subsystem to another, with the bonds along it.
fn gather(diagram: &mut Diagram) {
    let owner = |name: &str| name.split_once('.').map_or("", |(owner, _)| owner).to_owned();
    let wires = diagram.connections.iter().flat_map(|c| c.from.iter().map(|(from, _)| (from, &c.to)));
    let mut pairs: BTreeMap<(String, String), Vec<(&String, &String)>> = BTreeMap::new();
    wires.for_each(|(from, to)| pairs.entry((owner(from), owner(to))).or_default().push((from, to)));
    let mut bonds: BTreeMap<String, usize> = BTreeMap::new();
    for (k, bond) in diagram.bonds.iter().enumerate() {
        bonds.extend(bond.inputs.iter().map(|input| (input.clone(), k)));
    }
    let mut connections = Vec::new();
    for ((a, b), wires) in pairs {
        let (from, to) = (format!("{a}.to {b} ({})", wires.len()), format!("{b}.from {a} ({})", wires.len()));
        let along: BTreeSet<usize> = wires
            .into_iter()
            .filter_map(|(from, to)| {
                bonds.get(to).copied().filter(|&k| diagram.bonds[k].outputs.contains(from))
            })
            .collect();
        for k in along {
            diagram.bonds[k].outputs.push(from.clone());
            diagram.bonds[k].inputs.push(to.clone());
        }
        connections.push(Connection { from: vec![(from, 1.0)], to, offset: 0.0 });
    }
    diagram.connections = connections;
    diagram.loops.iter_mut().for_each(|found| found.steps.clear());
}

/// Gives every block the ports that connections use, and its feed-through between them.
fn ports(diagram: &mut Diagram, summary: &Value) {
    let places: BTreeMap<String, usize> =
        diagram.blocks.iter().enumerate().map(|(b, block)| (block.name.clone(), b)).collect();
    let place = |name: &str| {
        let (owner, variable) = name.split_once('.')?;
        Some((*places.get(owner)?, variable.to_owned()))
    };
    let mut through: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for pair in list(&summary["feed_through"]) {
        if let Some((_, input)) = place(&text(&pair["input"])) {
            through.entry(text(&pair["output"])).or_default().push(input);
        }
    }
    let mut seen = BTreeSet::new();
    for connection in &diagram.connections {
        for (name, _) in connection.from.iter().filter(|(name, _)| seen.insert(name.clone())) {
            if let Some((b, variable)) = place(name) {
                let feeds_through = through.remove(name).unwrap_or_default();
                diagram.blocks[b].outputs.push(Output { name: variable, feeds_through });
            }
        }
        if let Some((b, name)) = place(&connection.to) {
            diagram.blocks[b].inputs.push(Input { name, signal: false });
        }
    }
    for block in &mut diagram.blocks {
        block.inputs.sort_by(|a, b| a.name.cmp(&b.name));
        block.outputs.sort_by(|a, b| a.name.cmp(&b.name));
    }
}

#[cfg(test)]
mod tests {
    use super::element;
    use serde_json::{Value, json};

    /// Two subsystems with `n` connections each way, a bond along the first of each, and a loop through it.
    fn summary(n: usize) -> Value {
        let wire = |from: &str, to: &str, k: usize| json!({ "to": format!("{to}.u{k}"), "from": [{ "output": format!("{from}.y{k}"), "gain": 1 }] });
        let wires = (0..n).flat_map(|k| [wire("a", "b", k), wire("b", "a", k)]);
        let side = |name: &str| json!({ "subsystem": name, "inputs": [format!("{name}.u0")], "outputs": [format!("{name}.y0")] });
        let through = |name: &str| json!({ "output": format!("{name}.y0"), "input": format!("{name}.u0") });
        json!({
            "subsystems": [{ "name": "a", "kind": "<x>" }, { "name": "b", "kind": "" }],
            "config": { "connections": wires.collect::<Vec<_>>(), "method": { "rates": { "a": 3 } } },
            "bonds": [{ "name": "shaft", "exchanged": 2.0, "residual_share": 0.03, "ports": [side("a"), side("b")] }],
            "loops": [{ "inputs": ["a.u0", "b.u0"] }],
            "feed_through": [through("a"), through("b")],
        })
    }

    fn count(picture: &str, part: &str) -> usize {
        picture.matches(part).count()
    }

    #[test]
    fn every_connection_is_a_wire_and_bonds_and_loops_go_along_theirs() {
        let picture = element(&summary(2));
        assert_eq!(count(&picture, "class=\"wire"), 5, "two each way, and a sample of a loop:\n{picture}");
        assert_eq!(count(&picture, "class=\"wire loop\""), 3);
        assert_eq!(count(&picture, "class=\"through loop\""), 2);
        assert_eq!(count(&picture, "class=\"band fair\""), 3, "one each way, and a sample");
        for said in ["bond shaft: 2 J exchanged, 3 % of it residual", "&lt;x&gt;", ">3×<", ">y1<"] {
            assert!(picture.contains(said), "`{said}` in\n{picture}");
        }
    }

    #[test]
    fn many_connections_are_drawn_as_one() {
        let picture = element(&summary(50));
        assert!(picture.contains(">to b (50)<") && picture.contains(">from a (50)<"), "{picture}");
        assert_eq!(count(&picture, "class=\"band fair\""), 3);
        assert_eq!(count(&picture, "class=\"wire\""), 2);
    }

    #[test]
    fn a_record_that_lacks_everything_is_no_picture() {
        assert!(element(&json!({})).contains("No subsystems"));
        let odd = json!({ "subsystems": [{ "name": "a" }], "config": { "connections": [{ "to": "b.u", "from": [{}] }] } });
        assert!(element(&odd).ends_with("</svg>"));
    }
}
