//! Plans as TOML: every mistake of a file is told, with its line and what would be right.

use super::design::Design;
use super::domain::Domain;
use super::expression::Expression;
use super::plan::{Case, Draft, Limits, Output, Parameter, Plan};
use super::schema::RESERVED;
use super::value::Value;
use super::{parquet, sobol};
use crate::error::{Collector, Place};
use crate::source::{At, Node, Source, Table, toml, unreadable};
use crate::system::verify;
use crate::table::{Format, csv};
use crate::{Error, RunOptions, System};
use powerbond_core::suggest::hint;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Runs that a plan may have.
const MAX_RUNS: u64 = 10_000_000;

const KEYS: &[&str] = &["name", "system", "series", "run", "parameters", "design", "cases", "outputs"];
#[rustfmt::skip]
const RUN: &[&str] = &[
    "start", "stop", "step", "tolerance", "method", "output_interval", "set", "params", "scenario", "input",
    "allow_nonfinite", "max_error", "max_energy_residual", "verify", "verify_share", "timeout", "call_timeout",
    "memory_limit",
];
const DESIGN: &[&str] = &["kind", "runs", "seed", "scramble", "file"];
/// What a table under the name of a parameter may hold; anything else is the rest of an unquoted name with dots.
const DOMAIN: &[&str] =
    &["from", "to", "count", "scale", "min", "max", "distribution", "mean", "std", "mode", "shape"];

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Grid,
    List,
    Table,
    LatinHypercube,
    Sobol,
    MonteCarlo,
}

const KINDS: [(&str, Kind); 6] = [
    ("grid", Kind::Grid),
    ("list", Kind::List),
    ("table", Kind::Table),
    ("latin-hypercube", Kind::LatinHypercube),
    ("sobol", Kind::Sobol),
    ("monte-carlo", Kind::MonteCarlo),
];

/// Reads a plan: as much of it as can be read, and what is wrong.
pub fn plan(source: Arc<Source>) -> Result<Draft, Error> {
    let tree = toml::parse(&source)?;
    let mut problems = Collector::new();
    if let Some(subsystems) = tree.root().open_table()?.get("subsystems") {
        let name = source.path().file_name().unwrap_or_default().display();
        return subsystems.fail(format!(
            "this is a system, not a plan. A plan is a file beside it with `system = \"{name}\"`, `[parameters]` and `[outputs]`"
        ));
    }
    let root = tree.root().table_with(&mut problems, "the plan", KEYS)?;
    let folder = source.path().parent().unwrap_or(Path::new("")).to_owned();
    let stem = source.path().file_stem().map_or("sweep".into(), |s| s.to_string_lossy().into_owned());
    let name = root.get("name").and_then(|node| problems.keep(node.text()));
    if let Some(name) = &name
        && Path::new(&name.value).file_name() != Some(name.value.as_ref())
    {
        let message = format!("`name` is \"{}\"; expected what a file may be called", name.value);
        problems.add(Error::input(name.place(), message));
    }
    let system = root.need(&mut problems, "system", "the plan").and_then(|n| problems.keep(n.text()));
    let place = system.as_ref().and_then(At::place);
    let has_system = system.is_some();
    let system = folder.join(system.map(|s| s.value).unwrap_or_default());
    // Of a single FMU, parameters have no dots.
    let reader = Reader { folder: &folder, is_fmu: System::is_single_fmu(&system) };
    let Run { options, limits, verify_share, fixed, mut places } =
        root.get("run").and_then(|node| reader.run(node, &mut problems)).unwrap_or_default();
    places.push(("system", place));
    let parameters = root.get("parameters").map(|node| reader.parameters(node, &mut problems));
    let cases = root.get("cases").map(|node| cases(node, &mut problems));
    let outputs = root.get("outputs").map(|node| outputs(node, &mut problems));
    let series = root.get("series").and_then(|node| problems.keep(node.texts()));
    let mut plan = Plan {
        name: name.map_or(stem, |name| name.value),
        system,
        options,
        verify_share: verify_share.unwrap_or(1.0),
        limits,
        source: source.clone(),
        places,
        fixed,
        parameters: parameters.unwrap_or_default(),
        design: Design::Grid,
        cases: cases.unwrap_or_default(),
        outputs: outputs.unwrap_or_default(),
        series: series.unwrap_or_default(),
        runs: 0,
    };
    if let Some(design) = problems.keep(reader.design(root.get("design"), &mut plan.parameters)) {
        plan.design = design;
    }
    check_names(&plan, &mut problems);
    if problems.is_clean() && plan.parameters.is_empty() && plan.cases.is_empty() {
        problems.add(at_root(&root, "nothing changes from run to run: add `[parameters]` or `[[cases]]`"));
    }
    if problems.is_clean() && plan.outputs.is_empty() && plan.series.is_empty() {
        let example = "`[outputs]` with `peak = \"max(subsystem.variable)\"`";
        problems.add(at_root(&root, format!("nothing is kept of a run: add {example}, or `series`")));
    }
    let points = plan.design.points(&plan.design());
    let runs = points.and_then(|n| n.checked_mul((plan.cases.len() as u64).max(1)));
    match runs.filter(|runs| *runs <= MAX_RUNS) {
        Some(runs) => plan.runs = runs,
        None => problems.add(at_root(&root, format!("the plan has more than {MAX_RUNS} runs; divide it"))),
    }
    // Without a system there is nothing to look at.
    if has_system { Ok(Draft { plan, problems }) } else { Err(problems.into_error()) }
}

