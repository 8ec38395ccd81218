//! The verdict on a run in words: one word, an error estimate with its bar, and reasons with what to change.

use super::summary::BondSummary;
use super::verification::Verification;
use crate::assemble::{Assembled, LEAVE_OUT, VERIFY, in_words, round_down};
use crate::catalogue;
use crate::catalogue::Class;
use crate::number::{percent, short, short4};
use crate::system::{OwnStepsBy, System, Verify};
use powerbond_core::estimator::Crossed;
use powerbond_core::observe::verdict::{Findings, InputFindings, VerdictLimits, Word};
use powerbond_core::subsystem::own_step::{FoundBy, OwnError, OwnSteps};
use serde::Serialize;
use serde_json::{Value, json};

/// The verdict on a run.
#[derive(Clone, Debug, Serialize)]
pub struct VerdictSummary {
    /// `trustworthy`, `check` or `unreliable`; `not judged` where nothing is coupled, nothing moves or there are too few steps.
    pub word: &'static str,
    /// In one sentence.
    pub text: String,
    /// A: four times the estimated error. None if a value was not finite.
    pub score: Option<f64>,
    /// Of the coupling variables, rms over rms.
    pub error: ErrorEstimate,
    /// The input whose coupling is the worst, if any is off.
    pub blame: Option<String>,
    /// Why, the gravest first.
    pub reasons: Vec<Reason>,
    /// What to do about the reasons that decide the word, best first: only what the subsystems can do.
    pub advice: Vec<String>,
    /// What the words were judged by.
    pub limits: Value,
}

/// The estimated relative error of the coupling variables.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ErrorEstimate {
    /// `coupling + own`. None where it is unknown: nothing coupled, too few steps, values that are not finite, a failed run.
    pub estimate: Option<f64>,
    /// Few errors are smaller than this.
    pub low: Option<f64>,
    /// Few errors are larger than this.
    pub high: Option<f64>,
    /// The part of the coupling.
    pub coupling: Option<f64>,
    /// The part of the own steps of subsystems; none where nothing was probed.
    pub own: Option<f64>,
    /// The estimate only says that the error is large.
    pub large: bool,
}

/// A reason for the word.
#[derive(Clone, Debug, Serialize)]
pub struct Reason {
    /// What it is; see the documentation of the verdict.
    pub code: &'static str,
    /// `unreliable` and `check` decide the word; `note` explains.
    pub level: &'static str,
    /// The bond, if it is one's.
    pub bond: Option<String>,
    /// The connection as `outputs -> input`, if it is one's.
    pub connection: Option<String>,
    /// When, in s.
    pub time: Option<f64>,
    /// The number behind it.
    pub value: Option<f64>,
    /// What it is held against.
    pub limit: Option<f64>,
    /// In words.
    pub text: String,
    /// What to change, best first.
    pub advice: String,
    /// The same one by one.
    #[serde(skip)]
    ways: Vec<String>,
}

/// Jumps of one input at communication points.
#[derive(Clone, Debug, Serialize)]
pub struct InputSummary {
    /// Its name.
    pub name: String,
    /// What feeds it.
    pub sources: Vec<String>,
    /// Its score; the largest of all inputs is that of the run.
    pub score: f64,
    /// rms of jumps, in its unit.
    pub jump_rms: f64,
    /// The largest jump, in its unit.
    pub jump_max: f64,
    /// When it was, in s.
    pub jump_time: f64,
    /// rms of the mean defect of what was held, in its unit.
    pub defect: f64,
    /// rms of the part of prediction defects that passes through direct feed-through, in its unit.
    pub stale: f64,
    /// Standard deviation over the run, in its unit.
    pub spread: f64,
    /// How often it and its neighbours go up and down.
    pub swings: f64,
    /// What a push of the size of its standard deviation moves the outputs of its subsystem by in half an oscillation, over theirs; none
    /// where it was not tried. Below 0.2 its defects count less.
    pub answer: Option<f64>,
    /// Lag-1 correlation of jumps.
    pub correlation: f64,
    /// `rms(Δ²u)/rms(Δu)`: above 0.5 there are too few points per swing.
    pub roughness: f64,
    /// Share of jumps with another sign than the one before.
    pub alternation: f64,
    /// rms of the last quarter over that of the second one.
    pub growth: f64,
    /// What the largest defect of a single step leaves in the integral of the input, over the range of that integral.
    pub kick: f64,
    /// How far redundant integrals of the input drift apart, over the same range.
    pub drift: f64,
}

/// Jump statistics of every coupled input.
pub fn inputs(assembled: &Assembled, findings: &Findings) -> Vec<InputSummary> {
    let one = |f: &InputFindings| InputSummary {
        name: assembled.names.inputs[f.input].to_string(),
        sources: sources(assembled, f.input),
        score: f.score,
        jump_rms: f.jump_rms,
        jump_max: f.jump_max,
        jump_time: f.jump_time,
        defect: f.defect,
        stale: f.stale,
        spread: f.spread,
        swings: f.swings,
        answer: f.answer.is_finite().then_some(f.answer),
        correlation: f.correlation,
        roughness: f.roughness,
        alternation: f.alternation,
        growth: f.growth,
        kick: f.kick,
        drift: f.drift,
    };
    findings.inputs.iter().map(one).collect()
}

fn sources(assembled: &Assembled, input: usize) -> Vec<String> {
    let network = assembled.engine.network();
    network.wiring.sources(input).map(|(y, _)| assembled.names.outputs[y].to_string()).collect()
}

