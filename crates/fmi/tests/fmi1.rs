//! FMI 1.0 for co-simulation.

mod common;

use common::{begin, fmu_with, instance, parameters, run};
use powerbond_core::subsystem::{FeedThrough, Subsystem};
use powerbond_fmi::{Fmu, Log, Options};
use std::sync::{Arc, Mutex};

#[test]
fn a_slave_runs() {
    let mut s = instance("slave1", &parameters(&[("k", 2.0.into())]));
    assert_eq!(s.info().feed_through, FeedThrough::Declared(vec![]));
    assert_eq!(begin(&mut s, &["u", "on"], &["x", "steps"], &[3.0, 1.0]).unwrap(), [0.0, 0.0]);
    assert_eq!(run(&mut s, &[3.0, 1.0], 2, 0.25).unwrap(), [6.0, 4.0]);
    // Entering again resets it; switched off, it is constant.
    begin(&mut s, &["u", "on"], &["x", "steps"], &[3.0, 0.0]).unwrap();
    assert_eq!(run(&mut s, &[3.0, 0.0], 2, 0.25).unwrap(), [0.0, 4.0]);
}

/// `canHandleEvents` was a finding, and that a slave needs its tool was told of FMI 2 and 3 only.
#[test]
fn tool_coupling_and_its_capabilities_are_read() {
    let tool = |xml: &str| {
        let xml = xml.replace("CoSimulation_StandAlone", "CoSimulation_Tool");
        let more =
            "canHandleEvents=\"true\" canRejectSteps=\"false\" canSignalEvents=\"true\" canHandleVariable";
        let model =
            "<Model entryPoint=\"fmu://model.mdl\" manualStart=\"true\" type=\"application/x-tool\"/>";
        xml.replace("canHandleVariable", more)
            .replace("</CoSimulation_Tool>", &format!("{model}</CoSimulation_Tool>"))
    };
    let fmu = Fmu::open(fmu_with("slave1", |xml| tool(&xml))).unwrap();
    let description = fmu.description();
    assert!(description.co_simulation.as_ref().unwrap().needs_execution_tool);
    let findings: Vec<String> = description.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{findings:?}");
    let plain = Fmu::open(fmu_with("slave1", |xml| xml)).unwrap();
    assert!(!plain.description().co_simulation.as_ref().unwrap().needs_execution_tool);
}

#[test]
fn log_lines_find_their_instance() {
    let path = fmu_with("slave1", |xml| xml.replace("{slave}", "{other}"));
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = lines.clone();
    let options = Options { log: Log::to(move |line| sink.lock().unwrap().push(line)), ..Options::default() };
    let error = Fmu::open(path).unwrap().instantiate("left", &options).unwrap_err().to_string();
    assert!(error.contains("left has the wrong guid"), "{error}");
    let lines = lines.lock().unwrap();
    assert_eq!((lines.len(), lines[0].instance.as_str(), lines[0].category.as_str()), (1, "left", "error"));
}
