//! An instance of an FMU: a model, the values that an importer sets and reads, and the order of calls.
//!
//! It knows nothing of C. Steps, getters and setters allocate nothing; a change of parameters builds the model anew.

use crate::error::Refusal;
use crate::interface::{Interface, Slot, Type, everything};
use crate::intermediate::Samples;
use crate::token;
use powerbond_core::subsystem::{Inputs, Setup, Span, Subsystem};
use powerbond_models::ModelSpec;

/// Where an instance is in its life; the states of both standards that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Parameters and start values may be set.
    Instantiated,
    /// Inputs are set and outputs read until they agree.
    Initialization,
    /// Steps are taken.
    Stepping,
    /// Values can still be read.
    Terminated,
    /// A call failed; a reset or an earlier state helps.
    Failed,
}

impl Phase {
    pub(crate) const ALL: [Phase; 5] =
        [Phase::Instantiated, Phase::Initialization, Phase::Stepping, Phase::Terminated, Phase::Failed];

    fn words(self) -> &'static str {
        match self {
            Phase::Instantiated => "the instance is not initialized",
            Phase::Initialization => "it is in initialization mode",
            Phase::Stepping => "it is in step mode",
            Phase::Terminated => "it is terminated",
            Phase::Failed => "an earlier call failed",
        }
    }
}

/// An instance of an FMU.
pub struct Instance {
    pub(crate) interface: Interface,
    pub(crate) model: Box<dyn Subsystem>,
    pub(crate) phase: Phase,
    pub(crate) time: f64,
    pub(crate) setup: Setup,
    pub(crate) parameters: Vec<f64>,
    /// Parameters were changed since the model was built.
    pub(crate) outdated: bool,
    /// As set; at the start of the next step.
    pub(crate) u: Vec<f64>,
    /// For the next step only.
    pub(crate) slope: Vec<f64>,
    /// For the next step only.
    pub(crate) curvature: Vec<f64>,
    /// Derivatives of inputs were ever given.
    pub(crate) follows: bool,
    pub(crate) samples: Samples,
    pub(crate) y: Vec<f64>,
    /// Inputs were set since the outputs were computed.
    pub(crate) touched: bool,
    locals: Vec<f64>,
    /// `locals` belong to the current state.
    pub(crate) looked: bool,
    derivatives: Vec<f64>,
    /// How many numbers a copy of the state has.
    pub(crate) state_length: usize,
}

