//! `powerbond tune`: every method on one's own system, what accuracy costs, and a ready `[method]`.

use crate::layout::table_with_remarks;
use crate::progress::Bar;
use crate::terminal;
use crate::text::{print, quantity, say, show};
use powerbond::number::percent;
use powerbond::results::{Contents, RunFolder};
use powerbond::tune::{Choice, Point, TuneOptions, Tuning, tune};
use powerbond::{Error, RunOptions, System};
use std::path::{Path, PathBuf};

/// Options of `tune`.
#[derive(clap::Args)]
pub struct Arguments {
    /// A system file, SSP, OSP, a folder with one of them, or a single FMU (default: the current folder)
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    system: Option<PathBuf>,
    /// Wanted error; the cheapest run below it is chosen
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = crate::text::share)]
    error: f64,
    /// Total time of all runs, in s
    #[arg(long, value_name = "S", default_value = "60", value_parser = crate::text::factor)]
    budget: f64,
    /// End of every run, in s
    #[arg(short, long, alias = "stop-time", value_name = "S", allow_negative_numbers = true)]
    end_time: Option<f64>,
    /// Middle one of the step sizes that are tried, in s (default: that of the system, else 1/1000 of the run)
    #[arg(short, long, value_name = "S", allow_negative_numbers = true)]
    step_size: Option<f64>,
    /// Set a parameter: subsystem.parameter=value (repeatable)
    #[arg(long, value_name = "SUB.PARAM=VALUE")]
    set: Vec<String>,
    /// Set parameters from an SSP parameter set (.ssv); --set overrides it (repeatable, later files override
    /// earlier ones)
    #[arg(long, value_name = "FILE.SSV", value_hint = clap::ValueHint::FilePath)]
    params: Vec<PathBuf>,
    /// Of the parameter sets in a structure of SSP use only those of this name (default: all of them)
    #[arg(long, value_name = "NAME")]
    parameter_set: Option<String>,
    /// Apply an OSP scenario (YAML or JSON): override and bias variables at given times
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    scenario: Option<PathBuf>,
    /// Where tuned.toml and tune.svg go (default: results/<name of the system>-tune)
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    output_dir: Option<PathBuf>,
    /// Replace earlier ones at the same place; otherwise the default folder is renamed, and an --output-dir with them is refused
    #[arg(long)]
    overwrite: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The `[simulation]` and `[method]` that were chosen.
const TUNED: &str = "tuned.toml";
/// The picture.
const PICTURE: &str = "tune.svg";

/// Runs the command: exit 7 if no run is as accurate as wanted.
pub fn main(arguments: &Arguments) -> Result<u8, Error> {
    let options = RunOptions {
        end_time: arguments.end_time,
        step_size: arguments.step_size,
        set: arguments.set.clone(),
        params: arguments.params.clone(),
        parameter_set: arguments.parameter_set.clone(),
        scenario: arguments.scenario.clone(),
        output_dir: arguments.output_dir.clone(),
        overwrite: arguments.overwrite,
        ..RunOptions::default()
    };
    let path = crate::here::system(arguments.system.as_ref(), "tune")?;
    let system = options.apply(&System::load(&path)?)?;
    let mut wanted = options.wanted(&system);
    wanted.contents = Contents::Files(&[TUNED, PICTURE]);
    if !wanted.chosen {
        // Apart from the newest run, which moves on.
        wanted.folder.as_mut_os_string().push("-tune");
    }
    wanted.check()?;
    let mut progress = Bar::new(!arguments.json)?;
    let limits = TuneOptions { error: arguments.error, budget: arguments.budget };
    let tuning = tune(&system, &limits, &mut progress)?;
    progress.clear();
    let Some(tuning) = tuning else { return Ok(progress.exit_code()) };
    let folder = RunFolder::claim(&wanted)?;
    folder.replace(PICTURE, &tuning.svg())?;
    if let Some(choice) = &tuning.choice {
        folder.replace(TUNED, &ready(&tuning, choice))?;
    }
    folder.warnings().iter().for_each(|warning| say("warning", warning));
    if arguments.json {
        let text =
            serde_json::to_string_pretty(&tuning).map_err(|e| Error::output("stdout".as_ref(), &e.into()))?;
        print(&(text + "\n"))?;
    } else {
        show(&describe(&tuning, folder.path(), &path))?;
    }
    tuning.notes.iter().for_each(|note| say("note", note));
    Ok(match &tuning.choice {
        Some(choice) if choice.reached => 0,
        _ => {
            say("error", format!("no run has an error of {} or less", percent(tuning.wanted)));
            7
        }
    })
}

