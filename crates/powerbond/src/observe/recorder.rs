//! Fills the tables of results, energies and, on request, jumps while a run goes on: on disk, in memory or both.

use crate::Error;
use crate::assemble::{Assembled, Column};
use crate::system::Record;
use crate::table::{Backups, Field, FieldKind, Flusher, Format, Metadata, Table, Writer};
use powerbond_core::energy::Port;
use powerbond_core::network::VariableName;
use powerbond_core::observe::{Details, EventView, Flow, Observer, StartView, StepReport};
use powerbond_core::step::StepView;
use powerbond_core::subsystem::own_step::OwnSteps;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// An observer that writes rows. Recording changes no step: between steps, rows are interpolated linearly.
///
/// At a discontinuity there are two rows of one time, the limits from the left and from the right; one if they are equal.
/// On a grid there is one, with the limits from the right.
pub struct Recorder {
    columns: Vec<Column>,
    /// Integers of 64 bits: their columns, the rests of these, and what they are.
    wide: Vec<(usize, Option<Column>, FieldKind)>,
    /// Dropped before the writers.
    _flusher: Option<Flusher>,
    results: Rows,
    energy: Rows,
    /// The table of jumps and the inputs in it.
    jumps: Option<(Rows, Vec<usize>)>,
    /// Output on multiples of this after the start; `None`: every step.
    interval: Option<f64>,
    start: f64,
    next: u64,
    /// A grid point whose limits from the right are still to come.
    awaited: Option<f64>,
    /// Every grid point at the end of a step is awaited.
    waits: bool,
    previous: Vec<f64>,
    current: Vec<f64>,
    previous_t: f64,
    /// Columns that are not interpolated: between steps they have the value before.
    held: Vec<bool>,
    /// Residual energy of each bond since the last row, and its sums.
    pending: Vec<f64>,
    residual_sum: Vec<f64>,
    transmitted: Vec<f64>,
    /// Net energy into each subsystem that has ports, and the place in it for each port.
    net: Vec<f64>,
    net_of: Vec<Option<usize>>,
    /// Bonds that are power bonds.
    is_power: Vec<bool>,
    /// Coupled inputs, where their orders and which one limits the step are written.
    orders: Option<Vec<usize>>,
    /// What tells the sub-steps of subsystems that are sub-stepped as a tolerance asks for it.
    sub_stepped: Vec<OwnSteps>,
    /// Evaluations of members of algebraic loops in the last row, if there are such loops.
    loop_evaluations: Option<u64>,
    has_ceiling: bool,
    gives_back: bool,
    /// Attempts that were rejected, and steps that were kept over tolerance, since the last row.
    rejected: u32,
    over_tolerance: u32,
    /// The largest norm of attempts that were rejected since the last row.
    rejected_norm: f64,
    /// What is written of bonds, outputs and corrections one by one, if that is asked for.
    details: Option<Vec<Detail>>,
    failure: Option<Error>,
}

/// A column that is written on request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Detail {
    /// The largest norm of attempts that were rejected.
    RejectedNorm,
    /// P_12 of a bond, from outputs.
    Transmitted(usize),
    /// δP of a bond with the inputs of the last communication point, whatever was held.
    LastResidual(usize),
    /// The error of a bond with respect to its tolerance.
    BondError(usize),
    /// The estimated error of an output.
    OutputError(usize),
    /// What the n-th corrected bond has.
    Correction(usize, Corrected),
}

/// What is known of a corrected bond.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Corrected {
    Force,
    Zeta,
    Uncorrected,
    Mu,
    Capped,
}

impl Detail {
    fn of(self, step: &StepView<'_>, report: &StepReport<'_>, rejected_norm: f64) -> f64 {
        let Details { bond_errors, output_errors, corrections } = report.details;
        match self {
            Detail::RejectedNorm => rejected_norm,
            Detail::Transmitted(bond) => step.flows[bond].transmitted_power,
            Detail::LastResidual(bond) => {
                let ports = &step.bonds.ports[step.bonds.bonds[bond].clone()];
                let terms = ports.iter().flat_map(|port| &step.bonds.terms[port.terms.clone()]);
                -terms.map(|t| t.factor * step.wiring.row(t.u, step.y_prev) * step.y_step[t.y]).sum::<f64>()
            }
            Detail::BondError(bond) => bond_errors.get(bond).copied().unwrap_or(f64::NAN),
            Detail::OutputError(output) => output_errors.get(output).copied().unwrap_or(f64::NAN),
            Detail::Correction(n, what) => corrections.get(n).map_or(f64::NAN, |(_, state)| match what {
                Corrected::Force => state.force,
                Corrected::Zeta => state.zeta,
                Corrected::Uncorrected => state.uncorrected,
                Corrected::Mu => state.mu,
                Corrected::Capped => f64::from(u8::from(state.capped)),
            }),
        }
    }
}

