//! Paths that cannot be used together.

use super::Path;

/// Two paths of one update or projection that cannot be used together. Remove one of them, or use
/// two updates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathClash {
    /// They are equal, or one is inside the other.
    #[error("the paths {first} and {second} overlap; remove or rewrite one of them")]
    Overlap {
        /// The path that was given first.
        first: Path,
        /// The path that was given later.
        second: Path,
    },
    /// One steps into a map where the other steps into a list.
    #[error(
        "the paths {first} and {second} treat the same value as a map and as a list; remove or \
         rewrite one of them"
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
    // In path order, whatever is inside a path follows it, and the members of a value come before
    // its elements. So if any two paths clash, two adjacent ones do.
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
