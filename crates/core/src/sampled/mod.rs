//! Subsystems that sample: their outputs stay exactly as they are and jump at equal distances of time.
//!
//! A controller that computes every 10 ms gives an input that is constant in between. Steps that end at its samples and hold that
//! input as it is make no error with it; steps that cross a sample make one of the size of its jump. Nothing tells when it samples
//! (clocks and announced events would), so the times are found from the steps in which outputs changed. Until they are known, the
//! interval in which the next sample must lie is divided by steps that end in it; each sample makes it narrower.
//!
//! Where the times are given, nothing has to be found.
//!
//! At a sample the jump is no defect of the hold. Between samples a sampler does not look at its inputs, so what is wrong
//! with them counts only in steps that end at one. Whatever changes at another time is judged as ever, and ends the belief.

mod period;

pub use period::Samples;

use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::estimator::Estimate;
use crate::network::Network;
use crate::step::{StepRecord, StepView};
use crate::subsystem::Span;
use period::Period;

/// A change of an output below this share of its range is motion, not a jump.
const JUMP: f64 = 1e-6;
/// Steps without any change for each one with a change, at least.
const REPEATS: f64 = 2.0;
/// Times that are no further apart than this share of the period, this share of the time, or so many seconds are one: simulators compare
/// times with tolerances of their own, often absolute ones, and may sample twice or not at all in a step that begins or ends within them.
/// Seconds do not count where periods are of their size.
const POINT: f64 = 1e-5;
const SAME_TIME: f64 = 1e-8;
const SECONDS: f64 = 1e-7;
const MOST_POINT: f64 = 1e-3;
/// A step that ends so close to a sample ends at it, in points.
const NEAR: f64 = 1e-3;
/// Into so many parts a wider window is divided by steps that end in it: the sample is in one of them.
const PARTS: f64 = 8.0;
/// In a window wider than this share of the period, a jump is not excused.
const WINDOW: f64 = 0.05;
/// How often a belief may turn out wrong before none is formed any more.
const MOST_WRONG: u8 = 8;
/// Where a step that ended at a sample was over tolerance for what the sampler read, a step ends this share of the period before each of the next
/// samples: inputs are read at the end of a short step, whatever a long one would predict of them. A sampler that computes at the start
/// of the step after reads what was exchanged, and needs none.
const BEFORE: f64 = 0.05;
/// For so many samples at first, and for twice as many each time that it happens again.
const CAREFUL: f64 = 8.0;
/// Round numbers are tested in every sample whose number is a power of two: a step ends this many points before it, and nothing
/// may have changed then.
const TESTED: f64 = 10.0;

/// Watches outputs for samples.
#[derive(Clone, Debug)]
pub struct SampledOutputs {
    start: f64,
    /// Steps can end wherever they are wanted to.
    lands: bool,
    watched: Vec<Watched>,
    /// Members by places in `watched`, with their coupled inputs.
    members: Vec<SampledMember>,
}

/// An output that may be sampled.
#[derive(Clone, Debug)]
struct Watched {
    output: usize,
    /// Inputs that get it and nothing else.
    fed: Vec<usize>,
    low: f64,
    high: f64,
    /// Steps without and with a change, and with one that is no jump.
    repeats: f64,
    jumps: f64,
    moves: f64,
    period: Period,
    exact: Option<Samples>,
    /// They were given, and not found.
    given: bool,
    /// It is known to be sampled, but not when: whatever changes is a sample.
    certain: bool,
    /// Round numbers that fitted were wrong.
    odd: bool,
    /// Changes show in the step after the sample.
    late: bool,
    /// Samples before which a short step is made still, and how many there were the last time.
    careful: f64,
    caution: f64,
    wrong: u8,
    /// When a period was first known, in s.
    since: Option<f64>,
    /// The last sample that a step ended at, in s, and how many there were with a round period.
    hit: f64,
    hits: f64,
}

#[derive(Clone, Debug)]
struct SampledMember {
    outputs: std::ops::Range<usize>,
    inputs: Vec<usize>,
}

/// What was found of an output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledReport {
    /// Flat.
    pub output: usize,
    /// The distance of two samples, in s.
    pub period: f64,
    /// When it was found, in s.
    pub since: f64,
    /// When exactly its samples are, if that is known.
    pub samples: Option<Samples>,
}