/// The columns on request, with their names and units.
fn details(assembled: &Assembled) -> Vec<(Detail, Field)> {
    let (engine, names) = (&assembled.engine, &assembled.names);
    let mut list = vec![(Detail::RejectedNorm, Field::new("rejected_norm", "1"))];
    let told = engine.told();
    for (k, bond) in names.bonds.iter().enumerate() {
        let unit = if engine.network().bonds.pseudo[k] { "" } else { "W" };
        list.push((Detail::Transmitted(k), Field::new(format!("{bond}.P12"), unit)));
        list.push((Detail::LastResidual(k), Field::new(format!("{bond}.dP_last"), unit)));
        if told.bonds {
            list.push((Detail::BondError(k), Field::new(format!("{bond}.error"), "1")));
        }
    }
    for (n, (bond, _)) in engine.corrections().into_iter().enumerate() {
        let bond = &names.bonds[bond];
        for (what, name, unit) in [
            (Corrected::Force, "f_corr", ""),
            (Corrected::Zeta, "zeta", "J"),
            (Corrected::Uncorrected, "U", "J"),
            (Corrected::Mu, "mu", "1"),
            (Corrected::Capped, "capped", "1"),
        ] {
            list.push((Detail::Correction(n, what), Field::new(format!("{bond}.{name}"), unit)));
        }
    }
    if told.outputs {
        for (o, name) in names.outputs.iter().enumerate() {
            let unit = assembled.unit(Column::Output(o));
            list.push((Detail::OutputError(o), Field::new(format!("error.{name}"), unit)));
        }
    }
    list
}

/// The table of recorded variables.
pub const RESULTS: &str = "results";
/// The table of powers, residuals, step sizes and error norms.
pub const ENERGY: &str = "energy";
/// The table of input jumps at communication points.
pub const JUMPS: &str = "jumps";
/// All tables of a run.
pub const TABLES: [&str; 3] = [RESULTS, ENERGY, JUMPS];

/// Where the tables of a run go.
#[derive(Clone, Debug)]
pub struct Places {
    /// Of all tables.
    pub format: Format,
    /// The run folder.
    pub folder: PathBuf,
    /// The file of recorded variables, if it is not in the folder under its usual name.
    pub results: Option<PathBuf>,
}

impl Places {
    /// The file of a table.
    pub fn file(&self, table: &str) -> PathBuf {
        match &self.results {
            Some(file) if table == RESULTS => file.clone(),
            _ => self.folder.join(self.format.file(table)),
        }
    }
}

/// Where rows go.
#[derive(Default)]
pub struct Sinks<'a> {
    /// Files, and what is said in all of them.
    pub files: Option<(&'a Places, &'a Metadata)>,
    /// Tables are kept in memory.
    pub memory: bool,
    /// Sees every row of results: time, then the recorded variables.
    pub rows: Option<Row>,
    /// A row of the grid at the end of a step waits until the next one: something may be set there.
    pub waits: bool,
    /// Keeps rows of files that are not there yet.
    pub backups: Option<&'a dyn Backups>,
}

/// Sees a row of results: time, then the recorded variables in their order; says whether to go on.
pub type Row = Box<dyn FnMut(&[f64]) -> Flow + Send>;

/// The tables of a run in memory.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// Recorded variables. At a discontinuity there are two rows of one time; on a grid there is one.
    pub results: Table,
    /// Powers, residuals, step sizes and error norms.
    pub energy: Table,
    /// Prediction defects of coupled inputs, if they are recorded.
    pub jumps: Option<Table>,
}

/// A table while it is filled.
struct Rows {
    row: Vec<f64>,
    /// Columns of integers, which are in a row by their bits.
    integers: Vec<(usize, FieldKind)>,
    file: Option<Writer>,
    memory: Option<Table>,
    seen_by: Option<Row>,
    stopped: bool,
    /// Rows so far.
    count: u64,
}

impl Rows {
    #[inline]
    fn field(&mut self, value: f64) {
        self.row.push(value);
    }

