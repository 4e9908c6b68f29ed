//! Edits of fields.

use keyloom_model::{Limits, OnDelete, Presence};
use keyloom_value::Number;

use super::super::draft::{Draft, DraftField, DraftType};
use super::super::entity::free_names;
use super::super::field::{another_member, default_of, field};
use super::some_entity;
use crate::Random;

/// Returns a field to change, if the chosen entity has one.
fn some_field<'d>(draft: &'d mut Draft, random: &mut Random) -> Option<&'d mut DraftField> {
    let entity = some_entity(draft, random);
    if entity.fields.is_empty() {
        return None;
    }
    let index = random.index(entity.fields.len());
    Some(&mut entity.fields[index])
}

/// Adds a random field, adjusted by `shape`.
fn add(
    draft: &mut Draft,
    random: &mut Random,
    shape: fn(&mut DraftField, &mut Random),
) -> Option<()> {
    let entity = some_entity(draft, random);
    let name = free_names(entity, random).pop()?;
    let mut field = field(name, &[], random);
    shape(&mut field, random);
    let position = random.index(entity.fields.len() + 1);
    entity.fields.insert(position, field);
    Some(())
}

pub(super) fn add_optional(draft: &mut Draft, random: &mut Random) -> Option<()> {
    add(draft, random, |field, _| {
        field.presence = Presence::Optional;
        field.default = None;
    })
}

pub(super) fn add_defaulted(draft: &mut Draft, random: &mut Random) -> Option<()> {
    add(draft, random, |field, random| {
        field.default = default_of(&field.of, random);
        if field.default.is_none() {
            (field.of, field.default) = (DraftType::Time, Some("now".to_owned()));
        }
    })
}

pub(super) fn add_required(draft: &mut Draft, random: &mut Random) -> Option<()> {
    add(draft, random, |field, _| {
        field.presence = Presence::Required;
        field.default = None;
    })
}

pub(super) fn change_default(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let field = some_field(draft, random)?;
    field.default = if random.chance(1, 4) { None } else { default_of(&field.of, random) };
    Some(())
}

pub(super) fn make_optional(draft: &mut Draft, random: &mut Random) -> Option<()> {
    some_field(draft, random)?.presence = Presence::Optional;
    Some(())
}

pub(super) fn make_required(draft: &mut Draft, random: &mut Random) -> Option<()> {
    some_field(draft, random)?.presence = Presence::Required;
    Some(())
}

pub(super) fn append_member(draft: &mut Draft, random: &mut Random) -> Option<()> {
    if let DraftType::Enum(members) = &mut some_field(draft, random)?.of {
        members.extend(another_member(members));
    }
    Some(())
}

pub(super) fn prepend_member(draft: &mut Draft, random: &mut Random) -> Option<()> {
    if let DraftType::Enum(members) = &mut some_field(draft, random)?.of
        && let Some(member) = another_member(members)
    {
        members.insert(0, member);
    }
    Some(())
}

pub(super) fn remove_member(draft: &mut Draft, random: &mut Random) -> Option<()> {
    if let DraftType::Enum(members) = &mut some_field(draft, random)?.of {
        members.remove(random.index(members.len()));
    }
    Some(())
}

pub(super) fn change_on_delete(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    let rule = *random.pick(&[OnDelete::Refuse, OnDelete::Cascade, OnDelete::Clear]);
    if let Some(parent) = &mut entity.parent {
        parent.on_delete = if rule == OnDelete::Clear { OnDelete::Cascade } else { rule };
        return Some(());
    }
    if let DraftType::Ref(_, on_delete) = &mut some_field(draft, random)?.of {
        *on_delete = rule;
    }
    Some(())
}

/// Removes a field with its values. The tenant cannot be removed.
pub(super) fn remove(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    let fields = entity.fields.iter().map(|field| field.name.clone());
    let names: Vec<String> = fields.filter(|name| entity.tenant.as_ref() != Some(name)).collect();
    if names.is_empty() {
        return None;
    }
    entity.remove_field(random.pick::<String>(&names));
    Some(())
}

/// Renames a field wherever it is named.
pub(super) fn rename(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    let new = free_names(entity, random).pop()?;
    if entity.fields.is_empty() {
        return None;
    }
    let old = entity.fields[random.index(entity.fields.len())].name.clone();
    entity.rename_field(&old, new);
    Some(())
}

pub(super) fn lose(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    let names: Vec<String> = entity.fields.iter().map(|field| field.name.clone()).collect();
    if names.is_empty() {
        return None;
    }
    entity.drop_field(random.pick::<String>(&names));
    Some(())
}

