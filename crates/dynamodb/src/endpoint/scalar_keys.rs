//! Key attributes are scalars: an expression with a path into one is rejected.

use keyloom_store::{TableName, TableSpec};
use keyloom_value::{Condition, Name, Path, Projection};

use crate::wire::Fault;

use super::Endpoint;

/// Paths into attributes, of the expressions of a request.
#[derive(Debug, Default)]
pub(super) struct NestedPaths {
    roots: Vec<Name>,
}

impl NestedPaths {
    pub(super) fn add<'a>(mut self, paths: impl IntoIterator<Item = &'a Path>) -> NestedPaths {
        let nested = paths.into_iter().filter(|path| !path.steps().is_empty());
        self.roots.extend(nested.map(|path| path.root().clone()));
        self
    }

    pub(super) fn add_projection(self, projection: Option<&Projection>) -> NestedPaths {
        self.add(projection.map(Projection::paths).unwrap_or_default())
    }

    pub(super) fn add_condition(self, condition: Option<&Condition>) -> NestedPaths {
        self.add(condition.map(|condition| condition.mentions().paths).unwrap_or_default())
    }

    fn check(&self, spec: &TableSpec) -> Result<(), Fault> {
        for root in &self.roots {
            let is_index_key = || spec.indexes.iter().any(|index| index.key.has(root));
            let kind = match spec.key.has(root) {
                true => "Key",
                false if is_index_key() => "IndexKey",
                false => continue,
            };
            return Err(Fault::validation(format!(
                "Key attributes must be scalars; list random access '[]' and map lookup '.' are \
                 not allowed: {kind}: {root}"
            )));
        }
        Ok(())
    }
}

impl Endpoint {
    /// Rejects paths into key attributes. Most requests have no nested paths, and need no table.
    pub(super) async fn check_scalar_keys(
        &self,
        table: &TableName,
        paths: &NestedPaths,
    ) -> Result<(), Fault> {
        if paths.roots.is_empty() {
            return Ok(());
        }
        // A missing table is reported by the request itself.
        match self.store.describe_table(table.clone()).await {
            Ok(table) => paths.check(&table.spec),
            Err(_) => Ok(()),
        }
    }
}
