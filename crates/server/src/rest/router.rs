//! From a method and a path to an operation.

use std::collections::HashMap;

use hyper::Method;

use keyloom_model::Model;

use super::operation::{Operation, Segment};
use super::problem::Problem;
use super::unserved::Directory;

/// Finds operations.
#[derive(Debug)]
pub(crate) struct Router {
    operations: Vec<Operation>,
    /// By the number of segments and the first of them, which is never a parameter; those with
    /// fewer parameters first.
    places: HashMap<(usize, String), Vec<usize>>,
    /// Where to look instead, for requests that find nothing.
    directory: Directory,
}

/// An operation and what its path says.
#[derive(Debug)]
pub(crate) struct Found<'r> {
    /// Its place in the table.
    pub(crate) index: usize,
    pub(crate) operation: &'r Operation,
    /// The values of the path's parameters, in order.
    pub(crate) values: Vec<String>,
}

impl Router {
    pub(crate) fn new(operations: Vec<Operation>, model: &Model) -> Router {
        let mut places: HashMap<(usize, String), Vec<usize>> = HashMap::new();
        for (index, operation) in operations.iter().enumerate() {
            let first = match operation.path.first() {
                Some(Segment::Text(first)) => first.clone(),
                Some(Segment::Parameter(_)) | None => String::new(),
            };
            places.entry((operation.path.len(), first)).or_default().push(index);
        }
        for place in places.values_mut() {
            place.sort_by_key(|index| parameter_count(&operations[*index]));
        }
        let directory = Directory::new(&operations, model);
        Router { operations, places, directory }
    }

    pub(crate) fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The operation of a request; `HEAD` is answered as `GET`.
    pub(crate) fn find(&self, method: &Method, segments: &[String]) -> Result<Found<'_>, Problem> {
        let first = segments.first().cloned().unwrap_or_default();
        let place = self.places.get(&(segments.len(), first)).map_or(&[][..], Vec::as_slice);
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let (mut methods, mut meant): (Vec<&Method>, Option<&[Segment]>) = (vec![], None);
        for index in place {
            let operation = &self.operations[*index];
            let Some(values) = values(&operation.path, segments) else { continue };
            // The path with the fewest parameters is meant, and no other: `/tasks/tags` is no task.
            if !is_same(meant.get_or_insert(&operation.path), &operation.path) {
                continue;
            }
            if operation.method == method {
                return Ok(Found { index: *index, operation, values });
            }
            methods.push(&operation.method);
        }
        Err(match methods.is_empty() {
            true => self.directory.no_path(&self.operations, method, segments),
            false => self.directory.no_method(segments, method, &methods),
        })
    }
}

fn parameter_count(operation: &Operation) -> usize {
    operation.path.iter().filter(|segment| matches!(segment, Segment::Parameter(_))).count()
}

/// Whether two paths are the same, but for what their parameters are called.
fn is_same(left: &[Segment], right: &[Segment]) -> bool {
    left.iter().zip(right).all(|pair| match pair {
        (Segment::Text(left), Segment::Text(right)) => left == right,
        (Segment::Parameter(_), Segment::Parameter(_)) => true,
        (Segment::Text(_), Segment::Parameter(_)) | (Segment::Parameter(_), Segment::Text(_)) => {
            false
        }
    })
}

/// What the parameters of a path are in a request; `None` if it is another path.
fn values(path: &[Segment], segments: &[String]) -> Option<Vec<String>> {
    let mut values = vec![];
    for (expected, segment) in path.iter().zip(segments) {
        match expected {
            Segment::Text(text) if text == segment => {}
            Segment::Text(_) => return None,
            Segment::Parameter(_) if segment.is_empty() => return None,
            Segment::Parameter(_) => values.push(segment.clone()),
        }
    }
    Some(values)
}
