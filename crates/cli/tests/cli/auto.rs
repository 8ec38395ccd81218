//! The default method from end to end: a tolerance is given, or nothing at all, and the rest is chosen.

use crate::lab::{Csv, Lab, Ran, close, edit, root};
use serde_json::Value;

/// The quarter car, integrated accurately inside, with neither a method nor a step.
const CAR: &str = r#"[simulation]
stop = 2.0

[subsystems.chassis]
model = "quarter-car/chassis"
parameters = { integrator = "accurate" }

[subsystems.wheel]
model = "quarter-car/wheel-suspension"
parameters = { integrator = "accurate" }

[[connections]]
from = "chassis.velocity"
to = "wheel.chassis_velocity"

[[connections]]
from = "wheel.suspension_force"
to = "chassis.force"
gain = -1.0

[inputs]
"wheel.road" = 0.1

[bonds.suspension]
ports = [
  { input = "chassis.force", output = "chassis.velocity", sign = -1 },
  { input = "wheel.chassis_velocity", output = "wheel.suspension_force", sign = -1 },
]
"#;

/// Every subsystem of a file gets more parameters.
fn able(system: &str, more: &str) -> String {
    system.replace("integrator = \"accurate\"", &format!("integrator = \"accurate\", {more}"))
}

fn runs(system: &str, options: &[&str]) -> (Lab, Ran) {
    let lab = Lab::with(system);
    let ran = lab.run(options);
    assert_eq!(ran.code, 0, "{}\n{system}", ran.err);
    (lab, ran)
}

/// A run with constant steps so short that its error is far below what is judged: a parabola through the past, refreshed.
fn fine(system: &str, steps: u32) -> Csv {
    let parsed: f64 = system.split("stop = ").nth(1).and_then(|s| s.lines().next()?.parse().ok()).unwrap();
    let step = format!("{:e}", parsed / f64::from(steps));
    let head = system.split("[method]").next().unwrap();
    let method = "\n[method]\nhold = 2\nrefresh = true\n";
    runs(&format!("{head}{method}"), &["-s", &step]).0.results()
}

/// rms over `columns` of rms(y - reference)/std(reference), weighed with time, at the times of the run.
fn error(run: &Csv, reference: &Csv, columns: &[&str]) -> f64 {
    let (times, fine) = (run.column("time"), reference.column("time"));
    let mut mean = 0.0;
    for name in columns {
        let (y, exact) = (run.column(name), reference.column(name));
        let [mut off, mut sum, mut square, mut total] = [0.0; 4];
        for k in 1..times.len() {
            let (t, h) = (times[k], times[k] - times[k - 1]);
            let i = fine.partition_point(|&x| x < t).clamp(1, fine.len() - 1);
            if h == 0.0 {
                continue; // The other side of a discontinuity.
            }
            let weight = (t - fine[i - 1]) / (fine[i] - fine[i - 1]);
            let value = exact[i - 1] + weight * (exact[i] - exact[i - 1]);
            off += h * (y[k] - value).powi(2);
            sum += h * value;
            square += h * value * value;
            total += h;
        }
        mean += off / (square - sum * sum / total);
    }
    (mean / columns.len() as f64).sqrt()
}

const OUTPUTS: &[&str] = &["chassis.velocity", "wheel.suspension_force"];

fn reason<'a>(summary: &'a Value, code: &str) -> Option<&'a Value> {
    summary["verdict"]["reasons"].as_array().unwrap().iter().find(|r| r["code"] == code)
}

fn choice<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let list = summary["choices"]["subsystems"].as_array().unwrap();
    list.iter().find(|s| s["name"] == name).unwrap_or_else(|| panic!("no `{name}` in {list:?}"))
}

