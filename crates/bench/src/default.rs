//! The default method: does the error follow the tolerance, whatever subsystems can do, and what does it cost?
//!
//! Subsystems are integrated accurately, so that the error is that of the coupling: rms over the coupled outputs of
//! rms(y - reference)/std(reference). The reference is the monolithic solution where the models have one, else a run of the same
//! system with a second-order hold and refresh at a step so small that its error is far below what is judged.

use crate::force_displacement::Star;
use crate::quarter_car::{self, Split};
use crate::reference::{Distance, Exact, Path, PowerError, Shared};
use crate::verdict::{Dice, Files, Subject as Judged, accurate_star, random_case, subjects};
use crate::{Models, Plan, Quantity, Source};
use powerbond::core::observe::{Flow, Observer, StepReport};
use powerbond::core::step::StepView;
use powerbond::models::nonlinear_oscillator;
use powerbond::models::oscillator::{self, Case, DOUBLE, MULTIPLE};
use powerbond::{Error, System};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A benchmark system with its reference, made when first asked for.
struct Subject {
    name: String,
    files: Files,
    fine_step: f64,
    energy: f64,
    reference: Shared<Arc<Path>>,
    /// Runs by their files: several rows need the same ones.
    runs: Mutex<HashMap<String, Arc<Shared<Outcome>>>>,
}

