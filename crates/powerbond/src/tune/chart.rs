//! Cost against error as a picture and as letters.

use super::{Point, Tuning};
use crate::number::{percent, short};
use std::fmt::Write;

/// Colours of the methods; readable on light and dark ground.
const COLOURS: [&str; 7] = ["#6e7781", "#2f7fd8", "#d9790a", "#a650c0", "#2c9c5a", "#b8960c", "#d1242f"];

/// In dark mode the reader's browser picks the second set.
const STYLE: &str = "\
text{font-family:system-ui,'Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',sans-serif;font-size:12px;fill:#24292f}\
.ground{fill:#ffffff}.title{font-size:15px;font-weight:600}.dim{fill:#57606a}.grid{stroke:#d8dee4;stroke-width:1}\
.axis{stroke:#8c959f;stroke-width:1}.curve{fill:none;stroke-width:2}.wanted{stroke:#57606a;stroke-dasharray:5 4}\
.choice{fill:none;stroke-width:2}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.ground{fill:#0d1117}.dim{fill:#9198a1}.grid{stroke:#2d333b}\
.axis{stroke:#6e7681}.wanted{stroke:#9198a1}}";

/// Where the plot is, in pixels.
const LEFT: f64 = 70.0;
const TOP: f64 = 64.0;
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 360.0;

/// Decades that cover some values.
struct Decades {
    low: i32,
    high: i32,
}

impl Decades {
    fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for x in values.filter(|x| *x > 0.0 && x.is_finite()) {
            low = low.min(x.log10());
            high = high.max(x.log10());
        }
        let (low, high) = (low.floor(), high.ceil());
        (low <= high).then(|| Decades { low: low as i32, high: (high as i32).max(low as i32 + 1) })
    }

    /// 0 at the low end, 1 at the high end.
    fn place(&self, x: f64) -> f64 {
        ((x.log10() - f64::from(self.low)) / f64::from(self.high - self.low)).clamp(0.0, 1.0)
    }
}

impl Tuning {
    fn points(&self) -> impl Iterator<Item = (usize, usize, &Point, f64)> {
        self.methods.iter().enumerate().flat_map(|(m, method)| {
            let ended = method.runs.iter().enumerate();
            ended.filter_map(move |(k, run)| Some((m, k, run, run.error.filter(|e| *e > 0.0)?)))
        })
    }

    fn axes(&self) -> Option<(Decades, Decades)> {
        let cost = Decades::of(self.points().map(|(_, _, run, _)| run.calls as f64))?;
        let errors = self.points().map(|(.., error)| error.min(10.0)).chain([self.wanted]);
        Some((cost, Decades::of(errors)?))
    }