#[test]
fn without_method_and_step_everything_is_chosen_and_shown() {
    let (lab, ran) = runs(CAR, &[]);
    let summary = lab.summary();
    assert_eq!(summary["config"]["method"]["kind"]["kind"], "auto");
    assert_eq!(summary["verdict"]["word"], "trustworthy", "{}", summary["verdict"]);
    for part in ["method      auto, tolerance 1e-3", "A: takes input derivatives", "limits the step"] {
        assert!(ran.out.contains(part), "`{part}` in\n{}", ran.out);
    }
    assert_eq!(choice(&summary, "wheel")["feed_through"], "refreshed");
    let shares: f64 =
        summary["choices"]["inputs"].as_array().unwrap().iter().map(|i| i["limited"].as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 0.1, "some input limits nearly every step: {shares}");
    // The same again in the table: which input limited each step, and its order.
    let energy = lab.energy();
    let inputs = summary["choices"]["inputs"].as_array().unwrap();
    let n = energy.rows.len() as f64;
    for (k, input) in inputs.iter().enumerate() {
        let share = |column: &str, value: f64| {
            energy.column(column).iter().filter(|&&x| x == value).count() as f64 / n
        };
        let near = |x: f64, y: &Value| assert!((x - y.as_f64().unwrap()).abs() < 1e-12, "{x} {y}");
        near(share("limited_by", (k + 1) as f64), &input["limited"]);
        let order = format!("order.{}", input["name"].as_str().unwrap());
        for m in 0..3 {
            near(share(&order, m as f64), &input["orders"][m]);
        }
    }
}

#[test]
fn a_step_size_means_constant_steps_and_a_tolerance_means_auto() {
    let (lab, _) = runs(CAR, &["--step-size", "1e-3"]);
    let summary = lab.summary();
    assert_eq!(summary["config"]["method"]["kind"], Value::Null);
    assert_eq!(summary["config"]["method"]["controller"]["kind"], "fixed");
    assert_eq!(summary["steps"]["accepted"], 2000);
    let ecco = format!("{CAR}\n[method]\nestimator = \"energy\"\ncontroller = \"ecco\"\n");
    let (lab, _) = runs(&ecco, &["--tolerance", "1e-2"]);
    let method = &lab.summary()["config"]["method"];
    assert_eq!((&method["kind"]["kind"], &method["estimator"]["kind"]), (&"auto".into(), &"jump".into()));
    assert_eq!(method["estimator"]["tolerance"], 1e-2);
}

/// A `[method]` with a tolerance alone is the default method with that tolerance.
#[test]
fn a_tolerance_alone_is_enough() {
    let (lab, _) = runs(&format!("{CAR}\n[method]\ntolerance = 1e-2\n"), &[]);
    let method = &lab.summary()["config"]["method"];
    assert_eq!((&method["kind"]["kind"], &method["estimator"]["tolerance"]), (&"auto".into(), &1e-2.into()));
}

/// Stairs of 20 ms, as a sampled controller gives them, and rows at the same times. `k · 0.02` and what is written in the
/// table differ by round-off at some of them: no step may be as short as that, and no stair may be smeared over a step. The
/// reference is a run with a hundredth of the tolerance.
#[test]
fn stairs_are_hit_once_and_the_error_stays_below_the_tolerance() {
    let height = |k: u32| 0.05 * (std::f64::consts::TAU * 0.02 * f64::from(k)).sin();
    let rows = (0..=100).map(|k| format!("{:.6},{:.9}\n", 0.02 * f64::from(k), height(k)));
    let table: String = std::iter::once("time,road\n".to_owned()).chain(rows).collect();
    let stairs = edit(
        CAR,
        "\"wheel.road\" = 0.1",
        "\"wheel.road\" = { table = \"road.csv\", column = \"road\", interpolation = \"hold\" }",
    );
    let system = edit(&stairs, "stop = 2.0", "stop = 2.0\noutput_interval = 0.02\noutput = \"land\"");
    let [rough, fine] = ["1e-3", "1e-5"].map(|tolerance| {
        let lab = Lab::with(&system);
        lab.write("road.csv", &table);
        lab.runs(&["--tolerance", tolerance]);
        let summary = lab.summary();
        let shortest = summary["step_size"]["min"].as_f64().unwrap();
        // The first step is 1e-8 of the run, 2e-8 s; round-off of 2 s is 4e-16 s.
        assert!(shortest > 1e-9, "a step of {shortest} s");
        let events = summary["steps"]["events"].as_u64().unwrap();
        // Neighbours that are equal to nine digits are no stair.
        assert!((94..=100).contains(&events), "{events} events");
        lab.results()
    });
    for column in ["chassis.velocity", "wheel.suspension_force"] {
        let (rough, fine) = (rough.column(column), fine.column(column));
        assert_eq!(rough.len(), 101);
        let range = fine.iter().fold(0.0f64, |a, x| a.max(x.abs())) * 2.0;
        let error = rough.iter().zip(&fine).fold(0.0f64, |a, (x, y)| a.max((x - y).abs())) / range;
        assert!(error < 1e-3, "{column}: {error}");
    }
}

