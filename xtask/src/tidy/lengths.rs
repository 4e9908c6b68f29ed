//! Limits on the length of functions and files.

use std::collections::BTreeMap;

use super::functions::{PlacedFunction, lines_p95, production_functions};
use super::ratchet::{Excess, Subject};
use super::{Finding, Ratchet, RustFile, Workspace};

/// The most lines of a function.
const FUNCTION_LINES_MAX: usize = 70;
/// The 95th percentile of function lengths.
const FUNCTION_LINES_P95: usize = 40;
/// The most lines of code of a file.
const FILE_LINES_MAX: usize = 500;

pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    let functions = production_functions(workspace);
    let (ratchet, mut findings) = Ratchet::read(workspace);
    let mut excesses = long_functions(&functions);
    excesses.extend(workspace.production().filter_map(long_file));
    findings.extend(ratchet.check(&excesses));
    findings.extend(check_p95(&functions));
    findings
}

/// Returns a line about the lengths of functions.
pub(crate) fn summary(workspace: &Workspace) -> String {
    let functions = production_functions(workspace);
    let longest = functions.iter().max_by_key(|placed| placed.function.lines);
    let longest = longest.map_or(String::new(), |PlacedFunction { path, function }| {
        format!(
            "; the longest, {} lines, is {path}:{} `{}`",
            function.lines, function.line, function.name
        )
    });
    format!(
        "{} production functions; 95 % have at most {} lines (limit {FUNCTION_LINES_P95}){longest}",
        functions.len(),
        lines_p95(&functions),
    )
}

/// Returns one entry per name and file, for the longest function: `fmt` occurs in many types.
fn long_functions(functions: &[PlacedFunction<'_>]) -> Vec<Excess> {
    let mut longest: BTreeMap<(&str, &str), Excess> = BTreeMap::new();
    for PlacedFunction { path, function } in functions {
        let known = longest.get(&(*path, function.name.as_str()));
        if function.lines <= FUNCTION_LINES_MAX
            || known.is_some_and(|known| known.lines >= function.lines)
        {
            continue;
        }
        let subject = Subject::Function { path: (*path).to_owned(), name: function.name.clone() };
        let (line, lines, limit) = (function.line, function.lines, FUNCTION_LINES_MAX);
        longest.insert((path, &function.name), Excess { subject, line, lines, limit });
    }
    longest.into_values().collect()
}

fn check_p95(functions: &[PlacedFunction<'_>]) -> Vec<Finding> {
    if lines_p95(functions) <= FUNCTION_LINES_P95 {
        return vec![];
    }
    let over = functions.iter().filter(|placed| placed.function.lines > FUNCTION_LINES_P95);
    over.map(|PlacedFunction { path, function }| {
        let message = format!(
            "function `{}` has {} lines, and more than 5 % of all functions have over \
             {FUNCTION_LINES_P95}: split it.",
            function.name, function.lines
        );
        Finding::new(path, function.line, message)
    })
    .collect()
}

fn long_file(file: &RustFile) -> Option<Excess> {
    let lines = code_lines(file);
    let subject = Subject::File { path: file.path.clone() };
    (lines > FILE_LINES_MAX).then_some(Excess { subject, line: 1, lines, limit: FILE_LINES_MAX })
}

/// Counts lines of production code: no blank lines, comments or tests.
fn code_lines(file: &RustFile) -> usize {
    let mut offset = 0;
    let mut count = 0;
    for line in file.source.code().split_inclusive('\n') {
        count += usize::from(!line.trim().is_empty() && !file.is_test(offset));
        offset += line.len();
    }
    count
}

#[cfg(test)]
mod tests {
    use super::super::ratchet;
    use super::*;

    fn function(name: &str, lines: usize) -> String {
        format!("fn {name}() {{\n{}}}\n", "    a();\n".repeat(lines - 2))
    }

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        check(&Workspace::sample(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_function_of_71_lines_is_too_long_and_one_of_70_is_not() {
        let short = function("short", 1 + 1).repeat(40);
        let text = format!("{short}{}{}", function("fits", 70), function("long", 71));
        let found = messages(&[("crates/a/src/a.rs", &text)]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/a/src/a.rs:151: function `long` has 71 lines"));
    }

    #[test]
    fn test_code_may_be_long() {
        let long = function("long", 200);
        let inline = format!("#[cfg(test)]\nmod tests {{\n{long}}}\n");
        let files = [("crates/a/src/a.rs", inline.as_str()), ("crates/a/tests/it/main.rs", &long)];
        assert!(messages(&files).is_empty());
    }

    #[test]
    fn a_listed_function_passes_at_its_length() {
        let short = function("short", 2).repeat(40);
        let text = format!("{short}{}", function("long", 90));
        let list = "function crates/a/src/a.rs long 90\n";
        let files = [("crates/a/src/a.rs", text.as_str()), (ratchet::PATH, list)];
        assert!(messages(&files).is_empty());
    }

    #[test]
    fn too_many_functions_over_40_lines_break_the_percentile() {
        let text = format!("{}{}", function("short", 2).repeat(18), function("long", 41).repeat(2));
        let found = messages(&[("crates/a/src/a.rs", &text)]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("more than 5 % of all functions"));
        let one_less = format!("{}{}", function("short", 2).repeat(19), function("long", 41));
        assert!(messages(&[("crates/a/src/a.rs", &one_less)]).is_empty());
    }

    #[test]
    fn a_file_counts_code_but_no_comments_blanks_or_tests() {
        let rest = "// Why.\n\n#[cfg(test)]\nmod tests {\n    const A: u8 = 1;\n}\n";
        let fits = format!("{}{rest}", "const A: u8 = 1;\n".repeat(500));
        assert!(messages(&[("crates/a/src/a.rs", &fits)]).is_empty());
        let long = format!("{fits}const B: u8 = 1;\n");
        let found = messages(&[("crates/a/src/a.rs", &long)]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("has 501 lines, the limit is 500"), "{found:?}");
    }
}
