//! The energy correction for a system: which side of each bond takes the force, and μ by rule.

use crate::Error;
use crate::catalogue::knob::NOT_NEGATIVE;
use crate::catalogue::{
    Ability, BY_RULE, Context, Domain, Entry, Kind, Knob, KnobField, KnobValue, Make, PerVariable, Without,
    Word, Written, knobs,
};
use powerbond_core::correction::{
    EffortGiver, EffortSide, EffortTerm, EnergyCorrection, Flow, Form, GiverRule, InputCorrection,
    ResidualInputs, ZetaRule,
};
use powerbond_core::energy::Term;
use powerbond_core::network::NameIndex;
use powerbond_core::step::Seen;
use powerbond_core::suggest::hint;
use powerbond_core::units::{Dimensions, Unit};
use std::collections::{BTreeMap, BTreeSet};

/// The energy correction.
pub const ENERGY: Entry = Entry {
    kind: Kind::Correction,
    name: "energy",
    about: "a small force removes the residual energy of the last step",
    paper: "rodriguez2022 eq. 13–21",
    knobs: &[
        Knob {
            name: "mu",
            domain: Domain::NumberByNameOrWord { min: f64::MIN, max: f64::MAX, words: &[BY_RULE] },
            rule: Some(|| BY_RULE.to_owned()),
            unit: "",
            about: "μ, share of the residual energy that is corrected: a number, a table by force output, or by rule from \
                    rates, hold, feed-through, schedule and refresh (eq. 20–21)",
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
            name: "rate_limit",
            domain: NOT_NEGATIVE,
            rule: Some(|| "none".to_owned()),
            unit: "the unit of the force per s",
            about: "largest change of the correction per second",
        },
        Knob {
            name: "zeta",
            domain: Domain::Choice(&["rectangle", "trapezoid"]),
            rule: None,
            unit: "",
            about: "quadrature of the residual power (eq. 13)",
        },
        Knob {
            name: "velocity",
            domain: Domain::Choice(&["last", "predicted"]),
            rule: None,
            unit: "",
            about: "velocity in eq. 14: at the start of the step, or predicted for its middle",
        },
        Knob {
            name: "residual",
            domain: Domain::Choice(&["last", "held"]),
            rule: None,
            unit: "",
            about: "inputs in the residual power: of the last communication point (the paper), or as held at the end of the step",
        },
        Knob {
            name: "form",
            domain: Domain::Choice(&["power", "difference", "auto"]),
            rule: None,
            unit: "",
            about: "eq. 17; 2μ(f_new - f_old), without spikes, cap and ν; or the same as far as `identify` does not know the \
                    feed-through",
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
    /// μ, share of the residual energy that counts, of all givers or by the output that gives the force; `None`: by rule from rates,
    /// hold, feed-through, schedule and refresh. Gets what is used.
    pub mu: Option<PerVariable>,
    /// ν, share of the uncorrected energy that is corrected later.
    pub nu: f64,
    /// Largest correction as a share of the coupling force.
    pub cap: Cap,
    /// Largest correction in the unit of the force; `None`: no limit.
    pub absolute_cap: Option<f64>,
    /// Largest change of the correction per second, in the unit of the force; `None`: no limit.
    pub rate_limit: Option<f64>,
    /// How the residual power is integrated.
    pub zeta: ZetaRule,
    /// With which velocity the force is computed.
    pub velocity: Flow,
    /// With which inputs the residual power is computed.
    pub residual: ResidualInputs,
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
            rate_limit: None,
            zeta: ZetaRule::default(),
            velocity: Flow::default(),
            residual: ResidualInputs::default(),
            form: Form::Power,
            bonds: None,
            takes_force: None,
            beyond_limits: false,
        }
    }
}

knobs!(
    Energy,
    ENERGY,
    mu,
    nu,
    cap,
    absolute_cap,
    rate_limit,
    zeta,
    velocity,
    residual,
    form,
    bonds,
    takes_force,
    beyond_limits,
);

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
        &[("power", Form::Power), ("difference", Form::Difference), ("auto", Form::Auto)];
}

impl Word for ZetaRule {
    const WORDS: &'static [(&'static str, Self)] =
        &[("rectangle", ZetaRule::Rectangle), ("trapezoid", ZetaRule::Trapezoid)];
}

impl Word for Flow {
    const WORDS: &'static [(&'static str, Self)] = &[("last", Flow::Last), ("predicted", Flow::Predicted)];
}

impl Word for ResidualInputs {
    const WORDS: &'static [(&'static str, Self)] =
        &[("last", ResidualInputs::Last), ("held", ResidualInputs::Held)];
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
        let mus: Vec<f64> = match &self.mu {
            None => Vec::new(),
            Some(PerVariable::All(x)) => vec![*x],
            Some(PerVariable::ByName(list)) => list.iter().map(|(_, x)| *x).collect(),
        };
        for (knob, values) in [("mu", &mus[..]), ("nu", &[self.nu])] {
            let beyond = |x: &&f64| !self.beyond_limits && !(0.0..=1.0).contains(*x);
            if let Some(x) = values.iter().find(beyond) {
                let message = format!(
                    "`{knob}` is {x}; expected 0 to 1. Set `beyond_limits = true` to allow other values"
                );
                return Err(Error::input(written.knob(knob), message));
            }
        }
        let wanted = listed(self.bonds.as_ref(), ("bonds", written), &names.bonds, "bond")?;
        let takers =
            listed(self.takes_force.as_ref(), ("takes_force", written), &names.subsystems, "subsystem")?;
        let (mut sides, mut used) = (Vec::new(), BTreeMap::new());
        for bond in (0..names.bonds.len()).filter(|b| wanted.as_ref().is_none_or(|list| list.contains(b))) {
            sides.push(self.side(written, context, bond, takers.as_ref(), &mut used)?);
        }
        self.settle(written, &used)?;
        let mut correction = EnergyCorrection::new(sides, self.form);
        (correction.zeta, correction.flow, correction.residual) = (self.zeta, self.velocity, self.residual);
        Ok(Some(Box::new(correction)))
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

