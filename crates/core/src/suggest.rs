//! "Did you mean": the nearest of the names that would have been right.

/// The candidate nearest to `name`, if it is near enough to be a slip of the hand.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (folded, length) = (fold(name), name.chars().count());
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let allowed = (1 + length.max(candidate.chars().count()) / 3).min(4);
        // How far it is matters only if it is not farther than the best one so far.
        let most = best.map_or(allowed, |(nearest, _)| allowed.min(nearest));
        if let Some(d) = distance(&folded, &fold(candidate), most)
            && best.is_none_or(|best| (d, candidate) < best)
        {
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
fn fold(name: &str) -> Vec<char> {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Edits (insert, delete, replace, swap of neighbours) between two words; `None` if there are more than `most`.
fn distance(a: &[char], b: &[char], most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let (mut before, mut row) = (vec![0; b.len() + 1], vec![0; b.len() + 1]);
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut least_of_last = 0;
    for (i, &x) in a.iter().enumerate() {
        row[0] = i + 1;
        let mut least = row[0];
        for (j, &y) in b.iter().enumerate() {
            let mut best = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y {
                best = best.min(before[j - 1] + 1);
            }
            row[j + 1] = best;
            least = least.min(best);
        }
        // What follows is at least as far as this row, or one more than the row before it.
        if least > most && least_of_last >= most {
            return None;
        }
        least_of_last = least;
        std::mem::swap(&mut before, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    Some(last[b.len()]).filter(|&d| d <= most)
}

#[cfg(test)]
mod tests {
    use super::{closest, distance, fold, hint};

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let names = ["velocity", "force", "suspension_force"];
        assert_eq!(closest("velocty", names), Some("velocity"));
        assert_eq!(closest("Suspension-Force", names), Some("suspension_force"));
        assert_eq!(closest("froce", names), Some("force"));
        assert_eq!(closest("pressure_in_tank", names), None);
    }

    #[test]
    fn a_distance_is_the_same_under_every_bound_that_it_meets() {
        let words =
            ["", "y", "ab", "ba", "gear.speed", "gaer.sped", "gear_seped2", "motor.speed", "räder", "redar"];
        for (a, b) in words.iter().flat_map(|a| words.map(|b| (fold(a), fold(b)))) {
            let free = distance(&a, &b, usize::MAX - 1).expect("no bound");
            for most in 0..=a.len().max(b.len()) + 1 {
                assert_eq!(distance(&a, &b, most), (free <= most).then_some(free), "{a:?} {b:?} {most}");
            }
        }
    }

    #[test]
    fn a_hint_is_the_nearest_or_a_short_list() {
        assert_eq!(hint("forse", ["force", "speed"]), " Did you mean `force`?");
        assert_eq!(hint("pressure", ["force", "speed"]), " There are: force, speed.");
        assert_eq!(hint("pressure", ["x"; 41]), "");
        assert_eq!(hint("pressure", []), "");
    }
}
