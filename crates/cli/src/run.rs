//! `powerbond run`: a coupled system from start to stop, results on disk, a summary for people.

use crate::layout::{table, wrap};
use crate::live::Server;
use crate::progress::Watch;
use crate::terminal;
use crate::text::{line_of, print, quantity, say, significant};
use powerbond::core::observe::Observer;
use powerbond::fmi::PrivateFolder;
use powerbond::number::percent;
use powerbond::report::REPORT;
use powerbond::results::{FINER, RunFolder, Summary, VerdictSummary, Verification, Wanted};
use powerbond::table::Format;
use powerbond::{Done, Error, Output, RealTime, RunOptions, System, TABLES, Verify};
use powerbond_worker::{Ending, Limits, Report, Worker};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Options of `run`.
#[derive(Clone, clap::Args)]
pub struct Arguments {
    /// A system file, SSP, OSP, a folder with one of them, or a single FMU (default: the current folder)
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    system: Option<PathBuf>,
    /// Start of the run, in s
    #[arg(short, long, value_name = "S", allow_negative_numbers = true, value_parser = crate::text::seconds)]
    begin_time: Option<f64>,
    /// End of the run, in s
    #[arg(
        short,
        long,
        alias = "stop-time",
        value_name = "S",
        allow_negative_numbers = true,
        value_parser = crate::text::seconds,
        conflicts_with = "duration"
    )]
    end_time: Option<f64>,
    /// Length of the run, in s
    #[arg(short, long, value_name = "S", allow_negative_numbers = true, value_parser = crate::text::seconds)]
    duration: Option<f64>,
    /// Constant step size, or the first one of an adaptive run, in s
    #[arg(short, long, value_name = "S", allow_negative_numbers = true, value_parser = crate::text::seconds)]
    step_size: Option<f64>,
    /// Choose steps and method automatically for this relative error, such as 1e-3 or 0.1% (method `auto`,
    /// default 1e-3)
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, value_parser = crate::text::tolerance)]
    tolerance: Option<f64>,
    /// Write results at multiples of this, in s (default: every step)
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = crate::text::seconds)]
    output_interval: Option<f64>,
    /// Folder of the results (default: results/<name of the system>)
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    output_dir: Option<PathBuf>,
    /// Replace earlier results at the same place; otherwise an earlier run in the default folder is renamed, and an
    /// --output-dir or --output with results is refused
    #[arg(long)]
    overwrite: bool,
    /// File of the recorded variables; its extension selects the format of all tables: .csv, .arrows, .parquet
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, conflicts_with = "format")]
    output: Option<PathBuf>,
    /// Format of the tables (default: csv); arrow and parquet need a powerbond built with the feature `arrow`
    #[arg(long, value_name = "FORMAT", value_parser = ["csv", "arrow", "parquet"])]
    format: Option<String>,
    /// Take `[method]` (and the `step` that belongs to it) from this file, such as tune's `tuned.toml`
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    method: Option<PathBuf>,
    /// Set a parameter, subsystem.parameter=value, or a knob, method.estimator.tolerance=1e-4 (repeatable)
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Set parameters from an SSP parameter set (.ssv); --set overrides it (repeatable, later files override
    /// earlier ones)
    #[arg(long, value_name = "FILE.SSV", value_hint = clap::ValueHint::FilePath)]
    params: Vec<PathBuf>,
    /// Of the parameter sets in a structure of SSP use only those of this name, as libcosim does (default: all of them, later
    /// ones override earlier ones)
    #[arg(long, value_name = "NAME")]
    parameter_set: Option<String>,
    /// Apply an OSP scenario (YAML or JSON): override and bias variables at given times
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    scenario: Option<PathBuf>,
    /// Pace the run to wall-clock time, or FACTOR times faster
    #[arg(
        long,
        value_name = "FACTOR",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1",
        value_parser = crate::text::factor
    )]
    real_time: Option<f64>,
    /// Advance subsystems in parallel on N worker threads; results are bit-identical
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1024))]
    worker_threads: u16,
    /// Set external inputs from a CSV file: `time`, then one column per `subsystem.input`
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    input: Option<PathBuf>,
    /// Continue when an output is NaN or infinite
    #[arg(long)]
    allow_nonfinite: bool,
    /// Write the prediction defects of coupled inputs to the table `jumps`
    #[arg(long)]
    jumps: bool,
    /// Exit with 7 if the residual energy of a bond exceeds this share of the exchanged energy, such as 0.5%
    #[arg(long, value_name = "SHARE", value_parser = crate::text::share)]
    max_energy_residual: Option<f64>,
    /// Exit with 7 if the estimated coupling error exceeds this, such as 1%
    #[arg(long, value_name = "SHARE", value_parser = crate::text::share)]
    max_error: Option<f64>,
    /// Verify: run again with every step in halves, and tell the error of every output; `=quarters` adds a third run,
    /// from which the order is known
    #[arg(
        long,
        value_name = "PARTS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "halves",
        value_parser = ["halves", "quarters"]
    )]
    verify: Option<String>,
    /// Repeat with other tolerances, three at most, until the verified error is at most this, such as 1%
    #[arg(long, value_name = "SHARE", conflicts_with = "step_size", value_parser = crate::text::goal)]
    error: Option<f64>,
    /// Also write report.html to the folder of the results
    #[arg(long)]
    report: bool,
    /// Serve the report while the run goes on, to this machine only; the address is printed (default port: a free one)
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    live: Option<u16>,
    /// Kill the run and exit with 6 if it takes longer, in s of wall-clock time
    #[arg(long, value_name = "S", value_parser = crate::text::factor)]
    timeout: Option<f64>,
    /// Kill the run and exit with 6 if a single call of an FMU takes longer, in s of wall-clock time
    #[arg(long, value_name = "S", value_parser = crate::text::factor)]
    call_timeout: Option<f64>,
    /// Kill the run and exit with 5 if its processes take more memory, such as 2GB
    #[arg(long, value_name = "SIZE", value_parser = crate::text::bytes)]
    memory_limit: Option<u64>,
    /// Let FMUs write to the folder of the results and to temporary ones only, and open no network connections (Linux
    /// 6.2 or newer)
    #[arg(long)]
    sandbox: bool,
    /// Print JSON lines: progress, then the summary as the last one
    #[arg(long)]
    json: bool,
    /// Print nothing but errors
    #[arg(short, long)]
    quiet: bool,
    /// How many power bonds could be declared, once that was looked for: the report is made before FMUs are terminated and after it.
    #[arg(skip)]
    undeclared: Arc<OnceLock<usize>>,
}

