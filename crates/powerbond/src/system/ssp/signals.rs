//! Chains of connections from FMU to FMU become connections of the engine: units, factors, offsets and tables in one.

use super::flat::{Edge, Flat, Port};
use super::transformation::Transformation;
use crate::Error;
use crate::error::Collector;
use crate::source::At;
use crate::system::Connection;
use powerbond_core::network::VariableName;
use powerbond_core::units::{Conversion, Unit};
use powerbond_fmi::Fmu;
use powerbond_fmi::description::{Causality, Variable};
use std::sync::Arc;

/// What is done to a value on its way: `table(gain · value + offset)`.
struct Way {
    gain: f64,
    offset: f64,
    table: Option<Vec<(f64, f64)>>,
    /// The engine converts the units of both ends.
    by_engine: bool,
}

impl Way {
    /// Then `factor · value + offset`.
    fn linear(&mut self, factor: f64, offset: f64) -> Result<(), String> {
        if self.table.is_some() && (factor, offset) != (1.0, 0.0) {
            return Err(
                "a factor or an offset behind a table is not supported; only integers have one".to_owned()
            );
        }
        (self.gain, self.offset) = (factor * self.gain, factor * self.offset + offset);
        Ok(())
    }
}

/// All connections between FMUs. `fmus` are those of the leaves; one that could not be opened is none.
pub fn connections(
    flat: &Flat,
    fmus: &[Option<Fmu>],
    notes: &mut Vec<String>,
    problems: &mut Collector,
) -> Vec<Connection> {
    let (mut found, mut searches) = (Vec::new(), 0);
    let by_element = flat.has_elements();
    for (n, edge) in flat.edges.iter().enumerate() {
        let missing = [&edge.from, &edge.to].map(|port| unknown(flat, fmus, port, edge, &mut searches));
        if missing.iter().any(Option::is_some) {
            missing.into_iter().flatten().for_each(|error| problems.add(error));
            continue;
        }
        let Some(sink) = flat.owners[edge.to.owner].leaf else { continue };
        let whole = match &fmus[sink] {
            Some(to) if by_element && edge.to_element.is_empty() => {
                problems.keep(elements(to, &edge.to, edge))
            }
            _ => None,
        };
        let (mut unfed, mut is_fed) = (Vec::new(), false);
        // Where some element of an array has a connection of its own, all of them are followed one by one.
        for element in whole.unwrap_or_else(|| vec![edge.to_element.clone()]) {
            let Some((chain, start)) = flat.chain(n, &element) else {
                unfed.push(element);
                continue;
            };
            is_fed = true;
            let Some(first) = chain.last() else { continue };
            let Some(source) = flat.owners[first.from.owner].leaf else { continue };
            let (Some(from), Some(to)) = (&fmus[source], &fmus[sink]) else { continue };
            let ends = [(from, &first.from), (to, &edge.to)];
            if let Some(error) = unfit(flat, edge, ends) {
                problems.add(error);
                break;
            }
            let Some(way) = problems.keep(way(flat, &chain, ends)) else { continue };
            let sides = [(from, &first.from, &start), (to, &edge.to, &element)];
            for (output, input) in problems.keep(pairs(sides, edge)).unwrap_or_default() {
                let name = |leaf: usize, variable: String| {
                    let subsystem = flat.leaves[leaf].name.value.clone();
                    edge.place.with(VariableName { subsystem, variable })
                };
                found.push(Connection {
                    from: vec![(name(source, output), way.gain)],
                    to: name(sink, input),
                    offset: way.offset,
                    convert_units: way.by_engine,
                    table: way.table.clone().map(Arc::new),
                });
            }
        }
        if let (Some(element), true) = (unfed.first(), is_fed) {
            let more =
                if unfed.len() == 1 { String::new() } else { format!(" and {} more", unfed.len() - 1) };
            let (place, name) = (edge.place.prefix(), flat.shown(&edge.to));
            notes.push(format!("{place}nothing feeds the element {element}{more} of `{name}`"));
        }
    }
    note_strange_connectors(flat, fmus, notes);
    found
}

/// The nearest of all names is searched for so often: a file in which everything is called otherwise is told so in time.
const MAX_SEARCHES: usize = 100;

