//! Uniques: alone, combined, scoped, case-folded.

use crate::declared::DeclaredUnique;
use crate::error::{Code, Report, Reporter};
use crate::model::{CaseMode, FieldId, Unique};

use super::scope::{Scope, Usage, same_field_twice};

pub(crate) fn uniques(
    declared: &[DeclaredUnique],
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Vec<Unique> {
    let mut found: Vec<Unique> = vec![];
    for entry in declared {
        let Some(unique) = unique(entry, scope, reporter) else { continue };
        if found.iter().any(|other| is_same(other, &unique)) {
            let reason = "duplicate unique";
            reporter.push(
                Report::new(Code::SameTwice, entry.span, reason).help("leave one of them out"),
            );
        } else {
            found.push(unique);
        }
    }
    found
}

fn unique(declared: &DeclaredUnique, scope: &Scope, reporter: &mut Reporter<'_>) -> Option<Unique> {
    if declared.fields.is_empty() {
        let help = "name the fields that are unique together";
        reporter
            .push(Report::new(Code::Empty, declared.span, "this unique has no fields").help(help));
        return None;
    }
    let fields = scope.find_all(Usage::Unique, &declared.fields, reporter);
    let within = declared.within.as_ref();
    let within = within.and_then(|name| {
        let id = scope.find_for(Usage::Unique, name, reporter)?;
        if fields.contains(&id) {
            same_field_twice(name, "fields", reporter);
        }
        Some(id)
    });
    if fields.len() < declared.fields.len() {
        return None;
    }
    if fields.contains(&FieldId(0)) {
        let reason = "`id` is already unique";
        reporter.push(Report::new(Code::SameTwice, declared.span, reason).help("leave it out"));
        return None;
    }
    if let Some(span) = declared.fold_case
        && !fields.iter().any(|id| scope.is_text(*id))
    {
        let reason = "there is no case to fold: none of the fields is a `text`";
        reporter.push(Report::new(Code::NothingToFold, span, reason).help("leave `fold_case` out"));
    }
    let case = declared.fold_case.map_or(CaseMode::Exact, |_| CaseMode::Folded);
    Some(Unique { fields, within, case })
}

/// Whether two uniques have the same fields. Case does not matter: folded implies exact.
fn is_same(a: &Unique, b: &Unique) -> bool {
    let set = |unique: &Unique| {
        let mut fields: Vec<FieldId> = unique.fields.iter().copied().chain(unique.within).collect();
        fields.sort_unstable();
        fields
    };
    set(a) == set(b)
}
