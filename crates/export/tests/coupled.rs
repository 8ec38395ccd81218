//! The quarter car as two FMUs gives the same as the built-in models, with every kind of method.

mod common;
#[path = "../../core/tests/common/mod.rs"]
mod engine;

use common::{Folder, Given, VERSIONS, given, imported, native, same};
use engine::{Correction, Method, bond};
use powerbond_core::controller::{Fixed, Pi, StepBounds, StepController};
use powerbond_core::estimator::{Energy, ErrorEstimator, OutputTolerance, Predictor, Residual};
use powerbond_core::hold::Polynomial;
use powerbond_core::network::{Network, NetworkBuilder, VariableName};
use powerbond_core::observe::{Flow, Observer, StepReport};
use powerbond_core::run::{Engine, Policies, Settings};
use powerbond_core::step::StepView;
use powerbond_core::step::{Schedule, ScheduleKind, Seen};
use powerbond_core::subsystem::Subsystem;
use powerbond_core::time::signal::Signal;

/// Everything that a step comes to.
#[derive(Default)]
struct Trace(Vec<f64>);

impl Observer for Trace {
    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        let flow = step.flows[0];
        let lists = [step.held_end, step.corrected_end, step.y_step, step.y_fresh];
        let numbers = [step.span.start, step.span.end, step.span.h, report.next_h, flow.transmitted_power];
        self.0.extend(lists.into_iter().flatten().chain(&numbers));
        self.0.extend(report.estimates.iter().map(|e| e.norm));
        Flow::Continue
    }
}

