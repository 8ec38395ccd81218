//! Errors over time: a result minus its reference, for every variable and for powers and energies of bonds.

use super::compare::distance;
use super::side_by_side::{Point, SideBySide};
use super::summary::{SUMMARY, table_of};
use crate::table::csv::{END, number, quote};
use crate::table::{may_replace, write_pieces};
use crate::{ENERGY, Error};
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Differences at all times of both, discontinuities twice.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    /// In s.
    pub times: Vec<f64>,
    /// Every variable that both have, with result minus reference in its unit; where one of them is not finite, not a number.
    pub columns: Vec<(String, Vec<f64>)>,
}

/// What [`errors`] finds.
#[derive(Clone, Debug)]
pub struct ErrorsOverTime {
    /// Of recorded variables.
    pub variables: Errors,
    /// Of powers (ΔP) and energies (ΔE) of bonds, of the net energies of subsystems; none if one of both is no run with bonds.
    pub energy: Option<Errors>,
}

/// What tables of errors begin with, so that nothing else is overwritten.
const MARK: &str = "time,error.";
/// The table of recorded variables.
pub const ERRORS: &str = "errors.csv";
/// The table of powers and energies.
pub const ENERGY_ERRORS: &str = "energy-errors.csv";

/// Errors of `first` over time: each a run folder or a table (CSV, Arrow, Parquet) whose first column is the time, compared as
/// [`compare`](super::compare) does. Powers are those of steps, at their ends; between them both are lines.
pub fn errors(first: &Path, reference: &Path) -> Result<ErrorsOverTime, Error> {
    let variables = Common::variables(first, reference)?.gather()?;
    let energy = Common::energies(first, reference)?.map(Common::gather).transpose()?;
    Ok(ErrorsOverTime { variables, energy })
}

/// The same as tables in a folder, which is made if it is not there; row by row, whatever their size. Tables of errors are replaced,
/// other files only if they may be.
pub fn write_errors(
    first: &Path,
    reference: &Path,
    folder: &Path,
    overwrite: bool,
) -> Result<Vec<PathBuf>, Error> {
    let tables = [
        (ERRORS, Some(Common::variables(first, reference)?)),
        (ENERGY_ERRORS, Common::energies(first, reference)?),
    ];
    std::fs::create_dir_all(folder).map_err(|e| Error::output(folder, &e))?;
    let mut written = Vec::new();
    for (name, common) in tables {
        let Some(common) = common else { continue };
        let file = folder.join(name);
        write_pieces(&file, MARK, overwrite, |put| common.write(put))?;
        written.push(file);
    }
    Ok(written)
}

/// Whether the tables may be written into a folder.
pub fn may_write(folder: &Path, overwrite: bool) -> Result<(), Error> {
    [ERRORS, ENERGY_ERRORS].iter().try_for_each(|name| may_replace(&folder.join(name), MARK, overwrite))
}

/// Columns that two tables have in common, on the way along their times.
struct Common {
    both: SideBySide,
    names: Vec<String>,
    /// Their places in both.
    places: Vec<(usize, usize)>,
}

impl Common {
    /// All variables.
    fn variables(first: &Path, reference: &Path) -> Result<Self, Error> {
        Common::open(first, reference, |_| true)?.ok_or_else(|| {
            let message =
                format!("{} and {} have no variable in common", first.display(), reference.display());
            Error::input(None, message)
        })
    }

    /// Powers and energies, where both are runs with bonds.
    fn energies(first: &Path, reference: &Path) -> Result<Option<Self>, Error> {
        match [first, reference].map(energy_of) {
            [Some(a), Some(b)] => Common::open(&a, &b, is_power),
            _ => Ok(None),
        }
    }

    /// What both have and is `wanted`; none if that is nothing.
    fn open(first: &Path, reference: &Path, wanted: fn(&str) -> bool) -> Result<Option<Self>, Error> {
        let both = SideBySide::open(first, reference)?;
        let known: HashMap<&str, usize> =
            both.first.header().iter().enumerate().skip(1).map(|(i, name)| (name.as_str(), i)).collect();
        let (mut places, mut names) = (Vec::new(), Vec::new());
        for (k, name) in both.reference.header().iter().enumerate().skip(1).filter(|(_, name)| wanted(name)) {
            if let Some(&i) = known.get(name.as_str()) {
                places.push((i, k));
                names.push(name.clone());
            }
        }
        Ok((!names.is_empty()).then_some(Common { both, names, places }))
    }

