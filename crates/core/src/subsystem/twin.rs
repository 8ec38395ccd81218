//! Own steps of a subsystem, also of one that cannot be restored: a second instance makes every step in halves.
//!
//! The twin gets the same inputs, starts from the same values, and is never brought back to the first instance: what a model that
//! integrates with the communication step does wrong in one step, its twin does half as wrong, and the difference grows as the error does.
//! With `e = y − y_twin` of every output, its variation TV and `k = 1/(1 − 2^−p)`, `p = 1` as of Euler's method (errors of a higher
//! order are smaller than what is said, at most by half):
//!
//! `tw = k rms(e)/sd(y)`, `tvt = k TV(e)/sd(y)`, `sw = max TV(y)/range(y)`;   own error `min(0.7 tvt, 1.2 tw √(1 + sw/6))`, the largest of all outputs
//!
//! Beside [probes](super::own_step) S1 and the order that they find take the places of `tvt` and 1, and what is sub-stepped is in the twin, twice as
//! finely. S1 bounds what may add up; the twin shows how much of it did.
//!
//! The last factor is for errors that come back through the coupling, which the twin, with inputs of its own, does not see. Nothing of it
//! reaches the run: the first instance is asked the same as without a twin.

use super::own_step::{OwnStepProbe, OwnSteps};
use super::wrapper::Wrapper;
use super::{Advance, Binding, Inputs, Setup, Span, StateSnapshot, StepEvent, Subsystem, SubsystemError};

/// Outputs at the start that differ by more than this share of the largest: the second instance is another one.
const SAME: f64 = 1e-6;
/// A part of a step that is cut short is gone on with so often.
const TRIES: u32 = 20;

/// A subsystem beside which a twin makes every step in halves.
pub struct Twinned {
    inner: Box<dyn Subsystem>,
    found: OwnSteps,
    /// The inner one probes its steps, too.
    probed: bool,
    binding: Option<Binding>,
    /// None before the run, where there cannot be one, and after a call failed.
    twin: Option<Box<dyn Subsystem>>,
    /// Outputs of the twin, and inputs of parts of a step.
    y: Vec<f64>,
    value: Vec<f64>,
    slope: Vec<f64>,
    /// The first step was asked for.
    began: bool,
}

impl Twinned {
    /// Wraps a subsystem; what is found can be read at any time. The twin is made when the run begins, if it is
    /// [wanted](OwnSteps::want_twin).
    pub fn new(inner: Box<dyn Subsystem>) -> (Self, OwnSteps) {
        let found = OwnSteps::default();
        found.allow_twin();
        (Twinned::with(inner, found.clone(), false), found)
    }

    /// Wraps a subsystem whose own steps are probed; what both find is in one place.
    pub fn beside(probe: OwnStepProbe, found: &OwnSteps) -> Self {
        found.allow_twin();
        Twinned::with(Box::new(probe), found.clone(), true)
    }

    fn with(inner: Box<dyn Subsystem>, found: OwnSteps, probed: bool) -> Self {
        let none = Vec::new;
        Twinned {
            inner,
            found,
            probed,
            binding: None,
            twin: None,
            y: none(),
            value: none(),
            slope: none(),
            began: false,
        }
    }

    /// Whether a twin of such a subsystem would tell anything: its steps may be divided, and there may be two of it.
    pub fn is_possible(of: &dyn Subsystem) -> bool {
        let can = &of.info().capabilities;
        can.sub_steps && !can.constant_step && can.fixed_step.is_none() && !can.once
    }

    /// Asks the twin; if it fails there is none from here on, and why is told.
    fn ask<T>(
        &mut self,
        what: impl FnOnce(&mut dyn Subsystem, &mut Vec<f64>) -> Result<T, SubsystemError>,
    ) -> Option<T> {
        let twin = self.twin.as_mut()?;
        match what(twin.as_mut(), &mut self.y) {
            Ok(value) => Some(value),
            Err(error) => {
                self.give_up(format!("its twin: {error}"));
                None
            }
        }
    }

    fn give_up(&mut self, why: String) {
        if let Some(mut twin) = self.twin.take() {
            let _ = twin.finish();
        }
        self.found.lose_twin(why);
    }

    /// One part of a step of the twin, with the inputs of the whole.
    fn part(&mut self, whole: Span, part: Span, u: Inputs<'_>) -> Result<StepEvent, SubsystemError> {
        let Some(twin) = self.twin.as_mut() else { return Ok(StepEvent::None) };
        let mut from = part.start;
        for _ in 0..TRIES {
            let tau = from - whole.start;
            for i in 0..u.value.len() {
                self.value[i] = u.at(i, tau);
                if let (Some(to), Some(slope)) = (self.slope.get_mut(i), u.slope.get(i)) {
                    *to = slope + tau * u.curvature.get(i).copied().unwrap_or(0.0);
                }
            }
            let slope = if u.slope.is_empty() { &[][..] } else { &self.slope };
            let inputs = Inputs { value: &self.value, slope, curvature: u.curvature };
            let span = Span { start: from, end: part.end, h: part.end - from };
            let advance = twin.advance(span, inputs, &mut self.y)?;
            if advance.reached >= part.end - 1e-9 * part.h || advance.event == StepEvent::Terminated {
                return Ok(advance.event);
            }
            if advance.event == StepEvent::Pending {
                for i in 0..u.value.len() {
                    self.value[i] = u.at(i, advance.reached - whole.start);
                }
                twin.update(Inputs::constant(&self.value), &mut self.y)?;
            }
            from = advance.reached;
        }
        Err(SubsystemError::Infeasible { message: "it stops again and again inside a step".to_owned() })
    }

