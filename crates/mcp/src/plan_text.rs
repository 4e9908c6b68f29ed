//! A query plan as indented lines.

use serde_json::Value as Json;

/// The plans of all lists that a request read, one step a line.
pub(crate) fn plan_lines(explain: &Json) -> Vec<String> {
    let mut lines = vec![];
    for list in explain["lists"].as_array().into_iter().flatten() {
        add(&list["plan"], 0, &mut lines);
    }
    lines
}

fn add(step: &Json, depth: usize, lines: &mut Vec<String>) {
    let members = match step["members"].as_u64() {
        Some(members) => format!(" ({members})"),
        None => String::new(),
    };
    let name = step["step"].as_str().unwrap_or_default();
    lines.push(format!("{}{name}{members}", "  ".repeat(depth)));
    for part in step["parts"].as_array().into_iter().flatten() {
        add(part, depth + 1, lines);
    }
}
