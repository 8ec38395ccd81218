//! `stability`: the largest stable constant step, against step maps that are written out by hand.

use crate::lab::{EXAMPLE, Lab, close, edit};
use serde_json::Value;

const R1: &str = include_str!("../cases/stability-r1.toml");
const R2: &str = include_str!("../cases/stability-r2.toml");

/// In kg, N/m and N s/m.
const MC: f64 = 400.0;
const MW: f64 = 40.0;
const KC: f64 = 15000.0;
const KW: f64 = 150000.0;
const DC: f64 = 1000.0;
/// Euler steps of a subsystem.
const N: usize = 10;

/// x = (vc, zc, zw, vw, F): one step of R1 as the paper does it.
fn step_r1([vc, zc, mut zw, mut vw, force]: [f64; 5], h: f64) -> [f64; 5] {
    let far = zc + h * vc;
    let f = |zw: f64, vw: f64| KC * (far - zw) + DC * (vc - vw);
    for _ in 0..N {
        let dt = h / N as f64;
        (zw, vw) = (zw + dt * vw, vw + dt * (f(zw, vw) - KW * zw) / MW);
    }
    [vc - h * force / MC, far, zw, vw, f(zw, vw)]
}

/// x = (vc, zc, zw as the chassis integrates it, zw, vw, F): one step of R2.
fn step_r2([mut vc, mut zc, zw, z, vw, force]: [f64; 6], h: f64) -> [f64; 6] {
    let far = zw + h * vw;
    let f = |zc: f64, vc: f64| KC * (zc - far) + DC * (vc - vw);
    let (mut tyre, mut v) = (z, vw);
    for _ in 0..N {
        let dt = h / N as f64;
        (zc, vc) = (zc + dt * vc, vc - dt * f(zc, vc) / MC);
        (tyre, v) = (tyre + dt * v, v + dt * (force - KW * tyre) / MW);
    }
    [vc, zc, far, tyre, v, f(zc, vc)]
}

/// Whether a step map without inputs dies out: growth of |x| over the second half of 2^17 steps, with rescaling.
fn dies_out<const D: usize>(step: fn([f64; D], f64) -> [f64; D], h: f64) -> bool {
    const STEPS: usize = 1 << 17;
    let mut x = [1.0; D];
    let mut log = 0.0;
    for k in 0..STEPS {
        x = step(x, h);
        let size = x.iter().fold(1e-300f64, |m, v| m.max(v.abs()));
        x.iter_mut().for_each(|v| *v /= size);
        log += if k < STEPS / 2 { 0.0 } else { size.ln() };
    }
    log < 0.5
}

fn limit_of<const D: usize>(step: fn([f64; D], f64) -> [f64; D], mut low: f64, mut high: f64) -> f64 {
    assert!(dies_out(step, low) && !dies_out(step, high));
    while high > low * (1.0 + 1e-5) {
        let h = 0.5 * (low + high);
        if dies_out(step, h) { low = h } else { high = h }
    }
    low
}

