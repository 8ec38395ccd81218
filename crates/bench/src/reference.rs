//! What runs are held against: exact outputs over time, and how far a run is from them.

use powerbond::core::observe::{EventView, Flow, Observer, StartView, StepReport};
use powerbond::core::step::StepView;
use powerbond::{Error, System};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The exact outputs at a time, which never goes back; outputs in the order of the network. At a discontinuity they are the
/// limits from the left, as at the end of a step.
pub type Exact = Box<dyn FnMut(f64, &mut [f64])>;

/// Coupled outputs of a run of small steps; at a discontinuity twice: from the left, then from the right.
#[derive(Default)]
pub struct Path {
    times: Vec<f64>,
    values: Vec<Vec<f64>>,
}

impl Path {
    /// Runs a system file. It is always made of the built-in models: what they are exchanged for may follow no derivatives.
    pub fn of(file: &str) -> Result<Arc<Self>, Error> {
        let mut assembled = System::parse("reference", file)?.assemble()?;
        let mut path = Path::default();
        assembled.run(&mut path)?;
        Ok(Arc::new(path))
    }

    /// The line between the two points around `t`.
    pub fn by_lines(self: &Arc<Self>) -> Exact {
        let (path, mut at) = (self.clone(), 0);
        Box::new(move |t, y| {
            let times = &path.times;
            while at + 2 < times.len() && times[at + 1] < t {
                at += 1;
            }
            let (a, b) = (times[at], times[at + 1]);
            let weight = if t >= b { f64::from(u8::from(t > a)) } else { ((t - a) / (b - a)).max(0.0) };
            for (y, path) in y.iter_mut().zip(&path.values) {
                *y = path[at] + weight * (path[at + 1] - path[at]);
            }
        })
    }

    /// The cubic through the four points around `t`, if all steps were `step` long, the first one began at 0 and nothing
    /// jumped.
    pub fn by_cubics(self: &Arc<Self>, step: f64) -> Exact {
        let path = self.clone();
        debug_assert!(path.times.windows(2).all(|w| w[0] < w[1]), "cubics know no discontinuities");
        Box::new(move |t, y| {
            let last = path.times.len().saturating_sub(4);
            let x = t / step;
            let first = ((x.floor() - 1.0).max(0.0) as usize).min(last);
            let x = x - first as f64;
            let weight = |k: usize| {
                (0..4).filter(|&j| j != k).map(|j| (x - j as f64) / (k as f64 - j as f64)).product::<f64>()
            };
            let weights: [f64; 4] = std::array::from_fn(weight);
            for (y, path) in y.iter_mut().zip(&path.values) {
                *y = weights.iter().zip(&path[first..]).map(|(w, value)| w * value).sum();
            }
        })
    }

    /// Times and the values of the k-th output.
    #[cfg(test)]
    pub fn points(&self, k: usize) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.times.iter().copied().zip(self.values[k].iter().copied())
    }
}

impl Observer for Path {
    fn started(&mut self, start: &StartView<'_>) -> Flow {
        self.times.push(start.t);
        self.values = start.outputs.iter().map(|y| vec![*y]).collect();
        Flow::Continue
    }

    fn accepted(&mut self, step: &StepView<'_>, _report: &StepReport<'_>) -> Flow {
        self.times.push(step.span.end);
        self.values.iter_mut().zip(step.y_fresh).for_each(|(list, y)| list.push(*y));
        Flow::Continue
    }

    fn event(&mut self, event: &EventView<'_>) -> Flow {
        self.times.push(event.t);
        self.values.iter_mut().zip(event.outputs).for_each(|(list, y)| list.push(*y));
        Flow::Continue
    }
}

/// What several rows share: made by the first one that asks, while the others wait for it.
pub struct Shared<T> {
    made: OnceLock<T>,
    making: Mutex<()>,
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Shared { made: OnceLock::new(), making: Mutex::default() }
    }
}

impl<T> Shared<T> {
    /// What was made, or what `make` makes now. After an error the next one who asks tries again.
    pub fn get(&self, make: impl FnOnce() -> Result<T, Error>) -> Result<&T, Error> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let made = match self.made.get() {
            Some(_) => None,
            None => Some(make()?),
        };
        Ok(self.made.get_or_init(|| made.expect("it is made under the lock")))
    }
}

