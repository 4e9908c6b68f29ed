//! What the model says, in sentences. Words of the model stand in backticks.

use keyloom_model::{
    CaseMode, DefaultValue, Direction, Entity, Field, FieldAccess, FieldId, FieldOrigin, FieldType,
    Format, FormatChoice, FormatRule, IdSource, List, Model, OnDelete, Presence, Tenancy, Unique,
};

use super::super::example::{default_of, literal_of};
use super::super::jobs::JobStep;
use super::super::operation::{Action, Asked, Operation};
use super::super::own_route::OwnRoute;
use super::super::values::ValuesOf;
use super::count::{board_details, count_details};

/// What an operation does, in a few words.
pub(crate) fn summary(model: &Model, own: &[OwnRoute], operation: &Operation) -> String {
    let one = |id| with_article(&model.entity(id).name);
    let text = match &operation.action {
        Action::Create(id) => return format!("Make {}", one(*id)),
        Action::Read(id) => return format!("Read {}", one(*id)),
        Action::Replace(id) => return format!("Replace {}", one(*id)),
        Action::Change(id) => return format!("Change fields of {}", one(*id)),
        Action::Delete(id) => return format!("Delete {}", one(*id)),
        Action::Children { parent, child } => {
            let (child, parent) = (spoken(&model.entity(*child).name), one(*parent));
            return format!("List every {child} of {parent}");
        }
        Action::Ask(asked) => return asked_for(model.entity(asked.entity), asked),
        Action::Values(asked, of) => return counted(model.entity(asked.entity), asked, *of),
        Action::Own(index, _) => own[*index].summary,
        Action::Job(_, JobStep::Replay) => "Run a job again that has failed or was called off",
        Action::Job(_, JobStep::Cancel) => "Call a job off",
        Action::Job(_, JobStep::Reschedule) => "Give a job that waits another time",
        Action::Changes(_) => "What happens, as server-sent events",
        Action::Count(id, count, _) => {
            let entity = model.entity(*id);
            let (name, count) = (spoken(&entity.name), spoken(&entity.count(*count).name));
            return format!("Count every {name}: {count}");
        }
        Action::Board(id, board) => {
            return format!("The board: {}", spoken(&model.entity(*id).board(*board).name));
        }
        Action::Ranked(id, board) => {
            return format!("One on the board: {}", spoken(&model.entity(*id).board(*board).name));
        }
        Action::Batch => "Make several requests, each for itself",
        Action::Transaction => "Make several changes, together or not at all",
        Action::ListTokens => "List all tokens",
        Action::CreateToken => "Make a token",
        Action::RevokeToken => "Make a token worthless",
        Action::OpenApi => "This description, as OpenAPI",
        Action::Docs => "This description, for people",
        Action::Health => "Whether the server answers",
        Action::Ready => "Whether the server can read and write its data",
        Action::Metrics => "Measurements, as Prometheus reads them",
    };
    text.to_owned()
}

