//! The energy correction for a system: which side of each bond takes the force, and μ by rule.

use crate::Error;
use crate::catalogue::knob::NOT_NEGATIVE;
use crate::catalogue::{
    Ability, BY_RULE, Context, Domain, Entry, Kind, Knob, KnobField, KnobValue, Make, Without, Word, Written,
    knobs,
};
use powerbond_core::correction::{
    EffortSide, EffortTerm, EnergyCorrection, Form, InputCorrection, mu_by_rule,
};
use powerbond_core::network::NameIndex;
use powerbond_core::suggest::hint;
use powerbond_core::units::{Dimensions, Unit};
use std::collections::BTreeSet;

/// The energy correction.
pub const ENERGY: Entry = Entry {
    kind: Kind::Correction,
    name: "energy",
    about: "a small force removes the residual energy of the last step",
    paper: "rodriguez2022 eq. 13–21",
    knobs: &[
        Knob {
            name: "mu",
            domain: Domain::NumberOrWord { min: f64::MIN, max: f64::MAX, words: &[BY_RULE] },
            rule: Some(|| BY_RULE.to_owned()),
            unit: "",
            about: "μ, share of the residual energy that is corrected; by rule from rates, hold and feed-through \
                    (eq. 20–21)",
        },
        Knob {
            name: "nu",
            domain: Domain::Number { min: f64::MIN, max: f64::MAX, open: false },
            rule: None,
            unit: "",
            about: "ν, share of the uncorrected energy that is corrected later",
        },
        Knob {
            name: "cap",
            domain: Domain::NumberOrWord { min: 0.0, max: f64::MAX, words: &["none"] },
            rule: None,
            unit: "",
            about: "largest correction as a share of the coupling force, or \"none\"",
        },
        Knob {
            name: "absolute_cap",
            domain: NOT_NEGATIVE,
            rule: Some(|| "none".to_owned()),
            unit: "the unit of the force",
            about: "largest correction; the smaller of both caps applies",
        },
        Knob {
            name: "form",
            domain: Domain::Choice(&["power", "difference"]),
            rule: None,
            unit: "",
            about: "eq. 17, or 2μ(f_new - f_old), without spikes, cap and ν",
        },
        Knob {
            name: "bonds",
            domain: Domain::Names,
            rule: Some(|| "all".to_owned()),
            unit: "",
            about: "list of corrected bonds",
        },
        Knob {
            name: "takes_force",
            domain: Domain::Names,
            rule: Some(|| "by units, then by feed-through".to_owned()),
            unit: "",
            about: "subsystems whose input is the force (torque, voltage, pressure) of their bonds",
        },
        Knob {
            name: "beyond_limits",
            domain: Domain::Flag,
            rule: None,
            unit: "",
            about: "allow μ and ν outside 0 to 1",
        },
    ],
    uses: Some((Ability::FeedThrough, Without::KnobNeeded("mu"))),
    plain: || Box::new(Energy::default()),
};

/// A small force takes out the energy that the coupling created in the last step. Rodríguez 2022, eq. 13–21.
#[derive(Clone, Debug, PartialEq)]
pub struct Energy {
    /// μ, share of the residual energy that counts; `None`: by rule from rates, hold and feed-through.
    pub mu: Option<f64>,
    /// ν, share of the uncorrected energy that is corrected later.
    pub nu: f64,
    /// Largest correction as a share of the coupling force.
    pub cap: Cap,
    /// Largest correction in the unit of the force; `None`: no limit.
    pub absolute_cap: Option<f64>,
    /// How the force is computed.
    pub form: Form,
    /// Which bonds are corrected; `None`: all.
    pub bonds: Option<Vec<String>>,
    /// Subsystems that take the force of their bonds; `None`: by units, then by feed-through.
    pub takes_force: Option<Vec<String>>,
    /// Allow μ and ν outside of 0 to 1.
    pub beyond_limits: bool,
}

impl Default for Energy {
    fn default() -> Self {
        Energy {
            mu: None,
            nu: 0.0,
            cap: Cap::Share(1.0),
            absolute_cap: None,
            form: Form::Power,
            bonds: None,
            takes_force: None,
            beyond_limits: false,
        }
    }
}

