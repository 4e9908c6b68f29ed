//! The lines of a model file that a proposal changes.

/// Returns changed lines with `-` and `+`, each with its number, and the line before as context.
/// Proposals change single lines or insert some, so lines are compared in order.
pub(super) fn difference(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let (mut at, mut text, mut shown) = (0, String::new(), None);
    for (place, line) in new.iter().enumerate() {
        let number = place + 1;
        if old.get(at) == Some(line) {
            at += 1;
            continue;
        }
        if let Some(context) = place.checked_sub(1).filter(|context| shown != Some(*context)) {
            text += &format!("{:>5}   {}\n", place, new[context]);
        }
        // A line is changed if what follows it follows the new one, too.
        let is_changed = old.get(at).is_some() && old.get(at + 1) == new.get(place + 1);
        if is_changed {
            text += &format!("{number:>5} - {}\n", old[at]);
            at += 1;
        }
        text += &format!("{number:>5} + {line}\n");
        shown = Some(place);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_and_inserted_lines_are_shown_with_the_line_before() {
        let before = "[a]\nx = 1\n[b]\ny = { z = 2 }\nw = 3\n";
        let after = "[a]\nshards = 2\nx = 1\n[b]\ny = { z = 2, shards = 8 }\nw = 3\n";
        let expected = "    1   [a]\n    2 + shards = 2\n    4   [b]\n    5 - y = { z = 2 }\n    5 + y = { z = 2, shards = 8 }\n";
        assert_eq!(difference(before, after), expected);
        assert_eq!(difference(before, before), "");
    }
}
