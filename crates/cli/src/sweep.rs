//! `powerbond sweep`: many runs of a plan on all cores, into a dataset that survives crashes.

use crate::layout::table;
use crate::progress::Bar;
use crate::text::{print, quantity, say, show, significant};
use powerbond::number::duration;
use powerbond::sweep::schema::{OK, STATUS, text_of};
use powerbond::sweep::{self, Dataset, Draft, Existing, Failed, Limits, Record, Spread, Totals};
use powerbond::tune::Listener;
use powerbond::{Described, Error, RunOptions, Task, Verify};
use powerbond_worker::{Prepared, Runners, Seen};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// Options of `sweep`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// A plan: a system, values of its parameters, results by expressions (TOML)
    #[arg(value_hint = clap::ValueHint::FilePath, required = true)]
    plan: Option<PathBuf>,
    /// Folder of the dataset (default: results/<name of the plan>)
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    output_dir: Option<PathBuf>,
    /// Continue: do only runs that are missing or failed
    #[arg(long, conflicts_with = "overwrite")]
    resume: bool,
    /// Replace the sweep in the folder
    #[arg(long)]
    overwrite: bool,
    /// Processes that do runs (default: one per core)
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,
    /// Do every Nth run only, beginning with the Ith, such as 3/16; what the shard has done already is not repeated
    #[arg(long, value_name = "I/N", value_parser = shard, conflicts_with = "overwrite")]
    shard: Option<Shard>,
    /// Check the plan and list its runs; nothing is run
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Print nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Merge the shards of a sweep, and write its report
    Merge {
        /// Folders of shards; a single one if all of them wrote to the same
        #[arg(required = true, value_hint = clap::ValueHint::DirPath)]
        folders: Vec<PathBuf>,
        /// Where the merged sweep goes (default: the only folder)
        #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
        output_dir: Option<PathBuf>,
        /// Replace the sweep in that folder
        #[arg(long)]
        overwrite: bool,
    },
    /// Write the report of a sweep again, with whole runs to look at
    Report {
        /// The folder of the sweep
        #[arg(value_hint = clap::ValueHint::DirPath)]
        folder: PathBuf,
        /// Run this one again with everything recorded, and link its report (repeatable)
        #[arg(long = "run", value_name = "NUMBER")]
        runs: Vec<u64>,
        /// Replace a report that was not made by powerbond
        #[arg(long)]
        overwrite: bool,
    },
}

/// One of several parts of a sweep, from 1.
#[derive(Clone, Copy)]
struct Shard {
    i: u64,
    n: u64,
}

fn shard(text: &str) -> Result<Shard, String> {
    let parts =
        text.split_once('/').and_then(|(i, n)| Some((i.trim().parse().ok()?, n.trim().parse().ok()?)));
    match parts {
        Some((i, n)) if i >= 1 && i <= n => Ok(Shard { i, n }),
        Some((0, n)) => Err(format!("shards are counted from 1: 1/{n} to {n}/{n}")),
        _ => Err("write it as I/N with I from 1 to N, such as 3/16".to_owned()),
    }
}

/// The exit code of a sweep with failed runs.
const FAILED: u8 = 10;
/// A log gets a line after so much time, and then less and less often: a night has some 50 of them.
const LOG_EVERY: Duration = Duration::from_secs(30);
/// Between two changes of the bar.
const BAR_EVERY: Duration = Duration::from_millis(100);

/// Runs the command: exit 10 if runs failed.
pub fn main(arguments: &Arguments, in_process: bool) -> Result<u8, Error> {
    match &arguments.verb {
        Some(Verb::Merge { folders, output_dir, overwrite }) => {
            merge(folders, output_dir.as_deref(), *overwrite)
        }
        Some(Verb::Report { folder, runs, overwrite }) => report(folder, runs, *overwrite),
        None if in_process || !powerbond_worker::is_supported() => Err(Error::input(
            None,
            "a sweep needs worker processes, which `--in-process` or this system does not have",
        )),
        None => arguments.sweep(),
    }
}

