//! Names in generated code: words of the model in the style of a language, and never one twice.

use std::collections::BTreeSet;

/// The names of one scope.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    taken: BTreeSet<String>,
}

impl Names {
    /// A scope in which these names cannot be used.
    pub(super) fn without<'n>(reserved: impl IntoIterator<Item = &'n str>) -> Names {
        Names { taken: reserved.into_iter().map(str::to_owned).collect() }
    }

    /// The name, with underscores after it if it is in use: `a_1` and `a1` are both `A1`.
    pub(super) fn claim(&mut self, mut name: String) -> String {
        while !self.taken.insert(name.clone()) {
            name.push('_');
        }
        name
    }
}

/// Every identifier in a text. What a runtime uses, the generated part must not call something else.
pub(super) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// `task.list_all` as `TaskListAll`.
pub(super) fn pascal(text: &str) -> String {
    words(text).map(capital).collect()
}

/// `list_all` as `listAll`.
pub(super) fn camel(text: &str) -> String {
    let mut parts = words(text);
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.map(capital).collect::<String>()
}

/// `q.names` as `q_names`.
pub(super) fn snake(text: &str) -> String {
    words(text).collect::<Vec<_>>().join("_")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(word.len().min(1));
    first.to_ascii_uppercase() + rest
}
