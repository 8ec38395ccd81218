//! A model as equations, and the adapter that makes a subsystem of them.

use super::parameters::{Domain, ParameterSpec, Parameters};
use powerbond_core::subsystem::{
    Advance, Binding, Capabilities, Causality, FeedThrough, Info, Inputs, Setup, Span, StateSnapshot,
    Subsystem, SubsystemError, ValueKind, Variable,
};
use powerbond_core::units::Unit;
use std::sync::Arc;

/// Held inputs of a model: `value + slope·τ + curvature·τ²/2`.
#[derive(Clone, Copy, Debug)]
pub struct InputPolynomial<const N: usize> {
    /// At the start of the step.
    pub value: [f64; N],
    /// Per second.
    pub slope: [f64; N],
    /// Per second squared.
    pub curvature: [f64; N],
}

impl<const N: usize> InputPolynomial<N> {
    /// Input `i` at `tau` seconds after the start.
    pub fn at(&self, i: usize, tau: f64) -> f64 {
        self.value[i] + tau * (self.slope[i] + 0.5 * tau * self.curvature[i])
    }

    /// All inputs at `tau`.
    pub fn all(&self, tau: f64) -> [f64; N] {
        std::array::from_fn(|i| self.at(i, tau))
    }
}

/// A model with `NI` inputs and `NO` outputs. Variables are numbered: inputs, then outputs, then locals.
pub trait Equations<const NI: usize, const NO: usize>: Clone + Send + 'static {
    /// All variables: `NI` inputs, `NO` outputs, then locals.
    fn variables(&self) -> Vec<Variable>;

    /// Pairs `(output, input)` with direct feed-through, counted from 0 each.
    fn feed_through(&self) -> Vec<(usize, usize)>;

    /// Crosses `h` seconds from time `t`.
    fn step(&mut self, t: f64, h: f64, u: &InputPolynomial<NI>) -> Result<(), SubsystemError>;

    /// The outputs for the inputs `u` at this instant.
    fn output(&self, u: &[f64; NI]) -> [f64; NO];

    /// When the inputs that `output` gets after a step of length `h` are sampled, in seconds after its start: at its
    /// end, unless the model says otherwise.
    fn output_time(&self, h: f64) -> f64 {
        h
    }

    /// Local variable `k`, counted from 0; `u` are the inputs at this instant.
    fn local(&self, k: usize, u: &[f64; NI]) -> f64;

    /// Shows every number that `step` changes and that later steps or outputs depend on, always in the same order;
    /// `visit` may write there. False if the model does not know them.
    fn state(&mut self, _visit: &mut dyn FnMut(&mut f64)) -> bool {
        false
    }

    /// Writes ∂y/∂u in the order of `feed_through`; false if the model does not know them.
    fn derivatives(&self, _u: &[f64; NI], _d: &mut [f64]) -> bool {
        false
    }
}

/// Describes a variable.
pub fn variable(name: &str, causality: Causality, unit: &str, description: &str) -> Variable {
    Variable {
        name: name.to_owned(),
        causality,
        kind: ValueKind::Real,
        unit: Some(Arc::new(Unit::parse(unit))),
        start: 0.0,
        nominal: 1.0,
        min: f64::NEG_INFINITY,
        max: f64::INFINITY,
        discrete: false,
        settable: causality == Causality::Input,
        digits: Default::default(),
        description: description.to_owned(),
    }
}

/// What a built-in model pretends to be able to do: real simulators often can do less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capability {
    /// Follows this many derivatives of its inputs.
    pub input_derivatives: u8,
    /// Recomputes its outputs when asked.
    pub refresh: bool,
    /// Can go back to a saved state.
    pub restore: bool,
    /// Crosses a step in several shorter ones, if asked to.
    pub sub_steps: bool,
    /// Says which outputs depend on which inputs at the same instant.
    pub dependencies: bool,
}

impl Capability {
    /// The parameters of every built-in model.
    pub const PARAMETERS: &'static [ParameterSpec] = &[
        ParameterSpec {
            name: "input_derivatives",
            unit: "",
            domain: Domain::Count { default: 2, min: 0, max: 2 },
            description: "Number of input derivatives it takes",
        },
        ParameterSpec {
            name: "refresh",
            unit: "",
            domain: Domain::Choice(&["yes", "no"]),
            description: "Whether it recomputes outputs without a step when inputs change",
        },
        ParameterSpec {
            name: "restore",
            unit: "",
            domain: Domain::Choice(&["yes", "no"]),
            description: "Whether its state can be saved and restored",
        },
        ParameterSpec {
            name: "sub_steps",
            unit: "",
            domain: Domain::Choice(&["yes", "no"]),
            description: "Whether a step may be divided into sub-steps",
        },
        ParameterSpec {
            name: "dependencies",
            unit: "",
            domain: Domain::Choice(&["yes", "no"]),
            description: "Whether it declares its direct feed-through",
        },
    ];

    /// As given by the parameters.
    pub fn of(p: &Parameters) -> Self {
        Capability {
            input_derivatives: p.count("input_derivatives") as u8,
            refresh: p.choice("refresh") == "yes",
            restore: p.choice("restore") == "yes",
            sub_steps: p.choice("sub_steps") == "yes",
            dependencies: p.choice("dependencies") == "yes",
        }
    }
}

