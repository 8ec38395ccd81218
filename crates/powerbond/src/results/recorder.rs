//! Writes `results.csv`, `energy.csv` and, on request, `jumps.csv` while a run goes on.

use super::csv::Writer;
use crate::Error;
use crate::prepare::{Column, Prepared};
use powerbond_core::observer::{Flow, Observer, StartView, StepReport};
use powerbond_core::view::StepView;
use std::collections::BTreeSet;
use std::path::Path;

/// An observer that writes rows. Recording changes no step: between steps, rows are interpolated linearly.
pub struct Recorder {
    columns: Vec<Column>,
    results: Writer,
    energy: Writer,
    /// The file of jumps and the inputs in it.
    jumps: Option<(Writer, Vec<usize>)>,
    /// Output on multiples of this after the start; `None`: every step.
    interval: Option<f64>,
    start: f64,
    next: u64,
    previous: Vec<f64>,
    current: Vec<f64>,
    previous_t: f64,
    /// Residual energy of each bond since the last row, and its sums.
    pending: Vec<f64>,
    residual_sum: Vec<f64>,
    transmitted: Vec<f64>,
    /// Net energy into each subsystem that has ports, and the place in it for each port.
    net: Vec<f64>,
    net_of: Vec<usize>,
    failure: Option<Error>,
}

/// The file of recorded variables.
pub const RESULTS: &str = "results.csv";
/// The file of powers, residuals, step sizes and error norms.
pub const ENERGY: &str = "energy.csv";
/// The file of input jumps at communication points.
pub const JUMPS: &str = "jumps.csv";

impl Recorder {
    /// Creates the files in `folder`; `jumps` asks for the jumps of inputs, too.
    pub fn create(
        folder: &Path,
        prepared: &Prepared,
        interval: Option<f64>,
        jumps: bool,
    ) -> Result<Self, Error> {
        let names = prepared.columns.iter().map(|(name, _)| name.to_string());
        let results = Writer::create(&folder.join(RESULTS), std::iter::once("time".to_owned()).chain(names))?;
        let mut header = vec!["time".to_owned(), "step_size".to_owned()];
        header.extend(numbered(&prepared.estimators).into_iter().map(|name| format!("error.{name}")));
        for (bond, ports) in prepared.names.bonds.iter().zip(&prepared.ports) {
            header.extend(ports.iter().map(|p| format!("{bond}.P.{p}")));
            header.extend(["dP", "dE", "dE_sum", "E"].map(|c| format!("{bond}.{c}")));
        }
        let subsystems = &prepared.names.subsystems;
        let bonds = &prepared.master.network().bonds;
        let owners: BTreeSet<usize> = bonds.ports.iter().map(|p| p.subsystem).collect();
        let owners: Vec<usize> = owners.into_iter().collect();
        header.extend(owners.iter().map(|&s| format!("{}.E_net", subsystems[s])));
        if !bonds.bonds.is_empty() {
            header.push("system.dE_sum".to_owned());
        }
        let net_of = bonds.ports.iter().filter_map(|p| owners.binary_search(&p.subsystem).ok()).collect();
        let energy = Writer::create(&folder.join(ENERGY), header)?;
        let jumps = jumps.then(|| jump_file(folder, prepared)).transpose()?;
        let (n, bonds) = (prepared.columns.len(), prepared.names.bonds.len());
        Ok(Recorder {
            columns: prepared.columns.iter().map(|(_, c)| *c).collect(),
            results,
            energy,
            jumps,
            interval,
            start: prepared.start,
            next: 0,
            previous: vec![0.0; n],
            current: vec![0.0; n],
            previous_t: prepared.start,
            pending: vec![0.0; bonds],
            residual_sum: vec![0.0; bonds],
            transmitted: vec![0.0; bonds],
            net: vec![0.0; owners.len()],
            net_of,
            failure: None,
        })
    }

    /// Puts everything on disk; the first failure of any row is reported here.
    pub fn close(mut self) -> Result<(), Error> {
        match self.failure.take() {
            Some(error) => Err(error),
            None => {
                self.results.flush()?;
                self.energy.flush()?;
                self.jumps.as_mut().map_or(Ok(()), |(file, _)| file.flush())
            }
        }
    }

    fn gather(&mut self, inputs: &[f64], outputs: &[f64], probes: &[f64]) {
        for (value, column) in self.current.iter_mut().zip(&self.columns) {
            *value = match *column {
                Column::Input(i) => inputs[i],
                Column::Output(i) => outputs[i],
                Column::Probe(i) => probes[i],
            };
        }
    }

