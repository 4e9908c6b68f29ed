//! Entities, one by one: their own keys, then everything declared on them.

use crate::declared::DeclaredEntity;
use crate::error::{Code, Report, Reporter};
use crate::model::{Entity, FieldId, FieldType, IdSource, Tenancy};

use super::choice::choose;
use super::lineage::Lineage;
use super::path::{self, Paths};
use super::scope::Scope;
use super::{board, capacity, format, list, read_only, unique};

/// The context in which all entities are checked.
pub(crate) struct Checker<'c, 'r> {
    pub(crate) lineage: &'c Lineage<'c>,
    pub(crate) scopes: &'c [Scope],
    pub(crate) tenancies: &'c [Tenancy],
    pub(crate) paths: Paths,
    pub(crate) reporter: &'c mut Reporter<'r>,
}

impl Checker<'_, '_> {
    pub(crate) fn entities(&mut self, declared: &[DeclaredEntity]) -> Vec<Entity> {
        declared.iter().enumerate().map(|(index, entity)| self.entity(index, entity)).collect()
    }

    fn entity(&mut self, index: usize, declared: &DeclaredEntity) -> Entity {
        let scope = &self.scopes[index];
        let reporter = &mut *self.reporter;
        let entity = Entity {
            name: declared.name.text.clone(),
            path: path::entity_path(declared),
            id_source: id_source(declared, reporter),
            parent: self.lineage.parents()[index].map(|_| FieldId(1)),
            tenancy: self.tenancies[index],
            expires: expires(declared, scope, reporter),
            formats: format::formats(&declared.formats, scope, reporter),
            uniques: unique::uniques(&declared.uniques, scope, reporter),
            lists: list::lists(declared, scope, (&mut self.paths, reporter)),
            counts: board::counts(declared, scope, (&mut self.paths, reporter)),
            boards: board::boards(&declared.boards, scope, reporter),
            combinations: board::combinations(&declared.tags, scope, reporter),
            fields: read_only::fields(declared, (scope, self.tenancies[index]), reporter),
        };
        capacity::check_capacity(declared, &entity, reporter);
        entity
    }
}

fn id_source(declared: &DeclaredEntity, reporter: &mut Reporter<'_>) -> IdSource {
    let word = declared.id.as_ref();
    match word.and_then(|word| choose(word, "`id`", &["generated", "given"], reporter)) {
        Some("given") => IdSource::Given,
        _ => IdSource::Generated,
    }
}

fn expires(
    declared: &DeclaredEntity,
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Option<FieldId> {
    let word = declared.expires.as_ref()?;
    let id = scope.find(word, reporter)?;
    let scoped = &scope.fields[id.index()];
    if scoped.is_valid && scoped.field.of != FieldType::Time {
        let found = scoped.field.of.name();
        let reason = format!("`{}` cannot be in `expires`: its type is `{found}`", word.text);
        let help = "name a field of type `time`; it can be optional";
        reporter.push(Report::new(Code::BadExpiry, word.span, reason).help(help));
    }
    Some(id)
}
