//! `initial` and `transitions`: how the values of enum fields begin, and how they may change.

use crate::declared::{DeclaredInitial, DeclaredTransitions};
use crate::error::{Code, Report, Reporter};
use crate::model::{
    DefaultValue, FieldId, FieldType, InitialRule, Literal, Presence, TransitionRule,
};
use crate::source::Word;

use super::scope::{Scope, Usage};

pub(crate) fn initials(
    declared: &[DeclaredInitial],
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Vec<InitialRule> {
    let mut rules = vec![];
    for DeclaredInitial { field: name, members } in declared {
        let Some((field, known)) = required_enum(Usage::Initial, name, scope, reporter) else {
            continue;
        };
        for word in members {
            check_member(word, name, known, reporter);
        }
        if members.is_empty() {
            let reason = format!("`{}` has no initial value: nothing could be created", name.text);
            let help = "name the members that a new entity can have";
            reporter.push(Report::new(Code::BadTransition, name.span, reason).help(help));
        } else if let Some(DefaultValue::Literal(Literal::Text(default))) =
            &scope.field(field).default
            && !members.iter().any(|word| word.text == *default)
        {
            let reason = format!("the default of `{}` is not an initial value", name.text);
            let help = format!("add `{default}`, or give it another default");
            reporter.push(Report::new(Code::BadTransition, name.span, reason).help(help));
        }
        let members = members.iter().map(|word| word.text.clone()).collect();
        rules.push(InitialRule { field, members });
    }
    rules
}

pub(crate) fn transitions(
    declared: &[DeclaredTransitions],
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Vec<TransitionRule> {
    let mut rules = vec![];
    for DeclaredTransitions { field: name, allowed } in declared {
        let Some((field, known)) = required_enum(Usage::Transitions, name, scope, reporter) else {
            continue;
        };
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

/// The field and its members. An optional field could come from nothing, and go there.
fn required_enum<'s>(
    usage: Usage,
    name: &Word,
    scope: &'s Scope,
    reporter: &mut Reporter<'_>,
) -> Option<(FieldId, &'s [String])> {
    let field = scope.find_for(usage, name, reporter)?;
    let FieldType::Enum(known) = &scope.field(field).of else { return None };
    if scope.field(field).presence == Presence::Optional {
        let reason = format!("`{}` cannot be in `{}`: it is optional", name.text, usage.key());
        let help = "remove `?`, and add a member for what is not known yet";
        reporter.push(Report::new(Code::BadTransition, name.span, reason).help(help));
    }
    Some((field, known))
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
