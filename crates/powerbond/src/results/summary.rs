//! `summary.json`: what a run came to.

use super::choices::{Choices, choices};
use super::verdict::{InputSummary, VerdictSummary, exceeded, inputs, limits, unchecked, verdict};
use super::verification::Verification;
use crate::assemble::{Assembled, engine_warnings};
use crate::check;
use crate::error::Failure;
use crate::observe::{JUMPS, Places, RESULTS, RealTime, TABLES, numbered, results_fields};
use crate::system::{SimulatorSpec, Site, System};
use crate::table::{Field, Metadata, find};
use powerbond_core::correction::CorrectionReport;
use powerbond_core::energy::Spike;
use powerbond_core::observe::NormStatistics;
use powerbond_core::step::LoopStatistics;
use powerbond_core::time::EndRule;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The file of what FMUs said, if they said anything: `log.txt`.
pub const LOG: (&str, &str) = ("log", "txt");

/// The file of the summary.
pub const SUMMARY: &str = "summary.json";

/// What a run came to.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Version of this schema.
    pub schema: u32,
    /// Name of the system.
    pub system: String,
    /// `finished`, `stopped`, `failed` or, until it has ended, `running`.
    pub outcome: &'static str,
    /// Why it failed.
    pub error: Option<String>,
    /// The same as data: who, when, which call, what status, what to do.
    pub failure: Option<Failure>,
    /// Whether it can be trusted, and why or why not.
    pub verdict: VerdictSummary,
    /// What finer runs say about its error, if it was verified.
    pub verification: Option<Verification>,
    /// Limits of the user that it exceeds: the command ends with 7 if there are any.
    pub exceeded: Vec<String>,
    /// Start, wanted end and reached end, in s.
    pub time: Time,
    /// Counts.
    pub steps: Steps,
    /// Algebraic loops, and what solving them took.
    pub loops: Vec<LoopSummary>,
    /// Outputs that depend on inputs at the same instant, and from where that is known.
    pub feed_through: Vec<check::FeedThroughCheck>,
    /// In s.
    pub step_size: StepSize,
    /// What each estimator said of the accepted steps, side by side.
    pub estimates: Vec<EstimateSummary>,
    /// Energy per bond.
    pub bonds: Vec<BondSummary>,
    /// Energy of all bonds together.
    pub energy: EnergySummary,
    /// Jumps of coupled inputs at communication points.
    pub inputs: Vec<InputSummary>,
    /// What the method chose for subsystems and inputs, and what it found out.
    pub choices: Choices,
    /// Cost per subsystem.
    pub subsystems: Vec<SubsystemSummary>,
    /// Time of the run less that of the subsystems, in s.
    pub engine_seconds: f64,
    /// Time of the run, in s.
    pub seconds: f64,
    /// How a run in real time kept up.
    pub real_time: Option<RealTime>,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// What is good to know, and no reason to doubt the run: units that are missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Those of the warnings that were known before the run.
    #[serde(skip)]
    pub told: Vec<String>,
    /// When the run began: date and time in UTC, as in ISO 8601.
    pub started: String,
    /// The tables: `results`, `energy` and, if asked for, `jumps`, relative to the run folder.
    pub files: Value,
    /// Units of the recorded variables, where they are known.
    pub units: Value,
    /// The configuration that was used, defaults included.
    pub config: Value,
    /// Versions of what made the run.
    pub versions: Value,
    /// SHA-256 of what was read.
    pub hashes: Value,
}

/// Energy of all bonds together.
#[derive(Clone, Debug, Serialize)]
pub struct EnergySummary {
    /// Σ exchanged, in J.
    pub exchanged: f64,
    /// Σ δE, in J; positive was created.
    pub residual: f64,
    /// Σ |δE|, in J.
    pub residual_abs: f64,
    /// `residual / exchanged`.
    pub residual_share: f64,
}

/// Times, in s.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Time {
    pub start: f64,
    pub stop: f64,
    pub reached: f64,
}

