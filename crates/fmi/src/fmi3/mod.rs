//! FMI 3.0 for co-simulation: the calls on an instance.
//!
//! All calls below rest on one rule: the instance is the one that `fmi3InstantiateCoSimulation` of the same library
//! returned, it has not been freed, and arrays are as long as the number that is passed with them (section 2.2.6.2).

mod api;

pub(crate) use api::{Api, NAMES};

use crate::calls::{Direction, DiscreteStates, Experiment, Stepped};
use crate::description::Kind;
use crate::log::{Environment, Live, deliver};
use crate::numbers::Numbers;
use crate::returning::returning;
use crate::status::{EVENTFUL, MISSING, OK, Status};
use api::{Handle, IntermediateUpdate, SetReal, place};
use powerbond_core::subsystem::Inputs;
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Arc;

/// The inputs of a step that is under way.
#[derive(Clone, Copy)]
struct Held {
    set_float64: SetReal,
    handle: Handle,
    references: *const [u32],
    /// The place of each reference in the engine's inputs.
    places: *const [u32],
    value: *const [f64],
    slope: *const [f64],
    curvature: *const [f64],
    scratch: *mut [f64],
    start: f64,
    /// Times that may be asked for, from and to, in s.
    known: (f64, f64),
}

/// What the FMU's questions for inputs inside a step came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Asked {
    /// What setting the inputs returned: the first answer that is not OK, a warning only if there is nothing else.
    pub code: c_int,
    /// A time far outside of the step, or none at all, that was asked for.
    pub odd_time: Option<f64>,
}

impl Asked {
    /// Nothing was asked.
    pub const NOTHING: Asked = Asked { code: OK, odd_time: None };

    /// With the answer to one more set.
    fn and(self, code: c_int) -> Self {
        let is_worse = matches!(Status::from_code(self.code), Status::Ok | Status::Warning) && code != OK;
        if is_worse { Asked { code, ..self } } else { self }
    }
}

thread_local! {
    /// Set while this thread is in a step whose inputs may be asked for in between. What an FMU hands back is not believed.
    static HELD: Cell<Option<Held>> = const { Cell::new(None) };

    static ASKED: Cell<Asked> = const { Cell::new(Asked::NOTHING) };
}

/// The inputs that are set inside steps.
pub(crate) struct Intermediate {
    /// Scalars.
    pub references: Vec<u32>,
    /// The place of each in the engine's inputs.
    pub places: Vec<u32>,
    /// As long as the others.
    pub scratch: Vec<f64>,
}

/// How an instance is to be made.
pub(crate) struct Request<'a> {
    pub name: &'a CStr,
    pub token: &'a CStr,
    pub resources: &'a CStr,
    pub visible: bool,
    pub logging: bool,
    pub event_mode: bool,
    pub early_return: bool,
    /// Inputs to be set inside steps; empty if none.
    pub intermediate: &'a [u32],
}

/// An instance.
#[repr(C)] // See [`crate::FmuSubsystem`].
pub(crate) struct Instance {
    handle: Handle,
    api: Arc<Api>,
    last_step: Cell<Stepped>,
    /// The time event that the last handling of events announced.
    next_event: Cell<Option<f64>>,
    environment: Live,
}

impl Instance {
    /// `fmi3InstantiateCoSimulation`; gives the environment with its log lines back if the FMU refuses.
    pub fn new(api: Arc<Api>, request: &Request<'_>, environment: Live) -> Result<Self, Live> {
        let callback: Option<IntermediateUpdate> =
            if request.intermediate.is_empty() { None } else { Some(intermediate_update) };
        // Safety: section 2.2.2 (instantiation): strings and references are read during the call; the environment
        // lives as long as the instance, beside it.
        let handle = returning(|| unsafe {
            (api.instantiate)(
                request.name.as_ptr(),
                request.token.as_ptr(),
                request.resources.as_ptr(),
                request.visible.into(),
                request.logging.into(),
                request.event_mode.into(),
                request.early_return.into(),
                request.intermediate.as_ptr(),
                request.intermediate.len(),
                environment.pointer(),
                log_message,
                callback,
            )
        });
        if handle.is_null() {
            return Err(environment);
        }
        let last_step = Cell::new(Stepped::plain(OK));
        Ok(Instance { handle, api, last_step, next_event: Cell::new(None), environment })
    }

    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Turns logging on for these categories, all if there are none.
    pub fn log_categories(&self, categories: &[CString]) -> c_int {
        let Some(function) = self.api.set_debug_logging else { return OK };
        let pointers: Vec<*const c_char> = categories.iter().map(|c| c.as_ptr()).collect();
        // Safety: section 2.2.3: allowed right after instantiation; strings are read during the call.
        unsafe { function(self.handle, 1, pointers.len(), pointers.as_ptr()) }
    }

