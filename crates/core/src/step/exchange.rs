//! The buffers of one attempt, and how a sweep through the stages of a schedule fills them.

use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::correction::InputCorrection;
use crate::energy::{EndValues, Meter};
use crate::error::RunError;
use crate::feed_through::identify::Identifier;
use crate::hold::defects::HoldDefects;
use crate::hold::output_derivatives::OutputDerivatives;
use crate::hold::{Extrapolation, Held};
use crate::network::{Member, Network};
use crate::step::threads::{Workers, inputs_of};
use crate::step::{Schedule, Seen, Stage, Sum};
use crate::subsystem::{Advance, Inputs, Span, StepEvent, SubsystemError};
use crate::time::history::History;

/// How far a sweep came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Swept {
    /// To the end.
    Whole {
        /// A subsystem reported a discontinuity inside the step.
        event: bool,
    },
    /// A subsystem stopped early.
    Early { member: usize, reached: f64 },
}

/// Values of all inputs and outputs during a macro step.
pub(crate) struct Exchange {
    /// What subsystems are given, corrections included.
    held: Held,
    /// How many input derivatives the subsystem of each input follows.
    takes: Vec<u8>,
    pub held_end: Vec<f64>,
    delta: Vec<f64>,
    corrected_end: Vec<f64>,
    corrects: bool,
    pub fresh: Vec<f64>,
    pub y_prev: Vec<f64>,
    pub y_step: Vec<f64>,
    y_fresh: Vec<f64>,
    refreshes: bool,
    /// Inputs at communication points.
    pub history: History,
    /// What each fast group remembers.
    inner: Vec<Inner>,
    /// Parts of inputs at communication points.
    waiting: History,
    /// OutputDerivatives of inputs, if they come from derivatives of outputs.
    pub slopes: Option<OutputDerivatives>,
    /// How far fresh inputs are from what the past foretold, if a policy asks for it.
    pub jumps: Option<HoldDefects>,
    pub allow_nonfinite: bool,
    /// The next discontinuity that a member announced in the last sweep, in s; infinite if none did.
    pub announced: f64,
    /// Members that reported a discontinuity in the last sweep.
    pub eventful: Vec<usize>,
    /// Threads that advance the members of a stage side by side.
    workers: Option<Workers>,
}

/// What else the buffers have to serve.
pub(crate) struct Wants {
    pub corrects: bool,
    pub refreshes: bool,
    pub jumps: bool,
    pub means: bool,
}

/// The past of a fast group: its inputs at the points where its members exchange among themselves.
struct Inner {
    committed: History,
    tentative: History,
    /// All outputs at the last of these points, if a line over a sub-step has to start there.
    y: Vec<f64>,
}

/// Enters a point at `t` with outputs `y`.
fn push_sums(history: &mut History, sums: &[Sum], t: f64, y: &[f64]) {
    history.push(t, |values| sums.iter().for_each(|sum| values[sum.input] = sum.of(y)));
}

impl Exchange {
    pub fn new(network: &Network, schedule: &Schedule, order: u8, wants: &Wants) -> Self {
        let (nu, ny) = (network.n_inputs, network.n_outputs);
        let Wants { corrects, refreshes, .. } = *wants;
        let sized = |n: usize, wanted: bool| if wanted { vec![0.0; n] } else { Vec::new() };
        let lines = schedule.stages.iter().any(|s| {
            let in_parts = s.mixed.iter().flatten().any(|part| part.seen == Seen::Between);
            !s.between.is_empty() || !s.between_inner.is_empty() || in_parts
        });
        let inner = schedule.groups.iter().map(|group| Inner {
            committed: History::new(nu),
            tentative: History::new(nu),
            y: sized(ny, group.lines),
        });
        let takes = |i: usize| network.members[network.owner_of_input[i]].capabilities.input_derivatives;
        let mut held = Held::new(nu, order.max(u8::from(lines)));
        held.lift = sized(nu, wants.means);
        Exchange {
            held,
            takes: (0..nu).map(takes).collect(),
            held_end: vec![0.0; nu],
            delta: sized(nu, corrects),
            corrected_end: sized(nu, corrects),
            corrects,
            fresh: vec![0.0; nu],
            y_prev: vec![0.0; ny],
            y_step: vec![0.0; ny],
            y_fresh: sized(ny, refreshes),
            refreshes,
            history: History::new(nu),
            inner: inner.collect(),
            waiting: History::new(if schedule.waiting.is_empty() { 0 } else { nu }),
            slopes: None,
            jumps: wants.jumps.then(|| HoldDefects::new(nu)),
            allow_nonfinite: false,
            announced: f64::INFINITY,
            eventful: Vec::with_capacity(network.members.len()),
            workers: None,
        }
    }

