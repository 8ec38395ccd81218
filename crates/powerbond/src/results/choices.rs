//! What the method chose: for every subsystem, for every input, and what it found out.

use crate::assemble::Assembled;
use crate::catalogue::feeds_through;
use powerbond_core::hold::InputFeed;
use serde::Serialize;
use std::collections::BTreeSet;

/// What the method chose.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Choices {
    /// What each subsystem can do, and how it is fed.
    pub subsystems: Vec<SubsystemChoice>,
    /// How coupled inputs were held, where the order varies or inputs limit the step.
    pub inputs: Vec<InputChoice>,
    /// How steps were chosen, where the motion of inputs bounds them or the norm is steered.
    pub steps: Option<StepChoice>,
    /// Feed-through that was found out.
    pub identified: Vec<IdentifiedChoice>,
    /// Outputs that were found to be sampled.
    pub sampled: Vec<SampledChoice>,
}

/// An output that is sampled: it stays as it is and jumps at equal distances.
#[derive(Clone, Debug, Serialize)]
pub struct SampledChoice {
    /// The output.
    pub output: String,
    /// The distance of two samples, in s.
    pub period: f64,
    /// When that was found, in s.
    pub since: f64,
}

/// What a subsystem can do, and how it is fed.
#[derive(Clone, Debug, Serialize)]
pub struct SubsystemChoice {
    /// Its name.
    pub name: String,
    /// A, B, C, D or Da.
    pub class: &'static str,
    /// The class in words.
    pub able: &'static str,
    /// What it is given of held inputs: `derivatives`, `radau`, `halves`, `mean`, `dithered mean`, `value` or, without inputs, `nothing`.
    pub fed: &'static str,
    /// How its feed-through is kept fresh: `none` to keep, `refreshed`, `identified` or `as stepped`.
    pub feed_through: &'static str,
    /// How finely its steps were divided, where a tolerance asks for it.
    pub sub_steps: Option<SubSteps>,
}

/// Sub-steps of a subsystem per step.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SubSteps {
    /// In the mean.
    pub mean: f64,
    /// At most.
    pub most: u32,
}

/// How an input was held.
#[derive(Clone, Debug, Serialize)]
pub struct InputChoice {
    /// Its name.
    pub name: String,
    /// Share of the steps with order 0, 1 and 2.
    pub orders: [f64; 3],
    /// Share of the steps that it limited.
    pub limited: f64,
    /// Its noise at the last look, in its unit.
    pub noise: f64,
    /// Share of the steps in which it was given back what it lacked.
    pub given_back: f64,
}

/// How steps were chosen.
#[derive(Clone, Debug, Serialize)]
pub struct StepChoice {
    /// Share of the steps that the motion of inputs bounded, not the error norm.
    pub at_ceiling: f64,
    /// The longest step that the motion of inputs allowed in the end, in s.
    pub ceiling: f64,
    /// The factor on the bound of the error norm in the end: below 1 where errors add up.
    pub steering: f64,
}

/// A feed-through gain that was found out.
#[derive(Clone, Debug, Serialize)]
pub struct IdentifiedChoice {
    /// The output.
    pub output: String,
    /// The input.
    pub input: String,
    /// ∂y/∂u, in the units of both.
    pub gain: f64,
    /// 0: not at all; 1: it predicted everything.
    pub confidence: f64,
}

/// Of a run.
pub fn choices(assembled: &Assembled) -> Choices {
    let (network, names, engine) = (assembled.engine.network(), &assembled.names, &assembled.engine);
    let identified = engine.identified();
    let improved: BTreeSet<usize> = identified.iter().map(|f| network.owner_of_output[f.output]).collect();
    let refreshed: BTreeSet<usize> = assembled.refreshed.iter().copied().collect();
    let subsystem = |(s, name): (usize, &String)| {
        let member = &network.members[s];
        SubsystemChoice {
            name: name.clone(),
            class: assembled.classes[s].name(),
            able: assembled.classes[s].about(),
            fed: member.inputs.clone().next().map_or("nothing", |i| match assembled.feeds[i] {
                InputFeed::Derivatives(_) => "derivatives",
                InputFeed::Radau => "radau",
                InputFeed::Halves => "halves",
                InputFeed::Compensated => "compensated mean",
                InputFeed::Mean => "mean",
                InputFeed::Dithered => "dithered mean",
                InputFeed::Value => "value",
            }),
            feed_through: match (feeds_through(member), refreshed.contains(&s)) {
                (false, _) => "none",
                (true, true) => "refreshed",
                (true, false) if improved.contains(&s) => "identified",
                (true, false) => "as stepped",
            },
            sub_steps: assembled.own[s].as_ref().filter(|own| own.is_governed()).map(|own| {
                let (mean, most) = own.sub_steps();
                SubSteps { mean, most }
            }),
        }
    };
    let steps = engine.statistics().accepted.max(1) as f64;
    let counts = engine.order_counts();
    let driving = engine.driving();
    let limited = driving.map_or(&[][..], |e| e.diagnostics().limited);
    let noise = driving.map_or(&[][..], |e| e.diagnostics().noise);
    let given_back = engine.shares_of_correction();
    let bounded = engine.ceiling().map(|ceiling| StepChoice {
        at_ceiling: ceiling.held() as f64 / steps,
        ceiling: ceiling.longest(),
        steering: driving.map_or(1.0, |e| e.diagnostics().steering),
    });
    let shown = !counts.is_empty() || !limited.is_empty();
    let input = |i: usize| InputChoice {
        name: names.inputs[i].to_string(),
        orders: counts.get(i).copied().unwrap_or_default().map(|n| n as f64 / steps),
        limited: limited.get(i).copied().unwrap_or(0) as f64 / steps,
        noise: noise.get(i).copied().unwrap_or(0.0),
        given_back: given_back.get(i).copied().unwrap_or(0.0),
    };
    let coupled = (0..network.n_inputs).filter(|&i| shown && network.wiring.is_coupled(i));
    Choices {
        subsystems: names.subsystems.iter().enumerate().map(subsystem).collect(),
        inputs: coupled.map(input).collect(),
        steps: bounded,
        sampled: engine
            .sampled()
            .iter()
            .map(|found| SampledChoice {
                output: names.outputs[found.output].to_string(),
                period: found.period,
                since: found.since,
            })
            .collect(),
        identified: identified
            .iter()
            .map(|f| IdentifiedChoice {
                output: names.outputs[f.output].to_string(),
                input: names.inputs[f.input].to_string(),
                gain: f.gain,
                confidence: f.confidence,
            })
            .collect(),
    }
}
