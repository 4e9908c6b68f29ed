//! The tenancy of each entity. Shared entities must not refer to entities of a tenant.

use crate::declared::DeclaredEntity;
use crate::error::{Code, Report, Reporter};
use crate::model::{Field, FieldId, FieldType, Presence, Tenancy};

use super::lineage::Lineage;
use super::scope::Scope;

/// The tenancy of every entity.
pub(crate) fn tenancies(
    lineage: &Lineage<'_>,
    scopes: &[Scope],
    reporter: &mut Reporter<'_>,
) -> Vec<Tenancy> {
    let entities = || lineage.declared().iter().zip(scopes);
    let tenancies: Vec<Tenancy> = entities()
        .enumerate()
        .map(|(index, (entity, scope))| {
            declared_tenancy(entity, scope, reporter).unwrap_or_else(|| lineage.inherited(index))
        })
        .collect();
    for ((entity, scope), tenancy) in entities().zip(&tenancies) {
        if *tenancy == Tenancy::Shared && entity.tenant.is_none() {
            for field in references_to_tenants(scope, &tenancies) {
                report_shared_reference(entity, field, reporter);
            }
        }
    }
    tenancies
}

/// The tenancy of an entity that declares it.
fn declared_tenancy(
    entity: &DeclaredEntity,
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Option<Tenancy> {
    let word = entity.tenant.as_ref()?;
    if let Some(parent) = &entity.parent {
        let reason = format!("`{}` belongs to the tenant of its parent", entity.name.text);
        let help = format!("leave this out, or declare it on `{}`", parent.text);
        reporter.push(Report::new(Code::ChildTenant, word.span, reason).help(help));
        return Some(Tenancy::Shared);
    }
    let Some(id) = scope.find(word, reporter) else { return Some(Tenancy::Shared) };
    if let Some(reason) = why_not(id, scope) {
        let help = "the tenant must be a required text, int, enum or ref";
        reporter.push(Report::new(Code::BadTenant, word.span, reason).help(help));
    }
    Some(Tenancy::Own(id))
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

/// The fields that refer to entities of a tenant.
fn references_to_tenants<'s>(
    scope: &'s Scope,
    tenancies: &'s [Tenancy],
) -> impl Iterator<Item = &'s Field> {
    scope.fields.iter().map(|scoped| &scoped.field).filter(|field| {
        let of = match &field.of {
            FieldType::List(of, _) => of,
            of => of,
        };
        matches!(*of, FieldType::Ref(target, _) if tenancies[target.index()] != Tenancy::Shared)
    })
}

/// The reference would show the id of an entity of one tenant to the other tenants.
fn report_shared_reference(entity: &DeclaredEntity, field: &Field, reporter: &mut Reporter<'_>) {
    let declared = entity.fields.iter().find(|declared| declared.name.text == field.name);
    let Some(declared) = declared else { return };
    let name = &entity.name.text;
    let reason =
        format!("`{name}` is shared by all tenants and cannot refer to an entity of one tenant");
    let help = format!("give `{name}` a `tenant` too");
    reporter.push(Report::new(Code::SharedRef, declared.name.span, reason).help(help));
}
