//! From chosen methods to the policies of the engine.

use super::{KnobValue, PolicySpec};
use crate::Error;
use crate::number::short;
use crate::prepare::never_ends;
use crate::source::At;
use powerbond_core::controller::{Fixed, Pi, Rejecting, StepBounds, StepController};
use powerbond_core::correction::{InputCorrection, Nepce, StepRatio};
use powerbond_core::estimator::{Energy, ErrorEstimator, Jump, OutputTolerance, Predictor, Residual};
use powerbond_core::feed_through::{FeedThroughPair, GainSource};
use powerbond_core::hold::{Extrapolation, Feed, Polynomial, Variable};
use powerbond_core::network::{NameIndex, Names, Network, VariableName};
use powerbond_core::step::{Schedule, ScheduleKind, Seen};
use powerbond_core::suggest::hint;

/// What policies need to know of the system they are built for.
pub struct Context<'a> {
    /// The network.
    pub network: &'a Network,
    /// Its names.
    pub names: &'a Names,
    /// Hold order of each input; the highest one if it varies.
    pub holds: &'a [u8],
    /// What the subsystem of each input is given.
    pub feeds: &'a [Feed],
    /// Start of the run, in s.
    pub start: f64,
    /// Length of the run, in s.
    pub duration: f64,
    /// Constant or first step, in s.
    pub step: f64,
    /// Sub-steps of each member in a macro step.
    pub rates: &'a [u32],
    /// Tolerance and scale of each bond where it has its own, in the order of the network.
    pub bonds: Vec<(Option<f64>, Option<f64>)>,
}

impl Context<'_> {
    /// The nominal value of an output.
    pub(super) fn nominal(&self, output: usize) -> f64 {
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

    /// One number per variable of `list`: the common one, or that of its name, or `default`.
    pub(super) fn per_variable(
        &self,
        knob: Option<&At<KnobValue>>,
        list: &[VariableName],
        what: &str,
        default: impl Fn(usize) -> f64,
    ) -> Result<Vec<f64>, Error> {
        let mut values: Vec<f64> = (0..list.len()).map(&default).collect();
        match knob.map(|k| (&k.value, k)) {
            Some((KnobValue::Number(x), _)) => values.fill(*x),
            Some((KnobValue::ByName(given), at)) => {
                let texts: Vec<String> = list.iter().map(VariableName::to_string).collect();
                let places: NameIndex<&str> = texts.iter().map(String::as_str).collect();
                for (name, x) in given {
                    let Some(i) = places.place(name.as_str()) else {
                        let hint = hint(name, texts.iter().map(String::as_str));
                        let message = format!("`{name}` is no {what} that is exchanged.{hint}");
                        return Err(Error::input(at.place(), message));
                    };
                    values[i] = *x;
                }
            }
            _ => {}
        }
        Ok(values)
    }
}

/// Who steps when. Where the order of the hold is `variable`, later subsystems see a line unless told otherwise: the newest value all
/// over the step would be of order 0.
pub fn schedule(spec: &PolicySpec, variable: bool, context: &Context<'_>) -> Result<Schedule, Error> {
    let seen = |word: &str| match word {
        "latest" => Seen::Latest,
        "between" => Seen::Between,
        _ => Seen::Held,
    };
    let kind = match spec.name() {
        "jacobi" => ScheduleKind::Jacobi { fast: seen(spec.word("fast", "held")) },
        _ => ScheduleKind::GaussSeidel {
            order: spec.knob("order").map(|knob| sequence(knob, context)).transpose()?,
            seen: seen(spec.word("seen", if variable { "between" } else { "latest" })),
        },
    };
    Ok(Schedule::new(context.network, &kind, context.rates))
}