#[test]
fn tolerances_that_make_no_sense_are_refused() {
    let lab = Lab::with(CAR);
    for bad in ["0", "-1", "nan", "1", "2", "inf"] {
        let ran = lab.run(&["--tolerance", bad]);
        assert_eq!(ran.code, 3, "{bad}: {}", ran.err);
        assert!(ran.err.contains("--tolerance"), "{bad}: {}", ran.err);
        assert!(!lab.dir.join("out").exists());
        let ran = Lab::with(&format!("{CAR}\n[method]\nkind = \"auto\"\ntolerance = {bad}\n")).run(&[]);
        assert_eq!(ran.code, 3, "{bad}: {}", ran.err);
        assert!(ran.err.contains("system.toml:"), "{bad}: {}", ran.err);
    }
    assert_eq!(lab.run(&["--tolerance", "small"]).code, 2);
    let check = |method: &str, parts: &[&str]| {
        let ran = Lab::with(&format!("{CAR}\n[method]\n{method}\n")).run(&[]);
        assert_eq!(ran.code, 3, "{method}: {}", ran.err);
        for part in parts {
            assert!(ran.err.contains(part), "`{part}` in\n{}", ran.err);
        }
    };
    check("tolerance = 1e-3\nhold = 1", &["system.toml:", "kind = \"auto\"", "estimator = {"]);
    check("kind = \"atuo\"", &["unknown kind `atuo`", "auto"]);
    check("kind = \"auto\"\nhold = \"varying\"", &["\"variable\""]);
    check("kind = \"auto\"\nslopes = \"outputs\"", &["hold = 1"]);
}

#[test]
fn what_a_subsystem_lacks_cannot_be_forced() {
    let check = |parameters: &str, method: &str, parts: &[&str]| {
        let system = format!("{}\n[method]\n{method}\n", able(CAR, parameters));
        let ran = Lab::with(&system).run(&[]);
        assert_eq!(ran.code, 3, "{method}: {}", ran.err);
        for part in parts {
            assert!(ran.err.contains(part), "`{part}` in\n{}", ran.err);
        }
    };
    check("refresh = \"no\"", "kind = \"auto\"\nrefresh = [\"wheel\"]", &["`wheel` does not recompute"]);
    check("refresh = \"no\"", "kind = \"auto\"\nrefresh = true", &["`wheel` does not recompute"]);
    check(
        "input_derivatives = 0, sub_steps = \"no\"",
        "kind = \"auto\"\nvalues_only = \"radau\"",
        &["`chassis` cannot be sub-stepped", "\"mean\""],
    );
    check("refresh = \"no\"", "kind = \"auto\"\nidentify = [\"weel\"]", &["Did you mean `wheel`?"]);
}

#[test]
fn the_error_follows_the_tolerance() {
    let reference = fine(CAR, 40_000);
    let mut last = f64::INFINITY;
    for tolerance in ["1e-2", "1e-3", "1e-4"] {
        let (lab, _) = runs(CAR, &["--tolerance", tolerance]);
        let off = error(&lab.results(), &reference, OUTPUTS);
        let most = 10.0 * tolerance.parse::<f64>().unwrap();
        assert!(off < most && off < 0.5 * last, "{tolerance}: {off}, before {last}");
        last = off;
    }
}

