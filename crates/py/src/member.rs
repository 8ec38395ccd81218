//! A subsystem that is written in Python. `python/powerbond/_member.py` makes it look the same whatever its author wrote.

use crate::error::Cause;
use powerbond::Error;
use powerbond::core::subsystem::{
    Advance, Binding, Capabilities, Causality, FeedThrough, Info, Inputs, Setup, Span, StateSnapshot,
    Subsystem, SubsystemError,
};
use powerbond::models::variable;
use powerbond::system::{Factory, Order};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// What makes the subsystem, and where its exceptions are kept.
pub struct Python {
    /// A function of a dictionary of parameters.
    make: Py<PyAny>,
    cause: Cause,
}

impl Python {
    pub fn new(make: Py<PyAny>, cause: &Cause) -> Self {
        Python { make, cause: cause.clone() }
    }

    /// Calls Python; an exception is an error of the run, and its cause.
    fn call<T>(
        &self,
        call: &'static str,
        act: impl FnOnce(pyo3::Python<'_>) -> PyResult<T>,
    ) -> Result<T, SubsystemError> {
        pyo3::Python::attach(|py| {
            act(py).map_err(|exception| {
                let message = exception.to_string();
                self.cause.keep(py, exception);
                SubsystemError::Status { call, status: "an exception".to_owned(), message }
            })
        })
    }
}

impl Clone for Python {
    fn clone(&self) -> Self {
        pyo3::Python::attach(|py| Python { make: self.make.clone_ref(py), cause: self.cause.clone() })
    }
}

impl Factory for Python {
    fn make(&self, order: &Order<'_>) -> Result<Box<dyn Subsystem>, Error> {
        let made = pyo3::Python::attach(|py| -> PyResult<Member> {
            let parameters = PyDict::new(py);
            for (name, given) in order.parameters {
                match given.number() {
                    Some(x) => parameters.set_item(&name.value, x)?,
                    None => parameters.set_item(&name.value, given.to_json().as_str().unwrap_or_default())?,
                }
            }
            Member::new(py, Arc::new(self.clone()), parameters.unbind())
        });
        made.map(|member| Box::new(member) as Box<dyn Subsystem>).map_err(|exception| {
            let message = format!("`{}`: {exception}", order.name.value);
            pyo3::Python::attach(|py| self.cause.keep(py, exception));
            Error::input(order.name.place(), message)
        })
    }
}

/// An instance.
struct Member {
    made_by: Arc<Python>,
    parameters: Py<PyDict>,
    object: Py<PyAny>,
    info: Info,
    time: f64,
    /// Values of all inputs and outputs, in the order of the description.
    inputs: Vec<f64>,
    outputs: Vec<f64>,
    bound: Binding,
    saved: [Option<SavedState>; 2],
}

/// The object's own state, the time and the outputs.
type SavedState = (Py<PyAny>, f64, Vec<f64>);

/// What the adapter says of itself.
#[derive(FromPyObject)]
struct Described {
    kind: String,
    inputs: Vec<(String, String, f64)>,
    outputs: Vec<(String, String)>,
    has_output: bool,
    can_restore: bool,
    sub_steps: bool,
}

impl Member {
    fn new(py: pyo3::Python<'_>, made_by: Arc<Python>, parameters: Py<PyDict>) -> PyResult<Self> {
        let object = made_by.make.call1(py, (parameters.bind(py).copy()?,))?;
        let Described { kind, inputs, outputs, has_output, can_restore, sub_steps } = object.extract(py)?;
        let mut variables = Vec::new();
        for (name, unit, start) in &inputs {
            let mut input = variable(name, Causality::Input, unit, "");
            input.start = *start;
            variables.push(input);
        }
        variables.extend(outputs.iter().map(|(name, unit)| variable(name, Causality::Output, unit, "")));
        for v in &mut variables {
            if v.unit.as_ref().is_some_and(|unit| unit.symbol.is_empty()) {
                v.unit = None;
            }
        }
        // Without `output` the outputs follow inputs in steps only.
        let feed_through = if has_output { FeedThrough::Unknown } else { FeedThrough::Declared(Vec::new()) };
        let capabilities = Capabilities {
            can_restore,
            can_refresh: has_output,
            can_update: has_output,
            sub_steps,
            ..Capabilities::default()
        };
        let starts = inputs.iter().map(|(.., start)| *start).collect();
        Ok(Member {
            made_by,
            parameters,
            object,
            info: Info { kind, variables: variables.into(), feed_through, capabilities },
            time: 0.0,
            inputs: starts,
            outputs: vec![0.0; outputs.len()],
            bound: Binding::default(),
            saved: [None, None],
        })
    }

