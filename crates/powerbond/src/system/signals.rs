//! External inputs as a file writes them: a number, a named signal or a column of a table.

use crate::Error;
use crate::source::{At, Node};
use crate::table::{Table, csv};
use powerbond_core::network::VariableName;
use powerbond_core::subsystem::ValueKind;
use powerbond_core::suggest::hint;
use powerbond_core::time::signal::Signal;
use powerbond_fmi::description::ModelDescription;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What an input follows.
#[derive(Clone)]
#[allow(missing_docs)] // As in `powerbond_core::time::signal::Signal`.
pub enum SignalSpec {
    Constant(f64),
    /// An integer with more digits than a real has.
    Integer(i128),
    /// An item of an enumeration.
    Item(At<String>),
    Step {
        time: f64,
        from: f64,
        to: f64,
    },
    Ramp {
        start: f64,
        end: f64,
        from: f64,
        to: f64,
    },
    Sine {
        amplitude: f64,
        frequency: f64,
        phase: f64,
        offset: f64,
    },
    Table {
        file: At<PathBuf>,
        column: Option<At<String>>,
        linear: bool,
    },
    Samples {
        times: Vec<f64>,
        values: Vec<f64>,
        linear: bool,
    },
    Function(Arc<dyn Fn(f64) -> f64 + Send + Sync>),
}

impl std::fmt::Debug for SignalSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SignalSpec::Constant(x) => write!(f, "Constant({x})"),
            SignalSpec::Integer(n) => write!(f, "Integer({n})"),
            SignalSpec::Item(name) => write!(f, "Item({})", name.value),
            SignalSpec::Step { time, from, to } => write!(f, "Step({from} to {to} at {time} s)"),
            SignalSpec::Ramp { start, end, from, to } => {
                write!(f, "Ramp({from} to {to}, {start} to {end} s)")
            }
            SignalSpec::Sine { amplitude, frequency, .. } => write!(f, "Sine({amplitude}, {frequency} Hz)"),
            SignalSpec::Table { file, .. } => write!(f, "Table({})", file.value.display()),
            SignalSpec::Samples { times, .. } => write!(f, "Samples({} rows)", times.len()),
            SignalSpec::Function(_) => f.write_str("Function"),
        }
    }
}

impl From<f64> for SignalSpec {
    fn from(value: f64) -> Self {
        SignalSpec::Constant(value)
    }
}

impl SignalSpec {
    /// A function of time, in s. It should be smooth: its discontinuities are not known.
    pub fn function(f: impl Fn(f64) -> f64 + Send + Sync + 'static) -> Self {
        SignalSpec::Function(Arc::new(f))
    }

    /// Straight lines between samples at increasing times, in s; two samples at one time are a discontinuity.
    pub fn lines(times: impl Into<Vec<f64>>, values: impl Into<Vec<f64>>) -> Self {
        SignalSpec::Samples { times: times.into(), values: values.into(), linear: true }
    }

    /// The last sample holds.
    pub fn held(times: impl Into<Vec<f64>>, values: impl Into<Vec<f64>>) -> Self {
        SignalSpec::Samples { times: times.into(), values: values.into(), linear: false }
    }
}

/// What an input may follow instead of a number.
const KINDS: [&str; 4] = ["step", "ramp", "sine", "table"];