/// Judges a run that came to its `bonds` and, if it failed, an `error`.
pub fn verdict(
    system: &System,
    assembled: &Assembled,
    findings: &Findings,
    bonds: &[BondSummary],
    error: Option<&str>,
) -> VerdictSummary {
    let own = Own::of(assembled);
    let total = findings.error() + own.error();
    let limits = &system.verdict.limits;
    let unjudged = Unjudged::of(findings, limits);
    let judge = Judge { system, assembled, findings, own: &own, total };
    let mut reasons = Vec::new();
    if let Some(error) = error {
        reasons.push(Reason {
            time: Some(assembled.engine.time()),
            ..reason("failed", Word::Unreliable, format!("the run failed: {error}"), "see the error")
        });
    }
    reasons.extend(unjudged.map(|why| judge.unjudged(why)));
    judge.coupling(&mut reasons);
    judge.steps(&mut reasons);
    judge.jumps(&mut reasons);
    judge.energy(bonds, &mut reasons);
    judge.own_steps(&mut reasons);
    if unjudged == Some(Unjudged::TooFewSteps) {
        // So few steps give no numbers to judge by.
        reasons.retain(|r| r.level == "note" || ["failed", "non_finite"].contains(&r.code));
    }
    // What grows without bound is the cause of whatever else is said of it.
    let rank =
        |r: &Reason| (["unreliable", "check", "note"].iter().position(|l| *l == r.level), r.code != "growth");
    reasons.sort_by_key(rank);
    let enough = unjudged != Some(Unjudged::TooFewSteps);
    // Probes bound the own part from above, in undamped systems far above: alone it is a reason to check, not to distrust.
    let coupling = limits.word(4.0 * findings.error());
    let both = limits.word(4.0 * total).min(coupling.max(Word::Check));
    let decided = if error.is_some() { Word::Unreliable } else { both };
    let word = match reasons.first().map(|r| r.level) {
        Some("unreliable") => Word::Unreliable,
        Some("check") => decided.max(Word::Check),
        _ => decided,
    };
    // Where the coupling says nothing, a run is never called good; what is bad about it is told.
    let open = unjudged.filter(|_| reasons.iter().all(|r| r.level == "note"));
    let known = total.is_finite() && enough && open.is_none() && (unjudged.is_none() || own.error() > 0.0);
    let [low, high] = typical_range(system, assembled);
    let estimate = ErrorEstimate {
        estimate: known.then_some(total),
        low: known.then_some(low * total),
        high: known.then_some(high * total),
        coupling: known.then(|| findings.error()),
        own: own
            .found
            .as_ref()
            .filter(|_| enough && total.is_finite())
            .map(|(_, found)| found.estimate)
            .or(own.covers.then_some(0.0)),
        // An estimate is none of what grows without bound.
        large: known
            && (4.0 * findings.error() > limits.unreliable
                || reasons.first().is_some_and(|r| r.code == "growth" && r.level == Word::Unreliable.text())),
    };
    let score = 4.0 * total;
    VerdictSummary {
        word: if open.is_none() { word.text() } else { NOT_JUDGED },
        text: match open {
            Some(why) => why.text().to_owned(),
            None => sentence(word, &estimate, findings, &own, assembled),
        },
        score: (open.is_none() && score.is_finite()).then_some(score),
        error: estimate,
        blame: findings.blame.map(|i| assembled.names.inputs[i].to_string()),
        advice: advice(&reasons, open, judge.urgent()),
        reasons,
        limits: self::limits(system),
    }
}

/// What the reasons that decide advise, each way once: what is `urgent` first, then what helps against all of them, and measuring last.
fn advice(reasons: &[Reason], open: Option<Unjudged>, urgent: Option<String>) -> Vec<String> {
    let decides = |r: &&Reason| r.level != "note" || open.is_some_and(|why| why.code() == r.code);
    let mut all: Vec<String> = urgent.clone().into_iter().collect();
    for way in reasons.iter().filter(decides).flat_map(|r| &r.ways) {
        if !all.contains(way) {
            all.push(way.clone());
        }
    }
    let rank = |way: &String| match way.as_str() {
        way if way.starts_with(LEAVE_OUT) => 0,
        _ if urgent.as_ref() == Some(way) => 1,
        way if way.starts_with("`--tolerance") => 2,
        VERIFY => 4,
        _ => 3,
    };
    all.sort_by_key(rank);
    all
}

/// The code of the reason that a run could not be verified.
pub(super) const NOT_VERIFIED: &str = "not_verified";

/// What that reason says.
pub(super) fn not_verified(why: &str) -> String {
    format!("the run could not be verified: {why}")
}

/// The word where there is nothing to judge.
pub const NOT_JUDGED: &str = "not judged";

/// Why the coupling says nothing about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unjudged {
    NothingCoupled,
    NothingMoved,
    TooFewSteps,
}

impl Unjudged {
    const ALL: [Unjudged; 3] = [Unjudged::NothingCoupled, Unjudged::NothingMoved, Unjudged::TooFewSteps];

    fn of(findings: &Findings, limits: &VerdictLimits) -> Option<Self> {
        // A spread that is no number is that of something that moved.
        let moved = |f: &InputFindings| f.spread > 0.0 || !f.spread.is_finite() || f.score != 0.0;
        if findings.inputs.is_empty() {
            Some(Unjudged::NothingCoupled)
        } else if findings.steps < limits.min_steps {
            Some(Unjudged::TooFewSteps)
        } else {
            (!findings.inputs.iter().any(moved)).then_some(Unjudged::NothingMoved)
        }
    }

    /// Of the reason that says so.
    fn code(self) -> &'static str {
        match self {
            Unjudged::NothingCoupled => "nothing_coupled",
            Unjudged::NothingMoved => "nothing_moved",
            Unjudged::TooFewSteps => "too_few_steps",
        }
    }

    /// In a few words.
    fn text(self) -> &'static str {
        match self {
            Unjudged::NothingCoupled => "nothing is coupled",
            Unjudged::NothingMoved => "no coupled variable moved",
            Unjudged::TooFewSteps => "too few steps",
        }
    }

    /// Of a verdict.
    fn said(verdict: &VerdictSummary) -> Option<Self> {
        Unjudged::ALL.into_iter().find(|why| verdict.reasons.iter().any(|r| r.code == why.code()))
    }
}

/// The typical range over the estimate, by what the subsystems can do; docs/accuracy.md says how many errors were inside, and on what.
fn typical_range(system: &System, assembled: &Assembled) -> [f64; 2] {
    let members = assembled.engine.network().members.iter().zip(&assembled.classes);
    let mut coupled = members.filter(|(member, _)| !member.inputs.is_empty()).map(|(_, class)| class);
    match system.method.is_steered_by_jumps() {
        true if coupled.all(|class| matches!(class, Class::A | Class::B)) => [1.0 / 60.0, 4.0],
        true => [1.0 / 60.0, 8.0],
        false if assembled.feeds.iter().any(|feed| system.method.hold.varies() && feed.is_mean()) => {
            [1.0 / 25.0, 8.0]
        }
        false => [1.0 / 15.0, 6.0],
    }
}

