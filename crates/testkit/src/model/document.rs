//! Random documents in stored form, from small pools of values: so that unique values collide,
//! orders have ties, and texts contain what could confuse a key.

use std::collections::BTreeMap;

use keyloom_model::{EntityId, Field, FieldOrigin, FieldType, Format, Limits, Model, Presence};
use keyloom_value::{Item, Name, Number, Value};

use crate::Random;

/// The fields of a patch: `None` removes a field.
pub type Patch = BTreeMap<Name, Option<Value>>;

const TEXTS: &[&str] = &[
    "",
    "a",
    "A",
    "b",
    "ab",
    "aB",
    "a#b",
    "a/b",
    "a:b",
    "#",
    "/",
    ":",
    "\0",
    "a\0",
    "a\0b",
    "ä",
    "Ä",
    "a\u{308}",
    "ß",
    "SS",
    "ss",
    "\u{10FFFF}",
    "-1",
    " a",
    "two words",
];
const INTS: &[i64] = &[-3, -1, 0, 1, 2, 5, 10, i64::MIN, i64::MAX];
const NUMBERS: &[&str] = &["-1.5", "0", "0.1", "0.10", "1", "2.5", "10", "-1e17", "1e-18"];
/// The start of 1970 and around it, and times long past and far in the future.
const TIMES: &[i64] = &[-1, 0, 1, 1_000, 951_782_400_000, 4_102_444_800_000];
const BYTES: &[&[u8]] = &[b"", b"\0", b"a", b"a\0", b"a\0b", b"\xFF", b"\xFF\xFF"];
const KEYS: &[&str] = &["a", "b", "A", "c:d", "#", "\u{E4}"];

/// Returns a document with all required fields and some of the others; neither `id` nor `version`.
///
/// `ids` returns the existing entities of a kind. If a required reference or parent has none, there
/// is no document.
pub fn document(
    (model, entity): (&Model, EntityId),
    ids: &dyn Fn(EntityId) -> Vec<String>,
    random: &mut Random,
) -> Option<Item> {
    let mut item = Item::new();
    for field in stored(model, entity) {
        let is_wanted = field.presence == Presence::Required || random.chance(2, 3);
        match is_wanted.then(|| value(&field.of, ids, random)).flatten() {
            Some(value) => drop(item.insert(&field.name, value)),
            None if field.presence == Presence::Required => return None,
            None => {}
        }
    }
    if let Some(field) = number_field(model, entity) {
        item.remove(field);
        if let Some(number) = given_number(random) {
            item.insert(field, number);
        }
    }
    for rule in &model.entity(entity).formats {
        let name = &model.entity(entity).field(rule.field).name;
        if let Some(format) =
            model.entity(entity).required_format(rule, &item).filter(|_| item.contains(name))
        {
            item.insert(name, in_format(format, random));
        }
    }
    Some(item)
}

/// Returns the field with the number that a sequence assigns.
fn number_field(model: &Model, entity: EntityId) -> Option<&str> {
    let entity = model.entity(entity);
    entity.sequence.as_ref().map(|sequence| entity.field(sequence.field).name.as_str())
}

/// Returns a number that a program sets itself; mostly none.
fn given_number(random: &mut Random) -> Option<Value> {
    random.chance(1, 8).then(|| Value::from(random.below(40)))
}

/// Returns a text in a format; few are equal.
fn in_format(format: Format, random: &mut Random) -> String {
    let number = random.below(1_000);
    match format {
        Format::Email => format!("user{number}@a.example"),
        Format::Phone => format!("+1555{number:03}"),
        Format::Url => format!("https://a.example/{number}"),
        Format::Uuid => format!("00000000-0000-4000-8000-{number:012}"),
        Format::Slug => format!("slug-{number}"),
    }
}

/// Returns a change of up to three fields. Required ones keep a value; a field may get the value it
/// has.
pub fn patch(
    (model, entity): (&Model, EntityId),
    ids: &dyn Fn(EntityId) -> Vec<String>,
    random: &mut Random,
) -> Patch {
    let fields: Vec<&Field> = stored(model, entity).collect();
    let mut patch = Patch::new();
    for field in random.some_of(&fields, 3) {
        let name = Name::from(&field.name);
        if field.presence == Presence::Optional && random.chance(1, 3) {
            patch.insert(name, None);
        } else if let Some(value) = value(&field.of, ids, random) {
            patch.insert(name, Some(value));
        }
    }
    if let Some(field) = number_field(model, entity)
        && let Some(drawn) = patch.get_mut(&Name::from(field))
        && drawn.is_some()
    {
        match given_number(random) {
            Some(number) => *drawn = Some(number),
            None => drop(patch.remove(&Name::from(field))),
        }
    }
    patch
}

