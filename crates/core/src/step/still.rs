//! The network at the current time: inputs are set, members answer with outputs.

use super::sweep::{is_finite, non_finite};
use crate::error::RunError;
use crate::feed_through::identify::Identifier;
use crate::network::Network;
use crate::subsystem::{Inputs, Span, SubsystemError};

/// How the outputs of a member follow its inputs at the current time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Response {
    /// They are read again.
    Reread,
    /// They are improved by what was identified: `y + confidence · D (u − u_acted)`.
    Identified,
}

/// Which instant it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Before the first step.
    Start,
    /// The end of a step: limits from the left.
    End,
    /// The same time after a discontinuity: limits from the right.
    Event,
}

/// Inputs and outputs of all members at one instant.
pub(crate) struct Still<'a> {
    pub network: &'a mut Network,
    /// Inputs, flat; external ones are set.
    pub u: &'a mut [f64],
    /// Outputs, flat.
    pub y: &'a mut [f64],
    pub moment: Moment,
    /// For messages.
    pub span: Span,
    pub allow_nonfinite: bool,
    pub improved: Option<Improved<'a>>,
}

/// Members whose feed-through was identified answer by it.
pub(crate) struct Improved<'a> {
    pub identifier: &'a Identifier,
    /// The inputs that acted on each member when it gave `base`.
    pub acted: &'a dyn Fn(usize) -> f64,
    /// Outputs before anything was improved.
    pub base: &'a [f64],
}

impl Still<'_> {
    /// Sets the coupled inputs of member `s` to `L y`.
    pub fn gather(&mut self, s: usize) {
        let network = &*self.network;
        for i in network.members[s].inputs.clone().filter(|&i| network.wiring.is_coupled(i)) {
            self.u[i] = network.wiring.row(i, self.y);
        }
    }

    /// Outputs of member `s` for its inputs.
    pub fn answer(&mut self, s: usize, response: Response) -> Result<(), RunError> {
        let (span, phase) = (self.span, self.phase());
        self.try_answer(s, response).map_err(|error| RunError::Subsystem {
            member: s,
            phase,
            span,
            error,
        })?;
        let outputs = self.network.members[s].outputs.clone();
        let y = &self.y[outputs.clone()];
        if !self.allow_nonfinite && !is_finite(y) {
            return Err(non_finite(y, outputs.start, span));
        }
        Ok(())
    }

    fn phase(&self) -> &'static str {
        match self.moment {
            Moment::Start => "initialization",
            Moment::End => "refresh",
            Moment::Event => "event",
        }
    }

    /// As [`Still::answer`]; what is not finite passes.
    pub fn try_answer(&mut self, s: usize, response: Response) -> Result<(), SubsystemError> {
        match (response, &self.improved) {
            (Response::Identified, Some(improved)) => {
                let outputs = self.network.members[s].outputs.clone();
                self.y[outputs.clone()].copy_from_slice(&improved.base[outputs]);
                let u = &*self.u;
                improved.identifier.respond(s, |i| u[i] - (improved.acted)(i), self.y);
                Ok(())
            }
            (Response::Identified, None) => Ok(()),
            (Response::Reread, _) => {
                let member = &mut self.network.members[s];
                let u = Inputs::constant(&self.u[member.inputs.clone()]);
                let y = &mut self.y[member.outputs.clone()];
                match self.moment {
                    Moment::Event => member.simulator.update(u, y),
                    _ => member.simulator.evaluate(u, y),
                }
            }
        }
    }
}
