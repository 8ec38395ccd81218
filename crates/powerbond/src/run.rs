//! A run with results on disk.

use crate::Error;
use crate::catalogue::Method;
use crate::diary::{self, Diary};
use crate::pace::Paced;
use crate::prepare::Prepared;
use crate::report::REPORT;
use crate::results::{JUMPS, Origin, Places, Recorder, SUMMARY, Summary, TABLES};
use crate::scenario::Scenario;
use crate::source::{At, Place};
use crate::system::System;
use crate::table::Format;
use powerbond_core::observe::{Both, Nobody, Observer};
use powerbond_core::run::Outcome;
use powerbond_fmi::process;
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
    /// Run with the method that chooses everything itself, with this tolerance.
    pub tolerance: Option<f64>,
    /// A CSV file whose columns feed inputs.
    pub input: Option<PathBuf>,
    /// Go on with NaN and infinite outputs.
    pub allow_nonfinite: bool,
    /// Write the jumps of inputs, too.
    pub jumps: bool,
    /// How tables are written.
    pub format: Option<Format>,
    /// The file of recorded variables; its extension chooses the format of all tables.
    pub output: Option<PathBuf>,
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
        if let Some(tolerance) = self.tolerance {
            system.set_tolerance(&given(tolerance, "--tolerance"))?;
        }
        if let Some(h) = self.step_size {
            system.simulation.step = Some(given(h, "--step-size"));
            // A step and nothing else: it is constant. With a tolerance it is the first one.
            if system.method.implicit && self.tolerance.is_none() {
                system.method = Method::default();
            }
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
        if let Some(format) = self.format {
            system.record.format = At::option(format, format!("--format {}", format.name()));
        }
        if let Some(file) = &self.output {
            let typed = format!("--output {}", file.display());
            let Some(format) = Format::of(file) else {
                let message = "the extension chooses the format: .csv, .arrows or .parquet";
                return Err(Error::input(Some(Place::Option(typed)), message));
            };
            system.record.format = At::option(format, typed);
            system.record.file = Some(file.clone());
        }
        let format = &system.record.format;
        let asked = format.prefix();
        format.value.require(format!("{asked}format `{}`", format.value.name()))?;
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
    let outside = system.record.file.as_deref().and_then(Path::parent);
    for folder in [folder].into_iter().chain(outside) {
        std::fs::create_dir_all(folder).map_err(|e| Error::output(folder, &e))?;
    }
    let places = Places {
        format: system.record.format.value,
        folder: folder.to_owned(),
        results: system.record.file.clone(),
    };
    clear(&places, system.record.jumps)?;
    let origin = Origin::new(system, &prepared, &places);
    // What a killed run leaves says how it was begun, and that it never ended.
    let unended = "it has not ended: it is under way, or was killed".to_owned();
    write_summary(folder, &Summary::new(system, &prepared, &origin, "running", Some(unended), 0.0, None))?;
    let interval = system.simulation.output_interval.as_ref().map(|d| d.value);
    let about = origin.metadata(system);
    let mut recorder = Recorder::create(&places, &prepared, interval, system.record.jumps, &about)?;
    diary::begin(&prepared, origin.config());
    let begun = Instant::now();
    let mut watcher = Both(&mut Diary, watcher);
    let run = || match system.simulation.real_time {
        None => (prepared.run(&mut Both(&mut recorder, &mut watcher)), None),
        Some(factor) => {
            let mut paced = Paced::new(factor, &mut watcher);
            let outcome = prepared.run(&mut Both(&mut recorder, &mut paced));
            (outcome, Some(paced.outcome()))
        }
    };
    let ((outcome, real_time), moved) = process::in_folder(run);
    let seconds = begun.elapsed().as_secs_f64();
    tracing::info!(t = prepared.engine.time(), seconds, "the run has ended");
    let closed = recorder.close().and_then(|()| recorder.convert());
    if let Err(error) = closed {
        let failed =
            Summary::new(system, &prepared, &origin, "failed", Some(error.to_string()), seconds, real_time);
        // The disk may be full: then the summary stays as it was at the start.
        let _ = write_summary(folder, &failed);
        return Err(error);
    }
    drop(recorder);
    let word = match outcome {
        Ok(Outcome::Finished) => "finished",
        Ok(Outcome::Stopped) => "stopped",
        Err(_) => "failed",
    };
    let error = outcome.as_ref().err().map(Error::to_string);
    let mut summary = Summary::new(system, &prepared, &origin, word, error, seconds, real_time);
    if moved {
        let text =
            "an FMU changed the working folder of the process in a step; it was brought back in the end";
        summary.warnings.push(text.to_owned());
    }
    // A model that crashes when it is told to end spoils nothing that was computed.
    write_summary(folder, &summary)?;
    for (member, error) in prepared.engine.finish() {
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

/// Takes away what an earlier run left and this one will not replace: it would be taken for a part of it.
fn clear(places: &Places, jumps: bool) -> Result<(), Error> {
    let Places { folder, format, .. } = places;
    let written = |table: &str, f: Format| f == *format && (table != JUMPS || jumps);
    let mut stale = vec![REPORT.to_owned(), SUMMARY.to_owned()];
    for table in TABLES {
        stale.push(format!("{table}.parquet.part"));
        stale.extend(Format::ALL.into_iter().filter(|&f| !written(table, f)).map(|f| f.file(table)));
    }
    // Of a folder without a summary nobody knows whose log this is.
    if folder.join(SUMMARY).is_file() {
        stale.push(LOG.to_owned());
    }
    for name in stale {
        match std::fs::remove_file(folder.join(&name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::output(&folder.join(&name), &error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// In one go: nobody ever sees half a summary.
fn write_summary(folder: &Path, summary: &Summary) -> Result<(), Error> {
    let (path, part) = (folder.join(SUMMARY), folder.join(format!("{SUMMARY}.part")));
    let text = serde_json::to_string_pretty(summary).map_err(|e| Error::output(&path, &e.into()))?;
    let written = std::fs::write(&part, text + "\n").and_then(|()| std::fs::rename(&part, &path));
    written.map_err(|e| {
        let _ = std::fs::remove_file(&part);
        Error::output(&path, &e)
    })
}
