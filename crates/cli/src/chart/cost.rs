//! The cost of reads and writes: rows, and DynamoDB capacity units.
//!
//! By DynamoDB's rules: reading 4 KB is one unit, or half a unit in an index, whose reads are eventually
//! consistent. A page of a query is rounded up once, rows of a batch one by one. Writing 1 KB is one
//! unit, and each index that changes is another; transactions cost twice as much. Entities are assumed
//! to have 1 KB, so every row that is written is one unit.

use keyloom_model::{Count, Entity, EntityId, FieldType, KeyPart, KeyTemplate, Layout};

/// Entities per page.
pub(super) const PAGE: u64 = 20;
const ENTITY_BYTES: u64 = 1024;
const READ_BYTES: u64 = 4096;
/// The size of a counter's row, with its keys.
const COUNTER_BYTES: u64 = 100;

/// Rows and units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cost {
    pub(super) rows: u64,
    pub(super) units: f64,
}

/// Reading an entity by its key.
pub(super) const GET: Cost = Cost { rows: 1, units: 1.0 };

/// Reading the guard of a unique value, and then its owner.
pub(super) const FIND: Cost = Cost { rows: 2, units: 2.0 };

/// Reading one counter: a row for each shard.
pub(super) fn count(count: &Count) -> Cost {
    let rows = u64::from(count.shards);
    Cost { rows, units: units(rows * COUNTER_BYTES) }
}

/// The first page of a leaderboard: index rows alone, one more than requested.
pub(super) const BOARD_PAGE: Cost = Cost { rows: 11, units: 0.5 };

/// The counters of a leaderboard to which an entity adds.
pub(super) const BOARD_COUNTERS: u64 = 5;

/// The counters to which an entity adds. A leaderboard counts as the prefix counts of a score with
/// four digits.
fn counters(entity: &Entity) -> u64 {
    let boards = BOARD_COUNTERS * entity.boards.len() as u64;
    let of_count = |count: &Count| count.counters() as u64;
    entity.counts.iter().map(of_count).fold(boards, u64::saturating_add)
}

/// A page of a list: index rows, one more than requested, and the rows that they point to.
pub(super) fn list_page(template: &KeyTemplate, own: &KeyTemplate, entity: &Entity) -> Cost {
    let Cost { rows, units } = index_page(template, own, entity);
    Cost { rows: rows + PAGE, units: units + PAGE as f64 }
}

/// The index rows of a page: one more than requested.
pub(super) fn index_page(template: &KeyTemplate, own: &KeyTemplate, entity: &Entity) -> Cost {
    let bytes = |parts: &[KeyPart]| parts.iter().map(|part| part_bytes(part, entity)).sum::<u64>();
    let keys = [&template.partition, &template.sort, &own.partition, &own.sort];
    let names = 2 * (2 + 3);
    let entry = keys.iter().map(|parts| bytes(parts)).sum::<u64>() + names;
    Cost { rows: PAGE + 1, units: units((PAGE + 1) * entry) / 2.0 }
}

/// A parent with a page of children. Children of all kinds are adjacent to it and need one query;
/// those of one kind need another.
pub(super) fn with_children(is_adjacent: bool) -> Cost {
    let rows = PAGE + 2;
    let units = match is_adjacent {
        true => units(rows * ENTITY_BYTES),
        false => GET.units + units((rows - 1) * ENTITY_BYTES),
    };
    Cost { rows, units }
}

/// The write units of this many rows or index entries that a query keeps of an entity, when one is created.
/// All rows are of one transaction, which costs twice as much as a single write.
pub(super) fn kept(layout: &Layout, id: EntityId, rows: u64) -> f64 {
    let times = if rows_created(layout, id) > 1 { 2 } else { 1 };
    (times * rows) as f64
}

/// The rows that creating an entity writes. The target of each new reference is checked in the transaction.
fn rows_created(layout: &Layout, id: EntityId) -> u64 {
    let entity = layout.model().entity(id);
    let (guards, links) = (entity.uniques.len() as u64, layout.references().of(id).len() as u64);
    1 + guards + 2 * links + counters(entity)
}

/// The writes of an entity, with their costs.
pub(super) fn writes(layout: &Layout, id: EntityId) -> Vec<(&'static str, Cost)> {
    let entity = layout.model().entity(id);
    let (guards, links) = (entity.uniques.len() as u64, layout.references().of(id).len() as u64);
    let ranks = entity.boards.iter().filter(|board| board.ranks_entities()).count();
    let facets = entity.lists.iter().filter(|list| !list.facets.is_empty()).count();
    let entries =
        (entity.lists.len() + facets + ranks) as u64 + u64::from(entity.expires.is_some());
    let copies = u64::from(entity.parent.is_some());
    let counters = counters(entity);
    let create = written(rows_created(layout, id), entries);
    let plain = written(1 + copies, 0);
    let worst = written(layout.rows_max(id) as u64, 2 * entries);
    let rows = 1 + guards + links + counters;
    let delete = match layout.references().to(id).is_empty() {
        true => written(rows, entries),
        // A tombstone and a deletion record are written first.
        false => {
            let (mark, rest) = (written(2, 0), written(rows + 1, entries));
            Cost { rows: mark.rows + rest.rows, units: mark.units + rest.units }
        }
    };
    vec![
        ("create", create),
        ("update a field that is in no key", plain),
        ("update everything", worst),
        ("delete", delete),
    ]
}

/// The cost of writing rows and index entries in one transaction.
fn written(rows: u64, index_entries: u64) -> Cost {
    let times = if rows > 1 { 2 } else { 1 };
    Cost { rows, units: (times * (rows + index_entries)) as f64 }
}

fn units(bytes: u64) -> f64 {
    bytes.div_ceil(READ_BYTES) as f64
}

/// The approximate length of a key part.
fn part_bytes(part: &KeyPart, entity: &Entity) -> u64 {
    const ENCODING: u64 = 3;
    const ID: u64 = 26;
    const TEXT: u64 = 16;
    const NUMBER: u64 = 10;
    match part {
        KeyPart::Word(word) => word.len() as u64 + ENCODING,
        KeyPart::Tenant => TEXT + ENCODING,
        KeyPart::Facet(field) | KeyPart::Field { field, .. } => match entity.field(*field).of {
            FieldType::Ref(..) => ID + ENCODING,
            FieldType::Text(_) if field.index() == 0 => ID + ENCODING,
            FieldType::Text(_) | FieldType::Bytes(_) => TEXT + ENCODING,
            _ => NUMBER,
        },
        KeyPart::Number(_) | _ => NUMBER / 2,
    }
}
