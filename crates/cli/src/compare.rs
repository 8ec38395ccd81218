//! `powerbond compare`: results against results.

use crate::here::may_be_folder;
use crate::layout::table;
use crate::text::{print, quantity, say, show, significant};
use powerbond::Error;
use powerbond::results::{Comparison, Tolerance, compare, may_write, write_errors};
use std::path::PathBuf;

/// Options of `compare`.
#[derive(clap::Args)]
pub struct Arguments {
    /// A run folder, or a table (CSV, Arrow, Parquet) whose first column is the time
    first: PathBuf,
    /// The reference: a run folder or a table
    reference: PathBuf,
    /// Allow differences up to this share of the largest value of the reference, such as 1e-3 or 0.1%
    #[arg(long, value_name = "SHARE", value_parser = crate::text::share)]
    rtol: Option<f64>,
    /// Allow differences up to this, in the unit of the variable
    #[arg(long, value_name = "X", value_parser = crate::text::share)]
    atol: Option<f64>,
    /// Write the error of every variable over time, and of powers and energies of bonds, as tables into this folder
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    series: Option<PathBuf>,
    /// Replace files there that are not tables of errors
    #[arg(long, requires = "series")]
    overwrite: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the command: exit 7 if a variable is farther apart than allowed.
pub fn main(arguments: &Arguments) -> Result<u8, Error> {
    let given = arguments.rtol.is_some() || arguments.atol.is_some();
    let tolerance = given.then(|| Tolerance {
        relative: arguments.rtol.unwrap_or(0.0),
        absolute: arguments.atol.unwrap_or(0.0),
    });
    if let Some(folder) = &arguments.series {
        // Before anything is read.
        may_be_folder(folder)?;
        may_write(folder, arguments.overwrite)?;
    }
    let comparison = compare(&arguments.first, &arguments.reference, tolerance)?;
    let written = match &arguments.series {
        Some(folder) => write_errors(&arguments.first, &arguments.reference, folder, arguments.overwrite)?,
        None => Vec::new(),
    };
    if arguments.json {
        let fail = |e: serde_json::Error| Error::output("stdout".as_ref(), &e.into());
        let mut document = serde_json::to_value(&comparison).map_err(fail)?;
        if arguments.series.is_some() {
            document["series"] = written.iter().map(|file| file.display().to_string()).collect();
        }
        print(&format!("{document:#}\n"))?;
    } else {
        let files = written.iter().map(|file| format!("errors over time in {}\n", file.display()));
        show(&(describe(&comparison) + &files.collect::<String>()))?;
    }
    let warn = |what: &str, names: &[String]| {
        if !names.is_empty() {
            say("warning", format!("{what}: {}", names.join(", ")));
        }
    };
    comparison.notes.iter().for_each(|note| say("note", note));
    warn("only in the first", &comparison.only_first);
    warn("only in the reference", &comparison.only_reference);
    if comparison.different_times {
        eprintln!(
            "warning: different time ranges; compared from {} s to {} s",
            comparison.from, comparison.to
        );
    }
    Ok(if comparison.exceeded == 0 { 0 } else { 7 })
}

fn describe(c: &Comparison) -> String {
    let mut rows = vec![["variable", "max", "at", "of max", "rms", "of rms", ""].map(str::to_owned).to_vec()];
    for v in &c.variables {
        let mark = match v.within {
            Some(true) => "ok",
            Some(false) => "EXCEEDED",
            None => "",
        };
        let percent = |x: f64| format!("{} %", significant(100.0 * x));
        rows.push(vec![
            v.name.clone(),
            significant(v.max),
            quantity(v.time, "s"),
            percent(v.relative_max),
            significant(v.rms),
            percent(v.relative_rms),
            mark.to_owned(),
        ]);
    }
    let mut out = table(&rows);
    out += &format!(
        "\n{} variables at {} points from {} s to {} s",
        c.variables.len(),
        c.points,
        significant(c.from),
        significant(c.to)
    );
    out += &match c.tolerance {
        Some(_) if c.exceeded == 0 => ": all within tolerance\n".to_owned(),
        Some(_) => format!(": {} exceed the tolerance\n", c.exceeded),
        None => "\n".to_owned(),
    };
    out
}