/// What is known of samples before a run, and what is to be done about others.
#[derive(Clone, Copy, Debug)]
pub struct KnownSamples<'a> {
    /// Those of members, by their places.
    pub given: &'a [Option<Samples>],
    /// Outputs that are sampled, at times that are not known.
    pub certain: &'a [usize],
    /// Outputs of other members are watched, too.
    pub finds: bool,
    /// Steps end at samples.
    pub lands: bool,
}

impl SampledOutputs {
    /// Watches outputs of `network` that feed something, from `start` on, in s. `None` if there is nothing to watch.
    pub fn new(network: &Network, start: f64, known: &KnownSamples<'_>) -> Option<Self> {
        let KnownSamples { given, certain, finds, lands } = *known;
        // Inputs by the output that feeds them; `None` where one is only a part of an input.
        let mut fed: Vec<Vec<Option<usize>>> = vec![Vec::new(); network.n_outputs];
        for i in 0..network.n_inputs {
            let alone = network.wiring.sources(i).count() == 1;
            network.wiring.sources(i).for_each(|(output, _)| fed[output].push(alone.then_some(i)));
        }
        let (mut watched, mut members) = (Vec::new(), Vec::new());
        for (s, member) in network.members.iter().enumerate() {
            let given = given.get(s).copied().flatten();
            if given.is_none() && !finds {
                continue;
            }
            let first = watched.len();
            for output in member.outputs.clone().filter(|&o| !fed[o].is_empty()) {
                let fed = fed[output].iter().copied().flatten().collect();
                let since = given.map(|_| start);
                let (exact, given) = (given, given.is_some());
                let certain = certain.contains(&output);
                let since = since.or(certain.then_some(start));
                watched.push(Watched { exact, given, certain, since, ..Watched::new(output, fed) });
            }
            let inputs = member.inputs.clone().filter(|&i| network.wiring.is_coupled(i)).collect();
            if watched.len() > first {
                members.push(SampledMember { outputs: first..watched.len(), inputs });
            }
        }
        (finds || !watched.is_empty()).then_some(SampledOutputs { start, lands, watched, members })
    }

    /// The jump at a sample is no defect, and inputs of a sampler count at its samples only: such inputs are called held exactly.
    pub(crate) fn excuse(&self, record: &mut StepRecord) {
        if self.watched.iter().all(|w| w.since.is_none()) {
            return;
        }
        for member in &self.members {
            let (mut all, mut at_sample) = (true, false);
            for w in &self.watched[member.outputs.clone()] {
                let place = match w.certain {
                    true if record.y_step[w.output] == record.y_prev[w.output] => Place::Between,
                    true => Place::Sample,
                    false => w.place(record.span),
                };
                match place {
                    Place::Unknown => all = false,
                    Place::Between => {}
                    Place::Sample => {
                        at_sample = true;
                        w.fed.iter().for_each(|&i| record.excuse_jump(i));
                    }
                }
            }
            if all && !at_sample {
                member.inputs.iter().for_each(|&i| record.excuse(i));
            }
        }
    }

    /// Learns from an accepted step, and what the `driving` estimator said of it.
    pub(crate) fn commit(&mut self, step: &StepView<'_>, driving: Option<&Estimate>) {
        let limiting = driving.filter(|e| e.norm > 1.0).and_then(|e| e.limited_by);
        for member in &self.members {
            let is_over = limiting.is_some_and(|i| member.inputs.contains(&i));
            for w in self.watched[member.outputs.clone()].iter_mut().filter(|w| !w.certain) {
                if w.place(step.span) == Place::Sample {
                    w.read(is_over);
                }
                w.see(step.span, step.y_prev[w.output], step.y_step[w.output], self.start);
            }
        }
    }

    /// Times after `t` at which steps have to end now.
    pub(crate) fn wanted(&self, t: f64, mut land: impl FnMut(f64)) {
        for w in self.watched.iter().filter(|w| w.since.is_some() && self.lands) {
            w.wanted(t, &mut land);
        }
    }

    /// Outputs that are sampled.
    pub fn found(&self) -> Vec<SampledReport> {
        let report = |w: &Watched| {
            let period = w.exact.map(|samples| samples.period).or(w.period.mean())?;
            Some(SampledReport { output: w.output, period, since: w.since?, samples: w.exact })
        };
        self.watched.iter().filter_map(report).collect()
    }
}