    /// Lets `threads` of them, the caller included, advance the members of a stage side by side.
    pub fn employ(&mut self, network: &Network, schedule: &Schedule, threads: usize) {
        self.workers = Workers::new(network, schedule, &self.held, threads);
    }

    /// What input `i` was really at the end of the step: the mean, where a mean was given.
    pub fn acted(&self, i: usize) -> f64 {
        self.corrected_end()[i] - self.held.lift.get(i).copied().unwrap_or(0.0)
    }

    /// What really acted at the end of the step.
    pub fn corrected_end(&self) -> &[f64] {
        if self.corrects { &self.corrected_end } else { &self.held_end }
    }

    /// Outputs after the refresh.
    pub fn y_fresh(&self) -> &[f64] {
        if self.refreshes { &self.y_fresh } else { &self.y_step }
    }

    /// One macro step through all stages. Histories stay as they are.
    pub fn sweep(
        &mut self,
        network: &mut Network,
        schedule: &Schedule,
        extrapolation: &dyn Extrapolation,
        correction: Option<&dyn InputCorrection>,
        meter: &mut Meter,
        span: Span,
    ) -> Result<Swept, RunError> {
        if schedule.chained {
            self.y_step.copy_from_slice(&self.y_prev);
            for (inner, group) in self.inner.iter_mut().zip(&schedule.groups) {
                inner.tentative.copy_from(&inner.committed, &group.inner);
            }
        }
        meter.begin();
        self.announced = f64::INFINITY;
        self.eventful.clear();
        for stage in &schedule.stages {
            let part = span.part(stage.part, stage.parts);
            self.fill_inputs(network, schedule, stage, extrapolation, span, part);
            self.correct(correction, stage, span, part);
            let before = if stage.part == 0 { &self.y_prev } else { &self.y_step };
            meter.open(&network.bonds, &stage.members, &self.held.value, before);
            let told = match &mut self.workers {
                Some(workers) if stage.members.len() > 1 => {
                    workers.advance(&mut network.members, stage, part, &self.held, &mut self.y_step);
                    put_together(&stage.members, (part, span.end), &mut self.eventful, |s| workers.outcome(s))
                }
                _ => {
                    let (all, y) = (&mut network.members, &mut self.y_step);
                    advance(all, &stage.members, (part, span.end), &self.held, y, &mut self.eventful)
                }
            }?;
            if let Some((member, reached)) = told.early {
                return Ok(Swept::Early { member, reached });
            }
            self.announced = self.announced.min(told.next_event);
            // Once per stage: a look at every member's few numbers waits for them.
            for outputs in stage.outputs.iter().filter(|_| !self.allow_nonfinite) {
                let y = &self.y_step[outputs.clone()];
                if !finite(y) {
                    return Err(non_finite(y, outputs.start, part));
                }
            }
            if stage.parts > 1 {
                let end = if self.corrects { &self.corrected_end } else { &self.held_end };
                meter.sub_step(&network.bonds, &stage.members, part, end, &self.y_step);
            }
        }
        Ok(Swept::Whole { event: !self.eventful.is_empty() })
    }

