//! What values a parameter takes: `[1, 2, 3]`, `{ from = 1, to = 3, count = 5 }`, `{ distribution = "normal", mean = 1, std = 0.1 }`.

use super::distribution::Distribution;
use super::value::Value;
use crate::Error;
use crate::error::Collector;
use crate::source::{Node, Table};

/// What values a parameter takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Domain {
    /// These.
    Values(Vec<Value>),
    /// Any, drawn from a distribution.
    Distribution(Distribution),
}

/// Values of a range, more than anybody waits for.
const MAX_COUNT: u32 = 10_000_000;

const RANGE: &[&str] = &["from", "to", "count", "scale"];

/// Distributions and what they need.
const DISTRIBUTIONS: [(&str, &[&str]); 7] = [
    ("uniform", &["min", "max"]),
    ("log-uniform", &["min", "max"]),
    ("normal", &["mean", "std"]),
    ("lognormal", &["mean", "std"]),
    ("triangular", &["min", "mode", "max"]),
    ("exponential", &["mean"]),
    ("weibull", &["shape", "scale"]),
];

impl Domain {
    pub(super) fn read(node: Node<'_>) -> Result<Self, Error> {
        if node.is_list() {
            let mut problems = Collector::new();
            let values: Vec<Value> =
                node.list()?.into_iter().filter_map(|n| problems.keep(Value::read(n))).collect();
            problems.finish(())?;
            if values.is_empty() {
                return node.fail("the list has no values");
            }
            return Ok(Domain::Values(values));
        }
        if !node.is_table() {
            return Ok(Domain::Values(vec![Value::read(node)?]));
        }
        let table = node.open_table()?;
        match table.get("distribution") {
            Some(kind) => distribution(node, kind),
            None if table.get("min").is_some() || table.get("max").is_some() => {
                let table = node.table("a range", &["min", "max"])?;
                let [min, max] = numbers(&table, ["min", "max"])?;
                within(&table, "min", min, "max", max)?;
                Ok(Domain::Distribution(Distribution::Uniform { min, max }))
            }
            None => range(node.table("a range", RANGE)?),
        }
    }

    /// The values, if they can be counted.
    pub fn values(&self) -> Option<&[Value]> {
        match self {
            Domain::Values(values) => Some(values),
            Domain::Distribution(_) => None,
        }
    }

    /// The value below which a share `u` lies.
    pub(super) fn quantile(&self, u: f64) -> Value {
        match self {
            Domain::Values(values) => {
                let place = (u * values.len() as f64) as usize;
                values[place.min(values.len() - 1)].clone()
            }
            Domain::Distribution(distribution) => Value::Number(distribution.quantile(u)),
        }
    }
}

fn numbers<const N: usize>(table: &Table<'_>, keys: [&str; N]) -> Result<[f64; N], Error> {
    let mut problems = Collector::new();
    let values = keys.map(|key| {
        let number = table.require(key, "the range").and_then(|node| node.number());
        problems.keep(number).map_or(f64::NAN, |number| number.value)
    });
    problems.finish(values)
}

/// `low` is below `high`.
fn within(table: &Table<'_>, low: &str, a: f64, high: &str, b: f64) -> Result<(), Error> {
    if a < b && (b - a).is_finite() {
        return Ok(());
    }
    if a < b {
        return table.fail(format!("from {a:e} to {b:e} is further than numbers go"));
    }
    let cure = if a > b { "; exchange them" } else { "; give one value instead" };
    table.fail(format!("`{low}` is {a} and `{high}` is {b}; expected `{low}` below `{high}`{cure}"))
}

fn positive(table: &Table<'_>, key: &str, x: f64) -> Result<(), Error> {
    if x > 0.0 { Ok(()) } else { table.fail(format!("`{key}` is {x}; expected a number above 0")) }
}

