//! Damaged system files and scenarios: whatever stands in them, the answer is a system or errors with places, never a panic.

use powerbond::scenario::Scenario;
use powerbond::{Error, System};
use std::panic::catch_unwind;

const EXAMPLE: &str = include_str!("../../../examples/quarter-car/system.toml");

/// Every key that the example does not use.
const RICH: &str = r#"
[simulation]
stop = 2.0
output_interval = 0.1
output = "land"
end = "overshoot"
[subsystems.body]
model = "quarter-car/chassis-suspension"
parameters = { damper = "square-root", far_end = "once", integrator = "accurate", refresh = true }
rate = 2
[subsystems.hub]
model = "quarter-car/wheel"
parameters = { input_derivatives = 1, restore = "no" }
step = 1e-3
[[connections]]
from = ["hub.velocity"]
to = "body.wheel_velocity"
gain = [1.0]
offset = 0.0
convert_units = true
[[connections]]
from = "body.suspension_force"
to = "hub.force"
gain = -1
[inputs]
"hub.road" = { sine = { amplitude = 0.1, frequency = 1.5, phase = 0.2, offset = 0.0 } }
[bonds.strut]
energy_scale = 100
tolerance = 1e-4
ports = [
  { input = ["body.wheel_velocity"], output = ["body.suspension_force"], sign = 1, ratio = 1.0 },
  { input = "hub.force", output = "hub.velocity", sign = 1 },
]
[method]
schedule = { kind = "gauss-seidel", order = ["hub", "body"], seen = "between" }
hold = 1
holds = { "hub.force" = 2 }
correction = { kind = "nepce", alpha = { "hub.force" = 0.5, "body.wheel_velocity" = 0.0 }, feed_through = { "body.suspension_force/body.wheel_velocity" = -9.0 }, step_ratio = "literal" }
estimator = { kind = "predictor", tolerance = { "hub.velocity" = 1e-3 }, rho = 0.1 }
monitors = ["energy", { kind = "energy", residual = "metered" }]
controller = { kind = "i", age = "previous", integral_gain = 0.3 }
refresh = ["body"]
meter = "trapezoid"
[record]
variables = ["*.v*"]
exclude = "hub.po?ition"
"#;

/// Every key of error control with rollback, and of feed-through.
const ROLLBACK: &str = r#"
[simulation]
stop = 1.0
step = 1e-3
initial = { tolerance = 1e-10, iterations = 20, passes = 50 }
probe = true
[subsystems.a]
model = "quarter-car/chassis-fd"
feed_through = []
[subsystems.b]
model = "quarter-car/wheel-fd"
parameters = { dependencies = "no" }
feed_through = [["suspension_force", "chassis_position"], ["suspension_force", "chassis_velocity"]]
[subsystems.c]
model = "algebraic/gain"
parameters = { gain = 0.5, integral = 0.1, offset = 1.0, initial_state = 0.2 }
feed_through = "probe"
[[connections]]
from = "a.position"
to = "b.chassis_position"
[[connections]]
from = "a.velocity"
to = "b.chassis_velocity"
[[connections]]
from = ["b.suspension_force", "c.y"]
to = "a.force"
[[connections]]
from = "a.velocity"
to = "c.u"
[inputs]
"b.road" = { step = { time = 0.01, to = 0.1 } }
[method]
hold = 1
estimator = { kind = "richardson", tolerance = { "a.velocity" = 1e-3 }, nominal = 2.0, absolute = { "c.y" = 1e-3 }, relative = 1e-3, big_step = "classic", constants = "published", extrapolate = true }
monitors = ["predictor", { kind = "richardson", tolerance = 1e-4 }]
controller = { kind = "rollback", safety = 0.8, min_step = 1e-6, max_step = 0.1, min_rate = 0.1, max_rate = 3.0, at_floor = "keep" }
refresh = ["b"]
"#;

const YAML: &str = r#"description: 'all of it, é'
defaults:
  model: wheel
  action: override
events:
  - time: 1.0
    variable: road
    value: 0.1
  - {time: 2, model: "wheel", variable: road, action: bias, value: -1e-3}
  - time: 3
    variable: locked
    value: yes
  - {time: 4, variable: road, action: reset}
end: 5
"#;

const JSON: &str = r#"{
  "description": "all of it, \ud83d\ude00",
  "defaults": { "model": "wheel", "action": "override" },
  "events": [
    { "time": 1.0, "variable": "road", "value": 0.1 },
    { "time": 2, "model": "wheel", "variable": "road", "action": "bias", "value": -1e-3 },
    { "time": 3, "variable": "locked", "value": true },
    { "time": 4, "variable": "road", "action": "reset" }
  ],
  "end": 5
}
"#;

/// The text for mutation `n`.
fn sound(n: usize) -> &'static str {
    [EXAMPLE, RICH, ROLLBACK][n % 3]
}

/// xorshift64*: the same sequence on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n.max(1)
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// Values that people and programs write by mistake.
const ODD: &[&str] = &[
    "nan",
    "-inf",
    "0",
    "-1",
    "1e308",
    "1e-308",
    "99999999999999999999",
    "0x7fffffffffffffff",
    "true",
    "[]",
    "{}",
    "\"\"",
    "\".\"",
    "\"a.b\"",
    "[[1]]",
    "1979-05-27",
    "\"\\u0000\"",
    "'é'",
    "1_0",
    "\"wheel.road\"",
    "=",
    "[",
    "\n",
];

