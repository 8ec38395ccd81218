//! A system as an SVG picture: boxes, ports, wires, bonds in colour, feed-through dashed, algebraic loops in red.

use super::layout::{CHAR, Layout, Wire, layout, port_y};
use super::marks::Marks;
use super::{Check, SubsystemCheck};
use powerbond_core::network::NameIndex;
use std::fmt::Write;

/// Colours of bonds; readable on light and dark ground.
pub(super) const COLOURS: [&str; 6] = ["#2f7fd8", "#d9790a", "#2c9c5a", "#a650c0", "#0f9fa6", "#b8960c"];

/// In dark mode the reader's browser picks the second set.
const STYLE: &str = "\
text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:11px;fill:#24292f}\
.ground{fill:#ffffff}.box{fill:#f6f8fa;stroke:#8c959f;stroke-width:1.2}.title{font-size:14px;font-weight:bold}\
.dim{fill:#6a737d}.wire{fill:none;stroke:#57606a;stroke-width:1.3;stroke-linecap:round}.tip,.dot{fill:#57606a}\
.through{fill:none;stroke:#57606a;stroke-width:1.2;stroke-dasharray:4 3}\
.loop{stroke:#d1242f}.loopfill{fill:#d1242f}.band{fill:none;stroke-width:7;stroke-linecap:round;opacity:.35}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.ground{fill:#0d1117}.box{fill:#161b22;stroke:#6e7681}\
.dim{fill:#9198a1}.wire,.through{stroke:#b1bac4}.tip,.dot{fill:#b1bac4}.loop{stroke:#ff6b72}.loopfill{fill:#ff6b72}\
.band{opacity:.55}}";

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

impl Check {
    /// The system as an SVG picture.
    pub fn svg(&self) -> String {
        let plan = layout(self);
        let marks = Marks::of(self);
        let legend = self.legend();
        let height = plan.height + 22.0 + 20.0 * legend.len() as f64 + 10.0;
        let widest = legend.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0) as f64;
        let facts = self.facts();
        let width = plan.width.max(90.0 + CHAR * widest).max(48.0 + CHAR * facts.chars().count() as f64);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" role=\"img\"><title>{}</title><style>{STYLE}</style>\n\
             <rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n",
            escape(&self.system)
        );
        text(&mut out, 24.0, 30.0, "title", "start", &self.system);
        text(&mut out, 24.0, 48.0, "dim", "start", &facts);
        for wire in &plan.wires {
            band(&mut out, &marks, wire);
        }
        for wire in &plan.wires {
            draw(&mut out, &marks, wire);
        }
        for s in 0..self.subsystems.len() {
            self.subsystem(&mut out, &marks, &plan, s);
        }
        for (i, (sample, words)) in legend.iter().enumerate() {
            let y = plan.height + 34.0 + 20.0 * i as f64;
            let _ = writeln!(
                out,
                "<line x1=\"24\" y1=\"{:.1}\" x2=\"60\" y2=\"{:.1}\" {sample}/>",
                y - 4.0,
                y - 4.0
            );
            text(&mut out, 70.0, y, "dim", "start", words);
        }
        out + "</svg>\n"
    }

    fn facts(&self) -> String {
        let loops = match (self.loops.len(), self.nilpotency) {
            (0, Some(m)) => format!("no algebraic loop, nilpotency {m}"),
            (1, _) => "1 algebraic loop".to_owned(),
            (n, _) => format!("{n} algebraic loops"),
        };
        format!("order {} · {loops}", shortened(&self.order))
    }

    /// Samples of lines, and what they mean.
    fn legend(&self) -> Vec<(String, String)> {
        let mut lines = Vec::new();
        for (k, bond) in self.bonds.iter().enumerate() {
            let ports: Vec<String> = bond
                .ports
                .iter()
                .map(|p| format!("{} {}", p.subsystem, if p.factor > 0.0 { "+" } else { "−" }))
                .collect();
            let sample = format!("class=\"band\" stroke=\"{}\"", COLOURS[k % COLOURS.len()]);
            lines.push((sample, format!("bond {}: {}", bond.name, ports.join(", "))));
        }
        if self.subsystems.iter().any(|s| s.outputs.iter().any(|o| !o.feeds_through.is_empty())) {
            let words = "feed-through: the output depends on the input at the same instant";
            lines.push(("class=\"through\"".to_owned(), words.to_owned()));
        }
        if self.subsystems.iter().any(|s| s.refreshed) {
            let words = "↻ outputs are computed anew with fresh inputs after each step";
            lines.push(("stroke=\"none\"".to_owned(), words.to_owned()));
        }
        for found in &self.loops {
            lines.push((
                "class=\"wire loop\"".to_owned(),
                format!("algebraic loop {}", found.path.join(" → ")),
            ));
        }
        lines
    }

    fn subsystem(&self, out: &mut String, marks: &Marks<'_>, plan: &Layout, s: usize) {
        let (sub, frame) = (&self.subsystems[s], &plan.boxes[s]);
        let _ = writeln!(
            out,
            "<rect class=\"box\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"6\"/>",
            frame.x, frame.y, frame.width, frame.height
        );
        text(out, frame.x + 12.0, frame.y + 20.0, "title", "start", &sub.name);
        text(out, frame.x + 12.0, frame.y + 35.0, "dim", "start", &sub.model);
        let mut signs = Vec::new();
        if sub.rate > 1 {
            signs.push(format!("{}×", sub.rate));
        }
        if sub.refreshed {
            signs.push("↻".to_owned());
        }
        text(out, frame.x + frame.width - 12.0, frame.y + 20.0, "dim", "end", &signs.join(" "));
        let right = frame.x + frame.width;
        for (i, input) in sub.inputs.iter().enumerate() {
            let y = port_y(frame, i);
            text(out, frame.x + 12.0, y + 4.0, "", "start", &input.name);
            port(out, marks, frame.x, y, &format!("{}.{}", sub.name, input.name));
            if input.fed_by == "signal" {
                let _ = writeln!(
                    out,
                    "<path class=\"wire\" d=\"M{:.1} {y:.1}H{:.1}\"/>",
                    frame.x - 20.0,
                    frame.x
                );
                tip(out, frame.x, y, "");
                text(out, frame.x - 24.0, y + 4.0, "dim", "end", "signal");
            }
        }
        let inputs: NameIndex<&str> = sub.inputs.iter().map(|i| i.name.as_str()).collect();
        for (o, output) in sub.outputs.iter().enumerate() {
            let y = port_y(frame, o);
            text(out, right - 12.0, y + 4.0, "", "end", &output.name);
            port(out, marks, right, y, &format!("{}.{}", sub.name, output.name));
            for i in output.feeds_through.iter().filter_map(|name| inputs.place(name.as_str())) {
                self.through(out, marks, plan, s, (i, o));
            }
        }
        if sub.feed_through == "unknown" {
            let y = port_y(frame, 0) + 4.0;
            let middle = frame.x + 12.0 + 0.5 * (frame.width - 24.0 + inputs_width(sub) - outputs_width(sub));
            text(out, middle, y, "dim", "middle", "?");
        }
    }

    /// A dashed curve from an input to an output inside of a box.
    fn through(&self, out: &mut String, marks: &Marks<'_>, plan: &Layout, s: usize, (i, o): (usize, usize)) {
        let (sub, frame) = (&self.subsystems[s], &plan.boxes[s]);
        let (input, output) = (&sub.inputs[i].name, &sub.outputs[o].name);
        let looped = marks.in_loop(&format!("{}.{input}", sub.name), &format!("{}.{output}", sub.name));
        let wide = |text: &str| CHAR * text.chars().count() as f64;
        let (x1, x2) = (frame.x + 17.0 + wide(input), frame.x + frame.width - 17.0 - wide(output));
        let (y1, y2) = (port_y(frame, i), port_y(frame, o));
        let bend = 0.45 * (x2 - x1);
        let _ = writeln!(
            out,
            "<path class=\"through{}\" d=\"M{x1:.1} {y1:.1}C{:.1} {y1:.1} {:.1} {y2:.1} {x2:.1} {y2:.1}\"/>",
            if looped { " loop" } else { "" },
            x1 + bend,
            x2 - bend
        );
    }
}

