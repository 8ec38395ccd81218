//! What is known of a system before it runs: structure, order, rates and capabilities. Nothing is stepped.

mod diagram;

use crate::Error;
use crate::assemble::{Assembled, Trials, engine_warnings, loop_path};
use crate::catalogue::corrections::Gains;
use crate::catalogue::holds::HoldOrder;
use crate::catalogue::{self, Ability, Entry, Kind, Refresh, Without};
use crate::system::{SimulatorSpec, System, open_fmu};
use powerbond_core::feed_through::{Asymptotics, FeedThroughPair, GainSource, Structure};
use powerbond_core::hold::InputFeed;
use powerbond_core::network::{NameIndex, Names, Network, VariableName};
use powerbond_core::observe::NoObserver;
use powerbond_core::subsystem::Variable;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// A system as the engine sees it.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// Its name.
    #[serde(skip)]
    pub system: String,
    /// Steps follow an estimate of their errors.
    pub adaptive: bool,
    /// Who takes part.
    pub subsystems: Vec<SubsystemCheck>,
    /// What feeds each input.
    pub connections: Vec<ConnectionCheck>,
    /// Where power flows.
    pub bonds: Vec<BondCheck>,
    /// Inputs that determine each other at the same instant.
    pub loops: Vec<LoopCheck>,
    /// Outputs that depend on inputs at the same instant, and from where that is known.
    pub feed_through: Vec<FeedThroughCheck>,
    /// Subsystems in the order in which outputs can be evaluated.
    pub order: Vec<String>,
    /// The smallest M with `A(G)^M = 0`; none with algebraic loops (arnold2013 §2).
    pub nilpotency: Option<usize>,
    /// The feed-through graph of the coupled inputs.
    pub adjacency: Adjacency,
    /// What every method uses of the subsystems, and what it misses.
    pub capabilities: Vec<MethodCheck>,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// What is good to know: units that are missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What the files of FMUs have that the standard does not allow, although it is understood.
    pub findings: Vec<FindingCheck>,
    /// Why no consistent initial values were found.
    #[serde(skip)]
    pub failure: Option<Error>,
}

/// A subsystem.
#[derive(Clone, Debug, Serialize)]
pub struct SubsystemCheck {
    /// Its name.
    pub name: String,
    /// What it is.
    pub model: String,
    /// Sub-steps in a macro step.
    pub rate: u32,
    /// Its step in s: constant, or the first one.
    pub step: f64,
    /// Whether it re-reads its outputs with fresh inputs after each step.
    pub refreshed: bool,
    /// Where its feed-through is known from: `declared`, `probed` or `unknown`.
    pub feed_through: &'static str,
    /// Inputs that are fed.
    pub inputs: Vec<InputCheck>,
    /// Outputs that are exchanged.
    pub outputs: Vec<OutputCheck>,
    /// What it can do.
    pub can: Can,
}

/// An input.
#[derive(Clone, Debug, Serialize)]
pub struct InputCheck {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: Option<String>,
    /// `connection` or `signal`.
    pub fed_by: &'static str,
    /// Order with which it is held.
    pub hold: u8,
}

/// An output.
#[derive(Clone, Debug, Serialize)]
pub struct OutputCheck {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: Option<String>,
    /// Inputs of the same subsystem that it depends on at the same instant.
    pub feeds_through: Vec<String>,
    /// Whether a Richardson estimate of it tends to its true local error: `right`, or why not.
    pub estimate: &'static str,
}

/// What a subsystem can do.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)] // As in `powerbond_core::subsystem::Capabilities`.
pub struct Can {
    pub restore: bool,
    pub refresh: bool,
    pub input_derivatives: u8,
    pub output_derivatives: u8,
    pub feed_through_values: bool,
    pub return_early: bool,
    pub fixed_step: Option<f64>,
    pub min_step: Option<f64>,
    pub max_step: Option<f64>,
}

