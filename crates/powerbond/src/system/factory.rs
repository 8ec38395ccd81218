//! What makes the simulator of a subsystem: built-in models, FMUs and a program's own models look alike from here.

use super::Given;
use crate::Error;
use crate::error::Collector;
use crate::source::At;
use powerbond_core::subsystem::wrapper::Wrapper;
use powerbond_core::subsystem::{Info, Subsystem};
use powerbond_models::{ModelSpec, ParameterValue};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// What a factory is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// The name of the subsystem and where it is written.
    pub name: &'a At<String>,
    /// Parameters that were set, in the order of setting: later ones override earlier ones.
    pub parameters: &'a [(At<String>, Given)],
}

/// Makes the simulator of a subsystem, a new one for every run.
pub trait Factory: Send + Sync {
    /// Makes it.
    fn make(&self, order: &Order<'_>) -> Result<Box<dyn Subsystem>, Error>;

    /// The description of the model with its parameters and their units, where there is one.
    fn model(&self) -> Option<&'static ModelSpec> {
        None
    }
}

impl Factory for &'static ModelSpec {
    fn make(&self, order: &Order<'_>) -> Result<Box<dyn Subsystem>, Error> {
        let mut parameters: Vec<(String, ParameterValue)> = Vec::new();
        let mut problems = Collector::new();
        for (name, given) in order.parameters {
            let fail = |message: String| Error::input(name.place(), message);
            let list = || fail(format!("`{}` is a list; expected a number or a string", name.value));
            let checked = given.parameter().ok_or_else(list).and_then(|value| {
                self.check(&name.value, &value).map_err(|e| fail(e.to_string()))?;
                Ok(value)
            });
            parameters.extend(problems.keep(checked).map(|value| (name.value.clone(), value)));
        }
        problems.finish(())?;
        self.build(&parameters).map_err(|e| Error::input(order.name.place(), e.to_string()))
    }

    fn model(&self) -> Option<&'static ModelSpec> {
        Some(self)
    }
}

/// A factory that a program gives, in a system.
#[derive(Clone)]
pub struct SharedFactory(Arc<dyn Factory>);

impl SharedFactory {
    /// Any factory.
    pub fn new(factory: impl Factory + 'static) -> Self {
        SharedFactory(Arc::new(factory))
    }

    /// Copies of a subsystem that has not been used yet. It has no parameters from outside.
    pub fn copies_of<S: Subsystem + Clone + 'static>(subsystem: S) -> Self {
        SharedFactory::new(Copies(Arc::new(Mutex::new(subsystem))))
    }

    /// What a function makes of the parameters that were set; its error is told to the user.
    pub fn function<S: Subsystem + 'static>(
        make: impl Fn(&[(String, Given)]) -> Result<S, String> + Send + Sync + 'static,
    ) -> Self {
        SharedFactory::new(Function(make))
    }
}

impl Factory for SharedFactory {
    fn make(&self, order: &Order<'_>) -> Result<Box<dyn Subsystem>, Error> {
        self.0.make(order)
    }

    fn model(&self) -> Option<&'static ModelSpec> {
        self.0.model()
    }
}

impl fmt::Debug for SharedFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.model().map_or("Factory", |model| model.name))
    }
}

struct Copies<S>(Arc<Mutex<S>>);

impl<S: Subsystem + Clone + 'static> Copies<S> {
    fn copy(&self) -> Copy<S> {
        let simulator = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Copy { simulator, of: Copies(self.0.clone()) }
    }
}

impl<S: Subsystem + Clone + 'static> Factory for Copies<S> {
    fn make(&self, order: &Order<'_>) -> Result<Box<dyn Subsystem>, Error> {
        if let Some((name, _)) = order.parameters.first() {
            let message = format!(
                "`{}` is created by the program: unknown parameter `{}`. Set it where the model is created",
                order.name.value, name.value
            );
            return Err(Error::input(name.place().or(order.name.place()), message));
        }
        Ok(Box::new(self.copy()))
    }
}

/// A copy that can be copied again: what is tried out on another one leaves no trace in the run.
struct Copy<S> {
    simulator: S,
    of: Copies<S>,
}

impl<S: Subsystem + Clone + 'static> Wrapper for Copy<S> {
    fn inner(&self) -> &dyn Subsystem {
        &self.simulator
    }

    fn inner_mut(&mut self) -> &mut dyn Subsystem {
        &mut self.simulator
    }

    fn info(&self) -> &Info {
        self.simulator.info()
    }

    fn scratch(&self) -> Option<Box<dyn Subsystem>> {
        Some(Box::new(self.of.copy()))
    }
}

struct Function<F>(F);

impl<F, S> Factory for Function<F>
where
    F: Fn(&[(String, Given)]) -> Result<S, String> + Send + Sync,
    S: Subsystem + 'static,
{
    fn make(&self, order: &Order<'_>) -> Result<Box<dyn Subsystem>, Error> {
        let parameters: Vec<(String, Given)> =
            order.parameters.iter().map(|(name, value)| (name.value.clone(), value.clone())).collect();
        match (self.0)(&parameters) {
            Ok(made) => Ok(Box::new(made)),
            Err(why) => {
                let place = order.parameters.first().and_then(|(name, _)| name.place());
                Err(Error::input(place.or(order.name.place()), format!("`{}`: {why}", order.name.value)))
            }
        }
    }
}

/// Models that files may name with `model = "…"`: the built-in ones and those that a program adds.
#[derive(Clone, Debug, Default)]
pub struct Models {
    own: BTreeMap<String, SharedFactory>,
}

impl Models {
    /// Adds a model under a name. One that there is already is refused.
    pub fn register(&mut self, name: &str, factory: SharedFactory) -> Result<(), Error> {
        if name.is_empty() || powerbond_models::find(name).is_some() || self.own.contains_key(name) {
            let message = format!("a model cannot be called `{name}`: the name is empty or taken");
            return Err(Error::input(None, message));
        }
        self.own.insert(name.to_owned(), factory);
        Ok(())
    }

    /// The model called `name`; a sentence about the nearest ones if there is none.
    pub fn find(&self, name: &str) -> Result<SharedFactory, String> {
        let built_in = || powerbond_models::find(name).map(SharedFactory::new);
        self.own.get(name).cloned().or_else(built_in).ok_or_else(|| match self.own.is_empty() {
            true => powerbond_models::hint(name),
            false => {
                let all = powerbond_models::ALL.iter().map(|m| m.name);
                powerbond_core::suggest::hint(name, self.own.keys().map(String::as_str).chain(all))
            }
        })
    }
}