    fn end_row(&mut self) -> Result<(), Error> {
        let done = self.file.as_mut().map_or(Ok(()), |file| file.row(self.row.iter().copied()));
        for &(column, kind) in &self.integers {
            self.row[column] = kind.integer(self.row[column]).map_or(f64::NAN, |whole| whole as f64);
        }
        if let Some(table) = &mut self.memory {
            table.columns.iter_mut().zip(&self.row).for_each(|(column, &x)| column.push(x));
        }
        if let Some(seen_by) = &mut self.seen_by {
            self.stopped |= seen_by(&self.row) == Flow::Stop;
        }
        self.row.clear();
        self.count += 1;
        done
    }

    /// What it takes so far, on disk or in memory.
    fn bytes(&self) -> u64 {
        let number = size_of::<f64>() as u64;
        let memory = self.memory.as_ref().map_or(0, |table| self.count * table.columns.len() as u64 * number);
        self.file.as_ref().map_or(0, Writer::bytes).max(memory)
    }
}

/// How far a recorder has come: what it takes to go on from there.
#[derive(Clone, Debug)]
pub struct Mark {
    rows: [usize; 3],
    next: u64,
    awaited: Option<f64>,
    previous: (f64, Vec<f64>),
    sums: [Vec<f64>; 4],
    counts: [u32; 2],
    rejected_norm: f64,
}

impl Recorder {
    /// Creates the tables, with what is wanted beyond the usual ones.
    pub fn create(
        sinks: Sinks<'_>,
        assembled: &Assembled,
        interval: Option<f64>,
        wanted: &Record,
    ) -> Result<Self, Error> {
        let create = |table: &str, fields: &[Field], seen_by: Option<Row>| {
            let file = |(places, about): (&Places, &Metadata)| {
                Writer::create(&places.file(table), places.format, fields, about, sinks.backups)
            };
            Ok::<_, Error>(Rows {
                row: Vec::with_capacity(fields.len()),
                integers: integers(fields),
                file: sinks.files.map(file).transpose()?,
                memory: sinks.memory.then(|| Table::of(fields)),
                seen_by,
                stopped: false,
                count: 0,
            })
        };
        let results = create(RESULTS, &results_fields(assembled), sinks.rows)?;
        let bonds = &assembled.engine.network().bonds;
        let powers = bonds.ports.iter().enumerate().filter(|(p, _)| bonds.is_power(*p));
        let owners: BTreeSet<usize> = powers.map(|(_, port)| port.subsystem).collect();
        let owners: Vec<usize> = owners.into_iter().collect();
        let place = |(p, port): (usize, &Port)| {
            owners.binary_search(&port.subsystem).ok().filter(|_| bonds.is_power(p))
        };
        let net_of = bonds.ports.iter().enumerate().map(place).collect();
        let is_power = bonds.pseudo.iter().map(|pseudo| !pseudo).collect();
        let mut energy_columns = energy_fields(assembled, &owners);
        let details = wanted.details.then(|| details(assembled));
        let details = details.map(|list| {
            let (details, fields): (Vec<Detail>, Vec<Field>) = list.into_iter().unzip();
            energy_columns.extend(fields);
            details
        });
        let energy = create(ENERGY, &energy_columns, None)?;
        let inputs = wanted.jumps.then(|| jumping(assembled));
        let fields = |inputs: &Vec<usize>| {
            let one = |&i: &usize| {
                Field::new(assembled.names.inputs[i].to_string(), assembled.unit(Column::Input(i)))
            };
            std::iter::once(Field::new("time", "s")).chain(inputs.iter().map(one)).collect::<Vec<_>>()
        };
        let jumps =
            inputs.map(|list| Ok::<_, Error>((create(JUMPS, &fields(&list), None)?, list))).transpose()?;
        let tables = [&results, &energy].into_iter().chain(jumps.as_ref().map(|(rows, _)| rows));
        let writers: Vec<&Writer> = tables.filter_map(|rows| rows.file.as_ref()).collect();
        let begin = |(places, _): (&Places, &Metadata)| {
            Flusher::begin(writers).map_err(|e| Error::output(&places.folder, &e))
        };
        let flusher = sinks.files.map(begin).transpose()?;
        let (n, bonds) = (assembled.columns.len(), assembled.names.bonds.len());
        Ok(Recorder {
            columns: assembled.columns.iter().map(|(_, c)| *c).collect(),
            wide: wide(assembled),
            _flusher: flusher,
            results,
            energy,
            jumps,
            interval,
            start: assembled.start,
            next: 0,
            awaited: None,
            waits: sinks.waits,
            previous: vec![0.0; n],
            current: vec![0.0; n],
            previous_t: assembled.start,
            held: assembled.columns.iter().map(|(_, c)| assembled.is_held(*c)).collect(),
            pending: vec![0.0; bonds],
            residual_sum: vec![0.0; bonds],
            transmitted: vec![0.0; bonds],
            net: vec![0.0; owners.len()],
            net_of,
            is_power,
            orders: orders(assembled),
            sub_stepped: sub_stepped(assembled).map(|(_, own)| own.clone()).collect(),
            loop_evaluations: assembled.engine.solved_loops().next().map(|_| 0),
            has_ceiling: assembled.engine.ceiling().is_some(),
            gives_back: gives_back(assembled),
            rejected: 0,
            over_tolerance: 0,
            rejected_norm: f64::NAN,
            details,
            failure: None,
        })
    }

