//! `filters`: the fields by which every list of an entity can be filtered, by range or by presence.

use crate::error::{Code, Report, Reporter};
use crate::model::{Field, FieldId, Presence};
use crate::source::Word;

use super::scope::{Scope, Usage};

pub(crate) fn filters(
    declared: &[Word],
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Vec<FieldId> {
    let filters = scope.find_all(Usage::Filters, declared, reporter);
    for name in declared {
        let field = filters.iter().map(|id| scope.field(*id)).find(|field| field.name == name.text);
        let is_useless =
            |field: &&Field| field.presence == Presence::Required && !field.has_slices();
        if let Some(field) = field.filter(is_useless) {
            reporter.push(always_there(name, field, &scope.entity));
        }
    }
    filters
}

fn always_there(name: &Word, field: &Field, entity: &str) -> Report {
    let of = field.of.name();
    let reason = format!(
        "`{}` cannot be in `filters`: every `{entity}` has it, and the type `{of}` has no ranges",
        name.text
    );
    let help = "name a number, a time, or an optional field; the `facets` of a list filter by \
                exact values";
    Report::new(Code::BadUse, name.span, reason).help(help)
}