/// What else is to be known about an operation.
pub(crate) fn details(model: &Model, operation: &Operation) -> Vec<String> {
    let texts: &[&str] = match &operation.action {
        Action::Ask(asked) => return questions(model.entity(asked.entity), asked),
        Action::Values(_, ValuesOf::Facets | ValuesOf::Facet) => {
            &["Under all filters but those by the facet itself. Values that none has are left out."]
        }
        Action::Values(_, ValuesOf::TagKeys(_) | ValuesOf::TagValues(_)) => {
            &["Of those that pass the filters. In the order of their bytes."]
        }
        Action::Count(id, count, _) => {
            let entity = model.entity(*id);
            return count_details((entity, entity.count(*count)));
        }
        Action::Board(id, board) | Action::Ranked(id, board) => {
            let entity = model.entity(*id);
            return board_details((entity, entity.board(*board)));
        }
        Action::Change(_) => &["A merge patch (RFC 7396): null takes a field away, what is not \
                                named stays."],
        Action::Replace(id) if model.entity(*id).id_source == IdSource::Given => {
            &["What is not named gets its default, or goes. It is made if it is not there."]
        }
        Action::Replace(_) => &["What is not named gets its default, or goes."],
        Action::Delete(_) => &["What happens to those that refer to it is said at their fields."],
        Action::Children { .. } => &["In order of ids."],
        Action::Batch => &["Up to 100, at the same time. The answer has one result for each: a \
                            status, and a body or a problem."],
        Action::Transaction => &["Up to 100 changes. The answer has what each entity is \
                                  afterwards: null if it is deleted."],
        Action::CreateToken => &["The member `token` of the answer is shown this once. With the \
                                  first token, whoever has none is not let in any more."],
        Action::Changes(_) => {
            &["An event is a change of one entity: `event` is what changed and how, as in \
             `task.update`; `data` is JSON with the entity before (`old`) and after (`new`); `id` \
             is its position. Whoever comes back with the last position in `Last-Event-ID`, as a \
             browser does by itself, or in `after`, goes on after it; without one, with what \
             happens from now on. A position that cannot be gone on from is answered with 410: \
             read what is needed again, and begin without a position."]
        }
        Action::Job(_, JobStep::Reschedule) => &["The body says when: `due`."],
        Action::Job(..)
        | Action::Create(_)
        | Action::Read(_)
        | Action::Own(..)
        | Action::ListTokens
        | Action::RevokeToken
        | Action::OpenApi
        | Action::Docs
        | Action::Health
        | Action::Ready
        | Action::Metrics => &[],
    };
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// What a field holds, and the rules that it keeps.
pub(crate) fn rule(model: &Model, entity: &Entity, field: &Field) -> String {
    let mut sentences = vec![];
    match (&field.of, field.origin) {
        (FieldType::Ref(target, on_delete), origin) => {
            let target = &model.entity(*target).name;
            sentences.push(match origin {
                FieldOrigin::Parent => format!("The id of the `{target}` that it belongs to."),
                FieldOrigin::Id | FieldOrigin::Declared => format!("The id of a `{target}`."),
            });
            let what = match on_delete {
                OnDelete::Refuse => "That one cannot be deleted before.",
                OnDelete::Cascade => "Deleted together with that one.",
                OnDelete::Clear => "Becomes absent when that one is deleted.",
                OnDelete::Keep => "Stays when that one is deleted.",
            };
            sentences.push(what.to_owned());
        }
        (of, _) => sentences.push(format!("{}.", capital(&of.in_words()))),
    }
    let listed = entity.reference_lists().find(|(id, _)| entity.field(*id).name == field.name);
    if let Some((_, target)) = listed {
        let target = &model.entity(target).name;
        sentences.push(format!(
            "Each value is the id of a `{target}`, which must exist when it is added, and stays \
             when that one is deleted."
        ));
    }
    let id = entity.find_field(&field.name);
    if let Some(format) = id.and_then(|id| entity.format_rule(id)) {
        sentences.push(format_rule(entity, format));
    }
    if field.presence == Presence::Optional {
        sentences.push("May be absent.".to_owned());
    }
    let (created, left_out) = match field.access {
        FieldAccess::ReadWrite => ("The time of creation if left out.", "if left out"),
        FieldAccess::ReadOnly => {
            sentences.push("Read-only: the service sets it.".to_owned());
            ("First the time of creation.", "at first")
        }
    };
    match &field.default {
        Some(DefaultValue::Now) => sentences.push(created.to_owned()),
        Some(DefaultValue::Literal(_)) => {
            sentences.extend(default_of(field).map(|value| format!("`{value}` {left_out}.")));
        }
        None => {}
    }
    let is = |other: Option<FieldId>| id.is_some() && id == other;
    if let Tenancy::Own(tenant) = entity.tenancy
        && is(Some(tenant))
    {
        sentences.push("The tenant of the request; may be left out.".to_owned());
    }
    if is(entity.expires) {
        sentences.push("At this time it is gone.".to_owned());
    }
    let uniques = entity.uniques.iter().filter(|unique| unique.fields.iter().any(|f| is(Some(*f))));
    sentences.extend(uniques.map(|unique| unique_rule(entity, field, unique)));
    sentences.join(" ")
}

fn format_rule(entity: &Entity, rule: &FormatRule) -> String {
    match &rule.choice {
        FormatChoice::Always(format) => format!("Must be {}.", format.in_words()),
        FormatChoice::By(by, formats) => {
            let by = &entity.field(*by).name;
            let one = |(member, format): &(String, Format)| {
                format!("{} if `{by}` is `{member}`", format.in_words())
            };
            let all: Vec<String> = formats.iter().map(one).collect();
            format!("Must be {}.", all.join("; "))
        }
    }
}

fn unique_rule(entity: &Entity, field: &Field, unique: &Unique) -> String {
    let names = unique.fields.iter().map(|id| &entity.field(*id).name);
    let others: Vec<&str> = names.filter(|name| **name != field.name).map(String::as_str).collect();
    let mut text = "Unique".to_owned();
    if !others.is_empty() {
        text.push_str(&format!(" together with `{}`", others.join("`, `")));
    }
    if let Some(within) = unique.within {
        text.push_str(&format!(" within one `{}`", entity.field(within).name));
    }
    match unique.case {
        CaseMode::Folded => text.push_str(", whatever the case"),
        CaseMode::Exact => {}
    }
    text + "."
}

fn asked_for(entity: &Entity, asked: &Asked) -> String {
    let name = spoken(&entity.name);
    match &asked.lists[..] {
        [] => format!("Find {}", with_article(&entity.name)),
        [first, ..] => format!("List every {name}: {}", spoken(&entity.list(*first).name)),
    }
}

fn counted(entity: &Entity, asked: &Asked, of: ValuesOf) -> String {
    let list = asked.lists.first().map(|list| spoken(&entity.list(*list).name)).unwrap_or_default();
    let what = match of {
        ValuesOf::Facets => "the values of each facet",
        ValuesOf::Facet => "the values of a facet",
        ValuesOf::TagKeys(_) => "the keys of tags",
        ValuesOf::TagValues(_) => "the values of a tag",
    };
    format!("Count {what} of every {}: {list}", spoken(&entity.name))
}

/// A sentence for each question that is answered under one path.
fn questions(entity: &Entity, asked: &Asked) -> Vec<String> {
    let lists = asked.lists.iter().map(|id| {
        let list = entity.list(*id);
        let given: Vec<FieldId> =
            list.by.iter().copied().filter(|field| !asked.in_path.contains(field)).collect();
        match given.is_empty() {
            true => capital(&list_sentence(entity, list)),
            false => format!("With {}: {}", names(entity, &given), list_sentence(entity, list)),
        }
    });
    let uniques = asked.uniques.iter().map(|id| {
        let unique = entity.unique(*id);
        let fields: Vec<FieldId> = unique.within.iter().chain(&unique.fields).copied().collect();
        format!("With {}: the one that has it, or none.", names(entity, &fields))
    });
    lists.chain(uniques).collect()
}

fn list_sentence(entity: &Entity, list: &List) -> String {
    let mut text = format!("the list `{}`", list.name);
    if !list.by.is_empty() {
        text.push_str(&format!(" of one {}", names(entity, &list.by)));
    }
    let tests: Vec<String> = list
        .filter
        .iter()
        .map(|test| {
            let field = entity.field(test.field);
            let value = literal_of(field, &test.value).unwrap_or_default();
            format!("`{}` is `{value}`", field.name)
        })
        .collect();
    if !tests.is_empty() {
        text.push_str(&format!(" where {}", tests.join(" and ")));
    }
    let order: Vec<String> = list
        .order
        .iter()
        .map(|order| {
            let down = match order.direction {
                Direction::Ascending => "",
                Direction::Descending => " (the greatest first)",
            };
            format!("`{}`{down}", entity.field(order.field).name)
        })
        .collect();
    match order.is_empty() {
        true if entity.is_numbered() => text.push_str(", in order of creation."),
        true => text.push_str(", in order of ids."),
        false => text.push_str(&format!(", in order of {}.", order.join(", then "))),
    }
    text
}

fn names(entity: &Entity, fields: &[FieldId]) -> String {
    let names: Vec<String> =
        fields.iter().map(|field| format!("`{}`", entity.field(*field).name)).collect();
    names.join(" and ")
}

/// A name of the model as people say it.
pub(crate) fn spoken(name: &str) -> String {
    name.replace('_', " ")
}

/// `a menu`, `an ingredient`.
pub(crate) fn with_article(name: &str) -> String {
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {}", spoken(name))
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map(|first| first.to_uppercase().chain(characters).collect())
        .unwrap_or_default()
}