/// The colour of a wire's bond, if it has one.
fn band(out: &mut String, marks: &Marks<'_>, wire: &Wire) {
    let bond = wire.branches.iter().find_map(|(a, b)| marks.of_wire(a, b));
    if let Some(k) = bond {
        let colour = COLOURS[k % COLOURS.len()];
        let _ = writeln!(out, "<path class=\"band\" stroke=\"{colour}\" d=\"{}\"/>", path(wire));
    }
}

fn draw(out: &mut String, marks: &Marks<'_>, wire: &Wire) {
    let looped = wire.branches.iter().any(|(a, b)| marks.in_loop(a, b));
    let (stroke, fill) = if looped { (" loop", " loopfill") } else { ("", "") };
    let _ = writeln!(out, "<path class=\"wire{stroke}\" d=\"{}\"/>", path(wire));
    for [x, y] in &wire.dots {
        let _ = writeln!(out, "<circle class=\"dot{fill}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\"/>");
    }
    for [x, y] in &wire.tips {
        tip(out, *x, *y, fill);
    }
    for ([x, y], start, words) in &wire.texts {
        text(out, *x, *y, "dim", if *start { "start" } else { "end" }, words);
    }
}

/// A port; in the colour of its bond if it has one.
fn port(out: &mut String, marks: &Marks<'_>, x: f64, y: f64, name: &str) {
    if let Some(k) = marks.of_port(name) {
        let colour = COLOURS[k % COLOURS.len()];
        let _ = writeln!(out, "<circle fill=\"{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.2\"/>");
    } else {
        let _ = writeln!(out, "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\"/>");
    }
}

fn inputs_width(sub: &SubsystemCheck) -> f64 {
    CHAR * sub.inputs.iter().map(|i| i.name.chars().count()).max().unwrap_or(0) as f64
}

fn outputs_width(sub: &SubsystemCheck) -> f64 {
    CHAR * sub.outputs.iter().map(|o| o.name.chars().count()).max().unwrap_or(0) as f64
}

fn path(wire: &Wire) -> String {
    wire.lines.iter().fold(String::new(), |mut d, [x1, y1, x2, y2]| {
        let _ = write!(d, "M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}");
        d
    })
}

fn tip(out: &mut String, x: f64, y: f64, class: &str) {
    // The port itself stays visible.
    let x = x - 3.0;
    let (back, up, down) = (x - 9.0, y - 4.0, y + 4.0);
    let _ = writeln!(
        out,
        "<path class=\"tip{class}\" d=\"M{x:.1} {y:.1}L{back:.1} {up:.1}L{back:.1} {down:.1}Z\"/>"
    );
}

fn text(out: &mut String, x: f64, y: f64, class: &str, anchor: &str, words: &str) {
    if !words.is_empty() {
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\" text-anchor=\"{anchor}\">{}</text>",
            escape(words)
        );
    }
}

/// Names are the user's own.
fn escape(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for c in words.chars() {
        match c {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '"' => out += "&quot;",
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
