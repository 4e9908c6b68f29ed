//! `format`: the formats of text fields.

use std::collections::BTreeSet;

use crate::declared::{DeclaredFormat, DeclaredFormatChoice};
use crate::error::{Code, Report, Reporter};
use crate::model::{DefaultValue, FieldType, Format, FormatChoice, FormatRule, Literal};
use crate::source::Word;

use super::choice::Choices;
use super::scope::{Scope, Usage};

pub(crate) fn formats(
    declared: &[DeclaredFormat],
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Vec<FormatRule> {
    let mut rules = vec![];
    for format in declared {
        let Some(field) = scope.find_for(Usage::Format, &format.field, reporter) else { continue };
        let Some(choice) = choice(&format.choice, scope, reporter) else { continue };
        let rule = FormatRule { field, choice };
        for unmet in unmet_by_default(&rule, scope) {
            report_default(&format.field, unmet, reporter);
        }
        rules.push(rule);
    }
    rules
}

fn choice(
    declared: &DeclaredFormatChoice,
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Option<FormatChoice> {
    match declared {
        DeclaredFormatChoice::Always(word) => named(word, reporter).map(FormatChoice::Always),
        DeclaredFormatChoice::By(field, members) => {
            let id = scope.find_for(Usage::FormatBy, field, reporter)?;
            let FieldType::Enum(known) = &scope.field(id).of else { return None };
            let mut formats = vec![];
            for (member, format) in members {
                if !known.contains(&member.text) {
                    let reason = format!("`{}` is not a member of `{}`", member.text, field.text);
                    let known = known.iter().map(String::as_str);
                    let help = reporter.suggest(&member.text, "its members are", known);
                    let (code, span) = (Code::BadFormat, member.span);
                    reporter.push(Report { code, span, reason, help });
                }
                formats.extend(named(format, reporter).map(|f| (member.text.clone(), f)));
            }
            Some(FormatChoice::By(id, formats))
        }
    }
}

fn named(word: &Word, reporter: &mut Reporter<'_>) -> Option<Format> {
    let words = Format::ALL.map(|format| (format.name(), format));
    Choices { key: "a format", words: &words }.find(word, reporter)
}

/// The formats that the field may require and its default does not have.
fn unmet_by_default(rule: &FormatRule, scope: &Scope) -> BTreeSet<Format> {
    match &scope.field(rule.field).default {
        Some(DefaultValue::Literal(Literal::Text(default))) => {
            rule.formats().into_iter().filter(|format| !format.matches(default)).collect()
        }
        Some(_) | None => BTreeSet::new(),
    }
}

fn report_default(field: &Word, format: Format, reporter: &mut Reporter<'_>) {
    let reason = format!("the default of `{}` is not {}", field.text, format.in_words());
    let help = "give it another default, or make it optional with `?`";
    reporter.push(Report::new(Code::BadFormat, field.span, reason).help(help));
}
