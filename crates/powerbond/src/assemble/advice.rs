//! What would make a run better, best first: only what its subsystems can do and what it does not do already.

use super::Assembled;
use crate::catalogue::controllers::Controller;
use crate::catalogue::estimators::SMALLEST_TOLERANCE;
use crate::catalogue::holds::HoldOrder;
use crate::catalogue::methods::Auto;
use crate::catalogue::{Method, Refresh};
use crate::error::Place;
use crate::number::{percent, short};
use crate::system::System;
use powerbond_core::feed_through::Evidence;
use powerbond_core::subsystem::FeedThrough;

/// What the user chose and the default method would choose by itself, as it is written: the step, the method.
pub(super) fn chosen(system: &System) -> Vec<String> {
    if system.method.kind.is_some() {
        return Vec::new();
    }
    let step = system.simulation.step.as_ref().map(|step| match step.place() {
        Some(Place::Option(_)) => "`--step-size`".to_owned(),
        _ => "`step`".to_owned(),
    });
    let method = system.method.to_json() != Method::default().to_json();
    step.into_iter().chain(method.then(|| "`[method]`".to_owned())).collect()
}

impl Assembled {
    /// What makes the error of a run smaller, best first: `error` is what it is about, `wanted` what it should be at most.
    pub fn ways_to_accuracy(&self, error: Option<f64>, wanted: f64) -> Vec<String> {
        let mut ways: Vec<String> = self.default_method().into_iter().collect();
        ways.extend(self.smaller_tolerance(error, wanted));
        if ways.is_empty() {
            // The default method has chosen the steps, and its tolerance is as small as it may be.
            let automatic = self.method.jump_tolerance().is_some();
            ways.push(if automatic { "another split of the system" } else { "use smaller steps" }.to_owned());
        }
        ways
    }

    /// What may keep a run from exploding, best first.
    pub(super) fn ways_to_stability(&self) -> Vec<String> {
        let statistics = self.engine.statistics();
        let automatic = self.method.jump_tolerance().is_some() && self.chosen.is_empty();
        if automatic && 2 * statistics.over_tolerance > statistics.accepted {
            // Where outputs follow inputs in every step, however short, each step extrapolates the error of the one before.
            let step = round_down(1e-3 * (self.stop - self.start));
            let held = format!(
                "`--step-size {step:e}`: no step is short enough for a tolerance, and a constant one does not extrapolate"
            );
            return vec![held];
        }
        self.ways_to_accuracy(None, 0.0)
    }

    /// Leaving out what was chosen, if anything was that the default method chooses better.
    pub fn default_method(&self) -> Option<String> {
        let tolerance = Auto::default().tolerance;
        (!self.chosen.is_empty()).then(|| {
            format!(
                "{LEAVE_OUT} {}: the default method chooses steps by itself and aims at an error of {} (`--tolerance \
                 {tolerance:e}` tries it without a change of the file)",
                self.chosen.join(" and "),
                percent(tolerance),
            )
        })
    }

    /// Of the default method: the tolerance for an error, and what it costs. Errors are proportional to it.
    fn smaller_tolerance(&self, error: Option<f64>, wanted: f64) -> Option<String> {
        let now = self.method.jump_tolerance().filter(|_| self.chosen.is_empty())?;
        if let Some(larger) = self.larger_tolerance() {
            return Some(larger);
        }
        let error = error.filter(|e| e.is_finite() && *e > wanted);
        // Where the error is below the tolerance, something else keeps the steps as short as they are.
        let active = error.map_or(now, |error| now.min(error));
        // Half of it, as estimates are rough.
        let next = round_down(error.map_or(now / 10.0, |error| active * 0.5 * wanted / error));
        let (gain, times) = (active / next, (active / next).powf(1.0 / self.order()));
        let then = error.map_or_else(
            || format!("an error {} times smaller", short(gain.round())),
            |error| format!("an error of about {}", percent(error / gain)),
        );
        (next >= SMALLEST_TOLERANCE).then(|| {
            format!(
                "`--tolerance {next:e}`: {then}, with about {} times the steps",
                short((10.0 * times).round() / 10.0)
            )
        })
    }

    /// Of the default method: the smallest tolerance that is not lost in round-off, where this one is.
    pub fn below_round_off(&self) -> Option<String> {
        let now = self.method.jump_tolerance().filter(|_| self.chosen.is_empty())?;
        (now < SMALLEST_TOLERANCE).then(|| {
            format!("`--tolerance {SMALLEST_TOLERANCE:e}`: below it prediction defects are round-off")
        })
    }

