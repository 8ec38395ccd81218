//! A loaded library with the files it lives in, and what it can really do.

use crate::archive::Unpacked;
use crate::description::{Causality, CoSimulation, Kind, ModelDescription, Variability, Variable, Version};
use crate::error::LibraryError;
use crate::fmu::Options;
use crate::library::{self, Library};
use crate::{fmi1, fmi2, fmi3, rounding, surroundings};
use powerbond_core::subsystem::Capabilities;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A loaded library with the files it lives in. The library goes first, then the files.
pub(crate) struct Loaded {
    pub api: Api,
    pub resources: CString,
    pub shortcomings: Vec<String>,
    /// A fatal error has ended all its instances.
    pub fatal: Arc<AtomicBool>,
    /// How many of its instances were given steps that are guarded.
    guarded: AtomicU32,
    /// What the last of its instances to be bound reads and sets.
    bound: Mutex<Direct>,
    _files: Unpacked,
}

/// The references of inputs and outputs that are scalar reals.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Direct {
    pub inputs: Arc<[u32]>,
    pub outputs: Arc<[u32]>,
}

pub(crate) enum Api {
    Fmi1(Arc<fmi1::Api>),
    Fmi2(Arc<fmi2::Api>),
    Fmi3(Arc<fmi3::Api>),
}

/// Real inputs that an FMI 3 FMU takes inside steps: all of them, or none where one cannot be.
pub(crate) fn intermediate_inputs(description: &ModelDescription) -> Vec<u32> {
    let offered = description.co_simulation.as_ref().is_some_and(|i| i.provides_intermediate_update);
    let reals = || {
        let inputs = description.variables.iter();
        let continuous = |v: &&Variable| v.kind.is_real() && v.variability == Variability::Continuous;
        inputs.filter(|v| v.causality == Causality::Input).filter(continuous)
    };
    let fits = |v: &Variable| v.kind == Kind::Float64 && v.dimensions.is_empty() && v.intermediate_update;
    if offered && description.version == Version::Fmi3 && reals().all(fits) {
        reals().map(|v| v.reference).collect()
    } else {
        Vec::new()
    }
}

impl Loaded {
    /// The same lists in the same memory for instances that are bound alike: with many instances it is memory that costs.
    pub fn share(&self, direct: Direct) -> Direct {
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        if *bound != direct {
            *bound = direct;
        }
        bound.clone()
    }

    pub fn new(
        files: Unpacked,
        description: &ModelDescription,
        interface: &CoSimulation,
    ) -> Result<Self, LibraryError> {
        let root = files.path();
        let path = library::locate(root, &interface.model_identifier)?;
        let (library, changes) = surroundings::guard(|| Library::open(&path));
        let changes_mode = rounding::restore();
        rounding::choose_check();
        let library = library?;
        let resources = root.join("resources");
        let (api, location) = match description.version {
            Version::Fmi1 => (
                Api::Fmi1(Arc::new(fmi1::Api::load(library, &interface.model_identifier)?)),
                library::uri(root),
            ),
            Version::Fmi2 => (Api::Fmi2(Arc::new(fmi2::Api::load(library)?)), library::uri(&resources)),
            Version::Fmi3 => {
                // FMI 3.0.2 section 2.2.2: an absolute path with a separator at its end.
                let path = format!("{}{}", resources.display(), std::path::MAIN_SEPARATOR);
                (Api::Fmi3(Arc::new(fmi3::Api::load(library)?)), path)
            }
        };
        let mut loaded = Loaded {
            api,
            resources: CString::new(location).unwrap_or_default(),
            shortcomings: Vec::new(),
            fatal: Arc::default(),
            guarded: AtomicU32::new(0),
            bound: Mutex::default(),
            _files: files,
        };
        loaded.shortcomings = loaded.find_shortcomings(interface);
        let said = |what: &dyn std::fmt::Display| format!("loading its library {what}");
        loaded.shortcomings.extend(changes.iter().map(|change| said(change)));
        if changes_mode {
            let what = "changes the rounding mode or flushes denormals, as code built with `-ffast-math` does; restored";
            loaded.shortcomings.push(said(&what));
        }
        Ok(loaded)
    }

    /// How many of the first steps of a new instance are guarded: instances of one library do the same to others, and a guarded
    /// step takes 7 µs longer.
    pub fn guarded_steps(&self) -> u32 {
        if self.guarded.fetch_add(1, Ordering::Relaxed) < 16 { 8 } else { 0 }
    }