impl Arguments {
    fn sweep(&self) -> Result<u8, Error> {
        let file = self.plan.clone().unwrap_or_default();
        let prepared = Prepared::new(Draft::load(&file)?)?;
        let plan = prepared.plan();
        if self.dry_run {
            return dry_run(&prepared, self.json).map(|()| 0);
        }
        let folder = self.output_dir.clone().unwrap_or_else(|| Path::new("results").join(&plan.name));
        let existing = match (self.resume || self.shard.is_some(), self.overwrite) {
            (true, _) => Existing::Resume,
            (_, true) => Existing::Overwrite,
            _ => Existing::Refuse,
        };
        let label = self.shard.map_or("all".to_owned(), |Shard { i, n }| format!("{i}-of-{n}"));
        let mut dataset = Dataset::open(&folder, &prepared.record(), existing, &label)?;
        let known = sweep::known(&folder, prepared.columns())?;
        let pending = prepared.pending(&known, self.shard.map(|Shard { i, n }| (i, n)));
        let mut state = State::new(pending.runs.len(), !self.json && !self.quiet)?;
        let workers = self.workers.map_or_else(cores, usize::from);
        let signal = AtomicU8::new(0);
        let mut changed = None;
        let ended =
            prepared.run(&pending.runs, (workers, &Runners::new()), Some(&folder), &signal, &mut |seen| {
                if let Seen::Row(row) = seen {
                    state.see(text_of(&row, STATUS));
                    dataset.add(row)?;
                }
                if state.is_due() {
                    state.show();
                    changed = prepared.identity().changed().map(Path::to_owned);
                    if let Some(file) = &changed {
                        return Err(sweep::changed(file));
                    }
                }
                if let Some(number) = state.bar.stopped_by() {
                    signal.store(number, Ordering::Relaxed);
                }
                Ok(())
            });
        state.bar.clear();
        match (&ended, self.shard) {
            (Ok(()), None) => dataset.close_and_merge(&pending.numbers)?,
            _ => dataset.close()?,
        }
        ended?;
        if let Some(number) = state.bar.stopped_by() {
            eprintln!(
                "{} runs are in {}; continue with `powerbond sweep {} --resume`",
                pending.there + state.done,
                folder.display(),
                file.display()
            );
            return Ok(128 + number);
        }
        if let Some(Shard { i, n }) = self.shard {
            self.say_shard(&state, (i, n), &folder)?;
            return Ok(if state.failed > 0 { FAILED } else { 0 });
        }
        let page = sweep::write_report(&folder, self.overwrite)?;
        let totals = Totals::of(&folder)?;
        if self.json {
            let mut document = serde_json::json!(totals);
            document["seconds"] = state.begun.elapsed().as_secs_f64().into();
            document["new"] = state.done.into();
            document["folder"] = folder.display().to_string().into();
            print(&format!("{document:#}\n"))?;
        } else if !self.quiet {
            show(&(state.words(&totals.name, pending.there) + &describe(&totals, &folder, &page)))?;
        }
        Ok(if totals.failed() > 0 { FAILED } else { 0 })
    }

    fn say_shard(&self, state: &State, (i, n): (u64, u64), folder: &Path) -> Result<(), Error> {
        if self.json {
            let document = serde_json::json!({
                "shard": i, "shards": n, "new": state.done, "failed": state.failed,
                "seconds": state.begun.elapsed().as_secs_f64(), "folder": folder.display().to_string(),
            });
            print(&format!("{document:#}\n"))
        } else if self.quiet {
            Ok(())
        } else {
            let words = state.words(&format!("shard {i} of {n}"), 0);
            show(&format!("{words}merge all shards with: powerbond sweep merge {}\n", folder.display()))
        }
    }
}

/// One process per core.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// How far the sweep is.
struct State {
    bar: Bar,
    all: usize,
    done: u64,
    failed: u64,
    begun: Instant,
    shown: Instant,
    /// Where there is no terminal, when the next line is due; none if nothing is wanted.
    logs: Option<Duration>,
}

impl State {
    fn new(all: usize, wanted: bool) -> Result<Self, Error> {
        let now = Instant::now();
        let logs = (wanted && !std::io::stderr().is_terminal()).then_some(LOG_EVERY);
        Ok(State { bar: Bar::new(wanted)?, all, done: 0, failed: 0, begun: now, shown: now, logs })
    }

    fn see(&mut self, status: &str) {
        self.done += 1;
        self.failed += u64::from(status != OK);
    }

    fn is_due(&self) -> bool {
        self.shown.elapsed() >= BAR_EVERY
    }

    fn show(&mut self) {
        self.shown = Instant::now();
        let seconds = self.begun.elapsed().as_secs_f64();
        let share = self.done as f64 / (self.all as f64).max(1.0);
        // The most important first: what has no room on a narrow terminal is cut off.
        let mut parts = vec![format!("{} of {} runs", self.done, self.all)];
        parts.extend((self.failed > 0).then(|| format!("{} failed", self.failed)));
        if self.done > 0 {
            parts.push(format!("{} left", duration(seconds / share * (1.0 - share))));
            parts.push(format!("{} runs/s", rounded(self.done as f64 / seconds)));
        }
        let text = parts.join("  ");
        self.bar.at(share, &text);
        if self.logs.is_some_and(|due| self.begun.elapsed() >= due) {
            self.logs = Some(next_line(self.begun.elapsed()));
            eprintln!("{text}");
        }
    }