fn at_root(root: &Table<'_>, message: impl Into<String>) -> Error {
    root.fail::<()>(message).err().unwrap_or_else(|| Error::input(None, ""))
}

/// `[run]`.
#[derive(Default)]
struct Run {
    options: RunOptions,
    limits: Limits,
    verify_share: Option<f64>,
    fixed: Vec<(At<String>, Value)>,
    places: Vec<(&'static str, Option<Place>)>,
}

struct Reader<'a> {
    folder: &'a Path,
    is_fmu: bool,
}

impl Reader<'_> {
    fn path(&self, node: Node<'_>) -> Result<PathBuf, Error> {
        let file = node.text()?;
        let path = self.folder.join(&file.value);
        match path.exists() {
            true => Ok(path),
            false => Err(Error::input(file.place(), format!("missing file: {}", path.display()))),
        }
    }

    /// What can be read of `[run]`: what is put over the system in every run, limits, and the share of the runs that are verified; mistakes
    /// are kept.
    fn run(&self, node: Node<'_>, problems: &mut Collector) -> Option<Run> {
        let table = node.table_with(problems, "`[run]`", RUN);
        let table = problems.keep(table)?;
        let written = RUN.iter().filter_map(|key| Some((*key, table.get(key)?.at(()).place())));
        let places = written.chain([("run", node.at(()).place())]).collect();
        let mut number = |key: &str, least: f64, what: &str| {
            let node = table.get(key)?;
            let value = problems.keep(node.number())?.value;
            if value > least {
                return Some(value);
            }
            problems.keep(node.expected::<f64>(what))
        };
        let any = f64::NEG_INFINITY;
        let mut options = RunOptions {
            begin_time: number("start", any, ""),
            end_time: number("stop", any, ""),
            step_size: number("step", 0.0, "a step size above 0, in s"),
            tolerance: number("tolerance", 0.0, "a tolerance above 0"),
            output_interval: number("output_interval", 0.0, "an interval above 0, in s"),
            max_error: number("max_error", 0.0, "a share above 0, such as 0.01"),
            max_energy_residual: number("max_energy_residual", 0.0, "a share above 0, such as 0.01"),
            ..RunOptions::default()
        };
        let limits = Limits {
            run: number("timeout", 0.0, "a time above 0, in s"),
            call: number("call_timeout", 0.0, "a time above 0, in s"),
            memory: number("memory_limit", 1.0, "a size above 1, in bytes").map(|bytes| bytes as u64),
        };
        let mut file = |key: &str| table.get(key).and_then(|node| problems.keep(self.path(node)));
        options.method = file("method");
        options.scenario = file("scenario");
        options.input = file("input");
        if let Some(node) = table.get("params") {
            for text in problems.keep(node.texts()).unwrap_or_default() {
                let path = self.folder.join(&text.value);
                if !path.exists() {
                    problems.add(Error::input(text.place(), format!("missing file: {}", path.display())));
                }
                options.params.push(path);
            }
        }
        if let Some(node) = table.get("allow_nonfinite") {
            options.allow_nonfinite = problems.keep(node.flag()).is_some_and(|flag| flag.value);
        }
        options.verify = table.get("verify").and_then(|node| problems.keep(verify(node))).flatten();
        let mut verify_share = None;
        if let Some(node) = table.get("verify_share") {
            let share = problems.keep(node.number()).map(|share| share.value);
            match share {
                Some(share) if share > 0.0 && share <= 1.0 && options.verify.is_some() => {
                    verify_share = Some(share)
                }
                Some(share) if share > 0.0 && share <= 1.0 => {
                    problems.keep(
                        node.fail::<()>("`verify_share` needs `verify`, which says how runs are verified"),
                    );
                }
                Some(_) => {
                    problems.keep(node.expected::<f64>("a share above 0, at most 1"));
                }
                None => {}
            }
        }
        let fixed = table.get("set").and_then(|node| problems.keep(assignments(node))).unwrap_or_default();
        options.set = fixed.iter().map(|(name, value)| format!("{}={value}", name.value)).collect();
        Some(Run { options, limits, verify_share, fixed, places })
    }

    /// What can be read of `[parameters]`; mistakes are kept.
    fn parameters(&self, node: Node<'_>, problems: &mut Collector) -> Vec<Parameter> {
        let mut found = Vec::new();
        // A parameter has a subsystem, so that `motor.min` is no range of `motor`; and a range has no lists.
        let is_domain = |table: &Table<'_>, has_dot: bool| {
            let entries = table.entries();
            let is_key = |(key, node): &(At<String>, Node<'_>)| {
                DOMAIN.contains(&key.value.as_str()) && !node.is_list() && !node.is_table()
            };
            entries.is_empty() || ((has_dot || self.is_fmu) && entries.iter().any(is_key))
        };
        if let Some(table) = problems.keep(node.open_table()) {
            named(&table, &is_domain, &mut found);
        }
        let mut parameters = Vec::new();
        for (name, node) in found {
            if let Some(domain) = problems.keep(Domain::read(node)) {
                parameters.push(Parameter { name, domain });
            }
        }
        parameters
    }

    /// `[design]`, and parameters with the values that it reads from a file.
    fn design(&self, node: Option<Node<'_>>, parameters: &mut Vec<Parameter>) -> Result<Design, Error> {
        let Some(node) = node else { return grid(parameters).map(|()| Design::Grid) };
        let mut problems = Collector::new();
        let table = node.table_with(&mut problems, "`[design]`", DESIGN)?;
        let kind = match (table.get("kind"), table.get("file")) {
            (Some(kind), _) => kind.one_of(&KINDS)?,
            (None, Some(_)) => Kind::Table,
            (None, None) => {
                return table.fail(format!("`[design]` lacks the key `kind`: one of {}", kinds()));
            }
        };
        let name = KINDS.iter().find(|(_, k)| *k == kind).map_or("", |(name, _)| *name);
        let sampled = matches!(kind, Kind::LatinHypercube | Kind::Sobol | Kind::MonteCarlo);
        for (key, fits) in [
            ("runs", sampled),
            ("seed", sampled),
            ("scramble", kind == Kind::Sobol),
            ("file", kind == Kind::Table),
        ] {
            if let Some(node) = table.get(key).filter(|_| !fits) {
                problems.keep(node.fail::<()>(format!("`{key}` has no meaning for the design `{name}`")));
            }
        }
        let runs = || table.require("runs", "the design")?.count(1, MAX_RUNS as u32);
        let runs = if sampled { problems.keep(runs()).map_or(1, |n| u64::from(n.value)) } else { 1 };
        let seed = table.get("seed").and_then(|node| problems.keep(node.count(0, u32::MAX)));
        let seed = seed.map_or(1, |seed| u64::from(seed.value));
        let scramble = table.get("scramble").is_none_or(|n| problems.keep(n.flag()).is_none_or(|f| f.value));
        if sampled && parameters.is_empty() {
            problems.keep(table.fail::<()>(format!("the design `{name}` needs `[parameters]`")));
        }
        let design = match kind {
            Kind::Grid => {
                problems.keep(grid(parameters));
                Design::Grid
            }
            Kind::List => Design::List { runs: problems.keep(list(parameters)).unwrap_or(1) },
            Kind::Table => {
                let file = problems.keep(table.require("file", "the design"));
                let read = file.and_then(|node| problems.keep(self.table(node, parameters)));
                Design::List { runs: read.unwrap_or(1) }
            }
            Kind::LatinHypercube => {
                let names = parameters.iter().map(|p| p.name.value.as_str());
                Design::latin_hypercube(if problems.is_clean() { runs } else { 1 }, seed, names)
            }
            Kind::Sobol if parameters.len() > sobol::MAX_DIMENSION => {
                let most = sobol::MAX_DIMENSION;
                let n = parameters.len();
                return table.fail(format!(
                    "{n} parameters; Sobol points have at most {most}: take \"latin-hypercube\""
                ));
            }
            Kind::Sobol => Design::Sobol { runs, seed: scramble.then_some(seed) },
            Kind::MonteCarlo => Design::MonteCarlo { runs, seed },
        };
        problems.finish(design)
    }

    /// Adds the columns of a file to the parameters; how many rows there are.
    fn table(&self, node: Node<'_>, parameters: &mut Vec<Parameter>) -> Result<u64, Error> {
        let path = self.path(node)?;
        let file = node.at(());
        let columns = columns_of(&path).map_err(|error| error.placed(file.place()))?;
        let rows = columns.first().map_or(0, |(_, values)| values.len()) as u64;
        if rows == 0 {
            return node.fail(format!("{} has no rows", path.display()));
        }
        let mut problems = Collector::new();
        for Parameter { name, domain } in parameters.iter() {
            if domain.values().is_none_or(|values| values.len() != 1) {
                let message = format!("`{}`: beside a table of points a parameter has one value", name.value);
                problems.add(Error::input(name.place(), message));
            }
        }
        for (name, values) in columns {
            if let Some(row) = values.iter().position(|value| value.number().is_some_and(|x| !x.is_finite()))
            {
                let message =
                    format!("{}: `{name}` is not a finite number in row {}", path.display(), row + 1);
                problems.keep(node.fail::<()>(message));
                continue;
            }
            parameters.push(Parameter { name: file.with(name), domain: Domain::Values(values) });
        }
        problems.finish(rows)
    }
}

