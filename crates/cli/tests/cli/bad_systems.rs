//! System files that are refused: exit 3, a message for each mistake with file and line, what was found and what would be right.

use crate::lab::{EXAMPLE, Lab, edit};
use crate::networks::TWO_WHEELS;

/// Replaces `old` by `new` in the example. The message must name the line where `at` stands and contain `says`.
#[track_caller]
fn check(old: &str, new: &str, at: &str, says: &[&str]) {
    check_text(&edit(EXAMPLE, old, new), at, says);
}

#[track_caller]
fn check_text(text: &str, at: &str, says: &[&str]) {
    let lab = Lab::with(text);
    let ran = lab.run(&[]);
    let line = 1 + text[..text.find(at).expect("the place")].matches('\n').count();
    assert_eq!(ran.code, 3, "{}\n{}", ran.err, ran.out);
    assert!(ran.err.starts_with(&format!("error: system.toml:{line}:")), "line {line} of\n{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "one message: {}", ran.err);
    for part in says {
        assert!(ran.err.contains(part), "`{part}` in\n{}", ran.err);
    }
    assert!(ran.out.is_empty() && !lab.dir.join("out").exists(), "nothing was begun");
}

/// Replaces `old` by `new`, whose last line is to be named.
#[track_caller]
fn refuses(old: &str, new: &str, says: &[&str]) {
    check(old, new, new.lines().last().unwrap(), says);
}

/// Replaces every `old` by its `new` in the example. All messages are wanted, in the order of their lines, each as the text that
/// stands at its place and what is said about it.
#[track_caller]
fn refuses_all(edits: &[(&str, &str)], wanted: &[(&str, &str)]) {
    let text = edits.iter().fold(EXAMPLE.to_owned(), |text, (old, new)| edit(&text, old, new));
    let ran = Lab::with(&text).run(&[]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    let expected: Vec<String> = wanted
        .iter()
        .map(|(at, says)| {
            let before = &text[..text.find(at).expect("the place")];
            let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
            format!("error: system.toml:{}:{column}: {says}", 1 + before.matches('\n').count())
        })
        .collect();
    assert_eq!(ran.err.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn all_mistakes_of_a_file_are_told_at_once_and_in_order() {
    refuses_all(
        &[
            ("stop = 4.0", "stop = \"4\"\nstpe = 1"),
            ("model = \"quarter-car/chassis\"\n", "modle = \"quarter-car/chassis\"\n"),
            ("from = \"chassis.velocity\"", "from = \"velocity\""),
            ("gain = -1.0", "gian = -1.0"),
            ("\"wheel.road\" = 0.1", "\"wheel.road\" = { stpe = 1 }"),
            ("sign = -1 },\n]", "sign = \"-\" },\n]"),
            ("kind = \"ecco\"", "kind = \"eco\""),
        ],
        &[
            ("\"4\"", "`stop` is the string \"4\"; expected a number"),
            ("stpe = 1\n", "unknown key `stpe` in `[simulation]`. Did you mean `step`?"),
            ("modle", "unknown key `modle` in subsystem `chassis`. Did you mean `model`?"),
            ("\"velocity\"", "`velocity` is not a variable; write it as \"subsystem.variable\""),
            ("gian", "unknown key `gian` in a connection. Did you mean `gain`?"),
            ("stpe = 1 }", "unknown key `stpe` in an input. Did you mean `step`?"),
            ("\"-\"", "`sign` is the string \"-\"; expected a number"),
            ("\"eco\"", "unknown controller `eco`. Did you mean `ecco`?"),
        ],
    );
}

/// A part that cannot be made hides nothing of the others; what touches it is not told.
#[test]
fn mistakes_of_all_stages_are_told_at_once() {
    refuses_all(
        &[
            ("stop = 4.0", "stop = -4.0"),
            ("model = \"quarter-car/chassis\"\n", "model = \"quarter-car/chasis\"\n"),
            ("from = \"wheel.suspension_force\"", "from = \"chassis.anything\""),
            ("\"wheel.road\" = 0.1", "\"wheel.raod\" = 0.1"),
        ],
        &[
            ("-4.0", "start 0 s, stop -4 s; the stop must be after the start"),
            (
                "\"quarter-car/chasis\"",
                "unknown model `quarter-car/chasis`. Did you mean `quarter-car/chassis`?",
            ),
            (
                "\"wheel.raod\"",
                "`wheel` (quarter-car/wheel-suspension): unknown input `raod`. Did you mean `road`?",
            ),
        ],
    );
}

/// Names are looked up once the file can be read: what follows from a wrong one is not told.
#[test]
fn all_names_that_do_not_exist_are_told_at_once() {
    refuses_all(
        &[
            ("from = \"chassis.velocity\"", "from = \"chasis.velocity\""),
            ("to = \"chassis.force\"", "to = \"chassis.froce\""),
            ("\"wheel.road\" = 0.1", "\"wheel.raod\" = 0.1"),
            ("output = \"wheel.suspension_force\"", "output = \"wheel.force\""),
        ],
        &[
            ("\"chasis.velocity\"", "unknown subsystem `chasis`. Did you mean `chassis`?"),
            (
                "\"chassis.froce\"",
                "`chassis` (quarter-car/chassis): unknown input `froce`. Did you mean `force`?",
            ),
            (
                "\"wheel.raod\"",
                "`wheel` (quarter-car/wheel-suspension): unknown input `raod`. Did you mean `road`?",
            ),
            (
                "\"wheel.force\"",
                "`wheel` (quarter-car/wheel-suspension): unknown output `force`. There are: suspension_force.",
            ),
        ],
    );
    refuses_all(
        &[("mass = 400.0", "maas = 400.0"), ("damper = \"linear\"", "damper = \"lineer\"")],
        &[
            ("maas", "model `quarter-car/chassis`: unknown parameter `maas`. Did you mean `mass`?"),
            (
                "damper = \"lineer\"",
                "`damper` is \"lineer\"; expected one of \"linear\", \"square-root\", \"power\"",
            ),
        ],
    );
}

#[test]
fn of_very_many_mistakes_the_first_are_told() {
    let many: String =
        (0..50).map(|n| format!("[[connections]]\nform = \"a.{n}\"\nto = \"b.{n}\"\n")).collect();
    let ran = Lab::with(&edit(EXAMPLE, "[inputs]", &format!("{many}[inputs]"))).run(&[]);
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!((ran.code, lines.len(), lines[20]), (3, 21, "error: … and 30 more"), "{}", ran.err);
}

#[test]
fn unknown_names_get_a_suggestion() {
    refuses(
        "\"quarter-car/chassis\"",
        "\"quarter-car/chasis\"",
        &["unknown model `quarter-car/chasis`", "Did you mean `quarter-car/chassis`?"],
    );
    refuses(
        "\"quarter-car/chassis\"",
        "\"tank\"",
        &["unknown model `tank`", "There are: quarter-car/chassis, "],
    );
    refuses(
        "from = \"chassis.velocity\"",
        "from = \"chasis.velocity\"",
        &["unknown subsystem `chasis`", "Did you mean `chassis`?"],
    );
    refuses(
        "from = \"chassis.velocity\"",
        "from = \"chassis.velocty\"",
        &["`chassis` (quarter-car/chassis): unknown output `velocty`", "Did you mean `velocity`?"],
    );
    refuses("to = \"chassis.force\"", "to = \"chassis.froce\"", &[": unknown input `froce`", "`force`"]);
    refuses("\"wheel.road\"", "\"wheel.raod\"", &[": unknown input `raod`", "Did you mean `road`?"]);
    refuses("mass = 400.0", "maas = 400.0", &["unknown parameter `maas`", "Did you mean `mass`?"]);
    refuses(
        "safety = 0.8",
        "saftey = 0.8",
        &["unknown key `saftey` in controller `ecco`", "Did you mean `safety`?"],
    );
    refuses("kind = \"ecco\"", "kind = \"eco\"", &["unknown controller `eco`", "Did you mean `ecco`?"]);
    refuses(
        "[method]",
        "[method]\nschedule = \"gauss\"",
        &["unknown schedule `gauss`", "jacobi, gauss-seidel"],
    )
}

#[test]
fn unknown_keys_get_a_suggestion() {
    let keys = |old: &str, new: &str, at: &str, near: &str| {
        check(old, new, at, &[&format!("Did you mean `{near}`?")])
    };
    keys("[simulation]", "[simulatoin]", "[simulatoin]", "simulation");
    keys("stop = 4.0", "stop = 4.0\nstpo = 5.0", "stpo", "stop");
    keys(
        "model = \"quarter-car/chassis\"",
        "model = \"quarter-car/chassis\"\nparameter = {}",
        "parameter =",
        "parameters",
    );
    keys("gain = -1.0", "gian = -1.0", "gian", "gain");
    keys("sign = -1 },\n]", "sgin = -1 },\n]", "sgin", "sign");
    keys("[method]", "[method]\nholdz = 1", "holdz", "hold");
    keys("name = ", "nmae = ", "nmae", "name");
    check(
        "[method]",
        "[record]\nvariable = []\n[method]",
        "variable",
        &["unknown key `variable` in `[record]`"],
    );
}

#[test]
fn unknown_names_inside_the_method_get_a_suggestion() {
    let method = |line: &str, says: &[&str]| check("[method]", &format!("[method]\n{line}"), line, says);
    method(
        "holds = { \"wheel.chasis_velocity\" = 1 }",
        &["is not a connected input", "`wheel.chassis_velocity`?"],
    );
    method("refresh = [\"whel\"]", &["unknown subsystem `whel`", "Did you mean `wheel`?"]);
    method(
        "schedule = { kind = \"gauss-seidel\", order = [\"whel\", \"chassis\"] }",
        &["Did you mean `wheel`?"],
    );
    method("schedule = { kind = \"gauss-seidel\", order = [\"wheel\"] }", &["lacks `chassis`"]);
    method("schedule = { kind = \"gauss-seidel\", order = [\"wheel\", \"wheel\"] }", &["`wheel` twice"]);
    method("monitors = [\"preditcor\"]", &["unknown estimator `preditcor`", "`predictor`?"]);
    method("correction = { kind = \"nepce\", alpha = { \"chassis.froce\" = 1 } }", &["`chassis.force`?"]);
    method(
        "correction = { kind = \"nepce\", feed_through = { \"a/b\" = 1 } }",
        &["not a feed-through pair", "wheel.suspension_force/wheel.chassis_velocity"],
    );
    method("meter = \"simpson\"", &["\"simpson\"", "\"held\", \"rectangle\", \"trapezoid\""]);
    check(
        "[method]",
        "[record]\nvariables = [\"wheel.velocty\"]\n[method]",
        "velocty",
        &["no variable matches", "`wheel.velocity`?"],
    );
}

#[test]
fn wrong_types_say_what_was_found_and_what_is_needed() {
    refuses("stop = 4.0", "stop = \"4\"", &["`stop` is the string \"4\"", "expected a number"]);
    refuses("mass = 400.0", "mass = \"heavy\"", &["`mass` is \"heavy\"", "expected a number"]);
    refuses("mass = 400.0", "mass = [400]", &["`mass` is a list", "a number"]);
    refuses(
        "damper = \"linear\"",
        "damper = \"lineer\"",
        &["\"lineer\"", "one of \"linear\", \"square-root\", \"power\""],
    );
    refuses("damper = \"linear\"", "damper = 3", &["`damper` is 3", "one of"]);
    refuses("micro_steps = 10", "micro_steps = 1.5", &["1.5", "an integer from 1"]);
    refuses("gain = -1.0", "gain = \"x\"", &["the string \"x\"", "a number"]);
    refuses("gain = -1.0", "gain = [-1.0, 1.0]", &["2 gains for 1 sources"]);
    refuses("gain = -1.0", "gain = -1.0\nconvert_units = 1", &["`true` or `false`"]);
    refuses("from = \"chassis.velocity\"", "from = 3", &["`from` is 3", "a string or a list"]);
    refuses("from = \"chassis.velocity\"", "from = []", &["`from` is empty"]);
    refuses("from = \"chassis.velocity\"", "from = \"velocity\"", &["\"subsystem.variable\""]);
    refuses(
        "\"wheel.road\" = 0.1",
        "\"wheel.road\" = \"high\"",
        &["\"high\" for `wheel.road`", "expected a number"],
    );
    refuses("\"wheel.road\" = 0.1", "wheel.road = 0.1", &["needs quotes", "\"wheel.road\" = …"]);
    refuses("[method]", "[method]\nhold = 4", &["`hold` is 4", "from 0 to 3"]);
    refuses("[method]", "[method]\nrefresh = 3", &["`refresh` is 3"]);
    check("kind = \"ecco\", ", "", "controller =", &["select another one with `kind`: ecco"]);
    check("model = \"quarter-car/chassis\"\n", "", "[subsystems.chassis]", &["lacks `model`"]);
    check("stop = 4.0", "stop = 4.0\noutput = \"lnad\"", "lnad", &["\"interpolate\", \"land\""]);
    check("stop = 4.0", "stop = 4.0\noutput = \"land\"", "land\"", &["needs an `output_interval`"]);
    check("[subsystems.chassis]", "[subsystems.\"cha.ssis\"]", "cha.ssis", &["no dot"]);
}

#[test]
fn numbers_out_of_bounds_are_refused() {
    refuses("mass = 400.0", "mass = -1", &["`mass` is -1", "above 0"]);
    refuses("mass = 400.0", "mass = 0", &["`mass` is 0", "above 0"]);
    refuses("mass = 400.0", "mass = nan", &["`mass` is NaN", "finite"]);
    refuses("micro_steps = 10", "micro_steps = 0", &["`micro_steps` is 0"]);
    for (value, said) in
        [("0", "above 0"), ("-1", "above 0"), ("nan", "finite"), ("inf", "finite"), ("100", "longer")]
    {
        refuses("step = 1e-4", &format!("step = {value}"), &[said]);
        check("stop = 4.0", &format!("stop = 4.0\noutput_interval = {value}"), "output_interval", &[said]);
    }
    refuses("step = 1e-4", "step = 1e-30", &["1e-30 s", "too small for a run of"]);
    refuses("stop = 4.0", "stop = 4.0\noutput_interval = 1e-12", &["1e-12 s", "4e12 rows"]);
    for (value, said) in
        [("0", "1e-16 to"), ("-1", "1e-16"), ("nan", "finite"), ("inf", "finite"), ("1e300", "1e300")]
    {
        refuses("tolerance = 2.8e-6", &format!("tolerance = {value}"), &["`tolerance` is ", said]);
        check(
            "[bonds.suspension]",
            &format!("[bonds.suspension]\ntolerance = {value}"),
            "tolerance",
            &[said],
        );
    }
    refuses("energy_scale = 750.0", "energy_scale = -1", &["`energy_scale` is -1", "from 0"]);
    refuses("gain = -1.0", "gain = nan", &["`gain` is nan", "finite"]);
    refuses("gain = -1.0", "gain = -1.0\noffset = inf", &["`offset` is inf", "finite"]);
    refuses("safety = 0.8", "safety = 0", &["above 0, at most 1"]);
    refuses("safety = 0.8", "safety = 1.8", &["`safety` is 1.8"]);
    refuses("min_rate = 0.2", "min_rate = 0", &["above 0, at most 1"]);
    refuses("max_rate = 1.5", "max_rate = 0.5", &["from 1 to"]);
    for gain in ["integral_gain", "proportional_gain"] {
        for value in ["-1", "nan", "1e9"] {
            refuses("safety = 0.8", &format!("{gain} = {value}"), &[&format!("`{gain}` is {value}")]);
        }
    }
    refuses("min_step = 1e-4", "min_step = 0", &["above 0"]);
    refuses("min_step = 1e-4", "min_step = -1", &["above 0"]);
    refuses("max_step = 1e-2", "max_step = inf", &["finite"]);
    refuses("min_step = 1e-4", "min_step = 1", &["`min_step` = 1 s is larger than `max_step` = 0.01 s"]);
    // A floor that the clock cannot resolve made the run go on for ever.
    refuses("min_step = 1e-4", "min_step = 1e-30", &["`min_step` is 1e-30 s", "too small for a run of"]);
    refuses(
        "[method]",
        "[method]\ncorrection = { kind = \"nepce\", alpha = 2 }",
        &["`alpha` is 2", "from 0 to 1"],
    );
    let rate = |line: &str, says: &[&str]| {
        let model = "model = \"quarter-car/chassis\"";
        check(model, &format!("{model}\n{line}"), line, says);
    };
    rate("rate = 0", &["an integer from 1"]);
    rate("rate = 100000000", &["an integer from 1 to 100000"]);
    rate("step = 3e-5", &["not an integer fraction", "0.000033333333333333335 s and 0.000025 s"]);
    rate("step = 3e-4", &["It cannot be longer"]);
    rate("step = 0", &["above 0"]);
    rate("step = 1e-20", &["At most 100000"]);
    refuses(
        "model = \"quarter-car/chassis\"",
        "model = \"quarter-car/chassis\"\nrate = 2\nstep = 5e-5",
        &["both `rate` and `step`"],
    );
}

#[test]
fn the_energy_correction_is_checked() {
    let check = |knob: &str, says: &[&str]| {
        refuses("[method]", &format!("[method]\ncorrection = {{ kind = \"energy\", {knob} }}"), says);
    };
    check("mu = 3", &["`mu` is 3", "expected 0 to 1", "beyond_limits"]);
    check("mu = nan", &["`mu` is nan", "finite"]);
    check("nu = -1", &["`nu` is -1", "expected 0 to 1"]);
    check("cap = -1", &["`cap` is -1", "0 or more"]);
    check("absolute_cap = -1", &["`absolute_cap` is -1", "from 0"]);
    check("form = \"dif\"", &["\"power\", \"difference\""]);
    check("bonds = [\"suspensoin\"]", &["unknown bond `suspensoin`", "Did you mean `suspension`?"]);
    check("takes_force = [\"chasis\"]", &["unknown subsystem `chasis`", "Did you mean `chassis`?"]);
    check("takes_force = [\"chassis\", \"wheel\"]", &["expected one"]);
}

#[test]
fn the_run_must_end_after_it_starts() {
    refuses("stop = 4.0", "stop = -1.0", &["start 0 s, stop -1 s"]);
    refuses("stop = 4.0", "stop = 0.0", &["must be after the start"]);
    refuses("stop = 4.0", "stop = inf", &["`stop` is inf", "finite"]);
    check("stop = 4.0\n", "", "# A quarter car", &["missing stop time", "`--end-time`"]);
    check("start = 0.0\nstop = 4.0", "start = -1e308\nstop = 1e308", "stop = 1e308", &["-1e308 s"]);
    // Steps that vanish beside the time itself.
    check(
        "start = 0.0\nstop = 4.0",
        "start = 1e16\nstop = 10000000000000004",
        "step = 1e-4",
        &["too small for a run of"],
    );
}

#[test]
fn an_input_has_one_feeder() {
    let twice = "[[connections]]\nfrom = \"chassis.velocity\"\nto = \"wheel.chassis_velocity\" # again\n\n";
    check(
        "[inputs]",
        &format!("{twice}[inputs]"),
        "# again",
        &["`wheel.chassis_velocity` has a source already", "from = ["],
    );
    check(
        "[inputs]",
        "[inputs]\n\"chassis.force\" = 1.0",
        "\"chassis.force\" = 1.0",
        &["has a source already, a connection"],
    );
    check(
        "\"wheel.road\" = 0.1",
        "\"wheel.road\" = 0.1\n\"wheel.road\" = 0.2",
        "\"wheel.road\" = 0.2",
        &["duplicate key"],
    );
    refuses(
        "from = \"chassis.velocity\"",
        "from = \"chassis.force\"",
        &["`chassis.force` is an input", "expected an output"],
    );
    refuses(
        "to = \"chassis.force\"",
        "to = \"chassis.velocity\"",
        &["`chassis.velocity` is an output", "expected an input"],
    );
    refuses(
        "from = \"chassis.velocity\"",
        "from = \"wheel.suspension_force\" # N",
        &["in N and `wheel.chassis_velocity` in m/s", "`convert_units = false` connects"],
    );
    // Beside one end is one variable that fits the other.
    check_text(
        "[simulation]\nstop = 1.0\n[subsystems.a]\nmodel = \"oscillator/mass\"\n[subsystems.b]\nmodel = \"oscillator/force-giver\"\n\
         [[connections]]\nfrom = \"a.position\"\nto = \"b.velocity\"\n",
        "\"a.position\"",
        &["`a.position` is in m and `b.velocity` in m/s", "Did you mean `a.velocity`, in m/s?"],
    );
}

#[test]
fn bonds_are_checked_for_side_sign_unit_and_balance() {
    const CHASSIS: &str = "{ input = \"chassis.force\", output = \"chassis.velocity\", sign = -1 }";
    const WHEEL: &str =
        "{ input = \"wheel.chassis_velocity\", output = \"wheel.suspension_force\", sign = -1 }";
    let port = |new: &str, says: &[&str]| refuses(CHASSIS, new, says);
    port(
        "{ input = \"chassis.force\", output = \"chassis.velocity\" }",
        &["port 1 of bond `suspension` lacks `sign`", "-1 if it enters"],
    );
    port(
        "{ input = \"chassis.force\", output = \"chassis.velocity\", sign = 2 }",
        &["`sign` is 2; expected 1"],
    );
    port(
        "{ input = \"chassis.velocity\", output = \"chassis.force\", sign = -1 }",
        &["`chassis.force` is an input"],
    );
    port(
        "{ input = \"chassis.force\", output = \"wheel.suspension_force\", sign = -1 }",
        &["`chassis.force` and `wheel.suspension_force` are on different subsystems"],
    );
    port("{ input = \"chassis.force\", sign = -1 }", &["port 1 of bond `suspension` lacks the key `output`"]);
    port(
        "{ input = \"chassis.force\", output = [\"chassis.velocity\", \"chassis.velocity\"], sign = -1 }",
        &["1 input(s) and 2 output(s)"],
    );
    port("{ input = [], output = [], sign = -1 }", &["0 input(s) and 0 output(s)"]);
    port(
        "{ input = \"chassis.force\", output = \"chassis.velocity\", sign = -1, ratio = 0 }",
        &["`ratio` is 0"],
    );
    port(
        "{ input = \"chassis.force\", output = \"chassis.velocity\", sign = -1, ratio = nan }",
        &["`ratio` is nan"],
    );
    refuses(
        WHEEL,
        "{ input = \"wheel.road\", output = \"wheel.suspension_force\", sign = -1 }",
        &["`wheel.road` is an input of a bond, but not connected"],
    );
    // Wrong sign, gain or ratio: with exact coupling something would be left.
    const SIGN: &str =
        "both have the same sign. Change the `sign` of one port; or a `gain = -1` is missing, or too much";
    for (old, new, says) in [
        (CHASSIS, "{ input = \"chassis.force\", output = \"chassis.velocity\", sign = 1 }", SIGN),
        (
            CHASSIS,
            "{ input = \"chassis.force\", output = \"chassis.velocity\", sign = -1, ratio = 2 }",
            "the port with `chassis.force` is 2 times the other. If a `gain` converts a unit, `ratio = 1` belongs",
        ),
        ("gain = -1.0", "gain = 1.0", SIGN),
        (
            "gain = -1.0",
            "gain = -9.5493",
            "the port with `chassis.force` is 9.5493 times the other. If a `gain` converts a unit, `ratio = 0.10472` belongs",
        ),
        ("gain = -1.0", "gain = 0.0", "Check the `sign` of the ports, their `ratio` and the `gain`"),
    ] {
        let text = edit(EXAMPLE, old, new);
        check_text(&text, "[bonds.suspension]", &["the powers of bond `suspension` cannot cancel", says]);
    }
    check(&format!("  {CHASSIS},\n"), "", "[bonds.suspension]", &["1 port(s)", "two or more"]);
    check("ports = [", "ports = []\nparts = [", "parts", &["unknown key `parts`", "`ports`?"]);
    let unconnected =
        "[[connections]]\nfrom = \"wheel.suspension_force\"\nto = \"chassis.force\"\ngain = -1.0\n";
    check(unconnected, "", CHASSIS, &["`chassis.force` is an input of a bond, but not connected"]);
}

#[test]
fn junctions_are_checked_port_by_port() {
    let right = "  { input = \"right.chassis_velocity\", output = \"right.suspension_force\", sign = -1 },\n";
    check_text(
        &edit(TWO_WHEELS, right, ""),
        "{ input = \"chassis.force\"",
        &["`chassis.force` is connected to `right.suspension_force`, which is not an output of another port"],
    );
    let again = format!("{TWO_WHEELS}\n[bonds.strut2]\nports = [\n{} # again\n{right}]\n", right.trim_end());
    check_text(&again, "# again", &["`right.chassis_velocity` is already an input of bond `strut`"]);
    let displaced = edit(TWO_WHEELS, "right.chassis_velocity\", output", "right.road\", output");
    let displaced = edit(&displaced, "\"right.road\" = 0.02", "");
    let displaced =
        edit(&displaced, "to = \"right.chassis_velocity\"", "to = \"right.road\"\nconvert_units = false");
    check_text(
        &displaced,
        "{ input = \"right.road\"",
        &["`right.road` in m times `right.suspension_force` in N is not a power"],
    );
}

#[test]
fn signals_are_checked() {
    let road = |value: &str, says: &[&str]| {
        refuses("\"wheel.road\" = 0.1", &format!("\"wheel.road\" = {value}"), says)
    };
    road("nan", &["`wheel.road` is nan", "finite"]);
    road("{ }", &["a number, `{ step = … }`"]);
    road("{ stpe = { time = 1, to = 2 } }", &["unknown key `stpe`", "Did you mean `step`?"]);
    road("{ step = { time = 1 } }", &["`step` lacks the key `to`"]);
    road("{ step = { to = 1 } }", &["`step` lacks the key `time`"]);
    road("{ step = { time = inf, to = 1 } }", &["`time` is inf"]);
    road("{ step = 3 }", &["`step` is 3", "a table"]);
    road("{ ramp = { start = 1, end = 1, to = 2 } }", &["must end after it starts"]);
    road("{ ramp = { start = 1, end = 2 } }", &["`ramp` lacks the key `to`"]);
    road("{ sine = { amplitude = 1 } }", &["`sine` lacks the key `frequency`"]);
    // One of two signals used to be dropped without a word.
    road("{ step = { time = 1, to = 2 }, sine = { frequency = 1 } }", &["`step` and `sine`", "one signal"]);
    road("{ sine = { frequency = 1 }, column = \"z\" }", &["`column` is a key of `table`"]);
    road("{ table = \"nope.csv\" }", &["cannot read nope.csv"]);
    road("{ table = 3 }", &["`table` is 3", "a string"]);
    road("{ table = \"nope.csv\", interpolation = \"cubic\" }", &["\"linear\" or \"hold\""]);
}

#[test]
fn tables_are_checked() {
    let check = |csv: &str, says: &[&str]| {
        let signal = "\"wheel.road\" = { table = \"road.csv\", column = \"z\" }";
        let lab = Lab::with(&edit(EXAMPLE, "\"wheel.road\" = 0.1", signal));
        lab.write("road.csv", csv);
        let ran = lab.run(&[]);
        assert_eq!(ran.code, 3, "{csv:?}: {}", ran.err);
        for part in says {
            assert!(ran.err.contains(part), "{csv:?}: `{part}` in\n{}", ran.err);
        }
    };
    check("", &["road.csv:1: the file is empty"]);
    check("time,z\n", &["has no rows"]);
    check("time,y\n0,1\n", &["unknown column `z`", "It has: y"]);
    check("time,z\n0,1\n1,high\n", &["road.csv:3: `high` is not a number"]);
    check("time,z\n0,1\n1\n", &["road.csv:3: 1 fields, the header has 2"]);
    check("time,z\n0,1\n2,1\n1,1\n", &["road.csv:4: times decrease: 1 after 2"]);
    check("time,z\n0,1\n1,nan\n", &["road.csv:3: expected a finite number"]);
    check("z\n1\n", &["system.toml:29:", "road.csv has one column"]);
    check("z,y\n0,1\n", &["unknown column `z`", "It has: y"]);
}

#[test]
fn files_that_are_no_systems() {
    let check = |content: &[u8], says: &[&str]| {
        let lab = Lab::new();
        lab.write("system.toml", content);
        let ran = lab.run(&[]);
        assert_eq!(ran.code, 3, "{}", ran.err);
        for part in says {
            assert!(ran.err.contains(part), "`{part}` in\n{}", ran.err);
        }
    };
    check(b"", &["system.toml:1:1: the file lacks the key `subsystems`"]);
    check(b"[subsystems]\n", &["system.toml:1:", "at least one subsystem"]);
    check(b"[simulation\nstop = 1", &["system.toml:1:", "not valid TOML"]);
    check(b"a = 1\na = 2\n", &["system.toml:2:1: not valid TOML: duplicate key"]);
    check(b"\x00\x01\x02\xff\xfe", &["system.toml is not a text file"]);
    check(&[0; 100], &["system.toml is not a text file"]);
    check(format!("a = {}", "[".repeat(100_000)).as_bytes(), &["not valid TOML"]);
    check(format!("a{} = 1", ".a".repeat(100_000)).as_bytes(), &["not valid TOML"]);
    check("subsystems = 3".as_bytes(), &["`subsystems` is 3; expected a table"]);
    check("\u{feff}[simulatoin]\n".as_bytes(), &["system.toml:1:", "`simulation`?"]);
}

#[test]
fn words_of_other_tools_and_of_other_places_are_understood() {
    check("stop = 4.0", "end_time = 4.0", "end_time", &["unknown key `end_time`", "Did you mean `stop`?"]);
    refuses("stop = 4.0", "end = 4.0", &["the stop time is `stop`"]);
    check("gain = -1.0", "factor = -1.0", "factor", &["Did you mean `gain`?"]);
    check("from = \"chassis", "source = \"chassis", "source", &["Did you mean `from`?"]);
    refuses("\"quarter-car/chassis\"", "\"chassis\"", &["Did you mean `quarter-car/chassis`?"]);
    refuses("\"quarter-car/chassis\"", "\"mass\"", &["`oscillator/mass` or `nonlinear-oscillator/mass`?"]);
    refuses(
        "to = \"wheel.chassis_velocity\"",
        "to = \"wheel.mass\"",
        &["`wheel.mass` is a parameter set in `parameters`"],
    );
    refuses(
        "to = \"wheel.chassis_velocity\"",
        "to = \"wheel.pressure_in_the_tank\"",
        &[": unknown input `pressure_in_the_tank`. There are: chassis_velocity, road."],
    );
    check("[method]", "[method]\nkind = \"ecco\"", "kind = \"ecco\"", &["write `controller = \"ecco\"`"]);
}

#[test]
fn lists_and_tables_that_were_mixed_up_are_told_apart() {
    let twice = EXAMPLE.replace("[[connections]]", "[connections]");
    let second = twice.match_indices("[connections]").nth(1).unwrap().0;
    let line = 1 + twice[..second].matches('\n').count();
    let ran = Lab::with(&twice).run(&[]);
    assert!(ran.err.starts_with(&format!("error: system.toml:{line}:")), "{}", ran.err);
    assert!(ran.err.contains("under its own `[[connections]]`"), "{}", ran.err);
    for wrong in ["[bonds]", "[[bonds]]"] {
        check("[bonds.suspension]", wrong, wrong, &["under `[bonds.name]`"]);
    }
}