/// Runs the command: in this process if it is a worker or if that was asked for, else in a worker that it supervises.
pub fn main(arguments: &Arguments, logs: bool, in_process: bool) -> Result<u8, Error> {
    if let Some(worker) = Worker::here() {
        return Ok(work(arguments, worker));
    }
    crate::text::keep_stdout()?;
    let mut watch = Watch::new(arguments.json, arguments.quiet || logs)?;
    if in_process || !powerbond_worker::is_supported() {
        if let Some(option) = arguments.needs_worker() {
            let message = format!("`{option}` needs a worker process, and this run is in this process");
            return Err(Error::input(None, message));
        }
        return arguments.alone(&mut watch);
    }
    let limits = Limits {
        // Longer than clocks count is no limit.
        run: arguments.timeout.and_then(|s| Duration::try_from_secs_f64(s).ok()),
        call: arguments.call_timeout.and_then(|s| Duration::try_from_secs_f64(s).ok()),
        memory: arguments.memory_limit,
    };
    if arguments.sandbox {
        powerbond_worker::sandbox_is_possible()
            .map_err(|why| Error::input(None, format!("--sandbox is not possible here: {why}")))?;
    }
    // What FMUs may write to is theirs alone.
    let temporary = arguments.sandbox.then(PrivateFolder::new).transpose();
    let temporary = temporary.map_err(|e| Error::input(None, e.to_string()))?;
    let mut environment = terminal::environment();
    environment.extend(temporary.as_ref().map(|folder| ("TMPDIR", folder.path().into())));
    let live = arguments.live.map(Server::begin).transpose()?;
    if let Some(live) = &live {
        arguments.say_address(&live.url())?;
        watch.tell(live.shared());
    }
    let ending = powerbond_worker::supervise(crate::words(), limits, environment, &mut watch);
    drop(temporary);
    watch.clear();
    if let Some(live) = live {
        live.end(ending.as_ref().ok().and_then(Ending::folder));
    }
    let ending = match ending {
        Ok(ending) => ending,
        Err(error) if arguments.needs_worker().is_some() => {
            let option = arguments.needs_worker().unwrap_or_default();
            let message = format!("cannot start the worker process, which `{option}` needs: {error}");
            return Err(Error::input(None, message));
        }
        // A limit on files or memory, for one: the run itself may do without.
        Err(error) => {
            say("warning", format!("cannot start the worker process: {error}; FMUs run in this process"));
            return arguments.alone(&mut watch);
        }
    };
    match ending {
        Ending::Reported { report, trouble, folder } => {
            arguments.page(folder.as_deref())?;
            tell(&report)?;
            match trouble {
                Some(error) if matches!(error, Error::Deadline(_)) => {
                    say("error", &error);
                    Ok(error.exit_code())
                }
                Some(error) => {
                    say("warning", format!("after the run was complete: {error}"));
                    Ok(report.code)
                }
                None => Ok(report.code),
            }
        }
        Ending::Failed { error, folder, complete } => {
            say("error", &error);
            say_where(folder.as_deref(), complete);
            Ok(error.exit_code())
        }
        Ending::Stopped { signal, folder, complete } => {
            say_where(folder.as_deref(), complete);
            Ok(128 + signal)
        }
    }
}

