//! What the three standards have in common, call by call.

use crate::description::{Kind, Version};
use crate::lifecycle::{Call, Lifecycle, State};
use crate::log::Environment;
use crate::numbers::Numbers;
use crate::returning::{MustReturn, returning};
use crate::rounding;
use crate::status::{MISSING, NOT_ALLOWED, OK};
use crate::trace::{Call as Traced, Marks};
use crate::{fmi1, fmi2, fmi3};
use powerbond_core::subsystem::{Inputs, Span};
use std::cell::Cell;
use std::ffi::{CString, c_char, c_int, c_void};

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stepped {
    /// The status.
    pub code: c_int,
    /// How far it came, where that is not the end of the step.
    pub reached: Option<f64>,
    /// An event is to be handled (FMI 3).
    pub event: bool,
    /// The model wants the simulation to end.
    pub terminate: bool,
}

impl Stepped {
    /// The whole step, or none of it.
    pub fn plain(code: c_int) -> Self {
        Stepped { code, reached: None, event: false, terminate: false }
    }
}

/// A part of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It is no time for a step: nothing was called.
    State,
    Inputs,
    Step,
    Outputs,
}

/// What an iteration of discrete states came to (FMI 3).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct DiscreteStates {
    pub again: bool,
    pub terminate: bool,
    pub next_event: Option<f64>,
}

/// The experiment, as FMUs are told of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Experiment {
    pub tolerance: Option<f64>,
    pub start: f64,
    pub stop: f64,
}

/// Directional derivatives: `sensitivity = ∂unknowns/∂knowns · seed`.
pub(crate) struct Direction<'a> {
    pub unknowns: &'a [u32],
    pub knowns: &'a [u32],
    pub seed: &'a [f64],
    pub sensitivity: &'a mut [f64],
}

/// Names of functions, for messages.
pub(crate) struct Names {
    pub instantiate: &'static str,
    pub set_real: &'static str,
    pub get_real: &'static str,
    pub enter: &'static str,
    pub exit: &'static str,
    pub step: &'static str,
    pub derivatives: &'static str,
    pub output_derivatives: &'static str,
    pub directional: &'static str,
    pub get_state: &'static str,
    pub set_state: &'static str,
    pub free_state: &'static str,
    pub terminate: &'static str,
    pub reset: &'static str,
    pub event: &'static str,
    pub get_packet: &'static str,
    pub set_packet: &'static str,
}

/// An instance of one of the three versions.
#[repr(u8)] // Which one is asked in every step: it is not hidden in one of them.
pub(crate) enum Instance {
    Fmi1(fmi1::Instance),
    Fmi2(fmi2::Instance),
    Fmi3(fmi3::Instance),
}

macro_rules! each {
    ($self:expr, $instance:ident => $body:expr) => {
        match &$self.instance {
            Instance::Fmi1($instance) => $body,
            Instance::Fmi2($instance) => $body,
            Instance::Fmi3($instance) => $body,
        }
    };
}

/// An instance of an FMU of any version, with its state: a call that the state forbids is not made. After every call the
/// floating-point mode is the default one. Dropping it frees the instance.
#[repr(C)] // See [`crate::FmuSubsystem`].
pub(crate) struct Calls {
    life: Lifecycle,
    /// Those of the environment, which lives as long: close at hand in every step.
    trace: Marks,
    instance: Instance,
    /// It was said that it changes the floating-point mode.
    changes_mode: Cell<bool>,
}

impl Calls {
    pub fn new(instance: Instance, life: Lifecycle) -> Self {
        let environment = match &instance {
            Instance::Fmi1(instance) => instance.environment(),
            Instance::Fmi2(instance) => instance.environment(),
            Instance::Fmi3(instance) => instance.environment(),
        };
        Calls { trace: environment.trace.marks(), instance, life, changes_mode: Cell::new(false) }
    }

    /// Where the instance is in its life.
    #[inline(always)]
    pub fn state(&self) -> State {
        self.life.state()
    }

    /// Whether the instance was made with `eventModeUsed` (FMI 3).
    pub fn uses_event_mode(&self) -> bool {
        self.life.event_mode()
    }

    /// Makes a call that is allowed now, and notes where it leads. What changes no state when it returns OK, which is nearly every
    /// call, goes through [`Calls::plain`].
    fn guarded(&self, call: Call, make: impl FnOnce() -> c_int) -> c_int {
        if !self.life.allows(call) {
            return NOT_ALLOWED;
        }
        let code = self.seen(traced(call), || {
            let code = make();
            // Traps of exceptions, too: such calls are rare.
            let _ = self.restore_mode();
            code
        });
        self.life.after(call, code);
        code
    }

