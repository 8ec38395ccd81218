//! A system as an SVG picture: boxes, ports, wires, bonds in colour, feed-through dashed, algebraic loops in red.

use super::escape::xml;
use super::layout::{CHAR, Frame, TITLE, layout, port_y};
use super::marks::Marks;
use super::wire::Wire;
use super::{Block, Bond, COLOURS, Diagram, Grade, Look};
use std::collections::BTreeMap;
use std::fmt::Write;

/// In dark mode the reader's browser picks the second set.
const STYLE: &str = "\
text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:11px;fill:#24292f}\
.ground{fill:#ffffff}.box{fill:#f6f8fa;stroke:#8c959f;stroke-width:1.2}.title{font-size:14px;font-weight:bold}\
.dim{fill:#6a737d}.wire{fill:none;stroke:#57606a;stroke-width:1.3;stroke-linecap:round}.tip,.dot{fill:#57606a}\
.through{fill:none;stroke:#57606a;stroke-width:1.2;stroke-dasharray:4 3}\
.loop{stroke:#d1242f}.loopfill{fill:#d1242f}.band{fill:none;stroke-linecap:round;opacity:.35}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.ground{fill:#0d1117}.box{fill:#161b22;stroke:#6e7681}\
.dim{fill:#9198a1}.wire,.through{stroke:#b1bac4}.tip,.dot{fill:#b1bac4}.loop{stroke:#ff6b72}.loopfill{fill:#ff6b72}\
.band{opacity:.55}}";

impl Diagram {
    /// A picture that stands alone, in the reader's choice of light or dark.
    pub fn svg(&self) -> String {
        let (width, height, body) = self.drawn();
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" role=\"img\"><title>{}</title><style>{STYLE}</style>\n\
             <rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n{body}</svg>\n",
            xml(&self.title)
        )
    }

    /// The same as an element of a page, which says by `id` how its classes look: `box`, `title`, `dim`, `wire`, `tip`, `dot`,
    /// `through`, `loop`, `loopfill`, `band`, `port`, and `good`, `fair`, `poor` of the last two. Title and facts are the page's.
    pub fn element(&self, id: &str) -> String {
        let (width, height, body) =
            Diagram { title: String::new(), facts: String::new(), ..self.clone() }.drawn();
        // Smaller than that it cannot be read: the page scrolls.
        let (height, least) = (height - TITLE, 0.75 * width);
        format!(
            "<svg id=\"{}\" viewBox=\"0 {TITLE} {width:.0} {height:.0}\" style=\"max-width:{width:.0}px;min-width:{least:.0}px\" role=\"img\" \
             aria-label=\"{}\">\n{body}</svg>",
            xml(id),
            xml(&self.title)
        )
    }

    /// Width, height and all that is in the picture.
    fn drawn(&self) -> (f64, f64, String) {
        let plan = layout(self);
        let marks = Marks::of(self);
        let legend = self.legend();
        let height = plan.height + 22.0 + 20.0 * legend.len() as f64 + 10.0;
        let widest = legend.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0) as f64;
        let width = plan.width.max(92.0 + CHAR * widest).max(48.0 + CHAR * self.facts.chars().count() as f64);
        let mut out = String::new();
        text(&mut out, 24.0, 30.0, "title", "start", &self.title);
        text(&mut out, 24.0, 48.0, "dim", "start", &self.facts);
        for wire in &plan.wires {
            self.band(&mut out, &marks, wire);
        }
        for wire in &plan.wires {
            draw(&mut out, &marks, wire);
        }
        for (block, frame) in self.blocks.iter().zip(&plan.boxes) {
            self.block(&mut out, &marks, block, frame);
        }
        for (i, (sample, words)) in legend.iter().enumerate() {
            let y = plan.height + 34.0 + 20.0 * i as f64;
            let middle = y - 4.0;
            let _ =
                writeln!(out, "<line x1=\"26\" y1=\"{middle:.1}\" x2=\"58\" y2=\"{middle:.1}\" {sample}/>");
            text(&mut out, 72.0, y, "dim", "start", words);
        }
        (width, height, out)
    }

    /// Samples of lines, and what they mean.
    fn legend(&self) -> Vec<(String, String)> {
        let mut lines = Vec::new();
        for (k, bond) in self.bonds.iter().enumerate().filter(|(_, bond)| !bond.words.is_empty()) {
            lines.push((bond.band(k), bond.words.clone()));
        }
        if self.blocks.iter().any(|b| b.outputs.iter().any(|o| !o.feeds_through.is_empty())) {
            let words = "direct feed-through";
            lines.push(("class=\"through\"".to_owned(), words.to_owned()));
        }
        if self.blocks.iter().any(|b| b.refreshed) {
            let words = "↻ refresh: outputs are read again with the new inputs after each step";
            lines.push(("stroke=\"none\"".to_owned(), words.to_owned()));
        }
        let loops = self.loops.iter().filter(|found| !found.words.is_empty());
        lines.extend(loops.map(|found| ("class=\"wire loop\"".to_owned(), found.words.clone())));
        lines
    }

    fn block(&self, out: &mut String, marks: &Marks<'_>, block: &Block, frame: &Frame) {
        let _ = writeln!(
            out,
            "<rect class=\"box\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"6\"/>",
            frame.x, frame.y, frame.width, frame.height
        );
        text(out, frame.x + 12.0, frame.y + 20.0, "title", "start", &block.name);
        text(out, frame.x + 12.0, frame.y + 35.0, "dim", "start", &block.kind);
        let mut signs = Vec::new();
        if block.rate > 1 {
            signs.push(format!("{}×", block.rate));
        }
        if block.refreshed {
            signs.push("↻".to_owned());
        }
        text(out, frame.x + frame.width - 12.0, frame.y + 20.0, "dim", "end", &signs.join(" "));
        let right = frame.x + frame.width;
        for (i, input) in block.inputs.iter().enumerate() {
            let y = port_y(frame, i);
            text(out, frame.x + 12.0, y + 4.0, "", "start", &input.name);
            self.port(out, marks, frame.x, y, &format!("{}.{}", block.name, input.name));
            if input.signal {
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
        let inputs: BTreeMap<&str, usize> =
            block.inputs.iter().zip(0..).map(|(i, n)| (i.name.as_str(), n)).collect();
        for (o, output) in block.outputs.iter().enumerate() {
            let y = port_y(frame, o);
            text(out, right - 12.0, y + 4.0, "", "end", &output.name);
            self.port(out, marks, right, y, &format!("{}.{}", block.name, output.name));
            for i in output.feeds_through.iter().filter_map(|name| inputs.get(name.as_str()).copied()) {
                through(out, marks, block, frame, (i, o));
            }
        }
        if block.unknown {
            let y = port_y(frame, 0) + 4.0;
            let middle =
                frame.x + 12.0 + 0.5 * (frame.width - 24.0 + inputs_width(block) - outputs_width(block));
            text(out, middle, y, "dim", "middle", "?");
        }
    }

    /// The colour of a wire's bond, if it has one.
    fn band(&self, out: &mut String, marks: &Marks<'_>, wire: &Wire) {
        if let Some(k) = wire.branches.iter().find_map(|(a, b)| marks.of_wire(a, b)) {
            let bond = &self.bonds[k];
            let title = xml(&bond.words);
            let _ =
                writeln!(out, "<path {} d=\"{}\"><title>{title}</title></path>", bond.band(k), path(wire));
        }
    }

    /// A port; in the colour of its bond if it has one.
    fn port(&self, out: &mut String, marks: &Marks<'_>, x: f64, y: f64, name: &str) {
        let (look, radius) = match marks.of_port(name) {
            Some(k) => (self.bonds[k].port(k), 4.2),
            None => ("class=\"dot\"".to_owned(), 2.6),
        };
        let _ = writeln!(out, "<circle {look} cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>");
    }
}

impl Bond {
    /// The colour of the n-th bond.
    pub(super) fn colour(&self, n: usize) -> &'static str {
        match self.look {
            Look::Numbered => COLOURS[n % COLOURS.len()],
            Look::Judged { grade: Grade::Good, .. } => "#17803d",
            Look::Judged { grade: Grade::Fair, .. } => "#b45309",
            Look::Judged { grade: Grade::Poor, .. } => "#c81e1e",
        }
    }

    /// Attributes of its band.
    fn band(&self, n: usize) -> String {
        let (class, width) = match self.look {
            Look::Numbered => ("", 7.0),
            Look::Judged { grade, weight } => (grade.class(), 4.0 + 8.0 * weight.clamp(0.0, 1.0)),
        };
        format!("class=\"band{class}\" stroke=\"{}\" stroke-width=\"{width:.0}\"", self.colour(n))
    }

    /// Attributes of its ports.
    fn port(&self, n: usize) -> String {
        let class = match self.look {
            Look::Numbered => "",
            Look::Judged { grade, .. } => grade.class(),
        };
        format!("class=\"port{class}\" fill=\"{}\"", self.colour(n))
    }
}