fn say_where(folder: Option<&Path>, complete: bool) {
    match folder {
        Some(folder) if complete => eprintln!(
            "that was the run with smaller steps, which was to verify the run; its own results are complete, in {}",
            folder.display()
        ),
        Some(folder) => eprintln!("results until then are in {}", folder.display()),
        None => eprintln!("there are no results: the run had not begun"),
    }
}

fn tell(report: &Report) -> Result<(), Error> {
    print(&report.out)?;
    eprint!("{}", report.err);
    Ok(())
}

/// As the worker of a supervisor.
fn work(arguments: &Arguments, mut worker: Worker) -> u8 {
    let stopped = worker;
    let told = move |mut report: Report| {
        if let (0, Some(code)) = (report.code, stopped.stopped_by()) {
            report.code = code;
        }
        stopped.report(&report);
        report.code
    };
    let later = arguments.clone();
    // Told before FMUs are: one that fails when it is terminated takes nothing along.
    let concluded = move |summary: &Summary, folder: Option<&RunFolder>, error: Option<&Error>| {
        let _ = folder.map(|folder| later.report_on(summary, folder, error).map(told));
    };
    let output = Output {
        backups: Some(worker.backups()),
        foreseen: Some(Box::new(move |text: &str| stopped.notice(&line_of("warning", text)))),
        concluded: Some(Box::new(concluded)),
        ..Output::default()
    };
    let begun = arguments.enter_sandbox().and_then(|()| crate::text::keep_stdout());
    let done = begun.and_then(|()| arguments.run(output, &mut worker));
    let report = done.and_then(|done| arguments.report_of(&done));
    let code = told(report.unwrap_or_else(|error| Report {
        code: error.exit_code(),
        err: crate::text::error(&error),
        ..Report::default()
    }));
    worker.end();
    code
}

