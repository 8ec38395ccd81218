//! What the terminal can show: how wide it is, and whether it takes colours.

use crate::text;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal};
use terminal_size::{Width, terminal_size_of};

/// Where the width of a terminal is unknown.
const USUAL: usize = 80;
/// Narrower than this nothing is laid out.
const NARROWEST: usize = 40;

/// Columns for what is printed to stdout. On a terminal those that it has; elsewhere as many as `COLUMNS` says, or any number: what
/// is searched by other programs stays in whole lines.
pub fn width() -> usize {
    match text::real_stdout() {
        Some(file) => columns(file.is_terminal(), || terminal_size_of(file)),
        None => columns(io::stdout().is_terminal(), || terminal_size_of(io::stdout())),
    }
}

/// The same for what is said on stderr.
pub fn width_of_errors() -> usize {
    columns(io::stderr().is_terminal(), || terminal_size_of(io::stderr()))
}

fn columns<H>(is_terminal: bool, size: impl FnOnce() -> Option<(Width, H)>) -> usize {
    let width = if is_terminal {
        size().map(|(Width(n), _)| usize::from(n)).filter(|&n| n > 0).unwrap_or(USUAL)
    } else {
        let said = std::env::var("COLUMNS").ok().and_then(|n| n.trim().parse().ok());
        said.filter(|&n| n > 0).unwrap_or(usize::MAX)
    };
    width.max(NARROWEST)
}

/// Whether the real stdout is a terminal.
pub fn is_terminal() -> bool {
    text::real_stdout().map_or_else(|| io::stdout().is_terminal(), File::is_terminal)
}

/// Whether stdout takes colours: a terminal does, unless `NO_COLOR` or `TERM=dumb` say otherwise; `CLICOLOR_FORCE` wants them anywhere.
pub fn takes_colours() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if set("NO_COLOR").is_some() {
        false
    } else if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        true
    } else {
        is_terminal()
            && set("TERM").is_some_and(|term| term != "dumb")
            && set("CLICOLOR").is_none_or(|value| value != "0")
    }
}

/// What a worker has to know that writes for this terminal and does not see it.
pub fn environment() -> Vec<(&'static str, OsString)> {
    let width = Some(width()).filter(|&n| n < usize::MAX).map(|n| ("COLUMNS", n.to_string().into()));
    let colours = takes_colours().then(|| ("CLICOLOR_FORCE", "1".into()));
    width.into_iter().chain(colours).collect()
}

/// The word of a verdict at the beginning of a text in its colour: green, yellow, red, and cyan where nothing was judged.
pub fn paint_verdict(out: String, word: &str) -> String {
    let word = word.to_uppercase();
    let colour = match word.as_str() {
        "TRUSTWORTHY" => 32,
        "CHECK" => 33,
        "UNRELIABLE" => 31,
        _ => 36,
    };
    match out.strip_prefix(&word).filter(|_| takes_colours()) {
        Some(rest) => format!("\x1b[1;{colour}m{word}\x1b[0m{rest}"),
        None => out,
    }
}