/// μ by the name of the output that gives the force.
type Mus = BTreeMap<String, f64>;

impl Energy {
    /// Notes which μ are used, and that none of a table is left over.
    fn settle(&mut self, written: &Written, used: &Mus) -> Result<(), Error> {
        if let Some(PerVariable::ByName(list)) = &self.mu
            && let Some((name, _)) = list.iter().find(|(name, _)| !used.contains_key(name))
        {
            let hint = hint(name, used.keys().map(String::as_str));
            let message = format!("`{name}` does not give the force of a corrected bond.{hint}");
            return Err(Error::input(written.knob("mu"), message));
        }
        let mut all = used.values();
        self.mu = match all.next() {
            None => self.mu.take(),
            Some(first) if all.all(|mu| mu == first) => Some(PerVariable::All(*first)),
            Some(_) => Some(PerVariable::ByName(used.iter().map(|(name, mu)| (name.clone(), *mu)).collect())),
        };
        Ok(())
    }

    /// How a bond is corrected.
    fn side(
        &self,
        written: &Written,
        context: &Context<'_>,
        bond: usize,
        takers: Option<&BTreeSet<usize>>,
        used: &mut Mus,
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
        let rule = |p: usize, taken: &Term, given: &Term| {
            if !network.members[ports[p].subsystem].knows_feed_through() {
                return Err(Error::input(
                    written.entry.clone(),
                    format!(
                        "bond `{name}`: the feed-through of `{}` is unknown, so the rule for μ does not apply. Set \
                         `mu` (0.5 with feed-through at equal rates)",
                        owner(p)
                    ),
                ));
            }
            let seen = |input: usize, output: usize| {
                context.schedule.map_or((Seen::Held, false), |schedule| schedule.seen(input, output))
            };
            let (effort_seen, in_group) = seen(taken.u, given.y);
            let (flow_seen, _) = seen(given.u, taken.y);
            let follows = |input: usize, seen: Seen| match seen {
                Seen::Between => {
                    network.members[network.owner_of_input[input]].capabilities.input_derivatives.min(1)
                }
                Seen::Held | Seen::Latest => context.holds[input],
            };
            Ok(GiverRule {
                feeds_through: feeds_through(p),
                giver_rate: context.rates[ports[p].subsystem],
                taker_rate: context.rates[ports[taker].subsystem],
                giver_hold: follows(given.u, flow_seen),
                taker_hold: follows(taken.u, effort_seen),
                in_group,
                refreshed: context.refresh.contains(&ports[p].subsystem),
                flow_seen,
                effort_seen,
            }
            .mu())
        };
        let mut effort_terms = Vec::new();
        for (c, taken) in terms(taker).iter().enumerate() {
            let source = |output: usize| {
                let of_port = |&p: &usize| terms(p).iter().find(|t| t.y == output).map(|t| (p, t));
                givers.iter().find_map(of_port)
            };
            let sources: Vec<usize> = network.wiring.sources(taken.u).map(|(output, _)| output).collect();
            // Something may stand between a giver and its taker: then all sources are those of the first one.
            let none_belongs = sources.iter().all(|&output| source(output).is_none());
            let mut list = Vec::new();
            for &output in &sources {
                let of_first = || Some((givers[0], terms(givers[0]).get(c)?)).filter(|_| none_belongs);
                let Some((p, given)) = source(output).or_else(of_first) else {
                    list.push(EffortGiver { mu: 0.0, belongs: false, flow_input: None });
                    continue;
                };
                let label = names.outputs[output].to_string();
                let mu = match &self.mu {
                    None => rule(p, taken, given)?,
                    Some(PerVariable::All(mu)) => *mu,
                    Some(PerVariable::ByName(table)) => match table.iter().find(|(name, _)| *name == label) {
                        Some((_, mu)) => *mu,
                        None => {
                            return Err(Error::input(
                                written.knob("mu"),
                                format!("`mu` lacks `{label}`; it must name every output that gives a force"),
                            ));
                        }
                    },
                };
                used.insert(label, mu);
                let connected = network.wiring.sources(given.u).any(|(o, _)| o == taken.y);
                list.push(EffortGiver { mu, belongs: true, flow_input: connected.then_some(given.u) });
            }
            // Terms count power that leaves; the correction counts what enters.
            let (effort, flow, factor) = (taken.u, taken.y, -taken.factor);
            effort_terms.push(EffortTerm { effort, flow, factor, givers: list });
        }
        Ok(EffortSide {
            bond,
            terms: effort_terms,
            nu: self.nu,
            relative_cap: match self.cap {
                Cap::Share(share) => share,
                Cap::Unlimited => f64::INFINITY,
            },
            absolute_cap: self.absolute_cap.unwrap_or(f64::INFINITY),
            rate_limit: self.rate_limit.unwrap_or(f64::INFINITY),
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
