//! `read_only`: the fields that clients of the service cannot set.

use crate::declared::DeclaredEntity;
use crate::error::{Code, Report, Reporter};
use crate::model::{Field, FieldAccess, FieldId, FieldOrigin, Presence, Tenancy};

use super::scope::{Scope, same_field_twice};

/// The fields of an entity, with `read_only` applied.
pub(crate) fn fields(
    declared: &DeclaredEntity,
    (scope, tenancy): (&Scope, Tenancy),
    reporter: &mut Reporter<'_>,
) -> Vec<Field> {
    let mut fields: Vec<Field> = scope.fields.iter().map(|scoped| scoped.field.clone()).collect();
    for name in &declared.read_only {
        let Some(id) = scope.find(name, reporter) else { continue };
        let field = &mut fields[id.index()];
        if field.access == FieldAccess::ReadOnly {
            same_field_twice(name, "read_only", reporter);
        } else if let Some((reason, help)) = why_not(id, (scope, tenancy)) {
            reporter.push(Report::new(Code::BadReadOnly, name.span, reason).help(help));
        }
        field.access = FieldAccess::ReadOnly;
    }
    fields
}

/// Why a field cannot be read-only: no client could create an entity.
fn why_not(id: FieldId, (scope, tenancy): (&Scope, Tenancy)) -> Option<(String, &'static str)> {
    let scoped = &scope.fields[id.index()];
    let field = &scoped.field;
    let (name, leave_out) = (&field.name, "remove it from `read_only`");
    let owner = match field.origin {
        FieldOrigin::Id => {
            return Some(("`id` cannot be read-only: it never changes".to_owned(), leave_out));
        }
        FieldOrigin::Parent => Some("parent"),
        FieldOrigin::Declared if tenancy == Tenancy::Own(id) => Some("tenant"),
        FieldOrigin::Declared => None,
    };
    if let Some(owner) = owner {
        let reason = format!("`{name}` cannot be read-only: requests name the {owner} with it");
        return Some((reason, leave_out));
    }
    let is_unset = field.presence == Presence::Required && field.default.is_none();
    (scoped.is_valid && is_unset).then(|| {
        let reason = format!("`{name}` cannot be read-only: no request could create an entity");
        (reason, "give it a default, or make it optional with `?`")
    })
}
