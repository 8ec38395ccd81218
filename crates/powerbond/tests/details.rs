//! The values behind `details = true` in `[record]`, each against a simulation that is written out here.

use powerbond::{Done, System};

fn run(file: &str) -> Done {
    let mut session = System::parse("details", file).expect("a sound system").start().expect("a start");
    session.run().expect("a sound run");
    session.finish().expect("the end")
}

fn column(done: &Done, name: &str) -> Vec<f64> {
    done.energy.column(name).unwrap_or_else(|| panic!("no column `{name}`"))
}

/// Equal up to a share of the largest expected value, or of `size`: the same sums in another order.
#[track_caller]
fn same(what: &str, found: &[f64], expected: &[f64], size: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    assert!(largest > 0.0, "{what}: nothing to compare");
    for (k, (a, b)) in found.iter().zip(expected).enumerate() {
        let round_off = (1e-9 * largest).max(1e-14 * size);
        assert!((a - b).abs() <= round_off, "{what}, row {k}: {a}, expected {b}");
    }
}

/// The polynomial of order `m` (lower while there are fewer) through equidistant values, the newest last, at `s` steps after the newest.
fn extrapolated(past: &[f64], m: usize, s: f64) -> f64 {
    let n = (m + 1).min(past.len());
    let value = |j: usize| past[past.len() - 1 - j];
    let weight = |j: usize| {
        (0..n).filter(|&k| k != j).map(|k| (s + k as f64) / (k as f64 - j as f64)).product::<f64>()
    };
    (0..n).map(|j| weight(j) * value(j)).sum()
}

const H: f64 = 1e-3;
const STEPS: usize = 400;
const RATE: usize = 4;
const NU: f64 = 0.25;
const CAP: f64 = 0.05;
const TOLERANCE: f64 = 1e-3;
const SCALE: f64 = 5000.0;

/// Case 1 of rodriguez2022 Table 1 with a fast mass.
fn oscillator(hold: usize) -> String {
    format!(
        r#"
        simulation = {{ stop = {}, step = {H} }}
        connections = [
            {{ from = "m.position", to = "g.position" }},
            {{ from = "m.velocity", to = "g.velocity" }},
            {{ from = "g.force", to = "m.force" }},
        ]
        record = {{ details = true }}
        [subsystems.g]
        model = "oscillator/force-giver"
        parameters = {{ mass = 1, stiffness = 10, damping = 0, coupling_stiffness = 100, coupling_damping = 0, initial_velocity = 100 }}
        [subsystems.m]
        model = "oscillator/mass"
        rate = {RATE}
        parameters = {{ mass = 1, stiffness = 1000, damping = 0, initial_velocity = -100 }}
        [bonds.b]
        ports = [{{ input = "m.force", output = "m.velocity", sign = -1 }}, {{ input = "g.velocity", output = "g.force", sign = 1 }}]
        [method]
        hold = {hold}
        start = "plain"
        correction = {{ kind = "energy", nu = {NU}, cap = {CAP} }}
        monitors = [{{ kind = "energy", tolerance = {TOLERANCE}, energy_scale = {SCALE} }}]
        "#,
        STEPS as f64 * H
    )
}

/// What a step of the oscillator came to.
#[derive(Default)]
struct Expected {
    p12: Vec<f64>,
    residual: Vec<f64>,
    error: Vec<f64>,
    force: Vec<f64>,
    zeta: Vec<f64>,
    uncorrected: Vec<f64>,
    capped: Vec<f64>,
}

/// rodriguez2022 eq. 13–17 around both bodies, which are integrated by symplectic Euler.
fn by_hand(hold: usize, mu: f64) -> Expected {
    let mut expected = Expected::default();
    let ([mut x1, mut v1], [mut x2, mut v2]) = ([0.0, 100.0], [0.0, -100.0]);
    let (mut forces, mut positions, mut velocities) = (vec![0.0], vec![x2], vec![v2]);
    let (mut correction, mut capped, mut zeta, mut uncorrected) = (0.0f64, false, 0.0, 0.0);
    for _ in 0..STEPS {
        let (f_old, v_old) = (forces[forces.len() - 1], velocities[velocities.len() - 1]);
        let f = |s: f64| extrapolated(&forces, hold, s);
        for i in 0..RATE {
            let h = H / RATE as f64;
            v2 += h * (-1000.0 * x2 + f(i as f64 / RATE as f64) + correction);
            x2 += h * v2;
        }
        // The giver samples its inputs at the start of its only step.
        let given = positions[positions.len() - 1];
        v1 += H * (-10.0 * x1 + 100.0 * (given - x1));
        x1 += H * v1;
        let f_new = -100.0 * (given - x1);
        // What would have been held at the end of the step, without correction.
        let held = f(1.0) * v2 - f_new * extrapolated(&velocities, hold, 1.0);
        let residual = f_old * v2 - f_new * v_old;
        expected.p12.push(-f_new * v2);
        expected.residual.push(residual);
        expected.error.push(held * H / (TOLERANCE * (SCALE + (f_new * v2 * H).abs())));
        expected.force.push(correction.abs());
        expected.capped.push(f64::from(u8::from(capped)));
        uncorrected += zeta + correction * v2 * H;
        zeta = mu * H * residual;
        expected.zeta.push(zeta);
        expected.uncorrected.push(uncorrected);
        let wanted = -(zeta + NU * uncorrected) / (v2 * H);
        let cap = CAP * f_new.abs();
        capped = wanted.abs() > cap;
        correction = if capped { cap.copysign(wanted) } else { wanted };
        forces.push(f_new);
        positions.push(x2);
        velocities.push(v2);
    }
    expected
}

