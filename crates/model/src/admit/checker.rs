//! Whether values are in stored form and keep the rules of their type. Collects every error.

use keyloom_value::{Item, Name, Number, Path, Value};

use super::error::{FieldError, FieldErrorKind, LengthUnit, excerpt};
use super::id;
use crate::model::{Entity, FieldType, Limits};
use crate::{base64, describe, suggest, time};

/// How deep `any` may be nested.
const ANY_DEPTH_MAX: usize = 16;
/// How deep any field may be nested: lists and maps 8 deep, and `any` in them.
pub(super) const NESTING_MAX: usize = 8 + ANY_DEPTH_MAX;
/// Tags that a field may have.
const TAGS_MAX: u64 = 200;
/// Bytes that the key of a tag may have.
const TAG_KEY_BYTES_MAX: u64 = 128;
/// Bytes that the value of a tag may have.
const TAG_VALUE_BYTES_MAX: u64 = 1024;
/// Bytes that a name in a map or in `any` may have.
const NAME_BYTES_MAX: u64 = 1024;
/// Errors that are told of one document.
const ERRORS_MAX: usize = 100;

/// Where in a document a value is; made into a path only for an error.
pub(super) enum Place<'a> {
    Field(&'a str),
    Member(&'a Place<'a>, &'a Name),
    Element(&'a Place<'a>, usize),
}

impl Place<'_> {
    fn path(&self) -> Path {
        match self {
            Place::Field(name) => Path::from(*name),
            Place::Member(map, name) => map.path().member(*name),
            Place::Element(list, index) => list.path().element(*index),
        }
    }
}

/// The errors found so far.
#[derive(Default)]
pub(super) struct Checker {
    errors: Vec<FieldError>,
}

impl Checker {
    /// All errors, if there are any.
    pub(super) fn finish(self) -> Result<(), Vec<FieldError>> {
        if self.errors.is_empty() { Ok(()) } else { Err(self.errors) }
    }

    pub(super) fn report(&mut self, place: &Place<'_>, kind: FieldErrorKind) {
        if self.errors.len() < ERRORS_MAX {
            self.errors.push(FieldError::new(place.path(), kind));
        }
    }

    /// Refuses what is no field of the entity.
    pub(super) fn unknown(&mut self, name: &str, entity: &Entity) {
        // Looking for what was meant is not cheap; nobody sees it after the last error.
        if self.errors.len() >= ERRORS_MAX {
            return;
        }
        let kind = if matches!(name, "id" | "version") {
            FieldErrorKind::Reserved
        } else {
            let known: Vec<&str> = entity.settable().map(|field| field.name.as_str()).collect();
            let meant = suggest::nearest(name, &known).map(str::to_owned);
            FieldErrorKind::Unknown { entity: entity.name.clone(), meant }
        };
        self.report(&Place::Field(name), kind);
    }

    /// Checks a value in stored form.
    pub(super) fn value(&mut self, value: &Value, of: &FieldType, place: &Place<'_>) {
        let outcome = match (of, value) {
            (FieldType::Any, _) => return self.any(value, place),
            (FieldType::Tags, Value::M(tags)) => return self.tags(tags, place),
            (FieldType::List(of, limits), Value::L(elements)) => {
                for (index, element) in elements.iter().enumerate() {
                    self.value(element, of, &Place::Element(place, index));
                }
                length(LengthUnit::Values, limits, elements.len())
            }
            (FieldType::Map(of, limits), Value::M(members)) => {
                for (name, member) in members {
                    let place = Place::Member(place, name);
                    self.name(name, NAME_BYTES_MAX, &place);
                    self.value(member, of, &place);
                }
                length(LengthUnit::Values, limits, members.len())
            }
            _ => scalar(value, of),
        };
        if let Err(kind) = outcome {
            self.report(place, kind);
        }
    }

    fn any(&mut self, value: &Value, place: &Place<'_>) {
        if value.depth() > ANY_DEPTH_MAX {
            self.report(place, FieldErrorKind::TooDeep { depth_max: ANY_DEPTH_MAX });
        } else {
            self.json(value, place);
        }
    }

