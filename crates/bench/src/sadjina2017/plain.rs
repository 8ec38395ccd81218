//! The scheme of sadjina2017 for the linear quarter car, reticulation 1, in a plain loop: of the models only the exact solution is used, of
//! the engine nothing.

use crate::quarter_car::reference;

/// Half the mean |δP| over the mean |ΔP| at a constant step in 4 s; `micro_steps` Euler steps of the wheel in each.
pub fn estimate_over_error(step: f64, micro_steps: u32) -> f64 {
    let (chassis, wheel, spring, tyre, damping, road) = (400.0, 40.0, 15e3, 150e3, 1e3, 0.1);
    let mut exact = reference(false);
    // Of the chassis, and of the wheel, which integrates the motion of the chassis once per step.
    let (mut velocity, mut force) = (0.0, 0.0);
    let (mut far_end, mut z, mut w) = (0.0, 0.0, 0.0);
    let (mut estimate, mut error) = (0.0, 0.0);
    let mut steps = 0u32;
    while f64::from(steps) * step < 4.0 * (1.0 - 1e-9) {
        let (held_force, held_velocity) = (-force, velocity);
        far_end += step * held_velocity;
        let dt = step / f64::from(micro_steps);
        for _ in 0..micro_steps {
            let between = spring * (far_end - z) + damping * (held_velocity - w);
            let rate = (between - tyre * (z - road)) / wheel;
            (z, w) = (z + dt * w, w + dt * rate);
        }
        force = spring * (far_end - z) + damping * (held_velocity - w);
        velocity += step * held_force / chassis;
        steps += 1;
        exact.advance_to(f64::from(steps) * step);
        // Both products are powers that enter: their sum is what the coupling creates.
        estimate += 0.5 * (held_force * velocity + held_velocity * force).abs();
        error += (velocity * force - exact.chassis_velocity() * exact.force()).abs();
    }
    estimate / error
}
