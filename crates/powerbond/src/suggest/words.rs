//! Names of variables as words: what is left of them without directions, instance names and quantities.

use std::collections::BTreeSet;

/// The words of a name in lower case: `suspensionForce_x`, `suspension.force[x]` and `suspension_frc_x` have the same.
pub fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut before: Option<char> = None;
    let end = |word: &mut String, words: &mut Vec<String>| {
        if !word.is_empty() {
            words.push(spelled_out(&std::mem::take(word)));
        }
    };
    for c in name.chars() {
        let splits = before.is_some_and(|b| {
            b.is_lowercase() && c.is_uppercase() || b.is_ascii_digit() != c.is_ascii_digit()
        });
        if splits || !c.is_alphanumeric() {
            end(&mut word, &mut words);
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = c.is_alphanumeric().then_some(c);
    }
    end(&mut word, &mut words);
    words
}

/// Short forms that many tools write.
fn spelled_out(word: &str) -> String {
    match word {
        "vel" | "velo" => "velocity",
        "pos" => "position",
        "acc" | "accel" => "acceleration",
        "spd" => "speed",
        "frc" => "force",
        "trq" | "torq" => "torque",
        "press" => "pressure",
        "volt" => "voltage",
        "curr" | "cur" => "current",
        "temp" => "temperature",
        "ang" => "angle",
        other => other,
    }
    .to_owned()
}

/// Words that only tell on which side a variable is.
const DIRECTIONS: [&str; 10] =
    ["in", "out", "input", "output", "inp", "outp", "inport", "outport", "from", "to"];

/// The words of a name that tell what it is: without directions and without `others`, as long as something is left.
pub fn meaning(name: &str, others: &BTreeSet<String>) -> BTreeSet<String> {
    let all = words(name);
    let without = |words: &[String], left_out: &dyn Fn(&str) -> bool| -> Vec<String> {
        let kept: Vec<String> = words.iter().filter(|w| !left_out(w)).cloned().collect();
        if kept.is_empty() { words.to_vec() } else { kept }
    };
    let plain = without(&all, &|word| DIRECTIONS.contains(&word));
    without(&plain, &|word| others.contains(word)).into_iter().collect()
}

/// What other parts of a system would call it: the words of its instance and model names that are no numbers.
pub fn own_words(names: &[&str]) -> BTreeSet<String> {
    let all = names.iter().flat_map(|name| words(name));
    all.filter(|word| word.chars().any(|c| c.is_alphabetic()) && word.len() > 1).collect()
}

/// A component of a vector.
pub fn axis(name: &str) -> Option<char> {
    let last = words(name).pop()?;
    match last.as_str() {
        "x" | "fx" | "vx" => Some('x'),
        "y" | "fy" | "vy" => Some('y'),
        "z" | "fz" | "vz" => Some('z'),
        _ => None,
    }
}

/// Words of a wish or a measurement, which carry no power themselves.
const WISHES: [&str; 13] = [
    "ref",
    "reference",
    "setpoint",
    "set",
    "desired",
    "target",
    "command",
    "cmd",
    "demand",
    "request",
    "wanted",
    "limit",
    "max",
];

/// Whether a name is that of a set-point.
pub fn is_wish(name: &str) -> bool {
    words(name).iter().any(|word| WISHES.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_many_styles_have_the_same_words() {
        for name in ["suspensionForce_x", "suspension.force[x]", "Suspension_frc_X", "suspension force (x)"] {
            assert_eq!(words(name), ["suspension", "force", "x"], "{name}");
        }
        assert_eq!(words("F2in"), ["f", "2", "in"]);
        assert_eq!(words("…"), [""; 0]);
    }

    #[test]
    fn directions_and_instances_do_not_count_unless_nothing_else_is_left() {
        let chassis = own_words(&["chassis", "Quarter Car 2"]);
        let set = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(meaning("chassis_velocity", &chassis), set(&["velocity"]));
        assert_eq!(meaning("x_out", &chassis), set(&["x"]));
        assert_eq!(meaning("out", &chassis), set(&["out"]));
        assert_eq!(meaning("chassis", &chassis), set(&["chassis"]));
    }
}
