//! What inputs are given on a stage: from their past, from what others have made in this step, or from a known signal.

use super::record::{BufferNeeds, StepRecord};
use super::schedule::{InputSource, Schedule, Seen, Stage, Sum};
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::correction::InputCorrection;
use crate::error::RunError;
use crate::feed_through::Reached;
use crate::hold::output_derivatives::OutputDerivatives;
use crate::hold::{HeldInputs, Hold};
use crate::network::Network;
use crate::subsystem::Span;
use crate::time::history::{History, NODES};
use crate::time::signal::Signal;
use std::ops::Range;

/// Inputs during an attempt, and their past.
pub(crate) struct Exchange {
    /// What subsystems are given, corrections included.
    pub held: HeldInputs,
    /// How many input derivatives the subsystem of each input follows.
    takes: Vec<u8>,
    delta: Vec<f64>,
    /// Inputs at communication points.
    pub history: History,
    /// What each fast group remembers.
    groups: Vec<GroupPast>,
    /// Parts of inputs at communication points.
    waiting: History,
    /// Derivatives of inputs, if they come from derivatives of outputs.
    derivatives: Option<OutputDerivatives>,
}

/// The past of a fast group: its inputs at the points where its members exchange among themselves.
struct GroupPast {
    committed: History,
    tentative: History,
    /// All outputs at the last of these points, if a line over a sub-step has to start there.
    y: Vec<f64>,
}

/// Enters a point at `t` with outputs `y`.
fn push_sums(history: &mut History, sums: &[Sum], t: f64, y: &[f64]) {
    history.push(t, |values| sums.iter().for_each(|sum| values[sum.input] = sum.of(y)));
}

/// Gives the newest point other outputs: their limits from the right.
fn renew_sums(history: &mut History, sums: &[Sum], y: &[f64]) {
    sums.iter().for_each(|sum| history.set_newest(sum.input, sum.of(y)));
}

/// What the inputs of a stage are written from.
pub(super) struct StageContext<'a> {
    pub network: &'a Network,
    pub schedule: &'a Schedule,
    pub stage: &'a Stage,
    pub hold: &'a dyn Hold,
    /// The macro step.
    pub span: Span,
    /// The part of it that the stage crosses.
    pub part: Span,
    /// The step before, if what was held on it goes on instead of what is held from here.
    pub onward: Option<&'a Span>,
}

impl Exchange {
    pub fn new(network: &Network, schedule: &Schedule, order: u8, needs: &BufferNeeds) -> Self {
        let (nu, ny) = (network.n_inputs, network.n_outputs);
        let sized = |n: usize, wanted: bool| if wanted { vec![0.0; n] } else { Vec::new() };
        let lines = schedule.stages.iter().any(Stage::has_lines);
        let groups = schedule.groups.iter().map(|group| GroupPast {
            committed: History::new(nu),
            tentative: History::new(nu),
            y: sized(ny, group.lines),
        });
        let takes = |i: usize| network.members[network.owner_of_input[i]].capabilities.input_derivatives;
        let mut held = HeldInputs::new(nu, order.max(u8::from(lines)));
        held.lift = sized(nu, needs.means);
        Exchange {
            held,
            takes: (0..nu).map(takes).collect(),
            delta: sized(nu, needs.corrections),
            history: History::new(nu),
            groups: groups.collect(),
            waiting: History::new(if schedule.waiting.is_empty() { 0 } else { nu }),
            derivatives: None,
        }
    }

    /// Inputs are held by the derivatives that subsystems give of their outputs.
    pub fn follow_derivatives(&mut self, network: &Network) {
        self.derivatives = Some(OutputDerivatives::new(network));
    }

    /// What input `i` really was at the end of the step of `record`: the mean, where a mean was given.
    pub fn input_at_end(&self, record: &StepRecord, i: usize) -> f64 {
        record.corrected_end()[i] - self.held.lift.get(i).copied().unwrap_or(0.0)
    }

