//! A first system file of some FMUs: what is certain stands in it, what is likely as a comment, and everything with its reason.

mod names;
mod text;

use super::bonds::{BondSuggestion, bonds};
use super::connections::{Wire, connections};
use super::interface::{Interface, Signal};
use crate::Error;
use crate::error::Collector;
use crate::system::System;
use names::names;
use powerbond_core::network::VariableName;
use powerbond_fmi::Fmu;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What becomes of a suggested connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inclusion {
    /// It is made.
    Active,
    /// It is a comment.
    Comment,
}

/// A system file in the making.
pub struct Draft {
    file: PathBuf,
    members: Vec<Member>,
    interfaces: Vec<Interface>,
    wires: Vec<(Wire, Inclusion)>,
    bonds: Vec<BondSuggestion>,
    /// Why there was no trial.
    untried: Option<String>,
    /// Connections whose gain a trial turned.
    turned: BTreeSet<VariableName>,
}

struct Member {
    name: String,
    path: PathBuf,
    fmu: Fmu,
}

impl Draft {
    /// Of FMUs that are to be named relative to the folder of `file`. The error has everything that is wrong with them.
    pub fn new(fmus: &[PathBuf], file: &Path) -> Result<Draft, Error> {
        let mut problems = Collector::new();
        let mut open = Vec::new();
        for path in fmus {
            let fmu = Fmu::open(path).map_err(|e| Error::input(None, e.to_string()));
            let fmu = fmu.and_then(|fmu| match &fmu.description().co_simulation {
                Some(_) => Ok(fmu),
                None => {
                    Err(Error::input(None, format!("{}: the FMU offers no co-simulation", path.display())))
                }
            });
            open.extend(problems.keep(fmu).map(|fmu| (path.clone(), fmu)));
        }
        let open = problems.finish(open)?;
        let names = names(&open);
        let members: Vec<Member> =
            open.into_iter().zip(names).map(|((path, fmu), name)| Member { name, path, fmu }).collect();
        let interface =
            |m: &Member| Interface::of_fmu(&m.name, &m.fmu).map_err(|e| Error::input(None, e.to_string()));
        let interfaces = members.iter().map(interface).collect::<Result<Vec<_>, _>>()?;
        let wires = connections(&interfaces, &BTreeSet::new())
            .into_iter()
            .map(|wire| match wire.certain {
                true => (wire, Inclusion::Active),
                false => (wire, Inclusion::Comment),
            })
            .collect();
        let mut draft = Draft {
            file: file.to_owned(),
            members,
            interfaces,
            wires,
            bonds: Vec::new(),
            untried: None,
            turned: BTreeSet::new(),
        };
        draft.find_bonds()?;
        Ok(draft)
    }

    /// Suggested connections, and what becomes of them.
    pub fn wires(&self) -> &[(Wire, Inclusion)] {
        &self.wires
    }

    /// The names of the subsystems and the files of their FMUs.
    pub fn members(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.members.iter().map(|m| (m.name.as_str(), m.path.as_path()))
    }

    /// Makes connection `n`, and no other one to the same input.
    pub fn include(&mut self, n: usize) -> Result<(), Error> {
        let to = self.wires[n].0.to.clone();
        for (wire, inclusion) in self.wires.iter_mut().filter(|(wire, _)| wire.to == to) {
            wire.certain = false;
            *inclusion = Inclusion::Comment;
        }
        self.wires[n].1 = Inclusion::Active;
        self.find_bonds()
    }

    /// Whether an input is fed by now.
    pub fn is_fed(&self, input: &VariableName) -> bool {
        self.wires.iter().any(|(wire, inclusion)| wire.to == *input && *inclusion == Inclusion::Active)
    }

    /// Inputs that nothing feeds.
    pub fn unfed(&self) -> Vec<(VariableName, &Signal)> {
        let all = self.interfaces.iter().flat_map(|i| i.inputs.iter().map(|s| (i.full(&s.name), s)));
        let fed: BTreeSet<&VariableName> = self.active().map(|wire| &wire.to).collect();
        all.filter(|(name, _)| !fed.contains(name)).collect()
    }

    /// Suggested bonds.
    pub fn bonds(&self) -> &[BondSuggestion] {
        &self.bonds
    }

    /// Connections whose gain was turned to -1, since a trial says so.
    pub fn turned(&self) -> &BTreeSet<VariableName> {
        &self.turned
    }

    fn active(&self) -> impl Iterator<Item = &Wire> {
        self.wires.iter().filter(|(_, inclusion)| *inclusion == Inclusion::Active).map(|(wire, _)| wire)
    }

    fn find_bonds(&mut self) -> Result<(), Error> {
        let system = System::parse(&self.file.display().to_string(), &self.text_for_trial()?)?;
        self.bonds = bonds(&system, &self.interfaces);
        Ok(())
    }

    /// What a trial found: for the first input and output of every port 1 if the output moves with the input, -1 if against it. Where both sides of a bond
    /// give way like passive parts and their powers could not cancel, the force (torque, current, volume flow) gets `gain = -1`.
    pub fn learn(&mut self, responses: &BTreeMap<(String, String), f64>) -> Result<(), Error> {
        let apply = |draft: &mut Draft| {
            for bond in &mut draft.bonds {
                for port in &mut bond.ports {
                    let key = (port.inputs[0].to_string(), port.outputs[0].to_string());
                    port.response = responses.get(&key).copied();
                }
                bond.settle();
            }
        };
        apply(self);
        let wrong = |bond: &BondSuggestion| -> Vec<VariableName> {
            let Some(input) = bond.wrong_gain() else { return Vec::new() };
            bond.ports
                .iter()
                .find(|port| port.inputs.contains(input))
                .map_or(Vec::new(), |p| p.inputs.clone())
        };
        let certain = self.bonds.iter().filter(|bond| bond.certain);
        self.turned = certain.flat_map(wrong).collect();
        for (wire, _) in self.wires.iter_mut().filter(|(wire, _)| self.turned.contains(&wire.to)) {
            wire.gain = -wire.gain;
        }
        self.find_bonds()?;
        apply(self);
        Ok(())
    }

    /// There was no trial.
    pub fn not_tried(&mut self, why: &str) {
        self.untried = Some(why.to_owned());
    }
}
