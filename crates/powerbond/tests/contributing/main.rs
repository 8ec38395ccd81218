//! The example of CONTRIBUTING.md, "Add a method": what is printed there is what is compiled and run here.
//!
//! This crate stands for `powerbond-core` and `powerbond` with the files of the example in their places.

extern crate self as powerbond_core;

pub mod catalogue;
#[path = "../../../core/tests/common/mod.rs"]
mod common;
pub mod controller;

pub use powerbond::Error;
pub use powerbond::core::*;

use catalogue::controllers::Controller;
use catalogue::{Own, controllers, controllers::DEAD_BAND};
use common::matrix::{Case, Make, Row};
use common::{Method, policies, quarter_car};
use controller::{DeadBand, StepController};
use observe::{Flow, NoObserver, Observer, StepReport};
use powerbond::System;
use run::{Engine, Policies, Settings};
use step::StepView;

/// The row of the example, as it stands in the matrix.
const ROW: Row<Make<dyn StepController>> = include!("row.rs");

/// The blocks of code in the section, without the lines that fence them.
fn blocks() -> Vec<String> {
    let page = include_str!("../../../../CONTRIBUTING.md");
    let (_, section) = page.split_once("\n## Add a method\n").expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    section
        .split("\n```")
        .skip(1)
        .step_by(2)
        .map(|b| b.split_once('\n').unwrap_or_default().1.to_owned())
        .collect()
}

#[test]
fn every_block_of_the_section_is_compiled_here() {
    let blocks = blocks();
    let whole = |printed: &str, compiled: &str| assert_eq!(printed.trim_end(), compiled.trim_end());
    let lines = |printed: &str, compiled: &str| assert!(compiled.contains(printed.trim_end()), "{printed}");
    let [core, core_lines, entry, entry_lines, choice_line, list_line, row] = &blocks[..] else {
        panic!("{} blocks instead of 7: add the new ones here", blocks.len())
    };
    whole(core, include_str!("controller/dead_band.rs"));
    lines(core_lines, include_str!("controller/mod.rs"));
    whole(entry, include_str!("catalogue/controllers/dead_band.rs"));
    lines(entry_lines, include_str!("catalogue/controllers/mod.rs"));
    lines(&choice_line.replace(", DeadBand", ""), include_str!("../../src/catalogue/controllers/mod.rs"));
    lines(list_line, include_str!("catalogue/mod.rs"));
    whole(row.trim_end().trim_end_matches(','), include_str!("row.rs"));
}

/// The lengths of all steps, in s.
#[derive(Default)]
struct Lengths(Vec<f64>);

impl Observer for Lengths {
    fn accepted(&mut self, step: &StepView<'_>, _report: &StepReport<'_>) -> Flow {
        self.0.push(step.span.h);
        Flow::Continue
    }
}

/// Chosen in a system, it makes its policy, and every step is half of, as long as or twice as long as the one before.
#[test]
fn the_method_of_the_example_runs() {
    let text = include_str!("../../../../examples/quarter-car/system.toml");
    let mut system = System::parse("system.toml", text).expect("the example");
    system.method.controller = Controller::Own(Own::new(controllers::DeadBand::default())).into();
    let mut assembled = system.assemble().expect("it can be made");
    let mut lengths = Lengths::default();
    assembled.run(&mut lengths).expect("a sound run");
    // The last step ends where the run does.
    let (_, lengths) = lengths.0.split_last().expect("steps");
    let ratios: Vec<f64> = lengths.windows(2).map(|pair| pair[1] / pair[0]).collect();
    let count = |ratio: f64| ratios.iter().filter(|r| (*r / ratio - 1.0).abs() < 1e-6).count();
    assert!([0.5, 1.0, 2.0].iter().all(|&ratio| count(ratio) > 0), "{ratios:?}");
    assert_eq!(count(0.5) + count(1.0) + count(2.0), ratios.len(), "{ratios:?}");
}

/// The row of the example works in the matrix of the core's tests.
#[test]
fn the_row_of_the_example_makes_the_controller() {
    let (network, _) = quarter_car(1, "linear");
    let method = Method { estimator: "energy", ..Method::default() };
    let case = Case { network: &network, method: &method, extrapolate: true };
    let policies = Policies { controller: (ROW.make)(&case), ..policies(&case) };
    let mut engine = Engine::new(network, policies, Settings::new(0.0, 1.0));
    engine.run(&mut NoObserver).expect("a sound run");
    assert_eq!(ROW.name, DEAD_BAND.name);
    assert!(engine.statistics().accepted > 10);
}
