//! A system as a Graphviz file: a cluster per subsystem, its ports as nodes.

use super::Check;
use super::marks::Marks;
use super::svg::COLOURS;
use std::fmt::Write;

impl Check {
    /// The system for `dot -Tsvg`.
    pub fn dot(&self) -> String {
        let mut out = format!(
            "digraph {} {{\n  rankdir = LR\n  compound = true\n  node [shape = plain, fontname = monospace, fontsize = 11]\n  \
             edge [fontname = monospace, fontsize = 10]\n",
            quote(&self.system)
        );
        let marks = Marks::of(self);
        for (n, sub) in self.subsystems.iter().enumerate() {
            let rate = if sub.rate > 1 { format!(", {}×", sub.rate) } else { String::new() };
            let label = format!("{} ({}{rate})", sub.name, sub.model);
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
        }
        for c in &self.connections {
            for source in &c.from {
                let mut options: Vec<String> = Vec::new();
                if source.gain != 1.0 {
                    options.push(format!("label = \"×{}\"", source.gain));
                }
                let bond = marks.of_wire(&source.name, &c.to);
                if marks.in_loop(&source.name, &c.to) {
                    options.push("color = red".to_owned());
                } else if let Some(k) = bond {
                    options.push(format!("color = \"{}\"", COLOURS[k % COLOURS.len()]));
                }
                if let Some(k) = bond {
                    options.push(format!("penwidth = 3, tooltip = {}", quote(&self.bonds[k].name)));
                }
                let list =
                    if options.is_empty() { String::new() } else { format!(" [{}]", options.join(", ")) };
                let _ = writeln!(out, "  {} -> {}{list}", quote(&source.name), quote(&c.to));
            }
        }
        for sub in &self.subsystems {
            for input in sub.inputs.iter().filter(|i| i.fed_by == "signal") {
                let name = format!("{}.{}", sub.name, input.name);
                let signal = format!("signal of {name}");
                let _ = writeln!(out, "  {} [label = signal, fontcolor = gray40]", quote(&signal));
                let _ = writeln!(out, "  {} -> {}", quote(&signal), quote(&name));
            }
        }
        out + "}\n"
    }
}

/// A name as Graphviz reads it.
fn quote(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}
