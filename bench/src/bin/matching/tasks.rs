//! The tasks and the questions, the same for everybody who is measured.
//!
//! The lists are those of the worst case of document 000: of ten tasks one, nine and two have each
//! of three tags, and only the last three tasks have all of them.

pub(crate) type Tag = (&'static str, &'static str);

const PROJECT: Tag = ("project", "self improvement");
const PRIORITY: Tag = ("priority", "high");
const SEVERITY: Tag = ("severity", "low");
const OTHER_PROJECTS: [&str; 8] =
    ["garden", "house", "office", "school", "travel", "music", "health", "books"];

/// The three tags of a task.
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

/// What is asked.
#[derive(Clone, Copy)]
pub(crate) struct Question {
    pub(crate) text: &'static str,
    pub(crate) tags: &'static [Tag],
    pub(crate) answer: Answer,
}

/// What is answered.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Answer {
    /// The first 20 tasks, the oldest first.
    Oldest,
    /// The first 20 tasks, the newest first.
    Newest,
    /// How many there are.
    Total,
}

pub(crate) const PAGE: usize = 20;

pub(crate) const QUESTIONS: [Question; 4] = [
    Question {
        text: "three tags, the three matches come last: first page",
        tags: &[PROJECT, PRIORITY, SEVERITY],
        answer: Answer::Oldest,
    },
    Question {
        text: "three tags: total",
        tags: &[PROJECT, PRIORITY, SEVERITY],
        answer: Answer::Total,
    },
    Question {
        text: "two tags that many have: newest page",
        tags: &[PRIORITY, SEVERITY],
        answer: Answer::Newest,
    },
    Question {
        text: "two tags that many have: total",
        tags: &[PRIORITY, SEVERITY],
        answer: Answer::Total,
    },
];
