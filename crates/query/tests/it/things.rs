//! A model with lists of every kind, and entities with values that are hard to encode in keys.

use std::ops::Bound;

use keyloom_model::{Entity, EntityId, EntityKey, FieldId, FieldType, Image, Layout, Tenancy};
use keyloom_query::{ListRequest, Range};
use keyloom_store::Direction;
use keyloom_value::{Item, Name, Value};
use proptest::prelude::*;
use proptest::sample::Index;

/// Two entities, with 20 and 5 lists: every type, direction, ties, absent values, `where`, a tenant.
pub(crate) const MODEL: &str = r#"
    [entity.thing]
    fields.text   = "text?"
    fields.int    = "int?"
    fields.number = "number?"
    fields.bool   = "bool?"
    fields.time   = "time?"
    fields.bytes  = "bytes?"
    fields.enum   = "enum(low, middle, high, above)?"
    fields.ref    = "ref thing clear?"
    fields.kind   = "text"
    list.all         = {}
    list.text_up     = { order = "text" }
    list.text_down   = { order = "-text" }
    list.int_up      = { order = "int" }
    list.int_down    = { order = "-int" }
    list.number_up   = { order = "number" }
    list.number_down = { order = "-number" }
    list.bool_up     = { order = "bool" }
    list.bool_down   = { order = "-bool" }
    list.time_up     = { order = "time" }
    list.time_down   = { order = "-time" }
    list.bytes_up    = { order = "bytes" }
    list.bytes_down  = { order = "-bytes" }
    list.enum_up     = { order = "enum" }
    list.enum_down   = { order = "-enum" }
    list.mixed       = { order = ["enum", "-int"] }
    list.three       = { order = ["-text", "number", "-bytes"] }
    list.of_kind     = { by = "kind", order = "-ref" }
    list.of_many     = { by = ["kind", "bool", "enum"], order = "text" }
    list.some        = { order = ["-number", "-time"], where = { bool = true, enum = "low" } }

    [entity.owned]
    tenant = "owner"
    fields.owner = "text"
    fields.text  = "text"
    fields.other = "text?"
    fields.int   = "int"
    list.all      = {}
    list.by_text  = { by = "text" }
    list.by_both  = { by = ["text", "other"], order = "-int" }
    list.ordered  = { order = ["text", "other"] }
    list.some     = { order = "-text", where = { int = 1 } }
"#;

const TEXTS: &[&str] = &[
    "",
    "\0",
    "\0\0",
    "\u{1}",
    "a",
    "a\0",
    "a\0b",
    "a#b",
    "a/b",
    "#",
    "/",
    "ab",
    "b",
    "ü",
    "\u{10ffff}",
];
const BYTES: &[&[u8]] =
    &[b"", &[0], &[0, 0], &[0, 1], &[0, 255], &[1], &[254], &[255], &[255, 255]];
const NUMBERS: &[&str] =
    &["-1e100", "-12.5", "-12", "-1", "-0.1", "0", "1e-100", "1", "1.01", "10", "1e100"];

/// The value of a field that a random number selects.
fn value(of: &FieldType, pick: usize) -> Value {
    match of {
        FieldType::Text(_) | FieldType::Ref(..) => TEXTS[pick % TEXTS.len()].into(),
        FieldType::Int(_) | FieldType::Time => Value::from((pick % 7) as i64 - 3),
        FieldType::Number(_) => Value::N(NUMBERS[pick % NUMBERS.len()].parse().unwrap()),
        FieldType::Bool => (pick % 2 == 1).into(),
        FieldType::Bytes(_) => BYTES[pick % BYTES.len()].to_vec().into(),
        FieldType::Enum(members) => members[pick % members.len()].as_str().into(),
        other => panic!("the models here do not use {}", other.name()),
    }
}

/// An entity from random numbers: about one in three optional values is absent.
#[derive(Clone, Debug)]
pub(crate) struct AnyImage {
    entity: Index,
    id: usize,
    fields: Vec<usize>,
}

