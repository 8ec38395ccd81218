//! A held mean whose missing moment is made up for: the right order with one step, for a subsystem that can be restored.

use crate::subsystem::wrapper::Wrapper;
use crate::subsystem::{Advance, Info, Inputs, Setup, Span, StateSnapshot, Subsystem, SubsystemError};

/// Steps between two trials of how outputs answer to inputs; a step this much longer than the last one tried is tried, too.
const EVERY: u64 = 50;
const LONGER: f64 = 1.6;
/// A trial lasts this share of the step, and raises an input by this share of its range, or of its value while it has no range.
const SHORT: f64 = 1.0 / 8.0;
const RAISED: [f64; 2] = [0.01, 1e-6];

/// Lets a subsystem that takes values only follow a polynomial `p(τ) = p0 + p1 τ + p2 τ²` in one step.
///
/// A held mean lacks the moment `∫p (τ − h/2) = h³ (p1 + h p2)/12`: the subsystem acts as if it were fed `u + h² u''/12`, and what it
/// integrates is off by `B G` at communication points, `G = h²/12 (p1 + 2 h p2)` being `h² u'/12` at the end of the step and `B` what a unit
/// of input adds to the outputs per second. So the mean is held so that exactly this is lacking whatever the step, `v − (G − G₋)/h`, and
/// outputs are given as `y + B G`. `B` is tried in every 50th step, and in longer ones: an eighth of the step with the input, and with it
/// raised, both taken back.
///
/// A trial that is due where the engine may go back to an earlier state than that of the last communication point, as in later sub-steps of
/// a step that may be rejected, is left out: `B` is then an older one.
///
/// Needs `restore`; outputs that feed an input through have to be read again at `p(h)`.
pub struct CompensatedMean {
    inner: Box<dyn Subsystem>,
    info: Info,
    /// Outputs are read again at the end.
    reads: bool,
    /// Which bound outputs are real numbers.
    real: Vec<bool>,
    memory: Memory,
    /// What `save` keeps of it.
    kept: Memory,
    /// What `save_second` keeps of it.
    second: Memory,
    slot: Slot,
    held: Vec<f64>,
    end: Vec<f64>,
    plain: Vec<f64>,
    raised: Vec<f64>,
}

/// What later steps depend on.
#[derive(Clone, Default)]
struct Memory {
    /// G of every input.
    lack: Vec<f64>,
    /// B, row by row: a row per output.
    answers: Vec<f64>,
    /// The range of every input so far.
    range: Vec<Option<[f64; 2]>>,
    steps: u64,
    /// The length of the last step that was tried, in s.
    tried: f64,
}

/// Whether the slot that `save` fills may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// The engine does not need it.
    Free,
    /// The engine saved, and nothing has been done since.
    Current,
    /// The engine may go back to it.
    Taken,
}

impl Memory {
    /// What another one says; nothing is allocated.
    fn set(&mut self, other: &Memory) {
        self.lack.copy_from_slice(&other.lack);
        self.answers.copy_from_slice(&other.answers);
        self.range.copy_from_slice(&other.range);
        (self.steps, self.tried) = (other.steps, other.tried);
    }

    fn see(&mut self, i: usize, value: f64) {
        let [least, most] = self.range[i].get_or_insert([value, value]);
        (*least, *most) = (least.min(value), most.max(value));
    }

    /// By how much an input is raised; 0 where it is 0 all the time.
    fn raise(&self, i: usize) -> f64 {
        let Some([least, most]) = self.range[i] else { return 0.0 };
        RAISED[0] * (most - least) + RAISED[1] * least.abs().max(most.abs())
    }

    /// `y + B G`.
    fn compensate(&self, y: &mut [f64]) {
        let n = self.lack.len();
        for (y, row) in y.iter_mut().zip(self.answers.chunks_exact(n.max(1))) {
            let off: f64 = row.iter().zip(&self.lack).map(|(b, g)| b * g).sum();
            if off != 0.0 {
                *y += off;
            }
        }
    }
}

impl CompensatedMean {
    /// Wraps a bound subsystem that can be restored, with so many inputs and outputs, of which `real` says which are real numbers; with
    /// `reads` outputs are read again at the end.
    pub fn new(inner: Box<dyn Subsystem>, inputs: usize, real: Vec<bool>, reads: bool) -> Self {
        let mut info = inner.info().clone();
        info.capabilities.input_derivatives = 2;
        let memory = Memory {
            lack: vec![0.0; inputs],
            answers: vec![0.0; inputs * real.len()],
            range: vec![None; inputs],
            ..Memory::default()
        };
        CompensatedMean {
            inner,
            info,
            reads,
            kept: memory.clone(),
            second: memory.clone(),
            memory,
            slot: Slot::Free,
            held: vec![0.0; inputs],
            end: vec![0.0; inputs],
            plain: vec![0.0; real.len()],
            raised: vec![0.0; real.len()],
            real,
        }
    }

    /// The outputs after a short step with what is held, `raised` if any input is, read at the input of its start.
    fn short(
        &mut self,
        span: Span,
        at: &[f64],
        raised: Option<(usize, f64)>,
    ) -> Result<bool, SubsystemError> {
        let kept = raised.map(|(i, by)| {
            let kept = self.held[i];
            self.held[i] += by;
            (i, kept)
        });
        let part = Span { start: span.start, end: span.start + SHORT * span.h, h: SHORT * span.h };
        let y = if raised.is_some() { &mut self.raised } else { &mut self.plain };
        let mut made =
            self.inner.advance(part, Inputs::constant(&self.held), y).map(|a| a.is_uneventful(part));
        if self.reads && matches!(made, Ok(true)) {
            made = self.inner.evaluate(Inputs::constant(at), y).map(|()| true);
        }
        if let Some((i, value)) = kept {
            self.held[i] = value;
        }
        self.inner.restore()?;
        made
    }

