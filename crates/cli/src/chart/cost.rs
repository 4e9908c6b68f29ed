//! What questions and changes cost: rows, and units of DynamoDB for them.
//!
//! By the service's rules: 4 KB read are one unit, half of one in an index, which may lag; pages of
//! a query round once, rows of a batch one by one. 1 KB written is one unit and every index that
//! changes is another; in a transaction all of it counts twice. Entities have 1 KB, so every row
//! that is written is one unit.

use keyloom_model::{Count, Entity, EntityId, FieldType, KeyPart, KeyTemplate, Layout};

/// Entities of a page.
pub(super) const PAGE: u64 = 20;
const ENTITY_BYTES: u64 = 1024;
const READ_BYTES: u64 = 4096;
/// A row with a number, with its keys.
const NUMBER_BYTES: u64 = 100;

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

/// A number of a count: as many rows as it is spread over.
pub(super) fn count(count: &Count) -> Cost {
    let rows = u64::from(count.shards);
    Cost { rows, units: units(rows * NUMBER_BYTES) }
}

/// The first page of a board: places in an index, which say all, one more than asked for.
pub(super) const BOARD_PAGE: Cost = Cost { rows: 11, units: 0.5 };

/// The numbers to which an entity adds; the steps of a score are those of one with four digits.
fn numbers(entity: &Entity) -> u64 {
    let cells = |count: &Count| 1u64.checked_shl(count.split.len() as u32).unwrap_or(u64::MAX);
    let boards = 5 * entity.boards.len() as u64;
    entity.counts.iter().map(cells).fold(boards, u64::saturating_add)
}

/// A page of a list: places in an index, one more than asked for, and the rows that they lead to.
pub(super) fn list_page(template: &KeyTemplate, own: &KeyTemplate, entity: &Entity) -> Cost {
    let bytes = |parts: &[KeyPart]| parts.iter().map(|part| part_bytes(part, entity)).sum::<u64>();
    let keys = [&template.partition, &template.sort, &own.partition, &own.sort];
    let names = 2 * (2 + 3);
    let place = keys.iter().map(|parts| bytes(parts)).sum::<u64>() + names;
    let index = units((PAGE + 1) * place) / 2.0;
    Cost { rows: PAGE + 1 + PAGE, units: index + PAGE as f64 }
}

/// A parent with a page of children, which stand right after it or not.
pub(super) fn family(is_together: bool) -> Cost {
    let rows = PAGE + 2;
    let units = match is_together {
        true => units(rows * ENTITY_BYTES),
        false => GET.units + units((rows - 1) * ENTITY_BYTES),
    };
    Cost { rows, units }
}

/// Changes of an entity: what is done, and its cost.
pub(super) fn writes(layout: &Layout, id: EntityId) -> Vec<(&'static str, Cost)> {
    let entity = layout.model().entity(id);
    let (guards, links) = (entity.uniques.len() as u64, layout.references().of(id).len() as u64);
    let ranks = entity.boards.iter().filter(|board| board.ranks_entities()).count();
    let facets = entity.lists.iter().filter(|list| !list.facets.is_empty()).count();
    let places = (entity.lists.len() + facets + ranks) as u64 + u64::from(entity.expires.is_some());
    let copies = u64::from(entity.parent.is_some());
    // What is newly referred to is looked at, so that it stays.
    let numbers = numbers(entity);
    let create = written(1 + guards + 2 * links + numbers, places);
    let plain = written(1 + copies, 0);
    let worst = written(layout.rows_max(id) as u64, 2 * places);
    let rows = 1 + guards + links + numbers;
    let delete = match layout.references().to(id).is_empty() {
        true => written(rows, places),
        // It is marked first, with a task that goes with it.
        false => {
            let (mark, rest) = (written(2, 0), written(rows + 1, places));
            Cost { rows: mark.rows + rest.rows, units: mark.units + rest.units }
        }
    };
    vec![
        ("create", create),
        ("change a field that no key has", plain),
        ("change everything", worst),
        ("delete", delete),
    ]
}

/// Rows and index places written together.
fn written(rows: u64, places: u64) -> Cost {
    let times = if rows > 1 { 2 } else { 1 };
    Cost { rows, units: (times * (rows + places)) as f64 }
}

fn units(bytes: u64) -> f64 {
    bytes.div_ceil(READ_BYTES) as f64
}

/// How long a part of a key is, about.
fn part_bytes(part: &KeyPart, entity: &Entity) -> u64 {
    const AROUND: u64 = 3;
    const ID: u64 = 26;
    const TEXT: u64 = 16;
    const NUMBER: u64 = 10;
    match part {
        KeyPart::Word(word) => word.len() as u64 + AROUND,
        KeyPart::Tenant => TEXT + AROUND,
        KeyPart::Facet(field) | KeyPart::Field { field, .. } => match entity.field(*field).of {
            FieldType::Ref(..) => ID + AROUND,
            FieldType::Text(_) if field.index() == 0 => ID + AROUND,
            FieldType::Text(_) | FieldType::Bytes(_) => TEXT + AROUND,
            _ => NUMBER,
        },
        KeyPart::Number(_) | _ => NUMBER / 2,
    }
}
