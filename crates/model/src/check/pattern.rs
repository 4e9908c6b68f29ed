//! `pattern`: the regular expressions of text fields.

use crate::declared::DeclaredPattern;
use crate::error::{Code, Report, Reporter};
use crate::model::{DefaultValue, FormatRule, Literal, Pattern, PatternRule};
use crate::source::Word;

use super::scope::{Scope, Usage};

pub(crate) fn patterns(
    declared: &[DeclaredPattern],
    scope: &Scope,
    formats: &[FormatRule],
    reporter: &mut Reporter<'_>,
) -> Vec<PatternRule> {
    let mut rules = vec![];
    for DeclaredPattern { field: name, pattern } in declared {
        let Some(field) = scope.find_for(Usage::Pattern, name, reporter) else { continue };
        let Some(pattern) = compiled(pattern, reporter) else { continue };
        let default = scope.field(field).default.as_ref();
        if formats.iter().any(|rule| rule.field == field) {
            let reason = format!("`{}` has a format already", name.text);
            report(name, reason, "declare a format or a pattern, not both", reporter);
        } else if let Some(DefaultValue::Literal(Literal::Text(default))) = default
            && !pattern.matches(default)
        {
            let reason = format!("the default of `{}` does not match its pattern", name.text);
            report(name, reason, "give it another default, or make it optional with `?`", reporter);
        }
        rules.push(PatternRule { field, pattern });
    }
    rules
}

fn compiled(pattern: &Word, reporter: &mut Reporter<'_>) -> Option<Pattern> {
    match Pattern::new(&pattern.text) {
        Ok(pattern) => Some(pattern),
        Err(problem) => {
            let reason = format!("the pattern cannot be used: {problem}");
            let help =
                "use a regular expression such as `[A-Z]{3}-[0-9]+`; a whole text must match it";
            report(pattern, reason, help, reporter);
            None
        }
    }
}

fn report(word: &Word, reason: String, help: &str, reporter: &mut Reporter<'_>) {
    reporter.push(Report::new(Code::BadPattern, word.span, reason).help(help));
}