/// P12, δP in the endpoint form, ε of the bond, f_corr, ζ, 𝒰, μ and hits of the cap under every hold. μ by rodriguez2022 eq. 20–21 with
/// one side that feeds through and is four times slower: 0.5 (1.5 − 0.5/4) with a zero-order hold, 0.5 with the others.
#[test]
fn the_energy_correction_is_recorded_as_the_paper_defines_it() {
    for hold in 0..3 {
        let mu = if hold == 0 { 0.5 * (1.5 - 0.5 / RATE as f64) } else { 0.5 };
        let (done, expected) = (run(&oscillator(hold)), by_hand(hold, mu));
        let what = |name: &str| format!("hold {hold}, {name}");
        let columns = [
            ("b.P12", &expected.p12),
            ("b.dP_last", &expected.residual),
            ("b.error", &expected.error),
            ("b.f_corr", &expected.force),
            ("b.zeta", &expected.zeta),
            ("b.U", &expected.uncorrected),
        ];
        for (name, expected) in columns {
            same(&what(name), &column(&done, name), expected, 0.0);
        }
        assert!(column(&done, "b.mu").iter().all(|found| (found - mu).abs() < 1e-15), "{}", what("mu"));
        assert_eq!(column(&done, "b.capped"), expected.capped, "{}", what("capped"));
        let hits = expected.capped.iter().sum::<f64>();
        assert!(hits > 10.0 && hits < 0.9 * STEPS as f64, "{hits} hits");
        assert!(column(&done, "rejected_norm").iter().all(|norm| norm.is_nan()));
    }
}

const NOMINAL: [f64; 4] = [0.1, 1.0, 0.1, 1.0];

/// The quarter car in which both sides know the suspension, ten Euler steps per step.
fn car(hold: usize, step: f64, stop: f64, method: &str) -> String {
    let integrator = "integrator = \"euler\", micro_steps = 10";
    format!(
        r#"
        simulation = {{ stop = {stop}, step = {step} }}
        connections = [
            {{ from = "chassis.position", to = "wheel.chassis_position" }},
            {{ from = "chassis.velocity", to = "wheel.chassis_velocity" }},
            {{ from = "wheel.position", to = "chassis.wheel_position" }},
            {{ from = "wheel.velocity", to = "chassis.wheel_velocity" }},
        ]
        inputs = {{ "wheel.road" = 0.1, "wheel.road_velocity" = 0 }}
        record = {{ details = true }}
        [subsystems.chassis]
        model = "quarter-car/chassis-dd"
        parameters = {{ {integrator} }}
        [subsystems.wheel]
        model = "quarter-car/wheel-dd"
        parameters = {{ {integrator} }}
        [method]
        hold = {hold}
        {method}
        "#
    )
}

/// `xc, ẋc, xw, ẋw`.
type Motion = [f64; 4];

/// Both bodies from `x` over one step of length `h`; each sees the other at `past` with order `m`, from `s` steps after the newest on.
fn cross(mut x: Motion, h: f64, past: &[Motion], m: usize, s: f64) -> Motion {
    let seen = |k: usize, s: f64| extrapolated(&past.iter().map(|x| x[k]).collect::<Vec<_>>(), m, s);
    let dt = h / 10.0;
    for i in 0..10 {
        let at = s + f64::from(i) / 10.0;
        let on_chassis = 15_000.0 * (seen(2, at) - x[0]) + 1000.0 * (seen(3, at) - x[1]);
        let off_wheel = 15_000.0 * (x[2] - seen(0, at)) + 1000.0 * (x[3] - seen(1, at));
        let acceleration = (150_000.0 * (0.1 - x[2]) - off_wheel) / 40.0;
        x = [x[0] + dt * x[1], x[1] + dt * on_chassis / 400.0, x[2] + dt * x[3], x[3] + dt * acceleration];
    }
    x
}

