//! What is known of a system when its policies are made.

use super::PerVariable;
use crate::Error;
use crate::source::Place;
use powerbond_core::hold::InputFeed;
use powerbond_core::network::{NameIndex, Names, Network, VariableName};
use powerbond_core::step::Schedule;
use powerbond_core::subsystem::ValueKind;
use powerbond_core::suggest::hint;

/// What policies need to know of the system they are built for.
pub struct Context<'a> {
    /// The network.
    pub network: &'a Network,
    /// Its names.
    pub names: &'a Names,
    /// Hold order of each input; the highest one if it varies.
    pub holds: &'a [u8],
    /// The hold orders vary.
    pub variable_hold: bool,
    /// What the subsystem of each input is given.
    pub feeds: &'a [InputFeed],
    /// Start of the run, in s.
    pub start: f64,
    /// Length of the run, in s.
    pub duration: f64,
    /// Constant or first step, in s.
    pub step: f64,
    /// The jump norm steers the step size.
    pub steered_by_jumps: bool,
    /// What held inputs lacked is given back.
    pub gives_back: bool,
    /// The motion of inputs bounds the step size.
    pub has_ceiling: bool,
    /// Sub-steps of each member in a macro step.
    pub rates: &'a [u32],
    /// Members that are read again after each step.
    pub refresh: &'a [usize],
    /// The amplitude of a dither, and the inputs that get it; `None` if nothing is dithered.
    pub dither: Option<(f64, Vec<bool>)>,
    /// Who steps when, once that is known: corrections are made after it.
    pub schedule: Option<&'a Schedule>,
    /// Tolerance and scale of each bond where it has its own, in the order of the network.
    pub bonds: Vec<(Option<f64>, Option<f64>)>,
}

impl Context<'_> {
    /// Whether the subsystem of an input follows the polynomial that the input is held with.
    pub fn follows(&self, input: usize) -> bool {
        let takes = self.network.members[self.network.owner_of_input[input]].capabilities.input_derivatives;
        match self.variable_hold {
            true => self.feeds[input].follows(),
            false => takes >= self.holds[input],
        }
    }

    /// Coupled inputs of real numbers.
    pub fn judged(&self) -> impl Iterator<Item = usize> {
        let network = self.network;
        (0..network.n_inputs).filter(|&i| network.wiring.is_coupled(i) && !is_discrete(network, i))
    }

    /// Whether every subsystem can go back to a saved state.
    pub fn all_restore(&self) -> bool {
        self.network.members.iter().all(|m| m.capabilities.can_restore)
    }

    /// Whether a coupled subsystem takes values only: what they lack inside a step makes an error that depends on its own stiffness,
    /// which coupling data do not show.
    pub fn has_values_only_member(&self) -> bool {
        self.judged().any(|i| !matches!(self.feeds[i], InputFeed::Derivatives(_)))
    }

    /// The nominal value of an output.
    pub fn nominal(&self, output: usize) -> f64 {
        self.network.output_variable(output).nominal.abs()
    }

    /// The order on which the error of coupled inputs depends: the lowest hold order that acts.
    pub fn hold_order(&self) -> u8 {
        let acting = |i: usize| {
            let takes = self.network.members[self.network.owner_of_input[i]].capabilities.input_derivatives;
            self.holds[i].min(takes)
        };
        (0..self.network.n_inputs)
            .filter(|&i| self.network.wiring.is_coupled(i))
            .map(acting)
            .min()
            .unwrap_or(0)
    }

    /// One number per variable of `list`: the common one, or that of its name, or `default`. `knob` gets what is used.
    pub fn per_variable(
        &self,
        knob: &mut Option<PerVariable>,
        place: Option<Place>,
        list: &[VariableName],
        what: &str,
        default: impl Fn(usize) -> f64,
    ) -> Result<Vec<f64>, Error> {
        let mut values: Vec<f64> = match knob {
            Some(PerVariable::All(x)) => vec![*x; list.len()],
            _ => (0..list.len()).map(&default).collect(),
        };
        if let Some(PerVariable::ByName(given)) = knob {
            let texts: Vec<String> = list.iter().map(VariableName::to_string).collect();
            let places: NameIndex<&str> = texts.iter().map(String::as_str).collect();
            for (name, x) in given {
                let Some(i) = places.place(name.as_str()) else {
                    let hint = hint(name, texts.iter().map(String::as_str));
                    let message = format!("`{name}` is not a connected {what}.{hint}");
                    return Err(Error::input(place, message));
                };
                values[i] = *x;
            }
        }
        *knob = Some(match &values[..] {
            [first, rest @ ..] if rest.iter().all(|x| x == first) => PerVariable::All(*first),
            _ => PerVariable::ByName(
                list.iter().map(VariableName::to_string).zip(values.iter().copied()).collect(),
            ),
        });
        Ok(values)
    }
}

/// Whether an input is an integer, a boolean, an enumeration, or a real number that changes at events only: such inputs are held, never
/// extrapolated.
pub fn is_discrete(network: &Network, input: usize) -> bool {
    let variable = network.input_variable(input);
    variable.kind != ValueKind::Real || variable.discrete
}

/// Whether steps of `h` would take for ever, or do not move the clock at all.
pub fn never_ends(start: f64, duration: f64, h: f64) -> bool {
    let end = start + duration;
    duration / h > 1e13 || start + h == start || end - h == end
}
