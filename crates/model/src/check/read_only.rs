//! `read_only`: the fields that clients of the service cannot set.

use crate::error::{Code, Report, Reporter};
use crate::model::{Field, FieldAccess, FieldId, FieldOrigin, Presence, Tenancy};
use crate::source::Word;

use super::scope::{Scope, same_field_twice};

/// What decides whether a field of an entity can be read-only.
pub(crate) struct ReadOnly<'s> {
    pub(crate) scope: &'s Scope,
    pub(crate) tenancy: Tenancy,
}

impl ReadOnly<'_> {
    /// The fields of the entity, of which the named ones are read-only.
    pub(crate) fn fields(&self, names: &[Word], reporter: &mut Reporter<'_>) -> Vec<Field> {
        let scoped = self.scope.fields.iter();
        let mut fields: Vec<Field> = scoped.map(|scoped| scoped.field.clone()).collect();
        for name in names {
            let Some(id) = self.scope.find(name, reporter) else { continue };
            let field = &mut fields[id.index()];
            if field.access == FieldAccess::ReadOnly {
                same_field_twice(name, "read_only", reporter);
            } else if let Some(Refusal { reason, help }) = self.refusal(id) {
                reporter.push(Report::new(Code::BadReadOnly, name.span, reason).help(help));
            }
            field.access = FieldAccess::ReadOnly;
        }
        fields
    }

    /// Why a field cannot be read-only: no client could create an entity.
    fn refusal(&self, id: FieldId) -> Option<Refusal> {
        let scoped = &self.scope.fields[id.index()];
        let field = &scoped.field;
        let name = &field.name;
        let owner = match field.origin {
            FieldOrigin::Id => {
                let reason = "`id` cannot be read-only: it never changes".to_owned();
                return Some(Refusal { reason, help: LEAVE_OUT });
            }
            FieldOrigin::Parent => Some("parent"),
            FieldOrigin::Declared if self.tenancy == Tenancy::Own(id) => Some("tenant"),
            FieldOrigin::Declared => None,
        };
        if let Some(owner) = owner {
            let reason = format!("`{name}` cannot be read-only: requests name the {owner} with it");
            return Some(Refusal { reason, help: LEAVE_OUT });
        }
        let is_unset = field.presence == Presence::Required && field.default.is_none();
        (scoped.is_valid && is_unset).then(|| Refusal {
            reason: format!("`{name}` cannot be read-only: no request could create an entity"),
            help: "give it a default, or make it optional with `?`",
        })
    }
}

const LEAVE_OUT: &str = "remove it from `read_only`";

/// Why a field cannot be read-only, and what to do.
struct Refusal {
    reason: String,
    help: &'static str,
}
