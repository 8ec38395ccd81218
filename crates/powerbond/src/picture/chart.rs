//! Curves over an axis, as a picture and as letters.

use super::COLOURS;
use super::escape::xml;
use super::scale::{Axis, Span};
use super::simplify::simplify;
use std::fmt::Write;

/// Curves with axes and a legend.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Its title.
    pub title: String,
    /// A line below the title.
    pub about: String,
    /// The axis below.
    pub x: Axis,
    /// The axis on the left.
    pub y: Axis,
    /// The curves, in the order of the legend.
    pub series: Vec<Series>,
    /// A dashed line across, at this y.
    pub level: Option<f64>,
    /// What is said where nothing can be drawn.
    pub empty: String,
}

/// A curve.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// Its points, joined by lines. What has no place on an axis is left out.
    pub points: Vec<(f64, f64)>,
    /// The point with a ring.
    pub ringed: Option<usize>,
    /// What its points look like.
    pub drawn: Drawn,
}

/// What the points of a curve look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Drawn {
    /// Dots, joined by a line: for few points.
    #[default]
    Dots,
    /// Dots alone.
    Apart,
    /// A line, thinned to what can be seen: for many points.
    Line,
    /// A dashed line, likewise.
    Dashes,
    /// A dotted line, likewise.
    Dotted,
}

/// In dark mode the reader's browser picks the second set.
const STYLE: &str = "\
text{font-family:system-ui,'Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',sans-serif;font-size:12px;fill:#24292f}\
.ground{fill:#ffffff}.title{font-size:15px;font-weight:600}.dim{fill:#57606a}.grid{stroke:#d8dee4;stroke-width:1}\
.curve{fill:none;stroke-width:2;stroke-linejoin:round}.level{stroke:#57606a;stroke-dasharray:5 4}.ring{fill:none;stroke-width:2}\
.again{fill:#ffffff;stroke-width:2}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.ground,.again{fill:#0d1117}.dim{fill:#9198a1}.grid{stroke:#2d333b}\
.level{stroke:#9198a1}}";

/// The look of a dashed line, and of a dotted one.
const DASHES: &str = " stroke-dasharray=\"6 4\"";
const DOTTED: &str = " stroke-dasharray=\"2 3\"";

/// Where the plot is, in pixels.
const LEFT: f64 = 70.0;
const TOP: f64 = 64.0;
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 360.0;
/// Labels of the y axis that are wider stand on their side.
const UPRIGHT: f64 = 40.0;
/// The legend: where it begins, the height of a line, the width of a letter, and its least width.
const LEGEND: f64 = LEFT + WIDTH + 24.0;
const LINE: f64 = 22.0;
const LETTER: f64 = 6.8;
const LEAST: f64 = 138.0;

