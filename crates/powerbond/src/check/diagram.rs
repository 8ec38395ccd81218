//! A system before it runs as a picture.

use super::Check;
use crate::picture::{Block, Bond, Connection, Diagram, Input, Look, Loop, Output};

impl Check {
    /// The system as an SVG picture: bonds in colour, feed-through dashed, algebraic loops in red.
    pub fn svg(&self) -> String {
        self.diagram().svg()
    }

    /// The system for `dot -Tsvg`.
    pub fn dot(&self) -> String {
        self.diagram().dot()
    }

    /// What is drawn of it.
    fn diagram(&self) -> Diagram {
        let blocks = self.subsystems.iter().map(|s| Block {
            name: s.name.clone(),
            kind: s.model.clone(),
            rate: s.rate,
            refreshed: s.refreshed,
            unknown: s.feed_through == "unknown",
            inputs: s
                .inputs
                .iter()
                .map(|i| Input { name: i.name.clone(), signal: i.fed_by == "signal" })
                .collect(),
            outputs: s
                .outputs
                .iter()
                .map(|o| Output { name: o.name.clone(), feeds_through: o.feeds_through.clone() })
                .collect(),
        });
        let connections = self.connections.iter().map(|c| Connection {
            from: c.from.iter().map(|source| (source.name.clone(), source.gain)).collect(),
            to: c.to.clone(),
            offset: c.offset,
        });
        let bonds = self.bonds.iter().map(|bond| {
            let sign = |factor: f64| if factor > 0.0 { "+" } else { "−" };
            let ports: Vec<String> =
                bond.ports.iter().map(|p| format!("{} {}", p.subsystem, sign(p.factor))).collect();
            Bond {
                name: bond.name.clone(),
                words: format!("bond {}: {}", bond.name, ports.join(", ")),
                inputs: bond.ports.iter().flat_map(|p| p.inputs.iter().cloned()).collect(),
                outputs: bond.ports.iter().flat_map(|p| p.outputs.iter().cloned()).collect(),
                look: Look::Numbered,
            }
        });
        let loops = self.loops.iter().map(|found| Loop {
            words: format!("algebraic loop {}", found.path.join(" → ")),
            steps: found.path.iter().cloned().zip(found.path.iter().cycle().skip(1).cloned()).collect(),
        });
        Diagram {
            title: self.system.clone(),
            facts: self.facts(),
            blocks: blocks.collect(),
            connections: connections.collect(),
            bonds: bonds.collect(),
            loops: loops.collect(),
        }
    }

    fn facts(&self) -> String {
        let loops = match (self.loops.len(), self.nilpotency) {
            (0, Some(m)) => format!("no algebraic loop, nilpotency {m}"),
            (1, _) => "1 algebraic loop".to_owned(),
            (n, _) => format!("{n} algebraic loops"),
        };
        format!("order {} · {loops}", shortened(&self.order))
    }
}

/// Names in a row, as many as fit into a line of the picture.
fn shortened(names: &[String]) -> String {
    const LETTERS: usize = 60;
    let mut line = String::new();
    for (i, name) in names.iter().enumerate() {
        if i > 0 && line.chars().count() + name.chars().count() > LETTERS {
            return format!("{line}, … {} more", names.len() - i);
        }
        line += if i == 0 { "" } else { ", " };
        line += name;
    }
    line
}