/// Names and parameters of chassis and wheel as the papers' tables need them: 1 has the suspension at the wheel.
fn models_of(split: u8, damper: &str) -> [(&'static str, Given); 2] {
    let damping = if damper == "linear" { "1000" } else { "900" };
    let suspension = given(&[("damper", damper), ("damping", damping), ("far_end", "once")]);
    match split {
        1 => [("quarter-car/chassis", given(&[])), ("quarter-car/wheel-suspension", suspension)],
        _ => [("quarter-car/chassis-suspension", suspension), ("quarter-car/wheel", given(&[]))],
    }
}

fn network(split: u8, [chassis, wheel]: [Box<dyn Subsystem>; 2]) -> Network {
    let builder = NetworkBuilder::new().subsystem("chassis", chassis).subsystem("wheel", wheel);
    let builder = match split {
        1 => builder
            .connect("chassis.velocity", "wheel.chassis_velocity", 1.0)
            .connect("wheel.suspension_force", "chassis.force", -1.0)
            .bond(bond(
                "suspension",
                [
                    ("chassis.force", "chassis.velocity", -1.0),
                    ("wheel.chassis_velocity", "wheel.suspension_force", -1.0),
                ],
            )),
        _ => builder
            .connect("wheel.velocity", "chassis.wheel_velocity", 1.0)
            .connect("chassis.suspension_force", "wheel.force", -1.0)
            .bond(bond(
                "suspension",
                [
                    ("chassis.wheel_velocity", "chassis.suspension_force", 1.0),
                    ("wheel.force", "wheel.velocity", 1.0),
                ],
            )),
    };
    let road = VariableName::new("wheel", "road");
    builder.external(road, Signal::Constant(0.1)).build().expect("a sound system").0
}

/// Runs both and compares everything; see [`same`] for `round_off`. Half of the parameters go in when the FMU is written, half through FMI.
fn check(
    folder: &Folder,
    (what, round_off): (&str, f64),
    split: u8,
    damper: &str,
    make: &dyn Fn(Network) -> Engine,
) {
    for version in VERSIONS {
        let models = models_of(split, damper);
        let built_in = models.each_ref().map(|(name, parameters)| native(name, parameters));
        let fmus = models.each_ref().map(|(name, parameters)| -> Box<dyn Subsystem> {
            let (fixed, set) = parameters.split_at(parameters.len() / 2);
            let spec = powerbond_models::find(name).expect("a built-in model");
            let subsystem = imported(&folder.fmu(spec, version, &fixed.to_vec()), name, &set.to_vec());
            assert_eq!(subsystem.info().capabilities.input_derivatives, 2);
            Box::new(subsystem)
        });
        let [ours, theirs] = [built_in, fmus].map(|members| {
            let mut trace = Trace::default();
            make(network(split, members)).run(&mut trace).expect("a sound run");
            trace.0
        });
        assert!(ours.len() > 1000, "{what}: {} numbers", ours.len());
        assert!(same(version, round_off, &ours, &theirs), "{what}, split {split}, {damper}, {version:?}");
    }
}

/// The rows of sadjina2017's tables: constant steps of 1 ms, ECCO and the predictor/corrector estimate.
#[test]
fn the_rows_of_the_tables_are_the_same_bits() {
    let folder = Folder::new("tables");
    for (split, damper) in [(1, "linear"), (1, "square-root"), (2, "linear"), (2, "square-root")] {
        let stop = if damper == "linear" { 4.0 } else { 2.0 };
        for (row, estimator) in [
            ("constant", None),
            ("ECCO 1e-4", Some(Err(1e-4))),
            ("ECCO 1e-5", Some(Err(1e-5))),
            ("predictor 2.1", Some(Ok(2.1))),
        ] {
            check(&folder, (row, 0.0), split, damper, &|network| {
                let n = network.n_inputs;
                let estimators: Vec<Box<dyn ErrorEstimator>> = match estimator {
                    None => Vec::new(),
                    Some(Err(tolerance)) => {
                        let residual = Residual::Corrected;
                        vec![Box::new(Energy::new(vec![tolerance], vec![Some(750.0)], residual, 0))]
                    }
                    Some(Ok(absolute)) => {
                        let tolerance = OutputTolerance { absolute, rho: 1e-4 };
                        vec![Box::new(Predictor::new(vec![tolerance; network.n_outputs], 0))]
                    }
                };
                let limits = StepBounds { min_step: 1e-4, max_step: 1e-2, min_rate: 0.2, max_rate: 1.5 };
                let mut ecco = Pi::ecco(1e-4, limits);
                ecco.set_error_floor(0.0);
                let controller: Box<dyn StepController> = match estimator {
                    None => Box::new(Fixed { step: 1e-3 }),
                    Some(_) => Box::new(ecco),
                };
                let policies = Policies {
                    ceiling: None,
                    identifier: None,
                    sampled: None,
                    schedule: Schedule::new(&network, &ScheduleKind::Jacobi { fast: Seen::Held }, &[1, 1]),
                    extrapolation: Box::new(Polynomial::new(vec![0; n], vec![0; n])),
                    correction: None,
                    estimators,
                    controller,
                };
                Engine::new(network, policies, Settings::new(0.0, stop))
            });
        }
    }
}

/// Holds with input derivatives, refresh, feed-through by directional derivatives, rejected steps, two rates.
#[test]
fn every_kind_of_method_gives_the_same() {
    let folder = Folder::new("methods");
    let methods = [
        ("refresh", Method { refresh: true, ..Method::default() }),
        ("hold 1", Method { hold: 1, ..Method::default() }),
        ("hold 2", Method { hold: 2, refresh: true, ..Method::default() }),
        ("NEPCE", Method { correction: Correction::NepceModel(0.5), hold: 1, ..Method::default() }),
        ("rejected steps", Method { estimator: "richardson", controller: "rejecting", ..Method::default() }),
        (
            "Gauss-Seidel, two rates",
            Method {
                schedule: ScheduleKind::GaussSeidel { order: None, seen: Seen::Between },
                rates: Some(vec![1, 4]),
                ..Method::default()
            },
        ),
    ];
    for (what, method) in &methods {
        for split in [1, 2] {
            for damper in ["linear", "square-root"] {
                let bends = method.hold > 0 || method.rates.is_some();
                let round_off = if bends { 1e-11 } else { 0.0 };
                check(&folder, (what, round_off), split, damper, &|network| {
                    engine::engine(network, 0.5, method)
                });
            }
        }
    }
}
