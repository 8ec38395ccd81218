//! A run with results on disk.

use crate::Error;
use crate::pace::Paced;
use crate::prepare::Prepared;
use crate::report::REPORT;
use crate::results::{JUMPS, Recorder, SUMMARY, Summary};
use crate::scenario::Scenario;
use crate::source::At;
use crate::system::System;
use powerbond_core::master::Outcome;
use powerbond_core::observer::{Both, Nobody, Observer};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What the command line or a program may change; it goes over what the file says.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Start of the run, in s.
    pub begin_time: Option<f64>,
    /// End of the run, in s.
    pub end_time: Option<f64>,
    /// Length of the run, in s.
    pub duration: Option<f64>,
    /// Constant or first step, in s.
    pub step_size: Option<f64>,
    /// Output interval, in s.
    pub output_interval: Option<f64>,
    /// Where results go; `None`: `results/<name>` below the current folder.
    pub output_dir: Option<PathBuf>,
    /// `subsystem.parameter=value`; goes over `params`.
    pub set: Vec<String>,
    /// Parameter files (SSP's `.ssv`); later ones go over earlier ones.
    pub params: Vec<PathBuf>,
    /// A scenario: what happens to variables at known times.
    pub scenario: Option<PathBuf>,
    /// Seconds of the run per second on the wall; `None`: as fast as it goes.
    pub real_time: Option<f64>,
    /// Threads that advance subsystems side by side; 0 and 1: none beside the one that runs everything.
    pub worker_threads: usize,
    /// A CSV file whose columns feed inputs.
    pub input: Option<PathBuf>,
    /// Go on with NaN and infinite outputs.
    pub allow_nonfinite: bool,
    /// Write the jumps of inputs, too.
    pub jumps: bool,
    /// Fail if the estimated error is larger than this share.
    pub max_error: Option<f64>,
    /// Fail if the energy residual of a bond is a larger share of the energy exchanged.
    pub max_energy_residual: Option<f64>,
}

impl RunOptions {
    /// The system with these options applied.
    pub fn apply(&self, system: &System) -> Result<System, Error> {
        let mut system = system.clone();
        for file in &self.params {
            let notes = system.set_from(file, false)?;
            system.notes.extend(notes);
            system.simulation.params.push(file.clone());
        }
        for assignment in &self.set {
            system.set(assignment)?;
        }
        if let Some(file) = &self.input {
            system.feed_from(file)?;
        }
        let given = |value: f64, option: &str| At::option(value, format!("{option} {value}"));
        if let Some(t) = self.begin_time {
            system.simulation.start = given(t, "--begin-time");
        }
        if let Some(t) = self.end_time {
            system.simulation.stop = Some(given(t, "--end-time"));
        }
        if let Some(d) = self.duration {
            let stop = system.simulation.start.value + d;
            system.simulation.stop = Some(At::option(stop, format!("--duration {d}")));
        }
        if let Some(h) = self.step_size {
            system.simulation.step = Some(given(h, "--step-size"));
        }
        if let Some(dt) = self.output_interval {
            system.simulation.output_interval = Some(given(dt, "--output-interval"));
        }
        if let Some(share) = self.max_error {
            system.verdict.max_error = Some(given(share, "--max-error"));
        }
        if let Some(share) = self.max_energy_residual {
            system.verdict.max_energy_residual = Some(given(share, "--max-energy-residual"));
        }
        if let Some(file) = &self.scenario {
            system.scenario = Some(Scenario::load(file)?);
        }
        system.simulation.real_time = self.real_time.or(system.simulation.real_time);
        system.simulation.worker_threads = self.worker_threads.max(system.simulation.worker_threads);
        system.record.jumps |= self.jumps;
        Ok(system)
    }

    /// Where results go.
    pub fn folder(&self, system: &System) -> PathBuf {
        self.output_dir.clone().unwrap_or_else(|| Path::new("results").join(slug(&system.name)))
    }
}

/// The file of what FMUs said, if they said anything.
const LOG: &str = "log.txt";

/// A name that is safe as a folder.
fn slug(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' }).collect();
    let trimmed = plain.trim_matches('-');
    if trimmed.is_empty() { "system".to_owned() } else { trimmed.to_owned() }
}

/// Runs a system and writes its results; a limit of accuracy that is exceeded is an error.
pub fn run(system: &System, options: &RunOptions) -> Result<Summary, Error> {
    let system = options.apply(system)?;
    let prepared = system.prepare_with(options.allow_nonfinite)?;
    let run = run_prepared(&system, prepared, &options.folder(&system), &mut Nobody)?;
    if let Some(message) = run.summary.exceeded.first() {
        return Err(run.error.unwrap_or(Error::Accuracy { message: message.clone() }));
    }
    run.error.map_or(Ok(run.summary), Err)
}

/// A run whose results are on disk.
pub struct Run {
    /// What it came to, as far as it came.
    pub summary: Summary,
    /// Why it ended early, if a model or the method failed.
    pub error: Option<Error>,
}

/// Runs a prepared system and writes its results to `folder`; `watcher` sees every step.
///
/// Rows are on disk before the summary is made, and the summary is written for failed runs, too. `Err` means that
/// results could not be written.
pub fn run_prepared(
    system: &System,
    mut prepared: Prepared,
    folder: &Path,
    watcher: &mut dyn Observer,
) -> Result<Run, Error> {
    std::fs::create_dir_all(folder).map_err(|e| Error::output(folder, &e))?;
    // What an earlier run left here and this one will not replace would be taken for its own.
    for name in [JUMPS, REPORT, SUMMARY] {
        match std::fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::output(&folder.join(name), &error));
            }
            _ => {}
        }
    }
    let interval = system.simulation.output_interval.as_ref().map(|d| d.value);
    let mut recorder = Recorder::create(folder, &prepared, interval, system.record.jumps)?;
    let begun = Instant::now();
    let (outcome, real_time) = match system.simulation.real_time {
        None => (prepared.run(&mut Both(&mut recorder, watcher)), None),
        Some(factor) => {
            let mut paced = Paced::new(factor, watcher);
            let outcome = prepared.run(&mut Both(&mut recorder, &mut paced));
            (outcome, Some(paced.outcome()))
        }
    };
    let seconds = begun.elapsed().as_secs_f64();
    recorder.close()?;
    let word = match outcome {
        Ok(Outcome::Finished) => "finished",
        Ok(Outcome::Stopped) => "stopped",
        Err(_) => "failed",
    };
    let error = outcome.as_ref().err().map(Error::to_string);
    let mut summary = Summary::new(system, &prepared, word, error, seconds, real_time);
    for (member, error) in prepared.master.finish() {
        summary
            .warnings
            .push(format!("{}: ending the simulation failed: {error}", prepared.names.subsystems[member]));
    }
    let said = prepared.log.text();
    if !said.is_empty() {
        let path = folder.join(LOG);
        std::fs::write(&path, said).map_err(|e| Error::output(&path, &e))?;
    }
    write_summary(folder, &summary)?;
    Ok(Run { summary, error: outcome.err() })
}

fn write_summary(folder: &Path, summary: &Summary) -> Result<(), Error> {
    let path = folder.join(SUMMARY);
    let text = serde_json::to_string_pretty(summary).map_err(|e| Error::output(&path, &e.into()))?;
    std::fs::write(&path, text + "\n").map_err(|e| Error::output(&path, &e))
}
