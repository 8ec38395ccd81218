//! Something around a subsystem that changes a part of what it does: everything else is passed on, here and nowhere else.

use crate::subsystem::{
    Advance, Binding, Info, Inputs, Packet, Setup, Span, StateSnapshot, StepEvent, Subsystem, SubsystemError,
};

/// A subsystem around another one. What is not overridden is what the inner one does; every implementor is a
/// [`Subsystem`]. The state is that of the inner one: a wrapper remembers nothing that later steps depend on, or saves and restores it.
pub trait Wrapper: Send {
    /// The inner one.
    fn inner(&self) -> &dyn Subsystem;

    /// The inner one.
    fn inner_mut(&mut self) -> &mut dyn Subsystem;

    /// See [`Subsystem::info`].
    fn info(&self) -> &Info {
        self.inner().info()
    }

    /// See [`Subsystem::bind`].
    fn bind(&mut self, binding: &Binding) -> Result<(), SubsystemError> {
        self.inner_mut().bind(binding)
    }

    /// See [`Subsystem::enter`].
    fn enter(&mut self, setup: &Setup) -> Result<(), SubsystemError> {
        self.inner_mut().enter(setup)
    }

    /// See [`Subsystem::evaluate`].
    fn evaluate(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        self.inner_mut().evaluate(u, y)
    }

    /// See [`Subsystem::scratch`]; by default one of the inner subsystem alone.
    fn scratch(&self) -> Option<Box<dyn Subsystem>> {
        self.inner().scratch()
    }

    /// See [`Subsystem::save`].
    fn save(&mut self) -> Result<(), SubsystemError> {
        self.inner_mut().save()
    }

    /// See [`Subsystem::restore`].
    fn restore(&mut self) -> Result<(), SubsystemError> {
        self.inner_mut().restore()
    }

    /// See [`Subsystem::save_second`].
    fn save_second(&mut self) -> Result<(), SubsystemError> {
        self.inner_mut().save_second()
    }

    /// See [`Subsystem::restore_second`].
    fn restore_second(&mut self) -> Result<(), SubsystemError> {
        self.inner_mut().restore_second()
    }

    /// See [`Subsystem::release`].
    fn release(&mut self) {
        self.inner_mut().release();
    }

    /// See [`Subsystem::snapshot`].
    fn snapshot(&mut self) -> Result<StateSnapshot, SubsystemError> {
        self.inner_mut().snapshot()
    }

    /// See [`Subsystem::load_snapshot`].
    fn load_snapshot(&mut self, snapshot: &StateSnapshot) -> Result<(), SubsystemError> {
        self.inner_mut().load_snapshot(snapshot)
    }

    /// See [`Subsystem::update`].
    fn update(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        self.inner_mut().update(u, y)
    }

    /// See [`Subsystem::set`].
    fn set(&mut self, variable: usize, value: f64) -> Result<(), SubsystemError> {
        self.inner_mut().set(variable, value)
    }

    /// See [`Subsystem::write_packet`].
    fn write_packet(&mut self, packet: usize, bytes: &[u8]) -> Result<(), SubsystemError> {
        self.inner_mut().write_packet(packet, bytes)
    }

    /// See [`Subsystem::finish`].
    fn finish(&mut self) -> Result<(), SubsystemError> {
        self.inner_mut().finish()
    }

    /// See [`Subsystem::start`].
    fn start(&mut self) -> Result<(), SubsystemError> {
        self.inner_mut().start()
    }

    /// See [`Subsystem::advance`].
    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        self.inner_mut().advance(span, u, y)
    }
}

