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