    /// The mean over a step of length `h` of what input `i` was given.
    pub fn mean(&self, i: usize, h: f64) -> f64 {
        let of = |list: &[f64]| list.get(i).copied().unwrap_or(0.0);
        self.held.value[i] + h * (0.5 * of(&self.held.slope) + h * of(&self.held.curvature) / 6.0)
    }

    /// Begins an attempt.
    pub(super) fn begin_sweep(&mut self, schedule: &Schedule) {
        for (past, group) in self.groups.iter_mut().zip(&schedule.groups) {
            past.tentative.copy_from(&past.committed, &group.inner);
        }
    }

    /// Writes what the members of a stage are given, before correction, and what that comes to at the end of the stage.
    pub(super) fn write_inputs(&mut self, context: &StageContext<'_>, record: &mut StepRecord) {
        for &g in &context.stage.opens {
            self.open_group(g, context, record);
        }
        for (range, source) in &context.stage.sources {
            self.write(range, *source, context, record);
        }
        for range in &context.stage.inputs {
            self.end_values(range.clone(), context.part.h, &mut record.held_end);
        }
    }

    /// Writes a range of inputs that have the same source.
    #[inline]
    fn write(
        &mut self,
        range: &Range<usize>,
        source: InputSource,
        context: &StageContext<'_>,
        record: &StepRecord,
    ) {
        let StageContext { network, hold, span, part, .. } = *context;
        let i = range.start;
        match source {
            InputSource::Held => {
                hold.eval(&self.history, part, range.clone(), &mut self.held);
                if let Some(derivatives) = &self.derivatives {
                    let (takes, held) = (&self.takes, &mut self.held);
                    derivatives.hold(&self.history, part, range.clone(), hold, takes, held);
                }
                if let Some(first) = context.onward.copied() {
                    self.go_on(range, first, context);
                }
            }
            InputSource::HeldInGroup(g) => {
                hold.eval(&self.groups[g].tentative, part, range.clone(), &mut self.held);
            }
            InputSource::Latest => self.set_line(i, network.wiring.row(i, &record.y_step), 0.0, 0.0),
            InputSource::Between => {
                let (old, new) = (self.history.values(0)[i], network.wiring.row(i, &record.y_step));
                let slope = (new - old) / span.h;
                self.set_line(i, old + slope * (part.start - span.start), slope, part.h);
            }
            InputSource::BetweenInGroup(g) => {
                let old = self.groups[g].tentative.values(0)[i];
                let new = network.wiring.row(i, &record.y_step);
                self.set_line(i, old, (new - old) / part.h, part.h);
            }
            InputSource::Mixed(k) => self.write_mixed(k, context, record),
            InputSource::External(e) => {
                let (signal, order) = (&network.externals[e].signal, hold.orders()[i]);
                match context.onward {
                    // The curve over both steps, as one big step has it. Where its mean is given, that of the second step.
                    Some(first) if order == 0 || self.takes[i] > 0 => {
                        let both = Span { start: first.start, end: part.end, h: first.h + part.h };
                        self.follow(i, signal, both, order);
                        self.held.shift(i..i + 1, first.h);
                    }
                    _ => self.follow(i, signal, part, order),
                }
            }
        }
    }

    /// Inputs whose subsystem is given less than the polynomial, once per step, go on as they were given in the `first` step. Means and
    /// sub-steps sample the same polynomial later, and so do others.
    fn go_on(&mut self, range: &Range<usize>, first: Span, context: &StageContext<'_>) {
        let StageContext { hold, part, .. } = *context;
        if context.stage.parts > 1 || hold.orders_vary() {
            return;
        }
        for i in range.clone().filter(|&i| self.takes[i] < hold.orders()[i].min(2)) {
            hold.eval(&self.history, first, i..i + 1, &mut self.held);
            if let Some(derivatives) = &self.derivatives {
                derivatives.hold(&self.history, first, i..i + 1, hold, &self.takes, &mut self.held);
            }
            self.held.shift(i..i + 1, part.start - first.start);
        }
    }