    /// The calls that follow belong to the step that begins at `t`.
    pub fn step_at(&self, t: f64) {
        self.trace.step_at(t);
    }

    /// Makes a call that a supervisor outside can see, and keeps the floating-point mode.
    #[inline(always)]
    fn seen<T>(&self, call: Traced, make: impl FnOnce() -> T) -> T {
        self.trace.begin(call);
        let result = returning(make);
        self.keep_mode();
        self.trace.end();
        result
    }

    /// Undoes a change of rounding or of denormals. Inside of what is seen: with traps for exceptions this may be the end.
    #[inline(always)]
    fn keep_mode(&self) {
        if !rounding::is_default() {
            let _ = self.restore_mode();
        }
    }

    /// As after every call, and traps of exceptions are undone, too, which costs as much as a light step. Whether it was changed.
    #[cold]
    pub fn restore_mode(&self) -> bool {
        let changed = rounding::restore();
        if changed && !self.changes_mode.replace(true) {
            self.environment().remark(
                "changes the rounding mode, flushes denormals or traps exceptions; restored after every call",
            );
        }
        changed
    }

    /// As [`Calls::guarded`], for calls that stay in the state.
    #[inline(always)]
    fn plain(&self, call: Call, make: impl FnOnce() -> c_int) -> c_int {
        self.plain_as(traced(call), call, make)
    }

    /// As [`Calls::plain`], seen as another call.
    #[inline(always)]
    fn plain_as(&self, seen: Traced, call: Call, make: impl FnOnce() -> c_int) -> c_int {
        if !self.life.allows(call) {
            return NOT_ALLOWED;
        }
        let code = self.seen(seen, make);
        if code != OK {
            self.life.after(call, code);
        }
        code
    }

    pub fn version(&self) -> Version {
        match self.instance {
            Instance::Fmi1(_) => Version::Fmi1,
            Instance::Fmi2(_) => Version::Fmi2,
            Instance::Fmi3(_) => Version::Fmi3,
        }
    }

    /// The instance, if it is one of FMI 3.
    pub fn fmi3(&self) -> Option<&fmi3::Instance> {
        match &self.instance {
            Instance::Fmi3(instance) => Some(instance),
            _ => None,
        }
    }

