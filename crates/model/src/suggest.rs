//! Which known name an unknown one was probably meant to be.

/// Longer names are not compared: no name may be longer, and the comparison is quadratic.
const NAME_LENGTH_MAX: usize = 60;

/// The nearest of the known names, if it is near enough that a slip explains the difference.
pub fn nearest<'n>(name: &str, known: &[&'n str]) -> Option<&'n str> {
    let length = name.chars().count();
    if length > NAME_LENGTH_MAX {
        return None;
    }
    let slips_max = (length / 3).max(1);
    let near = known.iter().filter(|other| other.chars().count().abs_diff(length) <= slips_max);
    let measured = near.map(|other| (distance(name, other), *other));
    let best = measured.filter(|(slips, _)| *slips <= slips_max).min_by_key(|(slips, _)| *slips);
    best.map(|(_, other)| other)
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one into the other.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.to_lowercase().chars().collect();
    let to: Vec<char> = to.to_lowercase().chars().collect();
    let mut before_last: Vec<usize> = vec![];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let replaced = last[j] + usize::from(a != b);
            let mut least = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            let swapped = i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b;
            if swapped {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let known = ["language", "rating", "created", "id"];
        let cases = [
            ("langauge", Some("language")),
            ("ratin", Some("rating")),
            ("Created", Some("created")),
            ("color", None),
            ("ix", Some("id")),
            ("", None),
        ];
        for (name, expected) in cases {
            assert_eq!(nearest(name, &known), expected, "{name}");
        }
        assert_eq!(nearest(&"a".repeat(100_000), &known), None);
    }
}
