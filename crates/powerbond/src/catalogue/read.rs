//! Reads `[method]`, all of it or changes of single knobs.

use super::holds::{HoldOrder, MAX_ORDER};
use super::methods::AUTO;
use super::{ALL, Choice, Chosen, Feeding, Identify, Kind, Method, Refresh, Word};
use crate::Error;
use crate::number::share;
use crate::source::{At, Source};
use crate::system::reader::{Node, Table, top};
use crate::system::{parse_key, word};
use powerbond_core::energy::Quadrature;
use powerbond_core::run::StartUp;
use std::sync::Arc;
use toml::de::DeTable;

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
    "refresh",
    "identify",
    "meter",
    "slopes",
    "start",
];

impl Method {
    /// Reads the lines of a `[method]`.
    pub fn parse(lines: &str) -> Result<Method, Error> {
        let source = Arc::new(Source { path: "method".into(), text: format!("[method]\n{lines}") });
        let parsed = DeTable::parse(&source.text)
            .map_err(|error| Error::input(None, format!("not valid TOML: {}", error.message())))?;
        Method::read(top(&source, &parsed, &["method"])?.require("method", "the text")?)
    }

    /// Reads `[method]`.
    pub fn read(node: Node<'_>) -> Result<Method, Error> {
        let table = node.table("`[method]`", KEYS)?;
        let mut method = Method::default();
        // A tolerance and nothing else asks for the method that needs nothing else.
        let only_tolerance = KEYS.iter().all(|key| table.get(key).is_some() == (*key == "tolerance"));
        if only_tolerance {
            method = Method::auto(super::methods::Auto::default().tolerance);
        }
        method.change(&table)?;
        Ok(method)
    }

    /// Changes what the keys of a table say, and leaves everything else as it is.
    pub fn change(&mut self, table: &Table<'_>) -> Result<(), Error> {
        self.implicit = false;
        if let Some(n) = table.get("kind") {
            self.choose(n)?;
        }
        if let Some(n) = table.get("tolerance") {
            if self.kind.is_none() {
                return n.fail(
                    "`tolerance` belongs to a whole method: add `kind = \"auto\"`, or give the estimator its own: \
                     estimator = { kind = \"…\", tolerance = … }",
                );
            }
            self.set_tolerance(&whole_tolerance(n)?)?;
        }
        read_part(table, &mut self.schedule)?;
        read_part(table, &mut self.correction)?;
        read_part(table, &mut self.estimator)?;
        read_part(table, &mut self.controller)?;
        if let Some(list) = table.get("monitors") {
            self.monitors.clear();
            for &n in list.list()?.iter() {
                let mut monitor = super::estimators::Off.into();
                Chosen::read(&mut monitor, n)?;
                self.monitors.push(monitor);
            }
        }
        let order = |n: Node<'_>| Ok::<u8, Error>(n.count(0, MAX_ORDER.into())?.value as u8);
        if let Some(n) = table.get("hold") {
            self.hold = match n.is_text() {
                true => word(n, &[("variable", HoldOrder::Variable)])?,
                false => HoldOrder::Fixed(order(n)?),
            };
        }
        if let Some(list) = table.get("holds") {
            self.holds.clear();
            for (name, value) in list.open_table()?.entries() {
                self.holds.push((parse_key(&name, value)?, order(value)?));
            }
        }
        if let Some(n) = table.get("values_only") {
            self.values_only = n.at(word(n, Feeding::WORDS)?);
        }
        if let Some(n) = table.get("identify") {
            self.identify = match n.is_flag() {
                true if n.flag()?.value => Identify::All,
                true => Identify::Off,
                false => Identify::Some(n.texts()?),
            };
        }
        if let Some(n) = table.get("refresh") {
            self.refresh = match n.is_flag() {
                true if n.flag()?.value => Refresh::All(n.at(())),
                true => Refresh::Off,
                false if n.is_text() => word(n, &[("auto", ())]).map(|()| Refresh::Auto)?,
                false => Refresh::Some(n.texts()?),
            };
        }
        if let Some(n) = table.get("meter") {
            self.quadrature = word(n, Quadrature::WORDS)?;
        }
        if let Some(n) = table.get("start") {
            self.start_up = word(n, StartUp::WORDS)?;
        }
        if let Some(n) = table.get("slopes") {
            self.slopes = n.at(word(n, &[("differences", false), ("outputs", true)])?);
        }
        Ok(())
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
        let mut whole = Chosen::from(super::methods::Whole::Auto(Default::default()));
        whole.read(n)?;
        *self = Method { kind: Some(whole.clone()), ..Method::auto(whole.tolerance()) };
        Ok(())
    }
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
