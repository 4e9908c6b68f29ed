//! Entities: which were added or removed, and what applies to all of their data.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{
    Access, Entity, FieldId, FieldOrigin, FieldType, IdSource, Model, Sequence, Target, Tenancy,
    TriggeringChange,
};

use super::change::{Change, ChangeKind};
use super::findings::Findings;
use super::refusal::Refusal;
use super::side::{Pair, Side};

/// Compares which entities the models have.
pub(super) fn compare_presence(old: &Model, new: &Model, findings: &mut Findings) {
    let is_new = |entity: &Entity| old.find_stored(&entity.stored).is_none();
    for (id, entity) in old.entities() {
        if new.find_stored(&entity.stored).is_some() {
            continue;
        }
        if old.jobs() == Some(id) {
            findings.refusals.push(without_jobs(entity));
            continue;
        }
        let mut added = new.entities().map(|(_, other)| other).filter(|other| is_new(other));
        let twin = added.find(|other| declared(other) == declared(entity));
        findings.refusals.push(removed(entity, twin));
    }
    for (id, entity) in new.entities().filter(|(_, entity)| is_new(entity)) {
        let text = format!("`{}` is new", entity.name);
        findings.changes.push(Change { entity: id, kind: ChangeKind::EntityAdded, text });
    }
}

fn declared(entity: &Entity) -> BTreeSet<(&str, &str)> {
    let declared = entity.fields.iter().filter(|field| field.origin == FieldOrigin::Declared);
    declared.map(|field| (field.name.as_str(), field.of.name())).collect()
}

fn removed(entity: &Entity, twin: Option<&Entity>) -> Refusal {
    let name = &entity.name;
    let reason = format!("`{name}` is no longer declared: its data would become unreachable");
    let help = match twin {
        Some(twin) => format!(
            "if it is now `{0}`, add `renamed.{0} = \"{name}\"` at the beginning of the model",
            twin.name
        ),
        None => format!("declare `{name}` again; removing an entity is not supported"),
    };
    Refusal { entity: name.clone(), reason, help }
}

fn without_jobs(entity: &Entity) -> Refusal {
    let reason = format!("removing the last handler would remove `{}`", entity.name);
    let help = "declare `jobs = true` to keep and run the remaining jobs".to_owned();
    Refusal { entity: entity.name.clone(), reason, help }
}

/// Compares what applies to all data of an entity, and how it is served.
pub(super) fn compare(pair: &Pair<'_>, findings: &mut Findings) {
    let refusals = [parent(pair), tenant(pair), id_source(pair)];
    findings.refusals.extend(refusals.into_iter().flatten());
    match sequence(pair) {
        Ok(change) => findings.changes.extend(change),
        Err(refusal) => findings.refusals.push(refusal),
    }
    let changes = [
        renamed(pair),
        expiry(pair),
        updated(pair),
        access(pair),
        initials(pair),
        transitions(pair),
        path(pair),
        handlers(pair),
        shards(pair),
    ];
    findings.changes.extend(changes.into_iter().flatten());
}

fn renamed(pair: &Pair<'_>) -> Option<Change> {
    let (old, new) = (&pair.old.entity.name, &pair.new.entity.name);
    let text = || format!("`{new}` was `{old}`");
    (old != new).then(|| pair.change(ChangeKind::EntityRenamed, text()))
}

fn parent(pair: &Pair<'_>) -> Option<Refusal> {
    let name = pair.name();
    let (old, new) = (pair.old.parent(), pair.new.parent());
    if old.map(|parent| &parent.stored) == new.map(|parent| &parent.stored) {
        return None;
    }
    let words = (old.map(|parent| parent.name.as_str()), new.map(|parent| parent.name.as_str()));
    let (was, help) = match words {
        (Some(old), new) => (
            format!("`{name}` was a child of `{old}` and {}", parent_words(new)),
            format!("keep `parent = \"{old}\"`; you can add a `ref` to another entity"),
        ),
        (None, new) => (
            format!("`{name}` had no parent and {}", parent_words(new)),
            "remove `parent`; you can add an optional `ref` instead".to_owned(),
        ),
    };
    Some(pair.refusal(format!("{was}: the parent determines where its data is stored"), help))
}

fn parent_words(parent: Option<&str>) -> String {
    parent.map_or("now has no parent".to_owned(), |parent| format!("is now a child of `{parent}`"))
}