#[test]
fn classes_follow_from_what_subsystems_can_do() {
    let reference = fine(CAR, 40_000);
    let at = |tolerance: &str, parameters: &str, wanted: [&str; 3], most: f64| {
        let (lab, ran) = runs(&able(CAR, parameters), &["--tolerance", tolerance]);
        let summary = lab.summary();
        let wheel = choice(&summary, "wheel");
        assert_eq!(
            [&wheel["class"], &wheel["fed"], &wheel["feed_through"]],
            wanted,
            "{parameters}: {}",
            ran.out
        );
        assert_eq!(choice(&summary, "chassis")["feed_through"], "none");
        assert_eq!(
            summary["choices"]["identified"].as_array().unwrap().is_empty(),
            wanted[2] != "identified"
        );
        let off = error(&lab.results(), &reference, OUTPUTS);
        assert!(off < most, "{parameters}: {off}");
    };
    // What the classes are allowed at a tolerance of 1e-3: 10, 20, 40, 40 times; Da is not promised anything.
    let check = |parameters: &str, wanted: [&str; 3], most: f64| at("1e-3", parameters, wanted, most);
    check("refresh = \"yes\"", ["A", "derivatives", "refreshed"], 1e-2);
    // Some 350 steps at 1e-3 are too few to tell feed-through from integration at the end of the run.
    at("1e-4", "refresh = \"no\"", ["B", "derivatives", "identified"], 2e-3);
    at("1e-3", "refresh = \"no\"", ["B", "derivatives", "as stepped"], 2e-2);
    check("input_derivatives = 0", ["C", "radau", "refreshed"], 4e-2);
    check("input_derivatives = 0, sub_steps = \"no\"", ["C", "mean", "refreshed"], 4e-2);
    check("input_derivatives = 0, refresh = \"no\"", ["D", "radau", "identified"], 4e-2);
    let last = "input_derivatives = 0, refresh = \"no\", sub_steps = \"no\"";
    check(last, ["Da", "dithered mean", "identified"], 4e-2);
    // Mixed: each subsystem for itself.
    let mixed = edit(CAR, "integrator = \"accurate\"", "integrator = \"accurate\", input_derivatives = 0");
    let (lab, _) = runs(&mixed, &[]);
    let summary = lab.summary();
    assert_eq!(
        (&choice(&summary, "chassis")["class"], &choice(&summary, "chassis")["fed"]),
        (&"C".into(), &"radau".into())
    );
    assert_eq!(choice(&summary, "wheel")["class"], "A");
    assert!(error(&lab.results(), &reference, OUTPUTS) < 1e-2);
}

/// The gain that is found is that of the damper: ∂F/∂v = 1000 N s/m, by the equations.
#[test]
fn identified_feed_through_is_shown_with_its_confidence() {
    let (lab, ran) = runs(&able(CAR, "refresh = \"no\""), &["--tolerance", "1e-4"]);
    let summary = lab.summary();
    let found = &summary["choices"]["identified"][0];
    assert_eq!(
        (&found["output"], &found["input"]),
        (&"wheel.suspension_force".into(), &"wheel.chassis_velocity".into())
    );
    let gain = found["gain"].as_f64().unwrap();
    assert!((gain / 1000.0 - 1.0).abs() < 0.1, "{gain}");
    assert!(found["confidence"].as_f64().unwrap() > 0.9, "{found}");
    assert!(ran.out.contains("identified, confidence"), "{}", ran.out);
}

#[test]
fn a_system_with_nothing_to_exchange_runs_and_says_so() {
    let alone = "[simulation]\nstop = 1.0\n[subsystems.a]\nmodel = \"quarter-car/chassis\"\n[inputs]\n\"a.force\" = 1.0\n";
    let (lab, ran) = runs(alone, &[]);
    assert!(ran.err.contains("no numbers are exchanged between subsystems"), "{}", ran.err);
    assert_eq!(lab.summary()["steps"]["accepted"], 1000);
}

