//! Pictures of systems and of numbers, from plain data: what is drawn is all that this knows.

mod escape;
mod nets;
mod layout;
mod wire;
mod marks;
mod svg;
mod dot;
mod scale;
mod simplify;
mod chart;

pub use chart::{Chart, Drawn, Series};
pub use escape::{dot, xml};
pub use scale::{Axis, Scale, power_of_ten};

/// Subsystems as boxes with ports, connections as wires, bonds as bands along them. Variables go by their full names,
/// `subsystem.variable`; what names nothing that is in a box is not drawn.
#[derive(Clone, Debug, Default)]
pub struct Diagram {
    /// Its title.
    pub title: String,
    /// A line below the title.
    pub facts: String,
    /// The subsystems.
    pub blocks: Vec<Block>,
    /// What feeds each input.
    pub connections: Vec<Connection>,
    /// The power bonds.
    pub bonds: Vec<Bond>,
    /// The algebraic loops.
    pub loops: Vec<Loop>,
}

/// A subsystem.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: String,
    /// Sub-steps in a macro step.
    pub rate: u32,
    /// Its outputs are computed anew with fresh inputs after each step.
    pub refreshed: bool,
    /// Which of its outputs feed through is unknown.
    pub unknown: bool,
    /// Its inputs.
    pub inputs: Vec<Input>,
    /// Its outputs.
    pub outputs: Vec<Output>,
}

/// An input of a subsystem.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// Its name within the subsystem.
    pub name: String,
    /// A signal feeds it.
    pub signal: bool,
}

/// An output of a subsystem.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Its name within the subsystem.
    pub name: String,
    /// Inputs of the same subsystem that it depends on at the same instant.
    pub feeds_through: Vec<String>,
}

/// `to = offset + Σ gain · from`.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    /// Outputs and their gains.
    pub from: Vec<(String, f64)>,
    /// The input.
    pub to: String,
    /// Is added.
    pub offset: f64,
}

/// An algebraic loop.
#[derive(Clone, Debug, Default)]
pub struct Loop {
    /// What the legend says of it.
    pub words: String,
    /// From and to, along wires and along feed-through.
    pub steps: Vec<(String, String)>,
}

/// A power bond.
#[derive(Clone, Debug, Default)]
pub struct Bond {
    /// Its name.
    pub name: String,
    /// What the legend says of it.
    pub words: String,
    /// The inputs of its ports.
    pub inputs: Vec<String>,
    /// The outputs of its ports.
    pub outputs: Vec<String>,
    /// How it looks.
    pub look: Look,
}

/// How a bond is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Look {
    /// In the next colour of the palette.
    #[default]
    Numbered,
    /// By what went through it in a run.
    Judged {
        /// How much of it was residual.
        grade: Grade,
        /// 0 for a thin band to 1 for a wide one.
        weight: f64,
    },
}

/// How large a residual is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// Small.
    Good,
    /// Worth a look.
    Fair,
    /// Large.
    Poor,
}

/// Colours of bonds and lines; readable on light and dark ground.
const COLOURS: [&str; 7] = ["#2f7fd8", "#d9790a", "#2c9c5a", "#a650c0", "#0f9fa6", "#b8960c", "#d6409f"];

#[cfg(test)]
mod tests {
    use super::{Axis, Block, Chart, Connection, Diagram, Input, Output, Scale, Series};

    fn block(name: &str) -> Block {
        Block {
            name: name.to_owned(),
            inputs: vec![Input { name: "u".to_owned(), signal: false }],
            outputs: vec![Output { name: "y".to_owned(), feeds_through: vec!["no".to_owned()] }],
            ..Block::default()
        }
    }

    #[test]
    fn names_without_a_port_are_not_drawn() {
        let wire = |from: &str, to: &str| Connection {
            from: vec![(from.to_owned(), 1.0)],
            to: to.to_owned(),
            offset: 0.0,
        };
        let connections = vec![wire("a.y", "b.u"), wire("a.y", "c.u"), wire("a.x", "a.u"), wire("", "")];
        let diagram = Diagram {
            title: "t".to_owned(),
            blocks: vec![block("a"), block("b")],
            connections,
            ..Diagram::default()
        };
        let picture = diagram.svg();
        assert!(picture.contains("<title>a.y → b.u</title>") && !picture.contains("c.u"), "{picture}");
        assert!(!diagram.element("here").contains(">t<"), "the page has its own title");
        assert!(Diagram::default().svg().ends_with("</svg>\n") && Diagram::default().dot().ends_with("}\n"));
    }

    #[test]
    fn charts_leave_out_what_has_no_place() {
        let axis = |scale| Axis { label: "x".to_owned(), scale, words: |x| format!("{x}") };
        let mut chart = Chart {
            title: "<t>".to_owned(),
            about: String::new(),
            x: axis(Scale::Linear),
            y: axis(Scale::Logarithmic),
            series: vec![Series {
                name: "s".to_owned(),
                points: vec![(-1.0, 1.0), (0.0, f64::NAN), (1.0, 100.0), (2.0, 0.0)],
                ringed: Some(2),
                ..Series::default()
            }],
            level: Some(10.0),
            empty: "nothing".to_owned(),
        };
        let picture = chart.svg();
        assert!(picture.contains("&lt;t&gt;") && picture.matches("<circle").count() == 3, "{picture}");
        let letters = chart.letters(11, 5);
        let expected = "        100 │          A\n            │\n         10 │···········\n            │\n          1 │a\n";
        assert!(letters.starts_with(expected), "{letters}");
        chart.series[0].points.clear();
        assert!(chart.svg().contains(">nothing<") && chart.letters(11, 5).is_empty());
    }
}