/// A child has the tenant of its outermost ancestor: a change is reported there, or with the parent.
fn tenant(pair: &Pair<'_>) -> Option<Refusal> {
    let own = |side: Side<'_>| match side.entity.tenancy {
        Tenancy::Own(field) => Some(field),
        Tenancy::Shared | Tenancy::Inherited(_) => None,
    };
    let is_child = pair.old.parent().is_some() || pair.new.parent().is_some();
    let (old, new) = (own(pair.old), own(pair.new));
    if is_child || is_same_field(pair, old, new) {
        return None;
    }
    let name = |side: Side<'_>, field: Option<FieldId>| Some(side.name(field?).to_owned());
    let (old, new) = (name(pair.old, old), name(pair.new, new));
    let words = |tenant: &Option<String>| match tenant {
        Some(field) => format!("`{field}`"),
        None => "none".to_owned(),
    };
    let reason = format!(
        "the tenant of `{}` changed from {} to {}: data is stored by tenant",
        pair.name(),
        words(&old),
        words(&new)
    );
    let help = match old {
        Some(field) => format!("keep `tenant = \"{field}\"`"),
        None => "remove `tenant`; a new entity can have one".to_owned(),
    };
    Some(pair.refusal(reason, help))
}

fn id_source(pair: &Pair<'_>) -> Option<Refusal> {
    let (old, new) = (pair.old.entity.id_source, pair.new.entity.id_source);
    if old == new {
        return None;
    }
    let word = |source| match source {
        IdSource::Generated => "generated",
        IdSource::Given => "given",
    };
    let reason = format!(
        "the ids of `{}` changed from `{}` to `{}`: existing ids do not match",
        pair.name(),
        word(old),
        word(new)
    );
    let help = match old {
        IdSource::Generated => "remove `id`; a field with a `unique` can hold your own names",
        IdSource::Given => "keep `id = \"given\"`",
    };
    Some(pair.refusal(reason, help.to_owned()))
}

fn expiry(pair: &Pair<'_>) -> Option<Change> {
    let (old, new) = (pair.old.entity.expires, pair.new.entity.expires);
    let text = match new.map(|field| pair.new.name(field)) {
        Some(field) => format!("`{}` now expires by `{field}`", pair.name()),
        None => format!("`{}` no longer expires", pair.name()),
    };
    (!is_same_field(pair, old, new)).then(|| pair.change(ChangeKind::ExpiryChanged, text))
}

/// Whether two fields, of the old model and of the new one, are the same one, or there are none.
fn is_same_field(pair: &Pair<'_>, old: Option<FieldId>, new: Option<FieldId>) -> bool {
    old.map(|field| pair.old.stored(field)) == new.map(|field| pair.new.stored(field))
}

fn updated(pair: &Pair<'_>) -> Option<Change> {
    let (old, new) = (pair.old.entity.updated, pair.new.entity.updated);
    let text = match new.map(|field| pair.new.name(field)) {
        Some(field) => {
            format!("`{}` now has the time of its last change in `{field}`", pair.name())
        }
        None => format!("`{}` no longer has the time of its last change", pair.name()),
    };
    (!is_same_field(pair, old, new)).then(|| pair.change(ChangeKind::ServiceChanged, text))
}

/// Numbers that were assigned stay. A sequence begins at 1, so no entity may have a number before it
/// does, and it always finds its rows.
fn sequence(pair: &Pair<'_>) -> Result<Option<Change>, Refusal> {
    let names = |side: Side<'_>, sequence: &Sequence| -> Vec<String> {
        let fields = [sequence.field].into_iter().chain(sequence.by.iter().copied());
        fields.map(|field| side.stored(field).to_owned()).collect()
    };
    let changed = |text| Ok(Some(pair.change(ChangeKind::ServiceChanged, text)));
    match (&pair.old.entity.sequence, &pair.new.entity.sequence) {
        (None, None) => Ok(None),
        (Some(old), Some(new)) if names(pair.old, old) == names(pair.new, new) => Ok(None),
        (Some(_), None) => changed(format!("`{}` no longer gets numbers", pair.name())),
        (None, Some(new)) => {
            let (field, entity) = (pair.new.name(new.field), pair.new.entity);
            match entity.counterpart(new.field, pair.old.entity) {
                None => changed(format!("`{}` now gets numbers in `{field}`", pair.name())),
                Some(_) => Err(pair.refusal(
                    format!("`{field}` now has a sequence, and stored entities may have numbers"),
                    "declare the sequence for a new, optional field".to_owned(),
                )),
            }
        }
        (Some(old), Some(_)) => Err(pair.refusal(
            format!("the sequence of `{}` is another one: it would begin again", pair.name()),
            format!("keep that of `{}`, with the same fields in it", pair.old.name(old.field)),
        )),
    }
}