/// The columns of a CSV or Parquet file.
fn columns_of(path: &Path) -> Result<Vec<(String, Vec<Value>)>, Error> {
    let mut start = Vec::new();
    let cannot = |e: std::io::Error| unreadable(path, &e);
    std::fs::File::open(path).and_then(|file| file.take(8).read_to_end(&mut start)).map_err(cannot)?;
    if Format::detect(&start) == Format::Parquet {
        return parquet::read_values(path);
    }
    words_and_numbers(path)
}

/// The columns of a CSV file: of numbers, or of words alone.
fn words_and_numbers(path: &Path) -> Result<Vec<(String, Vec<Value>)>, Error> {
    // A word is read as its place among all words of its column.
    let words: RefCell<BTreeMap<String, Vec<String>>> = RefCell::default();
    let table = csv::read_with(path, |column, text| {
        let mut words = words.borrow_mut();
        let of_column = words.entry(column.to_owned()).or_default();
        of_column.push(text.trim().to_owned());
        Ok((of_column.len() - 1) as f64)
    })?;
    let words = words.into_inner();
    let has_words = |column: &str| {
        let list = words.get(column);
        list.is_some_and(|list| list.len() == table.rows() && !list.iter().any(String::is_empty))
    };
    if !words.keys().all(|column| has_words(column)) {
        // Numbers, but for a mistake: the error has its line.
        let word = |column: &str, text: &str| {
            if has_words(column) { Ok(0.0) } else { Err(csv::not_a_number(text)) }
        };
        csv::read_with(path, word)?;
    }
    let values = |(name, column): (String, Vec<f64>)| {
        let values = match words.get(&name) {
            Some(list) if list.iter().all(|word| word == "true" || word == "false") => {
                list.iter().map(|word| Value::Flag(word == "true")).collect()
            }
            Some(list) => list.iter().cloned().map(Value::Text).collect(),
            None => column.into_iter().map(Value::Number).collect(),
        };
        (name, values)
    };
    Ok(table.header.into_iter().zip(table.columns).map(values).collect())
}

