//! How inputs are held, and what the verdict wants to know of them.

use super::Coupled;
use crate::Error;
use crate::catalogue::is_discrete;
use powerbond_core::hold::followed as hold_followed;
use powerbond_core::network::{NameIndex, Network, VariableName};
use powerbond_core::suggest::hint;

impl Coupled<'_> {
    /// The hold order of every input; integers and their like stay constant.
    pub(super) fn holds(&self) -> Result<Vec<u8>, Error> {
        let mut holds = self.hold_orders()?;
        for (i, hold) in holds.iter_mut().enumerate() {
            if is_discrete(&self.network, i) {
                *hold = 0;
            }
        }
        Ok(holds)
    }

    /// The orders that the file wants.
    fn hold_orders(&self) -> Result<Vec<u8>, Error> {
        let names = &self.names;
        let mut holds = vec![self.system.method.hold.max(); names.inputs.len()];
        let inputs: NameIndex<&VariableName> = names.inputs.iter().collect();
        for (name, order) in &self.system.method.holds {
            let Some(i) = inputs.place(&name.value) else {
                let texts: Vec<String> = names.inputs.iter().map(VariableName::to_string).collect();
                let hint = hint(&name.value.to_string(), texts.iter().map(String::as_str));
                return Err(Error::input(
                    name.place(),
                    format!("`{}` is not a connected input.{hint}", name.value),
                ));
            };
            holds[i] = *order;
        }
        Ok(holds)
    }

    /// Says where a subsystem follows fewer derivatives than its inputs are held with.
    pub(super) fn warn_of_holds(&mut self, holds: &[u8], rates: &[u32]) {
        let Coupled { network, names, warnings, .. } = self;
        if self.system.method.hold.varies() {
            return;
        }
        for (i, &order) in holds.iter().enumerate() {
            let owner = network.owner_of_input[i];
            let takes = network.members[owner].capabilities.input_derivatives;
            let used = hold_followed(order, takes);
            if order > used && network.wiring.is_coupled(i) && rates[owner] == 1 {
                warnings.push(format!(
                    "`{}`: hold order {order} is not supported, because `{}` takes {takes} input derivative(s); \
                     order {used} is used",
                    names.inputs[i], names.subsystems[owner]
                ));
            }
        }
    }

    /// `slopes = "outputs"` needs inputs that are held with a slope, and says which sources give none.
    pub(super) fn slope_warnings(&self, holds: &[u8]) -> Result<Vec<String>, Error> {
        let (network, names) = (&self.network, &self.names);
        let place = self.system.method.slopes.place();
        if self.system.method.hold.varies() {
            let message =
                "`slopes = \"outputs\"` is not supported with `hold = \"variable\"`; set `hold = 1` or 2";
            return Err(Error::input(place, message));
        }
        let sloped: Vec<usize> =
            (0..network.n_inputs).filter(|&i| holds[i] > 0 && network.wiring.is_coupled(i)).collect();
        if sloped.is_empty() {
            let message = "`slopes = \"outputs\"` needs a hold of order 1 or 2; set `hold = 1` or 2";
            return Err(Error::input(place, message));
        }
        if let Some(&i) = sloped.iter().find(|&&i| holds[i] > 2) {
            let message = format!(
                "`slopes = \"outputs\"` needs a hold of order 1 or 2, and `{}` has {}; set `hold = 2`",
                names.inputs[i], holds[i]
            );
            return Err(Error::input(place, message));
        }
        let gives = |s: usize| network.members[s].capabilities.output_derivatives > 0;
        let mut warnings = Vec::new();
        for &i in &sloped {
            let owners = network.wiring.sources(i).map(|(output, _)| network.owner_of_output[output]);
            if let Some(s) = owners.into_iter().find(|&s| !gives(s)) {
                warnings.push(format!(
                    "the derivative of `{}` is a difference of past values: `{}` does not support output derivatives",
                    names.inputs[i], names.subsystems[s]
                ));
            }
        }
        if warnings.len() == sloped.len() {
            let message = "`slopes = \"outputs\"`: no connected subsystem supports output derivatives";
            return Err(Error::input(place, message));
        }
        Ok(warnings)
    }
}

/// The hold order that the subsystem of an input follows: within a macro step by derivatives or in sub-steps.
pub(super) fn followed(network: &Network, rates: &[u32], input: usize, order: u8) -> u8 {
    let owner = network.owner_of_input[input];
    if rates[owner] > 1 {
        order
    } else {
        hold_followed(order, network.members[owner].capabilities.input_derivatives)
    }
}

/// For every input the one that carries the same quantity the other way between the same two subsystems.
pub(super) fn twins(network: &Network) -> Vec<Option<usize>> {
    let unit = |i: usize| network.input_variable(i).unit.as_ref().map(|unit| unit.symbol.clone());
    let from = |i: usize| match network.wiring.sources(i).collect::<Vec<_>>()[..] {
        [(output, _)] => Some(network.owner_of_output[output]),
        _ => None,
    };
    let ends: Vec<Option<(usize, usize, String)>> = (0..network.n_inputs)
        .map(|i| Some((from(i)?, network.owner_of_input[i], unit(i).filter(|u| !u.is_empty())?)))
        .collect();
    let mut backward: std::collections::HashMap<(usize, usize, &str), usize> = Default::default();
    for (i, end) in ends.iter().enumerate() {
        if let Some((from, to, unit)) = end {
            backward.entry((*from, *to, unit)).or_insert(i);
        }
    }
    let twin = |end: &Option<(usize, usize, String)>| {
        end.as_ref().and_then(|(from, to, unit)| backward.get(&(*to, *from, unit.as_str())).copied())
    };
    ends.iter().map(twin).collect()
}
