//! What a key belongs to: a list, a count, a leaderboard, references, and so on. Keys are read by the
//! letters that `keyloom_model`'s layout gives them; what no letter explains is the system's.

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::workload::{DeclaredQuery, ShardsOf};
use keyloom_model::{EntityId, Layout, Model, RowName, Slot};
use keyloom_value::{Item, KeyBytes, Value};

/// The partitions of the deltas of a kind, and of all permits: fixed by the layout.
const DELTA_SHARDS: u32 = 4;
const PERMIT_SHARDS: u32 = 32;
const PERMIT: &str = "permit";

/// What rows and index entries are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// A list, a count, a leaderboard or a unique.
    Query(DeclaredQuery),
    /// The list of all entities of a kind by number, which filters need.
    Ordinals(EntityId),
    /// References to entities of a kind, and their children.
    References(EntityId),
    /// Posting lists of tags and facets.
    Filters(EntityId),
    /// When entities expire.
    Expiry(EntityId),
    /// Entities themselves.
    Rows(EntityId),
    /// By which transactions check that the model is in force.
    Permits,
    /// Keyloom's own rows.
    System,
}

/// A partition key, without the number of its shard.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// The index; none if it is the table.
    pub(super) index: Option<String>,
    pub(super) partition: Vec<u8>,
    /// How many partitions it is spread over.
    pub(super) shards: u32,
}

/// What a key is.
#[derive(Clone, Debug)]
pub(super) struct Classified {
    pub(super) part: Part,
    pub(super) place: Place,
    pub(super) sort: Vec<u8>,
}

impl Part {
    /// The shards that spread it, if any do.
    pub(super) fn shards_of(self, model: &Model) -> Option<ShardsOf> {
        match self {
            Part::Query(DeclaredQuery::List(entity, list)) => {
                Some(match model.entity(entity).list(list).by.is_empty() {
                    true => ShardsOf::Entity(entity),
                    false => ShardsOf::List(entity, list),
                })
            }
            Part::Query(DeclaredQuery::Count(entity, count)) => {
                Some(ShardsOf::Count(entity, count))
            }
            Part::Query(DeclaredQuery::Board(entity, board)) => {
                Some(ShardsOf::Board(entity, board))
            }
            Part::Ordinals(entity) => Some(ShardsOf::Entity(entity)),
            Part::References(entity) => Some(ShardsOf::References(entity)),
            Part::Query(DeclaredQuery::Get(_) | DeclaredQuery::Find(..))
            | Part::Filters(_)
            | Part::Expiry(_)
            | Part::Rows(_)
            | Part::Permits
            | Part::System => None,
        }
    }

    /// Its name in reports: that of the query in workload files, where it is one.
    pub(super) fn name(self, model: &Model) -> String {
        let of = |entity: EntityId| &model.entity(entity).name;
        match self {
            Part::Query(query) => query.name(model),
            Part::Ordinals(entity) => format!("{} by number", of(entity)),
            Part::References(entity) => format!("references to {}", of(entity)),
            Part::Filters(entity) => format!("{} filters", of(entity)),
            Part::Expiry(entity) => format!("{} expiry", of(entity)),
            Part::Rows(entity) => format!("{} rows", of(entity)),
            Part::Permits => "permits of writers".to_owned(),
            Part::System => "system".to_owned(),
        }
    }
}

/// Says what a key is. `writer` is the kind that is being written: a row of another kind is touched
/// because it is referred to.
pub(super) fn classify(
    layout: &Layout,
    index: Option<&str>,
    key: &Item,
    writer: Option<EntityId>,
) -> Classified {
    let number = index.and_then(|index| index.strip_prefix("list-")?.parse().ok());
    let (partition, sort) = match number.map(Slot::new) {
        Some(slot) => (bytes(key, slot.partition().as_str()), bytes(key, slot.sort().as_str())),
        None => (bytes(key, PARTITION), bytes(key, SORT)),
    };
    let parts = KeyBytes::decode(&partition).unwrap_or_default();
    let (part, shards) = part(layout, &parts, (&partition, &sort), writer);
    let is_permit = part == Part::Permits;
    let partition = match shards {
        _ if is_permit => joined(&["m".into(), PERMIT.into()]),
        1 => partition,
        _ => joined(&parts[..parts.len().saturating_sub(1)]),
    };
    // A permit belongs to one transaction at a time, so it never makes two of them wait.
    let sort = if is_permit { vec![] } else { sort };
    Classified { part, place: Place { index: index.map(str::to_owned), partition, shards }, sort }
}

