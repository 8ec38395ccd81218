//! Large systems are built in time that grows with their size, not with its square: searching lists of names, these tests
//! would take minutes.

use powerbond_core::network::{Names, Network, NetworkBuilder, VariableName};
use powerbond_core::subsystem::{
    Advance, Binding, Capabilities, Causality, FeedThrough, Info, Inputs, Setup, Span, Subsystem,
    SubsystemError,
};
use powerbond_models::variable;

/// Has many variables: `u0`, `y0`, `x0`, `u1`, `y1`, …; `yi` depends on `ui` at the same instant.
struct Wide(Info);

impl Wide {
    fn boxed(n: usize) -> Box<dyn Subsystem> {
        let one = |i: usize| {
            [("u", Causality::Input), ("y", Causality::Output), ("x", Causality::Local)]
                .map(|(letter, causality)| variable(&format!("{letter}{i}"), causality, "", ""))
        };
        Box::new(Wide(Info {
            kind: "wide".to_owned(),
            variables: (0..n).flat_map(one).collect(),
            feed_through: FeedThrough::Declared((0..n).map(|i| (3 * i + 1, 3 * i)).collect()),
            capabilities: Capabilities::default(),
        }))
    }
}

impl Subsystem for Wide {
    fn info(&self) -> &Info {
        &self.0
    }
    fn bind(&mut self, _binding: &Binding) -> Result<(), SubsystemError> {
        Ok(())
    }
    fn enter(&mut self, _setup: &Setup) -> Result<(), SubsystemError> {
        Ok(())
    }
    fn evaluate(&mut self, _u: Inputs<'_>, _y: &mut [f64]) -> Result<(), SubsystemError> {
        Ok(())
    }
    fn advance(&mut self, span: Span, _u: Inputs<'_>, _y: &mut [f64]) -> Result<Advance, SubsystemError> {
        Ok(Advance::whole(span))
    }
    fn probe(&mut self, _z: &mut [f64]) -> Result<(), SubsystemError> {
        Ok(())
    }
}

/// `a` and `b` with `n` inputs each, all of them fed by the other one, every variable recorded twice and backwards.
fn two_wide(n: usize) -> (Network, Names) {
    let mut builder = NetworkBuilder::new().subsystem("b", Wide::boxed(n)).subsystem("a", Wide::boxed(n));
    for i in 0..n {
        builder = builder.connect(&format!("a.y{i}"), &format!("b.u{}", n - 1 - i), 1.0).connect(
            &format!("b.y{i}"),
            &format!("a.u{i}"),
            2.0,
        );
    }
    for _ in 0..2 {
        for i in (0..n).rev() {
            for letter in ["x", "u", "y"] {
                builder = builder.record(VariableName::new("a", &format!("{letter}{i}")));
            }
        }
    }
    builder.build().expect("a sound system")
}

#[test]
fn a_subsystem_may_have_a_hundred_thousand_variables() {
    let n = 100_000;
    let (network, names) = two_wide(n);
    assert_eq!([network.n_inputs, network.n_outputs, network.n_probes], [2 * n, 2 * n, n]);
    assert_eq!(network.feed_through.len(), 2 * n);
    // Inputs and outputs in the order of their subsystem, probes as they were asked for.
    for (list, place, name) in [
        (&names.inputs, 7, "a.u7"),
        (&names.outputs, n + 7, "b.y7"),
        (&names.probes, 7, &format!("a.x{}", n - 8)),
    ] {
        assert_eq!(list[place].to_string(), name);
    }
    assert_eq!(network.wiring.sources(n + 7).collect::<Vec<_>>(), [(n - 8, 1.0)]);
}

#[test]
fn every_variable_is_found_by_its_place() {
    let (network, names) = two_wide(50);
    let name = |list: &[VariableName]| list.iter().map(|n| n.variable.clone()).collect::<Vec<_>>();
    let inputs: Vec<String> = (0..100).map(|i| network.input_variable(i).name.clone()).collect();
    let outputs: Vec<String> = (0..100).map(|o| network.output_variable(o).name.clone()).collect();
    let probes: Vec<String> = (0..50).map(|p| network.probe_variable(p).name.clone()).collect();
    assert_eq!((inputs, outputs, probes), (name(&names.inputs), name(&names.outputs), name(&names.probes)));
}

#[test]
fn a_system_may_have_fifty_thousand_subsystems_in_any_order() {
    let n = 50_000;
    let name = |i: usize| format!("s{:05}", i % n);
    let mut builder = NetworkBuilder::new();
    for i in (0..n).rev() {
        builder = builder.subsystem(&name(i), Wide::boxed(1));
    }
    for i in 0..n {
        builder = builder.connect(&format!("{}.y0", name(i)), &format!("{}.u0", name(i + 1)), 0.5);
    }
    let (network, names) = builder.build().expect("a sound system");
    assert!(names.subsystems.is_sorted());
    assert_eq!(network.wiring.sources(0).collect::<Vec<_>>(), [(n - 1, 0.5)]);
}