    fn tables(&mut self) -> impl Iterator<Item = &mut Rows> {
        let jumps = self.jumps.as_mut().map(|(rows, _)| rows);
        [&mut self.results, &mut self.energy].into_iter().chain(jumps)
    }

    /// Whether rows go to files, from which none can be taken away.
    pub fn writes_files(&self) -> bool {
        self.results.file.is_some()
    }

    /// Rows of results, and bytes of all tables so far.
    pub fn size(&self) -> (u64, u64) {
        let jumps = self.jumps.as_ref().map(|(rows, _)| rows);
        (self.results.count, [&self.results, &self.energy].into_iter().chain(jumps).map(Rows::bytes).sum())
    }

    /// The tables in memory so far; empty where none are kept.
    pub fn in_memory(&self) -> Tables {
        let table = |rows: &Rows| rows.memory.clone().unwrap_or_default();
        Tables {
            results: table(&self.results),
            energy: table(&self.energy),
            jumps: self.jumps.as_ref().map(|(rows, _)| table(rows)),
        }
    }

    /// The tables in memory, which it forgets.
    pub fn take(&mut self) -> Tables {
        let mut take = self.tables().map(|rows| rows.memory.take().unwrap_or_default());
        let (results, energy) = (take.next().unwrap_or_default(), take.next().unwrap_or_default());
        let jumps = take.next();
        drop(take);
        Tables { results, energy, jumps }
    }

    /// Where it is now.
    pub fn mark(&mut self) -> Mark {
        let mut rows = [0; 3];
        let tables = self.tables().map(|rows| rows.memory.as_ref().map_or(0, Table::rows));
        rows.iter_mut().zip(tables).for_each(|(n, rows)| *n = rows);
        Mark {
            rows,
            next: self.next,
            awaited: self.awaited,
            previous: (self.previous_t, self.previous.clone()),
            sums: [&self.pending, &self.residual_sum, &self.transmitted, &self.net].map(Vec::clone),
            counts: [self.rejected, self.over_tolerance],
            rejected_norm: self.rejected_norm,
        }
    }

    /// Goes back to a mark: later rows in memory are dropped.
    pub fn go_back(&mut self, mark: &Mark) {
        for (rows, n) in self.tables().zip(mark.rows) {
            if let Some(table) = &mut rows.memory {
                table.columns.iter_mut().for_each(|column| column.truncate(n));
            }
        }
        (self.next, self.awaited) = (mark.next, mark.awaited);
        self.previous_t = mark.previous.0;
        self.previous.clone_from(&mark.previous.1);
        let sums = [&mut self.pending, &mut self.residual_sum, &mut self.transmitted, &mut self.net];
        sums.into_iter().zip(&mark.sums).for_each(|(sum, saved)| sum.clone_from(saved));
        [self.rejected, self.over_tolerance] = mark.counts;
        self.rejected_norm = mark.rejected_norm;
    }

    /// Puts everything on disk and ends the tables, all of them whatever happens; the first failure is reported.
    pub fn close(&mut self) -> Result<(), Error> {
        let mut done = self.failure.take().map_or(Ok(()), Err);
        // The run ended before it got to the other side of a discontinuity.
        if let (Ok(()), Some(t)) = (&done, self.awaited.take()) {
            done = write_row(&mut self.results, t, &self.previous);
        }
        for writer in self.tables().filter_map(|rows| rows.file.as_mut()) {
            let closed = writer.close().and_then(|()| writer.sync());
            done = done.and(closed);
        }
        done
    }

    /// After [`Recorder::close`]: makes the files of formats that cannot grow.
    pub fn convert(&mut self) -> Result<(), Error> {
        self.tables().filter_map(|rows| rows.file.as_ref()).try_for_each(Writer::convert)
    }

