//! What a row of the dataset holds: first what every sweep has, then case, parameters and outputs of the plan.

use super::plan::{Plan, Point};
use super::value::Value;
use serde::{Deserialize, Serialize};

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What its cells are.
    pub kind: Kind,
    /// What it is for.
    pub role: Role,
    /// What is computed, of an output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
}

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Numbers.
    Real,
    /// Integers.
    Integer,
    /// Texts.
    Text,
    /// True or false.
    Boolean,
    /// Times in UTC, in microseconds since 1970.
    Time,
}

/// What a column is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Every sweep has it.
    Run,
    /// The name of the case.
    Case,
    /// A value that is set.
    Parameter,
    /// A result.
    Output,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Cell {
    /// Nothing.
    #[serde(rename = "-")]
    None,
    /// A number, bit by bit.
    #[serde(rename = "r")]
    Real(Bits),
    /// An integer.
    #[serde(rename = "i")]
    Integer(i64),
    /// A text.
    #[serde(rename = "t")]
    Text(String),
    /// True or false.
    #[serde(rename = "b")]
    Flag(bool),
}

/// A number that comes back from a text as it was, also if it is not finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bits(u64);

impl Cell {
    /// Of a number.
    pub fn real(x: f64) -> Self {
        Cell::Real(Bits(x.to_bits()))
    }

    /// The number.
    pub fn number(&self) -> Option<f64> {
        match self {
            Cell::Real(bits) => Some(f64::from_bits(bits.0)),
            Cell::Integer(n) => Some(*n as f64),
            Cell::None | Cell::Text(_) | Cell::Flag(_) => None,
        }
    }

    /// The text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Cell::Text(text) => Some(text),
            _ => None,
        }
    }

    fn of<T>(value: Option<T>, cell: impl Fn(T) -> Cell) -> Self {
        value.map_or(Cell::None, cell)
    }
}

/// A row: as many cells as there are columns.
pub type Row = Vec<Cell>;

/// Where what every sweep has stands in a row.
pub const NUMBER: usize = 0;
/// The id of the run.
pub const ID: usize = 1;
/// `ok`, or how it failed.
pub const STATUS: usize = 2;
/// The word of the verdict.
pub const VERDICT: usize = 3;
/// Why it failed, or what is to be known.
pub const MESSAGE: usize = 7;
/// Wall-clock time of the run, in s.
pub const SECONDS: usize = 9;
/// When it began.
pub const STARTED: usize = 10;

const FIXED: [(&str, Kind); 11] = [
    ("run", Kind::Integer),
    ("run_id", Kind::Text),
    ("status", Kind::Text),
    ("verdict", Kind::Text),
    ("error", Kind::Real),
    ("error_low", Kind::Real),
    ("error_high", Kind::Real),
    ("message", Kind::Text),
    ("steps", Kind::Integer),
    ("seconds", Kind::Real),
    ("started", Kind::Time),
];

/// Names that no column of a plan may have.
pub const RESERVED: [&str; 12] = [
    "run",
    "run_id",
    "status",
    "verdict",
    "error",
    "error_low",
    "error_high",
    "message",
    "steps",
    "seconds",
    "started",
    "case",
];

/// The status of a run that came to its end.
pub const OK: &str = "ok";

impl Column {
    pub(super) fn new(name: &str, kind: Kind, role: Role) -> Self {
        Column { name: name.to_owned(), kind, role, expression: None }
    }

    /// All columns of a plan's dataset.
    pub fn all(plan: &Plan) -> Vec<Column> {
        let fixed = FIXED.iter().map(|(name, kind)| Column::new(name, *kind, Role::Run));
        fixed.chain(plan.columns()).collect()
    }
}

/// What a run came to, apart from its parameters.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// [`OK`], or how it failed.
    pub status: &'static str,
    /// The word of the verdict.
    pub verdict: Option<String>,
    /// Estimated error, and the range around it.
    pub error: [Option<f64>; 3],
    /// Why it failed, or what is to be known.
    pub message: Option<String>,
    /// Communication steps.
    pub steps: Option<u64>,
    /// Wall-clock time, in s.
    pub seconds: f64,
    /// When it began, in µs since 1970.
    pub started: i64,
    /// Results, in the order of the plan; empty if there are none.
    pub outputs: Vec<f64>,
}

/// The row of run `index`, from 0.
pub fn row(columns: &[Column], index: u64, id: &str, point: &Point, outcome: Outcome) -> Row {
    let Outcome { status, verdict, error, message, steps, seconds, started, outputs } = outcome;
    let [error, low, high] = error.map(|x| Cell::of(x, Cell::real));
    let mut row = vec![
        Cell::Integer(index as i64 + 1),
        Cell::Text(id.to_owned()),
        Cell::Text(status.to_owned()),
        Cell::of(verdict, Cell::Text),
        error,
        low,
        high,
        Cell::of(message, Cell::Text),
        Cell::of(steps, |n| Cell::Integer(n as i64)),
        Cell::real(seconds),
        Cell::Integer(started),
    ];
    let mut outputs = outputs.into_iter();
    for column in &columns[FIXED.len()..] {
        row.push(match column.role {
            Role::Case => Cell::of(point.case.clone(), Cell::Text),
            Role::Parameter => {
                let value = point.set.iter().find(|(name, _)| *name == column.name).map(|(_, value)| value);
                match (column.kind, value) {
                    (_, None) => Cell::None,
                    (Kind::Real, Some(Value::Number(x))) => Cell::real(*x),
                    (Kind::Boolean, Some(Value::Flag(flag))) => Cell::Flag(*flag),
                    (_, Some(value)) => Cell::Text(value.to_string()),
                }
            }
            Role::Output | Role::Run => Cell::of(outputs.next(), Cell::real),
        });
    }
    row
}

/// The number of a row's run, from 1; 0 of a run that is not in the plan any more.
pub fn number_of(row: &Row) -> i64 {
    match row.get(NUMBER) {
        Some(Cell::Integer(n)) => *n,
        _ => 0,
    }
}

/// The text in a row.
pub fn text_of(row: &Row, place: usize) -> &str {
    row.get(place).and_then(Cell::text).unwrap_or_default()
}