/// What is wrong with an end that names a variable which its FMU does not have.
fn unknown(
    flat: &Flat,
    fmus: &[Option<Fmu>],
    port: &Port,
    edge: &Edge,
    searches: &mut usize,
) -> Option<Error> {
    let owner = &flat.owners[port.owner];
    let fmu = fmus[owner.leaf?].as_ref()?;
    if variable(fmu, &port.name).is_some() {
        return None;
    }
    let signals = fmu.description().variables.iter();
    let signals = signals.filter(|v| matches!(v.causality, Causality::Input | Causality::Output));
    *searches += 1;
    let hint = match *searches <= MAX_SEARCHES {
        true => powerbond_core::suggest::hint(&port.name, signals.map(|v| &*v.name)),
        false => String::new(),
    };
    let message = format!("`{}` has no variable `{}`.{hint}", owner.path, port.name);
    Some(Error::input(edge.place.place(), message))
}

/// What is wrong with a connection between variables that hold different things, or to one that nothing can feed.
fn unfit(flat: &Flat, edge: &Edge, [(first, from), (last, to)]: [(&Fmu, &Port); 2]) -> Option<Error> {
    let (a, b) = (variable(first, &from.name)?, variable(last, &to.name)?);
    let (start, end) = (flat.shown(from), flat.shown(to));
    let message = if is_parameter(b) {
        format!(
            "`{end}` is a parameter, and nothing but a parameter binding can give it a value: parameters that others calculate are \
             not passed on yet"
        )
    } else {
        let [have, want] = powerbond_fmi::unlike(a, b)?;
        format!("`{start}` is {have} and `{end}` is {want}: they cannot be connected")
    };
    Some(Error::input(edge.place.place(), message))
}

/// Connectors that the file lists and the FMU does not have, or has with another type.
fn note_strange_connectors(flat: &Flat, fmus: &[Option<Fmu>], notes: &mut Vec<String>) {
    for (n, owner) in flat.owners.iter().enumerate() {
        let Some(fmu) = owner.leaf.and_then(|leaf| fmus[leaf].as_ref()) else { continue };
        let strange: Vec<(&String, &At<()>)> = flat
            .connectors(n)
            .filter(|(name, _)| variable(fmu, name).is_none())
            .map(|(name, connector)| (name, &connector.place))
            .collect();
        if let Some((name, place)) = strange.first() {
            let more = match strange.len() {
                1 => String::new(),
                n => format!(" and {} more connectors", n - 1),
            };
            notes.push(format!(
                "{}the FMU of `{}` has no `{name}`{more} of the file",
                place.prefix(),
                owner.path
            ));
        }
        let unlike = flat.connectors(n).filter_map(|(name, connector)| {
            let found = variable(fmu, name)?.kind;
            let said = connector.kind.filter(|said| class(said) != class(found.name()))?;
            Some((name, connector, said, found))
        });
        let unlike: Vec<_> = unlike.collect();
        if let Some((name, connector, said, found)) = unlike.first() {
            let more = match unlike.len() {
                1 => String::new(),
                n => format!("; {} more connectors have another type than their variables", n - 1),
            };
            notes.push(format!(
                "{}`{}.{name}` is called {said} in the file and is {} in the FMU, which counts{more}",
                connector.place.prefix(),
                owner.path,
                found.name()
            ));
        }
    }
}

/// Types that are as good as the same: of numbers of any length, and of enumerations, which many tools call integers.
fn class(kind: &str) -> &str {
    match kind {
        "Real" | "Float64" | "Float32" => "Real",
        "Boolean" | "String" | "Binary" | "Clock" => kind,
        _ => "Integer",
    }
}

/// The variable that a connector of an FMU stands for: itself, or the array of which it is an element.
pub fn variable<'a>(fmu: &'a Fmu, name: &str) -> Option<&'a Variable> {
    let description = fmu.description();
    let array = || name.strip_suffix(']').and_then(|name| name.rsplit_once('[')).map(|(array, _)| array);
    let found = description.find(name).or_else(|| description.find(array()?));
    found.map(|v| &description.variables[v])
}

/// The unit of a connector, `fmu` being that to which it belongs.
pub fn unit_at(flat: &Flat, fmu: Option<&Fmu>, port: &Port) -> Option<Unit> {
    let own = fmu.and_then(|fmu| fmu.description().unit_of(variable(fmu, &port.name)?));
    // What the FMU says of itself counts more than what is said of it, if it can be understood.
    match own {
        Some(unit) if unit.si.is_some() => Some((*unit).clone()),
        own => flat.unit(port).cloned().or_else(|| own.map(|unit| (*unit).clone())),
    }
}

