//! What methods need subsystems to be able to do, and what happens where one is not.

use super::{Entry, Kind, of_kind};
use powerbond_core::network::Member;

/// Something that a subsystem can do beyond stepping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// Go back to a saved state.
    Restore,
    /// Recompute outputs at the current time.
    Refresh,
    /// Follow so many derivatives of its inputs.
    InputDerivatives(u8),
    /// Say the derivatives of its outputs.
    OutputDerivatives,
    /// Say which outputs its inputs feed through.
    FeedThrough,
    /// Say ∂y/∂u.
    FeedThroughValues,
}

impl Ability {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Ability::Restore => "restore",
            Ability::Refresh => "refresh",
            Ability::InputDerivatives(1) => "first input derivative",
            Ability::InputDerivatives(_) => "second input derivative",
            Ability::OutputDerivatives => "first output derivative",
            Ability::FeedThrough => "feed-through",
            Ability::FeedThroughValues => "feed-through values",
        }
    }

    /// Whether a subsystem has it; one that does not need it has it.
    pub fn is_in(self, member: &Member) -> bool {
        let can = &member.capabilities;
        let exchanges = !member.inputs.is_empty() && !member.outputs.is_empty();
        match self {
            Ability::Restore => can.can_restore,
            Ability::Refresh => can.can_refresh || !member.may_feed_through(),
            Ability::InputDerivatives(n) => can.input_derivatives >= n || member.inputs.is_empty(),
            Ability::OutputDerivatives => can.output_derivatives > 0 || member.outputs.is_empty(),
            Ability::FeedThrough => member.knows_feed_through() || !exchanges,
            Ability::FeedThroughValues => {
                Ability::FeedThrough.is_in(member)
                    && (can.feed_through_values || member.feed_through.is_empty())
            }
        }
    }
}

/// What becomes of a method on a subsystem that lacks what it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Without {
    /// The system is refused.
    Refused,
    /// The input is held with the order that the subsystem follows.
    LowerOrder,
    /// Slopes of what it feeds are differences of past values.
    Differences,
    /// A knob has to be given by the user.
    KnobNeeded(&'static str),
    /// Only that subsystem is left out.
    LeftOut,
}

impl Without {
    /// In words.
    pub fn describe(self) -> String {
        match self {
            Without::Refused => "refused".to_owned(),
            Without::LowerOrder => "held with a lower order".to_owned(),
            Without::Differences => "differences of past values".to_owned(),
            Without::KnobNeeded(knob) => format!("`{knob}` must be given"),
            Without::LeftOut => "left out".to_owned(),
        }
    }
}

/// The methods of a kind that do without an ability, quoted.
pub fn without(kind: Kind, ability: Ability) -> String {
    let can = |e: &&'static Entry| !e.is_none() && e.uses.is_none_or(|(a, _)| a != ability);
    let names: Vec<String> = of_kind(kind).filter(can).map(|e| format!("\"{}\"", e.name)).collect();
    names.join(", ")
}
