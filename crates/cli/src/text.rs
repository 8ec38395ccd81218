//! Numbers as people like to read them, and where texts go.

use crate::layout::{wrap, wrap_for_errors};
use powerbond::Error;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;

/// The real stdout, once [`keep_stdout`] took it away from FMUs.
static STDOUT: OnceLock<File> = OnceLock::new();

/// Keeps stdout for what the command prints itself; what FMUs print goes to the log.
pub fn keep_stdout() -> Result<(), Error> {
    let real = powerbond::fmi::printed::divert().map_err(|e| Error::output(Path::new("stdout"), &e))?;
    if let Some(real) = real {
        STDOUT.get_or_init(|| real);
    }
    Ok(())
}

/// The real stdout, for a process that is started.
pub fn stdout() -> Result<std::process::Stdio, Error> {
    match STDOUT.get() {
        Some(file) => Ok(file.try_clone().map_err(|e| Error::output(Path::new("stdout"), &e))?.into()),
        None => Ok(std::process::Stdio::inherit()),
    }
}

/// The real stdout, if it was taken away from FMUs.
pub fn real_stdout() -> Option<&'static File> {
    STDOUT.get()
}

/// Prints a text for people: its lines fit the terminal.
pub fn show(text: &str) -> Result<(), Error> {
    print(&wrap(text))
}

/// Prints to stdout as it is; a closed pipe (`| head`) is not an error.
pub fn print(text: &str) -> Result<(), Error> {
    let mut out: Box<dyn Write> = match STDOUT.get() {
        Some(file) => Box::new(file),
        None => Box::new(io::stdout().lock()),
    };
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::output(Path::new("stdout"), &error))
        }
        _ => Ok(()),
    }
}

/// Lines for stderr about an error: one for each problem of an input.
pub fn error(error: &Error) -> String {
    match error {
        Error::Input(problems) => problems.lines().map(|line| line_of("error", line)).collect(),
        other => line_of("error", other),
    }
}

/// A line for stderr: `warning: …`. Names and words of FMUs give no orders to the terminal.
pub fn line_of(what: &str, text: impl std::fmt::Display) -> String {
    wrap_for_errors(&format!("{what}: {}\n", powerbond::fmi::printable(&text.to_string())))
}

/// Says something on stderr.
pub fn say(what: &str, text: impl std::fmt::Display) {
    eprint!("{}", line_of(what, text));
}

/// Four significant digits, an SI prefix and the unit: `2.874 ms`.
pub fn quantity(x: f64, unit: &str) -> String {
    if x == 0.0 || !x.is_finite() {
        return format!("{x} {unit}");
    }
    let prefixes =
        [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p")];
    let (scale, prefix) = prefixes.into_iter().find(|(s, _)| x.abs() >= 0.99995 * s).unwrap_or((1e-12, "p"));
    format!("{} {prefix}{unit}", significant(x / scale))
}

/// Four significant digits without trailing zeros.
pub fn significant(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return format!("{x}");
    }
    let magnitude = x.abs().log10().floor() as i32;
    if !(-4..7).contains(&magnitude) {
        return format!("{x:.3e}");
    }
    let decimals = (3 - magnitude).max(0) as usize;
    let text = format!("{x:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A share of 0 or more from the command line: `0.005` or `0.5%`.
pub fn share(text: &str) -> Result<f64, String> {
    powerbond::number::small_share(text)
}

/// A share above 0 from the command line: `0.01` or `1%`.
pub fn goal(text: &str) -> Result<f64, String> {
    match powerbond::number::small_share(text)? {
        share if share > 0.0 => Ok(share),
        _ => Err("expected a share above 0, such as 1%".to_owned()),
    }
}

/// A share whatever its size: `1e-3` or `0.1%`. Whether it fits is seen later.
pub fn tolerance(text: &str) -> Result<f64, String> {
    let given = || text.trim().parse().ok();
    powerbond::number::share(text)
        .or_else(given)
        .ok_or_else(|| "expected a number, such as 1e-3 or 0.1%".to_owned())
}

/// A time, as a number. Whether it fits is seen later.
pub fn seconds(text: &str) -> Result<f64, String> {
    text.trim()
        .parse()
        .map_err(|_| "expected a number of seconds without a unit, such as 0.001 or 1e-3".to_owned())
}

/// How many times as fast as the clock: a finite number above 0.
pub fn factor(text: &str) -> Result<f64, String> {
    let factor = text.trim().parse().ok().filter(|x: &f64| x.is_finite() && *x > 0.0);
    factor.ok_or_else(|| "expected a number above 0, such as 1 or 0.5".to_owned())
}

/// An amount of memory: `512MB`, `2 GB`, `1.5GiB`. A number without a unit is refused: nobody knows what it means.
pub fn bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, f64); 6] =
        [("kib", 1024.0), ("mib", 1048576.0), ("gib", 1073741824.0), ("kb", 1e3), ("mb", 1e6), ("gb", 1e9)];
    let lower = text.trim().to_ascii_lowercase();
    let found = UNITS.iter().find_map(|(unit, size)| Some((lower.strip_suffix(unit)?, size)));
    let bytes = found.and_then(|(number, size)| Some(number.trim().parse::<f64>().ok()? * size));
    let bytes = bytes.filter(|bytes| bytes.is_finite() && *bytes >= 1.0);
    bytes
        .map(|bytes| bytes as u64)
        .ok_or_else(|| "expected an amount with a unit, such as 512MB or 2GB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_prefixes_and_four_digits() {
        for (x, text) in [
            (2.8736e-3, "2.874 ms"),
            (1.0, "1 s"),
            (0.0, "0 s"),
            (-1234.5, "-1.234 ks"),
            (9.99999e-4, "1 ms"),
        ] {
            assert_eq!(quantity(x, "s"), text);
        }
    }
}
