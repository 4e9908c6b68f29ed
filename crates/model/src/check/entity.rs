//! Entities, one by one: their own keys, then everything declared on them.

use std::collections::BTreeSet;

use crate::declared::{DeclaredCount, DeclaredEntity, DeclaredList};
use crate::error::{Code, Report, Reporter};
use crate::model::{
    Access, Count, DefaultValue, Entity, FieldAccess, FieldId, FieldType, IdSource, List, Presence,
    Tenancy,
};

use super::choice::Choices;
use super::lineage::Lineage;
use super::path::{self, Paths, Served};
use super::read_only::ReadOnly;
use super::scope::Scope;
use super::shards;
use super::{
    access, board, capacity, filters, format, list, moves, pattern, search, sequence, transition,
    unique,
};

const ID_SOURCES: Choices<'_, IdSource> = Choices {
    key: "`id`",
    words: &[("generated", IdSource::Generated), ("given", IdSource::Given)],
};

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
        let (scope, tenancy) = (&self.scopes[index], self.tenancies[index]);
        let shards = shards::number(declared.shards.as_ref(), shards::READ_MAX, self.reporter);
        let lists = self.lists(&declared.lists, scope, shards);
        let counts = self.counts(&declared.counts, scope);
        let reporter = &mut *self.reporter;
        let updated = updated(declared, scope, reporter);
        let sequence = sequence::sequence(&declared.sequences, scope, reporter);
        let mut fields = ReadOnly { scope, tenancy }.fields(&declared.read_only, reporter);
        for id in updated.into_iter().chain(sequence.as_ref().map(|sequence| sequence.field)) {
            fields[id.index()].access = FieldAccess::ReadOnly;
        }
        let formats = format::formats(&declared.formats, scope, reporter);
        let mut entity = Entity {
            name: declared.name.text.clone(),
            stored: declared.name.text.clone(),
            path: path::entity_path(declared),
            id_source: id_source(declared, reporter),
            parent: self.lineage.parents()[index].map(|_| FieldId(1)),
            tenancy,
            expires: expires(declared, scope, reporter),
            updated,
            access: Access::default(),
            sequence,
            filters: filters::filters(&declared.filters, scope, reporter),
            initials: transition::initials(&declared.initials, scope, reporter),
            transitions: transition::transitions(&declared.transitions, scope, reporter),
            patterns: pattern::patterns(&declared.patterns, scope, &formats, reporter),
            searches: search::searches(&declared.searches, scope, reporter),
            formats,
            uniques: unique::uniques(&declared.uniques, scope, reporter),
            lists,
            counts,
            boards: board::boards(&declared.boards, scope, reporter),
            combinations: board::combinations(&declared.tags, scope, reporter),
            moves: moves::moves(declared, scope, reporter),
            retired: BTreeSet::new(),
            shards,
            reference_shards: shards::number(
                declared.reference_shards.as_ref(),
                shards::TRANSACTED_MAX,
                reporter,
            ),
            fields,
        };
        access::apply(declared, &mut entity, scope, reporter);
        capacity::check_capacity(declared, &entity, reporter);
        entity
    }

    fn lists(&mut self, declared: &[DeclaredList], scope: &Scope, shards: u32) -> Vec<List> {
        let mut lists = list::lists(declared, scope, self.reporter);
        for list in lists.iter_mut().filter(|list| list.by.is_empty()) {
            list.shards = shards;
        }
        for (list, declared) in lists.iter_mut().zip(declared) {
            let served = Served::list(declared, list, scope);
            list.path = served.and_then(|served| self.paths.add(&served, self.reporter));
        }
        lists
    }

    fn counts(&mut self, declared: &[DeclaredCount], scope: &Scope) -> Vec<Count> {
        let mut counts = board::counts(declared, scope, self.reporter);
        for (count, declared) in counts.iter_mut().zip(declared) {
            let served = Served::count(declared, count, scope);
            count.path = served.and_then(|served| self.paths.add(&served, self.reporter));
        }
        counts
    }
}

fn id_source(declared: &DeclaredEntity, reporter: &mut Reporter<'_>) -> IdSource {
    let word = declared.id.as_ref();
    word.and_then(|word| ID_SOURCES.find(word, reporter)).unwrap_or(IdSource::Generated)
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

/// The field with the time of the last change. It always has a value, from the beginning.
fn updated(
    declared: &DeclaredEntity,
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Option<FieldId> {
    let word = declared.updated.as_ref()?;
    let id = scope.find(word, reporter)?;
    let scoped = &scope.fields[id.index()];
    let field = &scoped.field;
    let is_now = field.of == FieldType::Time
        && field.presence == Presence::Required
        && field.default == Some(DefaultValue::Now);
    if scoped.is_valid && !is_now {
        let name = &word.text;
        let reason = format!("`{name}` cannot be in `updated`: it is not declared as `time = now`");
        let help = format!("declare it as `fields.{name} = \"time = now\"`");
        reporter.push(Report::new(Code::BadUpdated, word.span, reason).help(help));
    }
    Some(id)
}
