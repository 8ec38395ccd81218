//! Checks of a description that need nothing but the description: what a reader of files sees to line by line holds for systems
//! that a program makes or changes, too.

use super::{Bond, Connection, FeedThroughSpec, MAX_RATE, SignalSpec, SubsystemSpec, System};
use crate::Error;
use crate::catalogue::estimators::{ENERGY_SCALE, ENERGY_TOLERANCE};
use crate::catalogue::holds::{HoldOrder, MAX_ORDER};
use crate::error::Collector;
use crate::source::At;
use powerbond_core::network::VariableName;
use std::collections::HashSet;

impl System {
    /// Tells everything that is wrong with the description itself.
    pub fn validate(&self) -> Result<(), Error> {
        let mut problems = Collector::new();
        if self.subsystems.is_empty() {
            problems.add(Error::input(None, "a system needs at least one subsystem"));
        }
        let mut names = HashSet::new();
        for spec in &self.subsystems {
            problems.keep(subsystem(spec));
            if !names.insert(spec.name.value.as_str()) {
                let message = format!("there are two subsystems `{}`", spec.name.value);
                problems.add(Error::input(spec.name.place(), message));
            }
        }
        for result in self.connections.iter().map(connection) {
            problems.keep(result);
        }
        for (name, input) in &self.inputs {
            problems.keep(signal(name, input));
        }
        for result in self.bonds.iter().map(bond) {
            problems.keep(result);
        }
        let orders = self.method.holds.iter().map(|(name, order)| (name.place(), *order));
        let common = match self.method.hold {
            HoldOrder::Fixed(order) => Some((None, order)),
            HoldOrder::Variable => None,
        };
        for (place, order) in orders.chain(common).filter(|(_, order)| *order > MAX_ORDER) {
            let message = format!("a hold of order {order}; expected an integer from 0 to {MAX_ORDER}");
            problems.add(Error::input(place, message));
        }
        problems.finish(())
    }
}

/// Names of subsystems stand before the first dot of a variable.
pub fn check_subsystem_name(name: &At<String>) -> Result<(), Error> {
    if !name.value.contains('.') && !name.value.is_empty() {
        return Ok(());
    }
    Err(Error::input(
        name.place(),
        format!(
            "`{}` is not a valid name of a subsystem: expected at least one letter and no dot",
            name.value
        ),
    ))
}

fn subsystem(spec: &SubsystemSpec) -> Result<(), Error> {
    check_subsystem_name(&spec.name)?;
    let what = format!("subsystem `{}`", spec.name.value);
    if let (Some(_), Some(step)) = (&spec.rate, &spec.step) {
        let message = format!("{what} has both `rate` and `step`; one of them is enough");
        return Err(Error::input(step.place(), message));
    }
    if let Some(rate) = spec.rate.as_ref().filter(|rate| !(1..=MAX_RATE).contains(&rate.value)) {
        let message = format!("`rate` of {what} is {}; expected an integer from 1 to {MAX_RATE}", rate.value);
        return Err(Error::input(rate.place(), message));
    }
    if let Some(FeedThroughSpec::Pairs(pairs)) = &spec.feed_through
        && let Some((output, _)) =
            pairs.value.iter().find(|(output, input)| output.value.is_empty() || input.value.is_empty())
    {
        return Err(Error::input(
            output.place(),
            format!("`feed_through` of {what} names a variable without a name"),
        ));
    }
    Ok(())
}

fn finite(name: &str, x: f64, of: &At<VariableName>) -> Result<(), Error> {
    if x.is_finite() {
        return Ok(());
    }
    Err(Error::input(of.place(), format!("`{name}` for `{}` is {x}; expected a finite number", of.value)))
}

fn connection(c: &Connection) -> Result<(), Error> {
    if c.from.is_empty() {
        let message = format!("the connection to `{}` lacks a source; name at least one output", c.to.value);
        return Err(Error::input(c.to.place(), message));
    }
    c.from.iter().try_for_each(|(_, gain)| finite("gain", *gain, &c.to))?;
    finite("offset", c.offset, &c.to)
}

fn signal(name: &At<VariableName>, signal: &SignalSpec) -> Result<(), Error> {
    let fail = |message: String| Err(Error::input(name.place(), message));
    let numbers = match signal {
        SignalSpec::Constant(value) => vec![("value", *value)],
        SignalSpec::Item(_) | SignalSpec::Integer(_) => Vec::new(),
        &SignalSpec::Step { time, from, to } => vec![("time", time), ("from", from), ("to", to)],
        &SignalSpec::Ramp { start, end, from, to } => {
            if end <= start {
                return fail(format!("the ramp of `{}` must end after it starts", name.value));
            }
            vec![("start", start), ("end", end), ("from", from), ("to", to)]
        }
        &SignalSpec::Sine { amplitude, frequency, phase, offset } => {
            vec![("amplitude", amplitude), ("frequency", frequency), ("phase", phase), ("offset", offset)]
        }
        SignalSpec::Samples { times, values, .. } => {
            if times.is_empty() || times.len() != values.len() {
                return fail(format!(
                    "`{}` has {} times and {} values; expected the same number of both, at least one",
                    name.value,
                    times.len(),
                    values.len()
                ));
            }
            if let Some(row) = (1..times.len()).find(|&i| times[i] < times[i - 1]) {
                return fail(format!(
                    "the times of `{}` decrease: {} after {}",
                    name.value,
                    times[row],
                    times[row - 1]
                ));
            }
            times.iter().map(|t| ("time", *t)).chain(values.iter().map(|v| ("value", *v))).collect()
        }
        SignalSpec::Table { .. } | SignalSpec::Function(_) => Vec::new(),
    };
    numbers.into_iter().try_for_each(|(key, x)| finite(key, x, name))
}

fn bond(b: &Bond) -> Result<(), Error> {
    for (knob, given) in [(ENERGY_SCALE, b.energy_scale), (ENERGY_TOLERANCE, b.tolerance)] {
        given.map_or(Ok(()), |x| knob.check_number(&b.name.with(x)))?;
    }
    for port in &b.ports {
        if !port.ratio.is_finite() {
            let message = format!(
                "`ratio` of a port of bond `{}` is {}; expected a finite number",
                b.name.value, port.ratio
            );
            return Err(Error::input(port.sign.place(), message));
        }
    }
    Ok(())
}
