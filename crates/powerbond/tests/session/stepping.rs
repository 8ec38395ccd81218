//! Pausing, setting and going back.

use super::{bits, example, quarter_car, tables};
use powerbond::core::observe::Flow;
use powerbond::{Output, RunOptions, Session, State, System};
use std::sync::{Arc, Mutex};

/// A folder for a test, empty.
fn folder(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("powerbond-session-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

#[test]
fn built_loaded_stepped_and_run_the_bits_are_the_same() {
    let path = folder("bits");
    let options = RunOptions { output_dir: Some(path.clone()), ..RunOptions::default() };
    powerbond::run(&example(), &options).expect("a sound run");
    let on_disk = ["results.csv", "energy.csv"]
        .map(|file| bits(&powerbond::table::read(&path.join(file)).expect("a table")));
    std::fs::remove_dir_all(&path).expect("the folder");
    let [results, energy] = on_disk;
    assert_eq!(tables(example().start().expect("a start")), (results.clone(), energy.clone()));
    let built = quarter_car().build().expect("a sound system");
    assert_eq!(tables(built.start().expect("a start")), (results, energy));
}

#[test]
fn pausing_changes_nothing() {
    let whole = tables(example().start().expect("a start"));
    let mut run = example().start().expect("a start");
    for t in [0.5, 0.5, 1.234_567, 3.0, 99.0] {
        let state = run.run_until(t).expect("a sound run");
        assert_eq!(state == State::Finished, t == 99.0);
        assert!(run.time() >= t.min(4.0));
        let (verdict, ledger) = (run.verdict(), run.ledger());
        assert!(verdict.score.is_none_or(f64::is_finite) && ledger.total.exchanged > 0.0);
    }
    assert_eq!(run.step().expect("the end stays the end"), State::Finished);
    let done = run.finish().expect("the end");
    assert_eq!((bits(&done.table), bits(&done.energy)), whole);
    assert_eq!(done.ledger.bonds[0].name, "suspension");
}

/// What is set at a time is what a scenario overrides at that time: one event, both limits.
#[test]
fn setting_an_input_is_an_event() {
    let system = |scenario: bool| {
        let builder = quarter_car().method(powerbond::Method::default()).step(1e-3).stop(1.0);
        let builder = if scenario { builder.override_at(0.5, "wheel.road", -0.2) } else { builder };
        builder.build().expect("a sound system")
    };
    let mut run = system(false).start().expect("a start");
    run.land_on(0.5).expect("a sound run");
    run.set("wheel.road", 7.0).expect("an input that no output feeds");
    run.set("wheel.road", -0.2).expect("the last value counts");
    assert_eq!(run.value("wheel.road").expect("its value"), -0.2);
    run.run().expect("a sound run");
    let done = run.finish().expect("the end");
    assert_eq!(done.summary.steps.events, 1);
    let times = &done.table.columns[0];
    assert_eq!(times.iter().filter(|t| **t == 0.5).count(), 2, "both limits");
    assert_eq!(tables(system(true).start().expect("a start")), (bits(&done.table), bits(&done.energy)));
}

/// A program that says the same before every step makes the run of one that says it once.
#[test]
fn saying_the_same_again_is_no_event() {
    let run = |again: bool| {
        let system = quarter_car().tolerance(1e-3).stop(0.5).build().expect("a sound system");
        let mut run = system.start().expect("a start");
        run.set("wheel.road", 0.05).expect("an input that no output feeds");
        while run.step().expect("a step") == State::Running {
            if again {
                run.set("wheel.road", 0.05).expect("an input that no output feeds");
            }
        }
        tables(run)
    };
    assert_eq!(run(true), run(false));
}

/// An input without a signal, and one whose signal is replaced, give the same from then on.
#[test]
fn inputs_that_nothing_feeds_can_be_set() {
    let system = |signal: bool| {
        let builder =
            System::builder().model("a", "algebraic/gain").parameter("a.gain", 3.0).stop(1.0).step(0.1);
        let builder = if signal { builder.input("a.u", 0.0) } else { builder };
        builder.build().expect("a sound system").start().expect("a start")
    };
    for signal in [true, false] {
        let mut run = system(signal);
        run.step().expect("a step");
        run.set("a.u", 2.0).expect("an input that nothing feeds");
        assert_eq!(run.value("a.u").expect("what was set"), 2.0);
        run.step().expect("a step");
        assert_eq!(run.value("a.y").expect("an output"), 6.0, "with a signal: {signal}");
    }
}

#[test]
fn a_saved_state_is_gone_on_from_as_often_as_wanted() {
    let whole = tables(example().start().expect("a start"));
    let mut run = example().start().expect("a start");
    run.run_until(1.0).expect("a sound run");
    let saved = run.save().expect("every member can");
    for road in [0.3, -0.5] {
        run.set("wheel.road", road).expect("an input that no output feeds");
        run.run_until(2.0).expect("a sound run");
        run.restore(&saved).expect("it was saved here");
        assert_eq!(run.time(), saved.time());
    }
    run.run().expect("a sound run");
    let other = run.save().expect("also at the end");
    let done = run.finish().expect("the end");
    assert_eq!((bits(&done.table), bits(&done.energy)), whole);
    let mut another = example().start().expect("a start");
    let error = another.restore(&other).expect_err("it belongs to another run").to_string();
    assert!(error.contains("another run"), "{error}");
}

#[test]
fn rows_go_to_memory_to_files_and_to_a_function() {
    let path = folder("sinks");
    let seen: Arc<Mutex<Vec<Vec<f64>>>> = Arc::default();
    let sink = seen.clone();
    let system = RunOptions { output_interval: Some(0.5), jumps: true, ..RunOptions::default() };
    let system = system.apply(&example()).expect("sound options");
    let options = RunOptions { output_dir: Some(path.clone()), ..RunOptions::default() };
    let rows: powerbond::Row = Box::new(move |row| {
        sink.lock().expect("one thread").push(row.to_vec());
        if row[0] < 2.0 { Flow::Continue } else { Flow::Stop }
    });
    let output = Output { folder: Some(options.wanted(&system)), rows: Some(rows), ..Output::default() };
    let mut run = Session::open(&system, output).expect("a session");
    let columns: Vec<String> = run.columns().map(|name| name.to_string()).collect();
    assert_eq!(run.run().expect("a sound run"), State::Stopped);
    let done = run.finish().expect("the end");
    assert_eq!(done.summary.outcome, "stopped");
    assert_eq!(done.table.header[1..], columns[..]);
    assert_eq!(done.table.units[0], "s");
    let read = powerbond::table::read(&path.join("results.csv")).expect("a table");
    assert_eq!(bits(&read), bits(&done.table));
    assert_eq!(done.jumps.expect("they were asked for").header.len(), 3);
    std::fs::remove_dir_all(&path).expect("the folder");
    let rows = seen.lock().expect("one thread");
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), done.table.columns[0]);
    assert_eq!(done.table.columns[0], [0.0, 0.5, 1.0, 1.5, 2.0]);
}

/// A session that is left behind says how far it came, and its rows are there.
#[test]
fn a_session_that_is_dropped_is_stopped() {
    let path = folder("dropped");
    let options = RunOptions { output_dir: Some(path.clone()), ..RunOptions::default() };
    let mut run = Session::open(&example(), Output::folder(options.wanted(&example()))).expect("a session");
    run.run_until(1.0).expect("a sound run");
    drop(run);
    let summary = std::fs::read_to_string(path.join("summary.json")).expect("a summary");
    assert!(summary.contains("\"outcome\": \"stopped\""), "{summary}");
    assert!(powerbond::table::read(&path.join("results.csv")).expect("a table").rows() > 10);
    std::fs::remove_dir_all(&path).expect("the folder");
}
