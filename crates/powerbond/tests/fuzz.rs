//! Tables and parameter sets that nobody would write: every answer is a table or an error about the input, soon, in bounded memory.
//!
//! System files and scenarios are damaged in `mutations.rs`, FMUs in `crates/fmi/tests/fuzz.rs`. Seeds are fixed: what fails once fails
//! always, and its text is in the message.

use powerbond::{Error, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Mutations of every seed.
const ROUNDS: u64 = 1500;
/// No input of this size takes longer, by far.
const PATIENCE: Duration = Duration::from_secs(5);
/// More than the process takes at most, in MB.
const MEMORY: u64 = 500;

const SYSTEM: &str = include_str!("../../../examples/quarter-car/system.toml");

const TABLES: &[&str] = &[
    "time,x\r\n0,1\r\n0.5,2.5\r\n1,-3e-7\r\n",
    "\u{feff}time,\"a \"\"quoted\"\" name, with\nlines\",y\n0,1,9223372036854775807\n\n1,nan,-inf\n",
    "time;x\n0;1,5\n",
];

const SETS: &[&str] = &[
    r#"<ssv:ParameterSet xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues"
    xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon" version="1.0" name="heavy">
  <ssv:Parameters>
    <ssv:Parameter name="chassis.mass"><ssv:Real value="0.6" unit="t"/></ssv:Parameter>
    <ssv:Parameter name="wheel.damper"><ssv:String value="square-root"/></ssv:Parameter>
  </ssv:Parameters>
  <ssv:Units>
    <ssc:Unit name="t"><ssc:BaseUnit kg="1" factor="1000"/></ssc:Unit>
  </ssv:Units>
</ssv:ParameterSet>"#,
    r#"<ParameterSet version="2.0" name="x"><Parameters>
<Parameter name="chassis.stiffness"><Float64 value="1 2 3"/></Parameter>
<Parameter name="wheel.mass"><Int32 value="40"/></Parameter>
<Parameter name="wheel.refresh"><Boolean value="true"/></Parameter>
<Parameter name="wheel.damper"><Binary value="00ff" mime-type="x"/></Parameter></Parameters></ParameterSet>"#,
];

/// Pieces that are put in: what has broken readers before.
const ODD: &[&str] = &[
    "nan",
    "inf",
    "-1e999",
    "1e-999",
    "0x10",
    "\u{0}",
    "\"",
    "\"\"",
    ",",
    "\n",
    "\r",
    "\t",
    "&lt;",
    "&#0;",
    "<!DOCTYPE a [",
    "]]>",
    "<a>",
    "</",
    "99999999999999999999999999",
    "\u{feff}",
    "é",
    "\u{1F600}",
    "../",
    "=",
    "''",
];

/// As large as the test likes: the same numbers in every run (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

/// Some damage, `most` times or less: bytes, pieces that are removed, doubled or repeated, odd words.
fn damage(seed: &str, most: usize, dice: &mut Dice) -> Vec<u8> {
    let mut bytes = seed.as_bytes().to_vec();
    for _ in 0..=dice.below(most) {
        let at = dice.below(bytes.len());
        let length = dice.below(32).min(bytes.len() - at);
        let piece = bytes[at..at + length].to_vec();
        match dice.below(6) {
            0 if !bytes.is_empty() => bytes[at] = dice.below(256) as u8,
            1 => drop(bytes.drain(at..at + length)),
            2 => {
                let to = dice.below(bytes.len());
                drop(bytes.splice(to..to, piece));
            }
            3 => drop(bytes.splice(at..at, piece.repeat(1 << dice.below(12)))),
            4 => bytes.truncate(at),
            _ => drop(bytes.splice(at..at, ODD[dice.below(ODD.len())].bytes())),
        }
    }
    bytes
}

/// Reads every mutation; how many were accepted and refused.
fn check(name: &str, seeds: &[&str], read: impl Fn(&PathBuf) -> Result<(), Error>) -> (u64, u64) {
    check_damaged(5, name, seeds, read)
}

/// The same with at most so many damages: a text in which nearly every character counts bears few.
fn check_damaged(
    most: usize,
    name: &str,
    seeds: &[&str],
    read: impl Fn(&PathBuf) -> Result<(), Error>,
) -> (u64, u64) {
    let path = std::env::temp_dir().join(format!("powerbond-fuzz-{}-{name}", std::process::id()));
    let mut dice = Dice(0x5EED_0F0F_1234_5677);
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..ROUNDS {
        for seed in seeds {
            let bytes = if round == 0 { seed.as_bytes().to_vec() } else { damage(seed, most, &mut dice) };
            std::fs::write(&path, &bytes).unwrap();
            let begun = Instant::now();
            let text = || String::from_utf8_lossy(&bytes).into_owned();
            match catch_unwind(AssertUnwindSafe(|| read(&path))) {
                Ok(Ok(())) => accepted += 1,
                Ok(Err(Error::Input(_))) => refused += 1,
                Ok(Err(other)) => panic!("{other} is not about the input:\n{}", text()),
                Err(_) => panic!("a panic in round {round}:\n{}", text()),
            }
            assert!(begun.elapsed() < PATIENCE, "{:?} for\n{}", begun.elapsed(), text());
        }
    }
    std::fs::remove_file(&path).unwrap();
    let megabytes = peak_megabytes();
    assert!(megabytes < MEMORY, "{megabytes} MB");
    (accepted, refused)
}

fn peak_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1000
}