knobs!(Energy, ENERGY, mu, nu, cap, absolute_cap, form, bonds, takes_force, beyond_limits);

/// The largest correction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cap {
    /// As a share of the coupling force.
    Share(f64),
    /// None.
    Unlimited,
}

impl KnobField for Cap {
    fn value(&self) -> Option<KnobValue> {
        Some(match self {
            Cap::Share(x) => KnobValue::Number(*x),
            Cap::Unlimited => KnobValue::Word("none".to_owned()),
        })
    }

    fn of(value: KnobValue) -> Option<Self> {
        match value {
            KnobValue::Number(x) => Some(Cap::Share(x)),
            KnobValue::Word(_) => Some(Cap::Unlimited),
            _ => None,
        }
    }
}

impl Word for Form {
    const WORDS: &'static [(&'static str, Self)] =
        &[("power", Form::Power), ("difference", Form::Difference)];
}

impl Make<Option<Box<dyn InputCorrection>>> for Energy {
    fn make(
        &mut self,
        written: &Written,
        context: &Context<'_>,
    ) -> Result<Option<Box<dyn InputCorrection>>, Error> {
        let names = context.names;
        if names.bonds.is_empty() {
            return Err(Error::input(
                written.entry.clone(),
                "the energy correction needs at least one bond; add `[bonds.name]`",
            ));
        }
        for (knob, value) in [("mu", self.mu), ("nu", Some(self.nu))] {
            if let Some(x) = value.filter(|x| !self.beyond_limits && !(0.0..=1.0).contains(x)) {
                let message = format!(
                    "`{knob}` is {x}; expected 0 to 1. Set `beyond_limits = true` to allow other values"
                );
                return Err(Error::input(written.knob(knob), message));
            }
        }
        let wanted = listed(self.bonds.as_ref(), ("bonds", written), &names.bonds, "bond")?;
        let takers =
            listed(self.takes_force.as_ref(), ("takes_force", written), &names.subsystems, "subsystem")?;
        let mut sides = Vec::new();
        for bond in (0..names.bonds.len()).filter(|b| wanted.as_ref().is_none_or(|list| list.contains(b))) {
            sides.push(self.side(written, context, bond, takers.as_ref())?);
        }
        // Where the rule gives one μ for all bonds, that is the one that is used.
        if let [first, rest @ ..] = &sides[..]
            && rest.iter().all(|side| side.mu == first.mu)
        {
            self.mu = Some(first.mu);
        }
        Ok(Some(Box::new(EnergyCorrection::new(sides, self.form))))
    }
}

/// The places of the names of a knob in `all`; `None` if it is not set.
fn listed(
    names: Option<&Vec<String>>,
    (knob, written): (&str, &Written),
    all: &[String],
    what: &str,
) -> Result<Option<BTreeSet<usize>>, Error> {
    let Some(names) = names else { return Ok(None) };
    let places: NameIndex<&str> = all.iter().map(String::as_str).collect();
    let find = |name: &String| {
        places.place(name.as_str()).ok_or_else(|| {
            let hint = hint(name, all.iter().map(String::as_str));
            Error::input(written.knob(knob), format!("unknown {what} `{name}`.{hint}"))
        })
    };
    names.iter().map(find).collect::<Result<_, _>>().map(Some)
}

