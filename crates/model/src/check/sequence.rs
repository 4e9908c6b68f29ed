//! `sequence`: the number that entities get when they are created.

use crate::declared::DeclaredSequence;
use crate::error::{Code, Report, Reporter};
use crate::model::{FieldType, Limits, Presence, Sequence};
use crate::source::Word;

use super::scope::{Scope, Usage};

pub(crate) fn sequence(
    declared: &[DeclaredSequence],
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Option<Sequence> {
    let (first, others) = declared.split_first()?;
    for other in others {
        let reason = format!("`{}` has a sequence already", scope.entity);
        let help = format!("keep `sequence.{}` alone", first.field.text);
        refuse(&other.field, reason, &help, reporter);
    }
    let field = scope.find_for(Usage::Sequence, &first.field, reporter)?;
    check_number(&first.field, scope, reporter);
    let by = scope.find_all(Usage::SequenceBy, &first.by, reporter);
    for name in &first.by {
        let mut named = by.iter().map(|id| scope.field(*id)).filter(|by| by.name == name.text);
        if by.contains(&field) && scope.field(field).name == name.text {
            let reason = format!("`{}` cannot be numbered by itself", name.text);
            refuse(name, reason, "remove it from the list", reporter);
        } else if named.any(|by| by.presence == Presence::Optional) {
            let reason = format!("a sequence cannot be by `{}`: it is optional", name.text);
            refuse(name, reason, "remove `?` from that field, or name another one", reporter);
        }
    }
    Some(Sequence { field, by })
}

/// The number is Keyloom's choice: 1, 2, 3, ...
fn check_number(name: &Word, scope: &Scope, reporter: &mut Reporter<'_>) {
    let field = scope.fields.iter().map(|scoped| &scoped.field);
    let Some(field) = field.into_iter().find(|field| field.name == name.text) else { return };
    if field.of != FieldType::Int(Limits::NONE) {
        let reason = format!("`{}` has a sequence and a range", name.text);
        refuse(name, reason, "remove the range: the numbers are 1, 2, 3 and so on", reporter);
    }
    if field.default.is_some() {
        let reason = format!("`{}` has a sequence and a default", name.text);
        refuse(name, reason, "remove the default: the numbers are 1, 2, 3 and so on", reporter);
    }
}

fn refuse(at: &Word, reason: String, help: &str, reporter: &mut Reporter<'_>) {
    reporter.push(Report::new(Code::BadSequence, at.span, reason).help(help));
}