    /// What the members of a stage are given, before correction.
    fn fill_inputs(
        &mut self,
        network: &Network,
        schedule: &Schedule,
        stage: &Stage,
        extrapolation: &dyn Extrapolation,
        span: Span,
        part: Span,
    ) {
        for range in &stage.held {
            extrapolation.eval(&self.history, part, range.clone(), &mut self.held);
            if let Some(slopes) = &self.slopes {
                slopes.hold(&self.history, part, range.clone(), extrapolation, &self.takes, &mut self.held);
            }
        }
        if stage.chained {
            self.fill_chained(network, schedule, stage, extrapolation, span, part);
        }
        for &e in &stage.externals {
            let external = &network.externals[e];
            self.follow(external.input, &external.signal, part, extrapolation.orders()[external.input]);
        }
        for range in &stage.inputs {
            self.end_values(range.clone(), part.h);
        }
    }

    /// The inputs of a stage that follow what earlier stages made.
    #[inline(never)] // Most runs have none.
    fn fill_chained(
        &mut self,
        network: &Network,
        schedule: &Schedule,
        stage: &Stage,
        extrapolation: &dyn Extrapolation,
        span: Span,
        part: Span,
    ) {
        if let Some(g) = stage.group {
            let Inner { tentative, y, .. } = &mut self.inner[g];
            if stage.opens {
                if stage.part > 0 {
                    push_sums(tentative, &schedule.groups[g].nodes, part.start, &self.y_step);
                }
                if schedule.groups[g].lines {
                    y.copy_from_slice(&self.y_step);
                }
            }
            for range in &stage.inner {
                extrapolation.eval(tentative, part, range.clone(), &mut self.held);
            }
        }
        for &i in &stage.latest {
            self.set_line(i, network.wiring.row(i, &self.y_step), 0.0, 0.0);
        }
        for &i in &stage.between {
            let (old, new) = (self.history.values(0)[i], network.wiring.row(i, &self.y_step));
            let slope = (new - old) / span.h;
            self.set_line(i, old + slope * (part.start - span.start), slope, part.h);
        }
        if let Some(g) = stage.group {
            for &i in &stage.between_inner {
                let (old, new) = (self.inner[g].tentative.values(0)[i], network.wiring.row(i, &self.y_step));
                self.set_line(i, old, (new - old) / part.h, part.h);
            }
        }
        self.fill_mixed(stage, extrapolation, span, part);
    }

    /// Adds up the parts of inputs whose sources are not all seen in the same way.
    fn fill_mixed(&mut self, stage: &Stage, extrapolation: &dyn Extrapolation, span: Span, part: Span) {
        for parts in &stage.mixed {
            let mut total = [0.0; 3];
            for source in parts {
                let i = source.sum.input;
                let group = stage.group.filter(|_| source.inside).map(|g| &self.inner[g]);
                match source.seen {
                    Seen::Held => {
                        let nodes = group.map_or(&self.waiting, |inner| &inner.tentative);
                        extrapolation.eval(nodes, part, i..i + 1, &mut self.held);
                    }
                    Seen::Latest => self.set_line(i, source.sum.of(&self.y_step), 0.0, 0.0),
                    Seen::Between => {
                        let (from, y) = group.map_or((span, &self.y_prev), |inner| (part, &inner.y));
                        let (old, new) = (source.sum.of(y), source.sum.of(&self.y_step));
                        let slope = (new - old) / from.h;
                        self.set_line(i, old + slope * (part.start - from.start), slope, part.h);
                    }
                }
                let of = |list: &[f64]| list.get(i).copied().unwrap_or(0.0);
                total[0] += self.held.value[i];
                total[1] += of(&self.held.slope);
                total[2] += of(&self.held.curvature);
            }
            let i = parts[0].sum.input;
            self.held.value[i] = total[0];
            self.held.slope.get_mut(i).into_iter().for_each(|s| *s = total[1]);
            self.held.curvature.get_mut(i).into_iter().for_each(|c| *c = total[2]);
        }
    }