/// A subsystem made of equations. Saving its state is a copy into a slot that is reused.
pub struct Built<E, const NI: usize, const NO: usize> {
    equations: E,
    initial: E,
    saved: E,
    /// Held inputs of the current step; unbound ones keep their start value.
    held: InputPolynomial<NI>,
    saved_held: InputPolynomial<NI>,
    /// Inputs at the current instant, as the outputs see them.
    now: [f64; NI],
    saved_now: [f64; NI],
    /// What [`Subsystem::save_second`] kept; made at its first call.
    second: Option<Box<(E, InputPolynomial<NI>, [f64; NI])>>,
    inputs: Vec<usize>,
    /// Every input is bound, in the model's own order.
    whole: bool,
    outputs: Vec<usize>,
    probes: Vec<usize>,
    /// For each bound feed-through pair its place in the model's own list.
    pairs: Vec<usize>,
    /// All of the model's own derivatives.
    derivatives: Vec<f64>,
    info: Box<Info>,
}

impl<E: Equations<NI, NO>, const NI: usize, const NO: usize> Built<E, NI, NO> {
    /// Wraps `equations`, which are at their initial state.
    pub fn new(kind: &str, equations: E, capability: Capability) -> Self {
        let variables = equations.variables();
        let start: [f64; NI] = std::array::from_fn(|i| variables[i].start);
        let pairs = equations.feed_through();
        let mut derivatives = vec![0.0; pairs.len()];
        let info = Info {
            kind: kind.to_owned(),
            variables: variables.into(),
            feed_through: if capability.dependencies {
                FeedThrough::Declared(pairs.iter().map(|&(o, i)| (NI + o, i)).collect())
            } else {
                FeedThrough::Unknown
            },
            capabilities: Capabilities {
                can_restore: capability.restore,
                can_refresh: capability.refresh,
                sub_steps: capability.sub_steps,
                input_derivatives: capability.input_derivatives,
                feed_through_values: capability.dependencies
                    && !pairs.is_empty()
                    && equations.derivatives(&start, &mut derivatives),
                ..Capabilities::default()
            },
        };
        let held = InputPolynomial { value: start, slope: [0.0; NI], curvature: [0.0; NI] };
        Built {
            initial: equations.clone(),
            saved: equations.clone(),
            equations,
            held,
            saved_held: held,
            now: start,
            saved_now: start,
            second: None,
            inputs: Vec::new(),
            whole: false,
            outputs: Vec::new(),
            probes: Vec::new(),
            pairs: Vec::new(),
            derivatives,
            info: Box::new(info),
        }
    }

    fn read(&self, y: &mut [f64]) {
        let all = self.equations.output(&self.now);
        for (y, &o) in y.iter_mut().zip(&self.outputs) {
            *y = all[o];
        }
    }
}

impl<E: Equations<NI, NO>, const NI: usize, const NO: usize> Subsystem for Built<E, NI, NO> {
    fn info(&self) -> &Info {
        &self.info
    }

    fn bind(&mut self, binding: &Binding) -> Result<(), SubsystemError> {
        self.inputs = binding.inputs.clone();
        self.whole = self.inputs.iter().copied().eq(0..NI);
        self.outputs = binding.outputs.iter().map(|&v| v - NI).collect();
        self.probes = binding.probes.clone();
        let own = self.equations.feed_through();
        self.pairs = binding
            .feed_through
            .iter()
            .filter_map(|&(o, i)| own.iter().position(|&p| p == (self.outputs[o], self.inputs[i])))
            .collect();
        Ok(())
    }

    fn enter(&mut self, _setup: &Setup) -> Result<(), SubsystemError> {
        self.equations = self.initial.clone();
        let start = std::array::from_fn(|i| self.info.variables[i].start);
        self.held = InputPolynomial { value: start, slope: [0.0; NI], curvature: [0.0; NI] };
        self.now = start;
        Ok(())
    }

    fn evaluate(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        for (&value, &i) in u.value.iter().zip(&self.inputs) {
            self.now[i] = value;
        }
        self.read(y);
        Ok(())
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        match <[f64; NI]>::try_from(u.value) {
            // As a block: reading an array right after writing it element by element stalls the processor.
            Ok(all) if self.whole => {
                self.held.value = all;
                self.now = all;
            }
            _ => {
                for (&value, &i) in u.value.iter().zip(&self.inputs) {
                    self.held.value[i] = value;
                    self.now[i] = value;
                }
            }
        }
        if !u.slope.is_empty() {
            let follows = self.info.capabilities.input_derivatives;
            for (k, &i) in self.inputs.iter().enumerate() {
                self.held.slope[i] = if follows > 0 { u.slope[k] } else { 0.0 };
                self.held.curvature[i] =
                    if follows > 1 { u.curvature.get(k).copied().unwrap_or(0.0) } else { 0.0 };
            }
            self.now = self.held.all(self.equations.output_time(span.h));
        }
        self.equations.step(span.start, span.h, &self.held)?;
        self.read(y);
        Ok(Advance::whole(span))
    }

