//! NEPCE: the defect of the last inputs is given back.

use crate::Error;
use crate::catalogue::{Context, Domain, Entry, Knob, KnobValue, Make, Nature, PolicySpec};
use crate::prepare::is_discrete;
use powerbond_core::correction::{InputCorrection, Nepce, StepRatio};
use powerbond_core::feed_through::{FeedThroughPair, GainSource};
use powerbond_core::network::{NameIndex, Names, Network};
use powerbond_core::suggest::hint;

/// NEPCE.
pub const NEPCE: Entry = Entry {
    name: "nepce",
    about: "the defect of the last step's inputs is added to the next ones",
    paper: "sadjina2020 eq. 11–12",
    knobs: &[
        Knob {
            name: "alpha",
            domain: Domain::NumberByName { min: 0.0, max: 1.0, open: false },
            default: "1/(hold + 1), at most 0.8",
            unit: "",
            about: "share of the defect that is given back; a number, or a table by input",
        },
        Knob {
            name: "feed_through",
            domain: Domain::FeedThrough,
            default: "none",
            unit: "",
            about: "∂y/∂u: ignored, asked from the models, identified as the run goes on, or a table `\"sub.output/sub.input\" = number`",
        },
        Knob {
            name: "gated",
            domain: Domain::Flag,
            default: "false",
            unit: "",
            about: "alpha is weighed with the correlation of neighbouring defects: what does not last is not given back",
        },
        Knob {
            name: "step_ratio",
            domain: Domain::Choice(&["growth", "none", "literal"]),
            default: "growth",
            unit: "",
            about: "how it scales when the step changes: (h/h_last)^(hold+1), 1, or h_last/h (eq. 11 read literally)",
        },
    ],
    uses: None,
    nature: Nature::Plain,
    make: Make::Correction(make),
};

fn make(spec: &PolicySpec, context: &Context<'_>) -> Result<Option<Box<dyn InputCorrection>>, Error> {
    // With a zero-order hold the whole defect rings (α = 1 leaves no damping).
    let default = |i: usize| (1.0 / (f64::from(context.holds[i]) + 1.0)).min(0.8);
    let mut alpha = context.per_variable(spec.knob("alpha"), &context.names.inputs, "input", default)?;
    for (i, alpha) in alpha.iter_mut().enumerate() {
        if is_discrete(context.network, i) {
            *alpha = 0.0;
        }
    }
    let ratios = [("growth", StepRatio::Growth), ("none", StepRatio::None), ("literal", StepRatio::Literal)];
    let ratio = spec.choice("step_ratio", StepRatio::Growth, &ratios);
    let uses = uses_feed_through(spec, context)?;
    let mut nepce = Nepce::new(context.network, alpha, ratio, &uses);
    nepce.set_gated(spec.flag("gated"));
    Ok(Some(Box::new(nepce)))
}

/// Which feed-through pairs of the network NEPCE takes into account; their gains are settled by [`settle_gains`].
fn uses_feed_through(spec: &PolicySpec, context: &Context<'_>) -> Result<Vec<bool>, Error> {
    let network = context.network;
    let Some(knob) = spec.knob("feed_through") else { return Ok(vec![false; network.feed_through.len()]) };
    let fail = |message: String| Err(Error::input(knob.place(), message));
    if matches!(&knob.value, KnobValue::Word(word) if word == "model") {
        for (m, member) in network.members.iter().enumerate() {
            let name = &context.names.subsystems[m];
            if !member.knows_feed_through() && member.may_feed_through() {
                return fail(format!(
                    "it is unknown which outputs of `{name}` depend on which of its inputs at the same instant, and it could not be \
                     probed. Declare them with `feed_through` in `[subsystems.{name}]`, and give the values in a table: \
                     feed_through = {{ \"{name}.output/{name}.input\" = 1.0 }}"
                ));
            }
            let pairs = &network.feed_through[member.feed_through.clone()];
            if let Some(pair) = pairs.iter().find(|pair| pair.gain == GainSource::Unknown) {
                return fail(format!(
                    "`{name}` neither gives its ∂y/∂u nor recomputes its outputs while time stands still. Give the values in a \
                     table: feed_through = {{ \"{}/{}\" = 1.0 }}, or write feed_through = \"identified\"",
                    context.names.outputs[pair.output], context.names.inputs[pair.input]
                ));
            }
        }
    }
    let is_used = |gain: GainSource| match &knob.value {
        KnobValue::ByName(_) => matches!(gain, GainSource::Given(_)),
        KnobValue::Word(word) => word != "none",
        _ => false,
    };
    Ok(network.feed_through.iter().map(|pair| is_used(pair.gain)).collect())
}

/// Enters where the correction wants the gains of feed-through to come from: what is given in a table, or identified.
pub fn settle_gains(spec: &PolicySpec, network: &mut Network, names: &Names) -> Result<(), Error> {
    let Some(knob) = spec.knob("feed_through") else { return Ok(()) };
    match &knob.value {
        KnobValue::Word(word) if word == "identified" => {
            network.feed_through.iter_mut().for_each(|pair| pair.gain = GainSource::Identified);
        }
        KnobValue::ByName(given) => {
            let name = |pair: &FeedThroughPair| {
                format!("{}/{}", names.outputs[pair.output], names.inputs[pair.input])
            };
            let pairs: Vec<String> = network.feed_through.iter().map(name).collect();
            let places: NameIndex<&str> = pairs.iter().map(String::as_str).collect();
            for (name, value) in given {
                let Some(pair) = places.place(name.as_str()) else {
                    let hint = match pairs.is_empty() {
                        true => " No subsystem has feed-through.".to_owned(),
                        false => hint(name, pairs.iter().map(String::as_str)),
                    };
                    let message = format!("`{name}` is no feed-through pair `output/input`.{hint}");
                    return Err(Error::input(knob.place(), message));
                };
                network.feed_through[pair].gain = GainSource::Given(*value);
            }
        }
        _ => {}
    }
    Ok(())
}
