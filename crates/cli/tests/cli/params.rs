//! Parameter files of SSP.

use crate::lab::{Lab, close, edit, plain};

/// A file with these `Parameter` elements and units.
fn ssv(parameters: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<ssv:ParameterSet xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues"
    xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon" version="1.0" name="p">
  <ssv:Parameters>
{parameters}
  </ssv:Parameters>
  <ssv:Units>
    <ssc:Unit name="tonne"><ssc:BaseUnit kg="1" factor="1000"/></ssc:Unit>
    <ssc:Unit name="km"><ssc:BaseUnit m="1" factor="1000"/></ssc:Unit>
  </ssv:Units>
</ssv:ParameterSet>
"#
    )
}

fn real(name: &str, value: &str) -> String {
    format!(r#"    <ssv:Parameter name="{name}"><ssv:Real value="{value}"/></ssv:Parameter>"#)
}

/// After two steps the chassis has the velocity F·h/m, with the force F of a wheel that it has not yet moved.
#[test]
fn values_go_over_the_file_and_below_set() {
    let system = edit(plain(), "mass = 400.0", "mass = 100.0");
    let lab = Lab::with(&system);
    lab.write("a.ssv", ssv(&real("chassis.mass", "200")));
    lab.write("b.ssv", ssv(&real("chassis.mass", "800")));
    let unit =
        r#"    <ssv:Parameter name="chassis.mass"><ssv:Real value="0.4" unit="tonne"/></ssv:Parameter>"#;
    lab.write("c.ssv", ssv(unit));
    let velocity = |options: &[&str]| {
        lab.runs(&[&["-s", "1e-3", "-e", "2e-3"], options].concat());
        lab.results().column("chassis.velocity")[2]
    };
    let light = velocity(&[]);
    close(velocity(&["--params", "a.ssv"]), light / 2.0, 1e-15);
    close(velocity(&["--params", "a.ssv", "--params", "b.ssv"]), light / 8.0, 1e-15);
    close(velocity(&["--params", "b.ssv", "--params", "a.ssv"]), light / 2.0, 1e-15);
    close(velocity(&["--params", "c.ssv"]), light / 4.0, 1e-15);
    assert_eq!(lab.summary()["config"]["simulation"]["params"], serde_json::json!(["c.ssv"]));
    assert_eq!(lab.summary()["config"]["parameters"]["chassis.mass"], 400.0);
    assert_eq!(lab.summary()["hashes"]["params"][0].as_str().map(str::len), Some(64));
    close(velocity(&["--set", "chassis.mass=50", "--params", "a.ssv"]), light * 2.0, 1e-15);

    // In the system file: below what stands there itself, the last file over the first.
    lab.write("system.toml", edit(&system, "[simulation]", "[simulation]\nparams = [\"a.ssv\", \"b.ssv\"]"));
    close(velocity(&[]), light, 1e-15);
    let without = edit(plain(), "parameters = { mass = 400.0 }\n", "");
    let without = edit(&without, "[simulation]", "[simulation]\nparams = [\"a.ssv\", \"b.ssv\"]");
    lab.write("system.toml", without);
    close(velocity(&[]), light / 8.0, 1e-15);
    close(velocity(&["--params", "a.ssv"]), light / 2.0, 1e-15);
}

#[test]
fn every_type_is_read_and_units_are_converted() {
    let lab = Lab::with(
        "[simulation]\nstop = 1.0\nstep = 0.25\n[subsystems.a]\nfmu = \"a\"\n[subsystems.b]\nfmu = \"b\"\n",
    );
    lab.place("integrator2", "a");
    lab.place("types2", "b");
    let parameter = |name: &str, value: &str| {
        format!("    <ssv:Parameter name=\"{name}\"><ssv:{value}/></ssv:Parameter>\n")
    };
    let all = [
        parameter("a.x0", "Real value=\"0.002\" unit=\"km\""),
        parameter("a.k", "Float64 value=\"3\""),
        parameter("b.int_in", "Integer value=\"-7\""),
        parameter("b.bool_in", "Boolean value=\"true\""),
        parameter("b.gear_in", "Enumeration value=\"reverse\""),
        parameter("b.text_in", "String value=\"good &amp; day\""),
        parameter("b.real_in", "Real value=\"1.5e3\" unit=\"N\""),
    ];
    lab.write("p.ssv", ssv(&all.concat()));
    lab.runs(&["--params", "p.ssv"]);
    let results = lab.results();
    assert_eq!(results.column("a.x")[0], 2.0);
    let first = |name: &str| results.column(name)[0];
    assert_eq!((first("b.int_in"), first("b.bool_in"), first("b.gear_in")), (-7.0, 1.0, -1.0));
    assert_eq!(first("b.real_in"), 1.5, "it is in kN");
    assert_eq!(lab.summary()["config"]["parameters"]["b.text_in"], "good & day");
}

#[test]
fn the_only_subsystem_needs_no_name() {
    let lab = Lab::new();
    lab.place("integrator2", "a");
    lab.write("p.ssv", ssv(&real("x0", "5")));
    let ran = lab.powerbond(&["run", "a", "--params", "p.ssv", "--output-dir", "out"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(lab.results().column("a.x")[0], 5.0);
}

#[test]
fn mistakes_have_file_and_line() {
    let lab = Lab::with(plain());
    let check = |text: &str, wanted: &str| {
        lab.write("p.ssv", text);
        let ran = lab.run(&["--params", "p.ssv"]);
        assert_eq!(ran.code, 3, "{}", ran.err);
        assert!(ran.err.contains(wanted), "`{wanted}` in\n{}", ran.err);
        assert!(!lab.dir.join("out").exists());
    };
    let value = |name: &str, value: &str| {
        ssv(&format!("    <ssv:Parameter name=\"{name}\"><ssv:{value}/></ssv:Parameter>"))
    };
    check(&ssv(&real("chasis.mass", "1")), "p.ssv:5:10: unknown subsystem `chasis`. Did you mean `chassis`?");
    check(&ssv(&real("chassis.maas", "1")), "p.ssv:5:10: ");
    check(&ssv(&real("chassis.maas", "1")), "Did you mean `mass`?");
    check(&ssv(&real("mass", "1")), "`mass`: missing subsystem");
    check(&ssv(&real("chassis.mass", "heavy")), "`chassis.mass` is `heavy`; expected a number in `Real`");
    check(&ssv(&real("chassis.mass", "-1")), "p.ssv:5:10: ");
    check(&value("chassis.mass", "Integer value=\"1.5\""), "expected an integer in `Integer`");
    check(&value("chassis.mass", "Boolean value=\"maybe\""), "expected `true` or `false` in `Boolean`");
    check(&value("chassis.mass", "Real"), "`Real` lacks `value`");
    check(&value("chassis.mass", "Rael value=\"1\""), "`chassis.mass` lacks a value. Did you mean `Real`?");
    check(
        &value("chassis.mass", "Real value=\"1\" unit=\"km\""),
        "which is in kg: units of different quantities",
    );
    check(&value("chassis.mass", "Real value=\"1\" unit=\"stone\""), "define the unit in `Units`");
    check("<a/>", "p.ssv:1:2: found `a`, expected `ssv:ParameterSet`");
    check("<a>\n<b></a>", "p.ssv:2:1: not well-formed XML");
    check("<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", "document type declarations are not supported");
    let missing = lab.run(&["--params", "none.ssv"]);
    assert_eq!(missing.code, 3);
    assert!(missing.err.contains("cannot read none.ssv"), "{}", missing.err);
}