    fn gather(&mut self, inputs: &[f64], outputs: &[f64], probes: &[f64]) {
        let at = |column: Column| match column {
            Column::Input(i) => inputs[i],
            Column::Output(i) => outputs[i],
            Column::Probe(i) => probes[i],
        };
        for (value, column) in self.current.iter_mut().zip(&self.columns) {
            *value = at(*column);
        }
        for &(k, rest, kind) in &self.wide {
            let rest = rest.map_or(0, |rest| at(rest) as i128);
            self.current[k] = kind.value(self.current[k].round() as i128 + rest);
        }
    }

    /// Writes the rows that are due at the end of a step, and says whether there were any. What holds at a grid point at `t`
    /// may be known only after an `event`.
    fn write_results(&mut self, t: f64, event_follows: bool) -> Result<bool, Error> {
        if let Some(t) = self.awaited.take() {
            // Nothing was set: what was there before the step is what holds.
            write_row(&mut self.results, t, &self.previous)?;
        }
        let Some(interval) = self.interval else {
            write_row(&mut self.results, t, &self.current)?;
            return Ok(true);
        };
        let mut wrote = false;
        loop {
            let due = self.start + self.next as f64 * interval;
            // A grid point that differs from t by round-off is t.
            let near = (due - t).abs() <= 1e-9 * interval;
            if due > t && !near {
                break;
            }
            self.next += 1;
            wrote = true;
            if near && (event_follows || self.waits) {
                self.awaited = Some(t);
            } else if near || t == self.previous_t {
                write_row(&mut self.results, if near { t } else { due }, &self.current)?;
            } else {
                let weight = (due - self.previous_t) / (t - self.previous_t);
                self.results.field(due);
                for ((&a, &b), &held) in self.previous.iter().zip(&self.current).zip(&self.held) {
                    self.results.field(match held {
                        _ if weight == 1.0 => b,
                        true => a,
                        false => a + weight * (b - a),
                    });
                }
                self.results.end_row()?;
            }
        }
        Ok(wrote)
    }

    /// Writes the limits from the right where they belong: beside those from the left if they differ, or on the grid.
    fn write_event(&mut self, t: f64) -> Result<(), Error> {
        let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
        let row = match self.interval {
            None => (!self.previous.iter().zip(&self.current).all(same)).then_some(t),
            Some(_) => self.awaited.take(),
        };
        row.map_or(Ok(()), |t| write_row(&mut self.results, t, &self.current))
    }

