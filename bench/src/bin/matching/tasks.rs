//! The tasks and the queries, the same for every database.
//!
//! The tags are a worst case for intersections: of ten tasks, one, nine and two have each of three
//! tags, and only the last three tasks have all of them.

pub(crate) type Tag = (&'static str, &'static str);

const PROJECT: Tag = ("project", "self improvement");
const PRIORITY: Tag = ("priority", "high");
const SEVERITY: Tag = ("severity", "low");
const OTHER_PROJECTS: [&str; 8] =
    ["garden", "house", "office", "school", "travel", "music", "health", "books"];

/// Returns the three tags of a task.
pub(crate) fn tags(number: u32, tasks: u32) -> [Tag; 3] {
    let mixed = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let is_last = number + 3 >= tasks;
    let has_project = mixed.is_multiple_of(10) || is_last;
    let has_severity = (!has_project && mixed / 100 % 9 < 2) || is_last;
    let has_priority = !(mixed / 10).is_multiple_of(10) || is_last;
    [
        if has_project { PROJECT } else { ("project", OTHER_PROJECTS[mixed as usize / 7 % 8]) },
        if has_priority { PRIORITY } else { ("priority", "low") },
        if has_severity { SEVERITY } else { ("severity", ["normal", "high"][mixed as usize & 1]) },
    ]
}

pub(crate) fn name(number: u32) -> String {
    format!("task {number}")
}

/// A query.
#[derive(Clone, Copy)]
pub(crate) struct TagQuery {
    pub(crate) text: &'static str,
    pub(crate) tags: &'static [Tag],
    pub(crate) result: ResultKind,
}

/// What a query returns.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ResultKind {
    /// The first 20 tasks, the oldest first.
    Oldest,
    /// The first 20 tasks, the newest first.
    Newest,
    /// The number of matches.
    Total,
}

pub(crate) const PAGE: usize = 20;

pub(crate) const QUERIES: [TagQuery; 4] = [
    TagQuery {
        text: "three tags, the three matches come last: first page",
        tags: &[PROJECT, PRIORITY, SEVERITY],
        result: ResultKind::Oldest,
    },
    TagQuery {
        text: "three tags: total",
        tags: &[PROJECT, PRIORITY, SEVERITY],
        result: ResultKind::Total,
    },
    TagQuery {
        text: "two tags that many have: newest page",
        tags: &[PRIORITY, SEVERITY],
        result: ResultKind::Newest,
    },
    TagQuery {
        text: "two tags that many have: total",
        tags: &[PRIORITY, SEVERITY],
        result: ResultKind::Total,
    },
];
