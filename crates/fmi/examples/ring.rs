//! Rings of light FMUs in the engine against a bare loop in C over the same FMU, in one run.
//!
//!     cargo run --release -p powerbond-fmi --example ring
//!
//! Every instance is an integrator whose input is its neighbour's output. The C loop sets the input, steps and reads the
//! output of every instance through the FMU's own functions: the least that any engine has to do.

use powerbond_core::controller::Fixed;
use powerbond_core::hold::Polynomial;
use powerbond_core::network::NetworkBuilder;
use powerbond_core::observe::NoObserver;
use powerbond_core::run::{Engine, Policies, Settings};
use powerbond_core::step::{Schedule, ScheduleKind, Seen};
use powerbond_fmi::{Fmu, Options};
use std::error::Error;
use std::ffi::{CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const STEP: f64 = 1e-6;
const REPETITIONS: usize = 7;

type RawLoop = unsafe extern "C" fn(*const c_char, c_int, c_int, f64) -> f64;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("powerbond-ring-{}", std::process::id()));
    let result = run(&folder);
    std::fs::remove_dir_all(&folder)?;
    result
}

fn run(folder: &Path) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    let raw_library = compile("raw_loop", &folder.join("raw_loop.so"))?;
    // Safety: this project's own library without initializers.
    let raw_library = unsafe { libloading::Library::new(raw_library) }?;
    println!(
        "{:12} {:>5} {:>12} {:>12} {:>8} {:>10}",
        "FMU", "ring", "C loop", "powerbond", "ratio", "added"
    );
    for (name, symbol) in [("integrator2", "raw_loop_2"), ("integrator3", "raw_loop_3")] {
        let (root, library) = unpacked(name, folder)?;
        let library = CString::new(library.to_string_lossy().into_owned())?;
        // Safety: the signature is that of raw_loop.c.
        let raw: libloading::Symbol<'_, RawLoop> = unsafe { raw_library.get(symbol) }?;
        let fmu = Fmu::open(&root)?;
        for n in [10, 100, 1000] {
            let steps = 2_000_000 / n;
            let (mut best_raw, mut best_engine) = (f64::INFINITY, f64::INFINITY);
            for _ in 0..REPETITIONS {
                // Safety: the library exists and its FMU is the ring's; the loop frees what it makes.
                let seconds = unsafe { raw(library.as_ptr(), n, steps, STEP) };
                if seconds < 0.0 {
                    return Err("the C loop failed".into());
                }
                best_raw = best_raw.min(seconds);
                best_engine = best_engine.min(engine(&fmu, n, steps)?);
            }
            println!(
                "{name:12} {n:5} {:9.1} ns {:9.1} ns {:8.2} {:7.1} ns",
                best_raw * 1e9,
                best_engine * 1e9,
                best_engine / best_raw,
                (best_engine - best_raw) * 1e9
            );
        }
    }
    Ok(())
}

/// Seconds per step of one instance in the engine.
fn engine(fmu: &Fmu, n: c_int, steps: c_int) -> Result<f64, Box<dyn Error>> {
    let mut builder = NetworkBuilder::new();
    for i in 0..n {
        let instance = fmu.instantiate(&format!("i{i:04}"), &Options::default())?;
        builder = builder.subsystem(&format!("i{i:04}"), Box::new(instance));
        builder = builder.connect(&format!("i{i:04}.x"), &format!("i{:04}.u", (i + 1) % n), 1.0);
    }
    let (network, _) = builder.build()?;
    let rates = vec![1; network.members.len()];
    let schedule = Schedule::new(&network, &ScheduleKind::Jacobi { fast: Seen::Held }, &rates);
    let inputs = network.n_inputs;
    let policies = Policies {
        ceiling: None,
        identifier: None,
        sampled: None,
        schedule,
        extrapolation: Box::new(Polynomial::new(vec![0; inputs], vec![0; inputs])),
        correction: None,
        estimators: Vec::new(),
        controller: Box::new(Fixed { step: STEP }),
    };
    let mut engine = Engine::new(network, policies, Settings::new(0.0, STEP * f64::from(steps)));
    engine.initialize(&mut NoObserver).map_err(|error| format!("{error:?}"))?;
    let started = Instant::now();
    while engine.time() < STEP * (f64::from(steps) - 0.5) {
        engine.step(&mut NoObserver).map_err(|error| format!("{error:?}"))?;
    }
    let seconds = started.elapsed().as_secs_f64();
    if let Some((_, error)) = engine.finish().into_iter().next() {
        return Err(error.into());
    }
    Ok(seconds / f64::from(steps) / f64::from(n))
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fmus")
}

fn compile(name: &str, out: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let source = sources().join(format!("{name}.c"));
    let status = Command::new("cc")
        .args(["-O2", "-shared", "-fPIC", "-o"])
        .arg(out)
        .arg(source)
        .args(["-lm", "-ldl"])
        .status()?;
    if status.success() { Ok(out.to_owned()) } else { Err(format!("{name}.c does not compile").into()) }
}

/// The FMU as an unpacked folder, and its library.
fn unpacked(name: &str, folder: &Path) -> Result<(PathBuf, PathBuf), Box<dyn Error>> {
    let root = folder.join(name);
    let binaries = root.join("binaries").join(if name.ends_with('3') { "x86_64-linux" } else { "linux64" });
    std::fs::create_dir_all(&binaries)?;
    std::fs::create_dir_all(root.join("resources"))?;
    std::fs::copy(sources().join(format!("{name}.xml")), root.join("modelDescription.xml"))?;
    let library = compile(name, &binaries.join(format!("{name}.so")))?;
    Ok((root, library))
}
