//! Everything that is wrong with a description is told at once, without what follows from it.

use powerbond_core::network::{
    BondSpec, BuildErrors, NetworkBuilder, PortSpec, Problem, Subject, VariableName,
};
use powerbond_core::time::signal::Signal;

fn name(text: &str) -> VariableName {
    VariableName::parse(text).expect("a name")
}

fn quarter_car() -> NetworkBuilder {
    let model = |name: &str| {
        let model = powerbond_models::find(name).expect("a model");
        model.build(&[]).expect("its defaults are sound")
    };
    NetworkBuilder::new()
        .subsystem("chassis", model("quarter-car/chassis"))
        .subsystem("wheel", model("quarter-car/wheel-suspension"))
}

fn strut(first: f64) -> BondSpec {
    let port = |input, output, sign| PortSpec {
        inputs: vec![name(input)],
        outputs: vec![name(output)],
        sign,
        ratio: 1.0,
    };
    let ports = vec![
        port("chassis.force", "chassis.velocity", first),
        port("wheel.chassis_velocity", "wheel.suspension_force", -1.0),
    ];
    BondSpec { name: "strut".to_owned(), ports }
}

fn errors(builder: NetworkBuilder) -> Vec<(Subject, String)> {
    let BuildErrors(list) = builder.build().err().expect("it is not sound");
    list.into_iter().map(|e| (e.subject.clone(), e.to_string())).collect()
}

#[test]
fn every_part_is_looked_at() {
    let found = errors(
        quarter_car()
            .connect("chasis.velocity", "wheel.chassis_velocity", 1.0)
            .connect("wheel.suspension_force", "chassis.froce", f64::NAN)
            .external(name("wheel.raod"), Signal::Constant(0.1))
            .bond(strut(2.0))
            .record(name("wheel.speed")),
    );
    let subjects: Vec<Subject> = found.iter().map(|(subject, _)| subject.clone()).collect();
    let wanted = [
        Subject::Connection(0),
        Subject::Connection(1),
        Subject::External(0),
        Subject::Bond(0, Some(0)),
        Subject::Record(0),
    ];
    assert_eq!(subjects, wanted, "{found:?}");
}

/// A bond whose connections are wrong has no wrong balance, too.
#[test]
fn what_follows_from_a_mistake_is_not_told() {
    let coupled = |gain| {
        quarter_car()
            .connect("chassis.velocity", "wheel.chassis_velocity", 1.0)
            .connect("wheel.suspension_force", "chassis.force", gain)
            .bond(strut(-1.0))
    };
    assert!(coupled(-1.0).build().is_ok());
    let unbalanced = errors(coupled(1.0));
    assert_eq!(unbalanced.len(), 1, "{unbalanced:?}");
    assert_eq!(unbalanced[0].0, Subject::Bond(0, None));
    let twice = errors(coupled(1.0).connect("chassis.velocity", "wheel.chassis_velocity", 1.0));
    assert_eq!(twice.len(), 1, "{twice:?}");
    assert_eq!(twice[0].0, Subject::Connection(2));
}

/// 20 000 wrong names among 2000 right ones used to be one error; searching for the nearest of each would take minutes.
#[test]
fn very_many_mistakes_are_told_in_time() {
    let model = powerbond_models::find("quarter-car/chassis").expect("a model");
    let mut builder = NetworkBuilder::new();
    for n in 0..2000 {
        builder = builder.subsystem(&format!("chassis{n}"), model.build(&[]).expect("a model"));
    }
    for n in 0..20_000 {
        builder = builder.connect(&format!("chasis{n}.velocity"), "chassis1.force", 1.0);
    }
    let begin = std::time::Instant::now();
    let BuildErrors(list) = builder.build().err().expect("it is not sound");
    assert!(begin.elapsed().as_secs() < 10);
    let unknown = list.iter().filter(|e| matches!(e.problem, Problem::NoSubsystem { .. })).count();
    assert_eq!(unknown, 20_000);
}