/// How far the outputs of a run are from the exact ones.
pub struct Distance {
    exact: Exact,
    now: Vec<f64>,
    /// Σ h (y - exact)², Σ h exact and Σ h exact² of every output.
    sums: Vec<[f64; 3]>,
    /// Σ h, in s.
    time: f64,
}

impl Distance {
    /// Of `n` outputs.
    pub fn new(exact: Exact, n: usize) -> Self {
        Distance { exact, now: vec![0.0; n], sums: vec![[0.0; 3]; n], time: 0.0 }
    }

    /// rms over the outputs of rms(y - exact)/std(exact); infinite where that is not a number.
    pub fn mean_of_deviations(&self) -> f64 {
        let share = |&[off, first, second]: &[f64; 3]| {
            let mean = first / self.time;
            off / self.time / (second / self.time - mean * mean)
        };
        let mean = self.sums.iter().map(share).sum::<f64>() / self.sums.len() as f64;
        if mean.is_nan() { f64::INFINITY } else { mean.sqrt() }
    }

    /// The largest rms(y - exact)/std(exact) of an output; infinite where that is not a number.
    pub fn largest_deviation(&self) -> f64 {
        let share = |&[off, first, second]: &[f64; 3]| {
            let mean = first / self.time;
            if off == 0.0 { 0.0 } else { (off / self.time / (second / self.time - mean * mean)).sqrt() }
        };
        let larger = |a: f64, b: f64| if b.is_nan() { f64::INFINITY } else { a.max(b) };
        self.sums.iter().map(share).fold(0.0, larger)
    }

    /// The largest rms(y - exact)/rms(exact) of an output; infinite where that is not a number.
    pub fn largest(&self) -> f64 {
        let share = |&[off, _, size]: &[f64; 3]| if off == 0.0 { 0.0 } else { (off / size).sqrt() };
        let larger = |a: f64, b: f64| if b.is_nan() { f64::INFINITY } else { a.max(b) };
        self.sums.iter().map(share).fold(0.0, larger)
    }
}

impl Observer for Distance {
    fn accepted(&mut self, step: &StepView<'_>, _report: &StepReport<'_>) -> Flow {
        let h = step.span.h;
        (self.exact)(step.span.end, &mut self.now);
        self.time += h;
        for ((sums, &exact), y) in self.sums.iter_mut().zip(&self.now).zip(step.y_fresh) {
            sums[0] += h * (y - exact).powi(2);
            sums[1] += h * exact;
            sums[2] += h * exact * exact;
        }
        Flow::Continue
    }
}

/// Σ h |P_12 - exact| at communication points, in J, of a bond between one force and one velocity.
pub struct PowerError {
    exact: Exact,
    /// The sum so far.
    pub sum: f64,
    /// Σ h, in s.
    pub time: f64,
}

impl PowerError {
    /// Against the product of both exact outputs.
    pub fn new(exact: Exact) -> Self {
        PowerError { exact, sum: 0.0, time: 0.0 }
    }
}

impl Observer for PowerError {
    fn accepted(&mut self, step: &StepView<'_>, _report: &StepReport<'_>) -> Flow {
        let mut y = [0.0; 2];
        (self.exact)(step.span.end, &mut y);
        self.sum += (step.flows[0].transmitted_power - y[0] * y[1]).abs() * step.span.h;
        self.time += step.span.h;
        Flow::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 up to 1 s, from there on 10.
    #[test]
    fn lines_end_at_the_left_of_a_discontinuity_and_begin_at_its_right() {
        let file = "simulation = { stop = 2, step = 0.5 }\nmethod = { hold = 1 }\n\
            connections = [{ from = \"a.y\", to = \"b.u\" }]\n\
            inputs = { \"a.u\" = { step = { time = 1, from = 1, to = 10 } } }\n\
            subsystems = { a = { model = \"algebraic/gain\" }, b = { model = \"algebraic/gain\" } }\n";
        let mut exact = Path::of(file).unwrap().by_lines();
        let found = [0.0, 0.5, 1.0, 1.25, 2.0].map(|t| {
            let mut y = [f64::NAN];
            exact(t, &mut y);
            y[0]
        });
        assert_eq!(found, [1.0, 1.0, 1.0, 10.0, 10.0]);
    }
}
