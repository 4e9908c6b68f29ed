//! Suggestions for misspelled names.

/// Longer names are not compared: no valid name is longer, and the comparison is quadratic.
const NAME_LENGTH_MAX: usize = 60;

/// Returns the most similar known name, if it is similar enough that a typo explains the
/// difference.
pub fn nearest<'n>(name: &str, known: &[&'n str]) -> Option<&'n str> {
    let length = name.chars().count();
    if length > NAME_LENGTH_MAX {
        return None;
    }
    let typos_max = (length / 3).max(1);
    let near = known.iter().filter(|other| other.chars().count().abs_diff(length) <= typos_max);
    let measured = near.map(|other| (distance(name, other), *other));
    let best = measured.filter(|(typos, _)| *typos <= typos_max).min_by_key(|(typos, _)| *typos);
    best.map(|(_, other)| other)
}

/// The number of insertions, deletions, substitutions and transpositions between two names.
fn distance(from: &str, to: &str) -> usize {
    strsim::osa_distance(&from.to_lowercase(), &to.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_is_recognised_and_another_word_is_not() {
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
