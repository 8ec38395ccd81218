//! How far the verdict can be trusted: true error beside verdict, over all benchmark models, methods and step sizes; the
//! limits that one half of the systems gives, held against the other half; and random systems that nothing was chosen by.
//!
//! Subsystems are integrated accurately, so that the true error is that of the coupling. It is the largest
//! rms(y - reference)/rms(reference) over the outputs that are coupled; the reference is a run of the same system with
//! a second-order hold and refresh at a step far smaller than any that is judged.

use crate::force_displacement::Star;
use crate::quarter_car::{Case as QuarterCar, Split};
use crate::reference::{Distance, Path, Shared};
use crate::{Models, Plan, Quantity, Source};
use powerbond::Error;
use powerbond::core::observe::verdict::{VerdictLimits, Word};
use powerbond::models::oscillator::{Body, Case, DOUBLE, MULTIPLE};
use powerbond::models::{nonlinear_oscillator, pendula};
use std::ops::Range;
use std::sync::Arc;

/// Larger errors are never trustworthy, smaller ones never unreliable.
const BAD: f64 = 0.05;
const GOOD: f64 = 0.005;
const TINY: f64 = 0.001;

/// A system file for a step and a `[method]` block.
pub(super) type Files = Arc<dyn Fn(f64, &str) -> String + Send + Sync>;

/// A benchmark system with its reference, made when first asked for.
pub(super) struct Subject {
    pub files: Files,
    pub fine_step: f64,
    reference: Shared<Arc<Path>>,
}

/// What a run came to.
#[derive(Clone, Copy)]
struct Judged {
    true_error: f64,
    score: f64,
    word: Word,
}

impl Subject {
    fn new(fine_step: f64, files: impl Fn(f64, &str) -> String + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Subject { files: Arc::new(files), fine_step, reference: Shared::default() })
    }

    fn reference(&self) -> Result<&Arc<Path>, Error> {
        self.reference.get(|| Path::of(&(self.files)(self.fine_step, "hold = 2\nrefresh = true")))
    }

    /// Runs it; a run that fails is as wrong as can be.
    fn judge(&self, models: &Models, step: f64, method: &str) -> Result<Judged, Error> {
        let reference = self.reference()?;
        let mut assembled = models.assemble("verdict", &(self.files)(step, method))?;
        let n = assembled.names.outputs.len();
        let mut distance = Distance::new(reference.by_lines(), n);
        let outcome = assembled.run(&mut distance);
        let findings = assembled.findings(&VerdictLimits::default());
        match outcome {
            Ok(_) => {
                Ok(Judged { true_error: distance.largest(), score: findings.score, word: findings.word })
            }
            Err(Error::Accuracy(_) | Error::Model(_)) => {
                Ok(Judged { true_error: f64::INFINITY, score: f64::INFINITY, word: Word::Unreliable })
            }
            Err(other) => Err(other),
        }
    }
}

const ECCO: &str = "controller = { kind = \"ecco\", safety = 0.8, max_rate = 1.5 }";

/// Methods by a short name; `energy` is the size of energies in the system, in J.
fn methods(energy: f64) -> Vec<(&'static str, String)> {
    let ecco = |tolerance: f64, more: &str| {
        format!(
            "estimator = {{ kind = \"energy\", tolerance = {tolerance}, energy_scale = {energy} }}\n{ECCO}\n{more}"
        )
    };
    vec![
        ("zoh", String::new()),
        ("foh", "hold = 1".to_owned()),
        ("foh-refresh", "hold = 1\nrefresh = true".to_owned()),
        ("soh-refresh", "hold = 2\nrefresh = true".to_owned()),
        ("nepce", "correction = { kind = \"nepce\", alpha = 0.9 }".to_owned()),
        ("nepce-default", "correction = { kind = \"nepce\" }".to_owned()),
        ("energy-correction", "correction = { kind = \"energy\" }".to_owned()),
        ("gauss-seidel", "schedule = \"gauss-seidel\"".to_owned()),
        ("ecco", ecco(1e-5, "")),
        ("ecco-foh", ecco(1e-6, "hold = 1")),
        ("auto", "kind = \"auto\"".to_owned()),
        ("auto-coarse", "kind = \"auto\"\ntolerance = 1e-2".to_owned()),
    ]
}