/// Entries in the order of the file.
fn in_order<'a>(table: &Table<'a>) -> Vec<(At<String>, Node<'a>)> {
    let mut entries = table.entries();
    entries.sort_by_key(|(key, _)| key.place());
    entries
}

/// Parameters by their names, with or without quotes around a name with dots. `is_value` tells whether a table is a value, of
/// which the second argument says that there is a dot in its name.
fn named<'a>(
    table: &Table<'a>,
    is_value: &dyn Fn(&Table<'a>, bool) -> bool,
    found: &mut Vec<(At<String>, Node<'a>)>,
) {
    names_below(table, is_value, found, false);
}

fn names_below<'a>(
    table: &Table<'a>,
    is_value: &dyn Fn(&Table<'a>, bool) -> bool,
    found: &mut Vec<(At<String>, Node<'a>)>,
    below: bool,
) {
    for (key, node) in in_order(table) {
        let has_dot = below || key.value.contains('.');
        match node.open_table() {
            Ok(inner) if !is_value(&inner, has_dot) => {
                let first = found.len();
                names_below(&inner, is_value, found, true);
                for (name, _) in &mut found[first..] {
                    *name = name.with(format!("{}.{}", key.value, name.value));
                }
            }
            _ => found.push((key, node)),
        }
    }
}

/// `name = value`, many times.
fn assignments(node: Node<'_>) -> Result<Vec<(At<String>, Value)>, Error> {
    let mut problems = Collector::new();
    let mut found = Vec::new();
    named(&node.open_table()?, &|_, _| false, &mut found);
    let mut set = Vec::new();
    for (name, node) in found {
        if let Some(value) = problems.keep(Value::read(node)) {
            set.push((name, value));
        }
    }
    problems.finish(set)
}

/// `[[cases]]`: a name, values, and perhaps a case whose values it inherits.
fn cases(node: Node<'_>, problems: &mut Collector) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for item in problems.keep(node.list()).unwrap_or_default() {
        let Some(table) = problems.keep(item.table("a case", &["name", "like", "set"])) else { continue };
        let name = table.require("name", "the case").and_then(|n| n.text());
        let Some(name) = problems.keep(name) else { continue };
        if cases.iter().any(|case| case.name == name.value) {
            problems.add(Error::input(name.place(), format!("a second case has the name `{}`", name.value)));
        }
        let mut set: Vec<(At<String>, Value)> = Vec::new();
        if let Some(other) = table.get("like").and_then(|node| problems.keep(node.text())) {
            match cases.iter().find(|case| case.name == other.value) {
                Some(case) => set = case.set.clone(),
                None => {
                    let hint = hint(&other.value, cases.iter().map(|c| c.name.as_str()));
                    let message = format!("no case `{}` stands before this one.{hint}", other.value);
                    problems.add(Error::input(other.place(), message));
                }
            }
        }
        let own = table.get("set").and_then(|node| problems.keep(assignments(node))).unwrap_or_default();
        for (name, value) in own {
            match set.iter_mut().find(|(there, _)| there.value == name.value) {
                Some(there) => *there = (name, value),
                None => set.push((name, value)),
            }
        }
        cases.push(Case { name: name.value, set });
    }
    cases
}

/// What can be read of `[outputs]`; mistakes are kept.
fn outputs(node: Node<'_>, problems: &mut Collector) -> Vec<Output> {
    let mut outputs = Vec::new();
    let table = problems.keep(node.open_table());
    for (name, node) in table.iter().flat_map(in_order) {
        let Some(text) = problems.keep(node.text()) else { continue };
        match Expression::parse(&text.value) {
            Ok(expression) => outputs.push(Output { name: name.value, text, expression }),
            Err(message) => {
                problems.add(Error::input(
                    text.place(),
                    format!("`{}` = \"{}\": {message}", name.value, text.value),
                ));
            }
        }
    }
    outputs
}

fn kinds() -> String {
    KINDS.map(|(name, _)| format!("\"{name}\"")).join(", ")
}

/// Every parameter has values that can be counted.
fn grid(parameters: &[Parameter]) -> Result<(), Error> {
    let mut problems = Collector::new();
    for Parameter { name, domain } in parameters {
        if let Domain::Distribution(distribution) = domain {
            let message = format!(
                "`{}` is {}, of which a grid or list has no values. Add `count` to a range from `from` to `to`, or a \
                 `[design]` with `kind = \"latin-hypercube\"`, \"sobol\" or \"monte-carlo\" and `runs`",
                name.value,
                distribution.words()
            );
            problems.add(Error::input(name.place(), message));
        }
    }
    problems.finish(())
}

/// All parameters have as many values, or one.
fn list(parameters: &[Parameter]) -> Result<u64, Error> {
    grid(parameters)?;
    let counts = || parameters.iter().map(|p| p.domain.values().map_or(0, <[Value]>::len));
    let runs = counts().max().unwrap_or(1);
    let mut problems = Collector::new();
    for (Parameter { name, .. }, n) in parameters.iter().zip(counts()) {
        if n != 1 && n != runs {
            let message =
                format!("`{}` has {n} values; expected {runs}, as other parameters have, or one", name.value);
            problems.add(Error::input(name.place(), message));
        }
    }
    problems.finish(runs as u64)
}

/// Every column of the dataset has a name of its own.
fn check_names(plan: &Plan, problems: &mut Collector) {
    let mut seen: BTreeMap<&str, &str> =
        RESERVED.iter().map(|name| (*name, "a column of every sweep")).collect();
    let mut of_cases: BTreeSet<&str> = BTreeSet::new();
    let cases = plan.cases.iter().flat_map(|case| &case.set);
    let cases = cases.filter(|(name, _)| of_cases.insert(&name.value)).map(|(name, _)| name);
    let columns = cases.map(|name| (name.value.as_str(), name.place(), "a parameter of a case"));
    let columns =
        columns.chain(plan.parameters.iter().map(|p| (p.name.value.as_str(), p.name.place(), "a parameter")));
    let outputs = plan.outputs.iter().map(|o| (o.name.as_str(), o.text.place(), "an output"));
    for (name, place, what) in columns.chain(outputs) {
        if let Some(other) = seen.insert(name, what) {
            let message = format!("the name `{name}` is taken by {other}; every column has one of its own");
            problems.add(Error::input(place, message));
        }
    }
}
