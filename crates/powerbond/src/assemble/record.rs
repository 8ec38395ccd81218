//! What is recorded, by the names that tables give it.

use super::{Column, wide};
use crate::Error;
use crate::error::Collector;
use crate::glob;
use crate::source::At;
use crate::system::{MadeOf, Record, SimulatorSpec, System};
use powerbond_core::network::{NameIndex, Names, Network, NetworkBuilder, VariableName};
use powerbond_core::subsystem::{Causality, Digits, Subsystem};
use powerbond_core::suggest::hint;
use powerbond_fmi::description::{self as fmi, ModelDescription, Variability};
use std::collections::BTreeMap;
use std::ops::Range;

/// Variables that fit the patterns of `[record]`, subsystem by subsystem. Without patterns these are the inputs and outputs of FMUs,
/// whose other variables are often many thousands, and all variables of other models. An FMU alone without outputs shows its local
/// variables.
pub(super) fn recorded(system: &System, builder: &NetworkBuilder) -> Result<Vec<VariableName>, Error> {
    let Record { variables, exclude, .. } = &system.record;
    if exclude.iter().any(|pattern| pattern.value == "*") {
        return Ok(Vec::new());
    }
    if let (None, true) = (variables, exclude.is_empty()) {
        return Ok(by_default(system, builder).collect());
    }
    let offered = Offered::by(builder);
    let mut kept = vec![false; offered.names.len()];
    if variables.is_none() {
        by_default(system, builder)
            .filter_map(|name| offered.places.place(&name.to_string()))
            .for_each(|i| kept[i] = true);
    }
    let mut problems = Collector::new();
    for (patterns, keep) in [(variables.as_deref().unwrap_or(&[]), true), (&exclude[..], false)] {
        for pattern in patterns {
            let fitting = offered.fitting(&pattern.value);
            if fitting.is_empty() && pattern.value != "*" {
                problems.add(offered.nothing_fits(pattern, builder));
            }
            fitting.into_iter().for_each(|i| kept[i] = keep);
        }
    }
    let names = offered.names.into_iter().zip(kept).filter_map(|(name, kept)| kept.then_some(name));
    problems.finish(names.collect())
}

fn by_default<'a>(
    system: &'a System,
    builder: &'a NetworkBuilder,
) -> impl Iterator<Item = VariableName> + 'a {
    let specs = system.specs();
    let alone = system.without_outputs();
    builder.subsystems().flat_map(move |(name, simulator)| {
        let spec = specs.place(name).map(|s| &system.subsystems[s].simulator);
        let all = !matches!(spec, Some(SimulatorSpec::Fmu(..)));
        let variables = simulator.info().variables.iter().filter(|v| v.digits != Digits::Rest);
        let changes = move |name: &str| alone.is_some_and(|description| is_changing_local(description, name));
        let recorded = variables.filter(move |v| all || v.causality != Causality::Local || changes(&v.name));
        recorded.map(move |v| VariableName::new(name, &v.name))
    })
}

/// Whether a variable of an FMU is local and may change during a run.
fn is_changing_local(description: &ModelDescription, name: &str) -> bool {
    let variable = description.find(name).map(|v| &description.variables[v]);
    variable.is_some_and(|v| {
        v.causality == fmi::Causality::Local
            && matches!(v.variability, Variability::Continuous | Variability::Discrete)
    })
}

impl System {
    /// The description of an FMU that is run alone and has no outputs: local variables are all that there is to see. Those with very many
    /// are asked for by name.
    fn without_outputs(&self) -> Option<&ModelDescription> {
        const MANY: usize = 1000;
        let MadeOf::Fmu(contents) = &self.made_of else { return None };
        let variables = &contents.description().variables;
        let none = variables.len() <= MANY && variables.iter().all(|v| v.causality != fmi::Causality::Output);
        none.then(|| contents.description())
    }
}

/// Every variable that can be recorded, subsystem by subsystem.
struct Offered {
    names: Vec<VariableName>,
    /// As they are written.
    texts: Vec<String>,
    places: NameIndex<String>,
    /// The variables of each subsystem.
    subsystems: NameIndex<String>,
    of_subsystem: Vec<Range<usize>>,
}