impl Instance {
    /// The model among `models` that `token` names.
    pub fn new(models: &'static [&'static ModelSpec], token: &str) -> Result<Self, Refusal> {
        let (interface, model) = token::open(models, token)?;
        let binding = &interface.binding;
        let inputs = binding.inputs.len();
        let mut instance = Instance {
            model,
            phase: Phase::Instantiated,
            time: 0.0,
            setup: Setup { start: 0.0, stop: f64::INFINITY },
            parameters: interface.start.clone(),
            outdated: false,
            u: binding.inputs.iter().map(|&v| interface.info.variables[v].start).collect(),
            slope: vec![0.0; inputs],
            curvature: vec![0.0; inputs],
            follows: false,
            samples: Samples::new(inputs),
            y: vec![0.0; binding.outputs.len()],
            touched: true,
            locals: vec![0.0; binding.probes.len()],
            looked: false,
            derivatives: vec![0.0; binding.feed_through.len()],
            state_length: 0,
            interface,
        };
        if instance.interface.has_state {
            let mut length = 0;
            instance.each_number(&mut |_| length += 1)?;
            instance.state_length = length;
        }
        Ok(instance)
    }

    /// Where it is.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The time that it reached.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// The experiment that is to come.
    pub fn set_up(&mut self, start: f64, stop: Option<f64>) -> Result<(), Refusal> {
        self.require(&[Phase::Instantiated])?;
        self.setup = Setup { start, stop: stop.unwrap_or(f64::INFINITY) };
        self.time = start;
        Ok(())
    }

    /// Goes to the start with the parameters as they are.
    pub fn enter_initialization(&mut self) -> Result<(), Refusal> {
        self.require(&[Phase::Instantiated])?;
        self.outdated = true;
        self.phase = Phase::Initialization;
        self.update().inspect_err(|_| self.phase = Phase::Failed)
    }

    /// Steps follow.
    pub fn exit_initialization(&mut self) -> Result<(), Refusal> {
        self.require(&[Phase::Initialization])?;
        let started = self.update().and_then(|()| Ok(self.model.start()?));
        self.phase = if started.is_ok() { Phase::Stepping } else { Phase::Failed };
        started
    }

    /// Crosses `h` seconds from `t`, which is where the last step ended.
    pub fn step(&mut self, t: f64, h: f64) -> Result<(), Refusal> {
        self.may_step(t, h)?;
        let [slope, curvature] = if self.follows { [&*self.slope, &*self.curvature] } else { [&[][..]; 2] };
        let inputs = Inputs { value: &self.u, slope, curvature };
        let advanced = self.model.advance(Span::new(t, h), inputs, &mut self.y);
        if self.follows {
            self.slope.fill(0.0);
            self.curvature.fill(0.0);
        }
        self.looked = false;
        self.touched = false;
        match advanced {
            Ok(advance) => {
                self.time = advance.reached;
                Ok(())
            }
            Err(error) => {
                self.phase = Phase::Failed;
                Err(error.into())
            }
        }
    }

    /// Steps are over.
    pub fn terminate(&mut self) -> Result<(), Refusal> {
        self.require(&[Phase::Stepping])?;
        self.phase = Phase::Terminated;
        Ok(self.model.finish()?)
    }

    /// Nothing can be relied on any more but a reset.
    pub fn fail(&mut self) {
        self.phase = Phase::Failed;
    }

    /// Everything is as after instantiation.
    pub fn reset(&mut self) {
        let start = self.interface.binding.inputs.iter().map(|&v| self.interface.info.variables[v].start);
        self.u.iter_mut().zip(start).for_each(|(u, start)| *u = start);
        self.parameters.copy_from_slice(&self.interface.start);
        self.slope.fill(0.0);
        self.curvature.fill(0.0);
        self.follows = false;
        self.setup = Setup { start: 0.0, stop: f64::INFINITY };
        self.time = 0.0;
        self.outdated = true;
        self.phase = Phase::Instantiated;
    }

    /// Reads real variables.
    pub fn get_numbers(&mut self, references: &[u32], values: &mut [f64]) -> Result<(), Refusal> {
        same_length(references.len(), values.len())?;
        if self.outdated || self.touched {
            self.update()?;
        }
        for (value, &reference) in values.iter_mut().zip(references) {
            *value = match self.interface.slot(reference, Type::Number)? {
                Slot::Time => self.time,
                Slot::Input(k) => self.u[k],
                Slot::Output(k) => self.y[k],
                Slot::Local(k) => self.local(k)?,
                Slot::Parameter(k) => self.parameters[k],
            };
        }
        Ok(())
    }

    /// Sets inputs, and before the first step real parameters.
    pub fn set_numbers(&mut self, references: &[u32], values: &[f64]) -> Result<(), Refusal> {
        same_length(references.len(), values.len())?;
        for (&value, &reference) in values.iter().zip(references) {
            match self.interface.slot(reference, Type::Number)? {
                Slot::Input(k) => self.u[k] = value,
                Slot::Parameter(k) => self.set_parameter(k, value)?,
                _ => {
                    let name = self.interface.name(reference).to_owned();
                    return Err(Refusal::NotSettable { name, when: ": it is computed by the model" });
                }
            }
        }
        self.touched = true;
        Ok(())
    }

    /// Reads a count.
    pub fn get_whole(&self, reference: u32) -> Result<i32, Refusal> {
        match self.interface.slot(reference, Type::Count)? {
            Slot::Parameter(k) => Ok(self.parameters[k] as i32),
            _ => Err(Refusal::Reference { reference, wanted: "integer variable" }),
        }
    }

    /// Sets a count before the first step.
    pub fn set_whole(&mut self, reference: u32, value: i32) -> Result<(), Refusal> {
        match self.interface.slot(reference, Type::Count)? {
            Slot::Parameter(k) => self.set_parameter(k, f64::from(value)),
            _ => Err(Refusal::Reference { reference, wanted: "integer variable" }),
        }
    }

    /// Reads a choice.
    pub fn get_text(&self, reference: u32) -> Result<&'static str, Refusal> {
        match self.interface.slot(reference, Type::Choice)? {
            Slot::Parameter(k) => Ok(self.interface.word(k, self.parameters[k])),
            _ => Err(Refusal::Reference { reference, wanted: "string variable" }),
        }
    }

    /// Sets a choice before the first step.
    pub fn set_text(&mut self, reference: u32, word: &str) -> Result<(), Refusal> {
        match self.interface.slot(reference, Type::Choice)? {
            Slot::Parameter(k) => {
                let place = self.interface.place(k, word)?;
                self.set_parameter(k, place)
            }
            _ => Err(Refusal::Reference { reference, wanted: "string variable" }),
        }
    }

    /// Sets the derivative of order 1 or 2 of an input, for the next step only.
    pub fn set_derivative(&mut self, reference: u32, order: i32, value: f64) -> Result<(), Refusal> {
        let highest = self.interface.info.capabilities.input_derivatives;
        let Slot::Input(k) = self.interface.slot(reference, Type::Number)? else {
            return Err(Refusal::Reference { reference, wanted: "input" });
        };
        match order {
            1 if highest >= 1 => self.slope[k] = value,
            2 if highest >= 2 => self.curvature[k] = value,
            _ => {
                let name = self.interface.name(reference).to_owned();
                return Err(Refusal::Order { name, order, highest });
            }
        }
        self.follows = true;
        Ok(())
    }

    /// `sensitivity = ∂unknowns/∂knowns · seed`, unknowns outputs and knowns inputs.
    pub fn directional_derivative(
        &mut self,
        unknowns: &[u32],
        knowns: &[u32],
        seed: &[f64],
        sensitivity: &mut [f64],
    ) -> Result<(), Refusal> {
        same_length(knowns.len(), seed.len())?;
        same_length(unknowns.len(), sensitivity.len())?;
        self.require(&[Phase::Initialization, Phase::Stepping])?;
        if !self.interface.has_derivatives() {
            return Err(Refusal::Derivative { known: "they are not" });
        }
        self.update()?;
        if !self.derivatives.is_empty() {
            self.model.feed_through(&mut self.derivatives)?;
        }
        for (sum, &unknown) in sensitivity.iter_mut().zip(unknowns) {
            let Slot::Output(o) = self.interface.slot(unknown, Type::Number)? else {
                return Err(Refusal::Derivative { known: "no other ones" });
            };
            // From the first term on, so that a single one keeps its bits, those of -0 included.
            let mut total = None;
            for (&known, seed) in knowns.iter().zip(seed) {
                let Slot::Input(i) = self.interface.slot(known, Type::Number)? else {
                    return Err(Refusal::Derivative { known: "no other ones" });
                };
                let pairs = self.interface.binding.feed_through.iter().zip(&self.derivatives);
                for (_, d) in pairs.filter(|(pair, _)| **pair == (o, i)) {
                    total = Some(total.map_or(d * seed, |total| total + d * seed));
                }
            }
            *sum = total.unwrap_or(0.0);
        }
        Ok(())
    }

    pub(crate) fn require(&self, phases: &[Phase]) -> Result<(), Refusal> {
        if phases.contains(&self.phase) { Ok(()) } else { Err(Refusal::Phase { now: self.phase.words() }) }
    }

    fn set_parameter(&mut self, k: usize, value: f64) -> Result<(), Refusal> {
        if !matches!(self.phase, Phase::Instantiated | Phase::Initialization) {
            let name = self.interface.parameters()[k].name.to_owned();
            return Err(Refusal::NotSettable {
                name,
                when: " after initialization: it is a fixed parameter",
            });
        }
        self.interface.check(k, value)?;
        self.outdated |= value.to_bits() != self.parameters[k].to_bits();
        self.parameters[k] = value;
        Ok(())
    }

    /// Brings model and outputs up to what was set.
    fn update(&mut self) -> Result<(), Refusal> {
        if self.outdated {
            self.rebuild()?;
        }
        let may = self.phase != Phase::Stepping || self.interface.info.capabilities.can_refresh;
        if self.touched && may {
            self.model.evaluate(Inputs::constant(&self.u), &mut self.y)?;
            self.touched = false;
            self.looked = false;
        }
        Ok(())
    }

    /// The model anew, with the parameters as they are.
    pub(crate) fn rebuild(&mut self) -> Result<(), Refusal> {
        let values = self.interface.parameter_values(&self.parameters);
        let mut model = self.interface.spec.build(&values)?;
        let declared = &self.interface.binding;
        for &(o, i) in &everything(model.info()).feed_through {
            if !declared.feed_through.contains(&(o, i)) {
                let name = |v: usize| self.interface.info.variables[v].name.clone();
                let (output, input) = (name(declared.outputs[o]), name(declared.inputs[i]));
                return Err(Refusal::FeedThrough { output, input });
            }
        }
        model.bind(declared)?;
        model.enter(&self.setup)?;
        self.model = model;
        self.outdated = false;
        self.touched = true;
        self.looked = false;
        Ok(())
    }

    fn local(&mut self, k: usize) -> Result<f64, Refusal> {
        if !self.looked {
            self.model.probe(&mut self.locals)?;
            self.looked = true;
        }
        Ok(self.locals[k])
    }
}

pub(crate) fn same_length(wanted: usize, length: usize) -> Result<(), Refusal> {
    if wanted == length { Ok(()) } else { Err(Refusal::Length { length, wanted }) }
}
