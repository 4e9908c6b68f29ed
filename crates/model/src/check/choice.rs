//! Keys that take one of a few words.

use crate::error::{Code, Report, Reporter};
use crate::source::Word;

/// The words that a key takes, and what each stands for.
pub(crate) struct Choices<'c, T> {
    /// What messages call the key.
    pub(crate) key: &'c str,
    pub(crate) words: &'c [(&'static str, T)],
}

impl<T: Copy> Choices<'_, T> {
    /// Returns what a word stands for.
    pub(crate) fn find(&self, word: &Word, reporter: &mut Reporter<'_>) -> Option<T> {
        let found = self.words.iter().find(|(known, _)| *known == word.text);
        if found.is_none() {
            let reason = format!("{} cannot be `{}`", self.key, word.text);
            let known = self.words.iter().map(|(known, _)| *known);
            let help = reporter.suggest(&word.text, "it can be", known);
            let (code, span) = (Code::UnknownChoice, word.span);
            reporter.push(Report { code, span, reason, help });
        }
        found.map(|(_, choice)| *choice)
    }
}
