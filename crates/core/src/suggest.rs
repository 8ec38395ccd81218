//! "Did you mean": the nearest of the names that would have been right.

use strsim::osa_distance;

/// The candidate nearest to `name`, if it is near enough to be a slip of the hand.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (folded, length) = (fold(name), name.chars().count());
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let other = fold(candidate);
        let allowed = (1 + length.max(candidate.chars().count()) / 3).min(4);
        // How far it is matters only if it is not farther than the best one so far; no name is nearer than its length tells.
        let most = best.map_or(allowed, |(nearest, _)| allowed.min(nearest));
        if folded.chars().count().abs_diff(other.chars().count()) > most {
            continue;
        }
        let d = osa_distance(&folded, &other);
        if d <= most && best.is_none_or(|best| (d, candidate) < best) {
            best = Some((d, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// More names than anybody reads in a message.
const LISTED: usize = 40;

/// What follows a sentence about a name that does not exist: ` Did you mean `near`?`, else ` There are: a, b.` where that
/// is a short list, else nothing.
pub fn hint<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    match closest(name, candidates.iter().copied()) {
        Some(near) => format!(" Did you mean `{near}`?"),
        None if candidates.is_empty() || candidates.len() > LISTED => String::new(),
        None => format!(" There are: {}.", candidates.join(", ")),
    }
}

/// Case and the characters people mix up do not count.
fn fold(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::{closest, hint};

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let names = ["velocity", "force", "suspension_force"];
        assert_eq!(closest("velocty", names), Some("velocity"));
        assert_eq!(closest("Suspension-Force", names), Some("suspension_force"));
        assert_eq!(closest("froce", names), Some("force"));
        assert_eq!(closest("pressure_in_tank", names), None);
    }

    #[test]
    fn a_hint_is_the_nearest_or_a_short_list() {
        assert_eq!(hint("forse", ["force", "speed"]), " Did you mean `force`?");
        assert_eq!(hint("pressure", ["force", "speed"]), " There are: force, speed.");
        assert_eq!(hint("pressure", ["x"; 41]), "");
        assert_eq!(hint("pressure", []), "");
    }
}