/// Rules say who may see and change data, and nothing about the data.
fn access(pair: &Pair<'_>) -> Option<Change> {
    let rules = |side: Side<'_>| {
        let entity = side.entity;
        let owner = entity.access.owner.map(|field| side.stored(field).to_owned());
        let lists = entity.lists.iter().map(|list| ("list", list.name.clone(), &list.readers));
        let counts =
            entity.counts.iter().map(|count| ("count", count.name.clone(), &count.readers));
        let boards =
            entity.boards.iter().map(|board| ("board", board.name.clone(), &board.readers));
        let queries = lists.chain(counts).chain(boards);
        let queries: BTreeMap<_, _> =
            queries.map(|(what, name, readers)| ((what, name), readers.clone())).collect();
        (Access { owner: None, ..entity.access.clone() }, owner, queries)
    };
    let ((old, old_owner, old_queries), (new, new_owner, new_queries)) =
        (rules(pair.old), rules(pair.new));
    // New queries and removed ones are changes of their own.
    let is_same_query =
        |(name, readers): (&_, &_)| old_queries.get(name).is_none_or(|old| old == readers);
    let is_same = old == new && old_owner == new_owner && new_queries.iter().all(is_same_query);
    let text = || format!("`{}`: the access rules changed", pair.name());
    (!is_same).then(|| pair.change(ChangeKind::ServiceChanged, text()))
}

/// A rule about new entities, which stored ones cannot break.
fn initials(pair: &Pair<'_>) -> Option<Change> {
    let rules = |side: Side<'_>| -> BTreeMap<String, BTreeSet<String>> {
        let fields = side.entity.fields().filter_map(|(id, field)| {
            let initial = side.entity.initial(id)?.iter().cloned();
            Some((field.stored.clone(), initial.collect()))
        });
        fields.collect()
    };
    let text = || format!("`{}`: the initial values of its enums changed", pair.name());
    let is_same = rules(pair.old) == rules(pair.new);
    (!is_same).then(|| pair.change(ChangeKind::ServiceChanged, text()))
}

/// A rule about changes, which stored entities cannot break.
fn transitions(pair: &Pair<'_>) -> Option<Change> {
    let rules = |side: Side<'_>| -> BTreeMap<String, BTreeMap<String, BTreeSet<String>>> {
        let fields = side.entity.fields().filter_map(|(id, field)| {
            let allowed = side.entity.transitions(id)?.iter();
            let allowed = allowed.map(|(from, to)| (from.clone(), to.iter().cloned().collect()));
            Some((field.stored.clone(), allowed.collect()))
        });
        fields.collect()
    };
    let text = || format!("`{}`: the transitions of its enums changed", pair.name());
    let is_same = rules(pair.old) == rules(pair.new);
    (!is_same).then(|| pair.change(ChangeKind::ServiceChanged, text()))
}

fn path(pair: &Pair<'_>) -> Option<Change> {
    let (old, new) = (&pair.old.entity.path, &pair.new.entity.path);
    let text = || format!("`{}` is now served at `{new}`", pair.name());
    (old != new).then(|| pair.change(ChangeKind::ServiceChanged, text()))
}

fn shards(pair: &Pair<'_>) -> Option<Change> {
    let (old, new) = (pair.old.entity.shards, pair.new.entity.shards);
    if old != new {
        let text = format!("`{}` now has {new} shards, not {old}", pair.name());
        return Some(pair.change(ChangeKind::ShardsChanged, text));
    }
    let (old, new) = (references(pair.old), references(pair.new));
    let mut kept = new.iter().filter(|(target, _)| old.contains_key(*target));
    let moved = kept.find(|(target, shards)| old.get(*target) != Some(shards));
    moved.map(|(target, shards)| {
        let target = pair.new.model.find_stored(target);
        let target = target.map_or("", |id| &pair.new.model.entity(id).name);
        let text = format!("`{}`: references to `{target}` now have {shards} shards", pair.name());
        pair.change(ChangeKind::ShardsChanged, text)
    })
}

/// The entities whose links or presence rows an entity has a part in: itself, and those that it refers
/// to, each with the number of shards of references to it.
fn references(side: Side<'_>) -> BTreeMap<String, u32> {
    let targets = side.entity.fields.iter().filter_map(|field| match field.of {
        FieldType::Ref(target, _) => Some(side.model.entity(target)),
        _ => None,
    });
    let all = targets.chain([side.entity]);
    all.map(|target| (target.stored.clone(), target.reference_shards)).collect()
}

fn handlers(pair: &Pair<'_>) -> Option<Change> {
    let (old, new) = (calls(pair.old), calls(pair.new));
    let is_same = old.len() == new.len() && old.iter().all(|call| new.contains(call));
    let text = || format!("`{}`: the handlers changed", pair.name());
    (!is_same).then(|| pair.change(ChangeKind::ServiceChanged, text()))
}

fn calls(side: Side<'_>) -> Vec<(TriggeringChange, &Target)> {
    let handlers = side.model.handlers().iter();
    let own = handlers.filter(|handler| side.model.entity(handler.entity).name == side.entity.name);
    own.map(|handler| (handler.change, &handler.target)).collect()
}
