//! Figures of the papers, drawn anew: curves as a picture and as a table.

use crate::Models;
use powerbond::Error;
use powerbond::number::short;
use powerbond::picture::{Axis, Chart, Drawn, Scale, Series, power_of_ten};
use std::fmt::Write;

/// A figure that is still to be drawn.
pub(crate) struct Drawing {
    /// Its id: `fig7-left`.
    pub id: &'static str,
    /// Computes it.
    pub draw: fn(&Models) -> Result<Figure, Error>,
}

/// A figure of a paper, as it comes out here.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Its id, which is also the name of its files.
    pub id: &'static str,
    /// The suite that it belongs to.
    pub suite: &'static str,
    chart: Chart,
    /// The part of the x axis that is drawn; the table has all of it.
    window: Option<[f64; 2]>,
}

impl Figure {
    /// A figure with curves over linear axes, `title` and a line below it.
    pub(crate) fn new(title: &str, about: &str, [x, y]: [&str; 2], series: Vec<Series>) -> Self {
        let axis = |label: &str| Axis { label: label.to_owned(), scale: Scale::Linear, words: mark };
        let chart = Chart {
            title: title.to_owned(),
            about: about.to_owned(),
            x: axis(x),
            y: axis(y),
            series,
            level: None,
            empty: "no run finished".to_owned(),
        };
        Figure { id: "", suite: "", chart, window: None }
    }

    /// With both axes logarithmic.
    pub(crate) fn logarithmic(mut self) -> Self {
        for axis in [&mut self.chart.x, &mut self.chart.y] {
            (axis.scale, axis.words) = (Scale::Logarithmic, power_of_ten);
        }
        self
    }

    /// Of which only a part is drawn, since all of it would be too dense.
    pub(crate) fn between(mut self, from: f64, to: f64) -> Self {
        self.window = Some([from, to]);
        self
    }

    /// Its title.
    pub fn title(&self) -> &str {
        &self.chart.title
    }

    /// What files of figures begin with, so that nothing else is overwritten.
    pub const MARK: &'static str = "<!-- powerbond bench -->";
    /// The same for tables.
    pub const TABLE_MARK: &'static str = "curve,";

    /// The picture.
    pub fn svg(&self) -> String {
        let mut chart = self.chart.clone();
        if let Some([from, to]) = self.window {
            for series in &mut chart.series {
                series.points.retain(|(x, _)| (from..=to).contains(x));
            }
        }
        format!("{}\n{}", Figure::MARK, chart.svg())
    }

    /// The table: a row for every point, which says its curve first.
    pub fn csv(&self) -> String {
        let mut out = format!("curve,{},{}\n", cell(&self.chart.x.label), cell(&self.chart.y.label));
        for series in &self.chart.series {
            let name = cell(&series.name);
            for (x, y) in &series.points {
                let _ = writeln!(out, "{name},{x},{y}");
            }
        }
        out
    }
}

/// A number beside an axis, without the digits of round-off.
fn mark(x: f64) -> String {
    short(format!("{x:.6e}").parse().unwrap_or(x))
}

/// A cell of a table, in quotes where they are needed.
fn cell(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// A curve of many points.
pub(crate) fn line<'a>(
    name: &str,
    x: impl IntoIterator<Item = &'a f64>,
    y: impl IntoIterator<Item = f64>,
) -> Series {
    let points = x.into_iter().copied().zip(y).collect();
    Series { name: name.to_owned(), points, ringed: None, drawn: Drawn::Line }
}

/// The same, dashed.
pub(crate) fn dashes<'a>(
    name: &str,
    x: impl IntoIterator<Item = &'a f64>,
    y: impl IntoIterator<Item = f64>,
) -> Series {
    Series { drawn: Drawn::Dashes, ..line(name, x, y) }
}

/// A few points that are joined or not.
pub(crate) fn points(name: &str, points: Vec<(f64, f64)>, drawn: Drawn) -> Series {
    Series { name: name.to_owned(), points, ringed: None, drawn }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_everything_and_pictures_a_window() {
        let x = [0.0, 1.0, 2.0, 3.0];
        let figure =
            Figure::new("t", "", ["t in s", "P, in \"W\""], vec![line("a, b", &x, x.map(|x| x * x))]);
        let figure = figure.between(1.0, 2.0);
        assert_eq!(
            figure.csv(),
            "curve,t in s,\"P, in \"\"W\"\"\"\n\"a, b\",0,0\n\"a, b\",1,1\n\"a, b\",2,4\n\"a, b\",3,9\n"
        );
        assert!(figure.svg().starts_with(Figure::MARK) && figure.csv().starts_with(Figure::TABLE_MARK));
        let ticks: Vec<&str> = figure.svg().leak().split("text-anchor=\"middle\">").skip(1).collect();
        assert!(ticks[0].starts_with("1<"), "{ticks:?}");
        assert_eq!(mark(3.0 * 0.1), "0.3");
    }
}