/// `to = offset + Σ gain · from`, with unit conversions in the gains.
#[derive(Clone, Debug, Serialize)]
pub struct ConnectionCheck {
    /// Outputs and their gains.
    pub from: Vec<Source>,
    /// The input.
    pub to: String,
    /// Is added.
    pub offset: f64,
}

/// A source of a connection.
#[derive(Clone, Debug, Serialize)]
pub struct Source {
    /// The output.
    pub name: String,
    /// Its factor.
    pub gain: f64,
}

/// A bond.
#[derive(Clone, Debug, Serialize)]
pub struct BondCheck {
    /// Its name.
    pub name: String,
    /// Its sides.
    pub ports: Vec<PortCheck>,
}

/// A side of a bond: `factor · Σ input · output` is the power that leaves the subsystem.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct PortCheck {
    pub subsystem: String,
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    pub factor: f64,
}

/// An algebraic loop.
#[derive(Clone, Debug, Serialize)]
pub struct LoopCheck {
    /// All inputs in it.
    pub inputs: Vec<String>,
    /// A shortest way round: input, output, input, … of the subsystems that it passes.
    pub path: Vec<String>,
    /// It is solved at every communication point; else every exchange lags a step behind.
    pub solved: bool,
    /// The product of all gains on that way at the start, where they are known.
    pub gain: Option<f64>,
    /// By what factor a disturbance would grow from step to step if it is not solved, with holds of order 0, 1 and 2.
    pub growth: Option<[f64; 3]>,
}

/// An output that depends on an input at the same instant.
#[derive(Clone, Debug, Serialize)]
pub struct FeedThroughCheck {
    /// The output.
    pub output: String,
    /// The input.
    pub input: String,
    /// Where that is known from: `declared` or `probed`.
    pub known: &'static str,
    /// Where ∂y/∂u comes from: `given`, `derivative`, `probed`, `identified`, or only `declared`.
    pub gain: &'static str,
    /// ∂y/∂u at the start, where it is known before the run.
    pub value: Option<f64>,
}

/// All feed-through of a network, with ∂y/∂u of every pair where it could be read.
pub(crate) fn feed_through(network: &Network, names: &Names, gains: Option<&[f64]>) -> Vec<FeedThroughCheck> {
    let one = |(p, pair): (usize, &FeedThroughPair)| {
        let known_now = !matches!(pair.gain, GainSource::Identified | GainSource::Unknown);
        FeedThroughCheck {
            output: names.outputs[pair.output].to_string(),
            input: names.inputs[pair.input].to_string(),
            known: network.members[network.owner_of_output[pair.output]].evidence.word(),
            gain: pair.gain.word(),
            value: gains.filter(|_| known_now).map(|gains| gains[p]),
        }
    };
    network.feed_through.iter().enumerate().map(one).collect()
}

/// `A(G)`: 1 in row ν and column μ if input ν depends on input μ at the same instant.
#[derive(Clone, Debug, Serialize)]
pub struct Adjacency {
    /// Rows and columns.
    pub inputs: Vec<String>,
    /// By rows.
    pub rows: Vec<Vec<u8>>,
}

/// A method of the catalogue on this system.
#[derive(Clone, Debug, Serialize)]
pub struct MethodCheck {
    /// What it is for.
    pub kind: &'static str,
    /// Its name.
    pub method: String,
    /// The system file asks for it.
    pub chosen: bool,
    /// What it uses of every subsystem.
    pub uses: Vec<&'static str>,
    /// Where that is missing.
    pub lacks: Vec<Lack>,
}

/// Something in a file of an FMU that the standard does not allow.
#[derive(Clone, Debug, Serialize)]
pub struct FindingCheck {
    /// The FMU, as the system file names it.
    pub fmu: String,
    /// The file in it; none for what its library lacks.
    pub file: Option<&'static str>,
    /// The line in that file.
    pub line: Option<u32>,
    /// What.
    pub text: String,
}