    fn words(&self, name: &str, there: u64) -> String {
        let seconds = self.begun.elapsed().as_secs_f64();
        let before = if there > 0 { format!(", {there} were there") } else { String::new() };
        let pace = if self.done > 0 {
            format!(", {} runs/s", rounded(self.done as f64 / seconds))
        } else {
            String::new()
        };
        let failed = if self.failed > 0 { format!(", {} failed", self.failed) } else { String::new() };
        format!("{name}: {} runs in {}{pace}{failed}{before}\n", self.done, quantity(seconds, "s"))
    }
}

/// When the line of a log after this one is due.
fn next_line(now: Duration) -> Duration {
    now + LOG_EVERY + now / 10
}

/// Three digits.
fn rounded(x: f64) -> String {
    let text = format!("{x:.2e}");
    significant(text.parse().unwrap_or(x))
}

/// What the sweep came to.
fn describe(totals: &Totals, folder: &Path, page: &Path) -> String {
    let mut out = String::from("\n");
    let list = |counts: &BTreeMap<String, u64>| {
        counts.iter().map(|(word, n)| format!("{n} {word}")).collect::<Vec<_>>().join(", ")
    };
    let repeated = match totals.repeated {
        0 => String::new(),
        n => format!("; {n} of the plan have the parameters of another one, and no row"),
    };
    out +=
        &format!("  runs      {} of {}: {}{repeated}\n", totals.runs, totals.planned, list(&totals.status));
    if !totals.verdicts.is_empty() {
        out += &format!("  verdicts  {}\n", list(&totals.verdicts));
    }
    if !totals.outputs.is_empty() {
        let number = |x: Option<f64>| x.map_or("–".to_owned(), significant);
        let mut rows = vec![["output", "min", "median", "mean", "max"].map(str::to_owned).to_vec()];
        for Spread { name, min, median, mean, max } in &totals.outputs {
            rows.push(vec![name.clone(), number(*min), number(*median), number(*mean), number(*max)]);
        }
        out += &format!("\n{}", table(&rows));
    }
    for Failed { run, status, message } in &totals.failures {
        out += &format!("\nrun {run} {status}: {message}");
    }
    match totals.failed() {
        0 => {}
        n if n as usize > totals.failures.len() => {
            out += &format!("\n… and {} more\n", n as usize - totals.failures.len())
        }
        _ => out += "\n",
    }
    out += &format!("\nruns/part-*.parquet are in {}\nreport: {}\n", folder.display(), page.display());
    out
}

/// Lists the runs of a plan.
fn dry_run(prepared: &Prepared, json: bool) -> Result<(), Error> {
    let plan = prepared.plan();
    if json {
        let list = (0..plan.runs()).map(|run| {
            let point = plan.point(run);
            let set: serde_json::Map<String, serde_json::Value> =
                point.set.iter().map(|(name, value)| (name.clone(), value.to_json())).collect();
            serde_json::json!({ "run": run + 1, "id": prepared.id(run), "case": point.case, "set": set })
        });
        let document = serde_json::json!({ "name": plan.name, "runs": list.collect::<Vec<_>>() });
        return print(&format!("{document:#}\n"));
    }
    let shown = plan.runs().min(LISTED);
    let mut rows: Vec<Vec<String>> = Vec::new();
    for run in 0..shown {
        let point = plan.point(run);
        if run == 0 {
            let names = point.set.iter().map(|(name, _)| name.clone());
            rows.push(
                ["run".to_owned()]
                    .into_iter()
                    .chain(point.case.iter().map(|_| "case".to_owned()))
                    .chain(names)
                    .collect(),
            );
        }
        let values =
            point.set.iter().map(|(_, value)| value.number().map_or_else(|| value.to_string(), significant));
        rows.push([(run + 1).to_string()].into_iter().chain(point.case.clone()).chain(values).collect());
    }
    let more =
        if shown < plan.runs() { format!("… and {} more\n", plan.runs() - shown) } else { String::new() };
    show(&format!("{}: {} runs\n\n{}{more}", plan.name, plan.runs(), table(&rows)))
}

/// Runs that are listed.
const LISTED: u64 = 20;