/// Counts of steps.
#[derive(Clone, Debug, Serialize)]
pub struct Steps {
    /// Kept.
    pub accepted: u64,
    /// Rejected.
    pub rejected: u64,
    /// Kept with an error norm above 1.
    pub over_tolerance: u64,
    /// Over tolerance at the smallest step size.
    pub at_floor: u64,
    /// Discontinuities that were stepped to or reported.
    pub events: u64,
    /// Cut because a subsystem stopped early.
    pub early_returns: u64,
}

/// An algebraic loop in the run.
#[derive(Clone, Debug, Serialize)]
pub struct LoopSummary {
    /// The inputs in it.
    pub inputs: Vec<String>,
    /// Instants at which it was solved; 0 if it was not.
    pub solved: u64,
    /// Evaluations of all of its subsystems.
    pub evaluations: u64,
    /// The most of them at one instant.
    pub most: u64,
    /// How often ∂r/∂u of the residual r was computed anew.
    pub jacobians: u64,
    /// Instants at which the tolerance was missed, by little.
    pub loose: u64,
}

/// What solving each loop took.
fn loops(assembled: &Assembled) -> Vec<LoopSummary> {
    let names = |inputs: &[usize]| inputs.iter().map(|&i| assembled.names.inputs[i].to_string()).collect();
    let summary = |inputs: &[usize], s: LoopStatistics| LoopSummary {
        inputs: names(inputs),
        solved: s.solved,
        evaluations: s.evaluations,
        most: s.most,
        jacobians: s.jacobians,
        loose: s.loose,
    };
    let solved = assembled.engine.solved_loops().map(|(inputs, statistics)| summary(inputs, *statistics));
    let unsolved = assembled.engine.unsolved_loops().iter();
    solved.chain(unsolved.map(|found| summary(&found.inputs, LoopStatistics::default()))).collect()
}

/// Step sizes, in s.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct StepSize {
    pub min: f64,
    pub median: f64,
    pub mean: f64,
    pub max: f64,
}

/// What an estimator said of the accepted steps. A norm of 1 is at tolerance.
#[derive(Clone, Debug, Serialize)]
pub struct EstimateSummary {
    /// Its name, as in the columns of `energy.csv`.
    pub name: String,
    /// Whether it chooses the step size; the others only watch.
    pub drives: bool,
    /// The median norm.
    pub median: f64,
    /// The largest norm.
    pub max: f64,
    /// When that was, in s.
    pub max_time: f64,
    /// Steps with a norm above 1.
    pub over_tolerance: u64,
}

/// Energy through a bond. A positive residual was created by the coupling.
#[derive(Clone, Debug, Serialize)]
pub struct BondSummary {
    /// Its name.
    pub name: String,
    /// Its products are no powers: W and J stand for their own unit and its integral over time.
    pub pseudo: bool,
    /// Its sides.
    pub ports: Vec<PortSummary>,
    /// Σ P_12·h, from the first port to the others, in J.
    pub transmitted: f64,
    /// Σ ½Σ|P|·h, in J.
    pub exchanged: f64,
    /// Σ δE over all sub-steps, in J.
    pub residual: f64,
    /// Σ |δE|, in J.
    pub residual_abs: f64,
    /// `residual / exchanged`.
    pub residual_share: f64,
    /// Σ δP·h at the end points: the papers' ΔE, in J.
    pub endpoint_residual: f64,
    /// Mean transmitted power, in W.
    pub mean_power: f64,
    /// Half the mean |δP|, in W: near the mean error of the power where errors of both sides are of one kind (sadjina2017 eq. 13), a
    /// quarter of it or less where one side feeds through.
    pub half_mean_residual_power: f64,
    /// The largest |δP|, in W.
    pub worst_power: f64,
    /// When it was, in s.
    pub worst_time: f64,
    /// Stretches in which δP was far above its own level.
    pub spikes: Vec<SpikeSummary>,
    /// What the energy correction did.
    pub correction: Option<CorrectionSummary>,
}

/// A stretch of time in which the residual power was far above its level before.
#[derive(Clone, Debug, Serialize)]
pub struct SpikeSummary {
    /// In s.
    pub start: f64,
    /// In s.
    pub end: f64,
    /// The largest |δP| in it, in W.
    pub peak: f64,
    /// When that was, in s.
    pub peak_time: f64,
    /// rms of δP before it, in W.
    pub level: f64,
    /// ∫|δP| dt over it, in J.
    pub energy: f64,
}