impl AnyImage {
    pub(crate) fn image(&self, layout: &Layout) -> Image {
        let entities: Vec<_> = layout.model().entities().collect();
        let (id, entity) = *self.entity.get(&entities);
        let fields = entity.fields().skip(1).zip(&self.fields);
        let fields = fields.filter(|((_, field), pick)| {
            field.presence == keyloom_model::Presence::Required || **pick % 3 != 0
        });
        let fields =
            fields.map(|((_, field), pick)| (Name::from(&field.name), value(&field.of, *pick / 3)));
        let fields: Item = fields.collect();
        let tenant = match entity.tenancy {
            Tenancy::Own(field) => fields.get(&entity.field(field).name).cloned(),
            Tenancy::Shared | Tenancy::Inherited(_) => None,
        };
        // Ids as hostile as the texts, and unique.
        let name = format!("{}{}", TEXTS[self.id % TEXTS.len()], self.id / TEXTS.len());
        let key = EntityKey { entity: id, tenant, id: name };
        Image { key, version: "1".to_owned(), ordinal: None, fields }
    }
}

/// A request from random numbers.
#[derive(Clone, Debug)]
pub(crate) struct AnyRequest {
    entity: Index,
    list: Index,
    picks: Vec<usize>,
    equal: Index,
    bounds: [usize; 2],
    backward: bool,
    pub(crate) limit: u32,
}

impl AnyRequest {
    pub(crate) fn request(&self, layout: &Layout) -> ListRequest {
        let entities: Vec<(EntityId, &Entity)> = layout.model().entities().collect();
        let (id, entity) = *self.entity.get(&entities);
        let lists: Vec<_> = entity.lists().collect();
        let (list_id, list) = *self.list.get(&lists);
        let mut picks = self.picks.iter().copied().cycle();
        let mut pick = |field: FieldId| value(&entity.field(field).of, picks.next().unwrap());
        let tenant = match entity.tenancy {
            Tenancy::Own(field) => Some(pick(field)),
            Tenancy::Shared | Tenancy::Inherited(_) => None,
        };
        let by = list.by.iter().map(|field| pick(*field)).collect();
        // Fewer equal fields are more likely; a list without an order has none.
        let equal =
            self.equal.index(list.order.len() + 1).min(self.equal.index(list.order.len() + 2));
        let equal: Vec<Value> =
            list.order.iter().take(equal).map(|order| pick(order.field)).collect();
        let mut bound = |kind: usize| match (kind, list.order.get(equal.len())) {
            (1, Some(next)) => Bound::Included(pick(next.field)),
            (2, Some(next)) => Bound::Excluded(pick(next.field)),
            (3, Some(next)) if matches!(entity.field(next.field).of, FieldType::Text(_)) => {
                Bound::Excluded("a".repeat(1_500).into())
            }
            _ => Bound::Unbounded,
        };
        let [lower, upper] = self.bounds.map(&mut bound);
        let direction = if self.backward { Direction::Backward } else { Direction::Forward };
        let range = Range { equal, lower, upper };
        let limit = self.limit;
        ListRequest { tenant, by, range, direction, limit, ..ListRequest::new(id, list_id) }
    }
}

/// Up to 60 entities with distinct ids.
pub(crate) fn images() -> impl Strategy<Value = Vec<AnyImage>> {
    let one = (any::<Index>(), proptest::collection::vec(0_usize..1_000, 10));
    proptest::collection::vec(one, 0..60).prop_map(|all| {
        let numbered = all.into_iter().enumerate();
        numbered.map(|(id, (entity, fields))| AnyImage { entity, id, fields }).collect()
    })
}

pub(crate) fn request() -> impl Strategy<Value = AnyRequest> {
    let bounds = [0_usize..4, 0..4];
    let picks = proptest::collection::vec(0_usize..1_000, 8);
    let what = (any::<Index>(), any::<Index>(), picks, any::<Index>());
    (what, bounds, any::<bool>(), 1_u32..12).prop_map(|(what, bounds, backward, limit)| {
        let (entity, list, picks, equal) = what;
        AnyRequest { entity, list, picks, equal, bounds, backward, limit }
    })
}