impl Arguments {
    /// An option that only a supervisor can keep.
    fn needs_worker(&self) -> Option<&'static str> {
        let options = [
            (self.timeout.is_some(), "--timeout"),
            (self.call_timeout.is_some(), "--call-timeout"),
            (self.memory_limit.is_some(), "--memory-limit"),
            (self.sandbox, "--sandbox"),
            (self.live.is_some(), "--live"),
        ];
        options.into_iter().find(|(given, _)| *given).map(|(_, option)| option)
    }

    /// If that was asked for: from here on the process writes only to what it needs for results, and to its temporary folder.
    fn enter_sandbox(&self) -> Result<(), Error> {
        if !self.sandbox {
            return Ok(());
        }
        let (options, system) = self.system()?;
        let folders = options.wanted(&system).written_below()?;
        let writable = [std::env::temp_dir(), PathBuf::from("/dev/null")].into_iter().chain(folders);
        powerbond_worker::enter_sandbox(&writable.collect::<Vec<_>>())
            .map_err(|why| Error::input(None, format!("--sandbox: {why}")))
    }

    /// Where the live view is: on stderr, or as one more line of JSON.
    fn say_address(&self, url: &str) -> Result<(), Error> {
        if self.json {
            return print(&format!("{}\n", serde_json::json!({ "event": "live", "url": url })));
        }
        eprintln!("live view: {url}");
        Ok(())
    }

    /// Without a worker.
    fn alone(&self, watch: &mut Watch) -> Result<u8, Error> {
        let quiet = self.quiet;
        let foreseen = move |text: &str| {
            if !quiet {
                say("warning", text)
            }
        };
        let done = self.run(Output { foreseen: Some(Box::new(foreseen)), ..Output::default() }, watch);
        watch.clear();
        let done = done?;
        let report = self.report_of(&done)?;
        self.page(done.folder.as_ref().map(RunFolder::path))?;
        tell(&report)?;
        Ok(watch.stopped_by().filter(|_| report.code == 0).unwrap_or(report.code))
    }

    /// The system with all options over it.
    fn system(&self) -> Result<(RunOptions, System), Error> {
        let options = RunOptions {
            begin_time: self.begin_time,
            end_time: self.end_time,
            duration: self.duration,
            step_size: self.step_size,
            output_interval: self.output_interval,
            output_dir: self.output_dir.clone(),
            overwrite: self.overwrite,
            method: self.method.clone(),
            set: self.set.clone(),
            params: self.params.clone(),
            parameter_set: self.parameter_set.clone(),
            scenario: self.scenario.clone(),
            real_time: self.real_time,
            worker_threads: self.worker_threads.into(),
            tolerance: self.tolerance,
            input: self.input.clone(),
            allow_nonfinite: self.allow_nonfinite,
            jumps: self.jumps,
            format: self.format.as_deref().and_then(Format::named),
            output: self.output.clone(),
            max_error: self.max_error,
            max_energy_residual: self.max_energy_residual,
            verify: self.verify.as_deref().map(|by| match by {
                "quarters" => Verify::Quarters,
                _ => Verify::Halves,
            }),
            error: self.error,
            ..RunOptions::default()
        };
        let system = options.apply(&System::load(&crate::here::system(self.system.as_ref(), "run")?)?)?;
        Ok((options, system))
    }

    /// Runs the system, its results in a folder.
    fn run(&self, output: Output, observer: &mut dyn Observer) -> Result<Done, Error> {
        let (options, system) = self.system()?;
        // A run may take hours: what was not chosen by the user is said before it.
        let notes = system.notes_before();
        if !self.quiet {
            notes.iter().for_each(|note| say("warning", note));
        }
        let wanted = Wanted { report: self.report, ..options.wanted(&system) };
        let quiet = self.quiet;
        let opened = move |warnings: &[String]| {
            let new = warnings.iter().filter(|warning| !quiet && !notes.contains(warning));
            new.for_each(|warning| say("warning", warning));
        };
        let output = Output { memory: false, folder: Some(wanted), opened: Some(Box::new(opened)), ..output };
        // What goes wrong in the run is told later, after everything that was computed is on disk.
        powerbond::verify::run(&system, output, observer)
    }

    /// The page of the run, if it was asked for.
    fn page(&self, folder: Option<&Path>) -> Result<(), Error> {
        match folder.filter(|_| self.report) {
            Some(folder) => {
                powerbond::report::write(&[folder.to_owned()], &folder.join(REPORT), self.overwrite).map(drop)
            }
            None => Ok(()),
        }
    }

    /// One line about a run without power bonds; empty where nothing is coupled.
    fn about_bonds(&self, summary: &Summary) -> String {
        if !summary.bonds.is_empty() || summary.inputs.is_empty() {
            return String::new();
        }
        let look =
            || self.system().and_then(|(_, system)| powerbond::suggest::undeclared(&system)).unwrap_or(0);
        match *self.undeclared.get_or_init(look) {
            0 => "  no power bonds: add `[bonds.name]` to measure whether the coupling conserves energy\n"
                .to_owned(),
            n => {
                let named =
                    self.system.as_ref().map_or_else(String::new, |path| format!(" {}", path.display()));
                format!("  no power bonds, but {n} could be declared: see `powerbond bonds{named}`\n")
            }
        }
    }

    fn report_of(&self, done: &Done) -> Result<Report, Error> {
        let folder = done.folder.as_ref();
        let folder = folder.ok_or_else(|| Error::input(None, "missing folder of the results"))?;
        self.report_on(&done.summary, folder, done.error.as_ref())
    }

    /// What a run that is complete came to, in words or as JSON.
    fn report_on(
        &self,
        summary: &Summary,
        folder: &RunFolder,
        error: Option<&Error>,
    ) -> Result<Report, Error> {
        let mut report = Report::default();
        if self.json {
            let line =
                serde_json::to_string(&summary).map_err(|e| Error::output(Path::new("stdout"), &e.into()))?;
            // Where it is comes first: the default folder may have been in use.
            let path = serde_json::json!(folder.path());
            report.out = format!("{{\"folder\":{path},{}\n", &line[1..]);
        } else if !self.quiet && error.is_none() {
            let text = wrap(&describe(summary, folder, &self.about_bonds(summary), self.report));
            report.out = terminal::paint_verdict(text, summary.verdict.word);
        }
        if !self.quiet {
            // Those of before the run were said then.
            let new = summary.warnings.iter().filter(|warning| !summary.told.contains(warning));
            new.for_each(|warning| report.err += &line_of("warning", warning));
        }
        if let Some(error) = error {
            report.err += &crate::text::error(error);
            report.err += &format!("results until then are in {}\n", folder.path().display());
            report.code = error.exit_code();
        } else if summary.outcome != "stopped" && !summary.exceeded.is_empty() {
            summary.exceeded.iter().for_each(|message| report.err += &line_of("error", message));
            report.code = 7;
        }
        Ok(report)
    }
}