/// Returns an id that a caller could choose.
pub fn given_id(random: &mut Random) -> String {
    let texts: Vec<&str> = TEXTS.iter().copied().filter(|text| !text.is_empty()).collect();
    random.pick(&texts).to_string()
}

/// Returns the fields that a document has besides its id.
fn stored(model: &Model, entity: EntityId) -> impl Iterator<Item = &Field> {
    model.entity(entity).fields.iter().filter(|field| field.origin != FieldOrigin::Id)
}

/// Returns a value of the type; `None` if it refers to an entity that does not exist.
fn value(
    of: &FieldType,
    ids: &dyn Fn(EntityId) -> Vec<String>,
    random: &mut Random,
) -> Option<Value> {
    Some(match of {
        FieldType::Text(limits) => Value::S(text(limits, random)),
        FieldType::Int(limits) => Value::N(clamped(limits, *random.pick(INTS)).into()),
        FieldType::Number(limits) => {
            let number: Number = random.pick(NUMBERS).parse().expect("it is a number");
            Value::N(clamped(limits, number))
        }
        FieldType::Bool => Value::Bool(random.chance(1, 2)),
        FieldType::Time => Value::N((*random.pick(TIMES)).into()),
        FieldType::Bytes(limits) => Value::B(bytes(limits, random)),
        FieldType::Any => any(2, random),
        FieldType::Tags => Value::M(map(&Limits::NONE, random, |random| {
            Some(Value::S(random.pick(TEXTS).to_string()))
        })?),
        FieldType::Enum(members) => Value::S(random.pick(members).clone()),
        FieldType::Ref(entity, _) => {
            let ids = ids(*entity);
            if ids.is_empty() {
                return None;
            }
            Value::S(random.pick(&ids).clone())
        }
        FieldType::List(of, limits) => {
            let elements = (0..count(limits, random)).map(|_| value(of, ids, random));
            match elements.collect::<Option<Vec<Value>>>() {
                // Without a target, the list is empty.
                None if limits.contains(&0) => Value::L(vec![]),
                elements => Value::L(elements?),
            }
        }
        FieldType::Map(of, limits) => {
            Value::M(map(limits, random, |random| value(of, ids, random))?)
        }
    })
}

fn text(limits: &Limits<u64>, random: &mut Random) -> String {
    let text = random.pick(TEXTS);
    let length = clamped(limits, text.chars().count() as u64);
    let padded = text.chars().chain(std::iter::repeat('x'));
    padded.take(usize::try_from(length).expect("a length fits")).collect()
}

fn bytes(limits: &Limits<u64>, random: &mut Random) -> Vec<u8> {
    let bytes = random.pick(BYTES);
    let length = clamped(limits, bytes.len() as u64);
    let padded = bytes.iter().copied().chain(std::iter::repeat(0));
    padded.take(usize::try_from(length).expect("a length fits")).collect()
}

fn map(
    limits: &Limits<u64>,
    random: &mut Random,
    mut value: impl FnMut(&mut Random) -> Option<Value>,
) -> Option<Item> {
    let mut keys = KEYS.to_vec();
    random.shuffle(&mut keys);
    let keys = keys.into_iter().map(str::to_owned).chain((0..).map(|number| format!("k{number}")));
    let mut item = Item::new();
    for key in keys.take(count(limits, random)) {
        item.insert(key, value(random)?);
    }
    Some(item)
}

fn count(limits: &Limits<u64>, random: &mut Random) -> usize {
    usize::try_from(clamped(limits, random.below(4))).expect("a count fits")
}

/// Returns the nearest value within the limits.
fn clamped<T: PartialOrd + Copy>(limits: &Limits<T>, value: T) -> T {
    match (limits.low, limits.high) {
        (Some(low), _) if value < low => low,
        (_, Some(high)) if value > high => high,
        _ => value,
    }
}

/// Returns any JSON value.
fn any(depth: usize, random: &mut Random) -> Value {
    match random.below(if depth > 0 { 6 } else { 4 }) {
        0 => Value::Null,
        1 => Value::Bool(random.chance(1, 2)),
        2 => Value::N(random.pick(NUMBERS).parse().expect("it is a number")),
        3 => Value::S(random.pick(TEXTS).to_string()),
        4 => Value::L((0..random.index(3)).map(|_| any(depth - 1, random)).collect()),
        _ => {
            let keys = random.some_of(KEYS, 2);
            Value::M(keys.into_iter().map(|key| (key.into(), any(depth - 1, random))).collect())
        }
    }
}
