//! The coupling `u = L y + offset` as a sparse matrix in compressed rows, and tables for integers behind it.

use std::sync::Arc;

/// What integers become: `(what arrives, what it becomes)`.
pub type ValueTable = Arc<Vec<(f64, f64)>>;

/// One row per input. Inputs without connections have an empty row.
#[derive(Clone, Debug, Default)]
pub struct Wiring {
    start: Vec<u32>,
    source: Vec<u32>,
    gain: Vec<f64>,
    offset: Vec<f64>,
    /// No row has more than one source and no offset: the common case has a loop of its own.
    simple: bool,
    /// `(input, table)`, by input.
    tables: Vec<(u32, ValueTable)>,
}

/// A connection of an input: `offset + Σ gain · y[source]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// `(output, gain)`, in the order in which they are summed.
    pub sources: Vec<(usize, f64)>,
    /// Is added.
    pub offset: f64,
}

impl Wiring {
    /// From one row per input.
    pub fn new(rows: &[Row]) -> Self {
        let mut wiring = Wiring { start: vec![0], ..Wiring::default() };
        for row in rows {
            for &(source, gain) in &row.sources {
                wiring.source.push(source as u32);
                wiring.gain.push(gain);
            }
            wiring.start.push(wiring.source.len() as u32);
            wiring.offset.push(row.offset);
        }
        wiring.simple = rows.iter().all(|r| r.sources.len() == 1 && r.offset == 0.0);
        wiring
    }

    /// With a table behind an input.
    pub(crate) fn set_table(&mut self, input: usize, table: ValueTable) {
        let place = self.tables.partition_point(|(other, _)| (*other as usize) < input);
        self.tables.insert(place, (input as u32, table));
        self.simple = false;
    }

    /// What becomes of `x`, which arrives at an input; what its table does not name stays as it is.
    fn tabled(&self, input: usize, x: f64) -> f64 {
        let Ok(place) = self.tables.binary_search_by_key(&input, |(other, _)| *other as usize) else {
            return x;
        };
        // Nothing arrives at an input that a scenario holds.
        if self.sources(input).all(|(_, gain)| gain == 0.0) {
            return x;
        }
        let table = &self.tables[place].1;
        table.iter().find(|(arrives, _)| *arrives == x).map_or(x, |(_, becomes)| *becomes)
    }

    /// How many inputs there are.
    pub fn inputs(&self) -> usize {
        self.offset.len()
    }

    /// `(output, gain)` of every source of `input`.
    pub fn sources(&self, input: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.start[input] as usize..self.start[input + 1] as usize;
        range.map(|k| (self.source[k] as usize, self.gain[k]))
    }

    /// What is added to the sources of `input`.
    pub fn offset(&self, input: usize) -> f64 {
        self.offset[input]
    }

    /// Whether outputs feed `input`.
    pub fn is_coupled(&self, input: usize) -> bool {
        self.start[input] != self.start[input + 1]
    }

    /// `(L y + offset)` of one input.
    pub fn row(&self, input: usize, y: &[f64]) -> f64 {
        let sum = self.sources(input).fold(self.offset[input], |sum, (source, gain)| sum + gain * y[source]);
        if self.tables.is_empty() { sum } else { self.tabled(input, sum) }
    }

    /// Another connection of `input`, from the same sources in the same order.
    pub(crate) fn replace(&mut self, input: usize, row: &Row) {
        let range = self.start[input] as usize..self.start[input + 1] as usize;
        self.gain[range].iter_mut().zip(&row.sources).for_each(|(gain, source)| *gain = source.1);
        self.offset[input] = row.offset;
        self.simple = false;
    }

    /// `u = L y + offset` for all inputs.
    pub fn gather(&self, y: &[f64], u: &mut [f64]) {
        if self.simple {
            for (u, (&source, &gain)) in u.iter_mut().zip(self.source.iter().zip(&self.gain)) {
                *u = gain * y[source as usize];
            }
        } else {
            for (i, u) in u.iter_mut().enumerate() {
                *u = self.row(i, y);
            }
        }
    }
}
