//! Random fields: every type, with valid ranges and defaults, and values for `where`.

use keyloom_model::{Limits, OnDelete, Presence};
use keyloom_value::Number;

use super::draft::{DraftField, DraftType};
use super::text::quoted;
use crate::Random;

/// Names of fields. Some are names of entities, types and keys too.
pub(super) const FIELD_NAMES: &[&str] = &[
    "task", "team", "person", "status", "name", "rank", "due", "text", "order", "by", "until",
    "score", "kind", "data", "owner", "list",
];
const MEMBERS: &[&str] = &["open", "done", "a", "B", "b", "late", "task", "x-1", "0"];

/// What a field can refer to.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) entity: String,
    /// Whether a target can exist before the entity with the field: then the reference can be
    /// required.
    pub(super) comes_first: bool,
}

/// Returns a field of any type.
pub(super) fn field(name: &str, targets: &[Target], random: &mut Random) -> DraftField {
    let kinds = if targets.is_empty() { 14 } else { 18 };
    let of = match random.below(kinds) {
        0 | 1 => DraftType::Text(lengths(random)),
        2 | 3 => DraftType::Int(int_limits(random)),
        4 => DraftType::Number(number_limits(random)),
        5 => DraftType::Bool,
        6 | 7 => DraftType::Time,
        8 => DraftType::Bytes(lengths(random)),
        9 => DraftType::Any,
        10 => DraftType::Tags,
        11 | 12 => DraftType::Enum(members(random)),
        13 if !targets.is_empty() && random.chance(1, 2) => {
            let target = random.pick(targets).entity.clone();
            let limits = Limits { low: None, high: Some(1 + random.below(3)) };
            DraftType::List(Box::new(DraftType::Ref(target, OnDelete::Keep)), limits)
        }
        13 if random.chance(1, 2) => DraftType::List(Box::new(element(2, random)), lengths(random)),
        13 => DraftType::Map(Box::new(element(2, random)), lengths(random)),
        _ => return reference(name, random.pick(targets), random),
    };
    let presence = if random.chance(2, 5) { Presence::Optional } else { Presence::Required };
    let default = if random.chance(1, 3) { default_of(&of, random) } else { None };
    DraftField { name: name.to_owned(), of, presence, default }
}

/// Returns a field that can name a tenant, or be used in any key: required text, int or enum.
pub(super) fn key_field(name: &str, random: &mut Random) -> DraftField {
    let of = match random.below(3) {
        0 => DraftType::Text(lengths(random)),
        1 => DraftType::Int(int_limits(random)),
        _ => DraftType::Enum(members(random)),
    };
    DraftField { name: name.to_owned(), of, presence: Presence::Required, default: None }
}

pub(super) fn reference(name: &str, target: &Target, random: &mut Random) -> DraftField {
    let is_required = target.comes_first && random.chance(1, 2);
    let rules: &[OnDelete] = if is_required {
        &[OnDelete::Refuse, OnDelete::Cascade]
    } else {
        &[OnDelete::Refuse, OnDelete::Cascade, OnDelete::Clear]
    };
    DraftField {
        name: name.to_owned(),
        of: DraftType::Ref(target.entity.clone(), *random.pick(rules)),
        presence: if is_required { Presence::Required } else { Presence::Optional },
        default: None,
    }
}

pub(super) fn members(random: &mut Random) -> Vec<String> {
    let mut members = random.some_of(MEMBERS, 4);
    if members.is_empty() {
        members.push("open");
    }
    members.into_iter().map(str::to_owned).collect()
}

/// Returns a member that the enum does not have.
pub(super) fn another_member(members: &[String]) -> Option<String> {
    MEMBERS.iter().map(|member| (*member).to_owned()).find(|member| !members.contains(member))
}

fn element(depth: usize, random: &mut Random) -> DraftType {
    match random.below(if depth > 0 { 11 } else { 8 }) {
        0 => DraftType::Text(Limits::NONE),
        1 => DraftType::Int(Limits::NONE),
        2 => DraftType::Number(Limits::NONE),
        3 => DraftType::Bool,
        4 => DraftType::Time,
        5 => DraftType::Bytes(Limits::NONE),
        6 => DraftType::Any,
        7 => DraftType::Enum(members(random)),
        8 | 9 => DraftType::List(Box::new(element(depth - 1, random)), Limits::NONE),
        _ => DraftType::Map(Box::new(element(depth - 1, random)), Limits::NONE),
    }
}