    /// Tries what a unit of every input adds to the outputs per second; false where an event came between.
    fn try_answers(&mut self, span: Span, at: &[f64]) -> Result<bool, SubsystemError> {
        if !self.short(span, at, None)? {
            return Ok(false);
        }
        let n = self.held.len();
        for i in 0..n {
            let by = self.memory.raise(i);
            if by == 0.0 {
                continue;
            }
            if !self.short(span, at, Some((i, by)))? {
                return Ok(false);
            }
            for (o, (a, b)) in self.raised.iter().zip(&self.plain).enumerate() {
                let answer = (a - b) / (by * SHORT * span.h);
                self.memory.answers[o * n + i] =
                    if self.real[o] && answer.is_finite() { answer } else { 0.0 };
            }
        }
        Ok(true)
    }
}

/// p1 and p2 of an input.
fn powers(u: Inputs<'_>, i: usize) -> [f64; 2] {
    let of = |list: &[f64]| list.get(i).copied().unwrap_or(0.0);
    [of(u.slope), 0.5 * of(u.curvature)]
}

/// G at the end of a step of `h` seconds.
fn missing(h: f64, [p1, p2]: [f64; 2]) -> f64 {
    h * h / 12.0 * (p1 + 2.0 * h * p2)
}

impl Wrapper for CompensatedMean {
    fn inner(&self) -> &dyn Subsystem {
        self.inner.as_ref()
    }

    fn inner_mut(&mut self) -> &mut dyn Subsystem {
        self.inner.as_mut()
    }

    fn info(&self) -> &Info {
        &self.info
    }

    fn enter(&mut self, setup: &Setup) -> Result<(), SubsystemError> {
        self.memory.lack.fill(0.0);
        self.inner.enter(setup)
    }

    fn evaluate(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        self.inner.evaluate(u, y)?;
        self.memory.compensate(y);
        Ok(())
    }

    fn update(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        self.inner.update(u, y)?;
        self.memory.compensate(y);
        Ok(())
    }

    fn save(&mut self) -> Result<(), SubsystemError> {
        // Where that fails, what was saved before is not where the next step begins.
        self.slot = Slot::Free;
        self.inner.save()?;
        self.slot = Slot::Current;
        self.kept.set(&self.memory);
        Ok(())
    }

    fn restore(&mut self) -> Result<(), SubsystemError> {
        self.slot = Slot::Current;
        self.memory.set(&self.kept);
        self.inner.restore()
    }

    fn save_second(&mut self) -> Result<(), SubsystemError> {
        self.second.set(&self.memory);
        self.inner.save_second()
    }

    fn restore_second(&mut self) -> Result<(), SubsystemError> {
        self.memory.set(&self.second);
        self.inner.restore_second()
    }

    fn release(&mut self) {
        self.slot = Slot::Free;
        self.inner.release();
    }

    fn snapshot(&mut self) -> Result<StateSnapshot, SubsystemError> {
        Ok(StateSnapshot::new((self.inner.snapshot()?, self.memory.clone())))
    }

    fn load_snapshot(&mut self, snapshot: &StateSnapshot) -> Result<(), SubsystemError> {
        let Some((inner, memory)) = snapshot.get::<(StateSnapshot, Memory)>() else {
            return Err(SubsystemError::Unsupported { call: "load_snapshot" });
        };
        self.inner.load_snapshot(inner)?;
        self.memory.set(memory);
        self.slot = Slot::Free;
        Ok(())
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        let h = span.h;
        for (i, &value) in u.value.iter().enumerate() {
            let [p1, p2] = powers(u, i);
            let end = value + h * (p1 + h * p2);
            self.memory.see(i, value);
            self.memory.see(i, end);
            self.end[i] = end;
            // What is never interpolated stays as it is to the last bit.
            self.held[i] = if p1 == 0.0 && p2 == 0.0 && self.memory.lack[i] == 0.0 {
                value
            } else {
                value + h * (0.5 * p1 + h * p2 / 3.0) - (missing(h, [p1, p2]) - self.memory.lack[i]) / h
            };
        }
        let due = self.memory.steps.is_multiple_of(EVERY) || h > LONGER * self.memory.tried;
        self.memory.steps += 1;
        if due && self.slot != Slot::Taken {
            if self.slot == Slot::Free {
                self.inner.save()?;
            }
            let tried = self.try_answers(span, u.value);
            if self.slot == Slot::Free {
                self.inner.release();
            }
            tried?;
            self.memory.tried = h;
        }
        let made = self.inner.advance(span, Inputs::constant(&self.held), y)?;
        if self.slot == Slot::Current {
            self.slot = Slot::Taken;
        }
        let whole = made.reached >= span.end - 1e-9 * h;
        let tau = (made.reached - span.start).max(0.0);
        for (i, &value) in u.value.iter().enumerate() {
            let [p1, p2] = powers(u, i);
            self.memory.lack[i] = match whole {
                true => missing(h, [p1, p2]),
                false => {
                    let integral = tau * (value + tau * (0.5 * p1 + tau * p2 / 3.0));
                    self.memory.lack[i] + integral - tau * self.held[i]
                }
            };
        }
        if self.reads && whole && made.is_uneventful(span) {
            self.inner.evaluate(Inputs::constant(&self.end), y)?;
        }
        self.memory.compensate(y);
        Ok(made)
    }
}