/// What the energy correction did to a bond.
#[derive(Clone, Debug, Serialize)]
pub struct CorrectionSummary {
    /// Energy put in, in J.
    pub added: f64,
    /// Energy taken out, in J.
    pub removed: f64,
    /// 𝒰: energy that could not be corrected, in J.
    pub uncorrected: f64,
    /// Share of steps in which the cap cut the correction.
    pub capped_share: f64,
    /// Steps without correction, because nothing moved.
    pub idle_steps: f64,
}

/// A side of a bond.
#[derive(Clone, Debug, Serialize)]
pub struct PortSummary {
    /// Its subsystem, with a number if that has several in one bond.
    pub name: String,
    /// Its subsystem.
    pub subsystem: String,
    /// Its inputs, by full name.
    pub inputs: Vec<String>,
    /// Its outputs, by full name; the k-th times the k-th input is a power.
    pub outputs: Vec<String>,
    /// Energy that left the subsystem through it, in J.
    pub energy: f64,
}

/// Cost of a subsystem.
#[derive(Clone, Debug, Serialize)]
pub struct SubsystemSummary {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: String,
    /// Steps it made.
    pub steps: u64,
    /// Time it took, in s.
    pub seconds: f64,
    /// Net energy that entered it through its bonds, in J; none without bonds.
    pub net_energy: Option<f64>,
}

/// What is known of a run before its first step.
pub struct Origin {
    started: String,
    files: Value,
    units: Value,
    config: Value,
    hashes: Value,
}

impl Origin {
    /// Of a run that begins now and writes its tables to `places`.
    pub fn new(system: &System, assembled: &Assembled, places: Option<&Places>) -> Self {
        let file = |table: &str| {
            let places = places?;
            let file = places.file(table);
            // What lies outside the folder is found from anywhere.
            Some(match file.strip_prefix(&places.folder) {
                Ok(inside) => inside.to_owned(),
                Err(_) => std::path::absolute(&file).unwrap_or(file),
            })
        };
        let tables = TABLES.into_iter().filter(|t| *t != JUMPS || system.record.jumps);
        let files = tables.filter_map(|t| Some((t.to_owned(), json!(file(t)?))));
        let known = |f: Field| (!f.unit.is_empty()).then_some((f.name, Value::from(f.unit)));
        Origin {
            started: crate::date::utc(std::time::SystemTime::now()),
            files: files.collect::<serde_json::Map<_, _>>().into(),
            units: results_fields(assembled)
                .into_iter()
                .filter_map(known)
                .collect::<serde_json::Map<_, _>>()
                .into(),
            config: config(system, assembled),
            // Of files that may be large: for what is kept.
            hashes: places.map_or(Value::Null, |_| hashes(system)),
        }
    }

    /// The effective configuration.
    pub fn config(&self) -> &Value {
        &self.config
    }

    /// What goes into tables that have a place for it.
    pub fn metadata(&self, system: &System) -> Metadata {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let list = [
            ("system", Value::from(&*system.name)),
            ("version", env!("CARGO_PKG_VERSION").into()),
            ("started", self.started.as_str().into()),
            ("simulation", self.config["simulation"].clone()),
            ("method", self.config["method"].clone()),
            ("hashes", self.hashes.clone()),
        ];
        list.iter().map(|(key, value)| (format!("powerbond.{key}"), text(value))).collect()
    }
}

/// The table of results of a run folder, wherever its summary says that it is.
pub fn results_of(folder: &Path) -> PathBuf {
    let text = std::fs::read_to_string(folder.join(SUMMARY)).unwrap_or_default();
    let summary: Value = serde_json::from_str(&text).unwrap_or_default();
    table_of(folder, &summary, RESULTS)
}

/// A table of a run folder with this summary: where the summary says, or by its usual names.
pub fn table_of(folder: &Path, summary: &Value, table: &str) -> PathBuf {
    let said = summary["files"][table].as_str().map(|file| folder.join(file));
    said.filter(|file| file.is_file()).unwrap_or_else(|| find(folder, table))
}