/// Both kinds must be frequent, or the damage tests nothing.
#[track_caller]
fn both_are_frequent((accepted, refused): (u64, u64)) {
    assert!(accepted > 50 && refused > 50, "{accepted} accepted, {refused} refused");
}

#[test]
fn damaged_tables_are_read_or_refused() {
    both_are_frequent(check("table.csv", TABLES, |path| powerbond::table::read(path).map(drop)));
}

#[test]
fn damaged_tables_of_killed_runs_are_read_or_refused() {
    both_are_frequent(check("written.csv", TABLES, |path| {
        powerbond::table::csv::read_written(path).map(drop)
    }));
}

#[test]
fn damaged_parameter_sets_are_read_or_refused() {
    let system = System::parse("system.toml", SYSTEM).unwrap();
    let counts = check("set.ssv", SETS, |path| system.clone().set_from(path, None, false).map(drop));
    both_are_frequent(counts);
}

/// An FMU that is described only, beside the damaged files; its name in them.
fn described_fmu() -> String {
    let name = format!("powerbond-fuzz-{}-a.fmu", std::process::id());
    let folder = std::env::temp_dir().join(&name);
    std::fs::create_dir_all(&folder).unwrap();
    let description = include_str!("../../fmi/tests/fmus/integrator2.xml");
    std::fs::write(folder.join("modelDescription.xml"), description).unwrap();
    name
}

const STRUCTURE: &str = r##"<?xml version="1.0"?>
<ssd:SystemStructureDescription xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
  xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon" xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues"
  xmlns:ssm="http://ssp-standard.org/SSP1/SystemStructureParameterMapping" version="1.0" name="s">
