//! `[verdict]`: where the words of the verdict begin, and what makes a run fail.

use crate::Error;
use crate::error::Collector;
use crate::number::{share, short, small_share};
use crate::source::{At, Node};
use powerbond_core::observe::verdict::VerdictLimits;
use serde::{Deserialize, Serialize};

/// How often every step is halved when a run is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verify {
    /// Once: a second run.
    Halves,
    /// Once and twice: a second and a third run, from which the order of convergence is known.
    Quarters,
}

impl Verify {
    /// As it is written.
    pub fn text(self) -> &'static str {
        match self {
            Verify::Halves => "halves",
            Verify::Quarters => "quarters",
        }
    }
}

/// How own steps of subsystems are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnStepsBy {
    /// They are not.
    Nothing,
    /// Every 50th step is also made in halves, and rolled back, by those that can be restored.
    Probes,
    /// The same; beside those that cannot be restored, and whose outputs depend on the length of their steps, a second instance makes every
    /// step in halves.
    #[default]
    Needed,
    /// The same beside all that cannot be restored.
    Twin,
}

impl OwnStepsBy {
    /// As it is written, in quotes where it is a text.
    pub fn text(self) -> &'static str {
        match self {
            OwnStepsBy::Nothing => "false",
            OwnStepsBy::Probes => "\"probes\"",
            OwnStepsBy::Needed => "true",
            OwnStepsBy::Twin => "\"twin\"",
        }
    }
}

/// `[verdict]`.
#[derive(Clone, Debug)]
pub struct VerdictSpec {
    /// Of the score and its explanations.
    pub limits: VerdictLimits,
    /// |residual| over exchanged energy of a bond above this is a reason.
    pub residual: f64,
    /// Share of steps over tolerance, or at the step floor, above this is a reason to check.
    pub over_tolerance: f64,
    /// Share of steps in which the energy correction hit its cap above this is a reason to check.
    pub capped: f64,
    /// The run fails if the estimated error is larger.
    pub max_error: Option<At<f64>>,
    /// The run fails if |residual| over exchanged energy of a bond is larger.
    pub max_energy_residual: Option<At<f64>>,
    /// How own steps of subsystems are found.
    pub own_steps: OwnStepsBy,
    /// The run is verified by finer ones.
    pub verify: Option<Verify>,
    /// The run is repeated with other tolerances until its verified error is no larger.
    pub error: Option<At<f64>>,
}

impl Default for VerdictSpec {
    fn default() -> Self {
        VerdictSpec {
            limits: VerdictLimits::default(),
            residual: 0.05,
            over_tolerance: 0.1,
            capped: 0.5,
            max_error: None,
            max_energy_residual: None,
            own_steps: OwnStepsBy::default(),
            verify: None,
            error: None,
        }
    }
}

const KEYS: &[&str] = &[
    "trustworthy",
    "unreliable",
    "min_steps",
    "roughness",
    "ringing",
    "growth",
    "residual",
    "over_tolerance",
    "capped",
    "max_error",
    "max_energy_residual",
    "own_steps",
    "verify",
    "error",
];

impl VerdictSpec {
    /// Reads `[verdict]`.
    pub fn read(node: Node<'_>) -> Result<Self, Error> {
        let mut problems = Collector::new();
        let table = node.table_with(&mut problems, "`[verdict]`", KEYS)?;
        let mut spec = VerdictSpec::default();
        let mut number = |key, value: &mut f64| {
            if let Some(given) = table.get(key).and_then(|n| problems.keep(limit(n))) {
                *value = given.value;
            }
        };
        number("trustworthy", &mut spec.limits.trustworthy);
        number("unreliable", &mut spec.limits.unreliable);
        number("roughness", &mut spec.limits.roughness);
        number("ringing", &mut spec.limits.ringing);
        number("growth", &mut spec.limits.growth);
        number("residual", &mut spec.residual);
        number("over_tolerance", &mut spec.over_tolerance);
        number("capped", &mut spec.capped);
        if let Some(steps) = table.get("min_steps").and_then(|n| problems.keep(n.count(0, u32::MAX))) {
            spec.limits.min_steps = u64::from(steps.value);
        }
        spec.max_error = table.get("max_error").and_then(|n| problems.keep(allowed(n)));
        spec.max_energy_residual = table.get("max_energy_residual").and_then(|n| problems.keep(allowed(n)));
        if let Some(by) = table.get("own_steps").and_then(|n| problems.keep(own_steps(n))) {
            spec.own_steps = by;
        }
        spec.verify = table.get("verify").and_then(|n| problems.keep(verify(n))).flatten();
        spec.error = table.get("error").and_then(|n| problems.keep(goal(n)));
        let VerdictLimits { trustworthy, unreliable, .. } = spec.limits;
        if problems.is_clean() && trustworthy > unreliable {
            problems.keep::<()>(node.fail(format!(
                "`trustworthy` ends at {trustworthy} and `unreliable` begins at {unreliable}; the first must not be larger"
            )));
        }
        problems.finish(spec)
    }
}

impl VerdictSpec {
    /// How the run is verified, if it is: an error that is asked for has to be known.
    pub fn verify_by(&self) -> Option<Verify> {
        self.verify.or(self.error.as_ref().map(|_| Verify::Halves))
    }
}

/// `true`, `false`, "halves" or "quarters".
pub(crate) fn verify(node: Node<'_>) -> Result<Option<Verify>, Error> {
    if !node.is_text() {
        return Ok(node.flag()?.value.then_some(Verify::Halves));
    }
    let text = node.text()?.value;
    match [Verify::Halves, Verify::Quarters].into_iter().find(|by| by.text() == text) {
        Some(by) => Ok(Some(by)),
        None => node.expected("true, false, \"halves\" or \"quarters\""),
    }
}

/// true, false, "probes" or "twin".
fn own_steps(node: Node<'_>) -> Result<OwnStepsBy, Error> {
    let text = if node.is_text() { node.text()?.value } else { String::new() };
    match (text.as_str(), node.flag()) {
        ("probes", _) => Ok(OwnStepsBy::Probes),
        ("twin", _) => Ok(OwnStepsBy::Twin),
        (_, Ok(flag)) => Ok(if flag.value { OwnStepsBy::Needed } else { OwnStepsBy::Nothing }),
        _ => node.expected("true, false, \"probes\" or \"twin\""),
    }
}

/// An error that is asked for: a share above 0.
fn goal(node: Node<'_>) -> Result<At<f64>, Error> {
    let value = allowed(node)?;
    if value.value > 0.0 { Ok(value) } else { node.expected("a share above 0, such as \"1%\",") }
}

/// A share that may not be exceeded; more than the whole has to be written in percent.
fn allowed(node: Node<'_>) -> Result<At<f64>, Error> {
    let value = limit(node)?;
    let text = if node.is_text() { node.text()?.value } else { short(value.value) };
    match small_share(&text) {
        Ok(_) => Ok(value),
        Err(why) => node.fail(why),
    }
}

/// A number of 0 or more; as a text it may be in percent.
fn limit(node: Node<'_>) -> Result<At<f64>, Error> {
    let value = if node.is_text() { share(&node.text()?.value) } else { Some(node.number()?.value) };
    match value {
        Some(x) if x >= 0.0 => Ok(node.at(x)),
        _ => node.expected("a number of 0 or more, or a share such as \"0.5%\","),
    }
}