fn lengths(random: &mut Random) -> Limits<u64> {
    let low = *random.pick(&[None, None, Some(0), Some(1), Some(2)]);
    let high = *random.pick(&[None, None, Some(2), Some(4), Some(80)]);
    Limits { low, high }
}

fn int_limits(random: &mut Random) -> Limits<i64> {
    let low = *random.pick(&[None, None, Some(-3), Some(0), Some(1)]);
    let high = *random.pick(&[None, None, Some(1), Some(5)]);
    Limits { low, high }
}

fn number_limits(random: &mut Random) -> Limits<Number> {
    let bound = |text: &str| Some(text.parse().expect("it is a number"));
    let low = *random.pick(&[None, None, bound("-1.5"), bound("0")]);
    let high = *random.pick(&[None, None, bound("2.5"), bound("9.99")]);
    Limits { low, high }
}

/// Returns a default of the type, if it can have one.
pub(super) fn default_of(of: &DraftType, random: &mut Random) -> Option<String> {
    let empty = |limits: &Limits<u64>, text: &str| limits.contains(&0).then(|| text.to_owned());
    match of {
        DraftType::Text(limits) => {
            let text = text_within(limits, random);
            let is_word = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric());
            Some(if is_word { text } else { format!("'{text}'") })
        }
        DraftType::Int(limits) => Some(int_within(limits, random).to_string()),
        DraftType::Number(limits) => Some(number_within(limits, random).to_string()),
        DraftType::Bool => Some(random.pick(&["true", "false"]).to_string()),
        DraftType::Time => Some(random.pick(&["now", "2024-02-29T12:00:00Z"]).to_string()),
        DraftType::Enum(members) => Some(random.pick(members).clone()),
        DraftType::Tags => Some("{}".to_owned()),
        DraftType::List(_, limits) => empty(limits, "[]"),
        DraftType::Map(_, limits) => empty(limits, "{}"),
        DraftType::Bytes(_) | DraftType::Any | DraftType::Ref(..) => None,
    }
}

/// Returns a value that `where` can compare a field of this type with, as TOML.
pub(super) fn literal_of(of: &DraftType, random: &mut Random) -> Option<String> {
    match of {
        DraftType::Text(limits) => Some(quoted(&text_within(limits, random))),
        DraftType::Int(limits) => Some(int_within(limits, random).to_string()),
        DraftType::Number(limits) => Some(number_within(limits, random).to_string()),
        DraftType::Bool => Some(random.pick(&["true", "false"]).to_string()),
        DraftType::Time => {
            Some(random.pick(&["1970-01-01T00:00:00Z", "\"2024-02-29T12:00:00Z\""]).to_string())
        }
        DraftType::Enum(members) => Some(quoted(random.pick::<String>(members))),
        DraftType::Ref(..) => Some(quoted(random.pick::<&str>(&["a", "b"]))),
        DraftType::Bytes(_)
        | DraftType::Any
        | DraftType::Tags
        | DraftType::List(..)
        | DraftType::Map(..) => None,
    }
}

fn text_within(limits: &Limits<u64>, random: &mut Random) -> String {
    let texts = ["", "a", "A", "ä", "a b", "#", "ab"];
    let fits = |text: &&str| limits.contains(&(text.chars().count() as u64));
    let fitting: Vec<&str> = texts.into_iter().filter(fits).collect();
    if fitting.is_empty() {
        let length = limits.low.and_then(|low| usize::try_from(low).ok());
        return "x".repeat(length.unwrap_or(0));
    }
    (*random.pick(&fitting)).to_owned()
}

fn int_within(limits: &Limits<i64>, random: &mut Random) -> i64 {
    let fitting: Vec<i64> = (-1..=5).filter(|value| limits.contains(value)).collect();
    let bound = limits.low.or(limits.high);
    if fitting.is_empty() { bound.unwrap_or(0) } else { *random.pick(&fitting) }
}

fn number_within(limits: &Limits<Number>, random: &mut Random) -> Number {
    let numbers = ["-1.5", "0", "0.1", "2", "2.5"];
    let numbers = numbers.map(|text| text.parse::<Number>().expect("it is a number"));
    let fitting: Vec<Number> = numbers.into_iter().filter(|value| limits.contains(value)).collect();
    let bound = limits.low.or(limits.high);
    if fitting.is_empty() { bound.unwrap_or(numbers[1]) } else { *random.pick(&fitting) }
}