/// `from`, `to` and `count - 2` values between them, at equal distances or ratios.
fn range(table: Table<'_>) -> Result<Domain, Error> {
    let [from, to] = numbers(&table, ["from", "to"])?;
    let count = table.require("count", "the range")?.count(1, MAX_COUNT)?.value;
    let scales = [("linear", false), ("log", true)];
    let log = table.get("scale").map_or(Ok(false), |node| node.one_of(&scales))?;
    if log {
        positive(&table, "from", from)?;
        positive(&table, "to", to)?;
    }
    if count == 1 && from != to {
        return table.fail(format!("one value from {from} to {to}; expected a `count` of 2 or more"));
    }
    if count > 1 && from == to {
        return table
            .fail(format!("{count} values from {from} to {to} are all the same; give one value instead"));
    }
    if !(to - from).is_finite() {
        return table.fail(format!("from {from:e} to {to:e} is further than numbers go"));
    }
    // Multiplied first, integers stay integers and tenths the nearest numbers to them; as powers of ten, so do decades.
    let line = |a: f64, b: f64, k: u32| a + (b - a) * f64::from(k) / f64::from(count - 1).max(1.0);
    let value = |k: u32| match (k, log) {
        (0, _) => from,
        (k, _) if k == count - 1 => to,
        (k, false) => line(from, to, k),
        (k, true) => 10f64.powf(line(from.log10(), to.log10(), k)),
    };
    Ok(Domain::Values((0..count).map(|k| Value::Number(value(k))).collect()))
}

fn distribution(node: Node<'_>, kind: Node<'_>) -> Result<Domain, Error> {
    let names: Vec<(&str, usize)> =
        DISTRIBUTIONS.iter().enumerate().map(|(i, (name, _))| (*name, i)).collect();
    let (name, keys) = DISTRIBUTIONS[kind.one_of(&names)?];
    let known: Vec<&str> = ["distribution"].into_iter().chain(keys.iter().copied()).collect();
    let table = node.table(&format!("a {name} distribution"), &known)?;
    let distribution = match name {
        "uniform" | "log-uniform" => {
            let [min, max] = numbers(&table, ["min", "max"])?;
            within(&table, "min", min, "max", max)?;
            if name == "uniform" {
                Distribution::Uniform { min, max }
            } else {
                positive(&table, "min", min)?;
                Distribution::LogUniform { min, max }
            }
        }
        "normal" | "lognormal" => {
            let [mean, std] = numbers(&table, ["mean", "std"])?;
            positive(&table, "std", std)?;
            if name == "normal" {
                Distribution::Normal { mean, std }
            } else {
                Distribution::LogNormal { mean, std }
            }
        }
        "triangular" => {
            let [min, mode, max] = numbers(&table, ["min", "mode", "max"])?;
            within(&table, "min", min, "max", max)?;
            if mode < min || mode > max {
                return table.fail(format!("`mode` is {mode}; expected a number from {min} to {max}"));
            }
            Distribution::Triangular { min, mode, max }
        }
        "exponential" => {
            let [mean] = numbers(&table, ["mean"])?;
            positive(&table, "mean", mean)?;
            Distribution::Exponential { mean }
        }
        _ => {
            let [shape, scale] = numbers(&table, ["shape", "scale"])?;
            positive(&table, "shape", shape)?;
            positive(&table, "scale", scale)?;
            Distribution::Weibull { shape, scale }
        }
    };
    Ok(Domain::Distribution(distribution))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Source, toml};
    use std::path::Path;

    /// 14.999999999999998 is refused by a parameter that is an integer.
    #[test]
    fn ranges_have_the_values_that_one_would_type() {
        let check = |range: &str, k: usize, expected: f64| {
            let tree = toml::parse(&Source::file(Path::new("plan.toml"), format!("x = {range}"))).unwrap();
            let root = tree.root().open_table().unwrap();
            let domain = Domain::read(root.get("x").unwrap()).unwrap();
            let value = domain.values().unwrap()[k].number().unwrap();
            assert_eq!(value.to_bits(), expected.to_bits(), "{range}, value {k}: {value}");
        };
        (0..23).for_each(|k| check("{ from = 0, to = 22, count = 23 }", k, k as f64));
        (0..11).for_each(|k| check("{ from = 0, to = 1, count = 11 }", k, k as f64 / 10.0));
        (0..5).for_each(|k| check("{ from = 5, to = 1, count = 5 }", k, 5.0 - k as f64));
        for (k, expected) in [1e-3, 1e-2, 0.1, 1.0, 10.0].into_iter().enumerate() {
            check("{ from = 1e-3, to = 10, count = 5, scale = \"log\" }", k, expected);
        }
    }
}