fn sequence(knob: &At<KnobValue>, context: &Context<'_>) -> Result<Vec<usize>, Error> {
    let KnobValue::Names(names) = &knob.value else { return Ok(Vec::new()) };
    let all = &context.names.subsystems;
    let fail = |message: String| Err(Error::input(knob.place(), message));
    let places: NameIndex<&str> = all.iter().map(String::as_str).collect();
    let (mut order, mut named) = (Vec::new(), vec![false; all.len()]);
    for name in names {
        match places.place(name.as_str()) {
            Some(s) if named[s] => return fail(format!("`order` names `{name}` twice")),
            Some(s) => {
                named[s] = true;
                order.push(s);
            }
            None => {
                let hint = hint(name, all.iter().map(String::as_str));
                return fail(format!("`order` names `{name}`, which is no subsystem.{hint}"));
            }
        }
    }
    match named.iter().position(|named| !named) {
        Some(missing) => {
            fail(format!("`order` does not name `{}`; it must name every subsystem", all[missing]))
        }
        None => Ok(order),
    }
}

/// How inputs are held.
pub fn extrapolation(variable: bool, context: &Context<'_>) -> Box<dyn Extrapolation> {
    if variable {
        let mut known = vec![false; context.network.n_inputs];
        context.network.externals.iter().for_each(|e| known[e.input] = true);
        return Box::new(Variable::new(context.holds.to_vec(), context.feeds.to_vec(), known));
    }
    let owner = |i: usize| &context.network.members[context.network.owner_of_input[i]];
    let handed = (0..context.network.n_inputs).map(|i| owner(i).capabilities.input_derivatives).collect();
    Box::new(Polynomial::new(context.holds.to_vec(), handed))
}