    fn write_results(&mut self, t: f64) -> Result<bool, Error> {
        let Some(interval) = self.interval else {
            self.results.field(t, true);
            self.current.iter().for_each(|&v| self.results.field(v, false));
            self.results.end_row()?;
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
            let weight = if near || t == self.previous_t {
                1.0
            } else {
                (due - self.previous_t) / (t - self.previous_t)
            };
            self.results.field(if near { t } else { due }, true);
            for (&a, &b) in self.previous.iter().zip(&self.current) {
                self.results.field(if weight == 1.0 { b } else { a + weight * (b - a) }, false);
            }
            self.results.end_row()?;
            self.next += 1;
            wrote = true;
        }
        Ok(wrote)
    }

    fn write_energy(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Result<(), Error> {
        self.energy.field(step.span.end, true);
        self.energy.field(step.span.h, false);
        report.estimates.iter().for_each(|e| self.energy.field(e.norm, false));
        for (k, (flow, ports)) in step.flows.iter().zip(&step.bonds.bonds).enumerate() {
            step.ports[ports.clone()].iter().for_each(|p| self.energy.field(p.power, false));
            let values = [flow.residual_power, self.pending[k], self.residual_sum[k], self.transmitted[k]];
            values.iter().for_each(|&v| self.energy.field(v, false));
            self.pending[k] = 0.0;
        }
        self.net.iter().for_each(|&sum| self.energy.field(sum, false));
        if !step.flows.is_empty() {
            self.energy.field(self.residual_sum.iter().sum(), false);
        }
        self.energy.end_row()
    }

    fn write_jumps(&mut self, step: &StepView<'_>) -> Result<(), Error> {
        let Some((file, inputs)) = &mut self.jumps else { return Ok(()) };
        file.field(step.span.end, true);
        inputs.iter().for_each(|&i| file.field(step.fresh[i] - step.corrected_end[i], false));
        file.end_row()
    }

    fn note(&mut self, result: Result<(), Error>) -> Flow {
        match result {
            Ok(()) => Flow::Continue,
            Err(error) => {
                self.failure = Some(error);
                Flow::Stop
            }
        }
    }
}

/// Names of estimators, numbered where one is used twice.
pub(super) fn numbered(estimators: &[&str]) -> Vec<String> {
    let before = |i: usize| estimators[..i].iter().filter(|n| **n == estimators[i]).count();
    let one = |(i, name): (usize, &&str)| match before(i) {
        0 => (*name).to_owned(),
        n => format!("{name}{}", n + 1),
    };
    estimators.iter().enumerate().map(one).collect()
}

/// `jumps.csv` and the inputs in it: those that outputs feed.
fn jump_file(folder: &Path, prepared: &Prepared) -> Result<(Writer, Vec<usize>), Error> {
    let network = prepared.master.network();
    let external = |i: usize| network.externals.iter().any(|e| e.input == i);
    let inputs: Vec<usize> =
        (0..network.n_inputs).filter(|&i| network.wiring.is_coupled(i) && !external(i)).collect();
    let names = inputs.iter().map(|&i| prepared.names.inputs[i].to_string());
    let file = Writer::create(&folder.join(JUMPS), std::iter::once("time".to_owned()).chain(names))?;
    Ok((file, inputs))
}

impl Observer for Recorder {
    fn started(&mut self, start: &StartView<'_>) -> Flow {
        self.gather(start.inputs, start.outputs, start.probes);
        let result = self.write_results(start.t).map(|_| ());
        self.previous.copy_from_slice(&self.current);
        self.note(result)
    }

    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        for (k, flow) in step.flows.iter().enumerate() {
            self.pending[k] += flow.residual_energy;
            self.residual_sum[k] += flow.residual_energy;
            self.transmitted[k] += flow.transmitted_power * step.span.h;
        }
        for (&place, flow) in self.net_of.iter().zip(step.ports) {
            self.net[place] -= flow.energy;
        }
        self.gather(step.fresh, step.y_fresh, report.probes);
        let result = self.write_jumps(step).and_then(|()| self.write_results(step.span.end));
        std::mem::swap(&mut self.previous, &mut self.current);
        self.previous_t = step.span.end;
        let result = match result {
            Ok(true) => self.write_energy(step, report),
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        self.note(result)
    }
}