    fn write_energy(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Result<(), Error> {
        self.energy.field(step.span.end);
        self.energy.field(step.span.h);
        report.estimates.iter().for_each(|e| self.energy.field(e.norm));
        self.energy.field(f64::from(std::mem::take(&mut self.rejected)));
        self.energy.field(f64::from(std::mem::take(&mut self.over_tolerance)));
        if let Some(coupled) = &self.orders {
            let place = report.limited_by.and_then(|i| coupled.binary_search(&i).ok());
            self.energy.field(place.map_or(0.0, |k| (k + 1) as f64));
            let order = |i: usize| step.defects.map_or(f64::NAN, |defects| f64::from(defects.order[i]));
            coupled.iter().take(MOST_ORDERS).for_each(|&i| self.energy.field(order(i)));
            if self.has_ceiling {
                self.energy.field(f64::from(u8::from(report.at_ceiling)));
            }
            if self.gives_back {
                let given = |i: usize| step.corrected_end[i] - step.held_end[i];
                coupled.iter().take(MOST_ORDERS).for_each(|&i| self.energy.field(given(i)));
            }
        }
        self.sub_stepped.iter().for_each(|own| self.energy.field(f64::from(own.parts())));
        if let Some(before) = &mut self.loop_evaluations {
            let now = report.loop_evaluations;
            self.energy.field(now.saturating_sub(std::mem::replace(before, now)) as f64);
        }
        for (k, (flow, ports)) in step.flows.iter().zip(&step.bonds.bonds).enumerate() {
            step.ports[ports.clone()].iter().for_each(|p| self.energy.field(p.power));
            let values = [flow.residual_power, self.pending[k], self.residual_sum[k], self.transmitted[k]];
            values.iter().for_each(|&v| self.energy.field(v));
            self.pending[k] = 0.0;
        }
        self.net.iter().for_each(|&sum| self.energy.field(sum));
        if !step.flows.is_empty() {
            let powers = self.residual_sum.iter().zip(&self.is_power).filter(|(_, is_power)| **is_power);
            self.energy.field(powers.map(|(sum, _)| sum).sum());
        }
        if let Some(details) = &self.details {
            let rejected_norm = std::mem::replace(&mut self.rejected_norm, f64::NAN);
            details.iter().for_each(|detail| self.energy.field(detail.of(step, report, rejected_norm)));
        }
        self.energy.end_row()
    }

    fn write_jumps(&mut self, step: &StepView<'_>) -> Result<(), Error> {
        let Some((file, inputs)) = &mut self.jumps else { return Ok(()) };
        file.field(step.span.end);
        inputs.iter().for_each(|&i| file.field(step.fresh[i] - step.corrected_end[i]));
        file.end_row()
    }

    fn note(&mut self, result: Result<(), Error>) -> Flow {
        match result {
            Ok(()) if self.results.stopped => Flow::Stop,
            Ok(()) => Flow::Continue,
            Err(error) => {
                self.failure.get_or_insert(error);
                Flow::Stop
            }
        }
    }
}

fn write_row(file: &mut Rows, t: f64, values: &[f64]) -> Result<(), Error> {
    file.field(t);
    values.iter().for_each(|&v| file.field(v));
    file.end_row()
}

/// Names of estimators, numbered where one is used twice.
pub fn numbered(estimators: &[&str]) -> Vec<String> {
    let before = |i: usize| estimators[..i].iter().filter(|n| **n == estimators[i]).count();
    let one = |(i, name): (usize, &&str)| match before(i) {
        0 => (*name).to_owned(),
        n => format!("{name}{}", n + 1),
    };
    estimators.iter().enumerate().map(one).collect()
}

/// Columns of the table of results.
pub fn results_fields(assembled: &Assembled) -> Vec<Field> {
    let one = |(name, column): &(VariableName, Column)| {
        Field::new(name.to_string(), assembled.unit(*column)).of_kind(assembled.field_kind(*column))
    };
    std::iter::once(Field::new("time", "s")).chain(assembled.columns.iter().map(one)).collect()
}

/// Columns of integers, with what they are.
fn integers(fields: &[Field]) -> Vec<(usize, FieldKind)> {
    let kinds = fields.iter().map(|field| field.kind).enumerate();
    kinds.filter(|(_, kind)| *kind != FieldKind::Real).collect()
}

/// Recorded integers of 64 bits, with their rests and what they are.
fn wide(assembled: &Assembled) -> Vec<(usize, Option<Column>, FieldKind)> {
    let columns = assembled.columns.iter().zip(&assembled.rests).enumerate();
    let kinds = columns.map(|(k, ((_, column), rest))| (k, *rest, assembled.field_kind(*column)));
    kinds.filter(|(_, _, kind)| *kind != FieldKind::Real).collect()
}

/// Columns of the table of energies; `owners` are the subsystems with ports.
fn energy_fields(assembled: &Assembled, owners: &[usize]) -> Vec<Field> {
    let mut fields = vec![Field::new("time", "s"), Field::new("step_size", "s")];
    let errors = numbered(&assembled.estimators).into_iter().map(|name| format!("error.{name}"));
    fields.extend(errors.map(|name| Field::new(name, "1")));
    fields.extend(["rejected", "over_tolerance"].map(|name| Field::new(name, "1")));
    if let Some(coupled) = orders(assembled) {
        fields.push(Field::new("limited_by", "1"));
        let order = |&i: &usize| Field::new(format!("order.{}", assembled.names.inputs[i]), "1");
        fields.extend(coupled.iter().take(MOST_ORDERS).map(order));
        if assembled.engine.ceiling().is_some() {
            fields.push(Field::new("ceiling", "1"));
        }
        if gives_back(assembled) {
            let given = |&i: &usize| {
                Field::new(
                    format!("given_back.{}", assembled.names.inputs[i]),
                    assembled.unit(Column::Input(i)),
                )
            };
            fields.extend(coupled.iter().take(MOST_ORDERS).map(given));
        }
    }
    let sub_steps = |(name, _): (&String, _)| Field::new(format!("sub_steps.{name}"), "1");
    fields.extend(sub_stepped(assembled).map(sub_steps));
    if assembled.engine.solved_loops().next().is_some() {
        fields.push(Field::new("loops", "1"));
    }
    let pseudo = &assembled.engine.network().bonds.pseudo;
    for ((bond, ports), &pseudo) in assembled.names.bonds.iter().zip(&assembled.ports).zip(pseudo) {
        let (watt, joule) = if pseudo { ("", "") } else { ("W", "J") };
        fields.extend(ports.iter().map(|p| Field::new(format!("{bond}.P.{p}"), watt)));
        fields.push(Field::new(format!("{bond}.dP"), watt));
        fields.extend(["dE", "dE_sum", "E"].map(|c| Field::new(format!("{bond}.{c}"), joule)));
    }
    let subsystems = &assembled.names.subsystems;
    fields.extend(owners.iter().map(|&s| Field::new(format!("{}.E_net", subsystems[s]), "J")));
    if !assembled.names.bonds.is_empty() {
        fields.push(Field::new("system.dE_sum", "J"));
    }
    fields
}

/// Orders of more inputs, and sub-steps of more subsystems than this are not written.
const MOST_ORDERS: usize = 64;

/// Subsystems that are sub-stepped as a tolerance asks for it, the first ones.
fn sub_stepped(assembled: &Assembled) -> impl Iterator<Item = (&String, &OwnSteps)> {
    let all = assembled.names.subsystems.iter().zip(&assembled.own);
    let governed = all.filter_map(|(name, own)| Some((name, own.as_ref().filter(|own| own.is_governed())?)));
    governed.take(MOST_ORDERS)
}

/// Whether what held inputs lacked is given back.
fn gives_back(assembled: &Assembled) -> bool {
    !assembled.engine.shares_of_correction().is_empty()
}

/// Coupled inputs, where orders vary or inputs limit the step: the n-th one is number n in the column `limited_by`.
fn orders(assembled: &Assembled) -> Option<Vec<usize>> {
    let engine = &assembled.engine;
    let limits = engine.driving().is_some_and(|e| !e.diagnostics().limited.is_empty());
    let network = engine.network();
    let coupled = (0..network.n_inputs).filter(|&i| network.wiring.is_coupled(i));
    (limits || !engine.order_counts().is_empty()).then(|| coupled.collect())
}

/// Inputs that jump: those that outputs feed.
fn jumping(assembled: &Assembled) -> Vec<usize> {
    let network = assembled.engine.network();
    let jumps = |i: &usize| network.wiring.is_coupled(*i) && network.external_of_input[*i].is_none();
    (0..network.n_inputs).filter(jumps).collect()
}

impl Observer for Recorder {
    fn started(&mut self, start: &StartView<'_>) -> Flow {
        self.gather(start.inputs, start.outputs, start.probes);
        let result = self.write_results(start.t, false).map(|_| ());
        self.previous.copy_from_slice(&self.current);
        self.note(result)
    }

    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        self.rejected = self.rejected.saturating_add(report.rejections);
        self.rejected_norm = self.rejected_norm.max(report.rejected_norm);
        self.over_tolerance = self.over_tolerance.saturating_add(u32::from(report.over_tolerance));
        for (k, flow) in step.flows.iter().enumerate() {
            self.pending[k] += flow.residual_energy;
            self.residual_sum[k] += flow.residual_energy;
            self.transmitted[k] += flow.transmitted_energy;
        }
        for (place, flow) in self.net_of.iter().zip(step.ports) {
            if let Some(place) = *place {
                self.net[place] -= flow.energy;
            }
        }
        self.gather(step.fresh, step.y_fresh, report.probes);
        let result =
            self.write_jumps(step).and_then(|()| self.write_results(step.span.end, report.event_follows));
        std::mem::swap(&mut self.previous, &mut self.current);
        self.previous_t = step.span.end;
        let result = match result {
            Ok(true) => self.write_energy(step, report),
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        self.note(result)
    }