/// What a chain, the last connection first, does to a value.
fn way(flat: &Flat, chain: &[&Edge], ends: [(&Fmu, &Port); 2]) -> Result<Way, Error> {
    let said = chain.iter().any(|edge| flat.unit(&edge.from).is_some() || flat.unit(&edge.to).is_some());
    let mut way = Way { gain: 1.0, offset: 0.0, table: None, by_engine: false };
    let [(first, from), (last, _)] = ends;
    let [only] = chain else {
        let mut unit = unit_at(flat, Some(first), from);
        for (n, edge) in chain.iter().rev().enumerate() {
            let fmu = (n + 1 == chain.len()).then_some(last);
            unit = along(flat, edge, unit, unit_at(flat, fmu, &edge.to), ends, &mut way)?;
        }
        return Ok(way);
    };
    if said {
        let (a, b) = (unit_at(flat, Some(first), &only.from), unit_at(flat, Some(last), &only.to));
        along(flat, only, a, b, ends, &mut way)?;
    } else {
        let (a, b) = (unit_at(flat, Some(first), &only.from), unit_at(flat, Some(last), &only.to));
        conversion(flat, only, a.as_ref(), b.as_ref())?;
        way.by_engine = !only.suppress_units;
        then(flat, only, ends, &mut way)?;
    }
    Ok(way)
}

/// One connection: units first, then the transformation. The unit that the value has behind it.
fn along(
    flat: &Flat,
    edge: &Edge,
    from: Option<Unit>,
    to: Option<Unit>,
    ends: [(&Fmu, &Port); 2],
    way: &mut Way,
) -> Result<Option<Unit>, Error> {
    if let Some((gain, offset)) = conversion(flat, edge, from.as_ref(), to.as_ref())? {
        way.linear(gain, offset).map_err(|why| {
            let (start, end) = (flat.shown(&edge.from), flat.shown(&edge.to));
            Error::input(edge.place.place(), format!("from `{start}` to `{end}`: {why}"))
        })?;
    }
    then(flat, edge, ends, way)?;
    // A number whose unit was not to count has none in a connector that says none.
    Ok(to.or(from.filter(|_| !edge.suppress_units)))
}

/// Factor and offset from one unit to the other, if they are known and count.
fn conversion(
    flat: &Flat,
    edge: &Edge,
    from: Option<&Unit>,
    to: Option<&Unit>,
) -> Result<Option<(f64, f64)>, Error> {
    let (Some(a), Some(b), false) = (from, to, edge.suppress_units) else { return Ok(None) };
    let fail = |why: &str| {
        let (start, end) = (flat.shown(&edge.from), flat.shown(&edge.to));
        let message = format!("`{start}` is in {}, `{end}` in {}: {why}", a.symbol, b.symbol);
        Err(Error::input(edge.place.place(), message))
    };
    match a.conversion_to(b) {
        Conversion::Linear { gain, offset } => Ok(Some((gain, offset))),
        Conversion::Turns { .. } => fail(
            "one counts revolutions, the other radians. Say what is meant by a `LinearTransformation` with \
             `suppressUnitConversion=\"true\"`",
        ),
        Conversion::Impossible => fail(
            "units of different quantities. With `suppressUnitConversion=\"true\"` the number is passed on as it is",
        ),
        // As of FMUs alone: a unit that nobody understands is passed on as it is.
        Conversion::Unknown => Ok(None),
    }
}

