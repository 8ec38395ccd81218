//! A run with results on disk.

use crate::Error;
use crate::catalogue::Method;
use crate::diary::{self, Diary};
use crate::pace::Paced;
use crate::prepare::Prepared;
use crate::results::{Contents, Origin, Places, Recorder, RunFolder, SUMMARY, Summary, Wanted};
use crate::scenario::Scenario;
use crate::source::{At, Place};
use crate::system::{SignalSpec, SimulatorSpec, System};
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
    /// Replace what an earlier run left at the same place, instead of renaming or refusing it.
    pub overwrite: bool,
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

    /// Where the results of `system`, to which these options have been applied, go.
    pub fn wanted(&self, system: &System) -> Wanted {
        let default = || Path::new("results").join(slug(&system.name));
        Wanted {
            folder: self.output_dir.clone().unwrap_or_else(default),
            chosen: self.output_dir.is_some(),
            system: system.name.clone(),
            contents: Contents::Run { format: system.record.format.value, jumps: system.record.jumps },
            output: system.record.file.clone(),
            report: false,
            reads: reads(system),
            overwrite: self.overwrite,
        }
    }
}

/// The files that a run of `system` reads.
fn reads(system: &System) -> Vec<PathBuf> {
    let mut files = system.simulation.params.clone();
    files.extend(system.scenario.as_ref().and_then(|scenario| scenario.file.clone()));
    // A system without a text is made of a single FMU.
    files.extend(system.source().map(|source| source.path().to_owned()));
    for spec in &system.subsystems {
        if let SimulatorSpec::Fmu(path, _) = &spec.simulator {
            files.push(system.folder().join(&path.value));
        }
    }
    for (_, signal) in &system.inputs {
        if let SignalSpec::Table { file, .. } = signal {
            files.push(system.folder().join(&file.value));
        }
    }
    files
}

/// The file of what FMUs said, if they said anything: `log.txt`.
const LOG: (&str, &str) = ("log", "txt");

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
    let wanted = options.wanted(&system);
    wanted.check()?;
    let prepared = system.prepare_with(options.allow_nonfinite)?;
    let run = run_prepared(&system, prepared, &RunFolder::claim(&wanted)?, &mut Nobody)?;
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
    folder: &RunFolder,
    watcher: &mut dyn Observer,
) -> Result<Run, Error> {
    prepared.warnings.extend_from_slice(folder.warnings());
    let places = Places {
        format: system.record.format.value,
        folder: folder.path().to_owned(),
        results: system.record.file.clone(),
    };
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
    // All rows are on disk before a summary says how the run ended.
    let closed = closed.and_then(|()| folder.sync(places.results.as_deref()));
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
    let mut more = false;
    for (member, error) in prepared.engine.finish() {
        let text = format!("{}: ending the simulation failed: {error}", prepared.names.subsystems[member]);
        summary.warnings.push(text);
        more = true;
    }
    let said = prepared.log.text();
    if !said.is_empty() {
        summary.files[LOG.0] = folder.add(LOG.0, LOG.1, &said)?.into();
        more = true;
    }
    if more {
        write_summary(folder, &summary)?;
    }
    Ok(Run { summary, error: outcome.err() })
}

fn write_summary(folder: &RunFolder, summary: &Summary) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(summary)
        .map_err(|e| Error::output(&folder.path().join(SUMMARY), &e.into()))?;
    folder.replace(SUMMARY, &(text + "\n"))
}