impl std::fmt::Display for FindingCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: ", self.fmu)?;
        if let (Some(file), Some(line)) = (self.file, self.line) {
            write!(f, "{file}:{line}: ")?;
        }
        f.write_str(&self.text)
    }
}

/// A subsystem that cannot do what a method uses.
#[derive(Clone, Debug, Serialize)]
pub struct Lack {
    /// The subsystem.
    pub subsystem: String,
    /// What it cannot do.
    pub capability: &'static str,
    /// What happens then.
    pub effect: String,
}

impl System {
    /// Looks at the system without running it. Initial values are made consistent and feed-through is probed, as at the
    /// start of a run; if that fails, [`Check::failure`] says why and the rest stands. Nothing is stepped: whether FMUs recompute
    /// outputs after a step is believed.
    pub fn check(&self) -> Result<Check, Error> {
        self.look(Trials::WithoutSteps)
    }

    /// As [`System::check`]; scratch instances of FMUs make a step, as before a run, to see whether outputs are recomputed after it.
    pub fn check_with_steps(&self) -> Result<Check, Error> {
        self.look(Trials::WithSteps)
    }

    fn look(&self, trials: Trials) -> Result<Check, Error> {
        let mut assembled = self.assemble_with(trials)?;
        let failure = match assembled.engine.initialize(&mut NoObserver) {
            Ok(_) => None,
            Err(error) => match assembled.explain(&error) {
                refused @ Error::Input(_) => return Err(refused),
                other => Some(other),
            },
        };
        let structure = assembled.engine.structure().clone();
        let gains = failure.is_none().then(|| assembled.engine.read_gains()).flatten();
        let mut check = Check::new(self, &assembled, &structure, gains.as_deref());
        check.warnings.extend(failure.as_ref().map(Error::to_string));
        check.failure = failure;
        check.findings = self.findings()?;
        assembled.engine.finish();
        Ok(check)
    }

    /// What is wrong with the files of the FMUs although it is understood, each FMU once.
    pub fn findings(&self) -> Result<Vec<FindingCheck>, Error> {
        let mut known: BTreeSet<&PathBuf> = BTreeSet::new();
        let fmus = self.subsystems.iter().filter_map(|spec| match &spec.simulator {
            SimulatorSpec::Fmu(path, _) => Some(path),
            SimulatorSpec::Model(_) | SimulatorSpec::Own(_) => None,
        });
        let mut findings = Vec::new();
        for path in fmus.filter(|path| known.insert(&path.value)) {
            let fmu = open_fmu(self.folder(), path)?;
            let lacks = fmu.load().map_err(|e| Error::input(path.place(), e.to_string()))?;
            let description = fmu.description();
            let mut add = |file, line, text| {
                findings.push(FindingCheck { fmu: path.value.display().to_string(), file, line, text });
            };
            for found in &description.findings {
                add(Some(found.file), Some(found.line), found.text.clone());
            }
            if description.more_findings > 0 {
                add(None, None, format!("{} more findings", description.more_findings));
            }
            lacks.into_iter().for_each(|text| add(None, None, text));
        }
        Ok(findings)
    }
}

