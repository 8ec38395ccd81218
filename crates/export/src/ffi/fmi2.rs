//! The functions that FMI 2.0 has in a way of its own; signatures as in `fmi2FunctionTypes.h` of FMI 2.0.5.

use super::{DISCARD, Handle, Logger, call, list, list_mut, text};
use crate::error::Refusal;
use powerbond_models::ModelSpec;
use std::ffi::{CString, c_char, c_int, c_void};

/// `fmi2CallbackLogger`.
pub type LoggerFunction =
    unsafe extern "C" fn(*mut c_void, *const c_char, c_int, *const c_char, *const c_char, ...);

/// `fmi2CallbackFunctions`.
#[repr(C)]
pub struct Callbacks {
    logger: Option<LoggerFunction>,
    allocate: Option<unsafe extern "C" fn(usize, usize) -> *mut c_void>,
    free: Option<unsafe extern "C" fn(*mut c_void)>,
    step_finished: Option<unsafe extern "C" fn(*mut c_void, c_int)>,
    environment: *mut c_void,
}

/// `fmi2Instantiate`.
pub unsafe fn instantiate(
    models: &'static [&'static ModelSpec],
    name: *const c_char,
    kind: c_int,
    guid: *const c_char,
    callbacks: *const Callbacks,
) -> Handle {
    const FUNCTION: &str = "fmi2Instantiate";
    const CO_SIMULATION: c_int = 1;
    // Safety: section 2.1.5: strings and callbacks are read during the call; the environment stays valid.
    unsafe {
        let name = CString::new(text(name)).unwrap_or_default();
        let (logger, environment) =
            callbacks.as_ref().map_or((None, std::ptr::null_mut()), |c| (c.logger, c.environment));
        let logger = Logger::Fmi2 { logger, environment, name };
        if kind != CO_SIMULATION {
            logger.error(FUNCTION, &Refusal::Unsupported { what: "model exchange" });
            return std::ptr::null_mut();
        }
        super::instantiate(models, FUNCTION, guid, logger)
    }
}

/// `fmi2SetupExperiment`.
pub unsafe fn setup_experiment(
    c: Handle,
    _has_tolerance: c_int,
    _tolerance: f64,
    start: f64,
    has_stop: c_int,
    stop: f64,
) -> c_int {
    // Safety: passed on.
    unsafe { call(c, "fmi2SetupExperiment", |i| i.set_up(start, (has_stop != 0).then_some(stop))) }
}

/// `fmi2EnterInitializationMode`.
pub unsafe fn enter_initialization(c: Handle) -> c_int {
    // Safety: passed on.
    unsafe { call(c, "fmi2EnterInitializationMode", |i| i.enter_initialization()) }
}

/// `fmi2GetReal`.
#[inline]
pub unsafe fn get_real(c: Handle, references: *const u32, n: usize, values: *mut f64) -> c_int {
    // Safety: section 2.1.7: as many values as references.
    unsafe { call(c, "fmi2GetReal", |i| i.get_numbers(list(references, n), list_mut(values, n))) }
}

/// `fmi2SetReal`.
#[inline]
pub unsafe fn set_real(c: Handle, references: *const u32, n: usize, values: *const f64) -> c_int {
    // Safety: section 2.1.7: as many values as references.
    unsafe { call(c, "fmi2SetReal", |i| i.set_numbers(list(references, n), list(values, n))) }
}

/// `fmi2GetBoolean` and `fmi2SetBoolean`: no variable has this type.
pub unsafe fn no_variables(c: Handle, function: &'static str, references: *const u32, n: usize) -> c_int {
    // Safety: section 2.1.7: as many references as the number says.
    unsafe {
        call(c, function, |_| match list(references, n).first() {
            Some(&reference) => Err(Refusal::Reference { reference, wanted: "boolean variable" }),
            None => Ok(()),
        })
    }
}

/// `fmi2GetDirectionalDerivative`.
pub unsafe fn directional_derivative(
    c: Handle,
    unknowns: *const u32,
    n_unknowns: usize,
    knowns: *const u32,
    n_knowns: usize,
    seed: *const f64,
    sensitivity: *mut f64,
) -> c_int {
    // Safety: section 2.1.9: a seed per known, a result per unknown.
    unsafe {
        call(c, "fmi2GetDirectionalDerivative", |i| {
            let (unknowns, knowns) = (list(unknowns, n_unknowns), list(knowns, n_knowns));
            i.directional_derivative(
                unknowns,
                knowns,
                list(seed, n_knowns),
                list_mut(sensitivity, n_unknowns),
            )
        })
    }
}

/// `fmi2SetRealInputDerivatives`.
pub unsafe fn set_input_derivatives(
    c: Handle,
    references: *const u32,
    n: usize,
    orders: *const c_int,
    values: *const f64,
) -> c_int {
    // Safety: section 4.2.1: an order and a value for each reference.
    unsafe {
        call(c, "fmi2SetRealInputDerivatives", |i| {
            let (references, orders, values) = (list(references, n), list(orders, n), list(values, n));
            references
                .iter()
                .zip(orders)
                .zip(values)
                .try_for_each(|((&r, &order), &value)| i.set_derivative(r, order, value))
        })
    }
}

/// `fmi2DoStep`.
#[inline]
pub unsafe fn do_step(c: Handle, t: f64, h: f64, _is_final: c_int) -> c_int {
    // Safety: passed on.
    unsafe { call(c, "fmi2DoStep", |i| i.step(t, h)) }
}

/// `fmi2GetRealStatus`: the last successful time is known (section 4.2.3).
pub unsafe fn get_real_status(c: Handle, kind: c_int, value: *mut f64) -> c_int {
    const LAST_SUCCESSFUL_TIME: c_int = 2;
    if kind != LAST_SUCCESSFUL_TIME {
        return DISCARD;
    }
    // Safety: section 4.2.3: the value is written to a place of the caller's.
    unsafe {
        call(c, "fmi2GetRealStatus", |i| {
            if let Some(value) = value.as_mut() {
                *value = i.time();
            }
            Ok(())
        })
    }
}

/// `fmi2GetBooleanStatus`: it never terminates by itself (section 4.2.3).
pub unsafe fn get_boolean_status(c: Handle, kind: c_int, value: *mut c_int) -> c_int {
    const TERMINATED: c_int = 3;
    if kind != TERMINATED {
        return DISCARD;
    }
    // Safety: section 4.2.3: the value is written to a place of the caller's.
    unsafe {
        call(c, "fmi2GetBooleanStatus", |_| {
            if let Some(value) = value.as_mut() {
                *value = 0;
            }
            Ok(())
        })
    }
}

/// `fmi2GetStatus`, `fmi2GetIntegerStatus` and `fmi2GetStringStatus`: nothing is ever pending (section 4.2.3).
pub unsafe fn no_status(_c: Handle) -> c_int {
    DISCARD
}
