//! `stability`: the largest constant step with which a system stays stable, method by method.
//!
//! A linear system is disturbed a little and compared with itself undisturbed: the difference obeys a linear recurrence whose spectral
//! radius (`recurrence`) says whether it dies out. One that is not linear is unstable where its outputs leave the range that they
//! have with the system's own step by a factor of ten. Steps are scanned from large to small, and where stability is lost for the first
//! time, the limit is found by bisection.

mod chart;
mod methods;
mod recurrence;
mod trial;

pub use methods::OWN;

use crate::Error;
use crate::number::short;
use crate::source::At;
use crate::system::System;
use crate::tune::Listener;
use methods::Steady;
use powerbond_core::network::NameIndex;
use serde::Serialize;
use std::time::Instant;
use trial::{Known, Trial, explore};

/// Steps that are scanned by default, as shares of the run. Disturbances can be followed over a whole run with the smallest one.
const SCANNED: (f64, f64) = (5e-5, 0.2);
/// How often the smallest step is halved if it is unstable.
const HALVINGS: u32 = 20;
/// The limit is found with this relative accuracy.
const ACCURACY: f64 = 2e-5;
/// What grows by less than this over all steps of a run is stable: ρ = 1 (a body that drifts) is not known better.
const MARGIN: f64 = 1e-3;
/// Growth that was measured without a linear law is known this well.
const ROUGH_MARGIN: f64 = 1e-3;
/// Outputs that go further than this many times their range have run away.
const FAR: f64 = 10.0;

/// What is wanted.
#[derive(Clone, Debug)]
pub struct StabilityOptions {
    /// Smallest step, in s; `None`: 1/20 000 of the run, or less while that is unstable.
    pub from: Option<f64>,
    /// Largest step, in s; `None`: a fifth of the run.
    pub to: Option<f64>,
    /// Steps between them, evenly on a logarithmic scale.
    pub points: usize,
    /// How long all runs may take together, in s.
    pub budget: f64,
}

impl Default for StabilityOptions {
    fn default() -> Self {
        StabilityOptions { from: None, to: None, points: 41, budget: 60.0 }
    }
}

/// What growth is measured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The spectral radius of a step: stable up to 1.
    SpectralRadius,
    /// How far outputs go, in ranges of the run with the system's own step: stable up to 10.
    Range,
}

/// What came out.
#[derive(Clone, Debug, Serialize)]
pub struct Stability {
    /// Version of this schema.
    pub schema: u32,
    /// Name of the system.
    pub system: String,
    /// What `growth` is.
    pub measure: Measure,
    /// What `growth` may be at most.
    pub stable_up_to: f64,
    /// The smallest and the largest step that were asked for, in s.
    pub range: [f64; 2],
    /// One entry per method.
    pub methods: Vec<Curve>,
    /// What should be known.
    pub notes: Vec<String>,
    /// Time of all runs, in s.
    pub seconds: f64,
    /// The picture: growth over the step, one curve per method.
    pub picture: String,
}

/// A method at many steps.
#[derive(Clone, Debug, Serialize)]
pub struct Curve {
    /// Its name.
    pub name: &'static str,
    /// Why it was not run, if it was not.
    pub skipped: Option<String>,
    /// What is known of its limit.
    pub limit: Limit,
    /// From small steps to large ones.
    pub points: Vec<Point>,
}

/// The largest stable step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "step")]
pub enum Limit {
    /// All steps up to this one are stable, in s; larger ones are not.
    At(f64),
    /// All steps that were tried are stable; the largest one, in s.
    Above(f64),
    /// No step that was tried is stable; the smallest one, in s.
    Below(f64),
    /// Nothing was run.
    Unknown,
}

/// A step.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// In s.
    pub step: f64,
    /// How much a disturbance grows per step, or how far outputs go; none if the run failed.
    pub growth: Option<f64>,
    /// It is a spectral radius: a linear law was found.
    pub identified: bool,
    /// Whether it is stable.
    pub stable: bool,
    /// Why the run failed.
    pub failure: Option<String>,
}

/// Looks at every method; none if the listener stopped it.
pub fn stability(
    system: &System,
    options: &StabilityOptions,
    listener: &mut dyn Listener,
) -> Result<Option<Stability>, Error> {
    let result = look_at_all(system, options, listener);
    if listener.interrupted() { Ok(None) } else { result.map(Some) }
}