    fn event(&mut self, event: &EventView<'_>) -> Flow {
        self.gather(event.inputs, event.outputs, event.probes);
        let result = self.write_event(event.t);
        std::mem::swap(&mut self.previous, &mut self.current);
        self.previous_t = event.t;
        self.note(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::System;
    use crate::observe::script::{Point, Point::*, play};

    /// Two gains in a circle; the input and the output of one are recorded.
    const SYSTEM: &str = r#"
        simulation = { stop = 1, step = 0.1 }
        record = { variables = ["a.*"], exclude = "a.x" }
        connections = [{ from = "a.y", to = "b.u" }, { from = "b.y", to = "a.u" }]
        [subsystems]
        a = { model = "algebraic/gain", parameters = { gain = 0.5 } }
        b = { model = "algebraic/gain", parameters = { gain = 0 } }
    "#;

    /// The input and the output of every point are `value` and `-value`; rows are `(time, value)`.
    #[track_caller]
    fn check(interval: Option<f64>, points: &[(Point, f64, f64)], rows: &[(f64, f64)], energy: &[f64]) {
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("powerbond-recorder-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let assembled = System::parse("gain", SYSTEM).unwrap().assemble().unwrap();
        let places = Places { format: Format::Csv, folder: folder.clone(), results: None };
        let sinks = Sinks { files: Some((&places, &Vec::new())), memory: true, ..Sinks::default() };
        let wanted = Record { jumps: true, ..Record::default() };
        let mut recorder = Recorder::create(sinks, &assembled, interval, &wanted).unwrap();
        play(&mut recorder, points.iter().map(|&(point, t, x)| (point, t, vec![x, 0.0], vec![-x, 0.0])));
        recorder.close().unwrap();
        let [found, steps, jumps] = TABLES.map(|table| crate::table::read(&places.file(table)).unwrap());
        std::fs::remove_dir_all(&folder).unwrap();
        let column = |k: usize| found.columns[k].clone();
        let wanted = |part: fn(&(f64, f64)) -> f64| rows.iter().map(part).collect::<Vec<f64>>();
        let input = found.header.iter().position(|name| name == "a.u").unwrap();
        assert_eq!((column(0), column(input)), (wanted(|r| r.0), wanted(|r| r.1)));
        assert_eq!(column(3 - input), wanted(|r| -r.1));
        assert_eq!(steps.columns[0], energy);
        let ends = points.iter().filter(|p| matches!(p.0, Step | Left)).map(|p| p.1);
        assert_eq!(jumps.columns[0], ends.collect::<Vec<_>>(), "one row of jumps per step");
    }

    #[test]
    fn a_discontinuity_has_two_rows_of_one_time() {
        check(
            None,
            &[(Start, 0.0, 1.0), (Step, 0.25, 2.0), (Left, 0.5, 3.0), (Right, 0.5, -7.0), (Step, 1.0, -8.0)],
            &[(0.0, 1.0), (0.25, 2.0), (0.5, 3.0), (0.5, -7.0), (1.0, -8.0)],
            &[0.25, 0.5, 1.0],
        );
    }

    #[test]
    fn where_nothing_recorded_jumps_there_is_one_row() {
        check(
            None,
            &[(Start, 0.0, 1.0), (Left, 0.5, 3.0), (Right, 0.5, 3.0), (Left, 1.0, 0.0), (Right, 1.0, -0.0)],
            &[(0.0, 1.0), (0.5, 3.0), (1.0, 0.0), (1.0, -0.0)],
            &[0.5, 1.0],
        );
    }

    /// From 2 at 0.2 to 5 at 0.5, then to 20, and on to 30 at 1.
    const RISE: &[(Point, f64, f64)] =
        &[(Start, 0.0, 0.0), (Step, 0.25, 2.5), (Left, 0.5, 5.0), (Right, 0.5, 20.0), (Step, 1.0, 30.0)];

    #[test]
    fn a_grid_has_the_right_value_at_a_discontinuity_and_lines_up_to_it_and_from_it() {
        let rows = [(0.0, 0.0), (0.125, 1.25), (0.25, 2.5), (0.375, 3.75), (0.5, 20.0), (0.625, 22.5)];
        let later = [(0.75, 25.0), (0.875, 27.5), (1.0, 30.0)];
        check(Some(0.125), RISE, &[&rows[..], &later].concat(), &[0.25, 0.5, 1.0]);
    }

    #[test]
    fn a_discontinuity_between_grid_points_leaves_no_row_and_bends_no_line() {
        let points = [(Start, 0.0, 0.0), (Left, 0.5, 5.0), (Right, 0.5, 20.0), (Step, 1.0, 30.0)];
        check(Some(0.375), &points, &[(0.0, 0.0), (0.375, 3.75), (0.75, 25.0)], &[0.5, 1.0]);
    }

    #[test]
    fn the_last_point_is_the_right_one_or_what_there_is_if_the_run_ended_before() {
        let points = [(Start, 0.0, 0.0), (Left, 1.0, 1.0), (Right, 1.0, 9.0)];
        check(None, &points, &[(0.0, 0.0), (1.0, 1.0), (1.0, 9.0)], &[1.0]);
        check(Some(1.0), &points, &[(0.0, 0.0), (1.0, 9.0)], &[1.0]);
        check(Some(1.0), &points[..2], &[(0.0, 0.0), (1.0, 1.0)], &[1.0]);
    }
}
