//! NEPCE: the defect of the last inputs is given back.

use crate::Error;
use crate::catalogue::{
    Context, Domain, Entry, Kind, Knob, KnobField, KnobValue, Make, PerVariable, Word, Written, is_discrete,
    knobs,
};
use powerbond_core::correction::{self, DefectRule, InputCorrection, StepRatio};
use powerbond_core::feed_through::{FeedThroughPair, GainSource};
use powerbond_core::network::{NameIndex, Names, Network};
use powerbond_core::suggest::hint;

/// NEPCE.
pub const NEPCE: Entry = Entry {
    kind: Kind::Correction,
    name: "nepce",
    about: "the defect of the last step's inputs is added to the next ones",
    paper: "sadjina2020 eq. 11–12",
    knobs: &[
        Knob {
            name: "alpha",
            domain: Domain::NumberByName { min: 0.0, max: 1.0, open: false },
            rule: Some(|| format!("1/(hold + 1), at most {MOST_ALPHA}")),
            unit: "",
            about: "share of the defect that is added; a number, or a table of every connected input",
        },
        Knob {
            name: "feed_through",
            domain: Domain::WordOrNumbersByName(&["none", "model", "identified"]),
            rule: None,
            unit: "",
            about: "∂y/∂u: ignored, from the models, identified during the run, or a table `\"sub.output/sub.input\" \
                    = number`",
        },
        Knob {
            name: "quadrature",
            domain: Domain::Choice(&["end", "mean"]),
            rule: None,
            unit: "",
            about: "the defect of a step: at its end (the papers' tables), or its mean over all outputs that are known \
                    inside the step (eq. 11)",
        },
        Knob {
            name: "gated",
            domain: Domain::Flag,
            rule: None,
            unit: "",
            about: "alpha is multiplied by the correlation of successive defects, so that uncorrelated defects are \
                    not corrected",
        },
        Knob {
            name: "step_ratio",
            domain: Domain::Choice(&["growth", "none", "literal"]),
            rule: None,
            unit: "",
            about: "scaling when the step size changes: (h/h_last)^(hold+1), 1, or h_last/h (eq. 11, literally)",
        },
    ],
    uses: None,
    plain: || Box::new(Nepce::default()),
};

/// With a zero-order hold the whole defect rings: α = 1 leaves no damping.
const MOST_ALPHA: f64 = 0.8;

/// The defect of the last step's inputs is added to the next ones. Sadjina 2020, eq. 11–12.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Nepce {
    /// Share of the defect that is given back; `None`: by the order of the hold.
    pub alpha: Option<PerVariable>,
    /// Where ∂y/∂u comes from.
    pub feed_through: Gains,
    /// What the defect of a step is.
    pub quadrature: DefectRule,
    /// `alpha` is weighed with the correlation of neighbouring defects.
    pub gated: bool,
    /// How it scales when the step changes.
    pub step_ratio: StepRatio,
}

knobs!(Nepce, NEPCE, alpha, feed_through, quadrature, gated, step_ratio);

/// Where ∂y/∂u comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Gains {
    /// It is ignored.
    #[default]
    Ignored,
    /// From the models: directional derivatives, or finite differences by re-reading.
    Model,
    /// It is identified as the run goes on.
    Identified,
    /// From here, by `subsystem.output/subsystem.input`.
    Given(Vec<(String, f64)>),
}

impl KnobField for Gains {
    fn value(&self) -> Option<KnobValue> {
        let word = match self {
            Gains::Ignored => "none",
            Gains::Model => "model",
            Gains::Identified => "identified",
            Gains::Given(list) => return Some(KnobValue::ByName(list.clone())),
        };
        Some(KnobValue::Word(word.to_owned()))
    }

    fn of(value: KnobValue) -> Option<Self> {
        match value {
            KnobValue::ByName(list) => Some(Gains::Given(list)),
            KnobValue::Word(word) => match word.as_str() {
                "none" => Some(Gains::Ignored),
                "model" => Some(Gains::Model),
                "identified" => Some(Gains::Identified),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Word for StepRatio {
    const WORDS: &'static [(&'static str, Self)] =
        &[("growth", StepRatio::Growth), ("none", StepRatio::None), ("literal", StepRatio::Literal)];
}

impl Word for DefectRule {
    const WORDS: &'static [(&'static str, Self)] = &[("end", DefectRule::End), ("mean", DefectRule::Mean)];
}

