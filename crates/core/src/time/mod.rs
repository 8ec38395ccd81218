//! Time: where steps end, what is known of inputs before the run, and their past.

pub mod signal;
pub mod history;
mod pace;
mod targets;
mod clock;

pub use clock::{Clock, PairProposal, Proposal};
pub use pace::Pace;
pub use targets::{Arrival, Bend, EndRule, KnownTimes};

const SAME: f64 = 64.0 * f64::EPSILON;

/// Times of a run that are no further apart than this, in seconds, are one: round-off parts them.
pub fn resolution(start: f64, stop: f64) -> f64 {
    SAME * start.abs().max(stop.abs())
}

/// The first of `times`, increasing, that is no further from `t` than `resolution`; `t` itself if there is none.
pub(crate) fn aligned(t: f64, times: &[f64], resolution: f64) -> f64 {
    let place = times.partition_point(|&x| x < t - resolution);
    times.get(place).copied().filter(|&x| x <= t + resolution).unwrap_or(t)
}