    #[inline(always)]
    pub fn set_reals(&self, references: &[u32], values: &[f64]) -> c_int {
        let (n, length) = (references.len(), values.len());
        // Safety: section 2.2.6.2: `length` is the sum of the sizes of the variables, as `ports.rs` counted them.
        unsafe { (self.api.set_float64)(self.handle, references.as_ptr(), n, values.as_ptr(), length) }
    }

    #[inline(always)]
    pub fn get_reals(&self, references: &[u32], values: &mut [f64]) -> c_int {
        let (n, length) = (references.len(), values.len());
        // Safety: section 2.2.6.2: `length` is the sum of the sizes of the variables, as `ports.rs` counted them.
        unsafe { (self.api.get_float64)(self.handle, references.as_ptr(), n, values.as_mut_ptr(), length) }
    }

    pub fn set(&self, kind: Kind, references: &[u32], values: &Numbers) -> c_int {
        if let Numbers::F64(values) = values {
            return self.set_reals(references, values);
        }
        let Some(function) = self.api.setters[place(kind)] else { return MISSING };
        // Safety: section 2.2.6.2; `Numbers::new` chose the type of the values by the same kind.
        unsafe { function(self.handle, references.as_ptr(), references.len(), values.as_ptr(), values.len()) }
    }

    pub fn get(&self, kind: Kind, references: &[u32], values: &mut Numbers) -> c_int {
        if let Numbers::F64(values) = values {
            return self.get_reals(references, values);
        }
        let Some(function) = self.api.getters[place(kind)] else { return MISSING };
        let length = values.len();
        // Safety: section 2.2.6.2; `Numbers::new` chose the type of the values by the same kind.
        unsafe { function(self.handle, references.as_ptr(), references.len(), values.as_mut_ptr(), length) }
    }

    pub fn set_texts(&self, reference: u32, values: &[*const c_char]) -> c_int {
        let Some(function) = self.api.set_string else { return MISSING };
        // Safety: section 2.2.6.2: the FMU copies strings during the call.
        unsafe { function(self.handle, &reference, 1, values.as_ptr(), values.len()) }
    }

    pub fn get_texts(&self, reference: u32, values: &mut [*const c_char]) -> c_int {
        let Some(function) = self.api.get_string else { return MISSING };
        // Safety: section 2.2.6.2: as many values as the variable has elements.
        unsafe { function(self.handle, &reference, 1, values.as_mut_ptr(), values.len()) }
    }

    pub fn set_binaries(&self, reference: u32, sizes: &[usize], values: &[*const u8]) -> c_int {
        assert_eq!(sizes.len(), values.len());
        let Some(function) = self.api.set_binary else { return MISSING };
        // Safety: section 2.2.6.2: the FMU copies the bytes during the call.
        unsafe { function(self.handle, &reference, 1, sizes.as_ptr(), values.as_ptr(), values.len()) }
    }

    pub fn get_binaries(&self, reference: u32, sizes: &mut [usize], values: &mut [*const u8]) -> c_int {
        assert_eq!(sizes.len(), values.len());
        let Some(function) = self.api.get_binary else { return MISSING };
        // Safety: section 2.2.6.2: as many sizes and values as the variable has elements.
        unsafe { function(self.handle, &reference, 1, sizes.as_mut_ptr(), values.as_mut_ptr(), values.len()) }
    }

    pub fn enter_initialization(&self, experiment: &Experiment) -> c_int {
        let Experiment { tolerance, start, stop } = *experiment;
        let relative = tolerance.unwrap_or(0.0);
        // Safety: section 2.3.2: called in the state Instantiated.
        unsafe {
            (self.api.enter_initialization)(self.handle, tolerance.is_some().into(), relative, start, 1, stop)
        }
    }

    pub fn exit_initialization(&self) -> c_int {
        // Safety: section 2.3.3: called in initialization mode.
        unsafe { (self.api.exit_initialization)(self.handle) }
    }

