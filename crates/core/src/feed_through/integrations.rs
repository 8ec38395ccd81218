//! How many integrations lie between connected inputs and an output, by trying: a scratch instance makes short steps.

use super::probe::{entered, perturbation};
use crate::network::Network;
use crate::subsystem::{Inputs, Setup, Span, Subsystem, SubsystemError};

/// Lengths of the steps that are tried, as shares of the run; the first one that gives a clear answer counts.
const STEPS: [f64; 3] = [1e-5, 1e-4, 1e-3];

/// Size of the perturbation, relative to the larger of an input's value and its nominal value.
const SHARE: f64 = 1e-3;

/// A response that is this share of the output has six digits above rounding.
const CLEAR: f64 = 1e-10;

/// How far `log2(response(2h)/response(h))` may be from an integer.
const NEAR: f64 = 0.1;

/// More integrations than these are not told apart.
const MOST: u8 = 3;

/// Finds [`Network::integrations`] of the outputs of `members`, which must be able to save and restore their state.
///
/// An input that is shifted by δ for a time h moves an output by an amount that grows with h^r, r being the number of integrations
/// between them; steps of h and 2h tell it. What gives no clear answer stays unknown.
pub fn probe_integrations(network: &mut Network, members: &[usize], setup: &Setup) {
    for &s in members {
        let Some(scratch) = network.members[s].simulator.scratch() else { continue };
        if let Ok(found) = try_out(network, s, scratch, setup) {
            network.integrations[network.members[s].outputs.clone()].copy_from_slice(&found);
        }
    }
}

fn try_out(
    network: &Network,
    s: usize,
    mut scratch: Box<dyn Subsystem>,
    setup: &Setup,
) -> Result<Vec<Option<u8>>, SubsystemError> {
    let member = &network.members[s];
    let u = entered(network, s, scratch.as_mut(), setup)?;
    let n = member.outputs.len();
    let mut y = vec![0.0; n];
    scratch.evaluate(Inputs::constant(&u), &mut y)?;
    scratch.start()?;
    scratch.save()?;
    let mut after = |u_held: &[f64], h: f64| {
        scratch.restore()?;
        let mut y = vec![0.0; n];
        scratch.advance(Span::new(setup.start, h), Inputs::constant(u_held), &mut y)?;
        if member.capabilities.can_refresh {
            // What is fed through directly is another matter.
            scratch.evaluate(Inputs::constant(&u), &mut y)?;
        }
        Ok::<_, SubsystemError>(y)
    };
    let coupled: Vec<usize> = member.inputs.clone().filter(|&i| network.wiring.is_coupled(i)).collect();
    let mut found = vec![None; n];
    for share in STEPS {
        let h = share * (setup.stop - setup.start);
        let plain = [after(&u, h)?, after(&u, 2.0 * h)?];
        let mut fewest: Vec<Option<u8>> = vec![None; n];
        let mut unclear = vec![false; n];
        for &i in &coupled {
            let k = i - member.inputs.start;
            let mut moved = u.clone();
            moved[k] += perturbation(u[k], &network.input_scale[i], SHARE);
            let moved = [after(&moved, h)?, after(&moved, 2.0 * h)?];
            for o in 0..n {
                let response = |step: usize| (moved[step][o] - plain[step][o]).abs();
                if response(1) == 0.0 {
                    continue;
                }
                match integrations(response(0), response(1), CLEAR * plain[0][o].abs()) {
                    Some(r) => fewest[o] = Some(fewest[o].map_or(r, |other| other.min(r))),
                    None => unclear[o] = true,
                }
            }
        }
        for o in 0..n {
            if found[o].is_none() && !unclear[o] {
                found[o] = fewest[o];
            }
        }
    }
    scratch.finish()?;
    Ok(found)
}

/// r with `at_double/at_single = 2^r`, if that is clear.
fn integrations(at_single: f64, at_double: f64, noise: f64) -> Option<u8> {
    let r = (at_double / at_single).log2();
    let whole = r.round();
    let clear = at_single > noise && (r - whole).abs() < NEAR && (1.0..=f64::from(MOST)).contains(&whole);
    clear.then_some(whole as u8)
}

#[cfg(test)]
mod tests {
    use super::integrations;

    #[test]
    fn the_exponent_of_a_response_is_the_number_of_integrations() {
        assert_eq!(integrations(1e-3, 2.001e-3, 1e-9), Some(1));
        assert_eq!(integrations(1e-3, 4.1e-3, 1e-9), Some(2));
        assert_eq!(integrations(1e-3, 8e-3, 1e-9), Some(3));
        for (single, double, noise) in
            [(1e-3, 3e-3, 1e-9), (1e-3, 1e-3, 1e-9), (1e-3, 4e-3, 1e-2), (0.0, 1.0, 0.0)]
        {
            assert_eq!(integrations(single, double, noise), None, "{single} {double} {noise}");
        }
    }
}
