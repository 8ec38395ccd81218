//! Whether a member integrates with the communication step, by trying: scratch instances make the same steps whole, in halves and in
//! quarters.
//!
//! Where states can be restored, probes see this during the run (`subsystem::own_step`). Where they cannot, this is evidence at the
//! start: inputs are displaced, so that something moves, and stay there.

use super::probe::{entered, perturbation};
use crate::network::Network;
use crate::subsystem::{Inputs, Setup, Span, SubsystemError, ValueKind};

/// Steps that are tried.
const STEPS: u32 = 4;

/// By how much inputs are displaced, relative to the larger of their value and their nominal value.
const SHARE: f64 = 0.5;

/// A difference between whole and half steps above this share of the motion is an integration with the step, if it shrinks with the
/// step. One step of Euler's method differs by λh/4: this is one of λh = 4e-4.
const CLEAR: f64 = 1e-4;

/// Motion below this share of an output is round-off.
const ROUND_OFF: f64 = 1e-10;

/// Whether outputs of a member depend on the length of its steps, tried with steps of `h` seconds from the start; none where that cannot
/// be tried, or a call failed.
pub fn depends_on_steps(network: &Network, member: usize, setup: &Setup, h: f64) -> Option<bool> {
    let can = &network.members[member].capabilities;
    let divided = can.sub_steps && !can.constant_step && can.fixed_step.is_none();
    divided.then(|| try_out(network, member, setup, h)).and_then(Result::ok).flatten()
}

/// None if there are no instances, if an event came or if nothing moved.
fn try_out(network: &Network, s: usize, setup: &Setup, h: f64) -> Result<Option<bool>, SubsystemError> {
    let cross = |parts| crossed(network, s, setup, h, parts);
    let (Some(whole), Some(halves)) = (cross(1)?, cross(2)?) else { return Ok(None) };
    let moved = |o: &Crossed| o.travel > ROUND_OFF * o.end.abs();
    if !whole.iter().any(moved) {
        return Ok(None);
    }
    let differs = |a: &Crossed, b: &Crossed| (a.end - b.end).abs();
    let clear = |a: &Crossed, b: &Crossed| moved(a) && differs(a, b) > CLEAR * a.travel;
    if !whole.iter().zip(&halves).any(|(a, b)| clear(a, b)) {
        return Ok(Some(false));
    }
    // The noise of an adaptive solver does not shrink with the step.
    let Some(quarters) = cross(4)? else { return Ok(None) };
    let shrinks = |((a, b), c)| clear(a, b) && differs(a, b) >= std::f64::consts::SQRT_2 * differs(b, c);
    Ok(Some(whole.iter().zip(&halves).zip(&quarters).any(shrinks)))
}

/// An output after the steps.
struct Crossed {
    end: f64,
    /// How far it has been from its start.
    travel: f64,
}

/// Real outputs of a scratch instance after [`STEPS`] steps in `parts` each; none if there is no instance, or if an event came.
fn crossed(
    network: &Network,
    s: usize,
    setup: &Setup,
    h: f64,
    parts: u32,
) -> Result<Option<Vec<Crossed>>, SubsystemError> {
    let member = &network.members[s];
    let Some(mut scratch) = member.simulator.scratch() else { return Ok(None) };
    let mut u = entered(network, s, scratch.as_mut(), setup)?;
    let mut y = vec![0.0; member.outputs.len()];
    scratch.evaluate(Inputs::constant(&u), &mut y)?;
    for (u, scale) in u.iter_mut().zip(&network.input_scale[member.inputs.clone()]) {
        if scale.kind == ValueKind::Real {
            *u += perturbation(*u, scale, SHARE);
        }
    }
    // What follows inputs at once has done so before the first step.
    scratch.evaluate(Inputs::constant(&u), &mut y)?;
    scratch.start()?;
    let first = y.clone();
    let mut travel = vec![0.0_f64; y.len()];
    for k in 0..STEPS * parts {
        let span = Span::new(setup.start, f64::from(STEPS) * h).part(k, STEPS * parts);
        if !scratch.advance(span, Inputs::constant(&u), &mut y)?.is_uneventful(span) {
            scratch.finish()?;
            return Ok(None);
        }
        travel.iter_mut().zip(y.iter().zip(&first)).for_each(|(t, (y, y0))| *t = t.max((y - y0).abs()));
    }
    scratch.finish()?;
    let reals = member.outputs.clone().map(|o| network.output_variable(o).kind == ValueKind::Real);
    let outputs = y.iter().zip(&travel).zip(reals).filter(|(_, real)| *real);
    Ok(Some(outputs.map(|((&end, &travel), _)| Crossed { end, travel }).collect()))
}