/// The file for the user to copy from.
fn ready(tuning: &Tuning, choice: &Choice) -> String {
    let run = tuning.methods.iter().find(|m| m.name == choice.name).and_then(|m| m.runs.get(choice.run));
    let facts = run.map_or(String::new(), |run| {
        format!(" ({} steps, error {})", run.steps, run.error.map_or("unknown".to_owned(), percent))
    });
    format!("# {}{facts}, from `powerbond tune`\n{}", choice.name, choice.block)
}

fn describe(tuning: &Tuning, folder: &Path, system: &Path) -> String {
    let header = ["method", "", "steps", "calls", "time", "error", "verdict", ""];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for (m, method) in tuning.methods.iter().enumerate() {
        let letter = char::from(b'a' + (m % 26) as u8);
        let name = |k: usize| if k == 0 { format!("{letter}  {}", method.name) } else { String::new() };
        if let Some(why) = &method.skipped {
            let mut row = vec![String::new(); header.len()];
            (row[0], row[header.len() - 1]) = (name(0), why.clone());
            rows.push(row);
        }
        for (k, run) in method.runs.iter().enumerate() {
            let chosen = tuning.choice.as_ref().is_some_and(|c| c.name == method.name && c.run == k);
            rows.push(row(name(k), run, chosen));
        }
    }
    let rows = if terminal::width() < ROOM { below_names(rows) } else { rows };
    let reference = &tuning.reference;
    let mut out = format!(
        "{}: {} methods in {}\n\n{}\n{}\n",
        tuning.system,
        tuning.methods.len(),
        quantity(tuning.seconds, "s"),
        table_with_remarks(&rows),
        tuning.plot(60, 17)
    );
    out += &format!(
        "error: rms over all outputs of rms(y − reference)/std(reference); the reference\n\
         has a constant step of {} and an error of about {}.\n\
         calls: steps of all subsystems. verdict: error estimated from coupling data.\n",
        quantity(reference.step, "s"),
        percent(reference.error)
    );
    if let Some(choice) = &tuning.choice {
        let why = if choice.reached {
            "the fewest steps of subsystems with an error of"
        } else {
            "the most accurate; none has an error of"
        };
        out += &format!("\n{}: {why} {} or less\n\n{}", choice.name, percent(tuning.wanted), choice.block);
        let quickest = tuning
            .fastest
            .as_ref()
            .filter(|f| choice.reached && (f.name, f.run) != (choice.name, choice.run));
        if let Some(fastest) = quickest {
            let runs = &tuning.methods.iter().find(|m| m.name == fastest.name).map(|m| &m.runs);
            let time = runs.and_then(|runs| runs.get(fastest.run)).map_or(f64::NAN, |run| run.seconds);
            out += &format!("\nthe least time, {}:\n\n{}", quantity(time, "s"), fastest.block);
        }
        out += &format!("\n{TUNED} and {PICTURE} are in {}\n", folder.display());
        let file = folder.join(TUNED);
        out += &format!("run it with: powerbond run {} --method {}\n", system.display(), file.display());
    }
    out
}

fn row(name: String, run: &Point, chosen: bool) -> Vec<String> {
    let value = match run.knob {
        "step" => format!("step {}", quantity(run.value, "s")),
        knob => format!("{knob} {:e}", run.value),
    };
    let share = |x: Option<f64>| match x {
        None => "–".to_owned(),
        Some(x) if x > 10.0 => "> 1000 %".to_owned(),
        Some(x) => percent(x),
    };
    let remark = match &run.failure {
        Some(failure) => shortened(failure),
        None if chosen => "← chosen".to_owned(),
        None => String::new(),
    };
    let (steps, calls) = match run.steps {
        0 => ("–".to_owned(), "–".to_owned()),
        n => (n.to_string(), run.calls.to_string()),
    };
    vec![
        name,
        value,
        steps,
        calls,
        quantity(run.seconds, "s"),
        share(run.error),
        share(run.estimated),
        remark,
    ]
}

/// Columns that the whole table takes.
const ROOM: usize = 104;

/// Names of methods on lines of their own, above what belongs to them.
fn below_names(rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let mut narrow = Vec::new();
    for (r, mut row) in rows.into_iter().enumerate() {
        let name = row.remove(0);
        if r == 0 {
            row[0] = name;
        } else {
            narrow.extend((!name.is_empty()).then(|| vec![name]));
            row[0].insert_str(0, "   ");
        }
        narrow.push(row);
    }
    narrow
}

/// The first sentence of a failure, which is enough for a table.
fn shortened(failure: &str) -> String {
    let first = failure.split(". ").next().unwrap_or(failure);
    let mut text: String = first.chars().take(60).collect();
    if text.len() < first.len() {
        text.push('…');
    }
    text
}
