//! The signs of a bond's ports: how they depend on each other follows from the gains, the rest from terminals or a trial.

use super::bonds::BondSuggestion;
use powerbond_core::network::VariableName;

/// How the signs of both ports depend on each other.
#[derive(Clone, Debug)]
pub(super) struct Relation {
    /// The sign of `g1·w1·g2·w2`: with +1 the ports have opposite signs, with -1 the same one, else their powers cannot cancel.
    pub product: f64,
    /// The input that is fed with the force, torque, current or volume flow, whose sign is a convention of both sides.
    pub through: Option<VariableName>,
}

impl BondSuggestion {
    /// Chooses the signs from what is known: terminals first, then the responses of a trial, then a convention.
    ///
    /// With connections `u1 = g1 y2` and `u2 = g2 y1` both powers are multiples of `y1 y2`, so that the gains tell one sign from the
    /// other. Which of both pairs of signs is right is physics: a passive subsystem gives way. The transfer function of a passive
    /// port is positive real; its response to a step of the input therefore begins on the side on which input times output enters
    /// (relative degree 0 or 1, positive leading coefficient). Hence `sign = -response`.
    pub fn settle(&mut self) {
        let other = -self.relation.product;
        self.doubt = None;
        let told = self.ports.each_ref().map(|port| port.told);
        let tried = self.ports.each_ref().map(|port| port.response.map(|response| -response));
        let ([first, second], words) = match (told, tried) {
            ([Some(a), told], _) => {
                if told.is_some_and(|b| b != other * a) {
                    self.doubt = Some(
                        "flows of connected terminals add up to zero, which these gains do not keep to"
                            .to_owned(),
                    );
                }
                ([a, other * a], "by the flows of the terminal")
            }
            ([None, Some(b)], _) => ([other * b, b], "by the flows of the terminal"),
            (_, [Some(a), Some(b)]) if b == other * a => ([a, b], "by a trial of both sides"),
            (_, [Some(a), Some(_)]) => {
                let input = self.relation.through.as_ref().unwrap_or(&self.ports[0].inputs[0]);
                self.doubt = Some(format!(
                    "both sides respond like passive parts, whose powers cannot cancel with these gains: the connection \
                     to `{input}` seems to need the opposite sign (`gain = -1.0` instead of 1.0, or the other way round)"
                ));
                ([a, other * a], "by a trial of the first side, which the second one contradicts")
            }
            (_, [Some(a), None]) => ([a, other * a], "by a trial of the first side"),
            (_, [None, Some(b)]) => ([other * b, b], "by a trial of the second side"),
            (_, [None, None]) => {
                // The one that takes the force gives way to it.
                let is_first = self.relation.through.as_ref() != self.ports[1].inputs.first();
                let signs = if is_first { [-1.0, -other] } else { [-other, -1.0] };
                (signs, "assumed: they tell only in which direction transmitted energy counts")
            }
        };
        (self.ports[0].sign, self.ports[1].sign) = (first, second);
        self.signs = words.to_owned();
    }

    /// The input whose connection needs the opposite gain, if a trial says so.
    pub fn wrong_gain(&self) -> Option<&VariableName> {
        self.doubt.as_ref()?;
        self.relation.through.as_ref().or(self.ports[0].inputs.first())
    }

    /// What both sides do is known by now, or cannot be.
    pub fn is_tried(&self) -> bool {
        self.ports.iter().any(|port| port.response.is_some() || port.told.is_some())
    }
}
