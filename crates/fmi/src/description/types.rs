//! Units and declared types.

use super::Kind;
use super::xml::{Notes, child, elements};
use powerbond_core::units::{Si, Unit};
use roxmltree::Node;
use std::collections::HashMap;
use std::sync::Arc;

/// A unit as the file defines it.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitDefinition {
    /// The unit: `SI value = factor · value + offset`. Without `BaseUnit` its symbol is read.
    pub unit: Arc<Unit>,
    /// Symbols that people prefer to see.
    pub display_units: Vec<String>,
}

/// An item of an enumeration.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What people see.
    pub name: Box<str>,
    /// What the FMU's functions take.
    pub value: i64,
    /// One line for people.
    pub description: Box<str>,
}

/// A declared type: defaults for the variables that name it.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeDefinition {
    /// Its name.
    pub name: String,
    /// The type of its variables.
    pub kind: Kind,
    /// Index into the units.
    pub unit: Option<u32>,
    /// What is measured, such as `Force`, where the file says so.
    pub quantity: Option<Box<str>>,
    /// Differences of temperatures and the like.
    pub relative_quantity: bool,
    /// Where values are expected.
    pub min: Option<f64>,
    /// Where values are expected.
    pub max: Option<f64>,
    /// A typical magnitude.
    pub nominal: Option<f64>,
    /// The items of an enumeration.
    pub items: Vec<Item>,
    /// One line for people.
    pub description: String,
}

/// Units by name. Names that a variable uses without a definition are added.
pub struct Units {
    /// In the order of the file.
    pub list: Vec<UnitDefinition>,
    by_name: HashMap<String, u32>,
}

impl Units {
    /// Reads `UnitDefinitions`, if there are any.
    pub fn read(parent: Node<'_, '_>, notes: &mut Notes<'_>) -> Self {
        let mut units = Units { list: Vec::new(), by_name: HashMap::new() };
        for node in child(parent, "UnitDefinitions").into_iter().flat_map(elements) {
            match node.tag_name().name() {
                "Unit" => {
                    if let Some(name) = node.attribute("name") {
                        let si = child(node, "BaseUnit").and_then(|base| base_unit(base, notes));
                        let unit = match si {
                            Some(si) => Unit { symbol: name.to_owned(), si: Some(si) },
                            None => Unit::parse(name),
                        };
                        units.add(unit, display_units(node, "DisplayUnit", "name"));
                    } else {
                        notes.note(node, || "a unit lacks its name".to_owned());
                    }
                }
                // FMI 1: the symbol is all there is.
                "BaseUnit" => {
                    if let Some(name) = node.attribute("unit") {
                        units.add(
                            Unit::parse(name),
                            display_units(node, "DisplayUnitDefinition", "displayUnit"),
                        );
                    }
                }
                _ => notes.unknown_element(node),
            }
        }
        units
    }

    /// The index of a unit; one that is not defined is read from its symbol.
    pub fn index(&mut self, name: &str) -> u32 {
        match self.by_name.get(name) {
            Some(&index) => index,
            None => self.add(Unit::parse(name), Vec::new()),
        }
    }

    fn add(&mut self, unit: Unit, display_units: Vec<String>) -> u32 {
        let index = self.list.len() as u32;
        self.by_name.insert(unit.symbol.clone(), index);
        self.list.push(UnitDefinition { unit: Arc::new(unit), display_units });
        index
    }
}

fn display_units(node: Node<'_, '_>, element: &str, attribute: &str) -> Vec<String> {
    let named = elements(node).filter(|n| n.tag_name().name() == element);
    named.filter_map(|n| n.attribute(attribute)).map(str::to_owned).collect()
}

fn base_unit(node: Node<'_, '_>, notes: &mut Notes<'_>) -> Option<Si> {
    const NAMES: [&str; 8] = ["kg", "m", "s", "A", "K", "mol", "cd", "rad"];
    let mut si = Si { dimensions: [0; 8], factor: 1.0, offset: 0.0 };
    for attribute in node.attributes() {
        let (name, text) = (attribute.name(), attribute.value());
        match name {
            "factor" => si.factor = notes.real(node, name, text)?,
            "offset" => si.offset = notes.real(node, name, text)?,
            _ => match NAMES.iter().position(|&n| n == name) {
                Some(place) => match text.trim().parse() {
                    Ok(exponent) => si.dimensions[place] = exponent,
                    Err(_) => {
                        notes.note(node, || {
                            format!("the exponent of {name} is `{text}`; the unit is unknown")
                        });
                        return None;
                    }
                },
                None => notes.unknown_attribute(node, &attribute),
            },
        }
    }
    if si.factor == 0.0 || !si.factor.is_finite() || !si.offset.is_finite() {
        notes.note(node, || format!("factor {} and offset {} are not a valid unit", si.factor, si.offset));
        return None;
    }
    Some(si)
}

/// Reads `TypeDefinitions`, if there are any.
pub fn read(parent: Node<'_, '_>, units: &mut Units, notes: &mut Notes<'_>) -> Vec<TypeDefinition> {
    let mut types = Vec::new();
    for node in child(parent, "TypeDefinitions").into_iter().flat_map(elements) {
        let tag = node.tag_name().name();
        // FMI 1 and 2 wrap the attributes: <Type name><RealType/></Type>, <SimpleType name><Real/></SimpleType>.
        let inner = match tag {
            "SimpleType" | "Type" => elements(node).next(),
            _ => Some(node),
        };
        let kind = inner.and_then(|n| {
            let name = n.tag_name().name();
            super::variables::kind(name.strip_suffix("Type").unwrap_or(name))
        });
        let (Some(inner), Some(kind), Some(name)) = (inner, kind, node.attribute("name")) else {
            notes.unknown_element(node);
            continue;
        };
        types.push(read_type(name, node, inner, kind, units, notes));
    }
    types
}

fn read_type(
    name: &str,
    node: Node<'_, '_>,
    inner: Node<'_, '_>,
    kind: Kind,
    units: &mut Units,
    notes: &mut Notes<'_>,
) -> TypeDefinition {
    let mut real =
        |attribute: &str| inner.attribute(attribute).and_then(|text| notes.real(inner, attribute, text));
    let (min, max, nominal) = (real("min"), real("max"), real("nominal"));
    let mut items = Vec::new();
    for (place, item) in elements(inner).filter(|n| n.tag_name().name() == "Item").enumerate() {
        // FMI 1 counts items from 1 without saying so.
        let value = item.attribute("value").map_or(Ok(place as i64 + 1), |text| text.trim().parse());
        match (item.attribute("name"), value) {
            (Some(name), Ok(value)) => items.push(Item {
                name: name.into(),
                value,
                description: item.attribute("description").unwrap_or("").into(),
            }),
            _ => notes.note(item, || "an item needs a name and an integer value".to_owned()),
        }
    }
    TypeDefinition {
        name: name.to_owned(),
        kind,
        unit: inner.attribute("unit").map(|unit| units.index(unit)),
        quantity: inner.attribute("quantity").filter(|text| !text.is_empty()).map(Into::into),
        relative_quantity: inner
            .attribute("relativeQuantity")
            .is_some_and(|text| notes.boolean(inner, "relativeQuantity", text)),
        min,
        max,
        nominal,
        items,
        description: node.attribute("description").unwrap_or("").to_owned(),
    }
}
