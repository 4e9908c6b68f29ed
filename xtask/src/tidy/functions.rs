//! Lengths of functions.

use super::Workspace;
use super::rust_source::Function;

/// A function of production code, with its file.
#[derive(Debug)]
pub(crate) struct PlacedFunction<'a> {
    pub(crate) path: &'a str,
    pub(crate) function: Function,
}

/// Returns all functions of production code.
pub(crate) fn production_functions(workspace: &Workspace) -> Vec<PlacedFunction<'_>> {
    let files = workspace.production();
    files
        .flat_map(|file| {
            let functions = file.source.functions().into_iter();
            functions
                .filter(|function| !file.is_test(function.span.start))
                .map(|function| PlacedFunction { path: &file.path, function })
        })
        .collect()
}

/// Returns the 95th percentile of function lengths; 0 if there are none.
pub(crate) fn lines_p95(functions: &[PlacedFunction<'_>]) -> usize {
    let mut lengths: Vec<usize> = functions.iter().map(|placed| placed.function.lines).collect();
    lengths.sort_unstable();
    let rank = (lengths.len() * 95).div_ceil(100);
    rank.checked_sub(1).map_or(0, |index| lengths[index])
}