/// The part that a key belongs to, and the number of shards if the last part of the partition key is
/// the number of one.
fn part(
    layout: &Layout,
    parts: &[Value],
    (partition, sort): (&[u8], &[u8]),
    writer: Option<EntityId>,
) -> (Part, u32) {
    let word = |place: usize| parts.get(place).and_then(Value::as_s).unwrap_or_default();
    let model = layout.model();
    let system = (Part::System, 1);
    let Some(entity) = model.find(word(1)) else { return of_system(model, parts) };
    let declared = model.entity(entity);
    match word(0) {
        "e" => {
            let length = 3 + usize::from(declared.has_tenant());
            let shards = if parts.len() > length { declared.reference_shards } else { 1 };
            let is_own = matches!(layout.row_name(partition, sort), Some(RowName::Own(_)));
            match is_own && writer.is_none_or(|writer| writer == entity) {
                true => (Part::Rows(entity), shards),
                false => (Part::References(entity), shards),
            }
        }
        "t" => (Part::References(entity), declared.reference_shards),
        "u" => match layout.row_name(partition, sort) {
            Some(RowName::Guard { unique, .. }) => {
                (Part::Query(DeclaredQuery::Find(entity, unique)), 1)
            }
            _ => system,
        },
        "o" => (Part::Filters(entity), 1),
        "n" => (Part::Ordinals(entity), declared.shards),
        "x" => (Part::Expiry(entity), 1),
        "q" => declared.find_count(word(2)).map_or(system, |count| {
            (Part::Query(DeclaredQuery::Count(entity, count)), declared.count(count).shards)
        }),
        "l" | "p" => declared.find_list(word(2)).map_or(system, |list| {
            (Part::Query(DeclaredQuery::List(entity, list)), declared.list(list).shards)
        }),
        "h" | "g" | "s" | "b" | "w" => {
            let found = declared.boards().find(|(_, board)| board.name == word(2));
            found.map_or(system, |(id, board)| {
                let is_spread = match word(0) {
                    "s" => true,
                    "h" | "b" => board.ranks_entities(),
                    _ => false,
                };
                let shards = if is_spread { board.shards } else { 1 };
                (Part::Query(DeclaredQuery::Board(entity, id)), shards)
            })
        }
        _ => system,
    }
}

/// A key that begins with `m` and the name of a table of the system.
fn of_system(model: &Model, parts: &[Value]) -> (Part, u32) {
    let word = |place: usize| parts.get(place).and_then(Value::as_s).unwrap_or_default();
    match word(1) {
        name if name.starts_with(PERMIT) => (Part::Permits, PERMIT_SHARDS),
        "deltas" => {
            model.find(word(2)).map_or((Part::System, 1), |id| (Part::Filters(id), DELTA_SHARDS))
        }
        "numbers" => model.find(word(2)).map_or((Part::System, 1), |id| (Part::Filters(id), 1)),
        "lists" | "chunks" => {
            // The name of a list is a key of its own, or its parts follow.
            let inner = parts.get(2).and_then(Value::as_b).map(KeyBytes::decode);
            let inner = inner.and_then(Result::ok).unwrap_or_default();
            let name = inner.get(1).and_then(Value::as_s).unwrap_or(word(3));
            model.find(name).map_or((Part::System, 1), |id| (Part::Filters(id), 1))
        }
        _ => (Part::System, 1),
    }
}

/// The values of a partition key that tell keys of one part apart, as text.
pub(super) fn values(place: &Place) -> String {
    let parts = KeyBytes::decode(&place.partition).unwrap_or_default();
    let letter = parts.first().and_then(Value::as_s).unwrap_or_default();
    let skipped = match letter {
        "e" | "t" | "o" | "n" | "x" => 2,
        "m" => 1,
        _ => 3,
    };
    let text = |value: &Value| match value {
        Value::S(text) => text.clone(),
        Value::N(number) => number.to_string(),
        Value::B(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        _ => String::new(),
    };
    let values: Vec<String> = parts.iter().skip(skipped).map(text).collect();
    if values.is_empty() { "all".to_owned() } else { values.join(" ") }
}

fn bytes(key: &Item, name: &str) -> Vec<u8> {
    key.get(name).and_then(Value::as_b).map(<[u8]>::to_vec).unwrap_or_default()
}

fn joined(parts: &[Value]) -> Vec<u8> {
    let mut key = KeyBytes::new();
    for part in parts {
        // Parts that were decoded from a key fit into one.
        let _ = key.push(part);
    }
    key.into_vec()
}