/// The summary in words.
fn describe(summary: &Summary, folder: &RunFolder, about_bonds: &str, with_report: bool) -> String {
    let s = summary;
    let mut out = verdict(&s.verdict);
    out += &format!(
        "\n{}: {} s to {} s in {} steps, {}\n",
        s.system,
        significant(s.time.start),
        significant(s.time.reached),
        s.steps.accepted,
        quantity(s.seconds, "s"),
    );
    if s.outcome == "stopped" {
        out += &format!("stopped by the user before the stop time {} s\n", significant(s.time.stop));
    }
    if s.steps.accepted > 0 {
        out += &format!("\n  method      {}\n", method(s));
        out += &if s.step_size.min == s.step_size.max {
            format!("  step size   {}\n", quantity(s.step_size.max, "s"))
        } else {
            format!(
                "  step size   {} to {}, median {}\n",
                quantity(s.step_size.min, "s"),
                quantity(s.step_size.max, "s"),
                quantity(s.step_size.median, "s")
            )
        };
        if s.steps.rejected + s.steps.over_tolerance + s.steps.events > 0 {
            let events = if s.steps.events == 1 { "event" } else { "events" };
            out += &format!(
                "  steps       {} rejected, {} accepted over tolerance, {} {events}\n",
                s.steps.rejected, s.steps.over_tolerance, s.steps.events
            );
        }
        out += &loops(s);
    }
    if let Some(r) = &s.real_time {
        out += &format!("  real time   {}\n", real_time(r));
    }
    out += &s.verification.as_ref().map_or(String::new(), verified);
    out += &choices(s);
    out += &estimates(s);
    if s.bonds.is_empty() && !about_bonds.is_empty() {
        out += &format!("\n{about_bonds}");
    } else if !s.bonds.is_empty() {
        out += "\n";
        let header = [
            "bond",
            "transmitted",
            "exchanged",
            "residual",
            "of exchanged",
            "mean power",
            "½ mean |δP|",
            "worst |δP|",
        ];
        let mut rows = vec![header.map(str::to_owned).to_vec()];
        let (bonds, left) = most(&s.bonds, |b| b.residual_abs);
        for b in bonds {
            // The products of a pseudo-bond have a unit of their own.
            let (watt, joule) = if b.pseudo { ("", "") } else { ("W", "J") };
            rows.push(vec![
                b.name.clone(),
                quantity(b.transmitted, joule),
                quantity(b.exchanged, joule),
                match b.residual {
                    r if r > 0.0 => format!("{} created", quantity(r, joule)),
                    r if r < 0.0 => format!("{} lost", quantity(-r, joule)),
                    r => quantity(r, joule),
                },
                format!("{} %", significant(100.0 * b.residual_share.abs())),
                quantity(b.mean_power, watt),
                quantity(b.half_mean_residual_power, watt),
                format!("{} at {}", quantity(b.worst_power, watt), quantity(b.worst_time, "s")),
            ]);
        }
        out += &table(&rows);
        out += &left;
        s.notes.iter().for_each(|note| out += &format!("  note: {note}\n"));
    }
    let mut rows = vec![["subsystem", "steps", "time"].map(str::to_owned).to_vec()];
    let (subsystems, left) = most(&s.subsystems, |sub| sub.seconds);
    for sub in subsystems {
        rows.push(vec![sub.name.clone(), sub.steps.to_string(), quantity(sub.seconds, "s")]);
    }
    rows.push(vec!["(engine)".to_owned(), String::new(), quantity(s.engine_seconds, "s")]);
    out += "\n";
    out += &table(&rows);
    out += &left;
    let tables = TABLES.iter().chain([&FINER]).filter_map(|table| s.files[*table].as_str());
    let (outside, inside): (Vec<&str>, Vec<&str>) = tables.partition(|file| Path::new(file).is_absolute());
    out += "\n";
    outside.iter().for_each(|file| out += &format!("the recorded variables are in {file}\n"));
    if let Some(earlier) = folder.earlier() {
        out += &format!("the run before it is now in {}\n", earlier.display());
    }
    out += &format!("{} and summary.json are in {}", inside.join(", "), folder.path().display());
    if let Some(wanted) = folder.instead_of() {
        out += &format!(", as another run writes to {}", wanted.display());
    }
    out + &if with_report {
        format!("\nreport: {}\n", folder.path().join(REPORT).display())
    } else {
        format!("\nreport: powerbond report {}\n", folder.path().display())
    }
}

