//! Paths that must not be used together.

use super::Path;

/// Two paths of one update or projection that cannot be used together. Leave one of them out, or
/// use two updates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathClash {
    /// One lies at or inside the other.
    #[error("the paths {first} and {second} overlap; leave one of them out or rewrite it")]
    Overlap {
        /// The path that was given first.
        first: Path,
        /// The path that was given later.
        second: Path,
    },
    /// One takes for a map what the other takes for a list.
    #[error(
        "the paths {first} and {second} take one value for a map and for a list; leave \
         one of them out or rewrite it"
    )]
    Conflict {
        /// The path that was given first.
        first: Path,
        /// The path that was given later.
        second: Path,
    },
}

/// Finds two paths that overlap or conflict, in O(n log n).
pub(crate) fn first_clash<'a>(paths: impl Iterator<Item = &'a Path>) -> Option<PathClash> {
    let mut ordered: Vec<(&Path, usize)> = paths.zip(0..).collect();
    ordered.sort_unstable();
    // In path order, whatever lies inside a path follows it, and the members of a place come
    // before its elements. So if any two paths clash, two neighbours do.
    ordered.windows(2).find_map(|pair| match pair {
        [left, right] => {
            let (first, second) =
                if left.1 < right.1 { (left.0, right.0) } else { (right.0, left.0) };
            clash(first, second)
        }
        _ => None,
    })
}

fn clash(first: &Path, second: &Path) -> Option<PathClash> {
    if first.overlaps(second) {
        Some(PathClash::Overlap { first: first.clone(), second: second.clone() })
    } else if first.conflicts(second) {
        Some(PathClash::Conflict { first: first.clone(), second: second.clone() })
    } else {
        None
    }
}