#[test]
fn a_known_jump_is_stepped_to() {
    let system = edit(CAR, "\"wheel.road\" = 0.1", "\"wheel.road\" = { step = { time = 0.7123, to = 0.1 } }");
    let (lab, _) = runs(&system, &[]);
    assert!(lab.results().column("time").contains(&0.7123));
    let summary = lab.summary();
    assert_eq!(summary["steps"]["events"], 1);
    assert!(reason(&summary, "discontinuity").is_none(), "{}", summary["verdict"]);
    let off = error(&lab.results(), &fine(&system, 40_000), OUTPUTS);
    assert!(off < 1e-2, "{off}");
}

#[test]
fn rates_schedules_and_other_parts_go_with_it() {
    let reference = fine(CAR, 40_000);
    let check = |system: &str, what: &str| {
        let (lab, ran) = runs(system, &[]);
        let summary = lab.summary();
        let off = error(&lab.results(), &reference, OUTPUTS);
        assert!(off < 1e-2, "{what}: {off}");
        assert_eq!(summary["verdict"]["word"], "trustworthy", "{what}: {}", ran.out);
    };
    check(&edit(CAR, "suspension\"\n", "suspension\"\nrate = 4\n"), "rate = 4");
    let method = |more: &str| format!("{CAR}\n[method]\nkind = \"auto\"\n{more}\n");
    check(&method("schedule = \"gauss-seidel\""), "Gauss–Seidel");
    check(&method("monitors = [\"energy\", \"richardson\"]"), "monitors");
    check(&method("controller = \"rollback\""), "rollback");
    let parts =
        "[method]\nhold = \"variable\"\nrefresh = \"auto\"\nestimator = \"jump\"\ncontroller = \"ecco\"\n";
    check(&format!("{CAR}\n{parts}"), "the parts one by one");
    check(CAR.split("[bonds").next().unwrap(), "plain signals");
}

#[test]
fn parts_of_the_default_work_with_the_papers_methods() {
    let reference = fine(CAR, 40_000);
    let off = |parameters: &str, method: &str| {
        let system = format!("{}\n[method]\n{method}\n", able(CAR, parameters));
        error(&runs(&system, &["-s", "1e-3"]).0.results(), &reference, OUTPUTS)
    };
    let any = "refresh = \"yes\"";
    let plain = off(any, "");
    let ecco = "estimator = { kind = \"energy\", tolerance = 1e-6 }\ncontroller = \"ecco\"\n";
    assert!(off(any, &format!("{ecco}hold = \"variable\"")) < plain);
    assert!(off(any, "correction = { kind = \"nepce\", gated = true }") < plain);
    // Identified, not asked: with varying steps as good as what the model says. A constant step with a zero-order hold does not tell
    // feed-through from integration, and says so.
    let weak = "refresh = \"no\", input_derivatives = 0";
    let nepce =
        |gains: &str| format!("correction = {{ kind = \"nepce\", alpha = 0.8, feed_through = {gains} }}");
    let varying = |gains: &str| off(weak, &format!("{ecco}{}", nepce(gains)));
    let (model, identified) = (varying("\"model\""), varying("\"identified\""));
    assert!((identified / model - 1.0).abs() < 0.02, "{identified} {model}");
    let constant = format!("{}\n[method]\n{}\n", able(CAR, weak), nepce("\"identified\""));
    let (_, ran) = runs(&constant, &["-s", "1e-3"]);
    assert!(ran.err.contains("was identified in 0 %"), "{}", ran.err);
    let mean = "hold = \"variable\"\nvalues_only = \"mean\"\n";
    assert!(off(weak, &format!("{mean}identify = true")) < 0.8 * off(weak, mean));
    // With the energy correction, too: ∂F/∂v = 1000 N s/m by the equations.
    let energy = format!("{}\n[method]\n{ecco}correction = \"energy\"\nidentify = true\n", able(CAR, weak));
    let summary = runs(&energy, &["-s", "1e-3"]).0.summary();
    close(summary["choices"]["identified"][0]["gain"].as_f64().unwrap(), 1000.0, 0.05);
    assert!(summary["bonds"][0]["correction"].is_object());
}