/// A text with one to four kinds of damage.
fn damage(text: &str, dice: &mut Dice) -> String {
    let mut text = text.to_owned();
    for _ in 0..=dice.below(4) {
        text = match dice.below(7) {
            0 => lines(&text, dice, |lines, i, _| {
                lines.remove(i);
            }),
            1 => lines(&text, dice, |lines, i, _| lines.insert(i, lines[i])),
            2 => lines(&text, dice, |lines, i, j| lines.swap(i, j)),
            3 => tokens(&text, dice, |tokens, i, j, _| tokens.swap(i, j)),
            4 => tokens(&text, dice, |tokens, i, _, dice| tokens[i] = dice.of(ODD)),
            5 => tokens(&text, dice, |tokens, i, j, _| tokens[i] = tokens[j]),
            _ => {
                let mut bytes = text.into_bytes();
                let at = dice.below(bytes.len());
                match bytes.get_mut(at) {
                    Some(byte) => *byte = dice.below(256) as u8,
                    None => bytes.push(b'['),
                }
                String::from_utf8_lossy(&bytes).into_owned()
            }
        };
    }
    text
}

fn lines(text: &str, dice: &mut Dice, change: impl Fn(&mut Vec<&str>, usize, usize)) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    if !lines.is_empty() {
        let (i, j) = (dice.below(lines.len()), dice.below(lines.len()));
        change(&mut lines, i, j);
    }
    lines.join("\n")
}

fn tokens(
    text: &str,
    dice: &mut Dice,
    change: impl for<'a> Fn(&mut Vec<&'a str>, usize, usize, &mut Dice),
) -> String {
    let mut tokens: Vec<&str> = text.split_inclusive([' ', ',', '.', '=', '\n']).collect();
    if !tokens.is_empty() {
        let (i, j) = (dice.below(tokens.len()), dice.below(tokens.len()));
        change(&mut tokens, i, j, dice);
    }
    tokens.concat()
}

#[test]
fn the_files_are_sound_before_they_are_damaged() {
    for text in [EXAMPLE, RICH, ROLLBACK] {
        let assembled = System::parse("system.toml", text).and_then(|s| s.assemble());
        assert!(assembled.is_ok(), "{}", assembled.err().map_or(String::new(), |e| e.to_string()));
    }
}

#[test]
fn damaged_files_never_panic() {
    let mut dice = Dice(0x5EED_1234_ABCD_0001);
    let (mut assembled, mut refused) = (0, 0);
    for n in 0..7000 {
        let text = damage(sound(n), &mut dice);
        let outcome =
            catch_unwind(|| System::parse("system.toml", &text).and_then(|s| s.assemble()).map(|_| ()));
        match outcome {
            Ok(Ok(())) => assembled += 1,
            Ok(Err(Error::Input(problems))) => {
                assert!(problems.iter().all(|p| p.place.is_some()), "no place in `{problems}` for\n{text}");
                refused += 1;
            }
            Ok(Err(other)) => panic!("{other} is not about the input:\n{text}"),
            Err(_) => panic!("a panic on mutation {n}:\n{text}"),
        }
    }
    // Both kinds must be frequent, or the damage tests nothing.
    assert!(assembled > 300 && refused > 300, "{assembled} assembled, {refused} refused");
}

#[test]
fn damaged_scenarios_never_panic() {
    // A pair of surrogates is JSON, not YAML.
    let flow = JSON.replace("\\ud83d\\ude00", "");
    let sound = [("s.yml", YAML), ("s.json", JSON), ("s.yml", &flow)];
    for (file, text) in sound {
        assert_eq!(Scenario::parse(file, text).map(|s| s.events.len()).map_err(|e| e.to_string()), Ok(4));
    }
    let mut dice = Dice(0x5EED_1234_ABCD_0003);
    let (mut accepted, mut refused) = (0, 0);
    for n in 0..7000 {
        let (file, text) = sound[n % 3];
        let text = damage(text, &mut dice);
        match catch_unwind(|| Scenario::parse(file, &text).map(|_| ())) {
            Ok(Ok(())) => accepted += 1,
            Ok(Err(Error::Input(problems))) => {
                assert!(problems.iter().all(|p| p.place.is_some()), "no place in `{problems}` for\n{text}");
                refused += 1;
            }
            Ok(Err(other)) => panic!("{other} is not about the input:\n{text}"),
            Err(_) => panic!("a panic on mutation {n}:\n{text}"),
        }
    }
    assert!(accepted > 200 && refused > 300, "{accepted} accepted, {refused} refused");
}

/// What is accepted can also be run for a few steps.
#[test]
fn damaged_files_that_are_accepted_run_or_fail_cleanly() {
    use powerbond::core::observe::{Flow, Observer, StepReport};
    use powerbond::core::step::StepView;
    struct Few;
    impl Observer for Few {
        fn accepted(&mut self, _: &StepView<'_>, report: &StepReport<'_>) -> Flow {
            if report.number < 20 { Flow::Continue } else { Flow::Stop }
        }
    }
    let mut dice = Dice(0x5EED_1234_ABCD_0002);
    for n in 0..1500 {
        let text = damage(sound(n), &mut dice);
        let outcome = catch_unwind(|| {
            if let Ok(system) = System::parse("system.toml", &text) {
                if let Ok(mut assembled) = system.assemble() {
                    let _ = assembled.run(&mut Few);
                }
                if let Ok(check) = system.check() {
                    assert!(check.svg().ends_with("</svg>\n") && check.dot().ends_with("}\n"));
                }
            }
        });
        assert!(outcome.is_ok(), "a panic on mutation {n}:\n{text}");
    }
}