    /// Of the default method: a larger tolerance, where this one is out of reach and nothing else would help.
    pub fn larger_tolerance(&self) -> Option<String> {
        let now = self.method.jump_tolerance().filter(|_| self.chosen.is_empty())?;
        if let Some(larger) = self.below_round_off() {
            return Some(larger);
        }
        // Most steps are over it: a smaller one changes nothing.
        let statistics = self.engine.statistics();
        (2 * statistics.over_tolerance > statistics.accepted)
            .then(|| format!("a larger `--tolerance`: most steps are over {now:e} whatever their size"))
    }

    /// p of `steps ∝ tolerance^(-1/p)`: one more than the mean order of holds.
    pub(crate) fn order(&self) -> f64 {
        let counts = self.engine.order_counts().iter();
        let sum = counts.fold([0; 3], |sum, n| [sum[0] + n[0], sum[1] + n[1], sum[2] + n[2]]);
        match sum.iter().sum::<u64>() {
            0 => match self.method.hold {
                HoldOrder::Fixed(order) => 1.0 + f64::from(order),
                HoldOrder::Variable => 2.0,
            },
            all => 1.0 + (sum[1] + 2 * sum[2]) as f64 / all as f64,
        }
    }

    /// Measuring the error, unless the run does so or its steps cannot be halved.
    pub fn verify(&self, system: &System) -> Option<&'static str> {
        let whole = self.engine.settings().quantum.is_some();
        (!whole && system.verdict.verify_by().is_none() && system.simulation.repeats.is_none())
            .then_some(VERIFY)
    }

    /// A higher hold order, where the subsystem of `input` follows one.
    pub fn higher_hold(&self, input: usize) -> Option<&'static str> {
        let network = self.engine.network();
        let member = &network.members[network.owner_of_input[input]];
        let follows = member.capabilities.input_derivatives > 0;
        (follows && self.method.hold == HoldOrder::Fixed(0)).then_some("`hold = 1`")
    }

    /// Re-reading outputs, where a subsystem with feed-through can and does not.
    pub fn refresh(&self) -> Option<&'static str> {
        let members = self.engine.network().members.iter().enumerate();
        let mut able = members.filter(|(s, member)| {
            member.may_feed_through() && member.capabilities.can_refresh && !self.refreshed.contains(s)
        });
        (matches!(self.method.refresh, Refresh::Off) && able.next().is_some()).then_some("`refresh = true`")
    }

    /// Rejecting steps, where every subsystem can be restored and nothing does so yet.
    pub fn rollback(&self) -> Option<&'static str> {
        let rejects = matches!(self.method.controller.value, Controller::Rollback(_));
        let able = self.engine.network().members.iter().all(|member| member.capabilities.can_restore);
        // At the smallest step there is nothing to be made again.
        let statistics = self.engine.statistics();
        let helps = 2 * statistics.at_floor <= statistics.over_tolerance;
        (able && !rejects && helps).then_some("`controller = { kind = \"rollback\" }`")
    }

    /// Subsystems whose outputs are read again at every communication point only because nobody knows whether they depend on inputs
    /// at once, and for which nothing was found that does.
    pub fn perhaps_without_feed_through(&self) -> Vec<usize> {
        let network = self.engine.network();
        let identified = self.engine.identified();
        let found = |s: usize| {
            let mut of = identified.iter().filter(|f| network.owner_of_output[f.output] == s);
            of.any(|f| f.gain != 0.0 && f.confidence > 0.5)
        };
        let is_silent = |s: usize| {
            let member = &network.members[s];
            member.evidence == Evidence::Unknown
                && matches!(member.simulator.info().feed_through, FeedThrough::Unknown)
        };
        self.refreshed.iter().copied().filter(|&s| is_silent(s) && !found(s)).collect()
    }
}

/// How the advice begins that comes before everything else.
pub(crate) const LEAVE_OUT: &str = "leave out";
/// What tells the error of any run.
pub(crate) const VERIFY: &str = "`--verify` measures the error";

/// To 1, 2 or 5 times a power of ten.
pub(crate) fn round_down(x: f64) -> f64 {
    let exponent = x.log10().floor() as i32;
    let lead = x / 10f64.powi(exponent);
    let digit = [5, 2, 1].into_iter().find(|&d| lead >= f64::from(d) * (1.0 - 1e-9)).unwrap_or(1);
    // As it would be typed.
    format!("{digit}e{exponent}").parse().unwrap_or(x)
}

/// Ways in a sentence: the first one, and what to try after it.
pub(crate) fn in_words(ways: impl IntoIterator<Item = impl Into<String>>) -> String {
    ways.into_iter().map(Into::into).collect::<Vec<String>>().join("; or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_are_round() {
        for (x, round) in
            [(1e-3, 1e-3), (9.9e-4, 5e-4), (4.9e-4, 2e-4), (1.9e-4, 1e-4), (0.05, 0.05), (3.0, 2.0)]
        {
            assert_eq!(round_down(x), round, "{x}");
        }
    }
}