<ssd:System name="s">
<ssd:ParameterBindings><ssd:ParameterBinding prefix="n."><ssd:ParameterValues><ssv:ParameterSet version="1.0" name="p"><ssv:Parameters>
<ssv:Parameter name="k"><ssv:Real value="2" unit="1"/></ssv:Parameter></ssv:Parameters></ssv:ParameterSet></ssd:ParameterValues>
<ssd:ParameterMapping><ssm:ParameterMapping version="1.0"><ssm:MappingEntry source="n.k" target="n.b.k"><ssc:LinearTransformation factor="2"/>
</ssm:MappingEntry></ssm:ParameterMapping></ssd:ParameterMapping></ssd:ParameterBinding></ssd:ParameterBindings>
<ssd:Elements><ssd:Component name="a" source="FMU"/>
<ssd:Component name="m" source="#n"/>
<ssd:System name="n" id="n"><ssd:Connectors><ssd:Connector name="v" kind="input"><ssc:Float64/><ssc:Dimension size="3"/></ssd:Connector><ssd:Connector name="u" kind="input"><ssc:Real unit="m/s"/></ssd:Connector></ssd:Connectors>
<ssd:Elements><ssd:Component name="b" source="FMU"/></ssd:Elements>
<ssd:Connections><ssd:Connection startConnector="u" endElement="b" endConnector="u"/></ssd:Connections></ssd:System></ssd:Elements>
<ssd:Connections><ssd:Connection startElement="m" startConnector="v" endElement="a" endConnector="x" startIndices="2"/>
<ssd:Connection startElement="a" startConnector="x" endElement="n" endConnector="u" suppressUnitConversion="true">
<ssc:LinearTransformation factor="-1" offset="0.5"/></ssd:Connection></ssd:Connections></ssd:System>
<ssd:DefaultExperiment startTime="0" stopTime="1"/>
<ssd:Annotations><ssc:Annotation type="io.github.powerbond"><p:S xmlns:p="x">
[simulation]
step = 0.1
</p:S></ssc:Annotation></ssd:Annotations>
</ssd:SystemStructureDescription>
"##;

const OSP: &str = r#"<?xml version="1.0"?>
<OspSystemStructure xmlns="http://opensimulationplatform.com/MSMI/OSPSystemStructure" version="0.1">
<StartTime>0</StartTime><BaseStepSize>0.1</BaseStepSize><Algorithm>fixedStep</Algorithm>
<Simulators><Simulator name="a" source="FMU" stepSize="0.2"><InitialValues><InitialValue variable="k"><Real value="2"/></InitialValue>
</InitialValues></Simulator><Simulator name="b" source="FMU"/></Simulators>
<Functions><Sum name="s" inputCount="2"/><VectorSum name="v" inputCount="2" dimension="1"/></Functions>
<Connections><VariableConnection powerBond="w"><Variable simulator="a" name="x"/><Variable simulator="b" name="u"/></VariableConnection>
<VariableConnection powerBond="w"><Variable simulator="b" name="x" causality="input"/><Variable simulator="a" name="u"/></VariableConnection>
</Connections></OspSystemStructure>
"#;

const MAPPING: &str = r#"<ssm:ParameterMapping xmlns:ssm="http://ssp-standard.org/SSP1/SystemStructureParameterMapping"
  xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon" version="1.0">
<ssm:MappingEntry source="a.mass" target="b.mass"><ssc:LinearTransformation factor="2"/></ssm:MappingEntry>
<ssm:MappingEntry source="x" target="y"><ssc:IntegerMappingTransformation><ssc:MapEntry source="1" target="2"/></ssc:IntegerMappingTransformation>
</ssm:MappingEntry></ssm:ParameterMapping>
"#;

#[test]
fn damaged_structures_are_read_or_refused() {
    let fmu = described_fmu();
    for (name, seed) in [("s.ssd", STRUCTURE), ("o.xml", OSP)] {
        let seed = seed.replace("FMU", &fmu);
        both_are_frequent(check_damaged(2, name, &[&seed], |path| System::load(path).map(drop)));
    }
}

#[test]
fn damaged_mappings_are_read_or_refused() {
    let set = std::env::temp_dir().join(format!("powerbond-fuzz-{}-empty.ssv", std::process::id()));
    std::fs::write(&set, "<ParameterSet><Parameters/></ParameterSet>").unwrap();
    let system = System::parse("system.toml", SYSTEM).unwrap();
    let counts =
        check("names.ssm", &[MAPPING], |path| system.clone().set_from(&set, Some(path), false).map(drop));
    std::fs::remove_file(&set).unwrap();
    both_are_frequent(counts);
}