/// Methods that choose their own steps are run once per system.
fn adaptive(method: &str) -> bool {
    method.starts_with("ecco") || method.starts_with("auto")
}

fn accurate_quarter_car(case: QuarterCar) -> impl Fn(f64, &str) -> String {
    move |step, method| {
        let file = case.file(step, method).replace(", far_end = \"once\"", "");
        file.replace("micro_steps = 10", "integrator = \"accurate\"")
    }
}

/// The quarter car of arnold2013, coupled displacement-displacement or force-displacement.
fn arnold(kind: &'static str) -> impl Fn(f64, &str) -> String {
    move |step, method| {
        let mut text = format!(
            "[simulation]\nstop = 3\nstep = {step}\nend = \"overshoot\"\n[subsystems.chassis]\nmodel = \"quarter-car/chassis-{kind}\"\n\
             [subsystems.wheel]\nmodel = \"quarter-car/wheel-{kind}\"\n[inputs]\n\"wheel.road\" = 0.1\n"
        );
        let connect = |from: &str, to: &str| format!("[[connections]]\nfrom = \"{from}\"\nto = \"{to}\"\n");
        for v in ["position", "velocity"] {
            text += &connect(&format!("chassis.{v}"), &format!("wheel.chassis_{v}"));
            if kind == "dd" {
                text += &connect(&format!("wheel.{v}"), &format!("chassis.wheel_{v}"));
            }
        }
        if kind == "fd" {
            text += &connect("wheel.suspension_force", "chassis.force");
        }
        text + &format!("[record]\nvariables = []\n[method]\n{method}\n")
    }
}

pub(super) fn accurate_star(star: Star) -> impl Fn(f64, &str) -> String {
    move |step, method| {
        let star = Star { step, ..star.clone() };
        star.file(method).replace("input_derivatives = 0", "integrator = \"accurate\"")
    }
}

/// All systems: name, energy scale, steps to judge. Every other one, from the first on, is for choosing the limits.
pub(super) fn subjects() -> Vec<(String, Arc<Subject>, f64, [f64; 4])> {
    let mut list = Vec::new();
    let steps = [2e-4, 1e-3, 5e-3, 2e-2];
    for (split, name) in [(Split::R1, "r1"), (Split::R2, "r2")] {
        for (nonlinear, law) in [(false, "linear"), (true, "nonlinear")] {
            let files = accurate_quarter_car(QuarterCar::new(split, nonlinear, 10));
            list.push((format!("quarter-car-{name}-{law}"), Subject::new(5e-5, files), 750.0, steps));
        }
    }
    for kind in ["dd", "fd"] {
        list.push((format!("quarter-car-{kind}"), Subject::new(5e-5, arnold(kind)), 750.0, steps));
    }
    for (n, case) in DOUBLE.iter().enumerate() {
        let subject = Subject::new(1e-4, accurate_star(Star::oscillator(case)));
        list.push((format!("oscillator-{}", n + 1), subject, 1e4, steps));
    }
    for n in [0, 2] {
        let subject = Subject::new(1e-4, accurate_star(Star::oscillator(&MULTIPLE[n])));
        list.push((format!("oscillators-{}", MULTIPLE[n].givers + 1), subject, 1e4, steps));
    }
    for (n, case) in nonlinear_oscillator::CASES.iter().enumerate() {
        let subject = Subject::new(1e-4, accurate_star(Star::nonlinear(case)));
        list.push((format!("nonlinear-oscillator-{}", n + 1), subject, 1e4, steps));
    }
    for (n, case) in pendula::CASES.iter().enumerate() {
        let subject = Subject::new(5e-4, accurate_star(Star::pendula(case)));
        list.push((format!("pendula-{}", n + 1), subject, 20.0, [1e-3, 5e-3, 2e-2, 1e-1]));
    }
    let crane_steps = [2e-4, 1e-3, 2e-3, 5e-3];
    let subject = Subject::new(1e-4, accurate_star(Star::crane()));
    list.push(("crane".to_owned(), subject, 1e3, crane_steps));
    let many = Star { givers: 9, ..Star::oscillator(&MULTIPLE[2]) };
    list.push(("oscillators-10".to_owned(), Subject::new(1e-4, accurate_star(many)), 1e4, steps));
    for (n, rates) in [(0, (1, 4)), (6, (4, 1)), (7, (1, 10))] {
        let subject = Subject::new(1e-4, accurate_star(Star { rates, ..Star::oscillator(&DOUBLE[n]) }));
        list.push((format!("oscillator-{}-two-rates", n + 1), subject, 1e4, steps));
    }
    let subject = Subject::new(1e-4, accurate_star(Star { rates: (1, 4), ..Star::crane() }));
    list.push(("crane-two-rates".to_owned(), subject, 1e3, crane_steps));
    list
}