impl Check {
    fn new(system: &System, assembled: &Assembled, structure: &Structure, gains: Option<&[f64]>) -> Self {
        let loop_gains = gains.map_or_else(Vec::new, |gains| assembled.engine.loop_gains(gains));
        let (network, names) = (assembled.engine.network(), &assembled.names);
        let text = |list: &[usize]| list.iter().map(|&i| names.inputs[i].to_string()).collect::<Vec<_>>();
        let published = system.method.estimators().any(|e| e.has_published_constants());
        let quality = structure.asymptotics(network, &assembled.refreshed, published);
        let mut warnings = assembled.warnings.clone();
        warnings.extend(engine_warnings(&assembled.engine, names));
        warnings.extend(estimate_warnings(system, assembled, structure, &quality));
        Check {
            adaptive: assembled.adaptive,
            system: system.name.clone(),
            subsystems: subsystems(system, assembled, &quality),
            connections: connections(network, names),
            bonds: bonds(assembled),
            loops: structure
                .loops
                .iter()
                .enumerate()
                .map(|(k, l)| {
                    let gain = loop_gains.get(k).copied().flatten();
                    LoopCheck {
                        inputs: text(&l.inputs),
                        path: loop_path(l, names),
                        solved: !assembled.engine.unsolved_loops().contains(l),
                        gain: gain.map(|g| g.product),
                        growth: gain.map(|g| g.growth),
                    }
                })
                .collect(),
            feed_through: feed_through(network, names, gains),
            order: structure.order.iter().map(|&s| names.subsystems[s].clone()).collect(),
            nilpotency: structure.nilpotency,
            adjacency: Adjacency { inputs: text(&structure.coupled), rows: structure.adjacency() },
            capabilities: capabilities(system, assembled),
            warnings,
            notes: assembled.notes.clone(),
            findings: Vec::new(),
            failure: None,
        }
    }
}

/// What the user of a Richardson estimate should know on this system.
fn estimate_warnings(
    system: &System,
    assembled: &Assembled,
    structure: &Structure,
    quality: &[Asymptotics],
) -> Vec<String> {
    let m = &system.method;
    let mut warnings = Vec::new();
    if !m.estimators().any(|e| e.compares_pairs()) {
        return warnings;
    }
    let (network, names) = (assembled.engine.network(), &assembled.names);
    let feeds_through =
        |s: usize| network.members[s].outputs.clone().any(|o| !structure.feeds_through[o].is_empty());
    let can = |s: &usize| network.members[*s].capabilities.can_refresh && feeds_through(*s);
    let refreshed: Vec<usize> = (0..network.members.len()).filter(can).collect();
    let published = m.estimators().any(|e| e.has_published_constants());
    let better = structure.asymptotics(network, &refreshed, published);
    let is_off = |q: &Asymptotics| !matches!(q, Asymptotics::Right | Asymptotics::RightAfterOneIntegration);
    let list: Vec<&str> = refreshed.iter().map(|&s| names.subsystems[s].as_str()).collect();
    for (o, quality) in quality.iter().enumerate().filter(|(_, q)| is_off(q)) {
        let cure = match better[o] {
            Asymptotics::Right | Asymptotics::RightAfterOneIntegration => {
                format!(". It does with `refresh = [\"{}\"]`", list.join("\", \""))
            }
            _ => String::new(),
        };
        warnings.push(format!(
            "the Richardson estimate of `{}` does not tend to its true error: {}{cure}",
            names.outputs[o],
            reason(*quality)
        ));
    }
    let corrected = !m.correction.is_none();
    if m.schedule.is_sequential() || corrected {
        let what = if corrected { m.correction.name() } else { m.schedule.name() };
        warnings.push(format!(
            "the constants of the Richardson estimate are those of extrapolated inputs; with `{what}` it is likely to be too large"
        ));
    }
    warnings
}

/// Why an estimate is not right, in words.
fn reason(quality: Asymptotics) -> &'static str {
    match quality {
        Asymptotics::Right => "right",
        Asymptotics::RightAfterOneIntegration => {
            "right if a connected input reaches it through one integration, else off by a constant factor"
        }
        Asymptotics::PublishedConstants => {
            "the published constants are those of one integration without feed-through"
        }
        Asymptotics::DownstreamOfFeedThrough => "an output with feed-through is connected to its subsystem",
        Asymptotics::FeedThroughChain => "it reaches another output with feed-through",
        Asymptotics::Unknown => "relevant feed-through is unknown",
    }
}

