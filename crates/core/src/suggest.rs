//! "Did you mean": the nearest of the names that would have been right.

/// The candidate nearest to `name`, if it is near enough to be a slip of the hand.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = fold(name);
    candidates
        .into_iter()
        .map(|c| (distance(&folded, &fold(c)), c))
        .filter(|&(d, c)| d <= (1 + name.chars().count().max(c.chars().count()) / 3).min(4))
        .min_by_key(|&(d, c)| (d, c))
        .map(|(_, c)| c)
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
fn fold(name: &str) -> Vec<char> {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Edits (insert, delete, replace, swap of neighbours) between two words.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = vec![i + 1; b.len() + 1];
        for (j, &y) in b.iter().enumerate() {
            let mut best = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y {
                best = best.min(before[j - 1] + 1);
            }
            row[j + 1] = best;
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
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