impl Chart {
    /// The points that have a place: series, number within it, x and y.
    fn placed(&self) -> impl Iterator<Item = (usize, usize, f64, f64)> + '_ {
        self.series.iter().enumerate().flat_map(move |(s, series)| {
            let places = series.points.iter().enumerate();
            places.filter_map(move |(n, &(x, y))| {
                (self.x.scale.takes(x) && self.y.scale.takes(y)).then_some((s, n, x, y))
            })
        })
    }

    fn spans(&self) -> Option<(Span, Span)> {
        let x = self.x.scale.span(self.placed().map(|(_, _, x, _)| x))?;
        Some((x, self.y.scale.span(self.placed().map(|(.., y)| y).chain(self.level))?))
    }

    /// A picture that stands alone, in the reader's choice of light or dark.
    pub fn svg(&self) -> String {
        let longest = self.series.iter().map(|s| s.name.chars().count()).max().unwrap_or(0) as f64;
        let width = LEGEND + 28.0 + (LETTER * longest).max(LEAST);
        let height = TOP + (HEIGHT + 60.0).max(LINE * self.series.len() as f64);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" role=\"img\"><title>{}</title><style>{STYLE}</style>\n\
             <rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n",
            xml(&self.title)
        );
        text(&mut out, LEFT, 28.0, "title", "start", &self.title);
        text(&mut out, LEFT, 47.0, "dim", "start", &self.about);
        match self.spans() {
            Some((x, y)) => self.draw(&mut out, &x, &y),
            None => text(&mut out, LEFT, TOP + 40.0, "dim", "start", &self.empty),
        }
        out + "</svg>\n"
    }

    fn draw(&self, out: &mut String, x_span: &Span, y_span: &Span) {
        let x = |value: f64| LEFT + WIDTH * x_span.place(value);
        let y = |value: f64| TOP + HEIGHT * (1.0 - y_span.place(value));
        let (right, bottom) = (LEFT + WIDTH, TOP + HEIGHT);
        for mark in x_span.marks() {
            let at = x(mark);
            line(out, "class=\"grid\"", [at, TOP, at, bottom]);
            text(out, at, bottom + 18.0, "dim", "middle", &(self.x.words)(mark));
        }
        for mark in y_span.marks() {
            let at = y(mark);
            line(out, "class=\"grid\"", [LEFT, at, right, at]);
            text(out, LEFT - 8.0, at + 4.0, "dim", "end", &(self.y.words)(mark));
        }
        text(out, LEFT + 0.5 * WIDTH, bottom + 42.0, "dim", "middle", &self.x.label);
        if LETTER * self.y.label.chars().count() as f64 > UPRIGHT {
            let middle = TOP + 0.5 * HEIGHT;
            let _ = writeln!(
                out,
                "<text class=\"dim\" text-anchor=\"middle\" transform=\"translate(16 {middle:.0}) rotate(-90)\">{}</text>",
                xml(&self.y.label)
            );
        } else {
            text(out, LEFT - 8.0, TOP - 10.0, "dim", "end", &self.y.label);
        }
        if let Some(level) = self.level.filter(|level| self.y.scale.takes(*level)) {
            line(out, "class=\"level\"", [LEFT, y(level), right, y(level)]);
        }
        for (s, series) in self.series.iter().enumerate() {
            let colour = COLOURS[s % COLOURS.len()];
            let own = self.placed().filter(|(k, ..)| *k == s);
            let mut points: Vec<(f64, f64)> = own.map(|(.., px, py)| (x(px), y(py))).collect();
            // Colours come again: hollow dots and dashes tell the second curve of a colour from the first.
            let again = s >= COLOURS.len();
            let (joined, dotted, look) = match series.drawn {
                Drawn::Dots => (true, true, if again { DASHES } else { "" }),
                Drawn::Apart => (false, true, ""),
                Drawn::Line => (true, false, ""),
                Drawn::Dashes => (true, false, DASHES),
                Drawn::Dotted => (true, false, DOTTED),
            };
            if !dotted {
                points = simplify(&points);
            }
            if joined && points.len() > 1 {
                let line: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
                let line = line.join(" ");
                let _ =
                    writeln!(out, "<polyline class=\"curve\" stroke=\"{colour}\"{look} points=\"{line}\"/>");
            }
            for &(x, y) in points.iter().filter(|_| dotted || points.len() == 1) {
                dot(out, x, y, colour, again);
            }
            let at = TOP + 14.0 + LINE * s as f64;
            if joined {
                let sample = format!("stroke=\"{colour}\" stroke-width=\"3\"{look}");
                line(out, &sample, [LEGEND, at - 4.0, LEGEND + 20.0, at - 4.0]);
            }
            if !joined || (dotted && again) {
                dot(out, LEGEND + 10.0, at - 4.0, colour, again);
            }
            let (class, none) = if points.is_empty() { ("dim", " (none)") } else { ("", "") };
            text(out, LEGEND + 28.0, at, class, "start", &format!("{}{none}", series.name));
        }
        // On top of all curves.
        for (s, _, px, py) in self.placed().filter(|(s, n, ..)| self.series[*s].ringed == Some(*n)) {
            let _ = writeln!(
                out,
                "<circle class=\"ring\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"9\" stroke=\"{}\"/>",
                x(px),
                y(py),
                COLOURS[s % COLOURS.len()]
            );
        }
    }

    /// The same in letters, `columns` wide: `a` is the first curve, `b` the second; a point with a ring is a capital. Empty where
    /// nothing can be drawn.
    pub fn letters(&self, columns: usize, rows: usize) -> String {
        let Some((x_span, y_span)) = self.spans().filter(|_| columns > 1 && rows > 1) else {
            return String::new();
        };
        let mut cells = vec![vec![' '; columns]; rows];
        let last = (rows - 1) as f64;
        let row = |y: f64| ((1.0 - y_span.place(y)) * last).round() as usize;
        if let Some(level) = self.level.filter(|level| self.y.scale.takes(*level)) {
            cells[row(level)].fill('·');
        }
        for (s, n, x, y) in self.placed() {
            let column = (x_span.place(x) * (columns - 1) as f64).round() as usize;
            let letter = char::from(b'a' + (s % 26) as u8);
            let cell = &mut cells[row(y)][column];
            if !cell.is_ascii_uppercase() {
                let ringed = self.series[s].ringed == Some(n);
                *cell = if ringed { letter.to_ascii_uppercase() } else { letter };
            }
        }
        let mut out = String::new();
        for (k, line) in cells.iter().enumerate() {
            let mark = y_span.mark_near(1.0 - k as f64 / last, 0.5 / last);
            let label = mark.map(self.y.words).unwrap_or_default();
            let line: String = line.iter().collect();
            out += format!("  {label:>9} │{line}").trim_end();
            out.push('\n');
        }
        out += &format!("  {:>9} └{}\n", "", "─".repeat(columns));
        let ends = [0.0, 1.0].map(|share| x_span.mark_near(share, 1.0).map(self.x.words).unwrap_or_default());
        let [low, high] = ends;
        let between = columns.saturating_sub(low.chars().count() + high.chars().count());
        let words = format!("{:^between$}", self.x.label);
        out + &format!("  {:>9}  {low}{words}{high}\n", "")
    }
}

fn line(out: &mut String, look: &str, [x1, y1, x2, y2]: [f64; 4]) {
    let _ = writeln!(out, "<line {look} x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>");
}

/// A point; hollow `again`, where its colour was used before.
fn dot(out: &mut String, x: f64, y: f64, colour: &str, again: bool) {
    let look =
        if again { format!("class=\"again\" stroke=\"{colour}\"") } else { format!("fill=\"{colour}\"") };
    let _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" {look}/>");
}

fn text(out: &mut String, x: f64, y: f64, class: &str, anchor: &str, words: &str) {
    if !words.is_empty() {
        let words = xml(words);
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\" text-anchor=\"{anchor}\">{words}</text>"
        );
    }
}