/// Two steps after `past`, and EST of arnold2013 eq. 26. Constants by output: `c − 1` of one integration (2, 14/5, 32/9) for velocities
/// and of two (8/5, 2, 496/211) for positions. c is the ratio of what the error t(t + 1)…(t + m) of the extrapolation comes to: in one
/// step from 0 to 2, and in two from 0 to 1.
fn pair(past: &mut Vec<Motion>, h: f64, m: usize) -> Motion {
    let start = past[past.len() - 1];
    let middle = cross(start, h, past, m, 0.0);
    let big = cross(middle, h, past, m, 1.0);
    past.push(middle);
    let end = cross(middle, h, past, m, 0.0);
    past.push(end);
    let [position, velocity] =
        [[8.0 / 5.0, 2.0, 496.0 / 211.0], [2.0, 14.0 / 5.0, 32.0 / 9.0]].map(|c| c[m] - 1.0);
    [position, velocity, position, velocity]
        .iter()
        .enumerate()
        .map(|(k, c)| (big[k] - end[k]) / c)
        .collect::<Vec<f64>>()
        .try_into()
        .expect("four outputs")
}

#[test]
fn the_estimate_of_every_output_is_recorded() {
    let h = 1e-3;
    for hold in 0..2 {
        let done = run(&car(hold, h, 0.1, "estimator = \"richardson\""));
        let mut past = vec![[0.0; 4]];
        let expected: Vec<Motion> = (0..50).map(|_| pair(&mut past, h, hold)).collect();
        let names = ["chassis.position", "chassis.velocity", "wheel.position", "wheel.velocity"];
        for (k, name) in names.iter().enumerate() {
            let found = column(&done, &format!("error.{name}"));
            assert!(found.iter().step_by(2).all(|e| e.is_nan()), "{name}: no pair ends there");
            // The first pairs are held with what past there is.
            let (found, expected) = (found.iter().skip(1).step_by(2), expected.iter().map(|e| e[k]));
            let (found, expected): (Vec<f64>, Vec<f64>) =
                (found.copied().skip(2 * hold).collect(), expected.skip(2 * hold).collect());
            // Differences of outputs, of which none is larger than 5.
            same(&format!("hold {hold}, {name}"), &found, &expected, 5.0);
        }
    }
}

/// A grid with hold 2 begins with short steps that build up a past; by hand it goes on from there.
#[test]
fn the_estimate_with_a_quadratic_hold_is_recorded() {
    let h = 1e-3;
    let done = run(&car(2, h, 0.1, "estimator = \"richardson\""));
    let names = ["chassis.position", "chassis.velocity", "wheel.position", "wheel.velocity"];
    let recorded = names.map(|name| done.table.column(name).expect("an output"));
    let errors = names.map(|name| column(&done, &format!("error.{name}")));
    let time = done.table.column("time").expect("the time");
    let steps = column(&done, "time");
    // The first end of a pair with two steps of the grid before it; rows of energies have no start.
    let regular = |row: usize| (time[row] - time[row - 1] - h).abs() < 1e-9 * h;
    let first = (2..time.len()).find(|&row| regular(row) && regular(row - 1)).expect("a grid");
    let first = (first..time.len())
        .find(|&row| steps.iter().position(|t| *t == time[row]).is_some_and(|k| errors[0][k].is_finite()))
        .expect("a pair");
    let at = steps.iter().position(|t| *t == time[first]).expect("a step");
    let mut past: Vec<Motion> =
        (first - 2..=first).map(|row| recorded.each_ref().map(|values| values[row])).collect();
    let pairs = (steps.len() - 1 - at) / 2;
    assert!(pairs >= 40, "{pairs} pairs");
    let expected: Vec<Motion> = (0..pairs).map(|_| pair(&mut past, h, 2)).collect();
    for (k, name) in names.iter().enumerate() {
        let found: Vec<f64> = errors[k][at + 2..].iter().step_by(2).copied().take(pairs).collect();
        same(name, &found, &expected.iter().map(|e| e[k]).collect::<Vec<_>>(), 5.0);
    }
}

/// The first pair is too long: its norm is that of the estimates above, and the largest of all that were rejected.
#[test]
fn the_norm_of_a_rejected_pair_is_recorded() {
    let (h, tolerance) = (0.02, 1e-3);
    let method = format!(
        "estimator = {{ kind = \"richardson\", tolerance = {tolerance}, nominal = {{ \"chassis.position\" = 0.1, \
         \"chassis.velocity\" = 1.0, \"wheel.position\" = 0.1, \"wheel.velocity\" = 1.0 }} }}\n\
         controller = {{ kind = \"rollback\", max_step = 0.05 }}"
    );
    let done = run(&car(0, h, 0.1, &method));
    let errors = pair(&mut vec![[0.0; 4]], h, 0);
    let square = errors.iter().zip(NOMINAL).map(|(e, n)| (e / (tolerance * n)).powi(2)).sum::<f64>();
    let expected = (square / 4.0).sqrt();
    let found = column(&done, "rejected_norm");
    assert!(expected > 1.0 && (found[0] / expected - 1.0).abs() < 1e-9, "{} for {expected}", found[0]);
    assert!(found[1].is_nan(), "the second step of a pair rejects nothing of its own");
}
