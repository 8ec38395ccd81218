//! The default method: does the error follow the tolerance, whatever subsystems can do, and what does it cost?
//!
//! Subsystems are integrated accurately, so that the error is that of the coupling: rms over the coupled outputs of
//! rms(y - reference)/std(reference). The reference is the monolithic solution where the models have one, else a run of the same
//! system with a second-order hold and refresh at a step so small that its error is far below what is judged.

use super::verdict::{Files, Subject as Judged, subjects};
use super::{Plan, Quantity};
use crate::{Error, System};
use powerbond_core::models::nonlinear_oscillator;
use powerbond_core::models::oscillator::{self, DOUBLE, MULTIPLE};
use powerbond_core::models::quarter_car::{self, Damper};
use powerbond_core::observer::{Flow, Observer, StartView, StepReport};
use powerbond_core::view::StepView;
use std::cell::OnceCell;
use std::rc::Rc;

/// A benchmark system with its reference, made when first asked for.
struct Subject {
    name: String,
    files: Files,
    fine_step: f64,
    energy: f64,
    reference: OnceCell<Rc<Path>>,
}

/// The exact outputs at a time, which never goes back.
type Exact = Box<dyn FnMut(f64, &mut [f64])>;

/// The monolithic solution of a subject, outputs in the order of the network.
fn monolithic(name: &str) -> Option<Exact> {
    if let Some(kind) = name.strip_prefix("quarter-car-r") {
        let damper =
            if kind.ends_with("-linear") { Damper::Linear(1000.0) } else { Damper::SquareRoot(900.0) };
        let (first, mut car) = (kind.starts_with('1'), quarter_car::Reference::new(damper));
        return Some(Box::new(move |t, y| {
            car.advance_to(t);
            y.copy_from_slice(&if first {
                [car.chassis_velocity(), car.force()]
            } else {
                [car.force(), car.wheel_velocity()]
            });
        }));
    }
    let number = |prefix: &str| name.strip_prefix(prefix)?.parse::<usize>().ok();
    let mut swing = if let Some(n) = number("oscillator-") {
        oscillator::Reference::new(&DOUBLE[n - 1])
    } else if let Some(n) = number("oscillators-") {
        oscillator::Reference::new(MULTIPLE.iter().find(|case| case.givers as usize + 1 == n)?)
    } else {
        nonlinear_oscillator::CASES[number("nonlinear-oscillator-")? - 1].reference()
    };
    Some(Box::new(move |t, y| {
        swing.advance_to(t);
        let n = y.len();
        y[..n - 2].fill(swing.force());
        (y[n - 2], y[n - 1]) = (swing.positions()[1], swing.velocities()[1]);
    }))
}

/// What a run came to.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    steps: f64,
    error: f64,
}

const TOLERANCES: [f64; 4] = [1e-2, 1e-3, 1e-4, 1e-5];

/// What is switched off in every subsystem to make it one of a class.
const CLASSES: [(&str, &str); 5] = [
    ("A", ""),
    ("B", "refresh = \"no\""),
    ("C", "input_derivatives = 0"),
    ("D", "input_derivatives = 0, refresh = \"no\""),
    ("Da", "input_derivatives = 0, refresh = \"no\", sub_steps = \"no\""),
];

/// Gives every subsystem of a file more parameters.
fn with_parameters(file: &str, more: &str) -> String {
    if more.is_empty() {
        return file.to_owned();
    }
    let mut out = String::new();
    let mut lines = file.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(rest) = line.strip_prefix("parameters = {") {
            let own = rest.trim().trim_end_matches('}').trim();
            let comma = if own.is_empty() { "" } else { ", " };
            out += &format!("parameters = {{ {own}{comma}{more} }}\n");
            continue;
        }
        out += line;
        out += "\n";
        let alone = line.starts_with("model = ")
            && !lines.peek().is_some_and(|next| next.starts_with("parameters") || next.starts_with("rate"));
        if alone {
            out += &format!("parameters = {{ {more} }}\n");
        }
    }
    out
}

impl Subject {
    fn all() -> Vec<Rc<Subject>> {
        let one = |(name, subject, energy, _): (String, Rc<Judged>, f64, [f64; 4])| {
            Rc::new(Subject {
                name,
                files: subject.files.clone(),
                fine_step: subject.fine_step / 5.0,
                energy,
                reference: OnceCell::new(),
            })
        };
        subjects().into_iter().map(one).collect()
    }

    /// A system file with a method and, unless it is `None`, a step.
    fn file(&self, step: Option<f64>, method: &str, class: &str) -> String {
        let text = (self.files)(step.unwrap_or(1.0), method).replace("end = \"overshoot\"\n", "");
        let text = if step.is_none() { text.replace("step = 1\n", "") } else { text };
        with_parameters(&text, class)
    }