/// Replaces a field by one with another name, and drops everything that names it.
pub(super) fn replace(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    let name = free_names(entity, random).pop()?;
    if entity.fields.is_empty() {
        return None;
    }
    let index = random.index(entity.fields.len());
    let field = entity.fields[index].clone();
    entity.drop_field(&field.name);
    entity.fields.push(DraftField { name: name.to_owned(), ..field });
    Some(())
}

pub(super) fn change_type(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let old = some_field(draft, random)?;
    let changed = field(&old.name, &[], random);
    let is_other = std::mem::discriminant(&changed.of) != std::mem::discriminant(&old.of);
    if is_other && !converts(&old.of, &changed.of) {
        *old = DraftField { presence: old.presence, ..changed };
    }
    Some(())
}

/// Changes the type of a field and drops what names it, sometimes, as the new type may not allow it.
pub(super) fn convert_type(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    if entity.fields.is_empty() {
        return None;
    }
    let index = random.index(entity.fields.len());
    let old = entity.fields[index].clone();
    let changed = field(&old.name, &[], random);
    if !converts(&old.of, &changed.of) || entity.tenant.as_ref() == Some(&old.name) {
        return None;
    }
    let changed = DraftField { presence: old.presence, ..changed };
    if random.chance(1, 2) {
        entity.drop_field(&old.name);
        entity.fields.push(changed);
    } else {
        entity.fields[index] = changed;
    }
    Some(())
}

/// Whether some values of a type are values of the other, which is not the same.
fn converts(old: &DraftType, new: &DraftType) -> bool {
    match (class(old), class(new)) {
        (Some("int"), Some("number")) | (Some("number"), Some("int")) => true,
        (Some(old), Some(new)) => old != new && (old == "text" || new == "text"),
        _ => false,
    }
}

fn class(of: &DraftType) -> Option<&'static str> {
    match of {
        DraftType::Text(_) => Some("text"),
        DraftType::Int(_) => Some("int"),
        DraftType::Number(_) => Some("number"),
        DraftType::Bool => Some("bool"),
        DraftType::Time => Some("time"),
        DraftType::Enum(_) => Some("enum"),
        DraftType::Bytes(_)
        | DraftType::Any
        | DraftType::Tags
        | DraftType::Ref(..)
        | DraftType::List(..)
        | DraftType::Map(..) => None,
    }
}

pub(super) fn change_target(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let other = some_entity(draft, random).name.clone();
    if let DraftType::Ref(target, _) = &mut some_field(draft, random)?.of {
        *target = other;
    }
    Some(())
}

pub(super) fn widen_range(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let one = Number::from(1);
    match &mut some_field(draft, random)?.of {
        DraftType::Text(limits)
        | DraftType::Bytes(limits)
        | DraftType::List(_, limits)
        | DraftType::Map(_, limits) => {
            // No length is below 0, so `0..` is as wide as possible.
            widen(limits, |low| Some(low.saturating_sub(1)), |high| high + 1);
        }
        DraftType::Int(limits) => widen(limits, |low| Some(low - 1), |high| high + 1),
        DraftType::Number(limits) => widen(
            limits,
            |low| low.checked_sub(&one).ok(),
            |high| high.checked_add(&one).expect("bounds are small"),
        ),
        DraftType::Bool
        | DraftType::Time
        | DraftType::Any
        | DraftType::Tags
        | DraftType::Enum(_)
        | DraftType::Ref(..) => {}
    }
    Some(())
}

/// Moves both bounds outward by one step, where possible.
fn widen<T: Copy>(limits: &mut Limits<T>, lower: impl Fn(T) -> Option<T>, higher: impl Fn(T) -> T) {
    limits.low = limits.low.and_then(lower);
    limits.high = limits.high.map(higher);
}

pub(super) fn narrow_range(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let field = some_field(draft, random)?;
    // A default outside of the new range would be a different error.
    field.default = None;
    match &mut field.of {
        DraftType::Text(limits)
        | DraftType::Bytes(limits)
        | DraftType::List(_, limits)
        | DraftType::Map(_, limits) => limits.low = Some(limits.low.unwrap_or(0) + 1),
        DraftType::Int(limits) => {
            limits.high = Some(limits.high.map_or(100, |high| high - 1));
        }
        DraftType::Number(limits) => {
            let high = limits.low.unwrap_or(Number::from(0));
            if limits.high.is_some_and(|old| old <= high) {
                return None;
            }
            limits.high = Some(high);
        }
        DraftType::Bool
        | DraftType::Time
        | DraftType::Any
        | DraftType::Tags
        | DraftType::Enum(_)
        | DraftType::Ref(..) => return None,
    }
    Some(())
}
