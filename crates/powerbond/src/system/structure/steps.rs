//! A base step and the hints of single simulators become one macro step and sub-steps in it.

use crate::number::short;
use crate::source::At;
use crate::system::{MAX_RATE, SubsystemSpec};

/// Hints may differ from multiples of the base step by this share without a note: they are decimal numbers.
const ROUND_OFF: f64 = 1e-6;

/// As libcosim runs them: the simulator with hint `s` takes one step of `d B`, with `d = max(1, ⌊s / B⌋)` and `B` the base step, and two of
/// them exchange values whenever their steps end together.
pub struct Steps {
    /// The base step, in s.
    pub base: Option<At<f64>>,
}

impl Steps {
    /// The macro step, and for every subsystem its sub-steps in it, `hints` being in the order of `subsystems`. The macro step is the least
    /// common multiple of all steps.
    pub fn apply(
        self,
        subsystems: &mut [SubsystemSpec],
        hints: &[Option<At<f64>>],
        notes: &mut Vec<String>,
    ) -> Option<At<f64>> {
        let base = self.base.filter(|base| base.value > 0.0)?;
        let mut steps = vec![1u64; subsystems.len()];
        for ((spec, hint), d) in subsystems.iter().zip(hints).zip(&mut steps) {
            let Some(hint) = hint.as_ref().filter(|hint| hint.value > 0.0) else { continue };
            let ratio = hint.value / base.value;
            *d = (ratio * (1.0 + ROUND_OFF)).floor().clamp(1.0, f64::from(MAX_RATE)) as u64;
            if (ratio / *d as f64 - 1.0).abs() > ROUND_OFF {
                notes.push(format!(
                    "{}the step of `{}`, {} s, is not a multiple of the base step {} s; it runs with {} s",
                    hint.prefix(),
                    spec.name.value,
                    short(hint.value),
                    short(base.value),
                    short(*d as f64 * base.value)
                ));
            }
        }
        let longest = steps.iter().copied().max().unwrap_or(1);
        let common = steps.iter().try_fold(1u64, |all, d| {
            let multiple = all / gcd(all, *d) * d;
            (multiple <= u64::from(MAX_RATE)).then_some(multiple)
        });
        let common = common.unwrap_or_else(|| {
            notes.push(format!(
                "{}the steps of the simulators have no common multiple of at most {MAX_RATE} base steps; all exchange values \
                 every {} s",
                base.prefix(),
                short(longest as f64 * base.value)
            ));
            longest
        });
        for (spec, d) in subsystems.iter_mut().zip(steps) {
            let rate = (common / d.min(common)).max(1) as u32;
            if rate > 1 {
                spec.rate = Some(base.with(rate));
            }
        }
        Some(base.with(common as f64 * base.value))
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{FmuOptions, SimulatorSpec};

    #[test]
    fn the_macro_step_is_the_least_common_multiple() {
        let check = |base: f64, hints: &[Option<f64>], step: f64, rates: &[u32], noted: usize| {
            let spec = |n: usize| {
                let fmu = SimulatorSpec::Fmu(At::default("x.fmu".into()), FmuOptions::default());
                SubsystemSpec::new(At::default(format!("s{n}")), fmu)
            };
            let mut specs: Vec<SubsystemSpec> = (0..hints.len()).map(spec).collect();
            let hints: Vec<_> = hints.iter().map(|h| h.map(At::default)).collect();
            let mut notes = Vec::new();
            let found =
                Steps { base: Some(At::default(base)) }.apply(&mut specs, &hints, &mut notes).unwrap();
            assert!((found.value / step - 1.0).abs() < 1e-12, "{}", found.value);
            let of = |spec: &SubsystemSpec| spec.rate.as_ref().map_or(1, |rate| rate.value);
            assert_eq!(specs.iter().map(of).collect::<Vec<_>>(), rates);
            assert_eq!(notes.len(), noted, "{notes:?}");
        };
        check(1e-3, &[None, None], 1e-3, &[1, 1], 0);
        check(1e-4, &[Some(2e-4), Some(2e-4), Some(2.03e-4)], 2e-4, &[1, 1, 1], 1);
        check(0.1, &[Some(0.2), None], 0.2, &[1, 2], 0);
        check(0.1, &[Some(0.2), Some(0.3), None], 0.6, &[3, 2, 6], 0);
        check(0.1, &[Some(0.2), Some(0.3)], 0.6, &[3, 2], 0);
        check(0.1, &[Some(0.2), Some(0.4), None], 0.4, &[2, 1, 4], 0);
        check(0.1, &[Some(0.04)], 0.1, &[1], 1);
        check(1.0, &[Some(99_991.0), Some(99_989.0)], 99_991.0, &[1, 1], 1);
    }
}
