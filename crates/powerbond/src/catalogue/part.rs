//! A method with typed knobs, and the choice between several: what `[method]` is made of after it was read.

use super::{Context, Entry, Kind, KnobValue, find, of_kind};
use crate::Error;
use crate::error::Collector;
use crate::source::{Node, Place};
use powerbond_core::suggest::hint;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::{Deref, DerefMut};

/// A method with its knobs. `knobs!` implements it for a struct whose fields are called like its knobs.
pub trait Part: Debug + Send + Sync {
    /// Its name, its knobs and where it comes from.
    fn entry(&self) -> &'static Entry;
    /// The value of a knob; `None` where the system decides.
    fn get(&self, knob: &str) -> Option<KnobValue>;
    /// Sets a knob to a value of its domain.
    fn set(&mut self, knob: &str, value: KnobValue);

    /// Every knob with its value, or with the rule that decides, as JSON.
    fn to_json(&self) -> serde_json::Value {
        let entry = self.entry();
        let mut map = serde_json::Map::new();
        map.insert("kind".to_owned(), entry.name.into());
        for knob in entry.knobs {
            let value = self.get(knob.name).map(|value| value.to_json());
            let rule = || knob.rule.map(|rule| rule().into()).unwrap_or_default();
            map.insert(knob.name.to_owned(), value.unwrap_or_else(rule));
        }
        map.into()
    }

    /// Refuses values outside of their domains.
    fn check(&self, written: &Written) -> Result<(), Error> {
        let set = self.entry().knobs.iter().filter_map(|knob| Some((knob, self.get(knob.name)?)));
        set.into_iter().try_for_each(|(knob, value)| knob.check(&value, written.knob(knob.name)))
    }
}

/// A method that becomes the policy `P` of a system.
pub trait Make<P>: Part + CloneMake<P> {
    /// Makes the policy. Knobs that were left to the system get the values that are used.
    fn make(&mut self, written: &Written, context: &Context<'_>) -> Result<P, Error>;
}

/// A copy of a method whose type is not known.
pub trait CloneMake<P> {
    /// The copy.
    fn boxed(&self) -> Box<dyn Make<P>>;
}

impl<P, T: Make<P> + Clone + 'static> CloneMake<P> for T {
    fn boxed(&self) -> Box<dyn Make<P>> {
        Box::new(self.clone())
    }
}

/// A method that is not in the catalogue: a user's own.
pub struct Own<P>(Box<dyn Make<P>>);

impl<P> Own<P> {
    /// Any method that makes a policy of this kind.
    pub fn new(method: impl Make<P> + 'static) -> Self {
        Own(Box::new(method))
    }

    pub(super) fn part(&self) -> &dyn Make<P> {
        self.0.as_ref()
    }

    pub(super) fn part_mut(&mut self) -> &mut dyn Make<P> {
        self.0.as_mut()
    }
}

impl<P> Debug for Own<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<P> Clone for Own<P> {
    fn clone(&self) -> Self {
        Own(self.0.boxed())
    }
}

/// One of several methods of a kind.
pub trait Choice: Clone + Debug + 'static {
    /// What they are for.
    const KIND: Kind;
    /// All of the catalogue, with their defaults.
    fn all() -> Vec<Self>;
    /// The chosen one.
    fn part(&self) -> &dyn Part;
    /// The chosen one.
    fn part_mut(&mut self) -> &mut dyn Part;
}

/// Where a method and its knobs are written, if they are.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The name of the method.
    pub entry: Option<Place>,
    knobs: BTreeMap<&'static str, Place>,
}

impl Written {
    /// The place of a knob, or that of the method.
    pub fn knob(&self, name: &str) -> Option<Place> {
        self.knobs.get(name).or(self.entry.as_ref()).cloned()
    }

    /// The place of a knob, if it is written.
    pub fn own(&self, name: &str) -> Option<Place> {
        self.knobs.get(name).cloned()
    }

    /// Notes where a knob is written.
    pub fn note(&mut self, knob: &'static str, place: Option<Place>) {
        if let Some(place) = place {
            self.knobs.insert(knob, place);
        }
    }
}

/// A method, and where it is written.
#[derive(Clone, Debug, Default)]
pub struct Chosen<T> {
    /// The method.
    pub value: T,
    /// Where it and its knobs are written.
    pub written: Written,
}

impl<T> From<T> for Chosen<T> {
    fn from(value: T) -> Self {
        Chosen { value, written: Written::default() }
    }
}