/// A run of a benchmark system, judged when first asked for.
struct Run {
    id: String,
    case: String,
    subject: Arc<Subject>,
    method: String,
    step: f64,
    /// It is of the half that the limits are chosen by.
    choosing: bool,
    judged: Shared<Judged>,
}

impl Run {
    fn judged(&self, models: &Models) -> Result<Judged, Error> {
        self.judged.get(|| self.subject.judge(models, self.step, &self.method)).copied()
    }
}

/// All runs of all systems.
fn runs() -> Arc<Vec<Run>> {
    let mut list = Vec::new();
    for (place, (name, subject, energy, steps)) in subjects().into_iter().enumerate() {
        // Where motion alone is exchanged there is no bond, and no energy to steer by; the energy correction is for
        // forces that follow positions and velocities.
        let bonded = !name.ends_with("-dd") && !name.ends_with("-fd");
        let corrected = !name.starts_with("quarter-car");
        let fits = |method: &str| {
            (bonded || !method.starts_with("ecco")) && (corrected || method != "energy-correction")
        };
        for (method, block) in methods(energy).into_iter().filter(|(m, _)| fits(m)) {
            for step in if adaptive(method) { vec![steps[0]] } else { steps.to_vec() } {
                list.push(Run {
                    id: format!("{name}/{method}/{step}"),
                    case: format!("{name}, {method}, {} ms", 1e3 * step),
                    subject: subject.clone(),
                    method: block.clone(),
                    step,
                    choosing: place % 2 == 0,
                    judged: Shared::default(),
                });
            }
        }
    }
    Arc::new(list)
}

/// All rows of the suite.
pub fn rows() -> Vec<Plan> {
    let runs = runs();
    let mut plans = Vec::new();
    for (k, run) in runs.iter().enumerate() {
        let all = runs.clone();
        let measure = Box::new(move |models: &Models| Ok(quantities(&all[k].judged(models)?)));
        plans.push(Plan { id: run.id.clone(), case: run.case.clone(), measure });
    }
    let all = runs.clone();
    let case = "by the rule, of either half".to_owned();
    plans.push(Plan { id: "limits".to_owned(), case, measure: Box::new(move |models| limits(models, &all)) });
    for (id, choosing) in [("half-that-chose", true), ("half-held-out", false)] {
        let all = runs.clone();
        let measure = move |models: &Models| {
            let mut count = Count::default();
            half(models, &all, choosing)?.iter().for_each(|judged| count.add(judged));
            Ok(count.quantities())
        };
        let case = "every other benchmark system, all methods and steps".to_owned();
        plans.push(Plan { id: id.to_owned(), case, measure: Box::new(measure) });
    }
    let random = Arc::new(KINDS.map(|_| Drawn::default()));
    for (k, (name, _, systems)) in KINDS.into_iter().enumerate() {
        let case = format!("{} random systems", systems.end - systems.start);
        let random = random.clone();
        let measure = move |models: &Models| {
            let mut count = Count::default();
            drawn(models, k, &random)?.iter().for_each(|(_, judged)| count.add(judged));
            Ok(count.quantities())
        };
        plans.push(Plan { id: name.to_owned(), case, measure: Box::new(measure) });
    }
    let measure = move |models: &Models| {
        let mut count = Count::default();
        for k in 0..KINDS.len() {
            let all = drawn(models, k, &random)?.iter();
            all.filter(|(method, _)| *method == "nepce-default").for_each(|(_, judged)| count.add(judged));
        }
        Ok(count.quantities())
    };
    let case = "all of these, NEPCE by default".to_owned();
    plans.push(Plan { id: "random-nepce-default".to_owned(), case, measure: Box::new(measure) });
    plans
}

