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
    strsim::osa_distance(&from.to_lowercase(), &to.to_lowercase())
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