fn method<'a>(found: &'a Value, name: &str) -> &'a Value {
    let methods = found["methods"].as_array().unwrap();
    methods.iter().find(|m| m["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

/// The largest stable step, in ms.
fn limit(found: &Value, name: &str) -> f64 {
    let limit = &method(found, name)["limit"];
    assert_eq!(limit["kind"], "at", "{name}: {limit}");
    1e3 * limit["step"].as_f64().unwrap()
}

fn found(system: &str, options: &[&str]) -> Value {
    let lab = Lab::with(system);
    let ran =
        lab.powerbond(&[&["stability", "system.toml", "--output-dir", "out", "--json"], options].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let found = ran.json();
    let picture = std::fs::read_to_string(lab.dir.join("out/stability.svg")).unwrap();
    assert!(picture.starts_with("<svg") && found["picture"] == picture);
    found
}

#[test]
fn the_limits_of_the_quarter_car_are_those_of_its_step_map() {
    let r1 = found(R1, &["--from", "5e-3", "--to", "0.2", "--points", "12"]);
    assert_eq!(r1["measure"], "spectral_radius");
    close(limit(&r1, "hold 0"), 1e3 * limit_of(step_r1, 0.02, 0.1), 1e-4);
    // Prototype: 58.57 ms; sadjina2017 prints about 58.5 ms.
    close(limit(&r1, "hold 0"), 58.57, 1e-4);
    let r2 = found(R2, &["--from", "2e-3", "--to", "0.1", "--points", "12"]);
    close(limit(&r2, "hold 0"), 1e3 * limit_of(step_r2, 0.005, 0.02), 1e-4);
    // Prototype: 11.25 ms; sadjina2017 prints about 11.3 ms.
    close(limit(&r2, "hold 0"), 11.25, 5e-4);
    // No method is chosen: constant steps are the system's own.
    assert_eq!(limit(&r2, "system file"), limit(&r2, "hold 0"));
    assert!(limit(&r2, "refresh") > 2.0 * limit(&r2, "hold 0"));
    assert!(method(&r2, "energy correction")["skipped"].as_str().unwrap().contains("power bonds"));
}

/// With steps of half a second everything grows by five orders of magnitude per step: what cannot be followed any more is not stable.
#[test]
fn steps_far_beyond_the_limit_are_unstable() {
    let r1 = found(R1, &["--from", "5e-2", "--to", "0.8", "--points", "10"]);
    for name in ["hold 0", "hold 1", "gauss-seidel", "refresh"] {
        let points = method(&r1, name)["points"].as_array().unwrap();
        let stable: Vec<f64> =
            points.iter().filter(|p| p["stable"] == true).filter_map(|p| p["step"].as_f64()).collect();
        let largest = stable.iter().copied().fold(0.0, f64::max);
        assert!(1e3 * largest <= limit(&r1, name) * (1.0 + 1e-9), "{name}: {stable:?}");
    }
}

/// The slowest mode of the car decays with the real part of an eigenvalue of its equations, whatever a small step does.
#[test]
fn the_radius_of_small_steps_is_that_of_the_equations() {
    let r1 = found(R1, &["--from", "2e-4", "--to", "4e-3", "--points", "3"]);
    let points = method(&r1, "hold 2")["points"].as_array().unwrap();
    // Roots of (mc s² + dc s + kc)(mw s² + dc s + kc + kw) − (dc s + kc)²: -12.7073 ± 62.558i and -1.0427 ± 5.781i 1/s.
    close(points[0]["growth"].as_f64().unwrap().ln() / points[0]["step"].as_f64().unwrap(), -1.0427, 1e-2);
    assert!(points.iter().all(|p| p["identified"] == true && p["stable"] == true));
}

#[test]
fn a_square_root_damper_is_judged_by_how_far_outputs_go() {
    let damper = |system: &str| {
        edit(system, "damping = 1000, damper = \"linear\"", "damping = 900, damper = \"square-root\"")
    };
    let r1 = found(&damper(R1), &["--from", "5e-3", "--to", "0.5", "--points", "8"]);
    assert_eq!((r1["measure"].as_str(), r1["stable_up_to"].as_f64()), (Some("range"), Some(10.0)));
    let limit = limit(&r1, "hold 0");
    assert!((20.0..200.0).contains(&limit), "{limit} ms");
}

#[test]
fn an_adaptive_method_is_looked_at_with_constant_steps_and_bad_ranges_are_refused() {
    let lab = Lab::with(EXAMPLE);
    let ran = lab.powerbond(&["stability", "system.toml", "--from", "1e-2", "--to", "0.1", "--points", "4"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("system file")
            && ran.out.contains("stability.svg is in results/quarter-car-stability"),
        "{}",
        ran.out
    );
    for (options, words) in [
        (&["--from", "0.1", "--to", "0.01"][..], "no steps between 0.1 s and 0.01 s"),
        (&["--end-time", "-1"], "end"),
    ] {
        let ran = lab.powerbond(&[&["stability", "system.toml"], options].concat());
        assert!(ran.code == 3 && ran.err.contains(words), "{options:?}: {} {}", ran.code, ran.err);
    }
    let alone = "[simulation]\nstop = 1\n[subsystems.a]\nmodel = \"quarter-car/chassis\"\n";
    let ran = Lab::with(alone).powerbond(&["stability", "system.toml"]);
    assert!(ran.code == 3 && ran.err.contains("no connections"), "{}", ran.err);
}