/// How held inputs are corrected.
pub fn correction(
    spec: &PolicySpec,
    context: &Context<'_>,
) -> Result<Option<Box<dyn InputCorrection>>, Error> {
    if spec.name() == "none" {
        return Ok(None);
    }
    if spec.name() == "energy" {
        return Ok(Some(Box::new(super::energy_correction::build(spec, context)?)));
    }
    // With a zero-order hold the whole defect rings (α = 1 leaves no damping).
    let default = |i: usize| (1.0 / (f64::from(context.holds[i]) + 1.0)).min(0.8);
    let mut alpha = context.per_variable(spec.knob("alpha"), &context.names.inputs, "input", default)?;
    for (i, alpha) in alpha.iter_mut().enumerate() {
        if crate::prepare::is_discrete(context.network, i) {
            *alpha = 0.0;
        }
    }
    let ratio = match spec.word("step_ratio", "growth") {
        "none" => StepRatio::None,
        "literal" => StepRatio::Literal,
        _ => StepRatio::Growth,
    };
    let uses = uses_feed_through(spec, context)?;
    let mut nepce = Nepce::new(context.network, alpha, ratio, &uses);
    nepce.set_gated(spec.number("gated") == Some(1.0));
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
    let Some(knob) = spec.knob("feed_through").filter(|_| spec.name() == "nepce") else { return Ok(()) };
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

/// How wrong a step was.
pub fn estimator(spec: &PolicySpec, context: &Context<'_>) -> Result<Option<Box<dyn ErrorEstimator>>, Error> {
    match spec.name() {
        "energy" => {
            if context.bonds.is_empty() {
                return Err(Error::input(
                    spec.entry.place(),
                    "the energy estimator needs at least one bond; add `[bonds.name]`, or use `estimator = \"predictor\"`",
                ));
            }
            let common = spec.number("tolerance").unwrap_or(1e-5);
            let tolerance = context.bonds.iter().map(|b| b.0.unwrap_or(common)).collect();
            let scale = context.bonds.iter().map(|b| b.1.or(spec.number("energy_scale"))).collect();
            let residual = match spec.word("residual", "held") {
                "corrected" => Residual::Corrected,
                "metered" => Residual::Metered,
                _ => Residual::Held,
            };
            let energy = Energy::new(tolerance, scale, residual, context.hold_order());
            Ok(Some(Box::new(energy.over(context.start, context.start + context.duration))))
        }
        "predictor" => {
            let outputs = &context.names.outputs;
            let tolerance = context
                .per_variable(spec.knob("tolerance"), outputs, "output", |o| 1e-3 * context.nominal(o))?;
            let rho = context.per_variable(spec.knob("rho"), outputs, "output", |_| 1e-4)?;
            let both = tolerance.iter().zip(&rho).map(|(&absolute, &rho)| OutputTolerance { absolute, rho });
            Ok(Some(Box::new(Predictor::new(both.collect(), context.hold_order()))))
        }
        "jump" => {
            let tolerance = spec.number("tolerance").unwrap_or(super::DEFAULT_TOLERANCE);
            let values_only = context.feeds.iter().map(|f| !matches!(f, Feed::Derivatives(_))).collect();
            let small = 10.0 * FIRST_STEP * context.duration;
            Ok(Some(Box::new(Jump::new(tolerance, &super::auto::groups(context), values_only, small))))
        }
        "richardson" => Ok(Some(Box::new(super::richardson::build(spec, context)?))),
        _ => Ok(None),
    }
}

/// The limit, by name and value, that moves the first step `h` of an adaptive run, if one does.
pub fn clamps(spec: &PolicySpec, h: f64) -> Option<(&'static str, f64)> {
    let below = spec.number("min_step").filter(|&min| h < min).map(|min| ("min_step", min));
    below.or_else(|| spec.number("max_step").filter(|&max| h > max).map(|max| ("max_step", max)))
}

/// The first step of a run that the jump norm steers, over its length: it has to find the scales of all inputs.
pub const FIRST_STEP: f64 = 1e-6;

/// The next step size; `jumps` steer it.
pub fn controller(
    spec: &PolicySpec,
    jumps: bool,
    context: &Context<'_>,
) -> Result<Box<dyn StepController>, Error> {
    if spec.name() == "fixed" {
        return Ok(Box::new(Fixed { step: context.step }));
    }
    // What the subsystems themselves can take comes first.
    let can = || {
        context.network.members.iter().zip(context.rates).map(|(m, &rate)| (m.capabilities, f64::from(rate)))
    };
    let shortest = can().filter_map(|(c, rate)| Some(c.min_step? * rate)).fold(0.0, f64::max);
    let longest = can().filter_map(|(c, rate)| Some(c.max_step? * rate)).fold(f64::INFINITY, f64::min);
    let (least, most) = if jumps { (1e-7, 1e-3) } else { (1e-6, 1e-2) };
    let limits = StepBounds {
        min_step: spec.number("min_step").unwrap_or(least * context.duration).max(shortest),
        max_step: spec.number("max_step").unwrap_or(most * context.duration).min(longest).max(shortest),
        min_rate: spec.number("min_rate").unwrap_or(0.2),
        max_rate: spec.number("max_rate").unwrap_or(if spec.name() == "rollback" { 2.0 } else { 1.5 }),
    };
    if limits.min_step > limits.max_step {
        let place = spec.knob("min_step").or(spec.knob("max_step")).and_then(At::place);
        return Err(Error::input(
            place,
            format!(
                "`min_step` = {} s is larger than `max_step` = {} s",
                short(limits.min_step),
                short(limits.max_step)
            ),
        ));
    }
    for (name, limit) in [("min_step", limits.min_step), ("max_step", limits.max_step)] {
        if never_ends(context.start, context.duration, limit) {
            return Err(Error::input(
                spec.knob(name).map_or(spec.entry.place(), At::place),
                format!(
                    "`{name}` is {} s: at that step a run of {} s would never end",
                    short(limit),
                    short(context.duration)
                ),
            ));
        }
    }
    if spec.name() == "rollback" {
        return Ok(Box::new(Rejecting {
            first_step: context.step,
            safety: spec.number("safety").unwrap_or(0.9),
            limits,
            // No step is short enough for a jump that nobody announced.
            keep_at_floor: spec.word("at_floor", if jumps { "keep" } else { "stop" }) == "keep",
        }));
    }
    let mut pi = match spec.name() {
        "i" => Pi::integral(context.step, limits),
        _ => Pi::ecco(context.step, limits),
    };
    pi.safety = spec.number("safety").unwrap_or(if jumps { 0.9 } else { pi.safety });
    pi.opening_rate = spec.number("opening_rate").or(jumps.then_some(2.0));
    pi.integral_gain = spec.number("integral_gain").or(pi.integral_gain);
    pi.proportional_gain = spec.number("proportional_gain").or(pi.proportional_gain);
    if let Some(floor) = spec.number("error_floor") {
        pi.set_error_floor(floor);
    }
    pi.age = u8::from(spec.word("age", "newest") == "previous");
    Ok(Box::new(pi))
}
