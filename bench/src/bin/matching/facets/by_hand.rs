//! Sorted lists, maintained and merged by hand in the same engine: each comment is a complete row in
//! the list of its language and rating.

use std::sync::Arc;

use keyloom::Item;
use keyloom_store::{
    BatchAction, BatchWrite, Direction, Engine, KeySchema, KeyType, Page, Query, Read, Store,
    TableName, TableSpec,
};
use keyloom_value::KeyCondition;
use pollster::block_on;

use super::comment::{Comment, Found, PRODUCT, Requested, merge};
use crate::tasks::PAGE;

/// The most rows of one batch write.
const BATCH_ROWS: usize = 25;

pub(super) struct ByHand {
    engine: Arc<Engine>,
    table: TableName,
}

impl ByHand {
    pub(super) fn load(engine: Arc<Engine>, comments: u32) -> ByHand {
        let table = TableName::new("by-hand").expect("a valid name");
        let key = KeySchema::partition("list", KeyType::S).and_sort("created", KeyType::N);
        block_on(engine.create_table(TableSpec::new(table.clone(), key))).expect("it is created");
        let put = |number| BatchAction::Put(table.clone(), row(Comment::new(number)));
        let mut puts = (0..comments).map(put).peekable();
        while puts.peek().is_some() {
            let batch = BatchWrite { actions: puts.by_ref().take(BATCH_ROWS).collect() };
            block_on(engine.batch_write(batch)).expect("it is written");
        }
        ByHand { engine, table }
    }

    pub(super) fn page(&self, requested: &Requested) -> Found {
        let pages = requested.combinations().map(|(language, rating)| {
            let key = KeyCondition::equal("list", list(language, rating));
            let query = Query {
                direction: Direction::Backward,
                limit: Some(PAGE as u32),
                ..Query::new(&self.table, key)
            };
            block_on(self.engine.query(query)).expect("a page is read")
        });
        let pages: Vec<Page> = pages.collect();
        let rows = pages.iter().flat_map(|page| &page.items);
        (merge(rows), pages.iter().map(|page| page.scanned).sum())
    }
}

fn list(language: &str, rating: u64) -> String {
    format!("{PRODUCT}/{language}/{rating}")
}

fn row(comment: Comment) -> Item {
    let list = list(&comment.language, comment.rating);
    let mut row = comment.fields();
    row.insert("list", list);
    row
}