    /// A line from `value` with `slope`; its mean over `h` for a subsystem that takes values only.
    fn set_line(&mut self, i: usize, value: f64, slope: f64, h: f64) {
        let follows = self.takes[i] > 0;
        self.held.value[i] = if follows { value } else { value + 0.5 * slope * h };
        if let Some(s) = self.held.slope.get_mut(i) {
            *s = if follows { slope } else { 0.0 };
        }
        if let Some(c) = self.held.curvature.get_mut(i) {
            *c = 0.0;
        }
        if let Some(lift) = self.held.lift.get_mut(i) {
            *lift = 0.0;
        }
    }

    /// A known signal: with hold order m the polynomial of order m through its values on the span itself; the value
    /// in the middle for a subsystem that takes values only.
    fn follow(&mut self, i: usize, signal: &crate::time::signal::Signal, part: Span, order: u8) {
        let start = signal.at(part.start);
        let end = if order > 0 { signal.before(part.end) } else { start };
        let sampled = order > 1 || (order > 0 && self.takes[i] == 0);
        let middle = if sampled { signal.at(0.5 * (part.start + part.end)) } else { 0.5 * (start + end) };
        self.held.value[i] = if self.takes[i] > 0 { start } else { middle };
        if let Some(slope) = self.held.slope.get_mut(i) {
            *slope = match self.takes[i] {
                0 => 0.0,
                1 => (end - start) / part.h,
                _ => (4.0 * middle - 3.0 * start - end) / part.h,
            };
        }
        if let Some(curvature) = self.held.curvature.get_mut(i) {
            *curvature =
                if self.takes[i] > 1 { 4.0 * (start - 2.0 * middle + end) / (part.h * part.h) } else { 0.0 };
        }
    }

    fn end_values(&mut self, range: std::ops::Range<usize>, h: f64) {
        let end = &mut self.held_end[range.clone()];
        end.copy_from_slice(&self.held.value[range.clone()]);
        if !self.held.slope.is_empty() {
            end.iter_mut().zip(&self.held.slope[range.clone()]).for_each(|(e, s)| *e += h * s);
        }
        if !self.held.curvature.is_empty() {
            end.iter_mut().zip(&self.held.curvature[range.clone()]).for_each(|(e, c)| *e += 0.5 * h * h * c);
        }
        if !self.held.lift.is_empty() {
            end.iter_mut().zip(&self.held.lift[range]).for_each(|(e, lift)| *e += lift);
        }
    }

    fn correct(&mut self, correction: Option<&dyn InputCorrection>, stage: &Stage, span: Span, part: Span) {
        let Some(correction) = correction else { return };
        for range in &stage.inputs {
            correction.apply(span, part, range.clone(), &mut self.delta);
            let delta = &self.delta[range.clone()];
            self.held.value[range.clone()].iter_mut().zip(delta).for_each(|(u, d)| *u += d);
            let held = &self.held_end[range.clone()];
            let corrected = &mut self.corrected_end[range.clone()];
            corrected.iter_mut().zip(held.iter().zip(delta)).for_each(|(c, (u, d))| *c = u + d);
        }
    }

