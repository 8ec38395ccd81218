//! Bonds that share an input, and bonds that are no power bonds.

use crate::lab::{Lab, close, edit};
use serde_json::Value;

/// Two masses on springs, with a mass between them that both springs act on.
const CHAIN: &str = r#"
[simulation]
stop = 2.0
step = 1e-3
[subsystems.left]
model = "oscillator/force-giver"
parameters = { mass = 1.0, stiffness = 10.0, coupling_stiffness = 100.0, initial_velocity = 100.0 }
[subsystems.mass]
model = "oscillator/mass"
parameters = { mass = 1.2, stiffness = 800.0, initial_velocity = -100.0 }
[subsystems.right]
model = "oscillator/force-giver"
parameters = { mass = 1.7, stiffness = 22.0, coupling_stiffness = 60.0, initial_velocity = -20.0 }
[[connections]]
from = ["left.force", "right.force"]
to = "mass.force"
[[connections]]
from = "mass.position"
to = "left.position"
[[connections]]
from = "mass.velocity"
to = "left.velocity"
[[connections]]
from = "mass.position"
to = "right.position"
[[connections]]
from = "mass.velocity"
to = "right.velocity"
"#;

const JUNCTION: &str = r#"
[bonds.both]
ports = [
  { input = "mass.force", output = "mass.velocity", sign = -1 },
  { input = "left.velocity", output = "left.force", sign = 1 },
  { input = "right.velocity", output = "right.force", sign = 1 },
]
"#;

const SHARES: &str = r#"
[bonds.left]
ports = [
  { input = "left.velocity", output = "left.force", sign = 1 },
  { input = "mass.force", output = "mass.velocity", sign = -1, from = "left.force" },
]
[bonds.right]
tolerance = 1e-3
ports = [
  { input = "right.velocity", output = "right.force", sign = 1 },
  { input = "mass.force", output = "mass.velocity", sign = -1, from = "right.force" },
]
"#;

fn run(system: &str) -> Lab {
    let lab = Lab::with(system);
    let ran = lab.run(&[]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    lab
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Two bonds on one input were refused. A junction is the sum of its branches: so are residuals, exchanged powers at the taker and
/// motion, up to the round-off of another order of additions.
#[test]
fn springs_on_one_mass_have_bonds_of_their_own() {
    for method in ["hold = 0", "hold = 1", "hold = 2", "schedule = \"gauss-seidel\"", "refresh = true"] {
        let [junction, shares] =
            [JUNCTION, SHARES].map(|bonds| run(&format!("{CHAIN}{bonds}[method]\n{method}\n")));
        let at_end = |lab: &Lab| *lab.results().column("mass.position").last().expect("a row");
        close(at_end(&shares), at_end(&junction), 1e-9);
        let bonds = shares.summary()["bonds"].clone();
        let sum = |key: &str| number(&bonds[0][key]) + number(&bonds[1][key]);
        let whole = junction.summary()["bonds"][0].clone();
        let scale = number(&whole["exchanged"]);
        assert!((sum("residual") - number(&whole["residual"])).abs() < 1e-9 * scale, "{method}: {bonds}");
        assert!(number(&bonds[0]["residual"]) != number(&bonds[1]["residual"]), "{method}");
        let net = |lab: &Lab| *lab.energy().column("mass.E_net").last().expect("a row");
        assert!((net(&shares) - net(&junction)).abs() < 1e-9 * scale, "{method}");
    }
}

/// By hand from rodriguez2022 eq. 9 at the first step: f_0 = 0, f_1 by one symplectic Euler step, δP = f_0 v_1 − f_1 v_0.
#[test]
fn every_share_has_its_own_residual_and_correction() {
    let method =
        "[record]\ndetails = true\n[method]\ncorrection = { kind = \"energy\", bonds = [\"left\"] }\n";
    let lab = run(&format!("{CHAIN}{SHARES}{method}"));
    let energy = lab.energy();
    let (results, v0) = (lab.results(), -100.0);
    for (bond, force) in [("left", "left.force"), ("right", "right.force")] {
        let expected = -results.column(force)[1] * v0;
        close(energy.column(&format!("{bond}.dP_last"))[0], expected, 1e-12);
        let power = results.column(force)[1] * results.column("mass.velocity")[1];
        close(energy.column(&format!("{bond}.P12"))[0], power, 1e-12);
    }
    // ζ = μ H δP with μ = 0.5, and f_corr = -ζ/(v H) in the next step.
    let (zeta, force) = (energy.column("left.zeta")[0], energy.column("left.f_corr")[1]);
    close(zeta, 0.5 * 1e-3 * energy.column("left.dP_last")[0], 1e-12);
    close(force, (zeta / (results.column("mass.velocity")[1] * 1e-3)).abs(), 1e-9);
    assert_eq!(energy.column("left.mu")[5], 0.5);
    let bonds = lab.summary()["bonds"].clone();
    assert!(bonds[0]["correction"].is_object() && bonds[1]["correction"].is_null(), "{bonds}");
}

#[test]
fn shares_that_cannot_be_are_refused_with_their_line() {
    let check = |old: &str, new: &str, parts: &[&str]| {
        let ran = Lab::with(&edit(&format!("{CHAIN}{SHARES}"), old, new)).run(&[]);
        assert_eq!(ran.code, 3, "{}", ran.err);
        for part in parts.iter().chain(&["system.toml:"]) {
            assert!(ran.err.contains(part), "`{part}` in {}", ran.err);
        }
    };
    check(
        "from = \"left.force\" }",
        "from = \"left.forse\" }",
        &["`left.forse` does not feed `mass.force`", "Did you mean `left.force`"],
    );
    check(", from = \"left.force\" }", " }", &["another port takes a share of `mass.force`", "`from`"]);
    check("from = \"left.force\" }", "from = \"right.force\" }", &["mass.force[right.force]"]);
    check(
        "from = \"left.force\" }",
        "from = [\"left.force\", \"right.force\"] }",
        &["2 connections in `from`"],
    );
}

/// Force times position is no power: N·m, in units of energy. As a pseudo-bond it is followed, and called nothing else.
#[test]
fn a_pseudo_bond_is_followed_and_not_called_power() {
    let bonds = "[bonds.heat]\nports = [\n  { input = \"mass.force\", output = \"mass.position\", sign = -1 },\n  \
                 { input = \"left.position\", output = \"left.force\", sign = 1 },\n  \
                 { input = \"right.position\", output = \"right.force\", sign = 1 },\n]\n";
    let ran = Lab::with(&format!("{CHAIN}{bonds}")).run(&[]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    let pseudo = edit(bonds, "[bonds.heat]\n", "[bonds.heat]\npseudo = true\n");
    let lab = Lab::with(&format!("{CHAIN}{pseudo}"));
    let ran = lab.run(&[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let line = ran.out.lines().find(|line| line.trim_start().starts_with("heat")).expect("the bond");
    assert!(!line.contains('J') && !line.contains('W'), "{line}");
    let summary = lab.summary();
    assert_eq!(summary["bonds"][0]["pseudo"], true);
    assert!(number(&summary["bonds"][0]["exchanged"]) > 0.0);
    assert_eq!(summary["energy"]["exchanged"], 0.0);
    assert!(summary["subsystems"].as_array().expect("a list").iter().all(|s| s["net_energy"].is_null()));
}
