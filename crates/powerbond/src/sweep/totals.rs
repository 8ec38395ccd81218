//! What a sweep came to, in numbers.

use super::dataset::{Record, scan};
use super::schema::{MESSAGE, OK, Role, STATUS, VERDICT, number_of, text_of};
use crate::Error;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Failures that are told one by one.
const TOLD: usize = 5;

/// What a sweep came to.
#[derive(Clone, Debug, Serialize)]
pub struct Totals {
    /// Name of the sweep.
    pub name: String,
    /// Runs of the plan.
    pub planned: u64,
    /// How many of them have the parameters of another one, and no row.
    pub repeated: u64,
    /// Runs of the plan that are in the dataset.
    pub runs: u64,
    /// How many ended how.
    pub status: BTreeMap<String, u64>,
    /// How many have which verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// Results over all runs that went well.
    pub outputs: Vec<Spread>,
    /// The first runs that failed.
    pub failures: Vec<Failed>,
}

/// A result over all runs.
#[derive(Clone, Debug, Serialize)]
pub struct Spread {
    /// Its name.
    pub name: String,
    /// The smallest one.
    pub min: Option<f64>,
    /// Half of all are smaller.
    pub median: Option<f64>,
    /// The mean.
    pub mean: Option<f64>,
    /// The largest one.
    pub max: Option<f64>,
}

/// A run that failed.
#[derive(Clone, Debug, Serialize)]
pub struct Failed {
    /// Its number, from 1.
    pub run: i64,
    /// How.
    pub status: String,
    /// Why.
    pub message: String,
}

impl Totals {
    /// Of the sweep in a folder.
    pub fn of(folder: &Path) -> Result<Self, Error> {
        let record = Record::read(folder)?;
        let places: Vec<usize> =
            (0..record.columns.len()).filter(|&c| record.columns[c].role == Role::Output).collect();
        let mut values: Vec<Vec<f64>> = vec![Vec::new(); places.len()];
        let mut totals = Totals {
            name: record.name,
            planned: record.runs,
            repeated: record.repeated,
            runs: 0,
            status: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            outputs: Vec::new(),
            failures: Vec::new(),
        };
        scan(folder, &record.columns, &mut |row| {
            if number_of(&row) == 0 {
                return;
            }
            totals.runs += 1;
            let status = text_of(&row, STATUS).to_owned();
            if status != OK && totals.failures.len() < TOLD {
                let message = text_of(&row, MESSAGE).to_owned();
                totals.failures.push(Failed { run: number_of(&row), status: status.clone(), message });
            }
            *totals.status.entry(status).or_default() += 1;
            if let Some(word) = row[VERDICT].text() {
                *totals.verdicts.entry(word.to_owned()).or_default() += 1;
            }
            for (list, &place) in values.iter_mut().zip(&places) {
                list.extend(row[place].number().filter(|x| !x.is_nan()));
            }
        })?;
        let names = places.iter().map(|&c| record.columns[c].name.clone());
        totals.outputs = names.zip(values).map(|(name, list)| Spread::of(name, list)).collect();
        Ok(totals)
    }

    /// Runs of the plan that are not in the dataset.
    pub fn missing(&self) -> u64 {
        self.planned.saturating_sub(self.repeated + self.runs)
    }

    /// Runs that did not come to their end.
    pub fn failed(&self) -> u64 {
        self.runs - self.status.get(OK).copied().unwrap_or(0)
    }
}

impl Spread {
    fn of(name: String, mut list: Vec<f64>) -> Self {
        list.sort_by(f64::total_cmp);
        let n = list.len();
        let middle = |k: usize| list.get(k).copied();
        let median = match n % 2 {
            1 => middle(n / 2),
            _ => middle((n / 2).wrapping_sub(1)).zip(middle(n / 2)).map(|(a, b)| a + (b - a) / 2.0),
        };
        let mean = (n > 0).then(|| list.iter().sum::<f64>() / n as f64);
        Spread { name, min: list.first().copied(), median, mean, max: list.last().copied() }
    }
}