    /// After the sweep: fresh inputs, with a refresh of feed-through outputs where `refresh` lists members, and what is owed to
    /// feed-through that was identified.
    pub fn freshen(
        &mut self,
        network: &mut Network,
        refresh: &[usize],
        identifier: Option<&Identifier>,
        span: Span,
    ) -> Result<(), RunError> {
        if self.refreshes {
            self.y_fresh.copy_from_slice(&self.y_step);
            if let Some(identifier) = identifier {
                let mut y = std::mem::take(&mut self.y_fresh);
                identifier.improve(&network.wiring, |i| self.acted(i), &mut y);
                self.y_fresh = y;
            }
            for &s in refresh {
                let member = &mut network.members[s];
                for i in member.inputs.clone() {
                    self.fresh[i] = network.wiring.row(i, &self.y_fresh);
                }
                for external in network.externals.iter().filter(|e| member.inputs.contains(&e.input)) {
                    self.fresh[external.input] = external.signal.before(span.end);
                }
                let y = &mut self.y_fresh[member.outputs.clone()];
                member
                    .simulator
                    .evaluate(Inputs::constant(&self.fresh[member.inputs.clone()]), y)
                    .map_err(|error| RunError::Subsystem { member: s, phase: "refresh", span, error })?;
                if !self.allow_nonfinite && !finite(y) {
                    return Err(non_finite(y, member.outputs.start, span));
                }
            }
        }
        let y = if self.refreshes { &self.y_fresh } else { &self.y_step };
        network.wiring.gather(y, &mut self.fresh);
        network.externals_at(span.end, &mut self.fresh);
        Ok(())
    }

    /// Better outputs are passed on than the step returned.
    pub fn replace(&mut self, network: &Network, y: &[f64], span: Span) {
        self.y_fresh.copy_from_slice(y);
        network.wiring.gather(y, &mut self.fresh);
        network.externals_at(span.end, &mut self.fresh);
    }

    /// Compares the fresh inputs with what the past foretold.
    pub fn look_at_jumps(&mut self, schedule: &Schedule, order: &[u8], span: Span) {
        let Some(jumps) = &mut self.jumps else { return };
        jumps.look(&self.history, span.end, &self.fresh, order, 0..self.fresh.len());
        for (inner, group) in self.inner.iter().zip(&schedule.groups) {
            for range in &group.inner {
                jumps.look(&inner.tentative, span.end, &self.fresh, order, range.clone());
            }
        }
    }

    /// Measures the bonds over the whole step.
    pub fn measure(&self, network: &Network, meter: &mut Meter, span: Span) {
        let end = EndValues {
            held: &self.held_end,
            corrected: self.corrected_end(),
            fresh: &self.fresh,
            y_step: &self.y_step,
            y_fresh: self.y_fresh(),
        };
        meter.close(&network.bonds, span, &end);
    }

    /// The attempt stands: its end is the next communication point.
    pub fn commit(&mut self, schedule: &Schedule, span: Span) {
        let fresh = &self.fresh;
        self.history.push(span.end, |values| values.copy_from_slice(fresh));
        let y = if self.refreshes { &self.y_fresh } else { &self.y_step };
        for (inner, group) in self.inner.iter_mut().zip(&schedule.groups) {
            std::mem::swap(&mut inner.committed, &mut inner.tentative);
            push_sums(&mut inner.committed, &group.nodes, span.end, y);
        }
        push_sums(&mut self.waiting, &schedule.waiting, span.end, y);
        std::mem::swap(&mut self.y_prev, if self.refreshes { &mut self.y_fresh } else { &mut self.y_step });
    }

    /// Forgets the past of some inputs after an event, of all if none are named.
    pub fn restart(&mut self, inputs: Option<&[u32]>) {
        let inner = self.inner.iter_mut().map(|inner| &mut inner.committed);
        let histories = inner.chain([&mut self.history, &mut self.waiting]);
        match inputs {
            // Where nothing waits its history has no signals.
            Some(inputs) => {
                histories.filter(|h| !h.values(0).is_empty()).for_each(|h| h.restart_some(inputs));
            }
            None => histories.for_each(History::restart),
        }
    }

    /// Forgets the past after a change of the coupling: the inputs at `t` are others now.
    pub fn reconnect(&mut self, network: &Network, schedule: &Schedule, t: f64) {
        self.history.clear();
        self.inner.iter_mut().for_each(|inner| inner.committed.clear());
        self.waiting.clear();
        self.begin(network, schedule, t);
    }