fn merge(folders: &[PathBuf], target: Option<&Path>, overwrite: bool) -> Result<u8, Error> {
    let target = match (target, folders) {
        (Some(target), _) => target,
        (None, [one]) => one,
        _ => {
            return Err(Error::input(
                None,
                "several folders are merged into another one: give it with `--output-dir`",
            ));
        }
    };
    sweep::merge(folders, target, overwrite)?;
    let page = sweep::write_report(target, overwrite)?;
    let totals = Totals::of(target)?;
    show(&format!("{}\n{}", totals.name, describe(&totals, target, &page)))?;
    if totals.missing() > 0 {
        say("warning", format!("{} runs of the plan are missing", totals.missing()));
    }
    Ok(if totals.failed() > 0 { FAILED } else { 0 })
}

fn report(folder: &Path, runs: &[u64], overwrite: bool) -> Result<u8, Error> {
    for &run in runs {
        detail(folder, run)?;
    }
    let page = sweep::write_report(folder, overwrite)?;
    show(&format!("report: {}\n", page.display()))?;
    Ok(0)
}

/// Does a run of a sweep again, with everything recorded, and writes its report.
fn detail(folder: &Path, number: u64) -> Result<(), Error> {
    let record = Record::read(folder)?;
    let prepared = Prepared::unchecked(Draft::parse(&record.plan, &record.text)?)?;
    if prepared.identity().base != record.base {
        let message = format!(
            "the system of {} or a file that it reads has changed since the sweep: run {number} would be another one",
            record.plan.display()
        );
        return Err(Error::input(None, message));
    }
    if number == 0 || number > record.runs {
        return Err(Error::input(None, format!("--run {number}: the runs are 1 to {}", record.runs)));
    }
    let target = sweep::detail(folder, &prepared.id(number - 1));
    let Task { system, options } = prepared.task(number - 1);
    let Described::Path(system) = system else { return Ok(()) };
    let mut command = powerbond_worker::this_program();
    command.arg("run").arg(&system).arg("--quiet").arg("--overwrite").arg("--output-dir").arg(&target);
    command.args(words_of(&options)).args(limits_of(&prepared.plan().limits));
    let ran = command.status().map_err(|e| Error::output(Path::new("powerbond"), &e))?;
    if target.join(powerbond::results::SUMMARY).is_file() {
        powerbond::report::write(
            std::slice::from_ref(&target),
            &target.join(powerbond::report::REPORT),
            true,
        )?;
    }
    match ran.success() {
        true => say("note", format!("run {number} is in {}", target.display())),
        false => {
            say("note", format!("run {number} failed again; what there is of it is in {}", target.display()))
        }
    }
    Ok(())
}

/// Options of a run as they are typed, but for what is recorded.
fn words_of(options: &RunOptions) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    let numbers = [
        ("--begin-time", options.begin_time),
        ("--end-time", options.end_time),
        ("--step-size", options.step_size),
        ("--tolerance", options.tolerance),
        ("--output-interval", options.output_interval),
        ("--max-error", options.max_error),
        ("--max-energy-residual", options.max_energy_residual),
    ];
    for (option, value) in numbers.into_iter().filter_map(|(option, value)| Some((option, value?))) {
        words.push(format!("{option}={value:?}").into());
    }
    let files =
        [("--method", &options.method), ("--scenario", &options.scenario), ("--input", &options.input)];
    let files = files.into_iter().filter_map(|(option, file)| Some((option, file.as_ref()?)));
    for (option, file) in files.chain(options.params.iter().map(|file| ("--params", file))) {
        words.extend([option.into(), file.into()]);
    }
    for assignment in &options.set {
        words.extend(["--set".into(), assignment.into()]);
    }
    words.extend(options.allow_nonfinite.then(|| "--allow-nonfinite".into()));
    words.extend(options.verify.map(|way| match way {
        Verify::Halves => "--verify".into(),
        Verify::Quarters => "--verify=quarters".into(),
    }));
    words
}

/// Limits of a run as they are typed: what hung in the sweep does not hang here.
fn limits_of(limits: &Limits) -> Vec<String> {
    let Limits { run, call, memory } = limits;
    let run = run.map(|s| format!("--timeout={s:?}"));
    let call = call.map(|s| format!("--call-timeout={s:?}"));
    let memory = memory.map(|bytes| format!("--memory-limit={:?}kB", bytes as f64 / 1e3));
    [run, call, memory].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_of_a_long_sweep_has_few_lines() {
        let lines = |hours: u64| {
            let end = Duration::from_secs(3600 * hours);
            std::iter::successors(Some(LOG_EVERY), |now| Some(next_line(*now)))
                .take_while(|now| *now < end)
                .count()
        };
        assert!((20..40).contains(&lines(1)), "{}", lines(1));
        assert!((40..60).contains(&lines(12)), "{}", lines(12));
    }
}
