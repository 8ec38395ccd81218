//! Who steps when.

use super::part::choice;
use super::{Context, Domain, Entry, Kind, Knob, Make, Word, Written, knobs};
use crate::Error;
use powerbond_core::network::NameIndex;
use powerbond_core::step::{Schedule, ScheduleKind, Seen};
use powerbond_core::suggest::hint;

choice!(
    /// Who steps when.
    Scheduling,
    Kind::Schedule,
    Schedule,
    [Jacobi, GaussSeidel]
);

impl Scheduling {
    /// Whether subsystems step one after the other.
    pub fn is_sequential(&self) -> bool {
        matches!(self, Scheduling::GaussSeidel(_))
    }
}

/// All at once.
pub const JACOBI: Entry = Entry {
    kind: Kind::Schedule,
    name: "jacobi",
    about: "all subsystems advance with extrapolated values of the last communication point",
    paper: "",
    knobs: &[Knob {
        name: "fast",
        domain: Domain::Choice(&["held", "latest", "between"]),
        rule: None,
        unit: "",
        about: "values of faster subsystems for slower ones: extrapolated, newest, or linear interpolation",
    }],
    uses: None,
    plain: || Box::new(Jacobi::default()),
};

/// All subsystems step at once, from the past.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Jacobi {
    /// How slow subsystems see faster ones.
    pub fast: Seen,
}

knobs!(Jacobi, JACOBI, fast);

impl Make<Schedule> for Jacobi {
    fn make(&mut self, _written: &Written, context: &Context<'_>) -> Result<Schedule, Error> {
        Ok(Schedule::new(context.network, &ScheduleKind::Jacobi { fast: self.fast }, context.rates))
    }
}

/// One after the other.
pub const GAUSS_SEIDEL: Entry = Entry {
    kind: Kind::Schedule,
    name: "gauss-seidel",
    about: "subsystems advance one after the other; later ones use outputs of earlier ones",
    paper: "",
    knobs: &[
        Knob {
            name: "order",
            domain: Domain::Names,
            rule: Some(|| "feed-through order, then by name".to_owned()),
            unit: "",
            about: "the sequence of subsystems",
        },
        Knob {
            name: "seen",
            domain: Domain::Choice(&["latest", "between"]),
            rule: Some(|| {
                format!(
                    "{}; {} if the hold is variable",
                    seen_by_default(false).word(),
                    seen_by_default(true).word()
                )
            }),
            unit: "",
            about: "inputs of later subsystems: the newest value, or linear interpolation from the old to the new one",
        },
    ],
    uses: None,
    plain: || Box::new(GaussSeidel::default()),
};

/// One subsystem after the other; later ones see what earlier ones returned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GaussSeidel {
    /// The sequence of subsystems; `None`: feed-through order, then by name.
    pub order: Option<Vec<String>>,
    /// What later subsystems see; `None`: their newest value, or a line to it if the hold is variable.
    pub seen: Option<Seen>,
}

knobs!(GaussSeidel, GAUSS_SEIDEL, order, seen);

/// Where the order of the hold varies, later subsystems see a line unless told otherwise: the newest value all over the step would be
/// of order 0.
fn seen_by_default(variable_hold: bool) -> Seen {
    if variable_hold { Seen::Between } else { Seen::Latest }
}

impl Make<Schedule> for GaussSeidel {
    fn make(&mut self, written: &Written, context: &Context<'_>) -> Result<Schedule, Error> {
        let kind = ScheduleKind::GaussSeidel {
            order: self.order.as_ref().map(|names| sequence(names, written, context)).transpose()?,
            seen: *self.seen.get_or_insert(seen_by_default(context.variable_hold)),
        };
        Ok(Schedule::new(context.network, &kind, context.rates))
    }
}

impl Word for Seen {
    const WORDS: &'static [(&'static str, Self)] =
        &[("held", Seen::Held), ("latest", Seen::Latest), ("between", Seen::Between)];
}

fn sequence(names: &[String], written: &Written, context: &Context<'_>) -> Result<Vec<usize>, Error> {
    let all = &context.names.subsystems;
    let fail = |message: String| Err(Error::input(written.knob("order"), message));
    let places: NameIndex<&str> = all.iter().map(String::as_str).collect();
    let (mut order, mut named) = (Vec::new(), vec![false; all.len()]);
    for name in names {
        match places.place(name.as_str()) {
            Some(s) if named[s] => return fail(format!("`order` names `{name}` twice")),
            Some(s) => {
                named[s] = true;
                order.push(s);
            }
            None => {
                let hint = hint(name, all.iter().map(String::as_str));
                return fail(format!("`order` names `{name}`, which is not a subsystem.{hint}"));
            }
        }
    }
    match named.iter().position(|named| !named) {
        Some(missing) => fail(format!("`order` lacks `{}`; it must name every subsystem", all[missing])),
        None => Ok(order),
    }
}