impl Summary {
    /// Collects the numbers of a run.
    pub fn new(
        system: &System,
        assembled: &Assembled,
        origin: &Origin,
        outcome: &'static str,
        error: Option<String>,
        seconds: f64,
        real_time: Option<RealTime>,
    ) -> Self {
        let engine = &assembled.engine;
        let statistics = engine.statistics();
        let reached = engine.time();
        let elapsed = reached - assembled.start;
        let subsystems = subsystems(assembled);
        let mut warnings = assembled.warnings.clone();
        warnings.extend(engine_warnings(engine, &assembled.names));
        warnings.extend(assembled.late_warnings());
        let bonds = bonds(assembled, elapsed);
        let total = |part: fn(&BondSummary) -> f64| bonds.iter().filter(|b| !b.pseudo).map(part).sum::<f64>();
        let (exchanged, residual) = (total(|b| b.exchanged), total(|b| b.residual));
        let findings = assembled.findings(&system.verdict.limits);
        let verdict = verdict(system, assembled, &findings, &bonds, error.as_deref());
        warnings.extend(unchecked(system, &verdict));
        Summary {
            schema: 1,
            system: system.name.clone(),
            outcome,
            error,
            failure: None,
            verification: None,
            exceeded: exceeded(system, &verdict, &bonds),
            verdict,
            time: Time { start: assembled.start, stop: assembled.stop, reached },
            steps: Steps {
                accepted: statistics.accepted,
                rejected: statistics.rejected,
                over_tolerance: statistics.over_tolerance,
                at_floor: statistics.at_floor,
                events: statistics.events,
                early_returns: statistics.early_returns,
            },
            loops: loops(assembled),
            feed_through: check::feed_through(engine.network(), &assembled.names, None),
            step_size: StepSize {
                min: statistics.min_step,
                median: statistics.median_step(),
                mean: elapsed / statistics.accepted as f64,
                max: statistics.max_step,
            },
            estimates: estimates(assembled),
            energy: EnergySummary {
                exchanged,
                residual,
                residual_abs: total(|b| b.residual_abs),
                residual_share: share(residual, exchanged),
            },
            inputs: inputs(assembled, &findings),
            choices: choices(assembled),
            bonds,
            engine_seconds: {
                let elsewhere = subsystems.iter().map(|s| s.seconds).sum::<f64>();
                (seconds - elsewhere - real_time.map_or(0.0, |r| r.waited)).max(0.0)
            },
            subsystems,
            seconds,
            real_time,
            warnings,
            notes: assembled.notes.clone(),
            told: Vec::new(),
            started: origin.started.clone(),
            files: origin.files.clone(),
            units: origin.units.clone(),
            config: origin.config.clone(),
            versions: json!({ "powerbond": env!("CARGO_PKG_VERSION") }),
            hashes: origin.hashes.clone(),
        }
    }
}

/// What went through each bond in `elapsed` seconds of the run.
fn bonds(assembled: &Assembled, elapsed: f64) -> Vec<BondSummary> {
    let engine = &assembled.engine;
    let meter = engine.meter();
    let corrections: BTreeMap<usize, CorrectionReport> = engine.corrections().into_iter().rev().collect();
    let per_second = |x: f64| if elapsed > 0.0 { x / elapsed } else { 0.0 };
    let bond = |(k, name): (usize, &String)| {
        let sum = &meter.sums[k];
        let first = engine.network().bonds.bonds[k].start;
        let port = |(i, name): (usize, &String)| {
            let bonds = &engine.network().bonds;
            let terms = &bonds.terms[bonds.ports[first + i].terms.clone()];
            PortSummary {
                name: name.clone(),
                subsystem: assembled.names.ports[first + i].clone(),
                inputs: terms.iter().map(|t| assembled.names.inputs[t.u].to_string()).collect(),
                outputs: terms.iter().map(|t| assembled.names.outputs[t.y].to_string()).collect(),
                energy: meter.port_energy[first + i],
            }
        };
        let corrected = corrections.get(&k);
        BondSummary {
            name: name.clone(),
            pseudo: engine.network().bonds.pseudo[k],
            ports: assembled.ports[k].iter().enumerate().map(port).collect(),
            transmitted: sum.transmitted,
            exchanged: sum.exchanged,
            residual: sum.residual,
            residual_abs: sum.residual_abs,
            residual_share: share(sum.residual, sum.exchanged),
            endpoint_residual: sum.endpoint_residual,
            mean_power: per_second(sum.transmitted),
            half_mean_residual_power: 0.5 * per_second(sum.endpoint_residual_abs),
            worst_power: sum.worst_power,
            worst_time: sum.worst_time,
            spikes: engine.watch().spikes(k).into_iter().map(spike).collect(),
            correction: corrected.map(correction),
        }
    };
    assembled.names.bonds.iter().enumerate().map(bond).collect()
}

