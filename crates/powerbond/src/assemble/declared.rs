//! Feed-through as the system file declares it, over what a simulator says of itself.

use crate::Error;
use crate::source::At;
use crate::system::{FeedThroughSpec, SubsystemSpec};
use powerbond_core::network::NameIndex;
use powerbond_core::subsystem::wrapper::Wrapper;
use powerbond_core::subsystem::{Causality, FeedThrough, Info, Subsystem};
use powerbond_core::suggest::hint;
use std::collections::BTreeSet;

/// The simulator with the feed-through that its `[subsystems.name]` declares, if it does.
pub fn apply(spec: &SubsystemSpec, simulator: Box<dyn Subsystem>) -> Result<Box<dyn Subsystem>, Error> {
    let feed_through = match &spec.feed_through {
        None => return Ok(simulator),
        Some(FeedThroughSpec::Pairs(at)) => {
            let pairs = pairs(spec, &at.value, simulator.info())?;
            if let FeedThrough::Declared(own) = &simulator.info().feed_through {
                agree(spec, at, &pairs, own, simulator.info())?;
                return Ok(simulator);
            }
            FeedThrough::Declared(pairs)
        }
        Some(FeedThroughSpec::Unknown | FeedThroughSpec::Probe) => FeedThrough::Unknown,
    };
    let mut info = simulator.info().clone();
    info.feed_through = feed_through;
    // The simulator would give derivatives in the order of its own list.
    info.capabilities.feed_through_values = false;
    Ok(Box::new(Declared { inner: simulator, info }))
}

type Names = (At<String>, At<String>);

/// Names become indices of variables.
fn pairs(spec: &SubsystemSpec, names: &[Names], info: &Info) -> Result<Vec<(usize, usize)>, Error> {
    let places: NameIndex<&str> = info.variables.iter().map(|v| v.name.as_str()).collect();
    let find = |name: &At<String>, wanted: Causality, what: &str| {
        places.place(name.value.as_str()).filter(|&v| info.variables[v].causality == wanted).ok_or_else(
            || {
                let fitting = info.variables.iter().filter(|v| v.causality == wanted);
                let hint = hint(&name.value, fitting.map(|v| v.name.as_str()));
                let message =
                    format!("`{}` ({}): unknown {what} `{}`.{hint}", spec.name.value, info.kind, name.value);
                Error::input(name.place(), message)
            },
        )
    };
    let (mut list, mut known) = (Vec::new(), BTreeSet::new());
    for (output, input) in names {
        let pair = (find(output, Causality::Output, "output")?, find(input, Causality::Input, "input")?);
        if !known.insert(pair) {
            let message = format!("[\"{}\", \"{}\"] is declared twice", output.value, input.value);
            return Err(Error::input(output.place(), message));
        }
        list.push(pair);
    }
    Ok(list)
}

/// A file may repeat what a simulator says of itself, not contradict it.
fn agree(
    spec: &SubsystemSpec,
    at: &At<Vec<Names>>,
    declared: &[(usize, usize)],
    own: &[(usize, usize)],
    info: &Info,
) -> Result<(), Error> {
    let name = |v: usize| &info.variables[v].name;
    let cure = "remove `feed_through`, or set it to \"probe\"";
    let subsystem = &spec.name.value;
    let [ours, theirs] = [declared, own].map(|pairs| pairs.iter().collect::<BTreeSet<_>>());
    if let Some((_, (output, input))) =
        declared.iter().zip(&at.value).find(|(pair, _)| !theirs.contains(pair))
    {
        let message = format!(
            "`{subsystem}` ({}) declares that `{}` has no direct feed-through from `{}`; {cure}",
            info.kind, output.value, input.value
        );
        return Err(Error::input(output.place(), message));
    }
    match own.iter().find(|pair| !ours.contains(pair)) {
        None => Ok(()),
        Some(&(output, input)) => {
            let message = format!(
                "`{subsystem}` ({}) declares direct feed-through to `{}` from `{}`, which is missing here; {cure}",
                info.kind,
                name(output),
                name(input)
            );
            Err(Error::input(at.place(), message))
        }
    }
}

/// A wrapper that declares the feed-through of a simulator.
struct Declared {
    inner: Box<dyn Subsystem>,
    info: Info,
}

impl Wrapper for Declared {
    fn inner(&self) -> &dyn Subsystem {
        self.inner.as_ref()
    }

    fn inner_mut(&mut self) -> &mut dyn Subsystem {
        self.inner.as_mut()
    }

    fn info(&self) -> &Info {
        &self.info
    }
}