/// The monolithic solution of a subject, outputs in the order of the network.
fn monolithic(name: &str) -> Option<Exact> {
    if let Some(kind) = name.strip_prefix("quarter-car-r") {
        let split = if kind.starts_with('1') { Split::R1 } else { Split::R2 };
        return Some(quarter_car::exact(split, kind.ends_with("-nonlinear")));
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

/// How many of the systems of the verdict's suite are judged; the others repeat them with several rates.
const SYSTEMS: usize = 21;

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
    fn all() -> Vec<Arc<Subject>> {
        let one = |(name, subject, energy, _): (String, Arc<Judged>, f64, [f64; 4])| {
            Arc::new(Subject {
                name,
                files: subject.files.clone(),
                fine_step: subject.fine_step / 5.0,
                energy,
                reference: Shared::default(),
                runs: Mutex::default(),
            })
        };
        subjects().into_iter().take(SYSTEMS).map(one).collect()
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
        let method = "hold = 2\nrefresh = true\nstart = \"plain\"";
        let path = self.reference.get(|| Path::of(&self.file(Some(self.fine_step), method, "")))?;
        Ok(path.by_cubics(self.fine_step))
    }

    /// Runs a method; a run that fails is as wrong as can be.
    fn run(&self, models: &Models, step: Option<f64>, method: &str, class: &str) -> Result<Outcome, Error> {
        let file = self.file(step, method, class);
        let shared = {
            let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
            runs.entry(file.clone()).or_default().clone()
        };
        shared.get(|| self.run_now(models, &file)).copied()
    }

    fn run_now(&self, models: &Models, file: &str) -> Result<Outcome, Error> {
        let mut assembled = models.assemble("default", file)?;
        let n = assembled.names.outputs.len();
        let mut distance = Distance::new(self.exact()?, n);
        let outcome = assembled.run(&mut distance);
        let steps = assembled.engine.statistics().accepted as f64;
        let error = match outcome {
            Ok(_) => distance.mean_of_deviations(),
            Err(Error::Accuracy(_) | Error::Model(_)) => f64::INFINITY,
            Err(other) => return Err(other),
        };
        Ok(Outcome { steps, error })
    }

    fn auto(&self, models: &Models, tolerance: f64, class: &str) -> Result<Outcome, Error> {
        self.run(models, None, &format!("kind = \"auto\"\ntolerance = {tolerance}"), class)
    }
}

/// All rows of the suite.
pub fn rows() -> Vec<Plan> {
    let mut plans = Vec::new();
    let subjects = Subject::all();
    for subject in &subjects {
        for tolerance in TOLERANCES {
            plans.push(row(
                format!("tolerance/{}/{tolerance:e}", subject.name),
                format!("{}, tolerance {tolerance:e}", subject.name),
                subject,
                move |models, subject| Ok(accuracy(subject.auto(models, tolerance, "")?, tolerance, 10.0)),
            ));
        }
    }
    for (class, off) in &CLASSES[1..] {
        for subject in &subjects {
            plans.push(row(
                format!("class/{class}/{}", subject.name),
                format!("{}, class {class}, tolerance 1e-3", subject.name),
                subject,
                move |models, subject| {
                    let run = subject.auto(models, 1e-3, off)?;
                    Ok(match *class {
                        "B" => accuracy(run, 1e-3, 20.0),
                        "C" | "D" => accuracy(run, 1e-3, 40.0),
                        _ => shown(run, 1e-3),
                    })
                },
            ));
        }
    }
    for subject in &subjects {
        let (id, case) = (format!("equal-steps/{}", subject.name), format!("{}, equal steps", subject.name));
        plans.push(row(id, case, subject, equal_steps));
    }
    plans.extend(subjects[..4].iter().zip(POWERS).map(|(subject, (steps, best))| {
        let (id, case) =
            (format!("power/{}", subject.name), format!("{}, power at {steps} steps", subject.name));
        row(id, case, subject, move |models, subject| power(models, subject, steps, best))
    }));
    plans.extend(SEEDS.map(random));
    let all = Arc::new(subjects);
    plans.push(Plan {
        id: "all".to_owned(),
        case: "all systems together".to_owned(),
        measure: Box::new(move |models| together(models, &all)),
    });
    plans
}

fn row(
    id: String,
    case: String,
    subject: &Arc<Subject>,
    measure: impl Fn(&Models, &Subject) -> Result<Vec<Quantity>, Error> + Send + Sync + 'static,
) -> Plan {
    let subject = subject.clone();
    Plan { id, case, measure: Box::new(move |models| measure(models, &subject)) }
}

fn shown(run: Outcome, tolerance: f64) -> Vec<Quantity> {
    vec![
        Quantity::shown("steps", "", run.steps),
        Quantity::shown("error", "", run.error),
        Quantity::shown("error_over_tolerance", "", run.error / tolerance),
    ]
}

/// As `shown`; the error may be `most` times the tolerance.
fn accuracy(run: Outcome, tolerance: f64, most: f64) -> Vec<Quantity> {
    let mut list = shown(run, tolerance);
    list[2] = Quantity::range("error_over_tolerance", "", Source::FinerRun, 0.0, most, run.error / tolerance);
    list
}

/// Errors of other methods that make as many steps as the default at 1e-3.
struct Equal {
    zoh: f64,
    foh: f64,
    ecco_nepce: Option<f64>,
    ecco_foh: Option<f64>,
    auto: f64,
    auto_b: f64,
    steps: f64,
}

impl Subject {
    fn equal(&self, models: &Models) -> Result<Equal, Error> {
        let auto = self.auto(models, 1e-3, "")?;
        let step = Some(self.stop() / auto.steps);
        let bonded = !self.name.ends_with("-dd") && !self.name.ends_with("-fd");
        let ecco = |more: &str| bonded.then(|| self.ecco(models, auto.steps, more)).transpose();
        Ok(Equal {
            zoh: self.run(models, step, "", "")?.error,
            foh: self.run(models, step, "hold = 1", "")?.error,
            ecco_nepce: ecco("correction = \"nepce\"")?,
            ecco_foh: ecco("hold = 1")?,
            auto: auto.error,
            auto_b: self.auto(models, 1e-3, CLASSES[1].1)?.error,
            steps: auto.steps,
        })
    }

    fn stop(&self) -> f64 {
        let file = self.file(None, "", "");
        let stop = file.lines().find_map(|line| line.strip_prefix("stop = ")?.parse().ok());
        stop.unwrap_or(f64::NAN)
    }

    /// The error of ECCO with the tolerance at which it makes `steps` steps (bisection).
    fn ecco(&self, models: &Models, steps: f64, more: &str) -> Result<f64, Error> {
        let stop = self.stop();
        let run = |tolerance: f64| {
            let method = format!(
                "estimator = {{ kind = \"energy\", tolerance = {tolerance}, energy_scale = {} }}\n\
                 controller = {{ kind = \"ecco\", min_step = {}, max_step = {} }}\n{more}",
                self.energy,
                1e-7 * stop,
                1e-2 * stop
            );
            self.run(models, Some(1e-6 * stop), &method, "")
        };
        let (mut low, mut high) = (1e-14f64, 1.0f64);
        let mut best = Outcome { steps: f64::INFINITY, error: f64::INFINITY };
        for _ in 0..18 {
            let middle = (low * high).sqrt();
            let outcome = run(middle)?;
            if (outcome.steps - steps).abs() < (best.steps - steps).abs() {
                best = outcome;
            }
            if (outcome.steps / steps - 1.0).abs() < 0.01 {
                break;
            }
            *(if outcome.steps > steps { &mut low } else { &mut high }) = middle;
        }
        Ok(best.error)
    }
}

fn equal_steps(models: &Models, subject: &Subject) -> Result<Vec<Quantity>, Error> {
    let e = subject.equal(models)?;
    let mut list = vec![
        Quantity::shown("steps", "", e.steps),
        Quantity::shown("zoh", "", e.zoh),
        // Twice the error of a plain line at the same cost is the most that is allowed anywhere.
        Quantity::range("auto_over_foh", "", Source::FinerRun, 0.0, 2.0, e.auto / e.foh),
        Quantity::shown("foh", "", e.foh),
        Quantity::shown("auto", "", e.auto),
        Quantity::shown("auto_b", "", e.auto_b),
    ];
    list.extend(e.ecco_nepce.map(|error| Quantity::shown("ecco_nepce", "", error)));
    if let Some(error) = e.ecco_foh {
        list.push(Quantity::shown("ecco_foh", "", error));
        list.push(Quantity::range("auto_over_ecco_foh", "", Source::FinerRun, 0.0, 1.0, e.auto / error));
        list.push(Quantity::range("auto_b_over_ecco_foh", "", Source::FinerRun, 0.0, 1.0, e.auto_b / error));
    }
    Ok(list)
}

/// Steps and the papers' smallest mean |ΔP| of each quarter car, in W (sadjina2020 tables 8 and 9, accurate micro steps: ECCO and
/// NEPCE with feed-through).
const POWERS: [(f64, f64); 4] = [(4000.0, 0.065), (2000.0, 0.176), (4000.0, 0.179), (2000.0, 2.87)];

/// Mean |error of the transmitted power| with the tolerance at which the default makes `steps` steps.
fn power(models: &Models, subject: &Subject, steps: f64, best: f64) -> Result<Vec<Quantity>, Error> {
    let (mut low, mut high) = (1e-9f64, 0.1f64);
    let mut nearest = (f64::INFINITY, f64::NAN);
    for _ in 0..20 {
        let tolerance = (low * high).sqrt();
        let file = subject.file(None, &format!("kind = \"auto\"\ntolerance = {tolerance}"), "");
        let mut assembled = models.assemble("power", &file)?;
        let mut meter = PowerError::new(subject.exact()?);
        assembled.run(&mut meter)?;
        let made = assembled.engine.statistics().accepted as f64;
        if (made - steps).abs() < f64::abs(nearest.0 - steps) {
            nearest = (made, meter.sum / meter.time);
        }
        if (made / steps - 1.0).abs() < 0.01 {
            break;
        }
        *(if made > steps { &mut low } else { &mut high }) = tolerance;
    }
    Ok(vec![
        Quantity::shown("steps", "", nearest.0),
        Quantity::range("dp", "W", Source::FinerRun, 0.0, 0.01 * best, nearest.1),
    ])
}

/// What holds for all systems together.
fn together(models: &Models, subjects: &[Arc<Subject>]) -> Result<Vec<Quantity>, Error> {
    let mut list = Vec::new();
    let (mut rising, mut all) = (0.0, Vec::new());
    let mut before = vec![f64::INFINITY; subjects.len()];
    for tolerance in TOLERANCES {
        let mut shares = Vec::new();
        for (subject, before) in subjects.iter().zip(&mut before) {
            let error = subject.auto(models, tolerance, "")?.error;
            rising += f64::from(u8::from(error >= *before));
            *before = error;
            shares.push(error / tolerance);
        }
        let name = |what: &str| format!("{what}_at_{tolerance:e}");
        list.push(Quantity::shown(&name("median"), "", quantile(&mut shares, 0.5)));
        list.push(Quantity::shown(&name("p90"), "", quantile(&mut shares, 0.9)));
        list.push(Quantity::shown(&name("max"), "", quantile(&mut shares, 1.0)));
        all.extend(shares);
    }
    // More accurate than asked for is no failure.
    list.push(Quantity::range("median", "", Source::Earlier, 0.0, 1.0, quantile(&mut all, 0.5)));
    list.push(Quantity::range("p90", "", Source::Earlier, 0.0, 3.0, quantile(&mut all, 0.9)));
    list.push(Quantity::range("max", "", Source::Earlier, 0.0, 3.0, quantile(&mut all, 1.0)));
    list.push(Quantity::shown("not_monotone", "", rising));
    for (class, off) in &CLASSES[1..4] {
        let runs = subjects.iter().map(|s| Ok(s.auto(models, 1e-3, off)?.error / 1e-3));
        let mut shares = runs.collect::<Result<Vec<f64>, Error>>()?;
        let (median, most) = if *class == "B" { (2.0, 20.0) } else { (3.0, 40.0) };
        let name = |what: &str| format!("{what}_class_{class}");
        list.push(Quantity::range(
            &name("median"),
            "",
            Source::Earlier,
            0.0,
            median,
            quantile(&mut shares, 0.5),
        ));
        list.push(Quantity::range(&name("max"), "", Source::Earlier, 0.0, most, quantile(&mut shares, 1.0)));
    }
    let (mut ratio, mut ratio_b, mut n) = (0.0, 0.0, 0.0);
    for subject in subjects {
        let e = subject.equal(models)?;
        if let Some(other) = e.ecco_foh {
            ratio += (e.auto / other).ln();
            ratio_b += (e.auto_b / other).ln();
            n += 1.0;
        }
    }
    let mean = |sum: f64| (sum / n).exp();
    list.push(Quantity::range("auto_over_ecco_foh", "", Source::Earlier, 0.0, 0.05, mean(ratio)));
    list.push(Quantity::range("auto_b_over_ecco_foh", "", Source::Earlier, 0.0, 0.05, mean(ratio_b)));
    Ok(list)
}

/// The value below which a share of the list lies, between neighbours by a line.
fn quantile(list: &mut [f64], share: f64) -> f64 {
    list.sort_by(f64::total_cmp);
    let place = share * (list.len() - 1) as f64;
    let (a, b) = (list[place.floor() as usize], list[place.ceil() as usize]);
    if a == b { a } else { a + place.fract() * (b - a) }
}

/// Seeds of the rows of random systems: drawn after the method and its constants stood. κ was chosen with 1 to 10 in view.
const SEEDS: [u64; 3] = [101, 202, 303];
/// Random systems of a row.
const DRAWN: u64 = 150;

/// Energy and displacement errors over random oscillators, against their monolithic solution.
fn random(seed: u64) -> Plan {
    let measure = move |_: &Models| {
        let mut list = Vec::new();
        for (class, off) in &CLASSES[..2] {
            let (mut energy, mut position) = (Vec::new(), Vec::new());
            for n in 0..DRAWN {
                let (case, omega) = random_case(&mut Dice::new(seed, n), 1);
                let (e, x) = swing(&case, 20.0 * std::f64::consts::TAU / omega, off)?;
                energy.push(100.0 * e);
                position.push(100.0 * x);
            }
            let name = |what: &str| format!("{what}_{class}");
            let energies = [0.5, 0.9, 1.0].map(|q| quantile(&mut energy, q));
            let positions = [0.5, 0.9, 1.0].map(|q| quantile(&mut position, q));
            list.push(Quantity::range(&name("energy_median"), "%", Source::Earlier, 0.0, 0.02, energies[0]));
            list.push(Quantity::range(&name("energy_p90"), "%", Source::Earlier, 0.0, 1.0, energies[1]));
            list.push(Quantity::shown(&name("energy_max"), "%", energies[2]));
            list.push(Quantity::shown(&name("displacement_median"), "%", positions[0]));
            list.push(Quantity::shown(&name("displacement_p90"), "%", positions[1]));
            list.push(Quantity::shown(&name("displacement_max"), "%", positions[2]));
        }
        Ok(list)
    };
    Plan {
        id: format!("random/{seed}"),
        case: format!("{DRAWN} random oscillators, classes A and B, tolerance 1e-3"),
        measure: Box::new(measure),
    }
}

/// Energy error in the last tenth of the run over the largest energy, and the largest displacement error of the mass over its
/// largest displacement.
fn swing(case: &Case, stop: f64, class: &str) -> Result<(f64, f64), Error> {
    let files = accurate_star(Star { record: &["*.energy"], stop, ..Star::oscillator(case) });
    let text = files(1.0, "kind = \"auto\"").replace("end = \"overshoot\"\n", "").replace("step = 1\n", "");
    let mut assembled = System::parse("random", &with_parameters(&text, class))?.assemble()?;
    let position = assembled.names.outputs.iter().position(|name| name.variable == "position");
    let mut swing = Swing {
        exact: oscillator::Reference::new(case),
        position: position.unwrap_or(0),
        late: 0.9 * stop,
        off: [0.0; 2],
        most: [0.0; 2],
        far: 0.0,
    };
    match assembled.run(&mut swing) {
        Ok(_) => Ok(((swing.off[0] / swing.off[1]).abs() / swing.most[0], swing.far / swing.most[1])),
        Err(Error::Accuracy(_) | Error::Model(_)) => Ok((f64::INFINITY, f64::INFINITY)),
        Err(other) => Err(other),
    }
}

struct Swing {
    exact: oscillator::Reference,
    position: usize,
    late: f64,
    /// Σ h (E - exact) and Σ h of the last tenth.
    off: [f64; 2],
    /// The largest exact energy and displacement.
    most: [f64; 2],
    far: f64,
}

impl Observer for Swing {
    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        self.exact.advance_to(step.span.end);
        let (energy, position) = (self.exact.energy(), self.exact.positions()[1]);
        self.most = [self.most[0].max(energy), self.most[1].max(position.abs())];
        self.far = self.far.max((step.y_fresh[self.position] - position).abs());
        if step.span.end > self.late {
            self.off[0] += step.span.h * (report.probes.iter().sum::<f64>() - energy);
            self.off[1] += step.span.h;
        }
        Flow::Continue
    }
}
