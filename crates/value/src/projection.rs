//! Projections: which parts of an item to return.

use crate::path::first_clash;
use crate::{Item, Name, Path, PathClash, Step, Value};

/// Paths to keep of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    // In path order, so that the paths below one place are neighbours.
    paths: Vec<Path>,
}

impl Projection {
    /// A projection to any paths.
    ///
    /// # Errors
    ///
    /// If two of the paths overlap or conflict, as DynamoDB refuses it.
    pub fn new(mut paths: Vec<Path>) -> Result<Projection, PathClash> {
        if let Some(clash) = first_clash(paths.iter()) {
            return Err(clash);
        }
        paths.sort_unstable();
        Ok(Projection { paths })
    }

    /// A projection to whole attributes. A name that is repeated counts once.
    pub fn names(names: impl IntoIterator<Item = impl Into<Name>>) -> Projection {
        let mut paths: Vec<Path> = names.into_iter().map(|name| Path::new(name.into())).collect();
        paths.sort_unstable();
        paths.dedup();
        Projection { paths }
    }

    /// The paths, in path order.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// The parts of the item that the paths lead to.
    ///
    /// Members keep the maps around them. Elements keep their order and close up, so `l[2]` of a
    /// list of three comes back as a list of one. A path that leads nowhere adds nothing, not even
    /// an empty map.
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

/// What the paths of the group keep of a value that all of them reach after `depth` steps.
fn keep(value: &Value, group: &[Path], depth: usize) -> Option<Value> {
    match (value, group.first()?.steps().get(depth)) {
        (_, None) => Some(value.clone()),
        (Value::M(members), Some(Step::Member(_))) => {
            let kept: Item = places(group, depth)
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
            let kept: Vec<Value> = places(group, depth)
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

/// The paths of a group by their next step.
fn places(group: &[Path], depth: usize) -> impl Iterator<Item = (&Step, &[Path])> {
    group
        .chunk_by(move |left, right| left.steps().get(depth) == right.steps().get(depth))
        .filter_map(move |inner| Some((inner.first()?.steps().get(depth)?, inner)))
}