    pub fn names(&self) -> &'static Names {
        match self.instance {
            Instance::Fmi1(_) => &fmi1::NAMES,
            Instance::Fmi2(_) => &fmi2::NAMES,
            Instance::Fmi3(_) => &fmi3::NAMES,
        }
    }

    /// The getter and the setter of a type.
    pub fn accessors(&self, kind: Kind) -> (&'static str, &'static str) {
        match (self.version(), kind) {
            (_, Kind::Float64) => (self.names().get_real, self.names().set_real),
            (Version::Fmi1, Kind::Boolean) => ("fmiGetBoolean", "fmiSetBoolean"),
            (Version::Fmi1, _) => ("fmiGetInteger", "fmiSetInteger"),
            (Version::Fmi2, Kind::Boolean) => ("fmi2GetBoolean", "fmi2SetBoolean"),
            (Version::Fmi2, _) => ("fmi2GetInteger", "fmi2SetInteger"),
            (Version::Fmi3, Kind::Float32) => ("fmi3GetFloat32", "fmi3SetFloat32"),
            (Version::Fmi3, Kind::Int8) => ("fmi3GetInt8", "fmi3SetInt8"),
            (Version::Fmi3, Kind::UInt8) => ("fmi3GetUInt8", "fmi3SetUInt8"),
            (Version::Fmi3, Kind::Int16) => ("fmi3GetInt16", "fmi3SetInt16"),
            (Version::Fmi3, Kind::UInt16) => ("fmi3GetUInt16", "fmi3SetUInt16"),
            (Version::Fmi3, Kind::Int32) => ("fmi3GetInt32", "fmi3SetInt32"),
            (Version::Fmi3, Kind::UInt32) => ("fmi3GetUInt32", "fmi3SetUInt32"),
            (Version::Fmi3, Kind::UInt64) => ("fmi3GetUInt64", "fmi3SetUInt64"),
            (Version::Fmi3, Kind::Boolean) => ("fmi3GetBoolean", "fmi3SetBoolean"),
            // Enumerations travel as `Int64`.
            (Version::Fmi3, _) => ("fmi3GetInt64", "fmi3SetInt64"),
        }
    }

    pub fn environment(&self) -> &Environment {
        each!(self, instance => instance.environment())
    }

    /// Sets scalars.
    #[inline(always)]
    pub fn set_reals(&self, references: &[u32], values: &[f64]) -> c_int {
        assert_eq!(references.len(), values.len(), "wrong number of inputs");
        self.plain(Call::Set, || each!(self, instance => instance.set_reals(references, values)))
    }

    /// Reads scalars.
    #[inline(always)]
    pub fn get_reals(&self, references: &[u32], values: &mut [f64]) -> c_int {
        assert_eq!(references.len(), values.len(), "wrong number of outputs");
        self.plain(Call::Get, || each!(self, instance => instance.get_reals(references, values)))
    }

    pub fn set(&self, kind: Kind, references: &[u32], values: &Numbers) -> c_int {
        self.plain(Call::Set, || each!(self, instance => instance.set(kind, references, values)))
    }

    pub fn get(&self, kind: Kind, references: &[u32], values: &mut Numbers) -> c_int {
        self.plain(Call::Get, || each!(self, instance => instance.get(kind, references, values)))
    }

    /// Sets the texts of a variable, as many as it has elements.
    pub fn set_texts(&self, reference: u32, values: &[*const c_char]) -> c_int {
        self.plain(Call::Set, || each!(self, instance => instance.set_texts(reference, values)))
    }

    /// Reads the texts of a variable, as many as it has elements; they belong to the FMU.
    pub fn get_texts(&self, reference: u32, values: &mut [*const c_char]) -> c_int {
        let get = || each!(self, instance => instance.get_texts(reference, values));
        self.plain_as(Traced::GetPacket, Call::Get, get)
    }

    /// Sets the binaries of a variable, as many as it has elements.
    pub fn set_binaries(&self, reference: u32, sizes: &[usize], values: &[*const u8]) -> c_int {
        let Some(instance) = self.fmi3() else { return MISSING };
        self.plain(Call::Set, || instance.set_binaries(reference, sizes, values))
    }

    /// Reads the binaries of a variable, as many as it has elements; they belong to the FMU.
    pub fn get_binaries(&self, reference: u32, sizes: &mut [usize], values: &mut [*const u8]) -> c_int {
        let Some(instance) = self.fmi3() else { return MISSING };
        self.plain_as(Traced::GetPacket, Call::Get, || instance.get_binaries(reference, sizes, values))
    }

    /// Reads memory that a getter returned: if it is not there, the getter is to blame.
    pub fn while_reading<T>(&self, read: impl FnOnce() -> T) -> T {
        self.trace.during(Traced::GetPacket, read)
    }

    /// Asks the FMU to log in all categories, or in these.
    pub fn log_categories(&self, categories: &[CString]) -> c_int {
        self.plain(Call::DebugLogging, || each!(self, instance => instance.log_categories(categories)))
    }

    pub fn enter_configuration(&self) -> c_int {
        let Some(instance) = self.fmi3() else { return MISSING };
        self.guarded(Call::EnterConfiguration, || instance.enter_configuration())
    }

    pub fn exit_configuration(&self) -> c_int {
        let Some(instance) = self.fmi3() else { return MISSING };
        self.guarded(Call::ExitConfiguration, || instance.exit_configuration())
    }

    /// Into initialization mode, or for FMI 1 through it.
    pub fn enter_initialization(&self, experiment: &Experiment) -> c_int {
        let enter = || each!(self, instance => instance.enter_initialization(experiment));
        self.guarded(Call::EnterInitialization, enter)
    }

    pub fn exit_initialization(&self) -> c_int {
        self.guarded(Call::ExitInitialization, || each!(self, instance => instance.exit_initialization()))
    }

    pub fn enter_event_mode(&self) -> c_int {
        let Some(instance) = self.fmi3() else { return MISSING };
        self.guarded(Call::EnterEvent, || instance.enter_event_mode())
    }

    pub fn enter_step_mode(&self) -> c_int {
        let Some(instance) = self.fmi3() else { return MISSING };
        self.guarded(Call::EnterStep, || instance.enter_step_mode())
    }

    pub fn update_discrete_states(&self) -> (c_int, DiscreteStates) {
        let Some(instance) = self.fmi3() else { return (MISSING, DiscreteStates::default()) };
        if !self.life.allows(Call::UpdateStates) {
            return (NOT_ALLOWED, DiscreteStates::default());
        }
        let (code, states) = self.seen(Traced::Event, || instance.update_discrete_states());
        self.life.after(Call::UpdateStates, code);
        (code, states)
    }

    /// `is_final` promises that no state before `t` will be set again. Anything but OK is told by `last_step`: an
    /// uneventful step, which is nearly every one, returns one number and nothing through memory.
    #[inline(always)]
    pub fn step(&self, t: f64, h: f64, is_final: bool) -> c_int {
        if !self.life.allows(Call::Step) {
            return NOT_ALLOWED;
        }
        self.trace.begin_at(Traced::Step, t);
        let code = returning(|| each!(self, instance => instance.step(t, h, is_final)));
        self.keep_mode();
        self.trace.end();
        if code != OK {
            self.life.after(Call::Step, self.last_step().code);
        }
        code
    }

    /// As [`Calls::step`], while the FMU may ask for inputs inside the step (FMI 3); also what its questions came to.
    pub fn step_with_held(
        &self,
        intermediate: &mut fmi3::Intermediate,
        held: (Inputs<'_>, f64),
        (t, h, is_final): (f64, f64, bool),
    ) -> (c_int, fmi3::Asked) {
        let Some(instance) = self.fmi3() else { return (MISSING, fmi3::Asked::NOTHING) };
        let (code, asked) = instance.with_held(intermediate, held, (t, h), || self.step(t, h, is_final));
        self.life.after(Call::Set, asked.code);
        (code, asked)
    }

    /// The three calls of an uneventful step at once. Returns the first call that did not answer OK, and its answer.
    #[inline(always)]
    pub fn set_step_get(
        &self,
        inputs: (&[u32], &[f64]),
        span: &Span,
        is_final: impl Fn(f64) -> bool,
        outputs: (&[u32], &mut [f64]),
    ) -> Result<(), (Stage, c_int)> {
        // Setting and getting are allowed wherever a step is, and no call that returns OK leads away from there.
        if self.state() != State::Step {
            return Err((Stage::State, NOT_ALLOWED));
        }
        // Whether somebody looks is asked once: each of the two has its own code.
        match self.trace.seen() {
            Some(seen) => self.set_step_get_marked(seen, inputs, span, is_final, outputs),
            None => self.set_step_get_marked(Marks::NONE, inputs, span, is_final, outputs),
        }
    }

    /// Everything is read just before it is used: what lives across a call of the FMU costs a register, or memory.
    #[inline(always)]
    fn set_step_get_marked(
        &self,
        marks: Marks,
        inputs: (&[u32], &[f64]),
        span: &Span,
        is_final: impl Fn(f64) -> bool,
        outputs: (&[u32], &mut [f64]),
    ) -> Result<(), (Stage, c_int)> {
        each!(self, instance => {
            // The FMU takes the lengths on trust. Messages with the numbers would cost every step.
            assert!(inputs.0.len() == inputs.1.len(), "wrong number of inputs");
            if inputs.0.is_empty() {
                marks.begin_at(Traced::Step, span.start);
            } else {
                marks.begin_at(Traced::Set, span.start);
                let call = MustReturn;
                let code = instance.set_reals(inputs.0, inputs.1);
                call.returned();
                if code != OK {
                    return Err(self.failed(Stage::Inputs, code));
                }
                marks.go_on(Traced::Step);
            }
            let is_final = is_final(span.start);
            let call = MustReturn;
            let code = instance.step(span.start, span.h, is_final);
            call.returned();
            if code != OK {
                return Err(self.failed(Stage::Step, code));
            }
            assert!(outputs.0.len() == outputs.1.len(), "wrong number of outputs");
            if !outputs.0.is_empty() {
                marks.go_on(Traced::Get);
                let call = MustReturn;
                let code = instance.get_reals(outputs.0, outputs.1);
                call.returned();
                if code != OK {
                    return Err(self.failed(Stage::Outputs, code));
                }
            }
        });
        self.keep_mode();
        marks.end();
        Ok(())
    }

    /// After a call that did not answer OK.
    #[cold]
    #[inline(never)]
    fn failed(&self, stage: Stage, code: c_int) -> (Stage, c_int) {
        self.keep_mode();
        self.trace.end();
        match stage {
            Stage::State => {}
            Stage::Inputs => self.life.after(Call::Set, code),
            Stage::Step => self.life.after(Call::Step, self.last_step().code),
            Stage::Outputs => self.life.after(Call::Get, code),
        }
        (stage, code)
    }

    /// What the last step came to, if it was not simply OK.
    pub fn last_step(&self) -> Stepped {
        each!(self, instance => instance.last_step())
    }

    pub fn set_input_derivatives(&self, references: &[u32], orders: &[c_int], values: &[f64]) -> c_int {
        self.plain(Call::InputDerivatives, || match &self.instance {
            Instance::Fmi1(instance) => instance.set_input_derivatives(references, orders, values),
            Instance::Fmi2(instance) => instance.set_input_derivatives(references, orders, values),
            Instance::Fmi3(_) => MISSING,
        })
    }

    /// Derivatives of outputs: an order per variable, a value per element.
    pub fn output_derivatives(&self, references: &[u32], orders: &[c_int], values: &mut [f64]) -> c_int {
        let get = || each!(self, instance => instance.output_derivatives(references, orders, values));
        self.plain(Call::OutputDerivatives, get)
    }

    pub fn directional(&self, direction: Direction<'_>) -> c_int {
        self.plain(Call::Directional, || match &self.instance {
            Instance::Fmi1(_) => MISSING,
            Instance::Fmi2(instance) => instance.directional(direction),
            Instance::Fmi3(instance) => instance.directional(direction),
        })
    }

    /// Keeps the state in `slot`, reusing what is there.
    pub fn get_state(&self, slot: &mut *mut c_void) -> c_int {
        self.plain(Call::GetState, || match &self.instance {
            Instance::Fmi1(_) => MISSING,
            Instance::Fmi2(instance) => instance.get_state(slot),
            Instance::Fmi3(instance) => instance.get_state(slot),
        })
    }

    pub fn set_state(&self, slot: *mut c_void) -> c_int {
        self.guarded(Call::SetState, || match &self.instance {
            Instance::Fmi1(_) => MISSING,
            Instance::Fmi2(instance) => instance.set_state(slot),
            Instance::Fmi3(instance) => instance.set_state(slot),
        })
    }

    /// Frees a state; nothing happens where that is not allowed any more.
    pub fn free_state(&self, slot: &mut *mut c_void) {
        self.plain(Call::FreeState, || match &self.instance {
            Instance::Fmi1(_) => OK,
            Instance::Fmi2(instance) => instance.free_state(slot),
            Instance::Fmi3(instance) => instance.free_state(slot),
        });
        *slot = std::ptr::null_mut();
    }

    pub fn terminate(&self) -> c_int {
        self.guarded(Call::Terminate, || each!(self, instance => instance.terminate()))
    }

    pub fn reset(&self) -> c_int {
        self.guarded(Call::Reset, || each!(self, instance => instance.reset()))
    }

    /// Frees the instance now: no other may exist beside it.
    pub fn free(&mut self) {
        match self.state() {
            State::Fatal => {
                // FMI 2.0.5 section 2.1.3, FMI 3.0.2 section 2.2.4: after a fatal error not even freeing is allowed. Its memory is lost,
                // and its threads may go on: what they may still use is never freed.
                match &mut self.instance {
                    Instance::Fmi1(instance) => instance.abandon(),
                    Instance::Fmi2(instance) => instance.abandon(),
                    Instance::Fmi3(instance) => instance.abandon(),
                }
            }
            State::Freed => {}
            _ => {
                // Until its environment is gone, too, it is being freed.
                self.trace.begin(Traced::Free);
                returning(|| match &mut self.instance {
                    Instance::Fmi1(instance) => instance.free(),
                    Instance::Fmi2(instance) => instance.free(),
                    Instance::Fmi3(instance) => instance.free(),
                });
                self.keep_mode();
                self.life.freed();
            }
        }
    }
}

/// A call as a supervisor outside sees it.
fn traced(call: Call) -> Traced {
    match call {
        Call::Set | Call::EnterConfiguration | Call::ExitConfiguration | Call::DebugLogging => Traced::Set,
        Call::Get => Traced::Get,
        Call::EnterInitialization => Traced::EnterInitialization,
        Call::ExitInitialization => Traced::ExitInitialization,
        Call::EnterEvent | Call::UpdateStates | Call::EnterStep => Traced::Event,
        Call::Step => Traced::Step,
        Call::InputDerivatives => Traced::InputDerivatives,
        Call::OutputDerivatives => Traced::OutputDerivatives,
        Call::Directional => Traced::Directional,
        Call::GetState => Traced::GetState,
        Call::SetState => Traced::SetState,
        Call::FreeState => Traced::FreeState,
        Call::Terminate => Traced::Terminate,
        Call::Reset => Traced::Reset,
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        self.free();
    }
}