impl SignalSpec {
    /// Reads `0.1`, `true`, `{ step = { … } }`, `{ ramp = … }`, `{ sine = … }` or `{ table = "file.csv", column = "z" }`.
    pub fn read(node: Node<'_>) -> Result<Self, Error> {
        if node.is_flag() {
            return Ok(SignalSpec::Constant(f64::from(u8::from(node.flag()?.value))));
        }
        if node.is_text() {
            return Ok(SignalSpec::Item(node.text()?));
        }
        if let Some(n) = node.long_integer() {
            return Ok(SignalSpec::Integer(n));
        }
        if !node.is_table() {
            return Ok(SignalSpec::Constant(node.number()?.value));
        }
        let table = node.table("an input", &["step", "ramp", "sine", "table", "column", "interpolation"])?;
        let kinds: Vec<&str> = KINDS.into_iter().filter(|k| table.get(k).is_some()).collect();
        if let [first, second, ..] = kinds[..] {
            return node.fail(format!("`{first}` and `{second}` in one input; expected one signal"));
        }
        for key in ["column", "interpolation"] {
            if let (Some(value), &[kind @ ("step" | "ramp" | "sine")]) = (table.get(key), &kinds[..]) {
                return value.fail(format!("`{key}` is a key of `table`; this input is a `{kind}`"));
            }
        }
        if let Some(file) = table.get("table") {
            let linear = match table.get("interpolation") {
                None => true,
                Some(word) => match word.text()?.value.as_str() {
                    "linear" => true,
                    "hold" => false,
                    _ => return word.expected("\"linear\" or \"hold\""),
                },
            };
            let path = file.text()?;
            let column = table.get("column").map(|c| c.text()).transpose()?;
            return Ok(SignalSpec::Table { file: path.with(PathBuf::from(&path.value)), column, linear });
        }
        if let Some(step) = table.get("step") {
            let t = step.table("`step`", &["time", "from", "to"])?;
            let number = |key, default| t.get(key).map_or(Ok(default), |n: Node<'_>| Ok(n.number()?.value));
            return Ok(SignalSpec::Step {
                time: t.require("time", "`step`")?.number()?.value,
                from: number("from", 0.0)?,
                to: t.require("to", "`step`")?.number()?.value,
            });
        }
        if let Some(ramp) = table.get("ramp") {
            let t = ramp.table("`ramp`", &["start", "end", "from", "to"])?;
            let number = |key| t.require(key, "`ramp`")?.number();
            let (start, end) = (number("start")?, number("end")?);
            if end.value <= start.value {
                return ramp.fail("the ramp must end after it starts");
            }
            let from = t.get("from").map_or(Ok(0.0), |n| Ok(n.number()?.value))?;
            return Ok(SignalSpec::Ramp {
                start: start.value,
                end: end.value,
                from,
                to: number("to")?.value,
            });
        }
        if let Some(sine) = table.get("sine") {
            let t = sine.table("`sine`", &["amplitude", "frequency", "phase", "offset"])?;
            let number = |key, default| t.get(key).map_or(Ok(default), |n: Node<'_>| Ok(n.number()?.value));
            return Ok(SignalSpec::Sine {
                amplitude: number("amplitude", 1.0)?,
                frequency: t.require("frequency", "`sine`")?.number()?.value,
                phase: number("phase", 0.0)?,
                offset: number("offset", 0.0)?,
            });
        }
        node.fail(
            "expected a number, `{ step = … }`, `{ ramp = … }`, `{ sine = … }` or `{ table = \"file.csv\" }`",
        )
    }
}

/// Items of an enumeration by name.
pub type Items = BTreeMap<String, f64>;

/// The items of a variable of an FMU that is an enumeration; none of others.
pub fn items_of(description: &ModelDescription, variable: &str) -> Items {
    let variable = description.find(variable).map(|v| &description.variables[v]);
    let items = variable.and_then(|v| description.type_of(v)).map_or(&[][..], |t| &t.items);
    items.iter().map(|item| (item.name.to_string(), item.value as f64)).collect()
}

/// The tables of a system, each read once, whatever it feeds.
#[derive(Default)]
pub struct Tables {
    read: BTreeMap<PathBuf, Arc<Table>>,
    /// Items of enumerations that columns may name, by file and column.
    columns: BTreeMap<PathBuf, BTreeMap<String, Items>>,
    /// Those of inputs.
    inputs: BTreeMap<VariableName, Items>,
}

impl Tables {
    /// An input that follows `signal` has these items.
    pub fn know_items(&mut self, signal: &SignalSpec, folder: &Path, input: &VariableName, items: Items) {
        if items.is_empty() {
            return;
        }
        if let SignalSpec::Table { file, column, .. } = signal {
            let column = column.as_ref().map_or(input.to_string(), |c| c.value.clone());
            let columns = self.columns.entry(folder.join(&file.value)).or_default();
            columns.entry(column).or_default().extend(items.clone());
        }
        self.inputs.insert(input.clone(), items);
    }

    /// The first value of a signal that is no item of the enumeration that it feeds.
    pub fn no_item(&self, input: &VariableName, signal: &Signal) -> Option<f64> {
        let items = self.inputs.get(input)?;
        values(signal).iter().copied().find(|x| !items.values().any(|item| item == x))
    }

    /// The signal; tables are relative to `folder`. `input` names the column if none is given.
    pub fn signal(
        &mut self,
        spec: &SignalSpec,
        folder: &Path,
        input: &VariableName,
    ) -> Result<Signal, Error> {
        Ok(match spec {
            SignalSpec::Constant(value) => Signal::Constant(*value),
            SignalSpec::Integer(n) => Signal::Constant(*n as f64),
            SignalSpec::Item(name) => {
                let items = self.inputs.get(input);
                match items.and_then(|items| items.get(&name.value)) {
                    Some(value) => Signal::Constant(*value),
                    None => {
                        let message = match items {
                            Some(items) => {
                                let hint = hint(&name.value, items.keys().map(String::as_str));
                                format!("`{input}` has no item `{}`.{hint}", name.value)
                            }
                            None => format!(
                                "\"{}\" for `{input}`; expected a number, `true`, `false` or a signal. Only \
                                 enumerations of FMUs have names",
                                name.value
                            ),
                        };
                        return Err(Error::input(name.place(), message));
                    }
                }
            }
            &SignalSpec::Step { time, from, to } => Signal::Step { time, from, to },
            &SignalSpec::Ramp { start, end, from, to } => Signal::Ramp { start, end, from, to },
            &SignalSpec::Sine { amplitude, frequency, phase, offset } => {
                Signal::Sine { amplitude, frequency, phase, offset }
            }
            SignalSpec::Table { file, column, linear } => {
                let (times, values) = self.column(folder, file, column.as_ref(), &input.to_string())?;
                Signal::Table { times, values, linear: *linear }
            }
            SignalSpec::Samples { times, values, linear } => {
                Signal::Table { times: times.clone(), values: values.clone(), linear: *linear }
            }
            SignalSpec::Function(f) => {
                let f = f.clone();
                Signal::Function(Box::new(move |t| f(t)))
            }
        })
    }
}

impl Tables {
    /// What a signal of integers is more than [`Tables::signal`], if it is.
    pub fn rest(&mut self, spec: &SignalSpec, folder: &Path, input: &VariableName) -> Option<Signal> {
        match spec {
            SignalSpec::Integer(n) => Some(Signal::Constant((n - *n as f64 as i128) as f64)),
            SignalSpec::Table { file, column, .. } => {
                // What is wrong with the file is said where its values are read.
                let table = self.table(&folder.join(&file.value)).ok()?;
                let input = input.to_string();
                let column = chosen(&table, column.as_ref().map_or(&input, |c| &c.value), column.is_some())?;
                let mut values = vec![0.0; table.rows()];
                let rests = table.rests.iter().filter(|rest| rest.column == column);
                rests.for_each(|rest| values[rest.row] = rest.value);
                let any = values.iter().any(|value| *value != 0.0);
                any.then(|| Signal::Table { times: table.columns[0].clone(), values, linear: false })
            }
            _ => None,
        }
    }
}

/// The column of a table that is called `wanted`; a table of two columns needs no name, unless one is `given`.
fn chosen(table: &Table, wanted: &str, given: bool) -> Option<usize> {
    let named = table.header.iter().skip(1).position(|name| name == wanted).map(|i| i + 1);
    named.or((!given && table.header.len() == 2).then_some(1))
}

/// The first value of a signal that an input of a kind would have to round, if it names one.
pub fn misfit(signal: &Signal, kind: ValueKind) -> Option<f64> {
    let fits = |x: &f64| match kind {
        ValueKind::Real => true,
        ValueKind::Boolean => *x == 0.0 || *x == 1.0,
        ValueKind::Integer | ValueKind::Enumeration => x.fract() == 0.0,
    };
    values(signal).iter().copied().find(|x| !fits(x))
}

/// The values that a signal names.
fn values(signal: &Signal) -> Cow<'_, [f64]> {
    match signal {
        Signal::Constant(x) => vec![*x].into(),
        Signal::Step { from, to, .. } => vec![*from, *to].into(),
        Signal::Table { values, .. } => values.into(),
        _ => Cow::default(),
    }
}

/// Why the first column of a table cannot be time in s, if that can be seen. Otherwise it is, whatever it is called.
fn not_time(header: &[String]) -> Option<String> {
    // `T` is a temperature more often than a time.
    let is_time = |name: &str| {
        let word = name.split(['[', '(']).next().unwrap_or(name).trim();
        word == "t" || ["time", "seconds"].contains(&word.to_lowercase().as_str())
    };
    let (first, others) = header.split_first()?;
    if let (false, Some(name)) = (is_time(first), others.iter().find(|name| is_time(name))) {
        return Some(format!("the first column is `{first}`; expected `{name}` first"));
    }
    let unit = first.split(['[', '(']).nth(1)?.trim_end_matches([']', ')', ' ']).trim();
    (unit != "s").then(|| format!("the first column is `{first}`; expected times in s"))
}

impl Tables {
    fn table(&mut self, path: &Path) -> Result<Arc<Table>, Error> {
        if let Some(table) = self.read.get(path) {
            return Ok(table.clone());
        }
        let none = BTreeMap::new();
        let items = self.columns.get(path).unwrap_or(&none);
        let table = Arc::new(csv::read_with(path, |column, text| {
            let Some(items) = items.get(column) else { return Err(csv::not_a_number(text)) };
            items.get(text).copied().ok_or_else(|| {
                format!(
                    "column `{column}`: no item `{text}`.{}",
                    hint(text, items.keys().map(String::as_str))
                )
            })
        })?);
        self.read.insert(path.to_owned(), table.clone());
        Ok(table)
    }

