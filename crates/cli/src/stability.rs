//! `powerbond stability`: the largest stable constant step of each method on one's own system.

use crate::progress::Bar;
use crate::text::{print, quantity, say, show, significant};
use powerbond::results::{Contents, RunFolder};
use powerbond::stability::{Curve, Limit, Measure, Stability, StabilityOptions, stability};
use powerbond::{Error, RunOptions, System};
use std::path::{Path, PathBuf};

/// Options of `stability`.
#[derive(clap::Args)]
pub struct Arguments {
    /// A system file, SSP, OSP, or a folder with one of them (default: the current folder)
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    system: Option<PathBuf>,
    /// Smallest step size, in s (default: 1/20000 of the run, or less while that is unstable)
    #[arg(long, value_name = "S", value_parser = crate::text::seconds)]
    from: Option<f64>,
    /// Largest step size, in s (default: 1/5 of the run)
    #[arg(long, value_name = "S", value_parser = crate::text::seconds)]
    to: Option<f64>,
    /// Number of step sizes between them, before the limit is refined
    #[arg(long, value_name = "N", default_value = "41", value_parser = clap::value_parser!(u16).range(2..=1000))]
    points: u16,
    /// Total time of all runs, in s
    #[arg(long, value_name = "S", default_value = "60", value_parser = crate::text::factor)]
    budget: f64,
    /// End of the run, in s
    #[arg(short, long, alias = "stop-time", value_name = "S", allow_negative_numbers = true)]
    end_time: Option<f64>,
    /// Replace the `[method]` of the system by that of this file
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    method: Option<PathBuf>,
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
    /// Where stability.svg goes (default: results/<name of the system>-stability)
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    output_dir: Option<PathBuf>,
    /// Replace an earlier one at the same place; otherwise the default folder is renamed, and an --output-dir with one is refused
    #[arg(long)]
    overwrite: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The picture.
const PICTURE: &str = "stability.svg";

/// Runs the command: exit 0 whatever the limits are.
pub fn main(arguments: &Arguments) -> Result<u8, Error> {
    let options = RunOptions {
        end_time: arguments.end_time,
        method: arguments.method.clone(),
        set: arguments.set.clone(),
        params: arguments.params.clone(),
        parameter_set: arguments.parameter_set.clone(),
        output_dir: arguments.output_dir.clone(),
        overwrite: arguments.overwrite,
        ..RunOptions::default()
    };
    let system =
        options.apply(&System::load(&crate::here::system(arguments.system.as_ref(), "stability")?)?)?;
    let mut wanted = options.wanted(&system);
    wanted.contents = Contents::Files(&[PICTURE]);
    if !wanted.chosen {
        // Apart from the newest run, which moves on.
        wanted.folder.as_mut_os_string().push("-stability");
    }
    wanted.check()?;
    let mut progress = Bar::new(!arguments.json)?;
    let limits = StabilityOptions {
        from: arguments.from,
        to: arguments.to,
        points: usize::from(arguments.points),
        budget: arguments.budget,
    };
    let found = stability(&system, &limits, &mut progress)?;
    progress.clear();
    let Some(found) = found else { return Ok(progress.exit_code()) };
    let folder = RunFolder::claim(&wanted)?;
    folder.replace(PICTURE, &found.picture)?;
    folder.warnings().iter().for_each(|warning| say("warning", warning));
    if arguments.json {
        let text =
            serde_json::to_string_pretty(&found).map_err(|e| Error::output("stdout".as_ref(), &e.into()))?;
        print(&(text + "\n"))?;
    } else {
        show(&describe(&found, folder.path()))?;
    }
    found.notes.iter().for_each(|note| say("note", note));
    Ok(0)
}

fn describe(found: &Stability, folder: &Path) -> String {
    let width = found.methods.iter().map(|m| m.name.chars().count()).max().unwrap_or(0);
    let mut out = format!("{}: largest stable constant step\n\n", found.system);
    for (m, method) in found.methods.iter().enumerate() {
        let letter = char::from(b'a' + (m % 26) as u8);
        out += &format!("  {letter}  {:width$}  {}\n", method.name, words(method));
    }
    out += &format!("\n{}\n", found.plot(60, 17));
    out += match found.measure {
        Measure::SpectralRadius => {
            "ρ: spectral radius of a step, identified from the difference of two runs; up to 1\n\
             the coupled system is stable.\n"
        }
        Measure::Range => "range: how far outputs go, in the ranges that they have with the system's step.\n",
    };
    out + &format!("{PICTURE} is in {}\n", folder.display())
}

/// The limit of a method.
fn words(method: &Curve) -> String {
    match (&method.skipped, method.limit) {
        (Some(why), _) => why.clone(),
        (None, Limit::At(step)) if method.points.iter().any(|p| p.stable && p.step > step) => {
            format!("{}; some larger steps are stable again", quantity(step, "s"))
        }
        (None, Limit::At(step)) => quantity(step, "s"),
        (None, Limit::Above(step)) => {
            format!("{} and more: stable with every step tried", quantity(step, "s"))
        }
        (None, Limit::Below(step)) => {
            let rate = method
                .points
                .first()
                .and_then(|p| p.growth.filter(|_| p.identified).map(|g| g.ln() / p.step));
            let rate =
                rate.map_or(String::new(), |r| format!(" (there it grows like e^({} t/s))", significant(r)));
            format!("none: unstable with {} already{rate}", quantity(step, "s"))
        }
        (None, Limit::Unknown) => "nothing was run".to_owned(),
    }
}
