//! Whose data each entity is, and that no reference leads out of a tenant.

use crate::declared::DeclaredEntity;
use crate::error::{Code, Reporter};
use crate::model::{FieldId, FieldType, Presence, Tenancy};
use crate::source::Word;

use super::lineage::Lineage;
use super::scope::Scope;

/// The tenancy of every entity.
pub(crate) fn tenancies(
    declared: &[DeclaredEntity],
    (lineage, scopes): (&Lineage<'_>, &[Scope]),
    reporter: &mut Reporter<'_>,
) -> Vec<Tenancy> {
    let mut tenancies = vec![];
    for (index, entity) in declared.iter().enumerate() {
        tenancies.push(match &entity.tenant {
            None => lineage.inherited(index),
            Some(word) => own(word, (entity, &scopes[index]), reporter),
        });
    }
    for (index, entity) in declared.iter().enumerate() {
        if tenancies[index] == Tenancy::Shared && entity.tenant.is_none() {
            check_references(entity, (&scopes[index], &tenancies), reporter);
        }
    }
    tenancies
}

/// The tenancy of an entity that declares it.
fn own(
    word: &Word,
    (entity, scope): (&DeclaredEntity, &Scope),
    reporter: &mut Reporter<'_>,
) -> Tenancy {
    if let Some(parent) = &entity.parent {
        let reason = format!("`{}` belongs to the tenant of its parent", entity.name.text);
        let help = format!("leave this out, or declare it on `{}`", parent.text);
        reporter.report_with_help(Code::ChildTenant, word.span, (reason, help));
        return Tenancy::Shared;
    }
    let Some(id) = scope.find(word, reporter) else { return Tenancy::Shared };
    if let Some(reason) = why_no_tenant(id, scope) {
        let help = "the tenant is a text, int, enum or ref that is always there";
        reporter.report_with_help(Code::BadTenant, word.span, (reason, help));
    }
    Tenancy::Own(id)
}

fn why_no_tenant(id: FieldId, scope: &Scope) -> Option<String> {
    let scoped = &scope.fields[id.index()];
    let field = &scoped.field;
    let names_a_tenant = matches!(
        field.of,
        FieldType::Text(_) | FieldType::Int(_) | FieldType::Enum(_) | FieldType::Ref(..)
    );
    if scoped.is_readable && !names_a_tenant {
        Some(format!("a `{}` cannot name a tenant", field.of.name()))
    } else if field.presence == Presence::Optional {
        Some(format!("`{}` can be absent, and then there would be no tenant", field.name))
    } else if id == FieldId(0) {
        Some("`id` cannot name a tenant: every entity has another".to_owned())
    } else {
        None
    }
}

/// What all tenants share cannot refer to what one of them owns: it would show its ids to the
/// others.
fn check_references(
    entity: &DeclaredEntity,
    (scope, tenancies): (&Scope, &[Tenancy]),
    reporter: &mut Reporter<'_>,
) {
    for scoped in &scope.fields {
        let of = match &scoped.field.of {
            FieldType::List(of, _) => of,
            of => of,
        };
        let FieldType::Ref(target, _) = *of else { continue };
        let declared = entity.fields.iter().find(|field| field.name.text == scoped.field.name);
        let Some(declared) = declared else { continue };
        if tenancies[target.index()] != Tenancy::Shared {
            let reason = format!(
                "`{}` is shared by all tenants and cannot refer to what one of them owns",
                entity.name.text
            );
            let help = format!("give `{}` a `tenant` too", entity.name.text);
            reporter.report_with_help(Code::SharedRef, declared.name.span, (reason, help));
        }
    }
}
