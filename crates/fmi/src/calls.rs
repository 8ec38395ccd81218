//! What the three standards have in common, call by call.

use crate::description::{Kind, Version};
use crate::log::Environment;
use crate::numbers::Numbers;
use crate::status::OK;
use crate::trace::{Call, Trace};
use crate::{fmi1, fmi2, fmi3};
use std::ffi::{c_char, c_int, c_void};

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
    pub terminate: &'static str,
    pub reset: &'static str,
    pub event: &'static str,
    pub configuration: &'static str,
    pub get_packet: &'static str,
    pub set_packet: &'static str,
}

/// An instance of an FMU of any version. Dropping it frees the instance.
pub(crate) enum Calls {
    Fmi1(fmi1::Instance),
    Fmi2(fmi2::Instance),
    Fmi3(fmi3::Instance),
}

macro_rules! each {
    ($self:expr, $instance:ident => $body:expr) => {
        match $self {
            Calls::Fmi1($instance) => $body,
            Calls::Fmi2($instance) => $body,
            Calls::Fmi3($instance) => $body,
        }
    };
}

impl Calls {
    pub fn version(&self) -> Version {
        match self {
            Calls::Fmi1(_) => Version::Fmi1,
            Calls::Fmi2(_) => Version::Fmi2,
            Calls::Fmi3(_) => Version::Fmi3,
        }
    }