/// Where a step lies among samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Nothing is believed, or not well enough.
    Unknown,
    /// No sample is in it.
    Between,
    /// One is at its end, or near enough.
    Sample,
}

impl Watched {
    fn new(output: usize, fed: Vec<usize>) -> Self {
        Watched {
            output,
            fed,
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
            repeats: 0.0,
            jumps: 0.0,
            moves: 0.0,
            period: Period::default(),
            exact: None,
            given: false,
            certain: false,
            odd: false,
            late: false,
            careful: 0.0,
            caution: 0.0,
            wrong: 0,
            since: None,
            hit: f64::NEG_INFINITY,
            hits: 0.0,
        }
    }

    /// The time after the sample at `t` at which it shows: a late sampler computes at the start of the next step.
    fn shown(&self, samples: &Samples, t: f64) -> f64 {
        if self.late { t + point(samples.period, t) } else { t }
    }

    fn place(&self, span: Span) -> Place {
        if self.since.is_none() {
            return Place::Unknown;
        }
        if let Some(samples) = &self.exact {
            let shown = self.shown(samples, samples.nearest(span.end));
            let near = NEAR * point(samples.period, shown);
            return if (span.end - shown).abs() <= near {
                Place::Sample
            } else if samples.after(span.start + near) < span.end - near {
                // Steps that cannot end where they should cross it.
                Place::Unknown
            } else {
                Place::Between
            };
        }
        let (Some((from, to)), Some(period)) = (self.period.window(span.start), self.period.mean()) else {
            return Place::Unknown;
        };
        let point = point(period, to);
        if span.end < from - point {
            Place::Between
        } else if to - from <= WINDOW * period && span.end <= to + 2.0 * point {
            Place::Sample
        } else {
            Place::Unknown
        }
    }

    fn wanted(&self, t: f64, land: &mut impl FnMut(f64)) {
        if let Some(samples) = &self.exact {
            let point = point(samples.period, t);
            let last = samples.nearest(t);
            if self.late && (t - last).abs() <= NEAR * point {
                land(self.shown(samples, last));
            }
            let next = samples.after(t + 2.0 * point);
            let tests = !self.given && (self.hits + 1.0).log2().fract() == 0.0;
            let tested = tests && t < next - 2.0 * TESTED * point;
            land(if tested { next - TESTED * point } else { next });
            let before = next - BEFORE * samples.period;
            if self.careful > 0.0 && !self.late && t < before {
                land(before);
            }
            return;
        }
        let (Some((from, to)), Some(period)) = (self.period.window(t), self.period.mean()) else { return };
        let (width, point) = (to - from, point(period, to));
        if width <= PARTS * point {
            let before = from - BEFORE * period;
            land(if self.careful > 0.0 && t < before { before } else { to + point });
        } else if t < from {
            land(from);
        } else {
            let part = ((t - from) / width * PARTS + 0.1).floor() + 1.0;
            land(if part < PARTS { from + part * width / PARTS } else { to + point });
        }
    }

    /// A step ended at a sample; `is_over` tells that it was over tolerance for what was read.
    fn read(&mut self, is_over: bool) {
        if self.careful > 0.0 {
            self.careful -= 1.0;
        } else if is_over {
            self.caution = CAREFUL.max(2.0 * self.caution);
            self.careful = self.caution;
        }
    }

