//! Writes computed values into an item.

use super::UpdateError;
use crate::{Item, Name, Path, Step, Value};

/// The new value of one path.
pub(super) struct Change<'a> {
    pub(super) path: &'a Path,
    /// `None` removes the value.
    pub(super) value: Option<Value>,
}

/// Writes changes into an item. They must be in path order, so that paths with a common prefix are
/// adjacent, and must not clash.
pub(super) fn write(item: &mut Item, changes: &mut [Change<'_>]) -> Result<(), UpdateError> {
    for group in changes.chunk_by_mut(|left, right| left.path.root() == right.path.root()) {
        if let [first, ..] = group {
            write_member(item, first.path.root(), group, 0)?;
        }
    }
    Ok(())
}

/// Writes the changes of a group into the member they all reach after `depth` steps.
fn write_member(
    members: &mut Item,
    name: &Name,
    group: &mut [Change<'_>],
    depth: usize,
) -> Result<(), UpdateError> {
    if let Some(change) = ending_here(group, depth) {
        match change.value.take() {
            Some(value) => members.insert(name, value),
            None => members.remove(name.as_str()),
        };
        return Ok(());
    }
    write_inside(members.get_mut(name.as_str()), group, depth)
}

/// Writes the changes of a group into the elements of a list they all reach after `depth` steps.
///
/// The group is ordered by index. Elements beyond the end are appended in that order, and elements
/// are removed last, so every index refers to the old list.
fn write_elements(
    elements: &mut Vec<Value>,
    group: &mut [Change<'_>],
    depth: usize,
) -> Result<(), UpdateError> {
    let len_before = elements.len();
    let mut removed = Vec::new();
    for inner in by_step(group, depth) {
        let Some(Step::Element(index)) = step(inner, depth).cloned() else {
            continue;
        };
        match ending_here(inner, depth + 1) {
            Some(change) => match change.value.take() {
                Some(value) if index < len_before => elements[index] = value,
                Some(value) => elements.push(value),
                None if index < len_before => removed.push(index),
                None => {}
            },
            None => {
                let element = elements[..len_before].get_mut(index);
                write_inside(element, inner, depth + 1)?;
            }
        }
    }
    let mut index = 0..;
    elements.retain(|_| index.next().is_none_or(|index| removed.binary_search(&index).is_err()));
    Ok(())
}

/// Writes the changes of a group below the value that they reach after `depth` steps, if any.
fn write_inside(
    value: Option<&mut Value>,
    group: &mut [Change<'_>],
    depth: usize,
) -> Result<(), UpdateError> {
    match (value, step(group, depth)) {
        (Some(Value::M(members)), Some(Step::Member(_))) => {
            for inner in by_step(group, depth) {
                if let Some(Step::Member(name)) = step(inner, depth) {
                    write_member(members, name, inner, depth + 1)?;
                }
            }
            Ok(())
        }
        (Some(Value::L(elements)), Some(Step::Element(_))) => {
            write_elements(elements, group, depth)
        }
        _ => match group {
            [first, ..] => Err(UpdateError::MissingParent { path: first.path.clone() }),
            [] => Ok(()),
        },
    }
}

/// Returns the change that ends after `depth` steps. It is alone in its group, because longer
/// paths would overlap it.
fn ending_here<'g, 'a>(group: &'g mut [Change<'a>], depth: usize) -> Option<&'g mut Change<'a>> {
    match group {
        [change] if change.path.steps().len() == depth => Some(change),
        _ => None,
    }
}

/// Returns the first change's step after `depth` steps. All changes of the group take a step of
/// the same kind: they would conflict otherwise.
fn step<'a>(group: &[Change<'a>], depth: usize) -> Option<&'a Step> {
    group.first()?.path.steps().get(depth)
}

fn by_step<'g, 'a>(
    group: &'g mut [Change<'a>],
    depth: usize,
) -> impl Iterator<Item = &'g mut [Change<'a>]> {
    group.chunk_by_mut(move |left, right| {
        left.path.steps().get(depth) == right.path.steps().get(depth)
    })
}
