//! Projections: the parts of an item to return.

use crate::path::first_clash;
use crate::{Item, Name, Path, PathClash, Step, Value};

/// The paths of an item to return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    // In path order, so that paths with a common prefix are adjacent.
    paths: Vec<Path>,
}

impl Projection {
    /// Creates a projection to paths.
    ///
    /// # Errors
    ///
    /// If two of the paths overlap or conflict, which DynamoDB rejects.
    pub fn new(mut paths: Vec<Path>) -> Result<Projection, PathClash> {
        if let Some(clash) = first_clash(paths.iter()) {
            return Err(clash);
        }
        paths.sort_unstable();
        Ok(Projection { paths })
    }

    /// Creates a projection to whole attributes. Repeated names count once.
    pub fn names(names: impl IntoIterator<Item = impl Into<Name>>) -> Projection {
        let mut paths: Vec<Path> = names.into_iter().map(|name| Path::new(name.into())).collect();
        paths.sort_unstable();
        paths.dedup();
        Projection { paths }
    }

    /// Returns the paths, in path order.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// Returns the parts of the item at the paths.
    ///
    /// Members keep the maps around them. Elements keep their order without gaps, so `l[2]` of a
    /// list of three is returned as a list of one. A path without a value adds nothing, not even an
    /// empty map.
    pub fn apply(&self, item: &Item) -> Item {
        self.paths
            .chunk_by(|left, right| left.root() == right.root())
            .filter_map(|group| {
                let name = group.first()?.root();
                Some((name.clone(), keep(item.get(name.as_str())?, group, 0)?))
            })
            .collect()
    }
}

/// Projects a value that all paths of the group reach after `depth` steps.
fn keep(value: &Value, group: &[Path], depth: usize) -> Option<Value> {
    match (value, group.first()?.steps().get(depth)) {
        (_, None) => Some(value.clone()),
        (Value::M(members), Some(Step::Member(_))) => {
            let kept: Item = by_step(group, depth)
                .filter_map(|(step, inner)| match step {
                    Step::Member(name) => {
                        Some((name.clone(), keep(members.get(name.as_str())?, inner, depth + 1)?))
                    }
                    Step::Element(_) => None,
                })
                .collect();
            (!kept.is_empty()).then_some(Value::M(kept))
        }
        (Value::L(elements), Some(Step::Element(_))) => {
            let kept: Vec<Value> = by_step(group, depth)
                .filter_map(|(step, inner)| match step {
                    Step::Element(index) => keep(elements.get(*index)?, inner, depth + 1),
                    Step::Member(_) => None,
                })
                .collect();
            (!kept.is_empty()).then_some(Value::L(kept))
        }
        _ => None,
    }
}

/// Splits a group of paths by their next step.
fn by_step(group: &[Path], depth: usize) -> impl Iterator<Item = (&Step, &[Path])> {
    group
        .chunk_by(move |left, right| left.steps().get(depth) == right.steps().get(depth))
        .filter_map(move |inner| Some((inner.first()?.steps().get(depth)?, inner)))
}