fn half(models: &Models, runs: &[Run], choosing: bool) -> Result<Vec<Judged>, Error> {
    runs.iter().filter(|run| run.choosing == choosing).map(|run| run.judged(models)).collect()
}

/// Limits to choose from.
const GRID: [f64; 12] = [1e-3, 2e-3, 3e-3, 5e-3, 1e-2, 2e-2, 3e-2, 5e-2, 0.1, 0.2, 0.3, 0.5];

/// The rule: `trustworthy` is the largest limit with no error above 5 % below it and 95 % of what is below it with errors
/// below 1 %; `unreliable` is the smallest one with no error below 0.5 % above it (1 if there is none).
fn choose(judged: &[Judged]) -> (f64, f64) {
    let holds = |limit: f64| {
        let below: Vec<f64> = judged.iter().filter(|j| j.score < limit).map(|j| j.true_error).collect();
        let small = below.iter().filter(|&&e| e < 0.01).count();
        below.iter().all(|&e| e <= BAD) && small as f64 >= 0.95 * below.len() as f64
    };
    let trustworthy = GRID.into_iter().rev().find(|&limit| holds(limit)).unwrap_or(0.0);
    let quiet = |limit: f64| judged.iter().all(|j| j.true_error >= GOOD || j.score <= limit);
    (trustworthy, GRID.into_iter().find(|&limit| quiet(limit)).unwrap_or(1.0))
}

/// What the rule gives: of the half that is for it, it must be the defaults; the other half is shown.
fn limits(models: &Models, runs: &[Run]) -> Result<Vec<Quantity>, Error> {
    let ((trustworthy, unreliable), other) =
        (choose(&half(models, runs, true)?), choose(&half(models, runs, false)?));
    let wanted = VerdictLimits::default();
    let exactly = |name: &str, limit: f64, x: f64| {
        Quantity::range(name, "", Source::Limit("the defaults"), limit, limit, x)
    };
    let shown = |name: &str, x: f64| Quantity::shown(name, "", x);
    Ok(vec![
        exactly("trustworthy", wanted.trustworthy, trustworthy),
        exactly("unreliable", wanted.unreliable, unreliable),
        shown("trustworthy_by_the_other_half", other.0),
        shown("unreliable_by_the_other_half", other.1),
    ])
}

/// The word as a number that may be held against bounds: 0, 1, 2. Between good and bad runs any word will do.
fn quantities(judged: &Judged) -> Vec<Quantity> {
    let word = f64::from(judged.word as u8);
    let held = |low: f64, high: f64| Quantity::range("word", "", Source::FinerRun, low, high, word);
    let word = if judged.true_error > BAD {
        held(1.0, 2.0)
    } else if judged.true_error < GOOD {
        held(0.0, 1.0)
    } else {
        Quantity::shown("word", "", word)
    };
    vec![
        word,
        Quantity::shown("true_error", "%", 100.0 * judged.true_error),
        Quantity::shown("estimate", "%", 25.0 * judged.score),
        Quantity::shown("bar_high", "%", 150.0 * judged.score),
    ]
}

/// Numbers between 0 and 1, the same on every machine (Knuth's constants for 64 bits).
pub(super) struct Dice(u64);

impl Dice {
    /// For system `n` of a seed.
    pub fn new(seed: u64, n: u64) -> Self {
        let mut dice =
            Dice(0x9E37_79B9_7F4A_7C15 ^ (n + 1).wrapping_mul(0xD1B5_4A32_D192_ED03) ^ seed.rotate_left(40));
        (0..8).for_each(|_| _ = dice.roll());
        dice
    }

    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Evenly on a logarithmic scale.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.roll())
    }
}

/// A random system that is run for some twenty of its fastest swings, and its fastest angular frequency.
type Draw = fn(&mut Dice) -> (Files, f64);