    fn take(&mut self, u: Inputs<'_>) {
        for (value, variable) in u.value.iter().zip(&self.bound.inputs) {
            self.inputs[*variable] = *value;
        }
    }

    fn give(&self, y: &mut [f64]) {
        for (value, variable) in y.iter_mut().zip(&self.bound.outputs) {
            *value = self.outputs[*variable - self.inputs.len()];
        }
    }

    fn keep(&mut self, slot: usize) -> Result<(), SubsystemError> {
        let state = self.made_by.call("save", |py| self.object.call_method0(py, "save"))?;
        self.saved[slot] = Some((state, self.time, self.outputs.clone()));
        Ok(())
    }

    fn go_back(&mut self, slot: usize) -> Result<(), SubsystemError> {
        let Some((state, time, outputs)) = &self.saved[slot] else {
            return Err(SubsystemError::Unsupported { call: "restore" });
        };
        self.made_by.call("restore", |py| self.object.call_method1(py, "restore", (state,)))?;
        (self.time, self.outputs) = (*time, outputs.clone());
        Ok(())
    }
}

impl Subsystem for Member {
    fn info(&self) -> &Info {
        &self.info
    }

    fn bind(&mut self, binding: &Binding) -> Result<(), SubsystemError> {
        self.bound = binding.clone();
        Ok(())
    }

    fn enter(&mut self, setup: &Setup) -> Result<(), SubsystemError> {
        self.time = setup.start;
        let outputs = self
            .made_by
            .call("start", |py| self.object.call_method1(py, "start", (setup.start,))?.extract(py))?;
        self.outputs = outputs;
        Ok(())
    }

    fn evaluate(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        self.take(u);
        if self.info.capabilities.can_refresh {
            let (t, u) = (self.time, &self.inputs);
            self.outputs = self
                .made_by
                .call("output", |py| self.object.call_method1(py, "output", (t, u.clone()))?.extract(py))?;
        }
        self.give(y);
        Ok(())
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        self.take(u);
        let given = (span.start, span.h, self.inputs.clone());
        self.outputs =
            self.made_by.call("step", |py| self.object.call_method1(py, "step", given)?.extract(py))?;
        self.time = span.end;
        self.give(y);
        Ok(Advance::whole(span))
    }

    fn set(&mut self, variable: usize, value: f64) -> Result<(), SubsystemError> {
        match self.inputs.get_mut(variable) {
            Some(input) => {
                *input = value;
                Ok(())
            }
            None => Err(SubsystemError::Unsupported { call: "set" }),
        }
    }

    fn probe(&mut self, z: &mut [f64]) -> Result<(), SubsystemError> {
        for (value, variable) in z.iter_mut().zip(&self.bound.probes) {
            *value = match variable.checked_sub(self.inputs.len()) {
                Some(output) => self.outputs[output],
                None => self.inputs[*variable],
            };
        }
        Ok(())
    }

    fn save(&mut self) -> Result<(), SubsystemError> {
        self.keep(0)
    }

    fn restore(&mut self) -> Result<(), SubsystemError> {
        self.go_back(0)
    }

    fn save_second(&mut self) -> Result<(), SubsystemError> {
        self.keep(1)
    }

    fn restore_second(&mut self) -> Result<(), SubsystemError> {
        self.go_back(1)
    }

    fn scratch(&self) -> Option<Box<dyn Subsystem>> {
        let made = self
            .made_by
            .call("make", |py| Member::new(py, self.made_by.clone(), self.parameters.clone_ref(py)));
        made.ok().map(|member| Box::new(member) as Box<dyn Subsystem>)
    }

    fn snapshot(&mut self) -> Result<StateSnapshot, SubsystemError> {
        let state = self.made_by.call("save", |py| self.object.call_method0(py, "save"))?;
        Ok(StateSnapshot::new((state, self.time, self.inputs.clone(), self.outputs.clone())))
    }

    fn load_snapshot(&mut self, snapshot: &StateSnapshot) -> Result<(), SubsystemError> {
        let Some((state, time, inputs, outputs)) = snapshot.get::<(Py<PyAny>, f64, Vec<f64>, Vec<f64>)>()
        else {
            return Err(SubsystemError::Unsupported { call: "load_snapshot" });
        };
        self.made_by.call("restore", |py| self.object.call_method1(py, "restore", (state,)))?;
        (self.time, self.inputs, self.outputs) = (*time, inputs.clone(), outputs.clone());
        Ok(())
    }

    fn can_snapshot(&mut self) -> bool {
        self.info.capabilities.can_restore
    }
}