impl<T> Deref for Chosen<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Chosen<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: Choice> Chosen<T> {
    /// Its name in files.
    pub fn name(&self) -> &'static str {
        self.part().entry().name
    }

    /// Reads `"name"`, `{ kind = "name", knob = … }` or `{ knob = … }`, which changes what is chosen already.
    pub fn read(&mut self, node: Node<'_>) -> Result<(), Error> {
        let key = T::KIND.key();
        if !node.is_table() {
            if !node.is_text() {
                return node.expected("a string or a table with `kind`");
            }
            return self.choose(node);
        }
        let table = node.open_table()?;
        if let Some(kind) = table.get("kind") {
            self.choose(kind)?;
        }
        let entry = self.part().entry();
        if entry.knobs.is_empty() && table.get("kind").is_none() {
            let kinds: Vec<&str> = of_kind(T::KIND).filter(|e| !e.knobs.is_empty()).map(|e| e.name).collect();
            return node.fail(format!(
                "{key} `{}` has no parameters; select another one with `kind`: {}",
                entry.name,
                kinds.join(", ")
            ));
        }
        let known: Vec<&str> = std::iter::once("kind").chain(entry.knobs.iter().map(|k| k.name)).collect();
        let mut problems = Collector::new();
        let table = node.table_with(&mut problems, &format!("{key} `{}`", entry.name), &known)?;
        for knob in entry.knobs {
            if let Some(node) = table.get(knob.name)
                && let Some(value) = problems.keep(knob.domain.read(node))
            {
                self.part_mut().set(knob.name, value);
                self.written.note(knob.name, node.at(()).place());
            }
        }
        problems.finish(())
    }

    fn choose(&mut self, node: Node<'_>) -> Result<(), Error> {
        let (name, key) = (node.text()?, T::KIND.key());
        let chosen = T::all().into_iter().find(|method| method.part().entry().name == name.value);
        match chosen {
            Some(value) => {
                let written = Written { entry: name.place(), ..Written::default() };
                *self = Chosen { value, written };
                Ok(())
            }
            None => match find(Kind::Method, &name.value) {
                Some(_) => node.fail(format!(
                    "`{0}` is a whole method, not a part of one: write `kind = \"{0}\"` in `[method]`",
                    name.value
                )),
                None => {
                    let hint = hint(&name.value, of_kind(T::KIND).map(|e| e.name));
                    node.fail(format!("unknown {key} `{}`.{hint}", name.value))
                }
            },
        }
    }
}

/// Implements [`Part`](crate::catalogue::Part) for a struct whose fields are its knobs: `knobs!(Ecco, ECCO, safety, …)`.
#[macro_export]
macro_rules! knobs {
    ($part:ty, $entry:expr $(, $knob:ident)* $(,)?) => {
        impl $crate::catalogue::Part for $part {
            fn entry(&self) -> &'static $crate::catalogue::Entry {
                &$entry
            }

            fn get(&self, knob: &str) -> Option<$crate::catalogue::KnobValue> {
                match knob {
                    $(stringify!($knob) => $crate::catalogue::KnobField::value(&self.$knob),)*
                    _ => None,
                }
            }

            fn set(&mut self, knob: &str, value: $crate::catalogue::KnobValue) {
                // What the domain allows and the type does not cannot come here: a test tries every word.
                match knob {
                    $(stringify!($knob) => {
                        if let Some(value) = $crate::catalogue::KnobField::of(value) {
                            self.$knob = value;
                        }
                    })*
                    _ => drop(value),
                }
            }
        }
    };
}

/// An enum of methods that make the same kind of policy.
macro_rules! choice {
    ($(#[$about:meta])* $name:ident, $kind:expr, $policy:ty, [$($method:ident),+ $(,)?]) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        #[allow(missing_docs)] // Each is described where it is defined.
        pub enum $name {
            $($method($method),)+
            /// One that is not in the catalogue.
            Own($crate::catalogue::Own<$policy>),
        }

        $(impl From<$method> for $name {
            fn from(method: $method) -> Self {
                $name::$method(method)
            }
        }

        impl From<$method> for $crate::catalogue::Chosen<$name> {
            fn from(method: $method) -> Self {
                $name::$method(method).into()
            }
        })+

        impl $crate::catalogue::Choice for $name {
            const KIND: $crate::catalogue::Kind = $kind;

            fn all() -> Vec<Self> {
                vec![$($name::$method(<$method>::default())),+]
            }

            fn part(&self) -> &dyn $crate::catalogue::Part {
                match self {
                    $($name::$method(method) => method,)+
                    $name::Own(own) => own.part(),
                }
            }

            fn part_mut(&mut self) -> &mut dyn $crate::catalogue::Part {
                match self {
                    $($name::$method(method) => method,)+
                    $name::Own(own) => own.part_mut(),
                }
            }
        }

        impl $crate::catalogue::Chosen<$name> {
            /// Makes the policy. Knobs that were left to the system get the values that are used.
            pub fn make(
                &mut self,
                context: &$crate::catalogue::Context<'_>,
            ) -> Result<$policy, $crate::Error> {
                use $crate::catalogue::{Choice, Make};
                let written = self.written.clone();
                self.value.part().check(&written)?;
                match &mut self.value {
                    $($name::$method(method) => method.make(&written, context),)+
                    $name::Own(own) => own.part_mut().make(&written, context),
                }
            }
        }
    };
}

pub(crate) use choice;
