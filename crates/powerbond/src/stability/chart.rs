//! Growth over the step as a picture and as letters.

use super::{Curve, Limit, Measure, Stability};
use crate::number::short;
use crate::picture::{Axis, Chart, Drawn, Scale, Series, power_of_ten};

/// Growth beyond these is drawn as this.
const DRAWN: (f64, f64) = (0.5, 2.0);

impl Stability {
    /// Growth over the step; the largest stable step of each method has a ring.
    pub fn svg(&self) -> String {
        self.chart(power_of_ten).svg()
    }

    /// The same in letters, `columns` wide: `a` is the first method, `b` the second; the largest stable step is a capital.
    pub fn plot(&self, columns: usize, rows: usize) -> String {
        self.chart(short).letters(columns, rows)
    }

    fn chart(&self, words: fn(f64) -> String) -> Chart {
        let (label, scale, about) = match self.measure {
            Measure::SpectralRadius => {
                let about = format!(
                    "spectral radius of a step, drawn from {} to {}; stable up to 1",
                    DRAWN.0, DRAWN.1
                );
                ("ρ", Scale::Linear, about)
            }
            Measure::Range => {
                let about =
                    format!("how far outputs go, in their ranges; stable up to {}", self.stable_up_to);
                ("range", Scale::Logarithmic, about)
            }
        };
        Chart {
            title: format!("{}: stability over the step size", self.system),
            about,
            x: Axis { label: "step size in s".to_owned(), scale: Scale::Logarithmic, words },
            y: Axis { label: label.to_owned(), scale, words: short_number },
            series: self.methods.iter().map(|method| self.series(method)).collect(),
            level: Some(self.stable_up_to),
            empty: "nothing was run".to_owned(),
        }
    }

    fn series(&self, method: &Curve) -> Series {
        let (low, high) = match self.measure {
            Measure::SpectralRadius => DRAWN,
            Measure::Range => (0.1, 100.0 * self.stable_up_to),
        };
        // A run that failed has gone all the way.
        let place = |growth: Option<f64>| growth.unwrap_or(high).clamp(low, high);
        let ringed = match method.limit {
            Limit::At(step) => method.points.iter().position(|p| p.step == step),
            _ => None,
        };
        Series {
            name: method.name.to_owned(),
            points: method.points.iter().map(|p| (p.step, place(p.growth))).collect(),
            ringed,
            drawn: Drawn::Dots,
        }
    }
}

/// Marks of a linear axis are sums of steps: `1.2000000000000002` is 1.2.
fn short_number(x: f64) -> String {
    short((x * 1e6).round() / 1e6)
}