    fn feed_through(&mut self, d: &mut [f64]) -> Result<(), SubsystemError> {
        self.equations.derivatives(&self.now, &mut self.derivatives);
        for (d, &p) in d.iter_mut().zip(&self.pairs) {
            *d = self.derivatives[p];
        }
        Ok(())
    }

    /// Parameters of models are fixed: only inputs that are not bound can be set.
    fn set(&mut self, variable: usize, value: f64) -> Result<(), SubsystemError> {
        if variable >= NI || self.inputs.contains(&variable) {
            return Err(SubsystemError::Unsupported { call: "set" });
        }
        self.held.value[variable] = value;
        self.now[variable] = value;
        Ok(())
    }

    fn probe(&mut self, z: &mut [f64]) -> Result<(), SubsystemError> {
        for (z, &v) in z.iter_mut().zip(&self.probes) {
            *z = if v < NI {
                self.now[v]
            } else if v < NI + NO {
                self.equations.output(&self.now)[v - NI]
            } else {
                self.equations.local(v - NI - NO, &self.now)
            };
        }
        Ok(())
    }

    fn save(&mut self) -> Result<(), SubsystemError> {
        self.saved.clone_from(&self.equations);
        self.saved_held = self.held;
        self.saved_now = self.now;
        Ok(())
    }

    fn restore(&mut self) -> Result<(), SubsystemError> {
        self.equations.clone_from(&self.saved);
        self.held = self.saved_held;
        self.now = self.saved_now;
        Ok(())
    }

    fn save_second(&mut self) -> Result<(), SubsystemError> {
        match &mut self.second {
            Some(second) => {
                second.0.clone_from(&self.equations);
                (second.1, second.2) = (self.held, self.now);
            }
            None => self.second = Some(Box::new((self.equations.clone(), self.held, self.now))),
        }
        Ok(())
    }

    fn restore_second(&mut self) -> Result<(), SubsystemError> {
        let Some(second) = &self.second else {
            return Err(SubsystemError::Unsupported { call: "restore_second" });
        };
        self.equations.clone_from(&second.0);
        (self.held, self.now) = (second.1, second.2);
        Ok(())
    }

    fn snapshot(&mut self) -> Result<StateSnapshot, SubsystemError> {
        if !self.info.capabilities.can_restore {
            return Err(SubsystemError::Unsupported { call: "snapshot" });
        }
        Ok(StateSnapshot::new((self.equations.clone(), self.held, self.now)))
    }

    fn load_snapshot(&mut self, snapshot: &StateSnapshot) -> Result<(), SubsystemError> {
        let state: Option<&(E, InputPolynomial<NI>, [f64; NI])> = snapshot.get();
        let Some((equations, held, now)) = state else {
            return Err(SubsystemError::Unsupported { call: "load_snapshot" });
        };
        self.equations.clone_from(equations);
        (self.held, self.now) = (*held, *now);
        Ok(())
    }

    fn can_snapshot(&mut self) -> bool {
        self.info.capabilities.can_restore
    }

    fn scratch(&self) -> Option<Box<dyn Subsystem>> {
        let start = std::array::from_fn(|i| self.info.variables[i].start);
        let held = InputPolynomial { value: start, slope: [0.0; NI], curvature: [0.0; NI] };
        Some(Box::new(Built {
            equations: self.initial.clone(),
            initial: self.initial.clone(),
            saved: self.initial.clone(),
            held,
            saved_held: held,
            now: start,
            saved_now: start,
            second: None,
            inputs: Vec::new(),
            whole: false,
            outputs: Vec::new(),
            probes: Vec::new(),
            pairs: Vec::new(),
            derivatives: self.derivatives.clone(),
            info: self.info.clone(),
        }))
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> Result<(), SubsystemError> {
        if !self.equations.state(visit) {
            return Err(SubsystemError::Unsupported { call: "state" });
        }
        let InputPolynomial { value, slope, curvature } = &mut self.held;
        [value, slope, curvature, &mut self.now].into_iter().flatten().for_each(visit);
        Ok(())
    }
}

/// Shorthand for the variables of models.
pub(super) fn input(name: &str, unit: &str, description: &str) -> Variable {
    variable(name, Causality::Input, unit, description)
}

/// Shorthand for the variables of models.
pub(super) fn output(name: &str, unit: &str, description: &str) -> Variable {
    variable(name, Causality::Output, unit, description)
}

/// Shorthand for the variables of models.
pub(super) fn local(name: &str, unit: &str, description: &str) -> Variable {
    variable(name, Causality::Local, unit, description)
}