/// Three ports in one bond.
#[test]
fn junctions_and_vector_bonds_are_groups() {
    let junction = edit(crate::networks::TWO_WHEELS, "step = 1e-3\n", "");
    let accurate = |system: &str| {
        system
            .replace(
                "model = \"quarter-car/chassis\"",
                "model = \"quarter-car/chassis\"\nparameters = { integrator = \"accurate\" }",
            )
            .replace(
                "model = \"quarter-car/wheel-suspension\"",
                "model = \"quarter-car/wheel-suspension\"\nparameters = { integrator = \"accurate\" }",
            )
            .replace(
                "model = \"pendula/force-giver\"",
                "model = \"pendula/force-giver\"\nparameters = { integrator = \"accurate\" }",
            )
            .replace(
                "model = \"pendula/pendulum\"",
                "model = \"pendula/pendulum\"\nparameters = { integrator = \"accurate\" }",
            )
    };
    let pendula = std::fs::read_to_string(root().join("examples/pendula/refresh.toml")).unwrap();
    let pendula = pendula.split("[method]").next().unwrap();
    let pendula =
        edit(&edit(pendula, "step = 1e-3\noutput_interval = 0.01\n", ""), "stop = 30.0", "stop = 3.0");
    for (system, outputs) in [
        (junction, &["chassis.velocity", "left.suspension_force", "right.suspension_force"][..]),
        (pendula, &["right.position_x", "right.velocity_y", "left.force_x", "left.force_y"][..]),
    ] {
        let system = accurate(&system);
        let (lab, ran) = runs(&system, &[]);
        let off = error(&lab.results(), &fine(&system, 30_000), outputs);
        assert!(off < 1e-2, "{off}");
        assert_eq!(lab.summary()["verdict"]["word"], "trustworthy", "{}", ran.out);
    }
}

fn export(lab: &Lab, arguments: &[&str]) {
    let ran = lab.powerbond(&[&["export"], arguments].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
}

/// FMUs that can do the same are treated in the same way and make the same steps. FMI 3 has no input derivatives.
#[test]
fn fmus_get_the_choices_of_their_models() {
    let check = |derivatives: &str, refresh: &str, sub_steps: &str, versions: &[&str]| {
        let able = able(
            CAR,
            &format!(
                "input_derivatives = {derivatives}, refresh = \"{refresh}\", sub_steps = \"{sub_steps}\""
            ),
        );
        let (models, _) = runs(&able, &[]);
        for version in versions {
            let lab = Lab::with(
                &edit(
                    &edit(CAR, "model = \"quarter-car/chassis\"", "fmu = \"chassis.fmu\""),
                    "model = \"quarter-car/wheel-suspension\"",
                    "fmu = \"wheel.fmu\"",
                )
                .replace(
                    "parameters = ",
                    &format!(
                        "options = {{ input_derivatives = {derivatives}, whole_steps = {} }}\nparameters = ",
                        sub_steps == "no"
                    ),
                ),
            );
            for (model, file) in
                [("quarter-car/chassis", "chassis.fmu"), ("quarter-car/wheel-suspension", "wheel.fmu")]
            {
                let refresh = format!("refresh={refresh}");
                export(&lab, &[model, "--fmi", version, "--set", &refresh, "-o", file]);
            }
            lab.runs(&[]);
            let (a, b) = (models.summary(), lab.summary());
            assert_eq!(a["choices"], b["choices"], "{derivatives} {refresh} FMI {version}");
            assert_eq!(a["steps"], b["steps"], "{derivatives} {refresh} FMI {version}");
        }
    };
    check("2", "yes", "yes", &["2"]);
    check("1", "yes", "yes", &["2"]);
    check("2", "no", "yes", &["2"]);
    check("0", "yes", "yes", &["2", "3"]);
    check("0", "no", "yes", &["2", "3"]);
    check("0", "no", "no", &["2", "3"]);
}

/// Two integrators in a ring, x' = y, y' = −x: C FMUs with other step rules.
const RING: &str = r#"[simulation]
stop = 6.0
[subsystems.a]
fmu = "a"
parameters = { x0 = 1.0 }
[subsystems.b]
fmu = "b"
[[connections]]
from = "a.x"
to = "b.u"
convert_units = false
[[connections]]
from = "b.x"
to = "a.u"
gain = -1.0
convert_units = false
"#;

fn ring(change: impl Fn(String) -> String) -> Lab {
    let lab = Lab::with(RING);
    for folder in ["a", "b"] {
        lab.place("integrator3", folder);
        let path = lab.dir.join(folder).join("modelDescription.xml");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, if folder == "b" { change(text) } else { text }).unwrap();
    }
    lab
}

