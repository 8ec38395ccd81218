//! `powerbond bench`: the papers' tables and figures, published beside measured.

use crate::fmus::Fmus;
use crate::here::may_be_folder;
use crate::layout::table_with_remarks;
use crate::text::{print, show, significant};
use powerbond::Error;
use powerbond::table::{may_replace, write_file};
use powerbond_bench::{Figure, Quantity, Report, Row, SUITES, Source, Suite, Verdict};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Options of `bench`.
#[derive(clap::Args)]
pub struct Arguments {
    /// A suite, or `list` to see them
    suite: String,
    /// Only rows, or figures, whose id contains this
    #[arg(long, value_name = "ID")]
    only: Option<String>,
    /// Draw the paper's figures instead of its rows: an SVG and a CSV each in this folder
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    figures: Option<PathBuf>,
    /// Replace files there that are not figures
    #[arg(long, requires = "figures")]
    overwrite: bool,
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
    if let Some(folder) = &arguments.figures {
        return draw(suite, folder, arguments);
    }
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

/// Draws the figures; each is on disk as soon as it is done.
fn draw(suite: &Suite, folder: &Path, arguments: &Arguments) -> Result<u8, Error> {
    let known = suite.figures();
    if known.is_empty() {
        let others: Vec<&str> = SUITES.iter().filter(|s| !s.figures().is_empty()).map(|s| s.name).collect();
        let message = format!("{} has no figures. Suites with figures: {}", suite.name, others.join(", "));
        return Err(Error::input(None, message));
    }
    let only = arguments.only.as_deref();
    let chosen = || known.iter().filter(|id| only.is_none_or(|part| id.contains(part)));
    if let (Some(part), 0) = (only, chosen().count()) {
        let hint = powerbond::core::suggest::hint(part, known.iter().copied());
        return Err(Error::input(
            None,
            format!("no figure of {} contains `{part}` in its id.{hint}", suite.name),
        ));
    }
    may_be_folder(folder)?;
    std::fs::create_dir_all(folder).map_err(|e| Error::output(folder, &e))?;
    let files = |id: &str| [".svg", ".csv"].map(|end| folder.join(format!("{id}{end}")));
    let marks = [Figure::MARK, Figure::TABLE_MARK];
    // Before anything is computed.
    for id in chosen() {
        for (file, mark) in files(id).iter().zip(marks) {
            may_replace(file, mark, arguments.overwrite)?;
        }
    }
    let bar = (!arguments.json && std::io::stderr().is_terminal())
        .then(|| indicatif::ProgressBar::new(chosen().count() as u64));
    let fmus = arguments.fmu.as_deref().map(|version| Fmus::new(suite, version)).transpose()?;
    let (mut drawn, mut lines) = (Vec::new(), String::new());
    suite.draw(only, fmus.as_ref().map(Fmus::exchange), |figure| {
        let [svg, csv] = files(figure.id);
        write_file(&svg, &figure.svg(), Figure::MARK, arguments.overwrite)?;
        write_file(&csv, &figure.csv(), Figure::TABLE_MARK, arguments.overwrite)?;
        lines += &format!("  {:<12}  {}\n", figure.id, figure.title());
        let [svg, csv] = [svg, csv].map(|file| file.display().to_string());
        drawn.push(serde_json::json!({ "id": figure.id, "title": figure.title(), "svg": svg, "csv": csv }));
        if let Some(bar) = &bar {
            bar.inc(1);
        }
        Ok(())
    })?;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    if arguments.json {
        print(&format!("{:#}\n", serde_json::json!({ "suite": suite.name, "figures": drawn })))?;
    } else {
        let figures = if drawn.len() == 1 { "figure" } else { "figures" };
        let end = format!("\n{} {figures} as .svg and .csv in {}\n", drawn.len(), folder.display());
        show(&(lines + &end))?;
    }
    Ok(0)
}

fn list(json: bool) -> Result<(), Error> {
    if json {
        let suites =
            SUITES.iter().map(|s| serde_json::json!({ "name": s.name, "about": s.about, "rows": s.ids(), "figures": s.figures() }));
        print(&format!("{:#}\n", serde_json::json!({ "suites": suites.collect::<Vec<_>>() })))
    } else {
        let line = |s: &Suite| format!("{:<14} {} ({} rows)\n", s.name, s.about, s.ids().len());
        show(&SUITES.iter().map(line).collect::<String>())
    }
}

fn describe(report: &Report) -> String {
    let header = ["row", "case", "quantity", "against", "published", "accepted", "measured", ""];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    let mut notes: Vec<&str> = Vec::new();
    for row in &report.rows {
        for (i, q) in row.quantities.iter().enumerate() {
            let (id, case) =
                if i == 0 { (row.id.clone(), row.case.clone()) } else { (String::new(), String::new()) };
            let name = if q.unit.is_empty() { q.name.clone() } else { format!("{} / {}", q.name, q.unit) };
            let mut mark = mark(q);
            if let Some(why) = q.why {
                let known = notes.iter().position(|note| *note == why);
                let number = known.unwrap_or_else(|| {
                    notes.push(why);
                    notes.len() - 1
                });
                mark += &format!(" [{}]", number + 1);
            }
            rows.push(vec![
                id,
                case,
                name,
                q.reference.as_ref().map(Source::words).unwrap_or_default(),
                q.published.clone().unwrap_or_default(),
                accepted(q),
                significant(q.measured),
                mark,
            ]);
        }
    }
    let failed = || report.rows.iter().filter_map(|row| Some((row, row.failure.as_ref()?)));
    for (row, _) in failed() {
        let empty = std::iter::repeat_n(String::new(), 5);
        let line = [row.id.clone(), row.case.clone()].into_iter().chain(empty);
        rows.push(line.chain(["FAILED: no numbers".to_owned()]).collect());
    }
    let mut out = table_with_remarks(&rows);
    for (row, failure) in failed() {
        out += &format!("\n  {}: {failure}\n", row.id);
    }
    if !notes.is_empty() {
        out.push('\n');
    }
    for (n, note) in notes.iter().enumerate() {
        out += &format!("  [{}]  {note}\n", n + 1);
    }
    out + &total(report)
}

fn mark(q: &Quantity) -> String {
    match (q.verdict, &q.beside) {
        (Verdict::HoldsAnyway, Some(beside)) => format!("ok, also {}", beside.what),
        (Verdict::Holds | Verdict::HoldsAnyway, _) => "ok".to_owned(),
        (Verdict::Fails, _) => "FAILED".to_owned(),
        (Verdict::Deviates, _) => "deviates".to_owned(),
        (Verdict::Shown, _) => String::new(),
    }
}

/// How many hold, by what they are held against: a number that is only held against an earlier one says nothing about a paper.
fn total(report: &Report) -> String {
    let held = &report.held;
    let kinds = [
        (held.print, "what the paper prints"),
        (held.claim, "what it says in words"),
        (held.formula, "formulas"),
        (held.written_out, "a plain loop"),
        (held.finer_run, "finer runs"),
        (held.limit, "limits of this project"),
        (held.earlier, "earlier numbers"),
    ];
    let digits = match held.to_the_digit {
        0 => String::new(),
        n => format!(" ({n} to half of its last digit)"),
    };
    let kinds = kinds.iter().enumerate().filter(|(_, (n, _))| *n > 0);
    let kinds =
        kinds.map(|(k, (n, what))| format!("{n} against {what}{}", if k == 0 { &digits } else { "" }));
    let mut out = format!(
        "\n{}: {} passed, {} failed, {} known deviations, {} not judged\n",
        report.suite, report.passed, report.failed, report.deviations, report.shown
    );
    if report.passed > 0 {
        out += &format!("passed: {}\n", kinds.collect::<Vec<_>>().join(", "));
        if report.anyway > 0 {
            out += &format!("of these, {} are passed by a simpler run, too: \"ok, also …\"\n", report.anyway);
        }
    }
    if report.deviations > 0 {
        out += "deviates: not what the paper prints or says; `stays` is what came out before, where it must stay\n";
    }
    if !report.not_discriminating.is_empty() {
        out += &format!(
            "rows of which the simpler run passes every number: {}\n",
            report.not_discriminating.join(", ")
        );
    }
    out
}

fn accepted(q: &Quantity) -> String {
    // Bounds of a deviation are no paper's.
    let stays = if q.verdict == Verdict::Deviates { "stays " } else { "" };
    match (q.low, q.high) {
        (Some(low), Some(high)) if low == high => format!("{stays}{}", significant(low)),
        (Some(low), Some(high)) => match (significant(low), significant(high)) {
            (low_text, high_text) if low_text == high_text => {
                let width = 0.5 * (high - low);
                format!("{stays}{} ± {}", significant(0.5 * (low + high)), significant(width))
            }
            (low, high) => format!("{stays}{low} … {high}"),
        },
        (Some(low), None) => format!("≥ {}", significant(low)),
        (None, Some(high)) => format!("≤ {}", significant(high)),
        (None, None) => String::new(),
    }
}