/// Calls, time and net energy of each subsystem; energy where it has ports.
fn subsystems(assembled: &Assembled) -> Vec<SubsystemSummary> {
    let network = assembled.engine.network();
    let mut net: Vec<Option<f64>> = vec![None; network.members.len()];
    let ports = network.bonds.ports.iter().zip(&assembled.engine.meter().port_energy);
    for (port, left) in ports.enumerate().filter(|(p, _)| network.bonds.is_power(*p)).map(|(_, port)| port) {
        let sum = &mut net[port.subsystem];
        *sum = Some(sum.map_or(-left, |sum| sum - left));
    }
    let subsystem = |(s, name): (usize, &String)| {
        let timing = &assembled.timings[s];
        SubsystemSummary {
            name: name.clone(),
            kind: network.members[s].simulator.info().kind.clone(),
            steps: timing.calls(),
            seconds: timing.seconds(),
            net_energy: net[s],
        }
    };
    assembled.names.subsystems.iter().enumerate().map(subsystem).collect()
}

fn estimates(assembled: &Assembled) -> Vec<EstimateSummary> {
    let sums = &assembled.engine.statistics().estimates;
    let one = |(k, (name, sum)): (usize, (String, &NormStatistics))| EstimateSummary {
        name,
        drives: k == 0 && assembled.adaptive,
        median: sum.median(),
        max: sum.worst.value,
        max_time: sum.worst.time,
        over_tolerance: sum.over_tolerance,
    };
    numbered(&assembled.estimators).into_iter().zip(sums).enumerate().map(one).collect()
}

fn share(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}

/// SHA-256 of the system file, of every FMU, by subsystem, of the scenario and of parameter files; null for a file that can
/// no longer be read.
fn hashes(system: &System) -> Value {
    use sha2::{Digest, Sha256};
    let hex = |hash: Sha256| -> String { hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect() };
    let of_file = |path: &Path| -> std::io::Result<String> {
        let mut hash = Sha256::new();
        let mut file = std::fs::File::open(path)?;
        let mut buffer = [0; 1 << 16];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(hex(hash)),
                n => hash.update(&buffer[..n]),
            }
        }
    };
    let mut map = serde_json::Map::new();
    if let Some(source) = system.source() {
        map.insert("system".to_owned(), hex(Sha256::new_with_prefix(&source.text)).into());
    }
    for spec in &system.subsystems {
        if let SimulatorSpec::Fmu(path, _) = &spec.simulator {
            let hash = of_file(&system.folder().join(&path.value)).ok();
            map.insert(format!("subsystems.{}", spec.name.value), hash.into());
        }
    }
    if let Some(file) = system.scenario.as_ref().and_then(|scenario| scenario.file.as_ref()) {
        map.insert("scenario".to_owned(), of_file(file).ok().into());
    }
    if !system.simulation.params.is_empty() {
        let files: Vec<Option<String>> = system.simulation.params.iter().map(|p| of_file(p).ok()).collect();
        map.insert("params".to_owned(), files.into());
    }
    map.into()
}

fn spike(s: Spike) -> SpikeSummary {
    let Spike { start, end, peak, peak_time, level, energy } = s;
    SpikeSummary { start, end, peak, peak_time, level, energy }
}