    /// A fast group exchanges before the stage.
    #[inline(never)] // Most runs have none.
    fn open_group(&mut self, g: usize, context: &StageContext<'_>, record: &StepRecord) {
        let GroupPast { tentative, y, .. } = &mut self.groups[g];
        let group = &context.schedule.groups[g];
        if context.stage.part > 0 {
            push_sums(tentative, &group.nodes, context.part.start, &record.y_step);
        }
        if group.lines {
            y.copy_from_slice(&record.y_step);
        }
    }

    /// Adds up the parts of an input whose sources are not all seen in the same way.
    fn write_mixed(&mut self, k: usize, context: &StageContext<'_>, record: &StepRecord) {
        let StageContext { stage, hold, span, part, .. } = *context;
        let mut total = [0.0; 4];
        for source in &stage.mixed[k] {
            let i = source.sum.input;
            let group = source.group.map(|g| &self.groups[g]);
            match source.seen {
                Seen::Held => {
                    let nodes = group.map_or(&self.waiting, |past| &past.tentative);
                    hold.eval(nodes, part, i..i + 1, &mut self.held);
                }
                Seen::Latest => self.set_line(i, source.sum.of(&record.y_step), 0.0, 0.0),
                Seen::Between => {
                    let (from, y) = group.map_or((span, &record.y_prev), |past| (part, &past.y));
                    let (old, new) = (source.sum.of(y), source.sum.of(&record.y_step));
                    let slope = (new - old) / from.h;
                    self.set_line(i, old + slope * (part.start - from.start), slope, part.h);
                }
            }
            let HeldInputs { value, slope, curvature, lift } = &self.held;
            let of = |list: &[f64]| list.get(i).copied().unwrap_or(0.0);
            let this = [value[i], of(slope), of(curvature), of(lift)];
            total.iter_mut().zip(this).for_each(|(sum, x)| *sum += x);
        }
        let i = stage.mixed[k][0].sum.input;
        let HeldInputs { value, slope, curvature, lift } = &mut self.held;
        value[i] = total[0];
        for (list, sum) in [slope, curvature, lift].into_iter().zip(&total[1..]) {
            list.get_mut(i).into_iter().for_each(|x| *x = *sum);
        }
    }

    /// A line from `value` with `slope`; its mean over `h` for a subsystem that takes values only.
    fn set_line(&mut self, i: usize, value: f64, slope: f64, h: f64) {
        let follows = self.takes[i] > 0;
        let rise = 0.5 * slope * h;
        self.held.value[i] = if follows { value } else { value + rise };
        if let Some(s) = self.held.slope.get_mut(i) {
            *s = if follows { slope } else { 0.0 };
        }
        if let Some(c) = self.held.curvature.get_mut(i) {
            *c = 0.0;
        }
        if let Some(lift) = self.held.lift.get_mut(i) {
            *lift = if follows { 0.0 } else { rise };
        }
    }