#[test]
fn own_steps_of_fmus_are_kept() {
    let handles = "canHandleVariableCommunicationStepSize=\"true\"";
    // cos t, at a tolerance of 1e-3.
    let follows_cosine = |lab: &Lab| {
        let results = lab.results();
        let off =
            results.column("time").into_iter().zip(results.column("a.x")).map(|(t, x)| (x - t.cos()).abs());
        let off = off.fold(0.0, f64::max);
        assert!(off < 1e-2, "{off}");
    };
    let free = ring(|xml| xml);
    free.runs(&[]);
    follows_cosine(&free);
    assert_eq!(free.summary()["verdict"]["word"], "trustworthy");

    let fixed = ring(|xml| edit(&xml, handles, &format!("{handles} fixedInternalStepSize=\"0.002\"")));
    fixed.runs(&[]);
    follows_cosine(&fixed);
    for h in fixed.energy().column("step_size") {
        let n = h / 0.002;
        assert!((n - n.round()).abs() < 1e-6 && n > 0.5, "{h}");
    }

    let constant = ring(|xml| edit(&xml, handles, "canHandleVariableCommunicationStepSize=\"false\""));
    let ran = constant.run(&[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("`b` supports one step size only: the step is constant"), "{}", ran.err);
    let summary = constant.summary();
    assert_eq!(
        (&summary["steps"]["accepted"], &summary["step_size"]["min"]),
        (&1000.into(), &summary["step_size"]["max"])
    );
    follows_cosine(&constant);

    // Both: a constant step that is a multiple of its own.
    let both = ring(|xml| {
        edit(
            &xml,
            handles,
            "canHandleVariableCommunicationStepSize=\"false\" fixedInternalStepSize=\"0.0025\"",
        )
    });
    let ran = both.run(&[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(both.summary()["step_size"]["max"], 0.005);
}

/// A whole number beside real ones is held, and not judged.
#[test]
fn discrete_signals_are_not_judged() {
    let lab = Lab::with(
        "[simulation]\nstop = 1.0\n[subsystems.a]\nfmu = \"a\"\n[subsystems.b]\nfmu = \"b\"\n\
         [[connections]]\nfrom = \"a.int_out\"\nto = \"b.int_in\"\n[[connections]]\nfrom = \"a.real_out\"\nto = \"b.real_in\"\n\
         convert_units = false\n[inputs]\n\"a.real_in\" = { sine = { frequency = 1.0 } }\n\"a.int_in\" = { step = { time = 0.5, to = 3 } }\n",
    );
    lab.place("types2", "a");
    lab.place("types2", "b");
    lab.runs(&[]);
    let summary = lab.summary();
    let inputs = summary["choices"]["inputs"].as_array().unwrap();
    let discrete = inputs.iter().find(|i| i["name"] == "b.int_in").unwrap();
    assert_eq!((&discrete["limited"], &discrete["orders"][0]), (&0.0.into(), &1.0.into()));
    assert!(lab.results().column("time").contains(&0.5));
    assert!(reason(&summary, "discontinuity").is_none());
}

#[test]
fn undamped_oscillators_are_named() {
    // Case 3 of rodriguez2022: two masses, a stiff spring, no damping.
    let system = std::fs::read_to_string(root().join("examples/oscillator/energy-correction.toml")).unwrap();
    let system =
        system.split("[method]").next().unwrap().replace("step = 1e-3\n", "").replace("rate = 10\n", "");
    let system = system.replace("input_derivatives = 0", "integrator = \"accurate\"");
    let (lab, ran) = runs(&system, &["--set", "method.correction=none", "-e", "30"]);
    let summary = lab.summary();
    let undamped = reason(&summary, "undamped").unwrap_or_else(|| panic!("{}", ran.out));
    // With give-back the bound is steered by what errors have come to, and they stay below the tolerance.
    let (lab, _) = runs(&system, &["--verify", "-e", "30"]);
    let steered = lab.summary();
    assert!(reason(&steered, "undamped").is_none(), "{}", steered["verdict"]);
    assert!(steered["verification"]["high"].as_f64().unwrap() < 1e-3, "{}", steered["verification"]);
    assert_eq!(undamped["level"], "note");
    assert!(undamped["value"].as_f64().unwrap() > 20.0, "{undamped}");
}

#[test]
fn a_step_floor_is_told() {
    let method =
        "[method]\nkind = \"auto\"\ntolerance = 1e-6\ncontroller = { kind = \"ecco\", min_step = 2e-3 }\n";
    let (lab, _) = runs(&format!("{CAR}\n{method}"), &[]);
    let summary = lab.summary();
    let floor = reason(&summary, "step_floor").expect("the floor");
    assert!(floor["text"].as_str().unwrap().contains("smallest step size"), "{floor}");
    assert!(floor["value"].as_f64().unwrap() > 0.1 && floor["level"] == "check", "{floor}");
}

/// A C FMU whose output cannot be predicted, into an integrator.
fn told_by(parameters: &str, options: &[&str]) -> (Value, Ran) {
    let lab = Lab::with(&format!(
        "[simulation]\nstop = 4.0\n[subsystems.a]\nfmu = \"a\"\nparameters = {{ {parameters} }}\n[subsystems.b]\nfmu = \"b\"\n\
         [[connections]]\nfrom = \"a.y\"\nto = \"b.u\"\nconvert_units = false\n"
    ));
    lab.place("signal2", "a");
    lab.place("integrator2", "b");
    let ran = lab.run(options);
    assert_eq!(ran.code, 0, "{}", ran.err);
    (lab.summary(), ran)
}

/// A slow sine, then 0.5 more from one instant to the next.
#[test]
fn a_jump_that_is_not_announced_is_named_with_its_time_and_input() {
    let (summary, ran) = told_by("f = 0.1, jump = 2.7, height = 0.5", &[]);
    let crossed = reason(&summary, "discontinuity").unwrap_or_else(|| panic!("{}", ran.out));
    assert_eq!((&crossed["level"], &crossed["connection"]), (&"check".into(), &"a.y -> b.u".into()));
    let (time, longest) = (crossed["time"].as_f64().unwrap(), summary["step_size"]["max"].as_f64().unwrap());
    assert!((2.7..=2.7 + longest).contains(&time), "{crossed}");
    assert!(
        ran.out.starts_with("CHECK") && ran.out.contains("`b.u` changed suddenly within a step of"),
        "{}",
        ran.out
    );
    let (summary, _) = told_by("f = 0.1", &[]);
    assert!(reason(&summary, "discontinuity").is_none());
}

/// Noise of 1e-3 of the amplitude is above a tolerance of 1e-3 (a line through it makes ten times more of it), and not of 0.1.
#[test]
fn noise_above_the_tolerance_is_named() {
    let (summary, ran) = told_by("f = 0.5, noise = 1e-3", &[]);
    let noise = reason(&summary, "noise").unwrap_or_else(|| panic!("{}", ran.out));
    assert_eq!((&noise["level"], &noise["connection"]), (&"check".into(), &"a.y -> b.u".into()));
    assert!(ran.out.contains("`b.u` has noise of"), "{}", ran.out);
    let steps = summary["steps"]["accepted"].as_u64().unwrap();
    assert!(steps < 100_000, "noise does not make the step collapse: {steps}");
    let (summary, _) = told_by("f = 0.5, noise = 1e-3", &["--tolerance", "0.1"]);
    assert!(reason(&summary, "noise").is_none(), "{}", summary["verdict"]);
    let (summary, _) = told_by("f = 0.5", &[]);
    assert!(reason(&summary, "noise").is_none(), "{}", summary["verdict"]);
}