    #[inline(always)]
    pub fn step(&self, t: f64, h: f64, is_final: bool) -> c_int {
        let ([mut event, mut terminate, mut early], mut reached) = ([0; 3], f64::NAN);
        // Safety: section 4.2.1: called in step mode; `t` is where the last step ended.
        let code = unsafe {
            (self.api.do_step)(
                self.handle,
                t,
                h,
                is_final.into(),
                &mut event,
                &mut terminate,
                &mut early,
                &mut reached,
            )
        };
        if code | c_int::from(event | terminate | early) == OK {
            return OK;
        }
        self.eventful_step(code, [event, terminate, early], reached)
    }

    #[cold]
    fn eventful_step(&self, code: c_int, [event, terminate, early]: [u8; 3], reached: f64) -> c_int {
        let partial = early != 0 || Status::from_code(code) == Status::Discard;
        self.last_step.set(Stepped {
            code,
            reached: partial.then_some(reached),
            event: event != 0,
            terminate: terminate != 0,
        });
        EVENTFUL
    }

    pub fn last_step(&self) -> Stepped {
        self.last_step.get()
    }

    /// Runs `call`, a step by `h` from `t`, while the FMU may ask for inputs inside of it; `start` is the time of the inputs' values.
    pub fn with_held<T>(
        &self,
        intermediate: &mut Intermediate,
        (inputs, start): (Inputs<'_>, f64),
        (t, h): (f64, f64),
        call: impl FnOnce() -> T,
    ) -> (T, Asked) {
        ASKED.set(Asked::NOTHING);
        HELD.set(Some(Held {
            set_float64: self.api.set_float64,
            handle: self.handle,
            references: &raw const *intermediate.references,
            places: &raw const *intermediate.places,
            value: inputs.value,
            slope: inputs.slope,
            curvature: inputs.curvature,
            scratch: &raw mut *intermediate.scratch,
            start,
            // The internal solver may be past the step's end when it asks, but not by a whole step.
            known: (t - h, t + 2.0 * h),
        }));
        let result = call();
        HELD.set(None);
        (result, ASKED.get())
    }

    pub fn output_derivatives(&self, references: &[u32], orders: &[c_int], values: &mut [f64]) -> c_int {
        assert_eq!(references.len(), orders.len());
        let Some(function) = self.api.get_derivatives else { return MISSING };
        let (n, length) = (references.len(), values.len());
        // Safety: section 4.2.2: called in step mode, for outputs; as many values as the variables have elements.
        unsafe { function(self.handle, references.as_ptr(), n, orders.as_ptr(), values.as_mut_ptr(), length) }
    }

    pub fn directional(&self, direction: Direction<'_>) -> c_int {
        let Direction { unknowns, knowns, seed, sensitivity } = direction;
        let Some(function) = self.api.directional else { return MISSING };
        // Safety: section 2.2.11: lengths of seed and sensitivity are the sums of the sizes of their variables.
        unsafe {
            function(
                self.handle,
                unknowns.as_ptr(),
                unknowns.len(),
                knowns.as_ptr(),
                knowns.len(),
                seed.as_ptr(),
                seed.len(),
                sensitivity.as_mut_ptr(),
                sensitivity.len(),
            )
        }
    }

    pub fn get_state(&self, slot: &mut *mut c_void) -> c_int {
        let Some(function) = self.api.get_state else { return MISSING };
        // Safety: section 2.2.10: null makes a new state, an earlier one is overwritten.
        unsafe { function(self.handle, slot) }
    }

    pub fn set_state(&self, slot: *mut c_void) -> c_int {
        let Some(function) = self.api.set_state else { return MISSING };
        // Safety: section 2.2.10: a state of this instance that has not been freed.
        unsafe { function(self.handle, slot) }
    }

    pub fn free_state(&self, slot: &mut *mut c_void) -> c_int {
        match (self.api.free_state, slot.is_null()) {
            // Safety: section 2.2.10: a state of this instance; the FMU sets the pointer to null.
            (Some(function), false) => unsafe { function(self.handle, slot) },
            _ => OK,
        }
    }

    /// The time event that is announced.
    pub fn next_event(&self) -> &Cell<Option<f64>> {
        &self.next_event
    }

    pub fn enter_event_mode(&self) -> c_int {
        // Safety: section 4.2.1: called in step mode of an instance with `eventModeUsed`.
        self.api.enter_event_mode.map_or(MISSING, |function| unsafe { function(self.handle) })
    }

    pub fn enter_step_mode(&self) -> c_int {
        // Safety: section 4.2.2: called in event mode after the discrete states have settled.
        self.api.enter_step_mode.map_or(MISSING, |function| unsafe { function(self.handle) })
    }

    pub fn update_discrete_states(&self) -> (c_int, DiscreteStates) {
        let Some(function) = self.api.update_discrete_states else {
            return (MISSING, DiscreteStates::default());
        };
        let (mut again, mut terminate, mut nominals, mut values, mut has_next) = (0, 0, 0, 0, 0);
        let mut next = 0.0;
        // Safety: section 4.2.2: called in event mode; every result has its place.
        let code = unsafe {
            function(
                self.handle,
                &mut again,
                &mut terminate,
                &mut nominals,
                &mut values,
                &mut has_next,
                &mut next,
            )
        };
        let next_event = (has_next != 0).then_some(next);
        (code, DiscreteStates { again: again != 0, terminate: terminate != 0, next_event })
    }

    pub fn enter_configuration(&self) -> c_int {
        // Safety: section 2.3.1: called in the state Instantiated.
        self.api.enter_configuration.map_or(MISSING, |function| unsafe { function(self.handle) })
    }

    pub fn exit_configuration(&self) -> c_int {
        // Safety: section 2.3.1: called in configuration mode.
        self.api.exit_configuration.map_or(MISSING, |function| unsafe { function(self.handle) })
    }

    pub fn terminate(&self) -> c_int {
        // Safety: section 2.3.4: called in step or event mode.
        unsafe { (self.api.terminate)(self.handle) }
    }

    pub fn reset(&self) -> c_int {
        // Safety: section 2.3.4: allowed in every state but after a fatal error.
        self.api.reset.map_or(MISSING, |function| unsafe { function(self.handle) })
    }

    /// Frees the instance, once: section 2.2.2. [`crate::calls::Calls`] does not call it after a fatal error.
    pub fn free(&mut self) {
        // Safety: see above; nothing is called afterwards.
        unsafe { (self.api.free_instance)(self.handle) };
    }

    /// Leaves the instance alone for ever: its threads may still run its code and log.
    pub fn abandon(&mut self) {
        std::mem::forget(self.api.clone());
        self.environment.keep();
    }
}

/// `fmi3LogMessageCallback`. Nothing of what comes is believed: see [`deliver`].
unsafe extern "C" fn log_message(
    environment: *mut c_void,
    status: c_int,
    category: *const c_char,
    message: *const c_char,
) {
    deliver(environment, std::ptr::null(), status, category, message);
}

/// `fmi3IntermediateUpdateCallback`: gives the FMU its inputs at a moment inside the step.
///
/// Section 4.2.3: called from within `fmi3DoStep`, in its thread. Elsewhere there is nothing to give.
unsafe extern "C" fn intermediate_update(
    _environment: *mut c_void,
    time: f64,
    set_requested: u8,
    _get_allowed: u8,
    _step_finished: u8,
    _can_return_early: u8,
    early_return_requested: *mut u8,
    _early_return_time: *mut f64,
) {
    // Safety: the slices live while `HELD` is set, which is during `fmi3DoStep` of this thread only; the FMU gives a place for its
    // answer, or null.
    unsafe {
        if let Some(early) = early_return_requested.as_mut() {
            *early = 0;
        }
        let (Some(held), true) = (HELD.get(), set_requested != 0) else { return };
        let asked = ASKED.get();
        if !(held.known.0 <= time && time <= held.known.1) {
            ASKED.set(Asked { odd_time: asked.odd_time.or(Some(time)), ..asked });
            return;
        }
        let inputs = Inputs { value: &*held.value, slope: &*held.slope, curvature: &*held.curvature };
        let (references, scratch) = (&*held.references, &mut *held.scratch);
        for (value, &place) in scratch.iter_mut().zip(&*held.places) {
            *value = inputs.at(place as usize, time - held.start);
        }
        let (n, length) = (references.len(), scratch.len());
        let code = (held.set_float64)(held.handle, references.as_ptr(), n, scratch.as_ptr(), length);
        ASKED.set(ASKED.get().and(code));
    }
}