/// What is known of the own steps of all subsystems.
struct Own {
    /// The largest error, and the subsystem that has it.
    found: Option<(usize, OwnError)>,
    /// Subsystems that could not be probed.
    unknown: Vec<usize>,
    /// At least one was probed.
    covers: bool,
}

impl Own {
    fn of(assembled: &Assembled) -> Self {
        let is_known = |own: &Option<OwnSteps>| own.as_ref().is_some_and(OwnSteps::is_known);
        let all = || assembled.own.iter().enumerate();
        let errors = all().filter_map(|(s, own)| Some((s, own.as_ref()?.error()?)));
        Own {
            found: errors.max_by(|a, b| a.1.estimate.total_cmp(&b.1.estimate)),
            unknown: all().filter(|(_, own)| !is_known(own)).map(|(s, _)| s).collect(),
            covers: assembled.own.iter().any(is_known),
        }
    }

    fn error(&self) -> f64 {
        self.found.as_ref().map_or(0.0, |(_, found)| found.estimate)
    }
}

impl VerdictSummary {
    /// From now on it says what finer runs measured. Reasons that guessed at the error are notes; without a result there is one more.
    pub(crate) fn verify(&mut self, system: &System, found: &Verification) {
        let limits = &system.verdict.limits;
        let (Some(error), Some(low), Some(high)) = (found.error, found.low, found.high) else {
            let why = found.failure.as_deref().unwrap_or("no run to compare with");
            self.reasons.insert(0, reason(NOT_VERIFIED, Word::Check, not_verified(why), Vec::new()));
            if self.word == Word::Trustworthy.text() {
                self.word = Word::Check.text();
            }
            return;
        };
        let score = 4.0 * error;
        let word = limits.word(score);
        let unjudged = Unjudged::said(self);
        // No difference says nothing of a subsystem alone: its internal steps may have nothing to do with those of the run.
        let open = match unjudged {
            Some(Unjudged::TooFewSteps) => word == Word::Trustworthy,
            Some(_) => error == 0.0,
            None => false,
        };
        let large = word == Word::Unreliable;
        let worst = found.worst.as_ref().map_or(String::new(), |name| format!(", worst at `{name}`"));
        let by = found.by;
        self.text = match error {
            _ if found.outputs.is_empty() => "no output moved".to_owned(),
            0.0 => format!("no difference to a run with every step in {by}"),
            _ => format!(
                "error {}{} ({} to {}){worst}; verified with every step in {by}",
                if large { "large: " } else { "" },
                percent(error),
                percent(low),
                percent(high)
            ),
        };
        for reason in &mut self.reasons {
            reason.level = "note";
        }
        self.advice.retain(|way| way != VERIFY && word != Word::Trustworthy);
        let by_tolerance = system.method.jump_tolerance().is_some() && system.verdict.error.is_none();
        if by_tolerance && matches!(word, Word::Check | Word::Unreliable) {
            let wanted = short(25.0 * limits.trustworthy);
            let again = format!(
                "`--error {wanted}%` runs again with smaller tolerances until the measured error is no larger"
            );
            self.advice.insert(0, again);
        }
        if open {
            let why = unjudged.map_or("", Unjudged::text);
            self.text = format!("{why}; {}", self.text);
            (self.word, self.score) = (NOT_JUDGED, None);
            return;
        }
        // It was measured what the coupling could not tell.
        self.reasons
            .retain(|r| r.code != "own_not_covered" && unjudged.is_none_or(|why| r.code != why.code()));
        self.word = word.text();
        self.score = score.is_finite().then_some(score);
        self.error = if error.is_finite() {
            ErrorEstimate { estimate: Some(error), low: Some(low), high: Some(high), large, ..self.error }
        } else {
            ErrorEstimate { estimate: None, low: None, high: None, large: true, ..self.error }
        };
    }
}

/// The limits that hold.
pub fn limits(system: &System) -> Value {
    let v = &system.verdict;
    json!({
        "trustworthy": v.limits.trustworthy,
        "unreliable": v.limits.unreliable,
        "min_steps": v.limits.min_steps,
        "roughness": v.limits.roughness,
        "ringing": v.limits.ringing,
        "growth": v.limits.growth,
        "residual": v.residual,
        "over_tolerance": v.over_tolerance,
        "capped": v.capped,
        "max_error": v.max_error.as_ref().map(|x| x.value),
        "max_energy_residual": v.max_energy_residual.as_ref().map(|x| x.value),
        "verify": v.verify_by().map(Verify::text),
        "error": v.error.as_ref().map(|x| x.value),
    })
}

/// The limits that the user set and the run exceeds, in words.
pub fn exceeded(system: &System, verdict: &VerdictSummary, bonds: &[BondSummary]) -> Vec<String> {
    let mut list = Vec::new();
    if let Some(max) = system.verdict.max_error.as_ref().filter(|_| unchecked(system, verdict).is_none()) {
        match verdict.error.estimate {
            Some(error) if error <= max.value => {}
            Some(error) => list.push(format!(
                "the estimated error is {}{}, more than the {} allowed",
                percent(error),
                blamed(verdict),
                percent(max.value)
            )),
            None => list.push(format!(
                "the error cannot be estimated, and at most {} is allowed",
                percent(max.value)
            )),
        }
    }
    if let Some(max) = &system.verdict.max_energy_residual {
        let over = |b: &&BondSummary| !b.residual_share.is_finite() || b.residual_share.abs() > max.value;
        for bond in bonds.iter().filter(over) {
            list.push(format!(
                "the energy residual of bond `{}` is {} J, {} of the {} J exchanged; {} is allowed",
                bond.name,
                short4(bond.residual),
                percent(bond.residual_share.abs()),
                short4(bond.exchanged),
                percent(max.value)
            ));
        }
    }
    list
}

/// Where nothing is exchanged there is no coupling error to hold against the limit that the user set, and that is said.
pub fn unchecked(system: &System, verdict: &VerdictSummary) -> Option<String> {
    let max = system.verdict.max_error.as_ref()?;
    let why = Unjudged::said(verdict).filter(|why| *why != Unjudged::TooFewSteps)?;
    (verdict.word == NOT_JUDGED && system.verdict.verify_by().is_none()).then(|| {
        format!(
            "the limit of {} for the error was not checked: {}. With `--verify` the error is measured and checked",
            percent(max.value),
            why.text()
        )
    })
}

