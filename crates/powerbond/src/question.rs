//! What a program asks about a system without running it to its end for results: plain data, answered here or in another process.

use crate::system::System;
use crate::tune::{self, TuneOptions, tune};
use crate::{Check, Error};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A question about a system.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Question {
    /// What it looks like before it runs.
    Check {
        /// Scratch instances of FMUs are stepped, too.
        probe: bool,
    },
    /// Which method is worth its cost.
    Tune {
        /// The error that is wanted, a share.
        error: f64,
        /// How long all runs may take together, in s.
        budget: f64,
    },
}

impl Question {
    /// The answer as a JSON document, with the fields of [`Check`] or [`Tuning`](tune::Tuning). `listener` hears how far it is and may stop
    /// it: there is no answer then.
    pub fn answer(
        &self,
        system: &System,
        listener: &mut dyn tune::Listener,
    ) -> Result<Option<String>, Error> {
        let answer = match *self {
            Question::Check { probe } => {
                let check = if probe { system.check_with_steps()? } else { system.check()? };
                Some(checked(&check))
            }
            Question::Tune { error, budget } => {
                tune(system, &TuneOptions { error, budget }, listener)?.map(serde_json::to_value)
            }
        };
        let text = answer.map(|value| value.map(|value| value.to_string())).transpose();
        text.map_err(|e| Error::output("the answer".as_ref(), &e.into()))
    }
}

/// With its name, its picture and why it has no consistent initial values.
fn checked(check: &Check) -> serde_json::Result<Value> {
    let mut value = serde_json::to_value(check)?;
    if let Value::Object(fields) = &mut value {
        fields.insert("system".to_owned(), check.system.clone().into());
        fields.insert("failure".to_owned(), check.failure.as_ref().map(Error::to_string).into());
        fields.insert("svg".to_owned(), check.svg().into());
    }
    Ok(value)
}
