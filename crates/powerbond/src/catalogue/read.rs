//! Reads `[method]`, all of it or changes of single knobs.

use super::holds::{HoldOrder, MAX_ORDER};
use super::methods::{AUTO, Auto, Whole};
use super::{ALL, Choice, Chosen, Feeding, Identify, Kind, Method, Refresh, StepCeiling, Word};
use crate::Error;
use crate::error::Collector;
use crate::number::share;
use crate::source::{self, At, Node, Source, Table, parse_key};
use powerbond_core::energy::Quadrature;
use powerbond_core::run::StartUp;

/// The keys of `[method]`.
const KEYS: &[&str] = &[
    "kind",
    "tolerance",
    "schedule",
    "hold",
    "holds",
    "values_only",
    "correction",
    "estimator",
    "monitors",
    "controller",
    "ceiling",
    "refresh",
    "identify",
    "dither",
    "samples",
    "meter",
    "slopes",
    "start",
];

/// Reads the value of one key.
type ReadKey = fn(&mut Method, Node<'_>) -> Result<(), Error>;

impl Method {
    /// Reads the lines of a `[method]`.
    pub fn parse(lines: &str) -> Result<Method, Error> {
        let source = Source::file("method", format!("[method]\n{lines}"));
        let tree = source::toml::parse(&source)?;
        Method::read(tree.root().table("the method", &["method"])?.require("method", "the method")?)
    }

    /// Reads `[method]`. The error has everything that is wrong with it.
    pub fn read(node: Node<'_>) -> Result<Method, Error> {
        let mut problems = Collector::new();
        let table = node.table_with(&mut problems, "`[method]`", KEYS)?;
        // A tolerance and nothing else asks for the method that needs nothing else.
        let only_tolerance = KEYS.iter().all(|key| table.get(key).is_some() == (*key == "tolerance"));
        let mut method = match only_tolerance {
            true => Method::auto(Auto::default().tolerance),
            false => Method::default(),
        };
        problems.keep(method.change(&table));
        problems.finish(method)
    }

    /// Changes one knob, as in `estimator.tolerance` = `1e-4`; `typed` is the option that says so. What is not valid TOML is taken
    /// for a word.
    pub fn set(&mut self, typed: &str, key: &str, value: &str) -> Result<(), Error> {
        let parse = |value: &str| {
            let tree = source::toml::parse(&Source::option(typed, format!("{key} = {value}")))?;
            Ok::<_, Error>(tree)
        };
        let tree = parse(value).or_else(|_| parse(&format!("{value:?}")))?;
        let table = tree.root().table("`[method]`", KEYS)?;
        self.change(&table)
    }

    /// Changes what the keys of a table say, and leaves everything else as it is.
    fn change(&mut self, table: &Table<'_>) -> Result<(), Error> {
        self.implicit = false;
        let mut problems = Collector::new();
        let whole = table.get("kind").map_or(Ok(()), |n| self.choose(n));
        if problems.keep(whole).is_some() {
            let tolerance = table.get("tolerance").map_or(Ok(()), |n| self.change_tolerance(n));
            problems.keep(tolerance);
        }
        problems.keep(read_part(table, &mut self.schedule));
        problems.keep(read_part(table, &mut self.correction));
        problems.keep(read_part(table, &mut self.estimator));
        problems.keep(read_part(table, &mut self.controller));
        for &(key, change) in Self::PLAIN_KEYS {
            if let Some(n) = table.get(key) {
                problems.keep(change(self, n));
            }
        }
        problems.finish(())
    }

    /// Keys whose values are no parts with knobs.
    const PLAIN_KEYS: &[(&str, ReadKey)] = &[
        ("monitors", |method, n| {
            method.monitors.clear();
            for n in n.list()? {
                let mut monitor = super::estimators::Off.into();
                Chosen::read(&mut monitor, n)?;
                method.monitors.push(monitor);
            }
            Ok(())
        }),
        ("hold", |method, n| {
            method.hold = match n.is_text() {
                true if n.text()?.value == "variable" => HoldOrder::Variable,
                true => n.expected(&format!("\"variable\" or an integer from 0 to {MAX_ORDER}"))?,
                false => HoldOrder::Fixed(order(n)?),
            };
            Ok(())
        }),
        ("holds", |method, n| {
            method.holds.clear();
            for (name, value) in n.open_table()?.entries() {
                method.holds.push((parse_key(&name, value)?, order(value)?));
            }
            Ok(())
        }),
        ("values_only", |method, n| {
            method.values_only = n.at(n.one_of(Feeding::WORDS)?);
            Ok(())
        }),
        ("identify", |method, n| {
            method.identify = match n.is_flag() {
                true if n.flag()?.value => Identify::All,
                true => Identify::Off,
                false => Identify::Some(n.texts()?),
            };
            Ok(())
        }),
        ("refresh", |method, n| {
            method.refresh = match n.is_flag() {
                true if n.flag()?.value => Refresh::All(n.at(())),
                true => Refresh::Off,
                false if n.is_text() => n.one_of(&[("auto", ())]).map(|()| Refresh::Auto)?,
                false => Refresh::Some(n.texts()?),
            };
            Ok(())
        }),
        ("dither", |method, n| {
            let given = n.number()?.value;
            if !(0.0..=1.0).contains(&given) {
                return n.expected("a number from 0 to 1");
            }
            method.dither = Some(given);
            Ok(())
        }),
        ("samples", |method, n| {
            method.samples = n.flag()?;
            Ok(())
        }),
        ("ceiling", |method, n| {
            method.ceiling = n.one_of(StepCeiling::WORDS)?;
            Ok(())
        }),
        ("meter", |method, n| {
            method.quadrature = n.one_of(Quadrature::WORDS)?;
            Ok(())
        }),
        ("start", |method, n| {
            method.start_up = n.one_of(StartUp::WORDS)?;
            Ok(())
        }),
        ("slopes", |method, n| {
            method.slopes = n.at(n.one_of(&[("differences", false), ("outputs", true)])?);
            Ok(())
        }),
    ];

    fn change_tolerance(&mut self, n: Node<'_>) -> Result<(), Error> {
        if self.kind.is_none() {
            return n.fail(
                "`tolerance` needs `kind = \"auto\"`; or set it for the estimator: estimator = { kind = \"…\", \
                 tolerance = … }",
            );
        }
        self.set_tolerance(&whole_tolerance(n)?).map(|_| ())
    }

    /// Begins anew with a whole method.
    fn choose(&mut self, n: Node<'_>) -> Result<(), Error> {
        if n.is_text()
            && let name = n.text()?.value
            && let Some(part) = ALL.iter().find(|e| e.name == name && e.kind != Kind::Method)
        {
            let (key, name) = (part.kind.key(), part.name);
            return n.fail(format!(
                "`{name}` is a part of a method, not a whole one: write `{key} = \"{name}\"`"
            ));
        }
        let mut whole = Chosen::from(Whole::Auto(Auto::default()));
        whole.read(n)?;
        *self = Method { kind: Some(whole.clone()), ..Method::auto(whole.tolerance()) };
        Ok(())
    }
}

/// The order of a hold.
fn order(n: Node<'_>) -> Result<u8, Error> {
    Ok(n.count(0, MAX_ORDER.into())?.value as u8)
}

fn read_part<T: Choice>(table: &Table<'_>, part: &mut Chosen<T>) -> Result<(), Error> {
    table.get(T::KIND.key()).map_or(Ok(()), |n| part.read(n))
}

/// The tolerance of a whole method: a number, or a share in percent.
fn whole_tolerance(node: Node<'_>) -> Result<At<f64>, Error> {
    let knob = &AUTO.knobs[0];
    if node.is_text()
        && let Some(x) = share(&node.text()?.value)
    {
        let given = node.at(x);
        knob.check_number(&given)?;
        return Ok(given);
    }
    Ok(node.at(knob.read_number(node)?))
}
