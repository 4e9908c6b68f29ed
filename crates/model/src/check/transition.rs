//! `transitions`: how the values of enum fields may change.

use crate::declared::DeclaredTransitions;
use crate::error::{Code, Report, Reporter};
use crate::model::{FieldType, Presence, TransitionRule};
use crate::source::Word;

use super::scope::{Scope, Usage};

pub(crate) fn transitions(
    declared: &[DeclaredTransitions],
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Vec<TransitionRule> {
    let mut rules = vec![];
    for DeclaredTransitions { field: name, allowed } in declared {
        let Some(field) = scope.find_for(Usage::Transitions, name, reporter) else { continue };
        let FieldType::Enum(known) = &scope.field(field).of else { continue };
        if scope.field(field).presence == Presence::Optional {
            let reason = format!("`{}` cannot be in `transitions`: it is optional", name.text);
            let help = "remove `?`, and add a member for what is not known yet";
            reporter.push(Report::new(Code::BadTransition, name.span, reason).help(help));
        }
        let mut checked = vec![];
        for (from, to) in allowed {
            for word in [from].into_iter().chain(to) {
                check_member(word, name, known, reporter);
            }
            let to = to.iter().map(|word| word.text.clone()).collect();
            checked.push((from.text.clone(), to));
        }
        rules.push(TransitionRule { field, allowed: checked });
    }
    rules
}

fn check_member(word: &Word, field: &Word, known: &[String], reporter: &mut Reporter<'_>) {
    if known.contains(&word.text) {
        return;
    }
    let reason = format!("`{}` is not a member of `{}`", word.text, field.text);
    let known = known.iter().map(String::as_str);
    let help = reporter.suggest(&word.text, "its members are", known);
    reporter.push(Report { code: Code::BadTransition, span: word.span, reason, help });
}