/// Kinds of random systems, and numbers of systems that nothing was chosen by: they were drawn once, after the score, the
/// rule and its limits stood. (Systems 0 to 59 and 1000 to 1059 of the first two kinds were looked at before, 100 to 249
/// while the mean over two steps was tried.)
const KINDS: [(&str, Draw, Range<u64>); 4] = [
    ("random-oscillators", random_oscillator, 5000..5060),
    ("random-quarter-cars", random_quarter_car, 5000..5060),
    ("random-two-rates", random_rates, 5000..5030),
    ("random-stars-of-6-to-10", random_star, 5000..5010),
];

pub(super) fn random_case(dice: &mut Dice, givers: u32) -> (Case, f64) {
    let mut body = |speed: f64| Body {
        mass: dice.between(0.1, 10.0),
        stiffness: dice.between(10.0, 3000.0),
        damping: if dice.roll() < 0.5 { 0.0 } else { dice.between(0.01, 1.0) },
        initial_position: 2.0 * dice.roll() - 1.0,
        initial_velocity: speed * (2.0 * dice.roll() - 1.0),
    };
    let (giver, mass) = (body(30.0), body(30.0));
    let case = Case {
        givers,
        giver,
        mass,
        coupling_stiffness: dice.between(10.0, 3000.0),
        coupling_damping: if dice.roll() < 0.5 { 0.0 } else { dice.between(0.1, 10.0) },
    };
    let fastest =
        |b: &Body, coupled: f64| ((b.stiffness + coupled * case.coupling_stiffness) / b.mass).sqrt();
    let omega = fastest(&giver, 1.0).max(fastest(&mass, f64::from(givers)));
    (case, omega)
}

fn swinging(case: &Case, omega: f64, rates: (u32, u32)) -> (Files, f64) {
    let stop = 20.0 * std::f64::consts::TAU / omega;
    let star = Star { rates, stop, ..Star::oscillator(case) };
    (Arc::new(accurate_star(star)), omega)
}

pub(super) fn random_oscillator(dice: &mut Dice) -> (Files, f64) {
    let (case, omega) = random_case(dice, 1);
    swinging(&case, omega, (1, 1))
}

/// One of both steps 2 to 10 times as often.
fn random_rates(dice: &mut Dice) -> (Files, f64) {
    let (case, omega) = random_case(dice, 1);
    let rate = dice.between(2.0, 10.99) as u32;
    swinging(&case, omega, if dice.roll() < 0.5 { (1, rate) } else { (rate, 1) })
}

/// Five to nine force givers around one mass.
pub(super) fn random_star(dice: &mut Dice) -> (Files, f64) {
    let givers = 5 + (5.0 * dice.roll()) as u32;
    let (case, omega) = random_case(dice, givers);
    swinging(&case, omega, (1, 1))
}

pub(super) fn random_quarter_car(dice: &mut Dice) -> (Files, f64) {
    let (chassis, wheel) = (dice.between(100.0, 1000.0), dice.between(10.0, 100.0));
    let (stiffness, tyre) = (dice.between(5e3, 5e4), dice.between(5e4, 5e5));
    let damping = dice.between(100.0, 3000.0);
    let split = if dice.roll() < 0.5 { Split::R1 } else { Split::R2 };
    let omega = ((stiffness + tyre) / wheel).sqrt();
    let case = QuarterCar { stop: 20.0 * std::f64::consts::TAU / omega, ..QuarterCar::new(split, false, 10) };
    let files = move |step: f64, method: &str| {
        accurate_quarter_car(case)(step, method)
            .replace("mass = 400", &format!("mass = {chassis}"))
            .replace("mass = 40,", &format!("mass = {wheel},"))
            .replace("tyre_stiffness = 150000", &format!("tyre_stiffness = {tyre}"))
            .replace(" stiffness = 15000", &format!(" stiffness = {stiffness}"))
            .replace("damping = 1000", &format!("damping = {damping}"))
    };
    (Arc::new(files), omega)
}