impl Offered {
    fn by(builder: &NetworkBuilder) -> Self {
        let (mut names, mut of_subsystem) = (Vec::new(), Vec::new());
        for (name, simulator) in builder.subsystems() {
            let first = names.len();
            let variables = simulator.info().variables.iter().filter(|v| v.digits != Digits::Rest);
            names.extend(variables.map(|v| VariableName::new(name, &v.name)));
            of_subsystem.push(first..names.len());
        }
        let texts: Vec<String> = names.iter().map(VariableName::to_string).collect();
        let subsystems = builder.subsystems().map(|(name, _)| name.to_owned()).collect();
        Offered { places: texts.iter().cloned().collect(), names, texts, subsystems, of_subsystem }
    }

    /// The places of what a pattern stands for. A name is looked up; a pattern that begins with the name of a subsystem is
    /// compared with its variables only.
    fn fitting(&self, pattern: &str) -> Vec<usize> {
        let Some(beginning) = glob::beginning(pattern) else {
            return self.places.place(pattern).into_iter().collect();
        };
        let among = match beginning.split_once('.') {
            Some((subsystem, _)) => {
                self.subsystems.place(subsystem).map_or(0..0, |s| self.of_subsystem[s].clone())
            }
            None => 0..self.texts.len(),
        };
        let fits = |text: &str| text.starts_with(beginning) && glob::fits(pattern, text);
        among.filter(|&i| fits(&self.texts[i])).collect()
    }

    /// An error about a pattern that fits nothing that can be recorded.
    fn nothing_fits(&self, pattern: &At<String>, builder: &NetworkBuilder) -> Error {
        let is_packet = |(name, simulator): (&str, &dyn Subsystem)| {
            simulator.packets().iter().any(|p| glob::fits(&pattern.value, &format!("{name}.{}", p.name)))
        };
        let message = if builder.subsystems().any(is_packet) {
            format!("`{}` is a string or a binary; only numbers are recorded", pattern.value)
        } else {
            let hint = hint(&pattern.value, self.texts.iter().map(String::as_str));
            format!("no variable matches `{}`.{hint}", pattern.value)
        };
        Error::input(pattern.place(), message)
    }
}

/// What is recorded, and the rests of what is an integer of 64 bits.
pub(super) type Columns = (Vec<(VariableName, Column)>, Vec<Option<Column>>);

/// Where the values of variables and their rests are found.
pub(super) fn columns(names: &Names, recorded: Vec<VariableName>) -> Columns {
    let [outputs, inputs, probes] = [&names.outputs, &names.inputs, &names.probes]
        .map(|list| list.iter().collect::<NameIndex<&VariableName>>());
    let column = |name: &VariableName| {
        let output = outputs.place(name).map(Column::Output);
        let input = || inputs.place(name).map(Column::Input);
        output.or_else(input).or_else(|| probes.place(name).map(Column::Probe))
    };
    let found: Vec<_> = recorded.into_iter().filter_map(|name| column(&name).map(|c| (name, c))).collect();
    // Names of rests are not made up for every one of many thousands of variables.
    let lists = [&names.outputs, &names.inputs, &names.probes];
    let any = lists.iter().any(|list| list.iter().any(wide::is_rest));
    let rest = |name: &VariableName| if any { column(&wide::rest_of(name)) } else { None };
    let rests = found.iter().map(|(name, _)| rest(name)).collect();
    (found, rests)
}

/// Ports by the name of their subsystem; with a number where it has several in one bond.
pub(super) fn port_names(network: &Network, names: &Names) -> Vec<Vec<String>> {
    let bond = |range: &Range<usize>| {
        let plain = &names.ports[range.clone()];
        // Of each subsystem, the number of its ports and of those that have a name.
        let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        plain.iter().for_each(|name| counts.entry(name).or_default().0 += 1);
        let mut unique = Vec::new();
        for name in plain {
            let (ports, named) = counts.entry(name).or_default();
            *named += 1;
            unique.push(if *ports == 1 { name.clone() } else { format!("{name}{named}") });
        }
        unique
    };
    network.bonds.bonds.iter().map(bond).collect()
}
