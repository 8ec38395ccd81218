//! Builds the project's own C FMUs and runs single instances as a engine would.

#![allow(dead_code)] // Every test program uses a part of it.

use powerbond_core::subsystem::{Binding, Inputs, Setup, Span, Subsystem, SubsystemError};
use powerbond_fmi::{Fmu, FmuSubsystem, Options, Value};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use zip::write::SimpleFileOptions;

pub const PLATFORM_2: &str = if cfg!(windows) {
    "win64"
} else if cfg!(target_os = "macos") {
    "darwin64"
} else {
    "linux64"
};
pub const PLATFORM_3: &str = if cfg!(windows) {
    "x86_64-windows"
} else if cfg!(target_os = "macos") {
    "aarch64-darwin"
} else {
    "x86_64-linux"
};
pub const EXTENSION: &str = if cfg!(windows) {
    "dll"
} else if cfg!(target_os = "macos") {
    "dylib"
} else {
    "so"
};

pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fmus")
}

/// A folder of this test program, never emptied: names are unique.
pub fn scratch() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fmus-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// The shared library of `fmus/<name>.c`, compiled once per test program.
pub fn library(name: &str) -> Vec<u8> {
    static BUILT: Mutex<Vec<(String, Vec<u8>)>> = Mutex::new(Vec::new());
    let mut built = BUILT.lock().unwrap();
    if let Some((_, bytes)) = built.iter().find(|(n, _)| n == name) {
        return bytes.clone();
    }
    let out = scratch().join(format!("{name}.{EXTENSION}"));
    let status = Command::new("cc")
        .args(["-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-o"])
        .arg(&out)
        .arg(sources().join(format!("{name}.c")))
        .arg("-lm")
        .status()
        .expect("a C compiler called `cc` is needed");
    assert!(status.success(), "{name}.c does not compile");
    let bytes = std::fs::read(out).unwrap();
    built.push((name.to_owned(), bytes.clone()));
    bytes
}

pub fn description(name: &str) -> String {
    std::fs::read_to_string(sources().join(format!("{name}.xml"))).unwrap()
}

/// Writes a zip file with these entries.
pub fn zip(file: &str, entries: &[(&str, &[u8])]) -> PathBuf {
    let path = scratch().join(file);
    let mut writer = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    for (name, bytes) in entries {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap();
    path
}

/// The FMU `name` with its description changed by `edit`.
pub fn fmu_with(name: &str, edit: impl Fn(String) -> String) -> PathBuf {
    let xml = edit(description(name));
    let platform = if name.ends_with('3') { PLATFORM_3 } else { PLATFORM_2 };
    let library_entry = format!("binaries/{platform}/{name}.{EXTENSION}");
    zip(
        &format!("{name}.fmu"),
        &[
            ("modelDescription.xml", xml.as_bytes()),
            (&library_entry, &library(name)),
            ("resources/greeting.txt", b"good morning"),
        ],
    )
}

/// The FMU `name` as it is.
pub fn fmu(name: &str) -> PathBuf {
    fmu_with(name, |xml| xml)
}

/// An instance of the FMU `name`.
pub fn instance(name: &str, options: &Options) -> FmuSubsystem {
    Fmu::open(fmu(name)).unwrap().instantiate("test", options).unwrap()
}

pub fn parameters(list: &[(&str, Value)]) -> Options {
    let parameters = list.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    Options { parameters, ..Options::default() }
}

/// Binds by name, enters at 0, evaluates with `u`, starts.
pub fn begin(
    s: &mut dyn Subsystem,
    inputs: &[&str],
    outputs: &[&str],
    u: &[f64],
) -> Result<Vec<f64>, SubsystemError> {
    let find = |name: &&str| s.info().find(name).unwrap_or_else(|| panic!("no variable {name}"));
    let mut binding = Binding {
        inputs: inputs.iter().map(find).collect(),
        outputs: outputs.iter().map(find).collect(),
        ..Binding::default()
    };
    if let powerbond_core::subsystem::FeedThrough::Declared(pairs) = &s.info().feed_through {
        for &(o, i) in pairs {
            let place = |list: &[usize], v| list.iter().position(|&x| x == v);
            binding.feed_through.extend(place(&binding.outputs, o).zip(place(&binding.inputs, i)));
        }
    }
    s.bind(&binding)?;
    s.enter(&Setup { start: 0.0, stop: 1.0 })?;
    let mut y = vec![0.0; outputs.len()];
    s.evaluate(Inputs::constant(u), &mut y)?;
    s.start()?;
    Ok(y)
}

/// Steps of `h` from 0 to 1 with constant inputs; the outputs at the end.
pub fn run(s: &mut dyn Subsystem, u: &[f64], n_outputs: usize, h: f64) -> Result<Vec<f64>, SubsystemError> {
    let mut y = vec![0.0; n_outputs];
    let steps = (1.0 / h).round() as u32;
    for n in 0..steps {
        let span = Span { start: f64::from(n) * h, end: f64::from(n + 1) * h, h };
        s.advance(span, Inputs::constant(u), &mut y)?;
    }
    s.finish()?;
    Ok(y)
}

/// Changes a few bytes, cuts or repeats a piece: a different file for every `seed`, the same in every run.
pub fn mutate(bytes: &[u8], seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let mut mutated = bytes.to_vec();
    for _ in 0..=random(4) {
        let at = random(mutated.len());
        let length = random(24).min(mutated.len() - at);
        match random(5) {
            0 => mutated[at] = random(256) as u8,
            1 => drop(mutated.drain(at..at + length)),
            2 => {
                let piece = mutated[at..at + length].to_vec();
                let to = random(mutated.len());
                mutated.splice(to..to, piece);
            }
            3 => mutated[at] = b"<>\"&/=0-9e "[random(11)],
            _ => mutated.truncate(mutated.len() - length),
        }
    }
    mutated
}