/// Runs of the random systems of a kind by method, made when first asked for.
type Drawn = Shared<Vec<(&'static str, Judged)>>;

/// The random systems of the k-th kind, each run with all methods, at a random step each.
fn drawn<'a>(
    models: &Models,
    k: usize,
    kinds: &'a [Drawn; KINDS.len()],
) -> Result<&'a [(&'static str, Judged)], Error> {
    let draw = || {
        let (_, draw, systems) = &KINDS[k];
        let mut list = Vec::new();
        for seed in systems.clone() {
            let mut dice = Dice::new(0, seed);
            let (files, omega) = draw(&mut dice);
            let subject = Subject { files, fine_step: 1.5e-3 / omega, reference: Shared::default() };
            // The energy correction is for forces that follow positions; these cars exchange velocities.
            let known = |m: &str| !m.starts_with("ecco") && m != "energy-correction";
            for (method, block) in methods(1.0).into_iter().filter(|(m, _)| known(m)) {
                let step = dice.between(0.003, 1.0) / omega;
                list.push((method, subject.judge(models, step, &block)?));
            }
        }
        Ok(list)
    };
    kinds[k].get(draw).map(Vec::as_slice)
}

/// How words and true errors go together.
#[derive(Default)]
struct Count {
    bad: u32,
    missed: u32,
    good: u32,
    passed: u32,
    alarmed: u32,
    /// Errors below 0.1 %, and how many of them were called trustworthy.
    tiny: u32,
    tiny_passed: u32,
    estimated: u32,
    inside: u32,
    above: u32,
}

impl Count {
    fn add(&mut self, judged: &Judged) {
        let one = |yes: bool| u32::from(yes);
        let (bad, good) = (judged.true_error > BAD, judged.true_error < GOOD);
        self.bad += one(bad);
        self.missed += one(bad && judged.word == Word::Trustworthy);
        self.good += one(good);
        self.passed += one(good && judged.word == Word::Trustworthy);
        self.alarmed += one(good && judged.word == Word::Unreliable);
        self.tiny += one(judged.true_error < TINY);
        self.tiny_passed += one(judged.true_error < TINY && judged.word == Word::Trustworthy);
        if judged.word != Word::Unreliable {
            self.estimated += 1;
            self.above += one(judged.true_error > 1.5 * judged.score);
            self.inside += one((judged.score / 30.0..=1.5 * judged.score).contains(&judged.true_error));
        }
    }

    /// On 19 904 runs of other random systems a prototype measured 0.07 %, 1.2 % (above 0.3), 83 % and 90 % of the third,
    /// fourth, fifth and seventh. What is held here is what the words promise: hardly ever a bad run trustworthy or a good
    /// one unreliable, and of errors, of which nine in ten are in the bar, no more than one in ten above it.
    fn quantities(&self) -> Vec<Quantity> {
        let percent = |part: u32, whole: u32| 100.0 * f64::from(part) / f64::from(whole.max(1));
        let within =
            |name: &str, high: f64, x: f64| Quantity::range(name, "%", Source::FinerRun, 0.0, high, x);
        let number = |name: &str, n: u32| Quantity::shown(name, "", f64::from(n));
        let shown = |name: &str, x: f64| Quantity::shown(name, "%", x);
        vec![
            number("bad_runs", self.bad),
            number("good_runs", self.good),
            within("bad_runs_called_trustworthy", 0.5, percent(self.missed, self.bad)),
            within("good_runs_called_unreliable", 3.0, percent(self.alarmed, self.good)),
            shown("good_runs_called_trustworthy", percent(self.passed, self.good)),
            shown("errors_below_0.1_%_called_trustworthy", percent(self.tiny_passed, self.tiny)),
            shown("errors_inside_the_bar", percent(self.inside, self.estimated)),
            within("errors_above_the_bar", 10.0, percent(self.above, self.estimated)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use powerbond::models::oscillator;

    /// What the reference of an oscillator is off by, against its monolithic solution: far less than what is judged.
    #[test]
    fn the_reference_agrees_with_the_monolithic_solution() {
        let subject = Subject::new(1e-4, accurate_star(Star::oscillator(&DOUBLE[0])));
        let reference = subject.reference().unwrap();
        let mut exact = oscillator::Reference::new(&DOUBLE[0]);
        let (mut off, mut size) = (0.0, 0.0);
        for (t, force) in reference.points(0) {
            exact.advance_to(t);
            off += (force - exact.force()).powi(2);
            size += exact.force().powi(2);
        }
        let error = f64::sqrt(off / size);
        assert!(error < 1e-5, "{error}");
    }
}