    /// A known signal: with hold order m the polynomial of order m through its values on the span itself; the value
    /// in the middle for a subsystem that takes values only.
    fn follow(&mut self, i: usize, signal: &Signal, part: Span, order: u8) {
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

    fn end_values(&mut self, range: Range<usize>, h: f64, held_end: &mut [f64]) {
        let end = &mut held_end[range.clone()];
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

    /// Adds the correction of a stage.
    pub(super) fn correct(
        &mut self,
        correction: &dyn InputCorrection,
        context: &StageContext<'_>,
        record: &mut StepRecord,
    ) {
        for range in &context.stage.inputs {
            correction.apply(context.span, context.part, range.clone(), &mut self.delta);
            let delta = &self.delta[range.clone()];
            self.held.value[range.clone()].iter_mut().zip(delta).for_each(|(u, d)| *u += d);
            let held = &record.held_end[range.clone()];
            let corrected = &mut record.corrected_end[range.clone()];
            corrected.iter_mut().zip(held.iter().zip(delta)).for_each(|(c, (u, d))| *c = u + d);
        }
    }

    /// Compares the fresh inputs of a record with what the past predicted.
    pub fn look_at_defects(&self, schedule: &Schedule, order: &[u8], record: &mut StepRecord) {
        let StepRecord { defects: Some(defects), fresh, span, .. } = record else { return };
        defects.look(&self.history, span.end, fresh, order, 0..fresh.len());
        for (past, group) in self.groups.iter().zip(&schedule.groups) {
            for range in &group.inner {
                defects.look(&past.tentative, span.end, fresh, order, range.clone());
            }
        }
    }

    /// Notes with which order each input was held in this attempt, where that may have changed.
    pub fn note_orders(&self, hold: &dyn Hold, record: &mut StepRecord) {
        let settled = self.history.len() == NODES && self.history.is_whole() && !hold.orders_vary();
        let is_old = settled && record.order_was_settled;
        record.order_changed = !(record.held_order.is_empty() || is_old);
        record.order_settled = settled;
        if record.order_changed {
            for (i, order) in record.held_order.iter_mut().enumerate() {
                *order = hold.order_held(&self.history, i);
            }
        }
    }

    /// The attempt stands: its end is the next communication point.
    pub fn commit(&mut self, schedule: &Schedule, record: &StepRecord) {
        let t = record.span.end;
        self.history.push(t, |values| values.copy_from_slice(&record.fresh));
        for (past, group) in self.groups.iter_mut().zip(&schedule.groups) {
            std::mem::swap(&mut past.committed, &mut past.tentative);
            push_sums(&mut past.committed, &group.nodes, t, record.y_end());
        }
        if !schedule.waiting.is_empty() {
            push_sums(&mut self.waiting, &schedule.waiting, t, record.y_end());
        }
    }

    /// Asks for derivatives of outputs at the communication point at the end of `span`, if inputs follow them.
    pub fn read_derivatives(&mut self, network: &mut Network, span: Span) -> Result<(), RunError> {
        self.derivatives.iter_mut().try_for_each(|derivatives| derivatives.read(network, span))
    }

    /// Forgets the past of the inputs that an event reaches, of all if it may reach everything.
    pub fn restart(&mut self, reached: &Reached<'_>) {
        let groups = self.groups.iter_mut().map(|past| &mut past.committed);
        for history in groups.chain([&mut self.history, &mut self.waiting]) {
            match reached {
                Reached::Everything => history.restart(),
                // Where nothing waits its history has no signals.
                Reached::Some { inputs, .. } if !history.values(0).is_empty() => history.restart_some(inputs),
                Reached::Some { .. } => {}
            }
        }
    }

    /// After an event: the newest point has the limits from the right, inputs `u` and outputs `y`.
    pub fn renew(&mut self, schedule: &Schedule, u: &[f64], y: &[f64]) {
        u.iter().enumerate().for_each(|(i, &value)| self.history.set_newest(i, value));
        for (past, group) in self.groups.iter_mut().zip(&schedule.groups) {
            renew_sums(&mut past.committed, &group.nodes, y);
        }
        renew_sums(&mut self.waiting, &schedule.waiting, y);
    }

    /// The first communication point, at `t`, with inputs `u` and outputs `y`.
    pub fn begin(&mut self, schedule: &Schedule, t: f64, u: &[f64], y: &[f64]) {
        self.history.push(t, |values| values.copy_from_slice(u));
        for (past, group) in self.groups.iter_mut().zip(&schedule.groups) {
            push_sums(&mut past.committed, &group.nodes, t, y);
        }
        push_sums(&mut self.waiting, &schedule.waiting, t, y);
    }
}

impl Checkpointed for Exchange {
    fn save(&self, checkpoint: &mut Checkpoint) {
        self.history.save(checkpoint);
        self.groups.iter().for_each(|past| past.committed.save(checkpoint));
        self.waiting.save(checkpoint);
        self.derivatives.iter().for_each(|derivatives| derivatives.save(checkpoint));
    }

    fn load(&mut self, checkpoint: &mut Checkpoint) {
        self.history.load(checkpoint);
        self.groups.iter_mut().for_each(|past| past.committed.load(checkpoint));
        self.waiting.load(checkpoint);
        self.derivatives.iter_mut().for_each(|derivatives| derivatives.load(checkpoint));
    }
}
