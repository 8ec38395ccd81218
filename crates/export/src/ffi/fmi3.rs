//! The functions that FMI 3.0 has in a way of its own; signatures as in `fmi3FunctionTypes.h` of FMI 3.0.2.
//!
//! A C `bool` is an `u8` here, so that an importer that passes another value than 0 or 1 does no harm.

use super::{Component, Handle, Logger, OK, call, list, list_mut};
use crate::error::Refusal;
use crate::intermediate::Point;
use powerbond_models::ModelSpec;
use std::ffi::{c_char, c_int, c_void};

/// `fmi3LogMessageCallback`.
pub type LogMessage = unsafe extern "C" fn(*mut c_void, c_int, *const c_char, *const c_char);

/// `fmi3IntermediateUpdateCallback`.
pub type IntermediateUpdate = unsafe extern "C" fn(*mut c_void, f64, u8, u8, u8, u8, *mut u8, *mut f64);

/// Who gives inputs inside steps.
#[derive(Clone, Copy)]
pub(super) struct Asks {
    update: IntermediateUpdate,
    environment: *mut c_void,
}

/// `fmi3InstantiateCoSimulation`.
pub unsafe fn instantiate(
    models: &'static [&'static ModelSpec],
    token: *const c_char,
    event_mode: u8,
    intermediate: (*const u32, usize),
    environment: *mut c_void,
    log: Option<LogMessage>,
    update: Option<IntermediateUpdate>,
) -> Handle {
    const FUNCTION: &str = "fmi3InstantiateCoSimulation";
    let logger = Logger::Fmi3 { logger: log, environment };
    if event_mode != 0 {
        logger.error(FUNCTION, &Refusal::Unsupported { what: "event mode" });
        return std::ptr::null_mut();
    }
    // Safety: fmi3InstantiateCoSimulation: strings and references are read during the call; callbacks and environment
    // stay valid.
    unsafe {
        let handle = super::instantiate(models, FUNCTION, token, logger);
        if let (Some(component), Some(update)) = (handle.cast::<Component>().as_mut(), update) {
            let mut wanted = list(intermediate.0, intermediate.1).iter();
            let asked_for = wanted.any(|&reference| component.instance.is_asked_for(reference));
            component.asks = asked_for.then_some(Asks { update, environment });
        }
        handle
    }
}

/// `fmi3InstantiateModelExchange` and `fmi3InstantiateScheduledExecution`.
pub unsafe fn no_instance(
    function: &'static str,
    what: &'static str,
    environment: *mut c_void,
    log: Option<LogMessage>,
) -> Handle {
    Logger::Fmi3 { logger: log, environment }.error(function, &Refusal::Unsupported { what });
    std::ptr::null_mut()
}

/// `fmi3EnterInitializationMode`.
pub unsafe fn enter_initialization(
    c: Handle,
    _has_tolerance: u8,
    _tolerance: f64,
    start: f64,
    has_stop: u8,
    stop: f64,
) -> c_int {
    // Safety: passed on.
    unsafe {
        call(c, "fmi3EnterInitializationMode", |i| {
            i.set_up(start, (has_stop != 0).then_some(stop))?;
            i.enter_initialization()
        })
    }
}

/// `fmi3GetFloat64`.
#[inline]
pub unsafe fn get_float64(
    c: Handle,
    references: *const u32,
    n: usize,
    values: *mut f64,
    length: usize,
) -> c_int {
    // Safety: fmi3GetFloat64, fmi3SetFloat64: both arrays are as long as the numbers say.
    unsafe { call(c, "fmi3GetFloat64", |i| i.get_numbers(list(references, n), list_mut(values, length))) }
}

/// `fmi3SetFloat64`.
#[inline]
pub unsafe fn set_float64(
    c: Handle,
    references: *const u32,
    n: usize,
    values: *const f64,
    length: usize,
) -> c_int {
    // Safety: fmi3GetFloat64, fmi3SetFloat64: both arrays are as long as the numbers say.
    unsafe { call(c, "fmi3SetFloat64", |i| i.set_numbers(list(references, n), list(values, length))) }
}

/// `fmi3GetDirectionalDerivative`.
#[allow(clippy::too_many_arguments)] // As many as the standard has.
pub unsafe fn directional_derivative(
    c: Handle,
    unknowns: *const u32,
    n_unknowns: usize,
    knowns: *const u32,
    n_knowns: usize,
    seed: *const f64,
    n_seed: usize,
    sensitivity: *mut f64,
    n_sensitivity: usize,
) -> c_int {
    // Safety: fmi3GetDirectionalDerivative: all arrays are as long as the numbers say.
    unsafe {
        call(c, "fmi3GetDirectionalDerivative", |i| {
            let (unknowns, knowns) = (list(unknowns, n_unknowns), list(knowns, n_knowns));
            let seed = list(seed, n_seed);
            i.directional_derivative(unknowns, knowns, seed, list_mut(sensitivity, n_sensitivity))
        })
    }
}

/// `fmi3DoStep`: always to the end and without events.
#[inline]
#[allow(clippy::too_many_arguments)] // As many as the standard has.
pub unsafe fn do_step(
    c: Handle,
    t: f64,
    h: f64,
    _is_final: u8,
    event: *mut u8,
    terminate: *mut u8,
    early: *mut u8,
    reached: *mut f64,
) -> c_int {
    // Safety: fmi3DoStep: results are written to places of the caller's. No reference to the component lives while the
    // importer is asked, which sets inputs then.
    unsafe {
        let asks = c.cast::<Component>().as_ref().and_then(|component| component.asks);
        if let Some(asks) = asks {
            let asked = ask(c, asks, t, h);
            if asked != OK {
                return asked;
            }
        }
        call(c, FUNCTION, |i| {
            for flag in [event, terminate, early] {
                if let Some(flag) = flag.as_mut() {
                    *flag = 0;
                }
            }
            let stepped = if asks.is_some() { i.step_through_samples(t, h) } else { i.step(t, h) };
            if let Some(reached) = reached.as_mut() {
                *reached = i.time();
            }
            stepped
        })
    }
}

const FUNCTION: &str = "fmi3DoStep";

/// Asks the importer for inputs inside a step.
#[inline(never)] // Most importers are not asked.
unsafe fn ask(c: Handle, asks: Asks, t: f64, h: f64) -> c_int {
    let mut points: &[Point] = &[];
    // Safety: passed on.
    let begun = unsafe {
        call(c, FUNCTION, |i| {
            points = i.points();
            i.begin_samples(t, h)
        })
    };
    if begun != OK {
        return begun;
    }
    for &point in points {
        let time = if point == Point::Middle { t + 0.5 * h } else { t + h };
        let (mut early, mut early_time) = (0, 0.0);
        // Safety: fmi3IntermediateUpdateCallback: called inside fmi3DoStep with the environment as it was given. Inputs
        // may be set, nothing may be read, and the step cannot end here.
        unsafe { (asks.update)(asks.environment, time, 1, 0, 0, 0, &mut early, &mut early_time) };
        // Safety: passed on.
        let taken = unsafe {
            call(c, FUNCTION, |i| {
                i.take_sample(point);
                Ok(())
            })
        };
        if taken != OK {
            return taken;
        }
    }
    OK
}