fn blamed(verdict: &VerdictSummary) -> String {
    verdict.blame.as_ref().map_or(String::new(), |name| format!(" (worst at `{name}`)"))
}

fn sentence(
    word: Word,
    error: &ErrorEstimate,
    findings: &Findings,
    own: &Own,
    assembled: &Assembled,
) -> String {
    let Some(estimate) = error.estimate else {
        return "the error of this run cannot be estimated".to_owned();
    };
    let range = || {
        format!(
            "typical range {} to {}",
            percent(error.low.unwrap_or(0.0)),
            percent(error.high.unwrap_or(0.0))
        )
    };
    // Where own steps have a say, both parts are shown.
    if let Some((member, found)) = own.found.as_ref().filter(|(_, o)| o.estimate > 0.1 * estimate) {
        let name = &assembled.names.subsystems[*member];
        let parts = format!(
            "coupling {}, `{name}`'s own steps {}",
            percent(findings.error()),
            percent(found.estimate)
        );
        return if error.large {
            format!("the error is large: {parts}")
        } else {
            format!("error about {} ({}): {parts}", percent(estimate), range())
        };
    }
    let worst =
        findings.blame.map_or(String::new(), |i| format!(", worst at `{}`", assembled.names.inputs[i]));
    match (word, findings.blame) {
        (_, None) => "no coupling error detected; errors inside subsystems are not seen".to_owned(),
        _ if error.large => format!("the coupling error is large{worst}"),
        _ => format!("coupling error about {} ({}){worst}", percent(estimate), range()),
    }
}

/// Ways to do something about a reason, best first.
struct Ways(Vec<String>);

impl From<&str> for Ways {
    fn from(way: &str) -> Self {
        Ways(vec![way.to_owned()])
    }
}

impl From<Vec<String>> for Ways {
    fn from(ways: Vec<String>) -> Self {
        Ways(ways)
    }
}

fn reason(code: &'static str, level: Word, text: String, advice: impl Into<Ways>) -> Reason {
    let Ways(ways) = advice.into();
    Reason {
        code,
        level: level.text(),
        bond: None,
        connection: None,
        time: None,
        value: None,
        limit: None,
        text,
        advice: in_words(&ways),
        ways,
    }
}

fn note(code: &'static str, text: String, advice: impl Into<Ways>) -> Reason {
    Reason { level: "note", ..reason(code, Word::Check, text, advice) }
}

struct Judge<'a> {
    system: &'a System,
    assembled: &'a Assembled,
    findings: &'a Findings,
    own: &'a Own,
    /// The estimated error: coupling and own steps.
    total: f64,
}

