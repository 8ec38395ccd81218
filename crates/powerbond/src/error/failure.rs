//! What failed in a run, as data: who, when, which call, what status, what to do.

use powerbond_core::subsystem::{Span, SubsystemError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A run that did not come to its end. Its text is the message and, if there is one, the cure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// What happened.
    pub message: String,
    /// What may help.
    pub cure: Option<String>,
    /// The subsystem that failed.
    pub subsystem: Option<String>,
    /// The variable `subsystem.variable`, the bond or the loop that it is about.
    pub element: Option<String>,
    /// When, in s: the start of the step.
    pub time: Option<f64>,
    /// The length of the step, in s; 0 at the start of the run and at events.
    pub step: Option<f64>,
    /// The call, as the standard or the model names it.
    pub call: Option<String>,
    /// The status that it returned, as the standard names it.
    pub status: Option<String>,
}

impl Failure {
    /// With nothing but a message.
    pub fn new(message: impl Into<String>) -> Self {
        Failure { message: message.into(), ..Failure::default() }
    }

    pub(crate) fn cure(self, cure: impl Into<String>) -> Self {
        Failure { cure: Some(cure.into()), ..self }
    }

    pub(crate) fn of(self, subsystem: &str) -> Self {
        Failure { subsystem: Some(subsystem.to_owned()), ..self }
    }

    pub(crate) fn about(self, element: impl ToString) -> Self {
        Failure { element: Some(element.to_string()), ..self }
    }

    pub(crate) fn at(self, span: &Span) -> Self {
        Failure { time: Some(span.start), step: Some(span.h), ..self }
    }

    pub(crate) fn call(self, error: &SubsystemError) -> Self {
        match error {
            SubsystemError::Status { call, status, .. } => {
                Failure { call: Some((*call).to_owned()), status: Some(status.clone()), ..self }
            }
            SubsystemError::Unsupported { call } => Failure { call: Some((*call).to_owned()), ..self },
            SubsystemError::Infeasible { .. } => self,
            SubsystemError::Lost(lost) => {
                Failure { call: lost.call.clone(), status: Some(lost.how.clone()), ..self }
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cure {
            Some(cure) => write!(f, "{}. {cure}", self.message),
            None => f.write_str(&self.message),
        }
    }
}
