//! Rules of the model in sentences, with names of the model in backticks.

use keyloom_model::{
    CaseMode, DefaultValue, Entity, Field, FieldAccess, FieldId, FieldOrigin, FieldType, Format,
    FormatChoice, FormatRule, Model, OnDelete, Presence, Tenancy, Unique,
};

use super::super::example::default_of;

/// The type and the rules of a field.
pub(crate) fn rule(model: &Model, entity: &Entity, field: &Field) -> String {
    let mut sentences = vec![];
    match (&field.of, field.origin) {
        (FieldType::Ref(target, on_delete), origin) => {
            let target = &model.entity(*target).name;
            sentences.push(match origin {
                FieldOrigin::Parent => format!("The id of its `{target}`."),
                FieldOrigin::Id | FieldOrigin::Declared => format!("The id of a `{target}`."),
            });
            let what = match on_delete {
                OnDelete::Refuse => "The target cannot be deleted while it is referenced.",
                OnDelete::Cascade => "Deleted together with the target.",
                OnDelete::Clear => "Removed when the target is deleted.",
                OnDelete::Keep => "Kept when the target is deleted.",
            };
            sentences.push(what.to_owned());
        }
        (of, _) => sentences.push(format!("{}.", capital(&of.in_words()))),
    }
    let listed = entity.reference_lists().find(|(id, _)| entity.field(*id).name == field.name);
    if let Some((_, target)) = listed {
        let target = &model.entity(target).name;
        sentences.push(format!(
            "Each value is the id of a `{target}`, which must exist when it is added. Kept when \
             the target is deleted."
        ));
    }
    let id = entity.find_field(&field.name);
    sentences.extend(id.map(|id| value_rules(entity, id)).unwrap_or_default());
    if field.presence == Presence::Optional {
        sentences.push("Optional.".to_owned());
    }
    let (created, left_out) = match field.access {
        FieldAccess::ReadOnly if id.is_some() && id == entity.updated => {
            sentences.push("Read-only: the time of the last change.".to_owned());
            ("Initially the time of creation.", "initially")
        }
        FieldAccess::ReadOnly if entity.is_assigned(field) => {
            sentences.push(format!("Read-only: {}", numbered(entity)));
            ("", "")
        }
        FieldAccess::ReadWrite => ("Defaults to the time of creation.", "by default"),
        FieldAccess::ReadOnly => {
            sentences.push("Read-only: the service sets it.".to_owned());
            ("Initially the time of creation.", "initially")
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
        sentences.push("Defaults to the tenant of the request.".to_owned());
    }
    if is(entity.expires) {
        sentences.push("The entity expires at this time.".to_owned());
    }
    let uniques = entity.uniques.iter().filter(|unique| unique.fields.iter().any(|f| is(Some(*f))));
    sentences.extend(uniques.map(|unique| unique_rule(entity, field, unique)));
    sentences.join(" ")
}

/// What the numbers of a sequence are.
fn numbered(entity: &Entity) -> String {
    let by = entity.sequence.iter().flat_map(|sequence| &sequence.by);
    let by: Vec<String> = by.map(|field| format!("`{}`", entity.field(*field).name)).collect();
    let each = if by.is_empty() { String::new() } else { format!(" for each {}", by.join(", ")) };
    format!("1, 2, 3, ... in the order of creation{each}.")
}

/// The format, the pattern, the initial values and the transitions of a field.
fn value_rules(entity: &Entity, field: FieldId) -> Vec<String> {
    let format = entity.format_rule(field).map(|rule| format_rule(entity, rule));
    let pattern = entity.pattern(field).map(|pattern| format!("Must match `{pattern}`."));
    let initial = entity.initial(field);
    let initial = initial.map(|members| format!("New ones have `{}`.", members.join("` or `")));
    let transitions = entity.transitions(field).map(|allowed| {
        let one =
            |(from, to): &(String, Vec<String>)| format!("`{from}` to `{}`", to.join("` or `"));
        let all: Vec<String> = allowed.iter().filter(|(_, to)| !to.is_empty()).map(one).collect();
        match &all[..] {
            [] => "Never changes.".to_owned(),
            all => format!("Can change from {}.", all.join(", from ")),
        }
    });
    [format, pattern, initial, transitions].into_iter().flatten().collect()
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
        CaseMode::Folded => text.push_str(", ignoring case"),
        CaseMode::Exact => {}
    }
    text + "."
}

/// Quotes names of fields.
pub(crate) fn names(entity: &Entity, fields: &[FieldId]) -> String {
    let names: Vec<String> =
        fields.iter().map(|field| format!("`{}`", entity.field(*field).name)).collect();
    names.join(" and ")
}

/// A name of the model as words.
pub(crate) fn spoken(name: &str) -> String {
    name.replace('_', " ")
}

/// `a menu`, `an ingredient`.
pub(crate) fn with_article(name: &str) -> String {
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {}", spoken(name))
}

/// Capitalizes a text.
pub(crate) fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map(|first| first.to_uppercase().chain(characters).collect())
        .unwrap_or_default()
}
