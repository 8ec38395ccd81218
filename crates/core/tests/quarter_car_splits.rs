//! The quarter car with the ends of its suspension as signals: three splits, linear and nonlinear dampers.

mod common;

use common::rows::{Rows, watch};
use common::{Method, engine};
use powerbond_core::network::{Network, NetworkBuilder, VariableName};
use powerbond_core::time::signal::Signal;
use powerbond_models::ParameterValue;
use powerbond_models::quarter_car::{Damper, Reference};

const ROAD: f64 = 0.1;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Split {
    Dd,
    Fd,
    Df,
}

/// A name of a damper, its coefficient, and the damper itself.
type Law = (&'static str, f64, fn() -> Damper);

const DAMPERS: [Law; 3] = [
    ("linear", 1000.0, || Damper::Linear(1000.0)),
    ("square-root", 900.0, || Damper::SquareRoot(900.0)),
    ("power", 950.0, || Damper::power(950.0, 0.8)),
];

/// The car; outputs are in the order of names: those of the chassis, then those of the wheel.
fn car(split: Split, (damper, damping, _): Law, integrator: &str) -> Network {
    let text = |t: &str| ParameterValue::Text(t.to_owned());
    let suspension = [
        ("damper".to_owned(), text(damper)),
        ("damping".to_owned(), ParameterValue::Number(damping)),
        ("linearity".to_owned(), ParameterValue::Number(0.8)),
    ];
    let model = |name: &str| {
        let mut given = vec![("integrator".to_owned(), text(integrator))];
        if !matches!(name, "quarter-car/chassis-fd" | "quarter-car/wheel-df") {
            given.extend(suspension.clone());
        }
        powerbond_models::find(name).expect("a model").build(&given).expect("a sound model")
    };
    let ending = format!("{split:?}").to_lowercase();
    let builder = NetworkBuilder::new()
        .subsystem("chassis", model(&format!("quarter-car/chassis-{ending}")))
        .subsystem("wheel", model(&format!("quarter-car/wheel-{ending}")))
        .external(VariableName::new("wheel", "road"), Signal::Constant(ROAD));
    let motion = |builder: NetworkBuilder, from: &str, to: &str| {
        ["position", "velocity"].iter().fold(builder, |builder, what| {
            builder.connect(&format!("{from}.{what}"), &format!("{to}.{from}_{what}"), 1.0)
        })
    };
    let builder = match split {
        Split::Dd => motion(motion(builder, "chassis", "wheel"), "wheel", "chassis"),
        Split::Fd => {
            motion(builder, "chassis", "wheel").connect("wheel.suspension_force", "chassis.force", 1.0)
        }
        Split::Df => {
            motion(builder, "wheel", "chassis").connect("chassis.suspension_force", "wheel.force", 1.0)
        }
    };
    builder.build().expect("the car").0
}

fn run(network: Network, hold: u8, step: f64, stop: f64) -> Rows {
    watch(&mut engine(network, stop, &Method { hold, step, ..Method::default() }))
}

/// The same master and ten explicit Euler steps per macro step, written out by hand: outputs after every step.
fn by_hand(split: Split, damper: Damper, h: f64, steps: usize) -> Vec<Vec<f64>> {
    let (mc, mw, k, kw) = (400.0, 40.0, 15_000.0, 150_000.0);
    let suspension = |x: f64, v: f64| k * x + damper.force(v);
    let ([mut xc, mut vc, mut xw, mut vw], mut f) = ([0.0; 4], 0.0);
    let dt = h / 10.0;
    (0..steps)
        .map(|_| {
            let (held, held_f) = ([xc, vc, xw, vw], f);
            for _ in 0..10 {
                let on_chassis = match split {
                    Split::Fd => held_f,
                    _ => suspension(held[2] - xc, held[3] - vc),
                };
                let on_wheel = match split {
                    Split::Df => held_f,
                    _ => suspension(xw - held[0], vw - held[1]),
                };
                (xc, vc) = (xc + dt * vc, vc + dt * on_chassis / mc);
                (xw, vw) = (xw + dt * vw, vw + dt * (kw * (ROAD - xw) - on_wheel) / mw);
            }
            match split {
                Split::Dd => vec![xc, vc, xw, vw],
                Split::Fd => {
                    f = suspension(xw - held[0], vw - held[1]);
                    vec![xc, vc, f]
                }
                Split::Df => {
                    f = suspension(held[2] - xc, held[3] - vc);
                    vec![f, xw, vw]
                }
            }
        })
        .collect()
}

#[test]
fn every_split_and_damper_is_the_loop_written_by_hand() {
    for split in [Split::Dd, Split::Fd, Split::Df] {
        for damper in DAMPERS {
            let rows = run(car(split, damper, "euler"), 0, 1e-3, 0.5);
            let expected = by_hand(split, damper.2(), 1e-3, 500);
            assert_eq!(rows.steps().count(), expected.len());
            let largest = expected.iter().flatten().fold(0.0f64, |m, y| m.max(y.abs()));
            for (n, (row, expected)) in rows.steps().zip(&expected).enumerate() {
                for (a, b) in row.y_step.iter().zip(expected) {
                    // Round-off alone: sums are in another order. A square root doubles the digits it costs.
                    assert!(
                        (a - b).abs() < 1e-9 * largest.max(1.0),
                        "{split:?} {}, step {n}: {a} {b}",
                        damper.0
                    );
                }
            }
        }
    }
}

/// Expected: the monolithic car, to an error of first order in the step with constant holds: half the step, half the error.
#[test]
fn every_split_tends_to_the_same_car() {
    for split in [Split::Dd, Split::Fd, Split::Df] {
        for damper in DAMPERS {
            let worst = |step: f64| {
                let mut exact = Reference::new(damper.2());
                let mut worst = 0.0f64;
                for row in run(car(split, damper, "exact"), 0, step, 0.5).steps() {
                    exact.advance_to(row.t);
                    let (at, exact) = match split {
                        Split::Df => (2, exact.wheel_velocity()),
                        _ => (1, exact.chassis_velocity()),
                    };
                    worst = worst.max((row.y_step[at] - exact).abs());
                }
                worst
            };
            let (coarse, fine) = (worst(2e-4), worst(1e-4));
            assert!(
                fine < 0.05 && (coarse / fine - 2.0).abs() < 0.2,
                "{split:?} {}: {coarse} {fine}",
                damper.0
            );
        }
    }
}
