//! What each subsystem can do decides how it is fed and how its feed-through is kept fresh.

use super::{Word, is_discrete};
use crate::Error;
use crate::source::At;
use powerbond_core::feed_through::identify::MOST_INPUTS;
use powerbond_core::hold::InputFeed;
use powerbond_core::network::{Member, Names, Network};
use powerbond_core::subsystem::ValueKind;
use powerbond_core::subsystem::compensated::CompensatedMean;
use powerbond_core::subsystem::halves::HalvesSubstep;
use powerbond_core::subsystem::radau::RadauSubstep;
use std::collections::BTreeSet;

/// What a subsystem that takes values only is given of a held input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feeding {
    /// The value at the start of the step.
    Value,
    /// The mean over the step.
    Mean,
    /// Two sub-steps, `2h/3` and `h/3`, the second one with the value at the end.
    Radau,
    /// Two halves, where outputs are read again or depend on no input at the same instant.
    Halves,
    /// The mean, and outputs with what it lacks, where states can be restored and outputs are read again or depend on no input at the
    /// same instant.
    Compensated,
    /// Radau's sub-steps where they are possible, else the mean.
    Auto,
}

impl Word for Feeding {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("value", Feeding::Value),
        ("mean", Feeding::Mean),
        ("radau", Feeding::Radau),
        ("halves", Feeding::Halves),
        ("compensated", Feeding::Compensated),
        ("auto", Feeding::Auto),
    ];
}

/// What a subsystem can do, in one letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Takes input derivatives and can be refreshed.
    A,
    /// Takes input derivatives.
    B,
    /// Takes values and can be refreshed.
    C,
    /// Takes values and may be sub-stepped.
    D,
    /// Takes values in whole steps only.
    Da,
}

impl Class {
    /// Of a member. Where no output depends on an input at the same instant there is nothing to recompute, and nothing shows whether it
    /// could be.
    pub fn of(member: &Member) -> Self {
        let can = &member.capabilities;
        match (can.input_derivatives > 0, can.can_refresh || !feeds_through(member)) {
            (true, true) => Class::A,
            (true, false) => Class::B,
            (false, true) => Class::C,
            (false, false) if may_sub_step(member) => Class::D,
            _ => Class::Da,
        }
    }

    /// What is left of a class where outputs are not recomputed after all.
    pub fn without_refresh(self) -> Self {
        match self {
            Class::A => Class::B,
            Class::C => Class::D,
            other => other,
        }
    }

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Class::A => "A",
            Class::B => "B",
            Class::C => "C",
            Class::D => "D",
            Class::Da => "Da",
        }
    }

    /// In words.
    pub fn about(self) -> &'static str {
        match self {
            Class::A => "takes input derivatives, recomputes outputs",
            Class::B => "takes input derivatives",
            Class::C => "takes values, recomputes outputs",
            Class::D => "takes values, can be sub-stepped",
            Class::Da => "takes values in whole steps only",
        }
    }
}

fn may_sub_step(member: &Member) -> bool {
    member.capabilities.fixed_step.is_none() && member.capabilities.sub_steps
}

/// Whether an output of a member may depend on an input at the same instant.
pub fn feeds_through(member: &Member) -> bool {
    member.may_feed_through()
}

/// Wraps members that take values only and are to be fed in two sub-steps; what the inputs of each member are given.
pub fn feeds(
    network: &mut Network,
    names: &Names,
    wanted: &At<Feeding>,
    refreshed: &[usize],
) -> Result<Vec<InputFeed>, Error> {
    let refreshed: BTreeSet<usize> = refreshed.iter().copied().collect();
    let mut by_member = Vec::new();
    for (s, member) in network.members.iter().enumerate() {
        let takes = member.capabilities.input_derivatives;
        by_member.push(match wanted.value {
            _ if takes > 0 => InputFeed::Derivatives(takes),
            Feeding::Value => InputFeed::Value,
            Feeding::Mean => InputFeed::Mean,
            Feeding::Radau | Feeding::Halves if !may_sub_step(member) => {
                let word = if wanted.value == Feeding::Radau { "radau" } else { "halves" };
                return Err(Error::input(
                    wanted.place(),
                    format!(
                        "`{}` cannot be sub-stepped, so `values_only = \"{word}\"` is not supported. Use \"auto\" or \"mean\"",
                        names.subsystems[s]
                    ),
                ));
            }
            Feeding::Radau => InputFeed::Radau,
            Feeding::Compensated if !may_sub_step(member) || !member.capabilities.can_restore => {
                return Err(Error::input(
                    wanted.place(),
                    format!(
                        "`{}` cannot be restored, or steps of it cannot be divided, so `values_only = \"compensated\"` is not \
                         supported: how its outputs answer to its inputs cannot be tried. Use \"auto\" or \"mean\"",
                        names.subsystems[s]
                    ),
                ));
            }
            Feeding::Halves | Feeding::Compensated if !refreshed.contains(&s) && feeds_through(member) => {
                let word = if wanted.value == Feeding::Halves { "halves" } else { "compensated" };
                return Err(Error::input(
                    wanted.place(),
                    format!(
                        "outputs of `{}` may depend on inputs at the same instant and are not read again, so \
                         `values_only = \"{word}\"` is not supported. Use \"auto\" or \"radau\"",
                        names.subsystems[s]
                    ),
                ));
            }
            Feeding::Halves => InputFeed::Halves,
            Feeding::Compensated => InputFeed::Compensated,
            // Also where it is refreshed or nothing feeds through: between communication points it has the better input, too.
            Feeding::Auto if may_sub_step(member) => InputFeed::Radau,
            Feeding::Auto if refreshed.contains(&s) || !feeds_through(member) => InputFeed::Mean,
            Feeding::Auto => InputFeed::Dithered,
        });
    }
    let is_real = |o: usize| network.output_variable(o).kind == ValueKind::Real;
    let real: Vec<bool> = (0..network.n_outputs).map(is_real).collect();
    let members = std::mem::take(&mut network.members).into_iter().zip(&by_member);
    let fed = members.map(|(member, feed)| {
        let n = member.inputs.len();
        let reads = member.capabilities.can_refresh && feeds_through(&member);
        match feed {
            InputFeed::Radau => member.wrapped(|simulator| Box::new(RadauSubstep::new(simulator, n))),
            InputFeed::Halves => {
                member.wrapped(|simulator| Box::new(HalvesSubstep::new(simulator, n, reads)))
            }
            InputFeed::Compensated => {
                let real = real[member.outputs.clone()].to_vec();
                member.wrapped(|simulator| Box::new(CompensatedMean::new(simulator, n, real, reads)))
            }
            _ => member,
        }
    });
    network.members = fed.collect();
    let feed =
        |(i, &s): (usize, &usize)| if is_discrete(network, i) { InputFeed::Value } else { by_member[s] };
    Ok(network.owner_of_input.iter().enumerate().map(feed).collect())
}

/// Whether a member has too many coupled inputs for its feed-through to be found out.
pub fn too_wide(network: &Network, s: usize) -> bool {
    let member = &network.members[s];
    member.inputs.clone().filter(|&i| network.wiring.is_coupled(i)).count() > MOST_INPUTS
}