impl Make<Option<Box<dyn InputCorrection>>> for Nepce {
    fn make(
        &mut self,
        written: &Written,
        context: &Context<'_>,
    ) -> Result<Option<Box<dyn InputCorrection>>, Error> {
        let rule = |i: usize| (1.0 / (f64::from(context.holds[i]) + 1.0)).min(MOST_ALPHA);
        let inputs = &context.names.inputs;
        let complete = self.check_alphas(written, context);
        let mut alpha =
            context.per_variable(&mut self.alpha, written.knob("alpha"), inputs, "input", rule)?;
        // A misspelled name is told as such, before what is missing.
        complete?;
        for (i, alpha) in alpha.iter_mut().enumerate() {
            if is_discrete(context.network, i) {
                *alpha = 0.0;
            }
        }
        let uses = self.uses_feed_through(written, context)?;
        let mut nepce = correction::Nepce::new(context.network, alpha, self.step_ratio, &uses);
        nepce.rule = self.quadrature;
        nepce.set_gated(self.gated);
        Ok(Some(Box::new(nepce)))
    }
}

impl Nepce {
    /// A table of α names every input that is corrected: a missing one could mean 0 as well as the rule.
    fn check_alphas(&self, written: &Written, context: &Context<'_>) -> Result<(), Error> {
        let Some(PerVariable::ByName(given)) = &self.alpha else { return Ok(()) };
        let network = context.network;
        let corrected = |i: &usize| network.wiring.is_coupled(*i) && !is_discrete(network, *i);
        let is_given = |name: &str| given.iter().any(|(known, _)| known == name);
        let names = (0..network.n_inputs).filter(corrected).map(|i| context.names.inputs[i].to_string());
        let missing: Vec<String> =
            names.filter(|name| !is_given(name)).map(|name| format!("`{name}`")).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let message = format!(
            "`alpha` does not name {}. A table has every connected input: add `= 0.0` for those that are not corrected",
            missing.join(", ")
        );
        Err(Error::input(written.knob("alpha"), message))
    }

    /// Which feed-through pairs of the network NEPCE takes into account; their gains are settled by [`Nepce::settle_gains`].
    fn uses_feed_through(&self, written: &Written, context: &Context<'_>) -> Result<Vec<bool>, Error> {
        let network = context.network;
        let fail = |message: String| Err(Error::input(written.knob("feed_through"), message));
        if self.feed_through == Gains::Model {
            for (m, member) in network.members.iter().enumerate() {
                let name = &context.names.subsystems[m];
                if !member.knows_feed_through() && member.may_feed_through() {
                    return fail(format!(
                        "the direct feed-through of `{name}` is unknown and could not be probed. Declare it with \
                         `feed_through` in `[subsystems.{name}]`, and give the values in a table: \
                     feed_through = {{ \"{name}.output/{name}.input\" = 1.0 }}"
                    ));
                }
                let pairs = &network.feed_through[member.feed_through.clone()];
                if let Some(pair) = pairs.iter().find(|pair| pair.gain == GainSource::Unknown) {
                    return fail(format!(
                        "`{name}` neither provides ∂y/∂u nor recomputes its outputs without a step. Give the values in a \
                     table: feed_through = {{ \"{}/{}\" = 1.0 }}, or set feed_through = \"identified\"",
                        context.names.outputs[pair.output], context.names.inputs[pair.input]
                    ));
                }
            }
        }
        let is_used = |gain: GainSource| match &self.feed_through {
            Gains::Ignored => false,
            Gains::Model | Gains::Identified => true,
            Gains::Given(_) => matches!(gain, GainSource::Given(_)),
        };
        Ok(network.feed_through.iter().map(|pair| is_used(pair.gain)).collect())
    }

    /// Enters where the correction wants the gains of feed-through to come from: what is given in a table, or identified.
    pub fn settle_gains(&self, written: &Written, network: &mut Network, names: &Names) -> Result<(), Error> {
        match &self.feed_through {
            Gains::Ignored | Gains::Model => {}
            Gains::Identified => {
                network.feed_through.iter_mut().for_each(|pair| pair.gain = GainSource::Identified);
            }
            Gains::Given(given) => {
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
                        let message = format!("`{name}` is not a feed-through pair `output/input`.{hint}");
                        return Err(Error::input(written.knob("feed_through"), message));
                    };
                    network.feed_through[pair].gain = GainSource::Given(*value);
                }
            }
        }
        Ok(())
    }
}