    /// The first communication point: `y_prev` holds consistent outputs.
    pub fn begin(&mut self, network: &Network, schedule: &Schedule, t: f64) {
        network.wiring.gather(&self.y_prev, &mut self.fresh);
        network.externals_at(t, &mut self.fresh);
        let fresh = &self.fresh;
        self.history.push(t, |values| values.copy_from_slice(fresh));
        for (inner, group) in self.inner.iter_mut().zip(&schedule.groups) {
            push_sums(&mut inner.committed, &group.nodes, t, &self.y_prev);
        }
        push_sums(&mut self.waiting, &schedule.waiting, t, &self.y_prev);
        self.held_end.copy_from_slice(fresh);
        if self.corrects {
            self.corrected_end.copy_from_slice(fresh);
        }
    }
}

impl Checkpointed for Exchange {
    fn save(&self, tape: &mut Checkpoint) {
        tape.extend(&self.y_prev);
        tape.extend(&self.fresh);
        self.history.save(tape);
        self.inner.iter().for_each(|inner| inner.committed.save(tape));
        self.waiting.save(tape);
        self.slopes.iter().for_each(|slopes| slopes.save(tape));
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        tape.fill(&mut self.y_prev);
        tape.fill(&mut self.fresh);
        self.history.load(tape);
        self.inner.iter_mut().for_each(|inner| inner.committed.load(tape));
        self.waiting.load(tape);
        self.slopes.iter_mut().for_each(|slopes| slopes.load(tape));
    }
}

/// What the members of a stage told of crossing it.
struct Told {
    /// In s; infinite if no member announced one.
    next_event: f64,
    /// A member that stopped early, and when. Those after it were not asked.
    early: Option<(usize, f64)>,
}

/// Lets `members` cross `part` of the macro step up to `end`, one after the other.
#[inline(never)] // Its loop keeps its registers.
fn advance(
    all: &mut [Member],
    members: &[usize],
    (part, end): (Span, f64),
    held: &Held,
    y: &mut [f64],
    eventful: &mut Vec<usize>,
) -> Result<Told, RunError> {
    put_together(members, (part, end), eventful, |s| {
        let member = &mut all[s];
        member.simulator.advance(part, inputs_of(held, &member.inputs), &mut y[member.outputs.clone()])
    })
}

/// Puts together what `members` came to; those with a discontinuity join `eventful`.
#[inline(always)]
fn put_together(
    members: &[usize],
    (part, end): (Span, f64),
    eventful: &mut Vec<usize>,
    mut outcome: impl FnMut(usize) -> Result<Advance, SubsystemError>,
) -> Result<Told, RunError> {
    let mut told = Told { next_event: f64::INFINITY, early: None };
    let nearly = part.end - 1e-9 * part.h;
    for &s in members {
        let advance = match outcome(s) {
            Ok(advance) => advance,
            Err(error) => return Err(RunError::Subsystem { member: s, phase: "step", span: part, error }),
        };
        if advance.reached < nearly {
            told.early = Some((s, advance.reached));
            break;
        }
        if advance.event != StepEvent::None && !eventful.contains(&s) {
            eventful.push(s);
        }
        // What is announced for this macro step is over before it ends, or it was a sub-step too late.
        if let Some(t) = advance.next_event.filter(|&t| t > end) {
            told.next_event = told.next_event.min(t);
        }
    }
    Ok(told)
}

/// Whether all values are finite: only then is an exponent less than all ones, so that adding one to it stays below the sign.
#[inline]
pub(crate) fn finite(values: &[f64]) -> bool {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    const ONE: u64 = 0x0010_0000_0000_0000;
    values.iter().fold(0, |all, v| all | ((v.to_bits() & EXPONENT) + ONE)) >> 63 == 0
}

pub(crate) fn non_finite(y: &[f64], first: usize, span: Span) -> RunError {
    let k = y.iter().position(|v| !v.is_finite()).unwrap_or(0);
    RunError::NonFinite { output: first + k, value: y[k], span }
}