    /// The step that the first instance has made, up to what it reached, each of its sub-steps in halves.
    fn follow(&mut self, span: Span, made: &Advance, u: Inputs<'_>, y: &[f64]) -> Result<(), SubsystemError> {
        let early = made.reached < span.end - 1e-9 * span.h;
        let end = if early { made.reached } else { span.end };
        let whole = Span { start: span.start, end, h: end - span.start };
        if made.event == StepEvent::Terminated || whole.h <= 0.0 {
            return Ok(());
        }
        let mut event = StepEvent::None;
        let parts = 2 * self.found.parts();
        for k in 0..parts {
            event = self.part(whole, whole.part(k, parts), u)?;
            if event == StepEvent::Terminated {
                return Err(SubsystemError::Infeasible { message: "it ends the simulation".to_owned() });
            }
            if event == StepEvent::Pending && k + 1 < parts {
                let twin = self.twin.as_mut();
                twin.map_or(Ok(()), |twin| twin.update(Inputs::constant(&self.value), &mut self.y))?;
            }
        }
        if event == StepEvent::Pending && made.event != StepEvent::Pending {
            for i in 0..u.value.len() {
                self.value[i] = u.at(i, whole.h);
            }
            let twin = self.twin.as_mut();
            twin.map_or(Ok(()), |twin| twin.update(Inputs::constant(&self.value), &mut self.y))?;
        }
        self.found.compare(whole.h, y, &self.y, self.probed);
        Ok(())
    }
}

impl Wrapper for Twinned {
    fn inner(&self) -> &dyn Subsystem {
        self.inner.as_ref()
    }

    fn inner_mut(&mut self) -> &mut dyn Subsystem {
        self.inner.as_mut()
    }

    fn bind(&mut self, binding: &Binding) -> Result<(), SubsystemError> {
        self.value.resize(binding.inputs.len(), 0.0);
        self.slope.resize(binding.inputs.len(), 0.0);
        self.y.resize(binding.outputs.len(), 0.0);
        self.binding = Some(binding.clone());
        if !self.probed {
            self.found.bind(self.inner.info(), binding);
        }
        self.inner.bind(binding)
    }

    fn enter(&mut self, setup: &Setup) -> Result<(), SubsystemError> {
        self.inner.enter(setup)?;
        self.began = false;
        if !self.found.wants_twin() {
            return Ok(());
        }
        match (self.inner.scratch(), self.binding.clone()) {
            (Some(twin), Some(binding)) => {
                self.twin = Some(twin);
                self.ask(|twin, _| {
                    // What is only recorded is not read.
                    twin.bind(&Binding { probes: Vec::new(), ..binding })?;
                    twin.enter(setup)
                });
            }
            _ => self.found.lose_twin("there cannot be a second instance of it".to_owned()),
        }
        Ok(())
    }

    fn evaluate(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        self.inner.evaluate(u, y)?;
        if self.ask(|twin, own| twin.evaluate(u, own)).is_some() && !self.began {
            let other = |(a, b): (&f64, &f64)| (a - b).abs() > SAME * a.abs().max(b.abs());
            if y.iter().zip(&self.y).any(other) {
                self.give_up("a second instance of it begins with other outputs".to_owned());
            }
        }
        Ok(())
    }

    fn update(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        self.inner.update(u, y)?;
        self.ask(|twin, own| twin.update(u, own));
        Ok(())
    }

    fn set(&mut self, variable: usize, value: f64) -> Result<(), SubsystemError> {
        self.inner.set(variable, value)?;
        self.ask(|twin, _| twin.set(variable, value));
        Ok(())
    }

    fn write_packet(&mut self, packet: usize, bytes: &[u8]) -> Result<(), SubsystemError> {
        self.inner.write_packet(packet, bytes)?;
        self.ask(|twin, _| twin.write_packet(packet, bytes));
        Ok(())
    }

    fn start(&mut self) -> Result<(), SubsystemError> {
        self.inner.start()?;
        self.ask(|twin, _| twin.start());
        Ok(())
    }

    fn save(&mut self) -> Result<(), SubsystemError> {
        self.inner.save()?;
        self.ask(|twin, _| twin.save());
        Ok(())
    }

    fn restore(&mut self) -> Result<(), SubsystemError> {
        self.inner.restore()?;
        self.ask(|twin, _| twin.restore());
        Ok(())
    }

    fn release(&mut self) {
        self.inner.release();
        if let Some(twin) = &mut self.twin {
            twin.release();
        }
    }

    fn restore_second(&mut self) -> Result<(), SubsystemError> {
        if self.twin.is_some() {
            self.give_up("it went back to a second state, which its twin does not follow".to_owned());
        }
        self.inner.restore_second()
    }

    fn load_snapshot(&mut self, snapshot: &StateSnapshot) -> Result<(), SubsystemError> {
        if self.twin.is_some() {
            self.give_up("its state was set, which its twin does not follow".to_owned());
        }
        self.inner.load_snapshot(snapshot)
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        self.began = true;
        let made = self.inner.advance(span, u, y)?;
        if self.twin.is_some()
            && let Err(error) = self.follow(span, &made, u, y)
        {
            self.give_up(format!("its twin: {error}"));
        }
        Ok(made)
    }

    fn finish(&mut self) -> Result<(), SubsystemError> {
        if let Some(mut twin) = self.twin.take() {
            // What it says at the end is of no interest.
            let _ = twin.finish();
        }
        self.inner.finish()
    }
}