/// Of a long list those with the largest `size`, in the order of the list, and a line about the others.
fn most<T>(list: &[T], size: impl Fn(&T) -> f64) -> (Vec<&T>, String) {
    if list.len() <= MOST_LISTED {
        return (list.iter().collect(), String::new());
    }
    let mut order: Vec<usize> = (0..list.len()).collect();
    order.sort_by(|&a, &b| size(&list[b]).total_cmp(&size(&list[a])));
    order.truncate(MOST_LISTED);
    order.sort_unstable();
    let left = format!("  … {} smaller ones are in summary.json\n", list.len() - MOST_LISTED);
    (order.into_iter().map(|i| &list[i]).collect(), left)
}

/// Bonds and subsystems that are printed.
const MOST_LISTED: usize = 24;

/// How a run in real time kept up.
fn real_time(r: &RealTime) -> String {
    let pace =
        if r.factor == 1.0 { String::new() } else { format!("{} times real time, ", significant(r.factor)) };
    if r.late_share == 0.0 {
        return format!("{pace}no step was late");
    }
    format!(
        "{pace}{} % of the steps were late, by at most {} at {}",
        significant(100.0 * r.late_share),
        quantity(r.max_lateness, "s"),
        quantity(r.max_lateness_time, "s")
    )
}

/// The error of every output, as finer runs show it.
fn verified(v: &Verification) -> String {
    let mut out = String::new();
    if v.rounds.len() > 1 {
        let mut rows = vec![["tolerance", "error", "steps"].map(str::to_owned).to_vec()];
        for round in &v.rounds {
            let error = round.error.map_or("unknown".to_owned(), percent);
            rows.push(vec![format!("{:.1e}", round.tolerance), error, round.steps.to_string()]);
        }
        out += &format!("\n{}", table(&rows));
    }
    if v.outputs.is_empty() {
        return out;
    }
    let quarters = v.outputs.iter().any(|o| o.order.is_some());
    let mut header = vec!["output", "error", "at least", "at most"];
    header.extend(quarters.then_some("order"));
    let mut rows = vec![header.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    let (outputs, left) = most(&v.outputs, |o| o.error);
    for o in outputs {
        let mut row = vec![o.name.clone(), percent(o.error), percent(o.low), percent(o.high)];
        row.extend(o.order.map(|p| format!("{p:.1}")));
        rows.push(row);
    }
    out += &format!("\n{}{left}", table(&rows));
    if let Some(finer) = v.finer {
        out += &format!(
            "  the finer run ({FINER}) is right to about {}; it took {} steps, {}\n",
            percent(finer),
            v.steps,
            quantity(v.seconds, "s")
        );
    }
    if let Some(why) = &v.third {
        out += &format!("  a third run, in quarters, tells which of two was wrong: {why}\n");
    }
    out
}

/// What the method chose by itself.
fn choices(s: &Summary) -> String {
    if s.choices.inputs.is_empty() || s.steps.accepted == 0 {
        return String::new();
    }
    let mut rows = vec![["subsystem", "class", "inputs", "feed-through"].map(str::to_owned).to_vec()];
    for sub in &s.choices.subsystems {
        let found = s.choices.identified.iter().filter(|f| f.output.starts_with(&format!("{}.", sub.name)));
        let confidence = found.map(|f| f.confidence).reduce(f64::min);
        let kept = match confidence {
            Some(c) => format!("{}, confidence {c:.2}", sub.feed_through),
            None => sub.feed_through.to_owned(),
        };
        rows.push(vec![sub.name.clone(), format!("{}: {}", sub.class, sub.able), sub.fed.to_owned(), kept]);
    }
    let mut out = String::from("\n");
    let n = rows.len() - 1;
    rows.truncate(MOST_SHOWN + 1);
    out += &table(&rows);
    if n > MOST_SHOWN {
        out += &format!("  … {} more in summary.json\n", n - MOST_SHOWN);
    }
    if !s.choices.sampled.is_empty() {
        out += "\n";
    }
    for found in s.choices.sampled.iter().take(MOST_SHOWN) {
        let (period, since) = (quantity(found.period, "s"), quantity(found.since, "s"));
        out += &format!("  {} is sampled every {period}; steps end there since {since}\n", found.output);
    }
    let mut inputs: Vec<_> = s.choices.inputs.iter().collect();
    inputs.sort_by(|a, b| b.limited.total_cmp(&a.limited));
    let mut rows = vec![["input", "limits the step", "order 0", "1", "2"].map(str::to_owned).to_vec()];
    for i in inputs.iter().take(MOST_SHOWN) {
        let percent = |x: f64| format!("{:.0} %", 100.0 * x);
        let mut row = vec![i.name.clone(), percent(i.limited)];
        row.extend(i.orders.map(percent));
        rows.push(row);
    }
    out += "\n";
    out += &table(&rows);
    if inputs.len() > MOST_SHOWN {
        out += &format!("  … {} more in summary.json\n", inputs.len() - MOST_SHOWN);
    }
    out
}

/// Rows of a table that are printed.
const MOST_SHOWN: usize = 8;

/// What several estimators said, side by side; 1 is at tolerance.
fn estimates(s: &Summary) -> String {
    if s.estimates.len() < 2 || s.steps.accepted == 0 {
        return String::new();
    }
    let mut rows = vec![["error estimate", "median", "largest", "steps over 1"].map(str::to_owned).to_vec()];
    for e in &s.estimates {
        rows.push(vec![
            if e.drives { format!("{} (steers)", e.name) } else { e.name.clone() },
            significant(e.median),
            format!("{} at {}", significant(e.max), quantity(e.max_time, "s")),
            e.over_tolerance.to_string(),
        ]);
    }
    format!("\n{}", table(&rows))
}

/// The verdict in words, its reasons below it.
fn verdict(v: &VerdictSummary) -> String {
    let mut out = format!("{}: {}\n", v.word.to_uppercase(), v.text);
    for reason in &v.reasons {
        let bond = reason.bond.as_ref().map_or(String::new(), |b| format!("bond `{b}`: "));
        let time = match (reason.code, reason.time) {
            ("spike" | "failed", _) | (_, None) => String::new(),
            (_, Some(t)) => format!(" (worst at t = {})", quantity(t, "s")),
        };
        out += &format!("  - {bond}{}{time}\n", reason.text);
    }
    v.advice.iter().for_each(|way| out += &format!("  → {way}\n"));
    out
}

/// The method in one line.
fn method(s: &Summary) -> String {
    let m = &s.config["method"];
    let kind = |key: &str| m[key]["kind"].as_str().unwrap_or("").to_owned();
    let hold = m["hold"].as_str().map_or_else(|| m["hold"].to_string(), str::to_owned);
    let own = match m["holds"].as_object().map_or(0, serde_json::Map::len) {
        0 => String::new(),
        1 => " (another for 1 input)".to_owned(),
        n => format!(" (others for {n} inputs)"),
    };
    let mut parts = vec![kind("schedule"), format!("hold {hold}{own}")];
    for key in ["correction", "estimator", "controller"] {
        let name = kind(key);
        if name != "none" {
            parts.push(format!("{key} {name}"));
        }
    }
    if m["refresh"] != false {
        parts.push("refresh".to_owned());
    }
    let parts = parts.join(", ");
    match m["kind"]["kind"].as_str() {
        Some(whole) => {
            let tolerance = m["kind"]["tolerance"].as_f64().unwrap_or(f64::NAN);
            format!("{whole}, tolerance {tolerance:e}: {parts}")
        }
        None => parts,
    }
}

/// What solving algebraic loops took, if there are any.
fn loops(s: &Summary) -> String {
    let (mut solved, mut instants, mut evaluations) = (0, 0, 0);
    for found in s.loops.iter().filter(|found| found.solved > 0) {
        solved += 1;
        instants += found.solved;
        evaluations += found.evaluations;
    }
    let unsolved = s.loops.len() - solved;
    if s.loops.is_empty() {
        return String::new();
    }
    let mean = evaluations as f64 / instants.max(1) as f64;
    let lagging = if unsolved > 0 { format!(", {unsolved} not solved") } else { String::new() };
    format!("  loops       {solved} solved in {mean:.1} evaluations per step{lagging}\n")
}
