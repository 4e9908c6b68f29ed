//! Forbidden words and paths in text files.
//!
//! The patterns are split in halves so that this file does not break its own rule.

use super::rust_source::is_identifier;
use super::{Finding, TextFile, Workspace};

/// Markers of unfinished work, which belongs in an issue.
const MARKS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME")];
/// A marker only in code: elsewhere it may be a placeholder.
const CODE_MARK: &str = concat!("XX", "X");
/// Folders of one machine, on which the repository must not depend.
const PLACES: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/fa", "rm/"), concat!("/ro", "ot/"), concat!("/tm", "p/wt")];

pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    workspace.texts.iter().flat_map(check_file).collect()
}

fn check_file(file: &TextFile) -> Vec<Finding> {
    let lines = file.text.lines().enumerate();
    lines
        .flat_map(|(index, line)| {
            let messages = marks(&file.path, line).into_iter().chain(places(line));
            messages.map(move |message| Finding::new(&file.path, index + 1, message))
        })
        .collect()
}

fn marks(path: &str, line: &str) -> Vec<String> {
    let code_mark = path.ends_with(".rs").then_some(CODE_MARK);
    let marks = MARKS.iter().copied().chain(code_mark).filter(|mark| has_word(line, mark));
    marks
        .map(|mark| format!("`{mark}`: do it now, or open an issue and delete the marker."))
        .collect()
}

fn places(line: &str) -> Vec<String> {
    let places = PLACES.iter().filter(|place| has_path(line, place));
    places
        .map(|place| {
            format!("`{place}` is a folder of one machine: write a path in the workspace.")
        })
        .collect()
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(offset, _)| {
        let before = line[..offset].chars().next_back();
        let after = line[offset + word.len()..].chars().next();
        !before.is_some_and(is_identifier) && !after.is_some_and(is_identifier)
    })
}

/// Returns whether a line has an absolute path with this prefix: `a/b` is not the path `/b`.
fn has_path(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(offset, _)| {
        let before = line[..offset].chars().next_back();
        !before.is_some_and(|c| is_identifier(c) || matches!(c, '.' | '-' | '}' | '*'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(path: &str, text: &str) -> usize {
        check(&Workspace::sample(&[(path, text)])).len()
    }

    #[test]
    fn a_mark_of_unfinished_work_is_found_in_any_text() {
        for mark in MARKS {
            assert_eq!(check_text("README.md", &format!("a\n{mark}: later\n")), 1);
            assert_eq!(check_text("crates/a/src/a.rs", &format!("// {mark}(me) later\n")), 1);
            assert_eq!(check_text("README.md", &format!("{mark}S and MY_{mark}\n")), 0);
        }
        assert_eq!(check_text("crates/a/src/a.rs", &format!("// {CODE_MARK}\n")), 1);
        assert_eq!(check_text("README.md", &format!("{CODE_MARK}\n")), 0);
    }

    #[test]
    fn an_absolute_path_of_a_machine_is_found_and_a_relative_one_is_not() {
        for place in PLACES {
            assert_eq!(check_text("a.toml", &format!("dir = \"{place}x\"\n")), 1, "{place}");
            assert_eq!(check_text("a.toml", &format!("dir = \"a{place}x\"\n")), 0, "{place}");
        }
    }
}