    /// Checks that JSON can say it.
    fn json(&mut self, value: &Value, place: &Place<'_>) {
        match value {
            Value::S(_) | Value::N(_) | Value::Bool(_) | Value::Null => {}
            Value::L(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    self.json(element, &Place::Element(place, index));
                }
            }
            Value::M(members) => {
                for (name, member) in members {
                    let place = Place::Member(place, name);
                    self.name(name, NAME_BYTES_MAX, &place);
                    self.json(member, &place);
                }
            }
            Value::B(_) | Value::Ss(_) | Value::Ns(_) | Value::Bs(_) => {
                self.report(place, wrong_type(value, &FieldType::Any));
            }
        }
    }

    fn tags(&mut self, tags: &Item, place: &Place<'_>) {
        for (key, tag) in tags {
            let place = Place::Member(place, key);
            self.name(key, TAG_KEY_BYTES_MAX, &place);
            let limits = Limits { low: None, high: Some(TAG_VALUE_BYTES_MAX) };
            let outcome = match tag {
                Value::S(text) => length(LengthUnit::Bytes, &limits, text.len()),
                _ => Err(wrong_type(tag, &FieldType::Text(Limits::NONE))),
            };
            if let Err(kind) = outcome {
                self.report(&place, kind);
            }
        }
        let limits = Limits { low: None, high: Some(TAGS_MAX) };
        if let Err(kind) = length(LengthUnit::Values, &limits, tags.len()) {
            self.report(place, kind);
        }
    }

    /// Checks the name of a member.
    fn name(&mut self, name: &Name, bytes_max: u64, place: &Place<'_>) {
        let limits = Limits { low: Some(1), high: Some(bytes_max) };
        if let Err(kind) = length(LengthUnit::NameBytes, &limits, name.as_str().len()) {
            self.report(place, kind);
        }
    }
}

/// Checks a value that has nothing in it, or is of another type than one that has.
fn scalar(value: &Value, of: &FieldType) -> Result<(), FieldErrorKind> {
    let wrong_type = || wrong_type(value, of);
    let text = || value.as_s().ok_or_else(wrong_type);
    let number = || value.as_n().ok_or_else(wrong_type);
    match of {
        FieldType::Text(limits) => length(LengthUnit::Characters, limits, text()?.chars().count()),
        FieldType::Int(limits) => int(number()?, limits),
        FieldType::Number(limits) => range(number()?, *limits),
        FieldType::Bool => {
            if let Value::Bool(_) = value {
                return Ok(());
            }
            Err(wrong_type())
        }
        FieldType::Time => time(value),
        FieldType::Bytes(limits) => match value {
            Value::B(bytes) => length(LengthUnit::Bytes, limits, bytes.len()),
            Value::S(text) if base64::bytes(text).is_none() => Err(FieldErrorKind::NotBase64),
            _ => Err(wrong_type()),
        },
        FieldType::Enum(members) => member(text()?, members),
        FieldType::Ref(..) => id::fault(text()?),
        FieldType::Any | FieldType::Tags | FieldType::List(..) | FieldType::Map(..) => {
            Err(wrong_type())
        }
    }
}

fn wrong_type(value: &Value, of: &FieldType) -> FieldErrorKind {
    let expected = describe::value_of(of);
    FieldErrorKind::WrongType { expected, found: value.value_type() }
}

fn length(unit: LengthUnit, limits: &Limits<u64>, found: usize) -> Result<(), FieldErrorKind> {
    let found = found as u64;
    if limits.contain(&found) {
        return Ok(());
    }
    Err(FieldErrorKind::Length { unit, limits: *limits, found })
}

fn range(found: &Number, limits: Limits<Number>) -> Result<(), FieldErrorKind> {
    if limits.contain(found) {
        return Ok(());
    }
    Err(FieldErrorKind::OutOfRange { limits, found: *found })
}

fn int(found: &Number, limits: &Limits<i64>) -> Result<(), FieldErrorKind> {
    let (_, exponent) = found.parts();
    if exponent < 0 {
        return Err(FieldErrorKind::NotWhole { found: *found });
    }
    let low = limits.low.unwrap_or(i64::MIN);
    let high = limits.high.unwrap_or(i64::MAX);
    range(found, Limits { low: Some(Number::from(low)), high: Some(Number::from(high)) })
}

fn time(value: &Value) -> Result<(), FieldErrorKind> {
    match value {
        Value::N(number) => match number.to_i64() {
            Some(moment_ms) if time::MOMENTS_MS.contains(&moment_ms) => Ok(()),
            _ => Err(FieldErrorKind::NotATime { found: number.to_string() }),
        },
        Value::S(text) if time::parse(text).is_none() => {
            Err(FieldErrorKind::NotATime { found: excerpt(text) })
        }
        _ => Err(wrong_type(value, &FieldType::Time)),
    }
}

fn member(found: &str, members: &[String]) -> Result<(), FieldErrorKind> {
    if members.iter().any(|member| member == found) {
        return Ok(());
    }
    let known: Vec<&str> = members.iter().map(String::as_str).collect();
    let meant = suggest::nearest(found, &known).map(str::to_owned);
    Err(FieldErrorKind::NotAMember { found: excerpt(found), members: members.to_vec(), meant })
}