    fn exact(&self) -> Result<Exact, Error> {
        if let Some(exact) = monolithic(&self.name) {
            return Ok(exact);
        }
        let path = match self.reference.get() {
            Some(known) => known.clone(),
            None => {
                let file = self.file(Some(self.fine_step), "hold = 2\nrefresh = true", "");
                let mut prepared = System::parse("reference", &file)?.prepare()?;
                let mut path =
                    Path { step: self.fine_step, values: vec![Vec::new(); prepared.names.outputs.len()] };
                prepared.run(&mut path)?;
                self.reference.get_or_init(|| Rc::new(path)).clone()
            }
        };
        Ok(Box::new(move |t, y| path.at(t, y)))
    }

    /// Runs a method; a run that fails is as wrong as can be.
    fn run(&self, step: Option<f64>, method: &str, class: &str) -> Result<Outcome, Error> {
        let mut prepared = super::prepare("default", &self.file(step, method, class))?;
        let n = prepared.names.outputs.len();
        let mut distance =
            Distance { exact: self.exact()?, now: vec![0.0; n], sums: vec![[0.0; 3]; n], time: 0.0 };
        let outcome = prepared.run(&mut distance);
        let steps = prepared.master.statistics().accepted as f64;
        match outcome {
            Ok(_) => Ok(Outcome { steps, error: distance.error() }),
            Err(Error::Accuracy { .. } | Error::Model { .. }) => Ok(Outcome { steps, error: f64::INFINITY }),
            Err(other) => Err(other),
        }
    }

    fn auto(&self, tolerance: f64, class: &str) -> Result<Outcome, Error> {
        self.run(None, &format!("kind = \"auto\"\ntolerance = {tolerance}"), class)
    }
}

/// Coupled outputs at equal distances.
struct Path {
    step: f64,
    values: Vec<Vec<f64>>,
}

impl Path {
    /// The cubic through the four points around `t`.
    fn at(&self, t: f64, y: &mut [f64]) {
        let last = self.values.first().map_or(0, |list| list.len().saturating_sub(4));
        let x = t / self.step;
        let first = ((x.floor() - 1.0).max(0.0) as usize).min(last);
        let x = x - first as f64;
        let weight = |k: usize| {
            (0..4).filter(|&j| j != k).map(|j| (x - j as f64) / (k as f64 - j as f64)).product::<f64>()
        };
        let weights: [f64; 4] = std::array::from_fn(weight);
        for (y, path) in y.iter_mut().zip(&self.values) {
            *y = weights.iter().zip(&path[first..]).map(|(w, value)| w * value).sum();
        }
    }
}

impl Observer for Path {
    fn started(&mut self, start: &StartView<'_>) -> Flow {
        self.values.iter_mut().zip(start.outputs).for_each(|(list, y)| list.push(*y));
        Flow::Continue
    }

    fn accepted(&mut self, step: &StepView<'_>, _report: &StepReport<'_>) -> Flow {
        self.values.iter_mut().zip(step.y_fresh).for_each(|(list, y)| list.push(*y));
        Flow::Continue
    }
}

/// Σ h (y - exact)², Σ h exact and Σ h exact² of every output.
struct Distance {
    exact: Exact,
    now: Vec<f64>,
    sums: Vec<[f64; 3]>,
    time: f64,
}

impl Distance {
    fn error(&self) -> f64 {
        let share = |&[off, first, second]: &[f64; 3]| {
            let mean = first / self.time;
            off / self.time / (second / self.time - mean * mean)
        };
        let mean = self.sums.iter().map(share).sum::<f64>() / self.sums.len() as f64;
        if mean.is_nan() { f64::INFINITY } else { mean.sqrt() }
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

/// All rows of the suite.
pub fn rows() -> Vec<Plan> {
    let mut plans = Vec::new();
    for subject in Subject::all() {
        for tolerance in TOLERANCES {
            let subject = subject.clone();
            plans.push(Plan {
                id: format!("tolerance/{}/{tolerance:e}", subject.name),
                case: format!("{}, tolerance {tolerance:e}", subject.name),
                measure: Box::new(move || {
                    let run = subject.auto(tolerance, "")?;
                    Ok(vec![
                        shown("steps", "", run.steps),
                        shown("error", "", run.error),
                        shown("error_over_tolerance", "", run.error / tolerance),
                    ])
                }),
            });
        }
        for (class, off) in &CLASSES[1..] {
            let subject = subject.clone();
            plans.push(Plan {
                id: format!("class/{class}/{}", subject.name),
                case: format!("{}, class {class}, tolerance 1e-3", subject.name),
                measure: Box::new(move || {
                    let run = subject.auto(1e-3, off)?;
                    Ok(vec![
                        shown("steps", "", run.steps),
                        shown("error", "", run.error),
                        shown("error_over_tolerance", "", run.error / 1e-3),
                    ])
                }),
            });
        }
    }
    plans
}

fn shown(name: &str, unit: &'static str, measured: f64) -> Quantity {
    Quantity {
        low: None,
        high: None,
        pass: Some(true),
        ..Quantity::range(name, unit, "finer run", 0.0, f64::MAX, measured)
    }
}