impl Judge<'_> {
    /// What makes the error smaller, best first, and measuring it.
    fn ways(&self, more: impl IntoIterator<Item = &'static str>) -> Vec<String> {
        let limits = &self.system.verdict.limits;
        let wanted = limits.trustworthy / 4.0;
        let ways = match self.blamed() {
            Some(f) if self.unannounced(f) => self.ways_past_discontinuities(),
            Some(f) if self.noisy(f) => {
                self.assembled.default_method().into_iter().chain([NOISE.to_owned()]).collect()
            }
            _ => {
                let follows = if self.stiff_own().is_some() { self.findings.error() } else { self.total };
                let known = (self.findings.steps >= limits.min_steps).then_some(follows);
                match known.filter(|error| *error <= wanted && self.total > wanted) {
                    Some(_) => self.assembled.default_method().into_iter().collect(),
                    None => self.assembled.ways_to_accuracy(known, wanted),
                }
            }
        };
        let more = more.into_iter().chain(self.assembled.verify(self.system)).map(str::to_owned);
        ways.into_iter().chain(more).collect()
    }

    /// The input whose coupling is the worst.
    fn blamed(&self) -> Option<&InputFindings> {
        self.findings.inputs.iter().find(|f| Some(f.input) == self.findings.blame)
    }

    /// What comes before all else: what the largest error follows, or a tolerance that only costs steps.
    fn urgent(&self) -> Option<String> {
        let limits = &self.system.verdict.limits;
        let decides = |own: &OwnError| {
            own.estimate > self.findings.error().max(limits.trustworthy / 4.0)
                && self.findings.steps >= limits.min_steps
        };
        match self.stiff_own().filter(|(_, own)| decides(own)) {
            Some((s, OwnError { by: FoundBy::Twin, .. })) => Some(self.more_sub_steps(*s)),
            // A bound, which may be far above.
            Some(_) => self.assembled.verify(self.system).map(str::to_owned),
            None => {
                let missed = self.assembled.engine.statistics().over_tolerance > 0;
                self.assembled.below_round_off().filter(|_| missed)
            }
        }
    }

    /// The largest error by own steps, if it does not follow the tolerance: nothing divides them, or they are divided as finely as they
    /// may be.
    fn stiff_own(&self) -> Option<&(usize, OwnError)> {
        let finest = |s: usize| {
            let capped = self.assembled.own[s].as_ref().map_or(0, |steps| steps.copy().capped);
            10 * capped > self.findings.steps
        };
        self.own.found.as_ref().filter(|(s, own)| matches!(own.by, FoundBy::Twin) || finest(*s))
    }

    fn more_sub_steps(&self, s: usize) -> String {
        format!(
            "`rate = {}` in `[subsystems.{}]`: it makes shorter steps than the others",
            4 * self.assembled.rates[s],
            self.assembled.names.subsystems[s]
        )
    }

    /// Noise of an input, over its standard deviation, times what a line through noisy points makes of it.
    fn noise_share(&self, f: &InputFindings) -> f64 {
        let driving = self.assembled.engine.driving().filter(|e| !e.diagnostics().limited.is_empty());
        let noise = driving.and_then(|e| e.diagnostics().noise.get(f.input).copied()).unwrap_or(0.0);
        if f.spread > 0.0 { 10.0 * noise / f.spread } else { 0.0 }
    }

    /// Whether noise keeps the error of an input above what a trustworthy run has, whatever its steps.
    fn noisy(&self, f: &InputFindings) -> bool {
        self.noise_share(f) > self.system.verdict.limits.trustworthy / 4.0
    }

    /// Whether most of what an input is off by happened in steps with a discontinuity inside.
    fn unannounced(&self, f: &InputFindings) -> bool {
        f.sudden > 0.5 && self.crossed().is_some()
    }

    /// Steps that went over a discontinuity, and the worst of them.
    fn crossed(&self) -> Option<(u64, Crossed)> {
        self.assembled.engine.driving().and_then(|e| e.diagnostics().crossed)
    }

    /// What makes an unannounced discontinuity cost less, best first.
    fn ways_past_discontinuities(&self) -> Vec<String> {
        let shorter = self.crossed().map(|(_, worst)| {
            let step = round_down(0.1 * worst.step);
            format!("`--set method.controller.max_step={step:e}`: no step over a discontinuity is longer, and its error smaller")
        });
        let event = "let the model announce the event, or return early at it".to_owned();
        let rollback = self.assembled.rollback().map(str::to_owned);
        self.assembled.default_method().into_iter().chain(rollback).chain(shorter).chain([event]).collect()
    }

    /// Why the coupling says nothing, and what does.
    fn unjudged(&self, why: Unjudged) -> Reason {
        let findings = self.findings;
        let verify = self.assembled.verify(self.system);
        let measured = "`--verify` runs it again with every step in halves and measures them";
        let (text, advice) = match why {
            Unjudged::NothingCoupled => (
                match self.assembled.names.subsystems.len() {
                    1 => "one subsystem alone exchanges nothing; errors of its own steps are not seen"
                        .to_owned(),
                    _ => {
                        "no numbers are exchanged between subsystems; errors of their own steps are not seen"
                            .to_owned()
                    }
                },
                verify.map(|_| measured.to_owned()).into_iter().collect::<Vec<_>>(),
            ),
            Unjudged::NothingMoved => (
                "all coupled variables are constant: an error of the coupling would not show".to_owned(),
                vec!["check start values, `[inputs]` and connections, or run longer".to_owned()],
            ),
            Unjudged::TooFewSteps => {
                let (made, needed) = (findings.steps, self.system.verdict.limits.min_steps);
                let ways = self.assembled.default_method().into_iter().chain(["run longer".to_owned()]);
                (
                    format!("only {made} steps; at least {needed} are needed for an estimate"),
                    ways.chain(verify.map(str::to_owned)).collect(),
                )
            }
        };
        let few = (why == Unjudged::TooFewSteps).then_some(findings.steps as f64);
        let limit = few.map(|_| self.system.verdict.limits.min_steps as f64);
        Reason { value: few, limit, ..note(why.code(), text, advice) }
    }

    /// Jumps of inputs: the score, and what explains it.
    fn coupling(&self, out: &mut Vec<Reason>) {
        let limits = &self.system.verdict.limits;
        let findings = self.findings;
        for f in findings.inputs.iter().filter(|f| !f.score.is_finite()) {
            out.push(Reason {
                connection: Some(self.connection(f.input)),
                ..reason(
                    "non_finite",
                    Word::Unreliable,
                    format!("`{}` became infinite or NaN", self.name(f.input)),
                    self.ways(["check the subsystem that feeds it"]),
                )
            });
        }
        let mut bad: Vec<&InputFindings> =
            findings.inputs.iter().filter(|f| f.score.is_finite() && f.score >= limits.trustworthy).collect();
        bad.sort_by(|a, b| b.score.total_cmp(&a.score));
        for f in bad.iter().take(MOST) {
            let level = if f.score > limits.unreliable { Word::Unreliable } else { Word::Check };
            let limit = if level == Word::Check { limits.trustworthy } else { limits.unreliable };
            out.push(Reason {
                connection: Some(self.connection(f.input)),
                time: Some(f.jump_time),
                value: Some(f.score),
                limit: Some(limit),
                ..reason("jump", level, self.jump_text(f), self.jump_advice(f))
            });
        }
        if bad.len() > MOST {
            let text = format!("{} more inputs have errors", bad.len() - MOST);
            out.push(note("more_jumps", text, "see `inputs` in summary.json"));
        }
        for f in &findings.inputs {
            self.explain(f, out);
        }
    }

    fn explain(&self, f: &InputFindings, out: &mut Vec<Reason>) {
        let limits = &self.system.verdict.limits;
        let name = self.name(f.input);
        let at = |value: f64, limit: f64, reason: Reason| Reason {
            connection: Some(self.connection(f.input)),
            value: Some(value),
            limit: Some(limit),
            ..reason
        };
        let off = f.score >= limits.trustworthy;
        // Noise is rough and changes sign by itself.
        let noisy = self.noisy(f);
        if off && !noisy && f.roughness > limits.roughness {
            let points = std::f64::consts::TAU / (2.0 * (f.roughness / 2.0).min(1.0).asin());
            let text = format!(
                "`{name}` has too few points per oscillation: about {points:.1} where it changes fastest, and 20 are good"
            );
            out.push(at(f.roughness, limits.roughness, note("few_points", text, self.ways([]))));
        }
        if off && !noisy && f.alternation > limits.ringing {
            let text = format!(
                "`{name}` rings: {:.0} % of its prediction defects change sign; the coupling is close to its stability limit",
                100.0 * f.alternation
            );
            let advice = self.ways(self.assembled.refresh());
            out.push(at(f.alternation, limits.ringing, note("ringing", text, advice)));
        }
        if f.drift > DRIFT {
            let level = if f.drift > DRIFT_TO_CHECK { Word::Check.text() } else { "note" };
            let text = format!(
                "`{name}`: defects add up to {} of the range of its integral: quantities that two subsystems integrate \
                 from it drift apart",
                percent(f.drift)
            );
            let advice = self.ways(["connect the integral itself where both sides need it"]);
            out.push(at(f.drift, DRIFT, Reason { level, ..note("drift", text, advice) }));
        }
        // What grows without defects grows by itself: a wave that reaches a body at rest, a motor that is loaded. So does what has grown
        // and then stays: an unstable coupling goes on.
        let rings = f.alternation > limits.ringing && f.score > ROUND_OFF * limits.trustworthy;
        let goes_on = f.late > GOES_ON * f.growth.sqrt();
        let made = (off && goes_on) || rings || (self.all_explode() && f.early > EARLY);
        if f.growth > limits.growth && made {
            let times = if f.growth < 1e4 { format!("{:.1}", f.growth) } else { short4(f.growth) };
            let text = format!(
                "`{name}` grows: {times} times larger at the end than before; if the system itself does not, the coupling is \
                 unstable"
            );
            // Around a loop that is not solved each exchange multiplies what the last one missed.
            let exchanged =
                self.assembled.engine.unsolved_loops().iter().any(|l| l.inputs.contains(&f.input));
            let level = match off && (exchanged || f.score > limits.unreliable) {
                true => Word::Unreliable,
                false => Word::Check,
            };
            out.push(at(f.growth, limits.growth, reason("growth", level, text, self.ways([]))));
        }
    }

    /// Whether all coupled inputs have grown that much out of a motion that was there: an unstable coupling takes everything along, and a
    /// wave comes from something. What it has grown to hides what the defects were while it was small.
    fn all_explode(&self) -> bool {
        self.findings.inputs.iter().all(|f| EXPLODED.contains(&f.growth))
    }

    /// Steps over tolerance, at the floor.
    fn steps(&self, out: &mut Vec<Reason>) {
        let statistics = self.assembled.engine.statistics();
        let limit = self.system.verdict.over_tolerance;
        // By time: many of them may be tiny, after a discontinuity or where a motion begins.
        let share = |seconds: f64| if statistics.time > 0.0 { seconds / statistics.time } else { 0.0 };
        let level = |seconds: f64| if share(seconds) > limit { "check" } else { "note" };
        // Before there is a scale, norms are large whatever the error.
        let over_tolerance = statistics.over_tolerance - statistics.without_scale;
        if self.assembled.adaptive && over_tolerance > 0 {
            let mut text = format!(
                "{} of {} steps {} accepted over tolerance; the largest error norm is {}",
                over_tolerance,
                statistics.accepted,
                if over_tolerance == 1 { "was" } else { "were" },
                short4(statistics.worst_norm.value)
            );
            if statistics.without_scale > 0 {
                text += &format!(
                    "; {} more at the start, where errors had no scale yet",
                    statistics.without_scale
                );
            }
            out.push(Reason {
                level: level(statistics.time_over),
                time: Some(statistics.worst_norm.time),
                value: Some(share(statistics.time_over)),
                limit: Some(limit),
                ..note("over_tolerance", text, self.ways_within_tolerance())
            });
        }
        if statistics.at_floor > 0 {
            let text = format!("{} steps were over tolerance at the smallest step size", statistics.at_floor);
            let otherwise = || "a larger tolerance, or a lower `min_step`".to_owned();
            let way = self.assembled.larger_tolerance().unwrap_or_else(otherwise);
            out.push(Reason {
                level: level(statistics.time_at_floor),
                time: statistics.first_at_floor,
                value: Some(share(statistics.time_at_floor)),
                limit: Some(limit),
                ..note("step_floor", text, vec![way])
            });
        }
    }

    /// What keeps steps within the tolerance, best first.
    fn ways_within_tolerance(&self) -> Vec<String> {
        let assembled = self.assembled;
        if let Some(larger) = assembled.larger_tolerance() {
            return vec![larger];
        }
        if self.blamed().is_some_and(|f| self.noisy(f)) {
            return vec![NOISE.to_owned()];
        }
        let ways = [assembled.rollback(), Some("a smaller `max_rate`"), assembled.verify(self.system)];
        assembled.default_method().into_iter().chain(ways.into_iter().flatten().map(str::to_owned)).collect()
    }

    /// Whether the largest defect of a single step leaves more in the integral of an input than a trustworthy run may.
    fn kicks(&self) -> bool {
        let limit = self.system.verdict.limits.trustworthy / 4.0;
        self.findings.inputs.iter().any(|f| f.kick.is_nan() || f.kick > limit)
    }

    /// Errors by the own steps of subsystems, and those that cannot be seen.
    fn own_steps(&self, out: &mut Vec<Reason>) {
        let own = self.own;
        let limits = &self.system.verdict.limits;
        let names = &self.assembled.names.subsystems;
        for (s, steps) in self.assembled.own.iter().enumerate() {
            let Some(steps) = steps else { continue };
            let sums = steps.copy();
            if let Some(off) = sums.unfaithful {
                let text = format!(
                    "`{}`: restoring its state does not lead back to it (outputs differ by {}); its own steps are not probed",
                    names[s],
                    percent(off)
                );
                out.push(note("restore", text, "do not use methods with rollback for it"));
            }
            let Some(found) = steps.error().filter(|found| found.estimate > 0.25 * limits.trustworthy) else {
                continue;
            };
            let level = match limits.word(4.0 * found.estimate) {
                Word::Trustworthy => "note",
                _ => Word::Check.text(),
            };
            let most = if sums.most > 1 {
                format!(", in up to {} sub-steps per step", sums.most)
            } else {
                String::new()
            };
            let how = match found.by {
                FoundBy::Probes { bound, order } => {
                    format!(", at most {} (order {order:.1})", percent(bound))
                }
                FoundBy::Twin => " by its twin, which makes every step in halves".to_owned(),
            };
            let restores = self.assembled.engine.network().members[s].capabilities.can_restore;
            let text = format!(
                "`{}` integrates with the communication step: its own error is about {}{how}{most}",
                names[s],
                percent(found.estimate)
            );
            let smaller = "a parameter of the model that makes its internal steps smaller";
            let advice = match found.by {
                FoundBy::Probes { .. } | FoundBy::Twin if restores => self.ways([smaller]),
                // What nobody sub-steps does not follow the tolerance.
                FoundBy::Probes { .. } | FoundBy::Twin => {
                    let more = [Some(smaller), self.assembled.verify(self.system)].into_iter().flatten();
                    std::iter::once(self.more_sub_steps(s)).chain(more.map(str::to_owned)).collect()
                }
            };
            out.push(Reason {
                level,
                value: Some(found.estimate),
                limit: Some(limits.trustworthy / 4.0),
                ..note("own_step", text, advice)
            });
        }
        for s in self.assembled.perhaps_without_feed_through() {
            let text = format!(
                "`{}` does not say whether its outputs depend on inputs at the same instant, so they are read again at every communication \
                 point: \
                 if none does, `feed_through = []` in its table saves these calls",
                names[s]
            );
            out.push(note("feed_through", text, "`feed_through = []`"));
        }
        if !own.unknown.is_empty() && Unjudged::of(self.findings, limits).is_none() {
            let listed: Vec<String> =
                own.unknown.iter().take(MOST).map(|&s| format!("`{}`", names[s])).collect();
            let more = if own.unknown.len() > MOST {
                format!(" and {} more", own.unknown.len() - MOST)
            } else {
                String::new()
            };
            let why = |s: &usize| self.assembled.own[*s].as_ref().and_then(|steps| steps.copy().failed);
            let steady = |&s: &usize| self.assembled.own[s].as_ref().is_some_and(OwnSteps::is_steady);
            let capabilities = |&s: &usize| &self.assembled.engine.network().members[s].capabilities;
            let undivided = |s: &usize| {
                let can = capabilities(s);
                !can.sub_steps || can.constant_step || can.fixed_step.is_some()
            };
            let single = |s: &usize| capabilities(s).once && !capabilities(s).can_restore;
            let otherwise = if own.unknown.iter().all(steady) {
                "their steps cannot be probed in the run, and showed nothing before it"
            } else if own.unknown.iter().all(undivided) {
                "their steps cannot be divided"
            } else if own.unknown.iter().all(single) {
                "they cannot be restored, and there can be one of them in a process"
            } else {
                "their steps cannot be probed"
            };
            let why = own.unknown.iter().find_map(why).unwrap_or(otherwise.to_owned());
            let mut ways = vec!["`--verify`".to_owned()];
            let twin = own.unknown.iter().any(|&s| self.may_get_a_twin(s));
            ways.extend(twin.then(|| TWIN.to_owned()));
            let or = if twin { format!(", and so does {TWIN}") } else { String::new() };
            let text = format!(
                "errors of the own integration of {}{more} are not covered: {why}; `--verify` covers them{or}",
                listed.join(", ")
            );
            out.push(note("own_not_covered", text, ways));
        }
    }

    /// Whether a twin would tell the own steps of a subsystem, and was not asked for.
    fn may_get_a_twin(&self, s: usize) -> bool {
        let can = &self.assembled.engine.network().members[s].capabilities;
        let divided = can.sub_steps && !can.constant_step && can.fixed_step.is_none();
        divided && !can.can_restore && !can.once && self.system.verdict.own_steps != OwnStepsBy::Twin
    }

    /// What the jumps of inputs tell: unannounced discontinuities, and noise that no step can go below.
    fn jumps(&self, out: &mut Vec<Reason>) {
        let findings = self.findings;
        let Some(driving) = self.assembled.engine.driving().filter(|e| !e.diagnostics().limited.is_empty())
        else {
            return;
        };
        if let Some((count, worst)) = driving.diagnostics().crossed {
            let name = self.name(worst.input);
            let others = if count > 1 { format!("; {count} such steps in all") } else { String::new() };
            let text = format!(
                "`{name}` changed suddenly within a step of {} s, {:.0} times more than the tolerance allows: a \
                 discontinuity without an announced event, and the error there is of the order of the step{others}",
                short4(worst.step),
                worst.norm
            );
            let advice = self.ways_past_discontinuities();
            out.push(Reason {
                connection: Some(self.connection(worst.input)),
                time: Some(worst.time),
                value: Some(worst.norm),
                ..if self.kicks()
                    || self
                        .findings
                        .inputs
                        .iter()
                        .any(|f| f.score >= self.system.verdict.limits.trustworthy && self.unannounced(f))
                {
                    reason("discontinuity", Word::Check, text, advice)
                } else {
                    note("discontinuity", text, advice)
                }
            });
        }
        let tolerance =
            self.system.method.jump_tolerance().unwrap_or(catalogue::estimators::DEFAULT_TOLERANCE);
        for f in &findings.inputs {
            let share = self.noise_share(f);
            if share > tolerance {
                let text = format!(
                    "`{}` has noise of {} of its standard deviation; errors below {} cannot be detected",
                    self.name(f.input),
                    percent(0.1 * share),
                    percent(share)
                );
                // What cannot be detected is small enough for the word that says so.
                let small = share < 0.25 * self.system.verdict.limits.trustworthy;
                let found = if small {
                    note("noise", text, NOISE)
                } else {
                    reason("noise", Word::Check, text, NOISE)
                };
                out.push(Reason {
                    connection: Some(self.connection(f.input)),
                    value: Some(share),
                    limit: Some(tolerance),
                    ..found
                });
            }
        }
        let sensitive = findings.inputs.iter().filter(|f| {
            f.swings > SENSITIVE
                && f.score >= 0.1 * self.system.verdict.limits.trustworthy
                && f.growth <= UNDAMPED
        });
        if let Some(f) = sensitive.max_by(|a, b| a.score.total_cmp(&b.score)) {
            let text = format!(
                "`{}` goes through {:.0} half oscillations, which amplify its defects in a sensitive system; `--verify` \
                 tells whether they do",
                self.name(f.input),
                f.swings
            );
            out.push(Reason {
                connection: Some(self.connection(f.input)),
                value: Some(f.swings),
                limit: Some(SENSITIVE),
                ..note("sensitive", text, "`--verify`")
            });
        }
        // With steering the bound shrinks as errors accumulate.
        let accumulates = !self.assembled.method.is_steered();
        let swinging =
            findings.inputs.iter().filter(|f| accumulates && f.swings > MANY_SWINGS && f.growth > UNDAMPED);
        if let Some(f) = swinging.max_by(|a, b| a.swings.total_cmp(&b.swings)) {
            let text = format!(
                "`{}` oscillates ({:.0} half oscillations) and hardly decays: errors accumulate and may exceed the \
                 tolerance tenfold",
                self.name(f.input),
                f.swings
            );
            out.push(Reason {
                connection: Some(self.connection(f.input)),
                value: Some(f.swings),
                limit: Some(MANY_SWINGS),
                ..note("undamped", text, "`--verify` tells")
            });
        }
    }

    /// Residual energy, spikes and corrections of bonds.
    fn energy(&self, bonds: &[BondSummary], out: &mut Vec<Reason>) {
        let spec = &self.system.verdict;
        for b in bonds {
            let of = |reason: Reason| Reason { bond: Some(b.name.clone()), ..reason };
            let (watt, joule) = if b.pseudo { ("", "") } else { (" W", " J") };
            if let Some(s) = b.spikes.iter().max_by(|x, y| x.peak.total_cmp(&y.peak)) {
                let others = if b.spikes.len() > 1 {
                    format!(" ({} spikes in all)", b.spikes.len())
                } else {
                    String::new()
                };
                let text = format!(
                    "the residual power rose to {}{watt} between t = {} s and {} s, {:.0} times its previous level{others}",
                    short4(s.peak),
                    short4(s.start),
                    short4(s.end),
                    s.peak / s.level
                );
                let advice = self.ways(["check the outputs there"]);
                let energy: f64 = b.spikes.iter().map(|s| s.energy).sum();
                let told = if energy > SPIKE_TO_CHECK * b.exchanged {
                    reason("spike", Word::Check, text, advice)
                } else {
                    note("spike", text, advice)
                };
                out.push(Reason {
                    time: Some(s.peak_time),
                    value: Some(s.peak),
                    limit: Some(10.0 * s.level),
                    ..of(told)
                });
            }
            if b.residual_share.abs() > spec.residual {
                let text = format!(
                    "the coupling {} {}{joule}, {} of the {}{joule} exchanged",
                    if b.residual > 0.0 { "created" } else { "lost" },
                    short4(b.residual.abs()),
                    percent(b.residual_share.abs()),
                    short4(b.exchanged)
                );
                out.push(Reason {
                    time: Some(b.worst_time),
                    value: Some(b.residual_share.abs()),
                    limit: Some(spec.residual),
                    ..of(note("energy_residual", text, self.ways([])))
                });
            }
            if let Some(c) = b.correction.as_ref().filter(|c| c.capped_share > spec.capped) {
                let text = format!(
                    "the energy correction reached its cap in {:.0} % of the steps; {} J were not corrected",
                    100.0 * c.capped_share,
                    short4(c.uncorrected)
                );
                out.push(Reason {
                    value: Some(c.capped_share),
                    limit: Some(spec.capped),
                    ..of(reason("capped", Word::Check, text, "raise `cap`, or use `form = \"difference\"`"))
                });
            }
        }
    }

    fn name(&self, input: usize) -> String {
        self.assembled.names.inputs[input].to_string()
    }

    fn connection(&self, input: usize) -> String {
        format!("{} -> {}", sources(self.assembled, input).join(" + "), self.name(input))
    }

    fn jump_text(&self, f: &InputFindings) -> String {
        let share = |x: f64| percent(if f.spread > 0.0 { x / f.spread } else { f64::INFINITY });
        let stale = if f.stale > f.defect { ", mostly by feed-through" } else { "" };
        format!(
            "`{}`: mean error of the held input {} of its standard deviation{stale}; prediction defects of {}, {:.0} \
             half oscillations",
            self.name(f.input),
            share(f.defect + f.stale),
            share(f.jump_rms),
            f.swings
        )
    }

    fn jump_advice(&self, f: &InputFindings) -> Vec<String> {
        let refresh = self.assembled.refresh().filter(|_| f.stale > f.defect);
        self.ways(refresh.into_iter().chain(self.assembled.higher_hold(f.input)))
    }
}