fn look_at_all(
    system: &System,
    options: &StabilityOptions,
    listener: &mut dyn Listener,
) -> Result<Stability, Error> {
    let mut bench = Bench::new(system, options, listener)?;
    let methods = Steady::all(system)?;
    let [from, to] = bench.range;
    let mut curves = Vec::new();
    for (k, method) in methods.iter().enumerate() {
        let left = (methods.len() - k) as f64;
        let until = bench.spent() + (options.budget - bench.spent()).max(0.0) / left;
        bench.listener.at((bench.spent() / options.budget).clamp(0.0, 0.99), method.name);
        curves.push(bench.curve(method, options.points, until)?);
    }
    let mut stability = Stability {
        schema: 1,
        system: system.name.clone(),
        measure: bench.measure,
        stable_up_to: bench.stable_up_to(),
        range: [from, to],
        methods: curves,
        seconds: bench.spent(),
        notes: bench.notes,
        picture: String::new(),
    };
    stability.picture = stability.svg();
    Ok(stability)
}

struct Bench<'a> {
    system: System,
    duration: f64,
    range: [f64; 2],
    /// How often the smallest step may be halved.
    halvings: u32,
    /// All steps are multiples of it, in s, where a subsystem has a fixed step.
    quantum: Option<f64>,
    known: Known,
    measure: Measure,
    begun: Instant,
    listener: &'a mut dyn Listener,
    notes: Vec<String>,
}

impl<'a> Bench<'a> {
    fn new(
        system: &System,
        options: &StabilityOptions,
        listener: &'a mut dyn Listener,
    ) -> Result<Self, Error> {
        let begun = Instant::now();
        listener.at(0.0, "first run");
        let mut notes = Vec::new();
        let mut system = system.clone();
        let assembled = system.assemble()?;
        let network = assembled.engine.network();
        if !(0..network.n_inputs).any(|i| network.wiring.is_coupled(i)) {
            return Err(Error::input(None, "no connections: there is no coupling that could be unstable"));
        }
        let duration = assembled.stop - assembled.start;
        let chosen = system.simulation.step.is_some() || !assembled.adaptive;
        let step = if chosen { assembled.step } else { assembled.default_step() };
        // Rates stay while steps change.
        let places: NameIndex<&str> = assembled.names.subsystems.iter().map(String::as_str).collect();
        for spec in system.subsystems.iter_mut().filter(|spec| spec.step.is_some()) {
            if let Some(s) = places.place(spec.name.value.as_str()) {
                spec.rate = spec.step.take().map(|at| at.with(assembled.rates[s]));
            }
        }
        let own = network.members.iter().zip(&assembled.rates);
        let quantum = own
            .filter_map(|(member, rate)| Some(member.capabilities.fixed_step? * f64::from(*rate)))
            .max_by(f64::total_cmp);
        system.simulation.real_time = None;
        system.simulation.output_interval = None;
        system.simulation.land_on_output = At::default(false);
        system.record.exclude = vec![At::default("*".to_owned())];
        if system.scenario.take().is_some() {
            notes.push("the scenario is left out: stability is that of the coupled system alone".to_owned());
        }
        let from = options.from.unwrap_or(SCANNED.0 * duration).max(quantum.unwrap_or(0.0));
        let to = options.to.unwrap_or(SCANNED.1 * duration);
        if from >= to || from <= 0.0 || !to.is_finite() {
            let message = format!("no steps between {} s and {} s", short(from), short(to));
            return Err(Error::input(None, message));
        }
        let plain = Steady::plain()?;
        let (mut known, mut failure) = (None, String::new());
        for share in [1.0, 0.25, 0.0625] {
            if system.simulation.stop.is_none() {
                system.simulation.stop = Some(At::default(assembled.stop));
            }
            let h = quantum.map_or(share * step, |q| q * (share * step / q).round().max(1.0));
            match explore(&system, &plain, h, duration, listener)? {
                Ok(found) => {
                    known = Some((found, h));
                    break;
                }
                Err(why) => failure = why,
            }
        }
        let Some((known, h)) = known else {
            let message = format!(
                "the system cannot be run with a constant step of {} s or less: {failure}",
                short(step)
            );
            return Err(Error::accuracy(message));
        };
        let mut linear = true;
        for share in [1.0, 0.25] {
            let h = quantum.map_or(share * h, |q| q * (share * h / q).round().max(1.0));
            linear &= matches!(known.disturb(&system, &plain, h, duration, listener)?, Trial::Radius(_));
        }
        let measure = if linear { Measure::SpectralRadius } else { Measure::Range };
        if !linear {
            notes.push(format!(
                "the system is not linear around its motion: unstable means that an output goes further than {FAR} times \
                 the range that it has with a step of {} s",
                short(h)
            ));
        }
        let halvings = if options.from.is_none() { HALVINGS } else { 0 };
        let range = [from, to];
        Ok(Bench { system, duration, range, halvings, quantum, known, measure, begun, listener, notes })
    }