impl Grade {
    /// What follows another class.
    fn class(self) -> &'static str {
        match self {
            Grade::Good => " good",
            Grade::Fair => " fair",
            Grade::Poor => " poor",
        }
    }
}

/// A dashed curve from an input to an output inside of a box.
fn through(out: &mut String, marks: &Marks<'_>, block: &Block, frame: &Frame, (i, o): (usize, usize)) {
    let (input, output) = (&block.inputs[i].name, &block.outputs[o].name);
    let looped = marks.in_loop(&format!("{}.{input}", block.name), &format!("{}.{output}", block.name));
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

fn draw(out: &mut String, marks: &Marks<'_>, wire: &Wire) {
    let looped = wire.branches.iter().any(|(a, b)| marks.in_loop(a, b));
    let (stroke, fill) = if looped { (" loop", " loopfill") } else { ("", "") };
    let title: Vec<String> = wire.branches.iter().map(|(a, b)| format!("{a} → {b}")).collect();
    let _ = writeln!(
        out,
        "<path class=\"wire{stroke}\" d=\"{}\"><title>{}</title></path>",
        path(wire),
        xml(&title.join("\n"))
    );
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

fn inputs_width(block: &Block) -> f64 {
    CHAR * block.inputs.iter().map(|i| i.name.chars().count()).max().unwrap_or(0) as f64
}

fn outputs_width(block: &Block) -> f64 {
    CHAR * block.outputs.iter().map(|o| o.name.chars().count()).max().unwrap_or(0) as f64
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
            xml(words)
        );
    }
}