fn correction(r: &CorrectionReport) -> CorrectionSummary {
    CorrectionSummary {
        added: r.added,
        removed: r.removed,
        uncorrected: r.uncorrected,
        capped_share: r.capped / r.steps.max(1.0),
        idle_steps: r.idle,
    }
}

/// The effective configuration: what was given, and what holds where nothing was.
pub fn config(system: &System, assembled: &Assembled) -> Value {
    let s = &system.simulation;
    json!({
        "simulation": {
            "start": assembled.start,
            "stop": assembled.stop,
            "step": assembled.step,
            "output_interval": s.output_interval.as_ref().map(|x| x.value),
            "output": if s.land_on_output.value { "land" } else { "interpolate" },
            "end": end_rule(assembled),
            "loops": { "tolerance": s.loops.tolerance, "iterations": s.loops.iterations, "passes": s.loops.passes },
            "initial": { "tolerance": s.initial.tolerance, "iterations": s.initial.iterations, "passes": s.initial.passes },
            "probe": s.probe,
            "real_time": s.real_time,
            "worker_threads": s.worker_threads,
            "scenario": system.scenario.as_ref().and_then(|s| Some(s.file.as_ref()?.display().to_string())),
            "params": s.params.iter().map(|p| p.display().to_string()).collect::<Vec<_>>(),
        },
        "parameters": parameters(system),
        "processes": processes(system, assembled),
        "record": {
            "format": system.record.format.value.name(),
            "variables": system.record.variables.as_ref().map(|list| list.iter().map(|v| &v.value).collect::<Vec<_>>()),
            "exclude": system.record.exclude.iter().map(|v| &v.value).collect::<Vec<_>>(),
            "jumps": system.record.jumps,
            "details": system.record.details,
        },
        "method": method(assembled),
        "verdict": limits(system),
        "connections": connections(assembled),
    })
}

/// What happens at the end of the run.
fn end_rule(assembled: &Assembled) -> &'static str {
    match assembled.engine.settings().end_rule {
        EndRule::Exact => "exact",
        EndRule::Halved => "halved",
        EndRule::Overshoot => "overshoot",
    }
}

/// The method with every knob as it is used.
fn method(assembled: &Assembled) -> Value {
    let mut method = assembled.method.to_json();
    let rates = assembled.names.subsystems.iter().cloned().zip(assembled.rates.iter().map(|&r| json!(r)));
    method["rates"] = rates.collect::<serde_json::Map<_, _>>().into();
    method
}

/// Subsystems that do not run in the process of the run: `own`, or their host.
fn processes(system: &System, assembled: &Assembled) -> Value {
    let sites = system.subsystems.iter().zip(&assembled.sites);
    let away = sites.filter_map(|(spec, site)| match site {
        Site::Shared => None,
        Site::Own => Some((spec.name.value.clone(), json!("own"))),
        Site::Host(host) => Some((spec.name.value.clone(), json!({ "host": host }))),
    });
    away.collect::<serde_json::Map<_, _>>().into()
}

/// What was set last: `subsystem.parameter` and its value.
fn parameters(system: &System) -> Value {
    let mut map = serde_json::Map::new();
    for spec in &system.subsystems {
        for (name, value) in spec.parameters.iter().chain(&spec.start) {
            map.insert(format!("{}.{}", spec.name.value, name.value), value.to_json());
        }
    }
    map.into()
}

/// Every input that outputs feed, with gains and units converted: `u = Σ gain · y + offset`.
fn connections(assembled: &Assembled) -> Value {
    let (network, names) = (assembled.engine.network(), &assembled.names);
    let coupled = (0..network.n_inputs).filter(|&i| network.wiring.is_coupled(i));
    let one = |i: usize| {
        let source =
            |(y, gain): (usize, f64)| json!({ "output": names.outputs[y].to_string(), "gain": gain });
        json!({
            "to": names.inputs[i].to_string(),
            "from": network.wiring.sources(i).map(source).collect::<Vec<_>>(),
            "offset": network.wiring.offset(i),
        })
    };
    coupled.map(one).collect()
}
