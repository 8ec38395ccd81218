//! Cost against error as a picture and as letters.

use super::{Curve, Tuning};
use crate::number::{percent, short};
use crate::picture::{Axis, Chart, Drawn, Scale, Series, power_of_ten};

/// Larger errors are drawn as this one: the run has nothing to do with the reference any more.
const LARGEST: f64 = 10.0;

impl Tuning {
    /// Steps of subsystems against the error, both logarithmic; the chosen run has a ring.
    pub fn svg(&self) -> String {
        self.chart(power_of_ten).svg()
    }

    /// The same in letters, `columns` wide: `a` is the first method, `b` the second; the chosen run is a capital.
    pub fn plot(&self, columns: usize, rows: usize) -> String {
        self.chart(short).letters(columns, rows)
    }

    fn chart(&self, steps: fn(f64) -> String) -> Chart {
        Chart {
            title: format!("{}: error against cost", self.system),
            about: format!(
                "error: rms over outputs of rms(y − reference)/std; reference good to {}",
                percent(self.reference.error)
            ),
            x: Axis { label: "steps of all subsystems".to_owned(), scale: Scale::Logarithmic, words: steps },
            y: Axis { label: "error".to_owned(), scale: Scale::Logarithmic, words: percent },
            series: self.methods.iter().map(|method| self.series(method)).collect(),
            level: Some(self.wanted),
            empty: "no run finished".to_owned(),
        }
    }

    fn series(&self, method: &Curve) -> Series {
        // What did not end has no error, and no place.
        let error = |error: Option<f64>| error.filter(|e| *e > 0.0).map_or(f64::NAN, |e| e.min(LARGEST));
        Series {
            name: method.name.to_owned(),
            points: method.runs.iter().map(|run| (run.calls as f64, error(run.error))).collect(),
            ringed: self.choice.as_ref().filter(|c| c.name == method.name).map(|c| c.run),
            drawn: Drawn::Dots,
        }
    }
}
