//! What the command line, Python or a sweep put over a system, and a whole run with results on disk.

use crate::Error;
use crate::catalogue::Method;
use crate::results::{Contents, Summary, Wanted};
use crate::scenario::Scenario;
use crate::session::{Done, Output};
use crate::source::{At, Place};
use crate::system::{SignalSpec, SimulatorSpec, System, Verify, with_mappings};
use crate::table::Format;
use crate::verify;
use powerbond_core::observe::NoObserver;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What the command line or a program may change; it overrides the file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
    /// A file whose `[method]` replaces that of the system.
    pub method: Option<PathBuf>,
    /// `subsystem.parameter=value` or `method.knob=value`; overrides `params`.
    pub set: Vec<String>,
    /// Parameter files (SSP's `.ssv`), each with its mapping (`.ssm`) behind it; later ones override earlier ones.
    pub params: Vec<PathBuf>,
    /// Of the parameter sets in a structure of SSP, only those of this name count.
    #[serde(default)]
    pub parameter_set: Option<String>,
    /// A scenario: what happens to variables at known times.
    pub scenario: Option<PathBuf>,
    /// Seconds of the run per second of wall-clock time; `None`: as fast as it goes.
    pub real_time: Option<f64>,
    /// Threads that advance subsystems side by side; 0 and 1: none beside the one that runs everything.
    pub worker_threads: usize,
    /// Run with the method that chooses everything itself, with this tolerance.
    pub tolerance: Option<f64>,
    /// A CSV file whose columns feed inputs.
    pub input: Option<PathBuf>,
    /// Samples that inputs follow; they override those of `input`.
    pub samples: Vec<Samples>,
    /// Record what fits these patterns, instead of what the system says.
    pub record: Option<Vec<String>>,
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
    /// Verify the run by finer ones.
    pub verify: Option<Verify>,
    /// Repeat the run with other tolerances until its verified error is no larger than this share.
    pub error: Option<f64>,
}

/// What an input follows: straight lines between samples where it is continuous, else the last one holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// `subsystem.input`, or just `input` where there is one subsystem.
    pub input: String,
    /// In s, increasing; two of the same time are a discontinuity.
    pub times: Vec<f64>,
    /// As many as there are times.
    pub values: Vec<f64>,
}

impl RunOptions {
    /// The system with these options applied.
    pub fn apply(&self, system: &System) -> Result<System, Error> {
        let mut system = match &self.parameter_set {
            Some(name) => system.with_parameter_set(name)?,
            None => system.clone(),
        };
        for (file, mapping) in with_mappings(&self.params)? {
            let notes = system.set_from(file, mapping.map(|m| &**m), false)?;
            system.notes.extend(notes);
            system.simulation.params.extend([Some(file), mapping].into_iter().flatten().cloned());
        }
        if let Some(file) = &self.method {
            system.method_from(file)?;
        }
        for assignment in &self.set {
            system.set(assignment)?;
        }
        if let Some(file) = &self.input {
            system.feed_from(file)?;
        }
        for Samples { input, times, values } in &self.samples {
            system.feed(input, times, values)?;
        }
        if let Some(patterns) = &self.record {
            let pattern = |text: &String| At::option(text.clone(), format!("--record {text}"));
            system.record.variables = Some(patterns.iter().map(pattern).collect());
        }
        let given = |value: f64, option: &str| {
            // As one types it: no 300 zeros.
            let is_plain = value == 0.0 || (1e-5..1e16).contains(&value.abs());
            let typed = if is_plain { value.to_string() } else { format!("{value:e}") };
            At::option(value, format!("{option} {typed}"))
        };
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
        if let Some(error) = self.error {
            system.verdict.error = Some(given(error, "--error"));
        }
        // An error that is asked for is the first tolerance, unless another one is given.
        if let Some(error) = system.verdict.error.clone().filter(|_| self.tolerance.is_none()) {
            system.set_tolerance(&error)?;
        }
        system.verdict.verify = self.verify.or(system.verdict.verify);
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
        system.simulation.allow_nonfinite |= self.allow_nonfinite;
        system.record.jumps |= self.jumps;
        if let Some(format) = self.format {
            system.record.format = At::option(format, format!("--format {}", format.name()));
        }
        if let Some(file) = &self.output {
            let typed = format!("--output {}", file.display());
            let Some(format) = Format::of(file) else {
                let message = "the extension selects the format: .csv, .arrows or .parquet";
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
            contents: Contents::Run {
                format: system.record.format.value,
                jumps: system.record.jumps,
                finer: system.verdict.verify_by().is_some(),
            },
            output: system.record.file.clone(),
            report: false,
            reads: system.files(),
            overwrite: self.overwrite,
        }
    }
}

impl System {
    /// The files that a run of it reads.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = self.simulation.params.clone();
        files.extend(self.scenario.as_ref().and_then(|scenario| scenario.file.clone()));
        // A system without a text is made of a single FMU.
        files.extend(self.source().map(|source| source.path().to_owned()));
        for spec in &self.subsystems {
            if let SimulatorSpec::Fmu(path, _) = &spec.simulator {
                files.push(self.folder().join(&path.value));
            }
        }
        for (_, signal) in &self.inputs {
            if let SignalSpec::Table { file, .. } = signal {
                files.push(self.folder().join(&file.value));
            }
        }
        files
    }
}

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
    let Done { summary, error, .. } =
        verify::run(&system, Output::folder(options.wanted(&system)), &mut NoObserver)?;
    match (error, summary.exceeded.first()) {
        (Some(error), _) => Err(error),
        (None, Some(message)) => Err(Error::accuracy(message)),
        (None, None) => Ok(summary),
    }
}