impl Energy {
    /// How a bond is corrected.
    fn side(
        &self,
        written: &Written,
        context: &Context<'_>,
        bond: usize,
        takers: Option<&BTreeSet<usize>>,
    ) -> Result<EffortSide, Error> {
        let (network, names) = (context.network, context.names);
        let name = &names.bonds[bond];
        let fail = |message: String| Err(Error::input(written.entry.clone(), message));
        let ports: Vec<_> = network.bonds.bonds[bond].clone().map(|p| &network.bonds.ports[p]).collect();
        let terms = |p: usize| &network.bonds.terms[ports[p].terms.clone()];
        let owner = |p: usize| &names.subsystems[ports[p].subsystem];
        let feeds_through = |p: usize| {
            let of = &network.members[ports[p].subsystem];
            network.feed_through[of.feed_through.clone()]
                .iter()
                .any(|pair| terms(p).iter().any(|t| t.y == pair.output))
        };

        let by_user = |p: &usize| takers.is_some_and(|list| list.contains(&ports[*p].subsystem));
        let by_unit = |p: &usize| terms(*p).iter().all(|t| takes_effort(context, t.u, t.y) == Some(true));
        let by_structure =
            |p: &usize| !feeds_through(*p) && network.members[ports[*p].subsystem].knows_feed_through();
        let all = 0..ports.len();
        let mut candidates: Vec<usize> = all.clone().filter(by_user).collect();
        if candidates.is_empty() {
            candidates = all.clone().filter(by_unit).collect();
        }
        if candidates.is_empty() {
            candidates = all.filter(by_structure).collect();
        }
        let &[taker] = candidates.as_slice() else {
            return fail(format!(
                "bond `{name}`: cannot identify the side that takes the force ({} of its {} ports are possible; \
                 expected one). Give the ports units, or set `takes_force = [\"{}\"]`",
                candidates.len(),
                ports.len(),
                owner(0)
            ));
        };
        let givers: Vec<usize> = (0..ports.len()).filter(|&p| p != taker).collect();
        if feeds_through(taker) && givers.iter().any(|&p| feeds_through(p)) {
            return fail(format!(
                "bond `{name}`: both sides have direct feed-through (`{}` and `{}`). The correction needs one side \
                 without; use `refresh = true` or `nepce` instead",
                owner(taker),
                owner(givers[0])
            ));
        }
        let mu = match self.mu {
            Some(mu) => mu,
            None => {
                if let Some(&p) =
                    givers.iter().find(|&&p| !network.members[ports[p].subsystem].knows_feed_through())
                {
                    return fail(format!(
                        "bond `{name}`: the feed-through of `{}` is unknown, so the rule for μ does not apply. Set \
                         `mu` (0.5 with feed-through at equal rates)",
                        owner(p)
                    ));
                }
                let rate = |p: usize| context.rates[ports[p].subsystem];
                let giver_rate = givers.iter().map(|&p| rate(p)).max().unwrap_or(1);
                let fast = if rate(taker) > giver_rate { taker } else { givers[0] };
                let hold = terms(fast).iter().map(|t| context.holds[t.u]).min().unwrap_or(0);
                mu_by_rule(givers.iter().any(|&p| feeds_through(p)), giver_rate, rate(taker), hold)
            }
        };
        Ok(EffortSide {
            bond,
            // Terms count power that leaves; the correction counts what enters.
            terms: terms(taker)
                .iter()
                .map(|t| EffortTerm { effort: t.u, flow: t.y, factor: -t.factor })
                .collect(),
            mu,
            nu: self.nu,
            relative_cap: match self.cap {
                Cap::Share(share) => share,
                Cap::Unlimited => f64::INFINITY,
            },
            absolute_cap: self.absolute_cap.unwrap_or(f64::INFINITY),
        })
    }
}

/// Whether a port with this input and output takes a force, torque, voltage or pressure; `None` where units are unknown.
fn takes_effort(context: &Context<'_>, input: usize, output: usize) -> Option<bool> {
    let effort = context.network.input_variable(input).unit.as_ref()?;
    let flow = context.network.output_variable(output).unit.as_ref()?;
    let known = |unit: &Unit, list: &[Dimensions]| {
        unit.si.map(|si| list.iter().any(|d| d[..7] == si.dimensions[..7]))
    };
    Some(known(effort, EFFORTS)? && known(flow, FLOWS)?)
}

/// N, N.m, V, Pa.
const EFFORTS: &[Dimensions] = &[
    [1, 1, -2, 0, 0, 0, 0, 0],
    [1, 2, -2, 0, 0, 0, 0, 0],
    [1, 2, -3, -1, 0, 0, 0, 0],
    [1, -1, -2, 0, 0, 0, 0, 0],
];
/// m/s, rad/s, A, m3/s.
const FLOWS: &[Dimensions] = &[
    [0, 1, -1, 0, 0, 0, 0, 0],
    [0, 0, -1, 0, 0, 0, 0, 0],
    [0, 0, 0, 1, 0, 0, 0, 0],
    [0, 3, -1, 0, 0, 0, 0, 0],
];
