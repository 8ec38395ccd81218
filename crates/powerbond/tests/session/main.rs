//! Runs that a program steps through, and systems that a program makes.

mod builder;
mod errors;
mod stepping;
mod threads;

use powerbond::catalogue::controllers::{AtRest, Ecco};
use powerbond::catalogue::{Method, estimators};
use powerbond::table::Table;
use powerbond::{Connect, Error, Port, Session, State, System, SystemBuilder};

/// The quarter car of the examples.
fn example() -> System {
    System::load("../../examples/quarter-car").expect("the example")
}

/// The same system, made in a program.
fn quarter_car() -> SystemBuilder {
    System::builder()
        .name("quarter car")
        .model("chassis", "quarter-car/chassis")
        .parameter("chassis.mass", 400.0)
        .model("wheel", "quarter-car/wheel-suspension")
        .parameter("wheel.mass", 40.0)
        .parameter("wheel.stiffness", 15000.0)
        .parameter("wheel.tyre_stiffness", 150_000.0)
        .parameter("wheel.damping", 1000.0)
        .parameter("wheel.damper", "linear")
        .parameter("wheel.micro_steps", 10)
        .connect("chassis.velocity", "wheel.chassis_velocity")
        .connection(Connect::new("wheel.suspension_force", "chassis.force").gain(-1.0))
        .input("wheel.road", 0.1)
        .bond(
            "suspension",
            [
                Port::entering("chassis.force", "chassis.velocity"),
                Port::entering("wheel.chassis_velocity", "wheel.suspension_force"),
            ],
        )
        .stop(4.0)
        .step(1e-4)
        .method(Method {
            estimator: estimators::Energy {
                tolerance: 2.8e-6,
                energy_scale: Some(750.0),
                ..Default::default()
            }
            .into(),
            controller: Ecco {
                safety: Some(0.8),
                min_step: Some(1e-4),
                max_step: Some(1e-2),
                at_rest: Some(AtRest::Grow),
                ..Default::default()
            }
            .into(),
            ..Method::default()
        })
}

/// Every number of a table, bit by bit.
fn bits(table: &Table) -> Vec<u64> {
    table.columns.iter().flatten().map(|x| x.to_bits()).collect()
}

/// Steps to the end, and the tables.
fn tables(mut run: Session) -> (Vec<u64>, Vec<u64>) {
    while run.step().expect("a sound step") == State::Running {}
    let done = run.finish().expect("the end");
    assert_eq!(done.summary.outcome, "finished");
    (bits(&done.table), bits(&done.energy))
}

fn text(error: Error) -> String {
    error.to_string()
}