    /// The time column and one other of a CSV file.
    fn column(
        &mut self,
        folder: &Path,
        file: &At<PathBuf>,
        column: Option<&At<String>>,
        input: &str,
    ) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let path = folder.join(&file.value);
        let table = self.table(&path).map_err(|error| error.placed(file.place()))?;
        time_and_values(&table, &path, file, column, input)
    }
}

/// The time column and one other of a table.
fn time_and_values(
    table: &Table,
    path: &Path,
    file: &At<PathBuf>,
    column: Option<&At<String>>,
    input: &str,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let wanted = column.map_or(input, |c| c.value.as_str());
    if table.header.len() < 2 {
        let message = format!("{} has one column; expected times, then values", path.display());
        return Err(Error::input(file.place(), message));
    }
    if let Some(why) = not_time(&table.header) {
        return Err(Error::input(file.place(), format!("{}:1: {why}", path.display())));
    }
    let values = match chosen(table, wanted, column.is_some()) {
        Some(chosen) => table.columns[chosen].clone(),
        None => {
            let place = column.map_or(file.place(), At::place);
            let known = table.header[1..].join(", ");
            return Err(Error::input(
                place,
                format!("{}: unknown column `{wanted}`. It has: {known}", path.display()),
            ));
        }
    };
    let times = table.columns[0].clone();
    if times.is_empty() {
        return Err(Error::input(file.place(), format!("{} has no rows", path.display())));
    }
    if let Some(row) = (1..times.len()).find(|&i| times[i] < times[i - 1]) {
        let message = format!(
            "{}:{}: times decrease: {} after {}",
            path.display(),
            row + 2,
            times[row],
            times[row - 1]
        );
        return Err(Error::input(file.place(), message));
    }
    if let Some(row) = (0..times.len()).find(|&i| !times[i].is_finite() || !values[i].is_finite()) {
        let message = format!("{}:{}: expected a finite number in every row", path.display(), row + 2);
        return Err(Error::input(file.place(), message));
    }
    Ok((times, values))
}
