//! A system as a Graphviz file: a cluster per subsystem, its ports as nodes, in clusters of the systems around it.

use super::Diagram;
use super::escape::dot as quote;
use super::marks::Marks;
use std::fmt::Write;

impl Diagram {
    /// The system for `dot -Tsvg`.
    pub fn dot(&self) -> String {
        let mut out = format!(
            "digraph {} {{\n  rankdir = LR\n  compound = true\n  node [shape = plain, fontname = monospace, fontsize = 11]\n  \
             edge [fontname = monospace, fontsize = 10]\n",
            quote(&self.title)
        );
        let marks = Marks::of(self);
        for (n, sub) in self.blocks.iter().enumerate() {
            let rate = if sub.rate > 1 { format!(", {}×", sub.rate) } else { String::new() };
            let (around, own) = systems(&sub.name);
            let label = format!("{own} ({}{rate})", sub.kind);
            // Graphviz joins clusters of one name.
            for path in &around {
                let name = path.rsplit('/').next().unwrap_or(path);
                let (id, label) = (quote(&format!("cluster {path}")), quote(name));
                let _ = writeln!(out, "  subgraph {id} {{\n    label = {label}\n    style = dotted");
            }
            let _ = writeln!(
                out,
                "  subgraph cluster_{n} {{\n    label = {}\n    style = rounded",
                quote(&label)
            );
            let full = |variable: &str| format!("{}.{variable}", sub.name);
            for name in sub.inputs.iter().map(|i| &i.name).chain(sub.outputs.iter().map(|o| &o.name)) {
                let _ = writeln!(out, "    {} [label = {}]", quote(&full(name)), quote(name));
            }
            for output in &sub.outputs {
                for input in &output.feeds_through {
                    let (a, b) = (full(input), full(&output.name));
                    let colour = if marks.in_loop(&a, &b) { ", color = red" } else { "" };
                    let _ = writeln!(out, "    {} -> {} [style = dashed{colour}]", quote(&a), quote(&b));
                }
            }
            out += "  }\n";
            around.iter().for_each(|_| out += "  }\n");
        }
        for c in &self.connections {
            for (source, gain) in &c.from {
                let mut options: Vec<String> = Vec::new();
                if *gain != 1.0 {
                    options.push(format!("label = \"×{gain}\""));
                }
                let bond = marks.of_wire(source, &c.to);
                if marks.in_loop(source, &c.to) {
                    options.push("color = red".to_owned());
                } else if let Some(k) = bond {
                    options.push(format!("color = \"{}\"", self.bonds[k].colour(k)));
                }
                if let Some(k) = bond {
                    options.push(format!("penwidth = 3, tooltip = {}", quote(&self.bonds[k].name)));
                }
                let list =
                    if options.is_empty() { String::new() } else { format!(" [{}]", options.join(", ")) };
                let _ = writeln!(out, "  {} -> {}{list}", quote(source), quote(&c.to));
            }
        }
        for sub in &self.blocks {
            for input in sub.inputs.iter().filter(|i| i.signal) {
                let name = format!("{}.{}", sub.name, input.name);
                let signal = format!("signal of {name}");
                let _ = writeln!(out, "  {} [label = signal, fontcolor = gray40]", quote(&signal));
                let _ = writeln!(out, "  {} -> {}", quote(&signal), quote(&name));
            }
        }
        out + "}\n"
    }
}

/// The paths of the systems around a subsystem, the outermost first, and the name in the innermost.
fn systems(name: &str) -> (Vec<&str>, &str) {
    let own = name.rfind('/').map_or(0, |slash| slash + 1);
    (name.match_indices('/').map(|(slash, _)| &name[..slash]).collect(), &name[own..])
}