    /// Tells every time, and the errors there: not a number where one of both values is not finite.
    fn each(
        mut self,
        mut take: impl FnMut(f64, &mut dyn Iterator<Item = f64>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        while let Some(Point { t, first, reference, .. }) = self.both.point()? {
            let mut errors = self.places.iter().map(|&(i, k)| {
                let error = distance(first[i], reference[k]);
                if error.is_finite() { error } else { f64::NAN }
            });
            take(t, &mut errors)?;
        }
        Ok(())
    }

    fn gather(self) -> Result<Errors, Error> {
        let mut times = Vec::new();
        let mut columns: Vec<_> = self.names.iter().map(|name| (name.clone(), Vec::new())).collect();
        self.each(|t, errors| {
            times.push(t);
            columns.iter_mut().zip(errors).for_each(|((_, values), error)| values.push(error));
            Ok(())
        })?;
        Ok(Errors { times, columns })
    }

    /// A column for each, named after its variable.
    fn write(self, put: &mut dyn FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error> {
        let mut line = Vec::from("time");
        for name in &self.names {
            line.push(b',');
            quote(&format!("error.{name}"), &mut line);
        }
        line.extend_from_slice(END);
        put(&line)?;
        let mut digits = ryu::Buffer::new();
        self.each(|t, errors| {
            line.clear();
            line.extend_from_slice(number(&mut digits, t).as_bytes());
            for error in errors {
                line.push(b',');
                line.extend_from_slice(number(&mut digits, error).as_bytes());
            }
            line.extend_from_slice(END);
            put(&line)
        })
    }
}

/// The energies of a run folder.
pub(crate) fn energy_of(path: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(path.join(SUMMARY)).ok()?;
    let summary: Value = serde_json::from_str(&text).ok()?;
    Some(table_of(path, &summary, ENERGY)).filter(|file| file.is_file())
}

/// Powers of sides, residual powers, and energies since the start; not what is said of single steps.
pub(crate) fn is_power(name: &str) -> bool {
    name.contains(".P.") || [".dP", ".dE_sum", ".E", ".E_net"].iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// t² in two chords against t² in four: at 0.5 the first one is 0.5 and the other one 0.25.
    #[test]
    fn errors_are_signed_and_on_all_times() {
        let folder = std::env::temp_dir().join(format!("powerbond-errors-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let [a, b] = ["a.csv", "b.csv"].map(|name| folder.join(name));
        std::fs::write(&a, "time,x,\"y, too\"\n0,0,1\n1,1,inf\n").unwrap();
        std::fs::write(&b, "time,\"y, too\",x\n0,1,0\n0.5,1,0.25\n1,1,1\n").unwrap();
        let open = || Common::open(&a, &b, |_| true).unwrap().unwrap();
        assert!(Common::open(&a, &b, |name| name == "z").unwrap().is_none());
        let errors = open().gather().unwrap();
        assert_eq!(errors.times, [0.0, 0.5, 1.0]);
        assert_eq!(errors.columns[1], ("x".to_owned(), vec![0.0, 0.25, 0.0]));
        let mut text = String::new();
        let mut put = |bytes: &[u8]| {
            text += std::str::from_utf8(bytes).unwrap();
            Ok(())
        };
        open().write(&mut put).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(text, "time,\"error.y, too\",error.x\r\n0,0,0\r\n0.5,nan,0.25\r\n1,nan,0\r\n");
    }

    #[test]
    fn powers_and_energies_are_told_from_what_is_said_of_steps() {
        let names = ["step_size", "error.energy", "b.P.a", "b.dP", "b.dE", "b.dE_sum", "b.E", "a.E_net"];
        let kept: Vec<&str> = names.into_iter().filter(|name| is_power(name)).collect();
        assert_eq!(kept, ["b.P.a", "b.dP", "b.dE_sum", "b.E", "a.E_net"]);
    }
}