    /// The output was `old` at the start of a step and `new` at its end.
    fn see(&mut self, span: Span, old: f64, new: f64, start: f64) {
        if self.wrong > MOST_WRONG {
            return;
        }
        (self.low, self.high) = (self.low.min(old).min(new), self.high.max(old).max(new));
        let is_sample = self.place(span) == Place::Sample;
        let follows = self
            .exact
            .is_some_and(|samples| (span.start - self.hit).abs() <= NEAR * point(samples.period, span.start));
        if let (true, Some(samples)) = (is_sample, &self.exact) {
            self.hit = samples.nearest(span.end);
            self.hits += 1.0;
        }
        if new == old {
            self.repeats += 1.0;
            return;
        }
        // What is not a number is no jump either.
        let is_jump = (new - old).abs() > JUMP * (self.high - self.low);
        if !is_jump {
            self.moves += 1.0;
            if !self.given {
                self.doubt();
            }
            return;
        }
        self.jumps += 1.0;
        if self.exact.is_some() {
            if is_sample {
                return;
            }
            // Nothing changed at the sample, and something did in the step after it.
            if follows && !self.late {
                self.late = true;
                return;
            }
            // What changes at other times is judged as ever.
            if self.given {
                return;
            }
            // The round number was wrong.
            (self.exact, self.odd, self.late) = (None, true, false);
        }
        let believed = self.since.is_some();
        if !self.period.add(span.start, span.end) && believed {
            self.mistake();
        }
        let repeats_enough = self.repeats >= REPEATS * (self.jumps + self.moves);
        if !repeats_enough || !self.period.is_known() {
            return;
        }
        self.since.get_or_insert(span.end);
        if !self.odd {
            self.exact = self.period.exact(start);
            self.hits = 0.0;
        }
    }

    /// It moves like something that is not sampled.
    fn doubt(&mut self) {
        if self.since.is_some() && self.repeats < REPEATS * (self.jumps + self.moves) {
            self.mistake();
        }
    }

    fn mistake(&mut self) {
        (self.since, self.exact, self.late) = (None, None, false);
        self.wrong += 1;
        self.period.forget();
    }
}

impl Samples {
    /// Whether one is at `t`.
    pub fn hits(&self, t: f64) -> bool {
        (self.nearest(t) - t).abs() <= NEAR * point(self.period, t)
    }
}

/// Times that are no further apart than this, in s, are one for a sampler with this period.
fn point(period: f64, t: f64) -> f64 {
    (POINT * period).max(SAME_TIME * t.abs()).max(SECONDS.min(MOST_POINT * period))
}

impl Checkpointed for SampledOutputs {
    fn save(&self, tape: &mut Checkpoint) {
        let number = |flag: bool| f64::from(u8::from(flag));
        for w in &self.watched {
            tape.extend(&[w.low, w.high, w.repeats, w.jumps, w.moves, f64::from(w.wrong), w.hit, w.hits]);
            tape.extend(&[number(w.odd), number(w.late), w.careful, w.caution, w.since.unwrap_or(f64::NAN)]);
            let exact = w.exact.map_or([f64::NAN; 2], |samples| [samples.at, samples.period]);
            tape.extend(&exact);
            tape.extend(&w.period.state());
        }
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        for w in &mut self.watched {
            [w.low, w.high, w.repeats, w.jumps, w.moves] = [(); 5].map(|()| tape.pull());
            (w.wrong, w.hit, w.hits) = (tape.pull() as u8, tape.pull(), tape.pull());
            (w.odd, w.late) = (tape.pull() != 0.0, tape.pull() != 0.0);
            (w.careful, w.caution) = (tape.pull(), tape.pull());
            w.since = Some(tape.pull()).filter(|t| !t.is_nan());
            let [at, period] = [(); 2].map(|()| tape.pull());
            w.exact = (!period.is_nan()).then_some(Samples { at, period });
            let mut state = [0.0; Period::STATE];
            tape.fill(&mut state);
            w.period = Period::from_state(&state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Samples, Watched};

    fn wanted(w: &Watched, t: f64) -> Vec<f64> {
        let mut list = Vec::new();
        w.wanted(t, &mut |end| list.push(end));
        list
    }

    /// A step over tolerance for what was read at a sample: a short step before each of the next eight, then of the next sixteen.
    #[test]
    fn short_steps_end_at_samples_that_were_misread() {
        let exact = Some(Samples { at: 0.0, period: 1.0 });
        let mut w = Watched { exact, given: true, since: Some(0.0), ..Watched::new(0, Vec::new()) };
        assert_eq!(wanted(&w, 0.2), [1.0]);
        for count in [8, 16] {
            w.read(true);
            for _ in 0..count {
                assert_eq!((wanted(&w, 0.2), wanted(&w, 0.96)), (vec![1.0, 0.95], vec![1.0]));
                w.read(true);
            }
            w.read(false);
            assert_eq!(wanted(&w, 0.2), [1.0]);
        }
        w.read(true);
        w.late = true;
        assert_eq!(wanted(&w, 0.2), [1.0], "a late sampler reads what was exchanged");
    }
}