    fn spent(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    fn stable_up_to(&self) -> f64 {
        match self.measure {
            Measure::SpectralRadius => 1.0,
            Measure::Range => FAR,
        }
    }

    /// A step that subsystems with a fixed step can take.
    fn fitting(&self, h: f64) -> f64 {
        self.quantum.map_or(h, |q| q * (h / q).round().max(1.0))
    }

    fn curve(&mut self, method: &Steady, count: usize, until: f64) -> Result<Curve, Error> {
        let mut curve = Curve { name: method.name, skipped: None, limit: Limit::Unknown, points: Vec::new() };
        curve.skipped = match method.cannot(&self.system) {
            Some(why) => Some(why.to_owned()),
            None => self.refused(method)?,
        };
        if curve.skipped.is_some() {
            return Ok(curve);
        }
        let [from, to] = self.range;
        // Large steps are the cheap ones.
        for k in (0..count.max(2)).rev() {
            let share = k as f64 / (count.max(2) - 1) as f64;
            let h = self.fitting(from * (to / from).powf(share));
            if curve.points.last().is_some_and(|p| p.step <= h) {
                continue;
            }
            let point = self.point(method, h)?;
            curve.points.push(point);
            if self.spent() > until && k > 0 {
                let smallest = short_step(h);
                self.notes.push(format!(
                    "`{}`: steps below {smallest} s were skipped, the time budget is used up",
                    method.name
                ));
                break;
            }
        }
        curve.points.reverse();
        curve.limit = self.limit(method, &mut curve.points)?;
        Ok(curve)
    }

    /// Why the system cannot be run with a method, if it cannot.
    fn refused(&self, method: &Steady) -> Result<Option<String>, Error> {
        let mut system = self.system.clone();
        system.simulation.step = Some(At::default(self.fitting(self.range[0])));
        system.method = method.method.clone();
        match system.assemble() {
            Ok(assembled) => Ok(method.is_another(&assembled).map(str::to_owned)),
            Err(error @ Error::Input(_)) => Ok(Some(error.to_string().replace('\n', "; "))),
            Err(other) => Err(other),
        }
    }

    fn point(&mut self, method: &Steady, h: f64) -> Result<Point, Error> {
        if self.listener.interrupted() {
            return Err(Error::accuracy("it was stopped"));
        }
        let (system, listener) = (&self.system, &*self.listener);
        let trial = match self.measure {
            Measure::SpectralRadius => self.known.disturb(system, method, h, self.duration, listener),
            Measure::Range => self.known.reach(system, method, h, self.duration, listener),
        };
        let trial = match trial {
            Err(error @ Error::Input(_)) => Trial::Failed(error.to_string().replace('\n', "; ")),
            other => other?,
        };
        let point = |growth: f64, identified: bool, stable: bool| Point {
            step: h,
            growth: Some(growth).filter(|g| g.is_finite()),
            identified,
            stable,
            failure: None,
        };
        Ok(match trial {
            Trial::Radius(radius) => {
                point(radius, true, radius <= 1.0 + MARGIN / trial::steps(self.duration, h))
            }
            Trial::Growth(growth) if self.measure == Measure::Range => point(growth, false, growth <= FAR),
            Trial::Growth(growth) => point(growth, false, growth <= 1.0 + ROUGH_MARGIN),
            Trial::Failed(failure) => {
                Point { step: h, growth: None, identified: false, stable: false, failure: Some(failure) }
            }
        })
    }

    /// Finds where stability is lost for the first time, to the accuracy that is wanted.
    fn limit(&mut self, method: &Steady, points: &mut Vec<Point>) -> Result<Limit, Error> {
        let Some(lost) = points.iter().position(|p| !p.stable) else {
            return Ok(points.last().map_or(Limit::Unknown, |p| Limit::Above(p.step)));
        };
        let mut lost = lost;
        for _ in 0..self.halvings {
            let h = self.fitting(0.5 * points[0].step);
            if lost > 0 || h >= points[0].step {
                break;
            }
            let point = self.point(method, h)?;
            lost += usize::from(point.stable);
            points.insert(0, point);
        }
        if lost == 0 {
            return Ok(Limit::Below(points[0].step));
        }
        let (mut low, mut high) = (points[lost - 1].step, points[lost].step);
        let mut place = lost;
        while high > low * (1.0 + ACCURACY) {
            let h = self.fitting((low * high).sqrt());
            if h <= low || h >= high {
                break;
            }
            let point = self.point(method, h)?;
            let stable = point.stable;
            points.insert(place, point);
            if stable {
                low = h;
                place += 1;
            } else {
                high = h;
            }
        }
        Ok(Limit::At(low))
    }
}

/// With three digits.
fn short_step(h: f64) -> String {
    format!("{h:.2e}").parse().map_or_else(|_| short(h), short)
}
