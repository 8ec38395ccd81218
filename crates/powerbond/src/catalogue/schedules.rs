//! Who steps when.

use super::{Context, Domain, Entry, Knob, KnobValue, Make, Nature, PolicySpec};
use crate::Error;
use crate::source::At;
use powerbond_core::network::NameIndex;
use powerbond_core::step::{Schedule, ScheduleKind, Seen};
use powerbond_core::suggest::hint;

/// All at once.
pub const JACOBI: Entry = Entry {
    name: "jacobi",
    about: "all subsystems step at once, from the past",
    paper: "",
    knobs: &[Knob {
        name: "fast",
        domain: Domain::Choice(&["held", "latest", "between"]),
        default: "held",
        unit: "",
        about: "how slow subsystems see faster ones: as in the past, their newest value, or a line between",
    }],
    uses: None,
    nature: Nature::Plain,
    make: Make::Schedule(jacobi),
};

/// One after the other.
pub const GAUSS_SEIDEL: Entry = Entry {
    name: "gauss-seidel",
    about: "one subsystem after the other; later ones see what earlier ones returned",
    paper: "",
    knobs: &[
        Knob {
            name: "order",
            domain: Domain::Names,
            default: "feed-through order, then by name",
            unit: "",
            about: "the sequence of subsystems",
        },
        Knob {
            name: "seen",
            domain: Domain::Choice(&["latest", "between"]),
            default: "latest; between if the hold is variable",
            unit: "",
            about: "what later subsystems see: the newest value, or a line from the old to the new one",
        },
    ],
    uses: None,
    nature: Nature::Sequential,
    make: Make::Schedule(gauss_seidel),
};

const SEEN: [(&str, Seen); 3] = [("held", Seen::Held), ("latest", Seen::Latest), ("between", Seen::Between)];

fn jacobi(spec: &PolicySpec, context: &Context<'_>) -> Result<Schedule, Error> {
    let kind = ScheduleKind::Jacobi { fast: spec.choice("fast", Seen::Held, &SEEN) };
    Ok(Schedule::new(context.network, &kind, context.rates))
}

/// Where the order of the hold varies, later subsystems see a line unless told otherwise: the newest value all over the step would be
/// of order 0.
fn gauss_seidel(spec: &PolicySpec, context: &Context<'_>) -> Result<Schedule, Error> {
    let kind = ScheduleKind::GaussSeidel {
        order: spec.knob("order").map(|knob| sequence(knob, context)).transpose()?,
        seen: spec.choice("seen", if context.variable_hold { Seen::Between } else { Seen::Latest }, &SEEN),
    };
    Ok(Schedule::new(context.network, &kind, context.rates))
}

fn sequence(knob: &At<KnobValue>, context: &Context<'_>) -> Result<Vec<usize>, Error> {
    let KnobValue::Names(names) = &knob.value else { return Ok(Vec::new()) };
    let all = &context.names.subsystems;
    let fail = |message: String| Err(Error::input(knob.place(), message));
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
                return fail(format!("`order` names `{name}`, which is no subsystem.{hint}"));
            }
        }
    }
    match named.iter().position(|named| !named) {
        Some(missing) => {
            fail(format!("`order` does not name `{}`; it must name every subsystem", all[missing]))
        }
        None => Ok(order),
    }
}