fn subsystems(system: &System, assembled: &Assembled, quality: &[Asymptotics]) -> Vec<SubsystemCheck> {
    let (network, names) = (assembled.engine.network(), &assembled.names);
    // Texts and binaries that a subsystem gives and takes, each once.
    let [given, taken] = [0, 1].map(|side| {
        let mut of: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for end in names.packets.iter().map(|(from, to)| [from, to][side]) {
            of.entry(&end.subsystem).or_default().insert(end.variable.clone());
        }
        of
    });
    let packets = |of: &BTreeMap<&str, BTreeSet<String>>, subsystem: &str| {
        of.get(subsystem).cloned().unwrap_or_default().into_iter()
    };
    let refreshed: BTreeSet<usize> = assembled.refreshed.iter().copied().collect();
    let own_holds: NameIndex<&VariableName> =
        system.method.holds.iter().map(|(name, _)| &name.value).collect();
    let hold = |input: usize| {
        let own = own_holds.place(&names.inputs[input]);
        own.map_or(system.method.hold.max(), |n| system.method.holds[n].1)
    };
    let mut through: Vec<Vec<String>> = vec![Vec::new(); network.n_outputs];
    for pair in &network.feed_through {
        through[pair.output].push(names.inputs[pair.input].variable.clone());
    }
    let packet_input = |name| InputCheck { name, unit: None, fed_by: "connection", hold: 0 };
    let packet_output =
        |name| OutputCheck { name, unit: None, feeds_through: Vec::new(), estimate: "not a number" };
    let one = |(s, name): (usize, &String)| {
        let member = &network.members[s];
        let unit = |variable: &Variable| {
            let unit = variable.unit.as_ref()?;
            (!unit.symbol.is_empty()).then(|| unit.symbol.clone())
        };
        let can = &member.capabilities;
        let input = |i: usize| {
            let fed_by = if network.wiring.is_coupled(i) { "connection" } else { "signal" };
            let (name, unit) = (names.inputs[i].variable.clone(), unit(network.input_variable(i)));
            InputCheck { name, unit, fed_by, hold: hold(i) }
        };
        let output = |o: usize| OutputCheck {
            name: names.outputs[o].variable.clone(),
            unit: unit(network.output_variable(o)),
            feeds_through: through[o].clone(),
            estimate: reason(quality[o]),
        };
        SubsystemCheck {
            name: name.clone(),
            model: member.simulator.info().kind.clone(),
            rate: assembled.rates[s],
            step: assembled.step / f64::from(assembled.rates[s]),
            refreshed: refreshed.contains(&s),
            feed_through: member.evidence.word(),
            inputs: member.inputs.clone().map(input).chain(packets(&taken, name).map(packet_input)).collect(),
            outputs: member
                .outputs
                .clone()
                .map(output)
                .chain(packets(&given, name).map(packet_output))
                .collect(),
            can: Can {
                restore: can.can_restore,
                refresh: can.can_refresh,
                input_derivatives: if is_fed_by_values(assembled, s) { 0 } else { can.input_derivatives },
                output_derivatives: can.output_derivatives,
                feed_through_values: can.feed_through_values,
                return_early: can.may_return_early,
                fixed_step: can.fixed_step,
                min_step: can.min_step,
                max_step: can.max_step,
            },
        }
    };
    names.subsystems.iter().enumerate().map(one).collect()
}

fn connections(network: &Network, names: &Names) -> Vec<ConnectionCheck> {
    let coupled = (0..network.n_inputs).filter(|&i| network.wiring.is_coupled(i));
    let one = |i: usize| ConnectionCheck {
        from: network
            .wiring
            .sources(i)
            .map(|(output, gain)| Source { name: names.outputs[output].to_string(), gain })
            .collect(),
        to: names.inputs[i].to_string(),
        offset: network.wiring.offset(i),
    };
    let packets = names.packets.iter().map(|(from, to)| ConnectionCheck {
        from: vec![Source { name: from.to_string(), gain: 1.0 }],
        to: to.to_string(),
        offset: 0.0,
    });
    coupled.map(one).chain(packets).collect()
}

