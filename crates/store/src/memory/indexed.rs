//! Items through an index: queries, and the items by their keys.

use keyloom_value::Item;

use super::page;
use super::table::Table;
use crate::{Consistency, Error, ItemsPage, Query, ReadItems, validate};

pub(super) fn read(table: &Table, read: &ReadItems) -> Result<ItemsPage, Error> {
    let (_, index) = validate::read_items(&table.spec, read)?;
    let schema = &table.spec.indexes[index].key;
    let conditions = match (schema.sort.first(), &read.prefixes[..]) {
        (Some(sort), [_, ..]) => {
            let condition = |prefix: &Vec<u8>| {
                read.key.clone().and(&sort.name, validate::beginning_with(prefix))
            };
            read.prefixes.iter().map(condition).collect()
        }
        _ => vec![read.key.clone()],
    };
    let mut rows = vec![];
    for key in conditions {
        rows.extend(rows_of(table, Query { key, ..query(read) })?);
    }
    let mut found = ItemsPage::default();
    for row in rows {
        found.row_bytes += row.size() as u64;
        let is_full = found.items.len() == read.limit as usize;
        if is_full || (!found.items.is_empty() && found.item_bytes >= read.bytes_max) {
            let key_of =
                |row: &Item| table.spec.key.of(row).into_iter().chain(schema.of(row)).collect();
            found.next = Some(key_of(&row));
            break;
        }
        let key = table.spec.key.of(&row);
        let has_key = |item: &&Item| table.spec.key.of(item) == key;
        for item in table.items.iter().filter(has_key) {
            found.item_bytes += item.size() as u64;
            found.items.push(item.clone());
        }
    }
    Ok(found)
}

fn query(read: &ReadItems) -> Query {
    Query {
        index: Some(read.index.clone()),
        direction: read.direction,
        consistency: Consistency::Eventual,
        ..Query::new(&read.table, read.key.clone())
    }
}

/// The keys of all pages.
fn rows_of(table: &Table, mut query: Query) -> Result<Vec<Item>, Error> {
    let mut rows = vec![];
    loop {
        let page = page::query(table, &query)?;
        rows.extend(page.items);
        query.start = page.last_key;
        if query.start.is_none() {
            return Ok(rows);
        }
    }
}