    fn has_state(&self) -> bool {
        match &self.api {
            Api::Fmi1(_) => false,
            Api::Fmi2(api) => api.has_state(),
            Api::Fmi3(api) => api.has_state(),
        }
    }

    fn has_directional(&self) -> bool {
        match &self.api {
            Api::Fmi1(_) => false,
            Api::Fmi2(api) => api.has_directional(),
            Api::Fmi3(api) => api.has_directional(),
        }
    }

    fn has_input_derivatives(&self) -> bool {
        match &self.api {
            Api::Fmi1(api) => api.has_input_derivatives(),
            Api::Fmi2(api) => api.has_input_derivatives(),
            Api::Fmi3(_) => false,
        }
    }

    fn has_output_derivatives(&self) -> bool {
        match &self.api {
            Api::Fmi1(api) => api.has_output_derivatives(),
            Api::Fmi2(api) => api.has_output_derivatives(),
            Api::Fmi3(api) => api.has_output_derivatives(),
        }
    }

    fn has_event_mode(&self) -> bool {
        matches!(&self.api, Api::Fmi3(api) if api.has_event_mode())
    }

    /// Whether an instance is made with `eventModeUsed`: offered and there, and asked for or needed. FMI 3.0.2 has clocks tick in
    /// event mode only, so FMUs with clocks refuse to be made without it.
    pub fn uses_event_mode(
        &self,
        description: &ModelDescription,
        interface: &CoSimulation,
        options: &Options,
    ) -> bool {
        let needed = || description.variables.iter().any(|v| v.kind == Kind::Clock);
        interface.has_event_mode && self.has_event_mode() && (options.events || needed())
    }

    fn find_shortcomings(&self, interface: &CoSimulation) -> Vec<String> {
        let mut list = Vec::new();
        let mut check = |declared: bool, there: bool, what: &str| {
            if declared && !there {
                list.push(format!(
                    "the model description declares {what}, but the library does not export the functions"
                ));
            }
        };
        check(interface.can_get_and_set_state, self.has_state(), "canGetAndSetFMUstate");
        check(interface.provides_directional_derivatives, self.has_directional(), "directional derivatives");
        check(interface.can_interpolate_inputs, self.has_input_derivatives(), "canInterpolateInputs");
        let order = interface.max_output_derivative_order;
        check(order > 0, self.has_output_derivatives(), "output derivatives");
        check(interface.has_event_mode, self.has_event_mode(), "Event Mode");
        list
    }

    /// What an instance can do, given what is declared, what the library has and what is asked for.
    pub fn capabilities(
        &self,
        description: &ModelDescription,
        interface: &CoSimulation,
        options: &Options,
    ) -> Capabilities {
        let takes = if options.sub_steps > 1 || !intermediate_inputs(description).is_empty() {
            2
        } else if interface.can_interpolate_inputs && self.has_input_derivatives() {
            options.input_derivatives.or(interface.max_input_derivative_order).unwrap_or(1).min(2)
        } else {
            0
        };
        let event_mode = self.uses_event_mode(description, interface, options);
        let can_restore = interface.can_get_and_set_state && self.has_state();
        Capabilities {
            can_restore,
            can_refresh: false,
            can_update: event_mode,
            sub_steps: !options.whole_steps
                && (interface.can_handle_variable_step_size || options.any_step_size),
            constant_step: !interface.can_handle_variable_step_size && !options.any_step_size,
            input_derivatives: options.input_derivatives.map_or(takes, |wish| wish.min(takes)),
            output_derivatives: if self.has_output_derivatives() {
                interface.max_output_derivative_order.min(2) as u8
            } else {
                0
            },
            feed_through_values: interface.provides_directional_derivatives && self.has_directional(),
            may_return_early: event_mode || (options.events && interface.might_return_early),
            fixed_step: interface.fixed_internal_step_size.filter(|_| !options.any_step_size),
            min_step: None,
            // Errors of its own steps cannot be seen, neither by going back nor by a second instance: it knows best.
            max_step: description
                .default_experiment
                .step_size
                .filter(|step| *step > 0.0 && !can_restore && interface.only_once_per_process),
            once: interface.only_once_per_process,
        }
    }
}