    pub fn names(&self) -> &'static Names {
        match self {
            Calls::Fmi1(_) => &fmi1::NAMES,
            Calls::Fmi2(_) => &fmi2::NAMES,
            Calls::Fmi3(_) => &fmi3::NAMES,
        }
    }

    /// The getter and the setter of a type.
    pub fn accessors(&self, kind: Kind) -> (&'static str, &'static str) {
        match (self, kind) {
            (_, Kind::Float64) => (self.names().get_real, self.names().set_real),
            (Calls::Fmi1(_), Kind::Boolean) => ("fmiGetBoolean", "fmiSetBoolean"),
            (Calls::Fmi1(_), _) => ("fmiGetInteger", "fmiSetInteger"),
            (Calls::Fmi2(_), Kind::Boolean) => ("fmi2GetBoolean", "fmi2SetBoolean"),
            (Calls::Fmi2(_), _) => ("fmi2GetInteger", "fmi2SetInteger"),
            (Calls::Fmi3(_), Kind::Float32) => ("fmi3GetFloat32", "fmi3SetFloat32"),
            (Calls::Fmi3(_), Kind::Int8) => ("fmi3GetInt8", "fmi3SetInt8"),
            (Calls::Fmi3(_), Kind::UInt8) => ("fmi3GetUInt8", "fmi3SetUInt8"),
            (Calls::Fmi3(_), Kind::Int16) => ("fmi3GetInt16", "fmi3SetInt16"),
            (Calls::Fmi3(_), Kind::UInt16) => ("fmi3GetUInt16", "fmi3SetUInt16"),
            (Calls::Fmi3(_), Kind::Int32) => ("fmi3GetInt32", "fmi3SetInt32"),
            (Calls::Fmi3(_), Kind::UInt32) => ("fmi3GetUInt32", "fmi3SetUInt32"),
            (Calls::Fmi3(_), Kind::UInt64) => ("fmi3GetUInt64", "fmi3SetUInt64"),
            (Calls::Fmi3(_), Kind::Boolean) => ("fmi3GetBoolean", "fmi3SetBoolean"),
            // Enumerations travel as `Int64`.
            (Calls::Fmi3(_), _) => ("fmi3GetInt64", "fmi3SetInt64"),
        }
    }

    pub fn environment(&self) -> &Environment {
        each!(self, instance => instance.environment())
    }

    #[inline(always)]
    pub fn trace(&self) -> &Trace {
        &self.environment().trace
    }

    /// Sets scalars.
    #[inline(always)]
    pub fn set_reals(&self, references: &[u32], values: &[f64]) -> c_int {
        assert_eq!(references.len(), values.len(), "wrong number of inputs");
        self.trace().during(Call::Set, || each!(self, instance => instance.set_reals(references, values)))
    }

    /// Reads scalars.
    #[inline(always)]
    pub fn get_reals(&self, references: &[u32], values: &mut [f64]) -> c_int {
        assert_eq!(references.len(), values.len(), "wrong number of outputs");
        self.trace().during(Call::Get, || each!(self, instance => instance.get_reals(references, values)))
    }

    pub fn set(&self, kind: Kind, references: &[u32], values: &Numbers) -> c_int {
        self.trace().during(Call::Set, || each!(self, instance => instance.set(kind, references, values)))
    }

    pub fn get(&self, kind: Kind, references: &[u32], values: &mut Numbers) -> c_int {
        self.trace().during(Call::Get, || each!(self, instance => instance.get(kind, references, values)))
    }

    /// Sets the texts of a variable, as many as it has elements.
    pub fn set_texts(&self, reference: u32, values: &[*const c_char]) -> c_int {
        self.trace().during(Call::Set, || each!(self, instance => instance.set_texts(reference, values)))
    }

    /// Reads the texts of a variable, as many as it has elements; they belong to the FMU.
    pub fn get_texts(&self, reference: u32, values: &mut [*const c_char]) -> c_int {
        self.trace().during(Call::Get, || each!(self, instance => instance.get_texts(reference, values)))
    }

    /// Sets the binaries of a variable, as many as it has elements.
    pub fn set_binaries(&self, reference: u32, sizes: &[usize], values: &[*const u8]) -> c_int {
        self.trace().during(Call::Set, || match self {
            Calls::Fmi3(instance) => instance.set_binaries(reference, sizes, values),
            _ => crate::status::MISSING,
        })
    }

    /// Reads the binaries of a variable, as many as it has elements; they belong to the FMU.
    pub fn get_binaries(&self, reference: u32, sizes: &mut [usize], values: &mut [*const u8]) -> c_int {
        self.trace().during(Call::Get, || match self {
            Calls::Fmi3(instance) => instance.get_binaries(reference, sizes, values),
            _ => crate::status::MISSING,
        })
    }

    /// Into initialization mode, or for FMI 1 through it.
    pub fn enter_initialization(&self, experiment: &Experiment) -> c_int {
        self.trace().during(
            Call::EnterInitialization,
            || each!(self, instance => instance.enter_initialization(experiment)),
        )
    }

    pub fn exit_initialization(&self) -> c_int {
        self.trace()
            .during(Call::ExitInitialization, || each!(self, instance => instance.exit_initialization()))
    }

    /// `is_final` promises that no state before `t` will be set again. Anything but OK is told by `last_step`: an
    /// uneventful step, which is nearly every one, returns one number and nothing through memory.
    #[inline(always)]
    pub fn step(&self, t: f64, h: f64, is_final: bool) -> c_int {
        self.trace().begin_step(t);
        let code = each!(self, instance => instance.step(t, h, is_final));
        self.trace().end();
        code
    }

    /// The three calls of an uneventful step at once. Returns the first call that did not answer OK, and its answer.
    #[inline(always)]
    pub fn set_step_get(
        &self,
        inputs: (&[u32], &[f64]),
        (t, h, is_final): (f64, f64, bool),
        outputs: (&[u32], &mut [f64]),
    ) -> Result<(), (Stage, c_int)> {
        // The FMU takes the lengths on trust. Messages with the numbers would cost every step.
        assert!(inputs.0.len() == inputs.1.len(), "wrong number of inputs");
        assert!(outputs.0.len() == outputs.1.len(), "wrong number of outputs");
        let expect = |code: c_int, stage: Stage| if code == OK { Ok(()) } else { Err((stage, code)) };
        let trace = self.trace();
        let done = each!(self, instance => (|| {
            if !inputs.0.is_empty() {
                trace.begin(Call::Set);
                expect(instance.set_reals(inputs.0, inputs.1), Stage::Inputs)?;
            }
            trace.begin_step(t);
            expect(instance.step(t, h, is_final), Stage::Step)?;
            if !outputs.0.is_empty() {
                trace.begin(Call::Get);
                expect(instance.get_reals(outputs.0, outputs.1), Stage::Outputs)?;
            }
            Ok(())
        })());
        trace.end();
        done
    }

    /// What the last step came to, if it was not simply OK.
    pub fn last_step(&self) -> Stepped {
        each!(self, instance => instance.last_step())
    }

    pub fn set_input_derivatives(&self, references: &[u32], orders: &[c_int], values: &[f64]) -> c_int {
        self.trace().during(Call::InputDerivatives, || match self {
            Calls::Fmi1(instance) => instance.set_input_derivatives(references, orders, values),
            Calls::Fmi2(instance) => instance.set_input_derivatives(references, orders, values),
            Calls::Fmi3(_) => crate::status::MISSING,
        })
    }

    /// Derivatives of outputs: an order per variable, a value per element.
    pub fn output_derivatives(&self, references: &[u32], orders: &[c_int], values: &mut [f64]) -> c_int {
        self.trace().during(
            Call::OutputDerivatives,
            || each!(self, instance => instance.output_derivatives(references, orders, values)),
        )
    }

    pub fn directional(&self, direction: Direction<'_>) -> c_int {
        self.trace().during(Call::Directional, || match self {
            Calls::Fmi1(_) => crate::status::MISSING,
            Calls::Fmi2(instance) => instance.directional(direction),
            Calls::Fmi3(instance) => instance.directional(direction),
        })
    }

    /// Keeps the state in `slot`, reusing what is there.
    pub fn get_state(&self, slot: &mut *mut c_void) -> c_int {
        self.trace().during(Call::GetState, || match self {
            Calls::Fmi1(_) => crate::status::MISSING,
            Calls::Fmi2(instance) => instance.get_state(slot),
            Calls::Fmi3(instance) => instance.get_state(slot),
        })
    }

    pub fn set_state(&self, slot: *mut c_void) -> c_int {
        self.trace().during(Call::SetState, || match self {
            Calls::Fmi1(_) => crate::status::MISSING,
            Calls::Fmi2(instance) => instance.set_state(slot),
            Calls::Fmi3(instance) => instance.set_state(slot),
        })
    }

    pub fn free_state(&self, slot: &mut *mut c_void) {
        self.trace().during(Call::SetState, || match self {
            Calls::Fmi1(_) => {}
            Calls::Fmi2(instance) => instance.free_state(slot),
            Calls::Fmi3(instance) => instance.free_state(slot),
        })
    }

    pub fn terminate(&self) -> c_int {
        self.trace().during(Call::Terminate, || each!(self, instance => instance.terminate()))
    }

    pub fn reset(&self) -> c_int {
        self.trace().during(Call::Reset, || each!(self, instance => instance.reset()))
    }

    /// After a fatal error nothing may be called, not even the function that frees: the memory is lost.
    pub fn abandon(&mut self) {
        each!(self, instance => instance.abandon());
    }
}

/// The instance goes after this: until its environment is gone, too, it is being freed.
impl Drop for Calls {
    fn drop(&mut self) {
        self.trace().begin(Call::Free);
    }
}
