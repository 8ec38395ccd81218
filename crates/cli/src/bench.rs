//! `powerbond bench`: the papers' tables and figures, published beside measured.

use crate::fmus::Fmus;
use crate::layout::table;
use crate::text::{print, show, significant};
use powerbond::Error;
use powerbond_bench::{Quantity, Report, Row, SUITES, Suite};
use std::io::IsTerminal;

/// Options of `bench`.
#[derive(clap::Args)]
pub struct Arguments {
    /// A suite, or `list` to see them
    suite: String,
    /// Only rows whose id contains this
    #[arg(long, value_name = "ID")]
    only: Option<String>,
    /// Run the models as FMUs written by `export`; results are bit-identical
    #[arg(long, value_name = "VERSION", num_args = 0..=1, default_missing_value = "2", value_parser = ["2", "3"])]
    fmu: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the command: exit 7 if a quantity does not hold.
pub fn main(arguments: &Arguments) -> Result<u8, Error> {
    if arguments.suite == "list" {
        list(arguments.json)?;
        return Ok(0);
    }
    let Some(suite) = SUITES.iter().find(|s| s.name == arguments.suite) else {
        let hint = powerbond::core::suggest::hint(&arguments.suite, SUITES.iter().map(|s| s.name));
        return Err(Error::input(None, format!("unknown suite `{}`.{hint}", arguments.suite)));
    };
    let rows = suite.ids();
    if let Some(part) = &arguments.only
        && !rows.iter().any(|id| id.contains(part.as_str()))
    {
        return Err(Error::input(None, format!("no row of {} contains `{part}` in its id", suite.name)));
    }
    let bar = (!arguments.json && std::io::stderr().is_terminal())
        .then(|| indicatif::ProgressBar::new(rows.len() as u64));
    let fmus = arguments.fmu.as_deref().map(|version| Fmus::new(suite, version)).transpose()?;
    let exchange = fmus.as_ref().map(Fmus::exchange);
    let report = suite.run_with(arguments.only.as_deref(), exchange, |row: &Row| {
        if let Some(bar) = &bar {
            bar.set_message(row.id.clone());
            bar.inc(1);
        }
    })?;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    if arguments.json {
        let text =
            serde_json::to_string_pretty(&report).map_err(|e| Error::output("stdout".as_ref(), &e.into()))?;
        print(&(text + "\n"))?;
    } else {
        show(&describe(&report))?;
    }
    Ok(if report.failed == 0 { 0 } else { 7 })
}

fn list(json: bool) -> Result<(), Error> {
    if json {
        let suites =
            SUITES.iter().map(|s| serde_json::json!({ "name": s.name, "about": s.about, "rows": s.ids() }));
        print(&format!("{:#}\n", serde_json::json!({ "suites": suites.collect::<Vec<_>>() })))
    } else {
        let line = |s: &Suite| format!("{:<14} {} ({} rows)\n", s.name, s.about, s.ids().len());
        show(&SUITES.iter().map(line).collect::<String>())
    }
}

fn describe(report: &Report) -> String {
    let mut rows = vec![
        ["row", "case", "quantity", "published", "accepted", "measured", ""].map(str::to_owned).to_vec(),
    ];
    for row in &report.rows {
        for (i, q) in row.quantities.iter().enumerate() {
            let (id, case) =
                if i == 0 { (row.id.clone(), row.case.clone()) } else { (String::new(), String::new()) };
            let name = if q.unit.is_empty() { q.name.clone() } else { format!("{} / {}", q.name, q.unit) };
            let published = q.published.clone().unwrap_or_else(|| format!("({})", q.reference));
            let mark = match q.pass {
                Some(true) => "ok",
                Some(false) => "FAILED",
                None => "known deviation",
            };
            rows.push(vec![id, case, name, published, accepted(q), significant(q.measured), mark.to_owned()]);
        }
    }
    format!(
        "{}\n{}: {} passed, {} failed, {} known deviations\n",
        table(&rows),
        report.suite,
        report.passed,
        report.failed,
        report.known
    )
}

fn accepted(q: &Quantity) -> String {
    match (q.low, q.high) {
        (Some(low), Some(high)) if low == high => significant(low),
        (Some(low), Some(high)) => format!("{} … {}", significant(low), significant(high)),
        _ => String::new(),
    }
}