/// Crosses a span in two parts with constant inputs each, or ends where the first part ends early.
pub(super) fn in_two_parts(
    inner: &mut dyn Subsystem,
    [(one, u), (two, v)]: [(Span, &[f64]); 2],
    y: &mut [f64],
) -> Result<Advance, SubsystemError> {
    let first = inner.advance(one, Inputs::constant(u), y)?;
    if first.reached < one.end - 1e-9 * one.h || first.event == StepEvent::Terminated {
        return Ok(first);
    }
    let second = inner.advance(two, Inputs::constant(v), y)?;
    let next_event = second.next_event.or(first.next_event.filter(|&t| t > two.end));
    // An event at the end of the first part has been handled in the second one.
    let event = second.event.max(first.event.min(StepEvent::Handled));
    Ok(Advance { event, next_event, ..second })
}

/// Whether inputs are held: what changes them over a step does nothing.
pub(super) fn are_held(u: Inputs<'_>) -> bool {
    u.slope.iter().chain(u.curvature).all(|&x| x == 0.0)
}

impl<T: Wrapper> Subsystem for T {
    fn info(&self) -> &Info {
        Wrapper::info(self)
    }

    fn bind(&mut self, binding: &Binding) -> Result<(), SubsystemError> {
        Wrapper::bind(self, binding)
    }

    fn enter(&mut self, setup: &Setup) -> Result<(), SubsystemError> {
        Wrapper::enter(self, setup)
    }

    fn evaluate(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        Wrapper::evaluate(self, u, y)
    }

    fn update(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        Wrapper::update(self, u, y)
    }

    fn start(&mut self) -> Result<(), SubsystemError> {
        Wrapper::start(self)
    }

    fn next_event(&self) -> Option<f64> {
        self.inner().next_event()
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        Wrapper::advance(self, span, u, y)
    }

    fn feed_through(&mut self, d: &mut [f64]) -> Result<(), SubsystemError> {
        self.inner_mut().feed_through(d)
    }

    fn set(&mut self, variable: usize, value: f64) -> Result<(), SubsystemError> {
        Wrapper::set(self, variable, value)
    }

    fn output_derivatives(&mut self, dy: &mut [f64]) -> Result<(), SubsystemError> {
        self.inner_mut().output_derivatives(dy)
    }

    fn probe(&mut self, z: &mut [f64]) -> Result<(), SubsystemError> {
        self.inner_mut().probe(z)
    }

    fn save(&mut self) -> Result<(), SubsystemError> {
        Wrapper::save(self)
    }

    fn restore(&mut self) -> Result<(), SubsystemError> {
        Wrapper::restore(self)
    }

    fn save_second(&mut self) -> Result<(), SubsystemError> {
        Wrapper::save_second(self)
    }

    fn restore_second(&mut self) -> Result<(), SubsystemError> {
        Wrapper::restore_second(self)
    }

    fn release(&mut self) {
        Wrapper::release(self);
    }

    fn scratch(&self) -> Option<Box<dyn Subsystem>> {
        Wrapper::scratch(self)
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> Result<(), SubsystemError> {
        self.inner_mut().state(visit)
    }

    fn snapshot(&mut self) -> Result<StateSnapshot, SubsystemError> {
        Wrapper::snapshot(self)
    }

    fn load_snapshot(&mut self, snapshot: &StateSnapshot) -> Result<(), SubsystemError> {
        Wrapper::load_snapshot(self, snapshot)
    }

    fn can_snapshot(&mut self) -> bool {
        self.inner_mut().can_snapshot()
    }

    fn unreadable(&self, variables: &[usize], setup: &Setup) -> Vec<usize> {
        self.inner().unreadable(variables, setup)
    }

    fn packets(&self) -> &[Packet] {
        self.inner().packets()
    }

    fn read_packet(&mut self, packet: usize, bytes: &mut Vec<u8>) -> Result<(), SubsystemError> {
        self.inner_mut().read_packet(packet, bytes)
    }

    fn write_packet(&mut self, packet: usize, bytes: &[u8]) -> Result<(), SubsystemError> {
        Wrapper::write_packet(self, packet, bytes)
    }

    fn finish(&mut self) -> Result<(), SubsystemError> {
        Wrapper::finish(self)
    }
}
