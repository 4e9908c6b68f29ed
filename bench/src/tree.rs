//! Rows in a plain redb file.

use std::path::Path;

use redb::{Builder, Database, Durability, ReadableDatabase, TableDefinition};

use crate::rows::RANGE_ROWS;
use crate::{Outcome, Row, RowKey, Rows};

const TABLE: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("rows");

/// Rows of one transaction while loading.
const LOAD_ROWS: usize = 1000;

/// One table in a redb file.
#[derive(Debug)]
pub(crate) struct Tree {
    database: Database,
}

impl Tree {
    pub(crate) fn open(path: &Path, memory_bytes: usize) -> Outcome<Tree> {
        let database = Builder::new().set_cache_size(memory_bytes).create(path)?;
        let tree = Tree { database };
        // Creates the table, so that reading an empty tree does not fail.
        tree.write([], Durability::Immediate)?;
        Ok(tree)
    }

    /// Writes rows in one transaction.
    pub(crate) fn write<'a>(
        &self,
        rows: impl IntoIterator<Item = Row<'a>>,
        durability: Durability,
    ) -> Outcome<()> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(durability)?;
        {
            let mut table = transaction.open_table(TABLE)?;
            for Row { key, body } in rows {
                table.insert(key.bytes(), body)?;
            }
        }
        Ok(transaction.commit()?)
    }

    /// Makes everything written so far durable.
    pub(crate) fn checkpoint(&self) -> Outcome<()> {
        self.write([], Durability::Immediate)
    }

    pub(crate) fn load(&self, rows: &Rows) -> Outcome<()> {
        let mut all = rows.all().peekable();
        while all.peek().is_some() {
            self.write(all.by_ref().take(LOAD_ROWS), Durability::None)?;
        }
        self.checkpoint()
    }

    pub(crate) fn get(&self, key: &RowKey) -> Outcome<Option<Vec<u8>>> {
        let table = self.database.begin_read()?.open_table(TABLE)?;
        Ok(table.get(key.bytes())?.map(|body| body.value().to_vec()))
    }

    pub(crate) fn range20(&self, from: &RowKey) -> Outcome<Vec<Vec<u8>>> {
        let table = self.database.begin_read()?.open_table(TABLE)?;
        let mut bodies = Vec::with_capacity(RANGE_ROWS as usize);
        for entry in table.range(from.bytes()..)?.take(RANGE_ROWS as usize) {
            bodies.push(entry?.1.value().to_vec());
        }
        Ok(bodies)
    }
}
