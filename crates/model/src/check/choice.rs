//! Keys that take one of a few words.

use crate::error::{Code, Report, Reporter};
use crate::source::Word;

/// Returns the choice that a word names.
pub(crate) fn choose(
    word: &Word,
    key: &str,
    choices: &[&'static str],
    reporter: &mut Reporter<'_>,
) -> Option<&'static str> {
    let found = choices.iter().copied().find(|choice| *choice == word.text);
    if found.is_none() {
        let reason = format!("{key} cannot be `{}`", word.text);
        let help = reporter.suggest(&word.text, "it can be", choices.iter().copied());
        let (code, span) = (Code::UnknownChoice, word.span);
        reporter.push(Report { code, span, reason, help });
    }
    found
}