/// What helps where noise is the error.
const NOISE: &str = "use a larger tolerance, or a more accurate subsystem";
/// What grows exponentially grows from quarter to quarter by the root of what it grows by from the second to the last; half of it goes on.
const GOES_ON: f64 = 0.5;
/// What shows own steps of subsystems that cannot be restored.
const TWIN: &str = "`own_steps = \"twin\"` in `[verdict]` (a second instance, which triples their steps)";
/// Growth of all inputs at once that is not that of a motion; what began as round-off is beyond it.
const EXPLODED: std::ops::Range<f64> = 100.0..1e9;
/// Defects that alternate below this share of what a trustworthy run may have are round-off: they make nothing grow.
const ROUND_OFF: f64 = 0.01;
/// Defects above this share of an input that explodes may have made it do so.
const EARLY: f64 = 0.03;
/// With more swings than this, and this share of its size left at the end, the errors of a signal add up.
const MANY_SWINGS: f64 = 100.0;
const UNDAMPED: f64 = 0.5;
/// Spikes whose energy is a smaller share of what their bond exchanged are told, and no more.
const SPIKE_TO_CHECK: f64 = 0.005;
/// Drift of redundant integrals that is told, and that is a reason to check, over the range of the integral.
const DRIFT: f64 = 0.005;
const DRIFT_TO_CHECK: f64 = 0.05;
/// With more half oscillations than this errors may be amplified on the way.
const SENSITIVE: f64 = 30.0;
/// Inputs that are listed one by one.
const MOST: usize = 3;

