//! The tenancy of each entity. Shared entities must not refer to entities of a tenant.

use crate::declared::DeclaredEntity;
use crate::error::{Code, Report, Reporter};
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
        reporter.push(Report::new(Code::ChildTenant, word.span, reason).help(help));
        return Tenancy::Shared;
    }
    let Some(id) = scope.find(word, reporter) else { return Tenancy::Shared };
    if let Some(reason) = why_not(id, scope) {
        let help = "the tenant must be a required text, int, enum or ref";
        reporter.push(Report::new(Code::BadTenant, word.span, reason).help(help));
    }
    Tenancy::Own(id)
}

/// Why a field cannot be the tenant.
fn why_not(id: FieldId, scope: &Scope) -> Option<String> {
    let scoped = &scope.fields[id.index()];
    let field = &scoped.field;
    let can_identify = matches!(
        field.of,
        FieldType::Text(_) | FieldType::Int(_) | FieldType::Enum(_) | FieldType::Ref(..)
    );
    if scoped.is_valid && !can_identify {
        Some(format!("a field of type `{}` cannot identify a tenant", field.of.name()))
    } else if field.presence == Presence::Optional {
        Some(format!("`{}` is optional and cannot identify a tenant", field.name))
    } else if id == FieldId(0) {
        Some("`id` cannot identify a tenant: it differs for every entity".to_owned())
    } else {
        None
    }
}

/// A shared entity that refers to an entity of a tenant would show its id to the other tenants.
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
                "`{}` is shared by all tenants and cannot refer to an entity of one tenant",
                entity.name.text
            );
            let help = format!("give `{}` a `tenant` too", entity.name.text);
            reporter.push(Report::new(Code::SharedRef, declared.name.span, reason).help(help));
        }
    }
}