    /// Steps of subsystems against the error, both logarithmic; the chosen run has a ring.
    pub fn svg(&self) -> String {
        let (width, height) = (LEFT + WIDTH + 190.0, TOP + HEIGHT + 60.0);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" role=\"img\"><title>Cost and error of methods</title><style>{STYLE}</style>\n\
             <rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n"
        );
        let text = |x: f64, y: f64, class: &str, anchor: &str, words: &str| {
            let words = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            format!(
                "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\" text-anchor=\"{anchor}\">{words}</text>\n"
            )
        };
        out += &text(LEFT, 28.0, "title", "start", &format!("{}: what accuracy costs", self.system));
        out += &text(
            LEFT,
            47.0,
            "dim",
            "start",
            &format!(
                "error: rms over outputs of rms(y − reference)/std; reference good to {}",
                percent(self.reference.error)
            ),
        );
        let Some((cost, error)) = self.axes() else {
            out += &text(LEFT, TOP + 40.0, "dim", "start", "no run came to its end");
            return out + "</svg>\n";
        };
        let x = |c: f64| LEFT + WIDTH * cost.place(c);
        let y = |e: f64| TOP + HEIGHT * (1.0 - error.place(e));
        for d in cost.low..=cost.high {
            let at = x(10f64.powi(d));
            let _ = writeln!(
                out,
                "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{:.1}\"/>",
                TOP + HEIGHT
            );
            out += &text(at, TOP + HEIGHT + 18.0, "dim", "middle", &power(d));
        }
        for d in error.low..=error.high {
            let at = y(10f64.powi(d));
            let _ = writeln!(
                out,
                "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\"/>",
                LEFT + WIDTH
            );
            out += &text(LEFT - 8.0, at + 4.0, "dim", "end", &percent(10f64.powi(d)));
        }
        out += &text(LEFT + 0.5 * WIDTH, TOP + HEIGHT + 42.0, "dim", "middle", "steps of all subsystems");
        let at = y(self.wanted);
        let _ = writeln!(
            out,
            "<line class=\"wanted\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\"/>",
            LEFT + WIDTH
        );
        for (m, method) in self.methods.iter().enumerate() {
            let colour = COLOURS[m % COLOURS.len()];
            let run: Vec<(f64, f64)> = self
                .points()
                .filter(|(k, ..)| *k == m)
                .map(|(_, _, run, error)| (x(run.calls as f64), y(error.min(10.0))))
                .collect();
            let line: Vec<String> = run.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            if line.len() > 1 {
                let _ = writeln!(
                    out,
                    "<polyline class=\"curve\" stroke=\"{colour}\" points=\"{}\"/>",
                    line.join(" ")
                );
            }
            for (x, y) in &run {
                let _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>");
            }
            let at = TOP + 14.0 + 22.0 * m as f64;
            let right = LEFT + WIDTH + 24.0;
            let _ = writeln!(
                out,
                "<line x1=\"{right}\" y1=\"{0:.1}\" x2=\"{1}\" y2=\"{0:.1}\" stroke=\"{colour}\" stroke-width=\"3\"/>",
                at - 4.0,
                right + 20.0
            );
            let missing = if run.is_empty() { " (none)" } else { "" };
            out += &text(
                right + 28.0,
                at,
                if run.is_empty() { "dim" } else { "" },
                "start",
                &format!("{}{missing}", method.name),
            );
        }
        if let Some(choice) = &self.choice
            && let Some((m, _, run, error)) =
                self.points().find(|(m, k, ..)| self.methods[*m].name == choice.name && *k == choice.run)
        {
            let _ = writeln!(
                out,
                "<circle class=\"choice\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"9\" stroke=\"{}\"/>",
                x(run.calls as f64),
                y(error.min(10.0)),
                COLOURS[m % COLOURS.len()]
            );
        }
        out + "</svg>\n"
    }

    /// The same in letters, `columns` wide: `a` is the first method, `b` the second; the chosen run is a capital.
    pub fn plot(&self, columns: usize, rows: usize) -> String {
        let Some((cost, error)) = self.axes() else { return String::new() };
        let mut cells = vec![vec![' '; columns]; rows];
        let row = |e: f64| ((1.0 - error.place(e)) * (rows - 1) as f64).round() as usize;
        cells[row(self.wanted)].fill('·');
        for (m, k, run, error) in self.points() {
            let column = (cost.place(run.calls as f64) * (columns - 1) as f64).round() as usize;
            let chosen = self.choice.as_ref().is_some_and(|c| c.name == self.methods[m].name && c.run == k);
            let letter = char::from(b'a' + (m % 26) as u8);
            let cell = &mut cells[row(error.min(10.0))][column];
            if !cell.is_ascii_uppercase() {
                *cell = if chosen { letter.to_ascii_uppercase() } else { letter };
            }
        }
        let mut out = String::new();
        for (k, line) in cells.iter().enumerate() {
            let exponent =
                f64::from(error.high) - k as f64 / (rows - 1) as f64 * f64::from(error.high - error.low);
            let on_decade = (exponent - exponent.round()).abs()
                < 0.5 / (rows - 1) as f64 * f64::from(error.high - error.low);
            let label = if on_decade { percent(10f64.powi(exponent.round() as i32)) } else { String::new() };
            let line: String = line.iter().collect();
            out += format!("  {label:>9} │{line}").trim_end();
            out.push('\n');
        }
        let (low, high) = (short(10f64.powi(cost.low)), short(10f64.powi(cost.high)));
        out += &format!("  {:>9} └{}\n", "", "─".repeat(columns));
        let between = columns.saturating_sub(low.len() + high.len());
        let words = format!("{:^between$}", "steps of all subsystems");
        out + &format!("  {:>9}  {low}{words}{high}\n", "")
    }
}

/// `10³`.
fn power(exponent: i32) -> String {
    let digit = |c: char| match c {
        '-' => '⁻',
        c => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][c.to_digit(10).unwrap_or(0) as usize],
    };
    format!("10{}", exponent.to_string().chars().map(digit).collect::<String>())
}