#[cfg(test)]
mod tests {
    use crate::System;
    use crate::observe::script::{Point::*, play};
    use powerbond_core::observe::verdict::VerdictLimits;

    /// What is held over a step is the value at its start, and a coupled input climbs by 1 in every step of 0.1 s; at 1 s it
    /// jumps by 100. With both limits known, that is as good as if it had not jumped: the score is the same but for the
    /// larger spread.
    #[test]
    fn a_jump_at_an_event_is_neither_defect_nor_travel() {
        let gains = "simulation = { stop = 2, step = 0.1 }\nmethod = { hold = 0 }\n\
            connections = [{ from = \"a.y\", to = \"b.u\" }, { from = \"b.y\", to = \"a.u\" }]\n[subsystems]\n\
            a = { model = \"algebraic/gain\", parameters = { gain = 0.5 } }\n\
            b = { model = \"algebraic/gain\", parameters = { gain = 0, integral = 1 } }\n";
        let findings = |jump: f64| {
            let mut assembled = System::parse("gains", gains).unwrap().assemble().unwrap();
            let climb = |k: u32| {
                let (t, u) = (0.1 * f64::from(k), f64::from(k));
                let point = |point, u: f64| (point, t, vec![u, 0.0], vec![0.0; 2]);
                match k {
                    0 => vec![point(Start, u)],
                    10 => vec![point(Left, u), point(Right, u + jump)],
                    11.. => vec![point(Step, u + jump)],
                    _ => vec![point(Step, u)],
                }
            };
            play(&mut assembled.verdict, (0..=20).flat_map(climb));
            assembled.verdict.result(&VerdictLimits::default()).inputs[0]
        };
        let (smooth, jumped) = (findings(0.0), findings(100.0));
        assert_eq!(smooth.jump_max, 1.0);
        assert_eq!((jumped.jump_max, jumped.jump_rms), (smooth.jump_max, smooth.jump_rms));
        assert_eq!((jumped.defect, jumped.roughness), (smooth.defect, smooth.roughness));
        assert!(jumped.swings <= smooth.swings && jumped.spread > 9.0 * smooth.spread);
    }
}
