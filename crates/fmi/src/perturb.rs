//! Which outputs of a subsystem respond to which inputs at the current time: every input is moved and moved back.

use crate::description::{Kind, ModelDescription, Variable};
use powerbond_core::subsystem::{Binding, Inputs, Subsystem, SubsystemError};

/// An output that responded to an input at the same instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Response {
    /// The output, an index into [`powerbond_core::subsystem::Info::variables`].
    pub output: usize,
    /// The input, likewise.
    pub input: usize,
    /// Δy/Δu, for integers, booleans and enumerations as for reals.
    pub gain: f64,
}

impl Response {
    /// `(output, input)`.
    pub fn pair(&self) -> (usize, usize) {
        (self.output, self.input)
    }
}

/// The value of an input and up to two others to try, the nearer first; all of them inside its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Trial {
    pub base: f64,
    pub values: [Option<f64>; 2],
}

impl Trial {
    /// Around `start`. Reals move by 1e-3 · max(|u|, nominal), and by 0.1 · nominal if that shows nothing; integers by one;
    /// booleans flip; enumerations go to a neighbouring item. What has no room inside `min` and `max` is not moved.
    pub fn new(description: &ModelDescription, variable: &Variable, start: f64) -> Self {
        let (mut min, mut max) =
            (variable.min.unwrap_or(f64::NEG_INFINITY), variable.max.unwrap_or(f64::INFINITY));
        if let Some((least, most)) = variable.kind.range() {
            (min, max) = (min.max(least), max.min(most));
        }
        if !(min <= max && start.is_finite()) {
            return Trial { base: start, values: [None; 2] };
        }
        let base = start.clamp(min, max);
        let inside = |value: &f64| (min..=max).contains(value) && *value != base;
        let values = match variable.kind {
            Kind::Boolean => [Some(if base >= 0.5 { 0.0 } else { 1.0 }), None],
            kind if kind.is_real() => {
                let nominal = variable.nominal.map_or(1.0, f64::abs);
                let nominal = if nominal > 0.0 && nominal.is_finite() { nominal } else { 1.0 };
                let near = 1e-3 * base.abs().max(nominal);
                let far = Some(0.1 * nominal).filter(|&far| far > near);
                [moved(base, near, min, max), far.and_then(|far| moved(base, far, min, max))]
            }
            _ => {
                let items = description.type_of(variable).map_or(&[][..], |definition| &definition.items);
                let neighbour = if items.is_empty() {
                    [base + 1.0, base - 1.0].into_iter().find(inside)
                } else {
                    let values = || items.iter().map(|item| item.value as f64).filter(inside);
                    let above = values().filter(|&value| value > base).min_by(f64::total_cmp);
                    above.or_else(|| values().max_by(f64::total_cmp))
                };
                [neighbour, None]
            }
        };
        Trial { base, values }
    }
}

/// `base` moved by `delta` to the side that has room for it, or to the end of the wider side.
fn moved(base: f64, delta: f64, min: f64, max: f64) -> Option<f64> {
    let (min, max) = (min.max(f64::MIN), max.min(f64::MAX));
    let (up, down) = (base + delta, base - delta);
    let value = match () {
        () if up <= max => up,
        () if down >= min => down,
        () if max - base >= base - min => max,
        () => min,
    };
    (value != base).then_some(value)
}

/// All responses of bound outputs to bound inputs where the subsystem is now, sorted by output and input. Outputs that differ by
/// round-off, or by what they differ for the same inputs, do not respond.
pub(crate) fn responses(
    subsystem: &mut dyn Subsystem,
    binding: &Binding,
    trials: &[Trial],
) -> Result<Vec<Response>, SubsystemError> {
    let mut u: Vec<f64> = trials.iter().map(|trial| trial.base).collect();
    let mut y = vec![0.0; binding.outputs.len()];
    let mut other = y.clone();
    subsystem.evaluate(Inputs::constant(&u), &mut other)?;
    subsystem.evaluate(Inputs::constant(&u), &mut y)?;
    let noise: Vec<f64> = y.iter().zip(&other).map(|(a, b)| (a - b).abs()).collect();
    let mut list = Vec::new();
    for (i, trial) in trials.iter().enumerate() {
        let before = list.len();
        for value in trial.values.into_iter().flatten() {
            u[i] = value;
            subsystem.evaluate(Inputs::constant(&u), &mut other)?;
            u[i] = trial.base;
            for (o, (&a, &b)) in y.iter().zip(&other).enumerate() {
                let round_off = 64.0 * f64::EPSILON * a.abs().max(b.abs());
                if (b - a).abs() > round_off + 4.0 * noise[o] {
                    let gain = (b - a) / (value - trial.base);
                    list.push(Response { output: binding.outputs[o], input: binding.inputs[i], gain });
                }
            }
            subsystem.evaluate(Inputs::constant(&u), &mut y)?;
            if list.len() > before {
                break;
            }
        }
    }
    list.sort_unstable_by_key(Response::pair);
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::moved;

    #[test]
    fn moves_stay_inside_the_range() {
        let check = |base: f64, delta: f64, (min, max): (f64, f64), wanted: Option<f64>| {
            assert_eq!(moved(base, delta, min, max), wanted, "{base} by {delta} in {min} to {max}");
        };
        let all = (f64::NEG_INFINITY, f64::INFINITY);
        check(1.0, 0.5, all, Some(1.5));
        check(1.0, 0.5, (0.0, 1.0), Some(0.5));
        check(1.0, 0.5, (0.9, 1.0), Some(0.9));
        check(1.0, 0.5, (0.9, 1.2), Some(1.2));
        check(1.0, 0.5, (1.0, 1.0), None);
        check(f64::MAX, f64::MAX, (0.0, f64::INFINITY), Some(0.0));
    }
}