fn bonds(assembled: &Assembled) -> Vec<BondCheck> {
    let (bonds, names) = (&assembled.engine.network().bonds, &assembled.names);
    let port = |p: usize| {
        let terms = &bonds.terms[bonds.ports[p].terms.clone()];
        PortCheck {
            subsystem: names.subsystems[bonds.ports[p].subsystem].clone(),
            inputs: terms.iter().map(|t| names.inputs[t.u].to_string()).collect(),
            outputs: terms.iter().map(|t| names.outputs[t.y].to_string()).collect(),
            factor: terms.first().map_or(0.0, |t| t.factor),
        }
    };
    let one = |(name, ports): (&String, &std::ops::Range<usize>)| BondCheck {
        name: name.clone(),
        ports: ports.clone().map(port).collect(),
    };
    names.bonds.iter().zip(&bonds.bonds).map(one).collect()
}

fn capabilities(system: &System, assembled: &Assembled) -> Vec<MethodCheck> {
    let m = &system.method;
    let parts = m.parts();
    let part = |e: &Entry| parts.iter().find(|part| part.entry().is(e));
    let own_holds = || m.holds.iter().map(|&(_, order)| HoldOrder::Fixed(order)).filter(|_| !m.hold.varies());
    let chosen = |e: &Entry| {
        let is_hold = std::iter::once(m.hold).chain(own_holds()).any(|hold| hold.entry().is(e));
        is_hold || part(e).is_some()
    };
    let mut list: Vec<MethodCheck> = catalogue::ALL
        .iter()
        .filter(|e| !e.is_none())
        .map(|e| {
            let given = |knob: &str| part(e).is_some_and(|part| part.get(knob).is_some());
            let uses = e.uses.filter(|(_, without)| match without {
                Without::KnobNeeded(knob) => !given(knob),
                Without::Refused | Without::LowerOrder | Without::Differences | Without::LeftOut => true,
            });
            method(assembled, e.kind.key(), e.name.to_owned(), chosen(e), uses)
        })
        .collect();
    let model = *m.correction.gains() == Gains::Model;
    let derivatives = Some((Ability::FeedThroughValues, Without::Refused));
    let name = "nepce, feed_through = \"model\"".to_owned();
    list.push(method(assembled, Kind::Correction.key(), name, model, derivatives));
    let uses = Some((Ability::OutputDerivatives, Without::Differences));
    list.push(method(assembled, "slopes", "outputs".to_owned(), m.slopes.value, uses));
    let refresh = !matches!(m.refresh, Refresh::Off);
    let uses = Some((Ability::Refresh, Without::LeftOut));
    list.push(method(assembled, "refresh", "refresh".to_owned(), refresh, uses));
    list
}

/// Whether a subsystem takes values only and follows derivatives because of how it is fed.
fn is_fed_by_values(assembled: &Assembled, s: usize) -> bool {
    let mut inputs = assembled.engine.network().members[s].inputs.clone();
    inputs.any(|i| assembled.feeds[i].follows() && !matches!(assembled.feeds[i], InputFeed::Derivatives(_)))
}

fn method(
    assembled: &Assembled,
    kind: &'static str,
    method: String,
    chosen: bool,
    uses: Option<(Ability, Without)>,
) -> MethodCheck {
    let members = assembled.engine.network().members.iter().enumerate();
    let lack = |(ability, without): (Ability, Without)| {
        let unable =
            |s: usize| matches!(ability, Ability::InputDerivatives(_)) && is_fed_by_values(assembled, s);
        let missing = members.filter(|(s, member)| !ability.is_in(member) || unable(*s));
        missing
            .map(|(s, _)| Lack {
                subsystem: assembled.names.subsystems[s].clone(),
                capability: ability.name(),
                effect: match without {
                    Without::LowerOrder if assembled.rates[s] > 1 => "sampled at its sub-steps".to_owned(),
                    _ => without.describe(),
                },
            })
            .collect()
    };
    MethodCheck {
        kind,
        method,
        chosen,
        uses: uses.map(|(ability, _)| ability.name()).into_iter().collect(),
        lacks: uses.map_or_else(Vec::new, lack),
    }
}