/// The transformation of a connection.
fn then(flat: &Flat, edge: &Edge, ends: [(&Fmu, &Port); 2], way: &mut Way) -> Result<(), Error> {
    let fail = |message: String| Err(Error::input(edge.place.place(), message));
    let table: Vec<(f64, f64)> = match &edge.then {
        None => return Ok(()),
        Some(Transformation::Linear { factor, offset }) => {
            return way.linear(*factor, *offset).or_else(fail);
        }
        Some(Transformation::Booleans(map)) => {
            map.iter().map(|&(a, b)| (f64::from(u8::from(a)), f64::from(u8::from(b)))).collect()
        }
        Some(Transformation::Integers(map)) => map.iter().map(|&(a, b)| (a as f64, b as f64)).collect(),
        Some(Transformation::Items(map)) => {
            let number = |side: usize, port: &Port, item: &str| {
                let (fmu, end) = ends[side];
                let known = flat.items(port).or_else(|| items_of(fmu, end)).unwrap_or_default();
                let found = known.iter().find(|(name, _)| name == item).map(|(_, value)| *value);
                found.ok_or_else(|| {
                    let hint =
                        powerbond_core::suggest::hint(item, known.iter().map(|(name, _)| name.as_str()));
                    let message = format!("unknown item `{item}` of `{}`.{hint}", flat.shown(port));
                    Error::input(edge.place.place(), message)
                })
            };
            let mut problems = Collector::new();
            let mut table = Vec::new();
            for (source, target) in map {
                let pair = (
                    problems.keep(number(0, &edge.from, source)),
                    problems.keep(number(1, &edge.to, target)),
                );
                if let (Some(a), Some(b)) = pair {
                    table.push((a, b));
                }
            }
            problems.finish(table)?
        }
    };
    if way.gain != 1.0 || way.offset != 0.0 {
        return fail(
            "a table behind a factor or an offset is not supported; only integers have one".to_owned(),
        );
    }
    way.table = Some(match way.table.take() {
        None => table,
        // What the first table does not name arrives at the second one as it is.
        Some(before) => {
            let second =
                |y: f64| table.iter().find(|(source, _)| *source == y).map_or(y, |(_, target)| *target);
            let mut both: Vec<(f64, f64)> = before.iter().map(|&(x, y)| (x, second(y))).collect();
            both.extend(table.iter().filter(|(x, _)| before.iter().all(|(known, _)| known != x)));
            both
        }
    });
    Ok(())
}

/// Names and values of the items of a variable's enumeration.
fn items_of(fmu: &Fmu, port: &Port) -> Option<Arc<Vec<(String, f64)>>> {
    let description = fmu.description();
    let definition = description.type_of(variable(fmu, &port.name)?)?;
    Some(Arc::new(definition.items.iter().map(|item| (item.name.to_string(), item.value as f64)).collect()))
}

/// Output and input, element by element where they are arrays and no single element is meant.
fn pairs(sides: [(&Fmu, &Port, &String); 2], edge: &Edge) -> Result<Vec<(String, String)>, Error> {
    let names = sides.map(|(fmu, port, element)| match element.is_empty() {
        true => {
            Ok(elements(fmu, port, edge)?.iter().map(|element| format!("{}{element}", port.name)).collect())
        }
        false => Ok(vec![format!("{}{element}", port.name)]),
    });
    let [outputs, inputs]: [Result<Vec<String>, Error>; 2] = names;
    let (outputs, inputs) = (outputs?, inputs?);
    if outputs.len() != inputs.len() {
        let [from, to] = sides.map(|(_, port, element)| format!("{}{element}", port.name));
        let message = format!(
            "`{from}` has {} elements and `{to}` {}; arrays are connected whole",
            outputs.len(),
            inputs.len()
        );
        return Err(Error::input(edge.place.place(), message));
    }
    Ok(outputs.into_iter().zip(inputs).collect())
}

/// The elements of an array, as in `[2,1]`; one empty one of what is no array.
fn elements(fmu: &Fmu, port: &Port, edge: &Edge) -> Result<Vec<String>, Error> {
    let description = fmu.description();
    let is_array =
        description.find(&port.name).is_some_and(|v| !description.variables[v].dimensions.is_empty());
    if !is_array {
        return Ok(vec![String::new()]);
    }
    let (variables, packets) =
        fmu.variables().map_err(|e| Error::input(edge.place.place(), e.to_string()))?;
    let names = variables.iter().map(|v| &v.name).chain(packets.iter().map(|p| &p.name));
    let inside = |name: &String| {
        let rest = name.strip_prefix(&*port.name)?;
        (rest.starts_with('[') && rest.ends_with(']')).then(|| rest.to_owned())
    };
    Ok(names.filter_map(inside).collect())
}

/// Whether an end of a chain can take a value at the start.
pub fn is_parameter(variable: &Variable) -> bool {
    matches!(variable.causality, Causality::Parameter | Causality::StructuralParameter)
}
