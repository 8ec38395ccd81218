//! What may stand in files of SSP, by the schemas of 1.0 and 2.0 together.

use crate::system::structure::Known;

/// Of files: who made them, and when.
const FILE: &[&str] = &[
    "version", "name", "id", "description", "author", "fileversion", "copyright", "license", "generationTool",
    "generationDateAndTime",
];
/// Of elements that have a name only.
const NAMED: &[&str] = &["name", "id", "description"];
const ELEMENT: &[&str] =
    &["Connectors", "ParameterBindings", "ElementGeometry", "Annotations", "MetaData", "Signature"];
const TRANSFORMED: &[&str] = &[
    "LinearTransformation", "BooleanMappingTransformation", "IntegerMappingTransformation",
    "EnumerationMappingTransformation", "ConnectionGeometry", "Annotations",
];
/// In connectors, entries of dictionaries and parameters.
const TYPED: &[&str] = &[
    "Real", "Float64", "Float32", "Integer", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64",
    "UInt64", "Boolean", "String", "Enumeration", "Binary", "Clock", "Dimension", "ConnectorGeometry",
    "Annotations",
];
const NUMBER: &[&str] = &["value", "unit"];
const VALUE: &[&str] = &["value"];

/// Elements that are read. `ParameterMapping` and `SignalDictionary` are both an element of a structure and the root of a file.
pub const KNOWN: &[Known] = &[
    (
        "SystemStructureDescription",
        &["System", "DefaultExperiment", "Enumerations", "Units", "Annotations", "MetaData", "Signature"],
        FILE,
    ),
    (
        "System",
        &[
            "Connectors", "ParameterBindings", "Elements", "Connections", "SignalDictionaries", "ElementGeometry",
            "SystemGeometry", "GraphicalElements", "Annotations", "MetaData", "Signature",
        ],
        NAMED,
    ),
    ("Elements", &["Component", "SignalDictionaryReference", "System"], &[]),
    ("Component", ELEMENT, &["name", "id", "description", "source", "type", "implementation"]),
    ("SignalDictionaryReference", ELEMENT, &["name", "id", "description", "dictionary"]),
    ("Connectors", &["Connector"], &[]),
    ("Connector", TYPED, &["name", "kind", "id", "description"]),
    ("Connections", &["Connection"], &[]),
    (
        "Connection",
        TRANSFORMED,
        &[
            "startElement", "startConnector", "startIndices", "endElement", "endConnector", "endIndices",
            "suppressUnitConversion", "id", "description",
        ],
    ),
    ("LinearTransformation", &[], &["factor", "offset"]),
    ("BooleanMappingTransformation", &["MapEntry"], &[]),
    ("IntegerMappingTransformation", &["MapEntry"], &[]),
    ("EnumerationMappingTransformation", &["MapEntry"], &[]),
    ("MapEntry", &[], &["source", "target"]),
    ("SignalDictionaries", &["SignalDictionary"], &[]),
    (
        "SignalDictionary",
        &["SignalDictionary", "DictionaryEntry", "Enumerations", "Units", "Annotations", "MetaData", "Signature"],
        &[
            "source", "sourceBase", "type", "version", "name", "id", "description", "author", "fileversion",
            "copyright", "license", "generationTool", "generationDateAndTime",
        ],
    ),
    ("DictionaryEntry", TYPED, NAMED),
    ("DefaultExperiment", &["Annotations"], &["startTime", "stopTime"]),
    ("ParameterBindings", &["ParameterBinding"], &[]),
    (
        "ParameterBinding",
        &["ParameterValues", "ParameterMapping", "Annotations", "MetaData", "Signature"],
        &["source", "sourceBase", "type", "prefix", "id", "description"],
    ),
    ("ParameterValues", &["ParameterSet"], &[]),
    ("ParameterSet", &["Parameters", "Enumerations", "Units", "Annotations", "MetaData", "Signature"], FILE),
    ("Parameters", &["Parameter"], &[]),
    ("Parameter", TYPED, NAMED),
    (
        "ParameterMapping",
        &["ParameterMapping", "MappingEntry", "Annotations", "MetaData", "Signature"],
        &[
            "source", "sourceBase", "type", "version", "id", "description", "author", "fileversion", "copyright",
            "license", "generationTool", "generationDateAndTime",
        ],
    ),
    ("MappingEntry", TRANSFORMED, &["source", "target", "suppressUnitConversion", "id", "description"]),
    ("Units", &["Unit"], &[]),
    ("Unit", &["BaseUnit", "Annotations"], NAMED),
    ("BaseUnit", &[], &["kg", "m", "s", "A", "K", "mol", "cd", "rad", "factor", "offset"]),
    ("Enumerations", &["Enumeration"], &[]),
    ("Enumeration", &["Item", "Value", "Annotations"], &["name", "value", "id", "description"]),
    ("Item", &[], &["name", "value"]),
    ("Real", &[], NUMBER),
    ("Float64", &[], NUMBER),
    ("Float32", &[], NUMBER),
    ("Integer", &[], VALUE),
    ("Int8", &[], VALUE),
    ("UInt8", &[], VALUE),
    ("Int16", &[], VALUE),
    ("UInt16", &[], VALUE),
    ("Int32", &[], VALUE),
    ("UInt32", &[], VALUE),
    ("Int64", &[], VALUE),
    ("UInt64", &[], VALUE),
    ("Boolean", &[], VALUE),
    ("String", &["Value"], VALUE),
    ("Binary", &["Value"], &["value", "mime-type"]),
    ("Value", &[], VALUE),
    ("Dimension", &[], &["size", "sizeConnector"]),
];
