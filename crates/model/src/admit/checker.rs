//! Checks that values are in stored form and valid for their type. Collects every error.

use keyloom_value::{Item, Name, Number, Path, Value};

use super::error::{FieldError, FieldErrorKind, LengthUnit, excerpt};
use super::id;
use crate::model::{Entity, FieldType, Limits};
use crate::{base64, suggest, time};

/// Maximum nesting of `any`.
const ANY_DEPTH_MAX: usize = 16;
/// Maximum nesting of any field: lists and maps 8 deep, with `any` in them.
pub(super) const NESTING_MAX: usize = 8 + ANY_DEPTH_MAX;
/// Maximum number of tags in a field.
const TAGS_MAX: u64 = 200;
const TAG_KEY_BYTES_MAX: u64 = 128;
const TAG_VALUE_BYTES_MAX: u64 = 1024;
/// Maximum length of a name in a map or in `any`.
const NAME_BYTES_MAX: u64 = 1024;
/// Maximum number of errors reported for one document.
const ERRORS_MAX: usize = 100;

/// The location of a value in a document. A linked list on the stack, so that a path is allocated
/// only for an error.
pub(super) enum Location<'a> {
    Field(&'a str),
    Member(&'a Location<'a>, &'a Name),
    Element(&'a Location<'a>, usize),
}

impl Location<'_> {
    fn path(&self) -> Path {
        match self {
            Location::Field(name) => Path::from(*name),
            Location::Member(map, name) => map.path().member(*name),
            Location::Element(list, index) => list.path().element(*index),
        }
    }
}

/// The errors found so far.
#[derive(Default)]
pub(super) struct Checker {
    errors: Vec<FieldError>,
}

impl Checker {
    /// Returns all errors, if there are any.
    pub(super) fn finish(self) -> Result<(), Vec<FieldError>> {
        if self.errors.is_empty() { Ok(()) } else { Err(self.errors) }
    }

    pub(super) fn report(&mut self, location: &Location<'_>, kind: FieldErrorKind) {
        if self.errors.len() < ERRORS_MAX {
            self.errors.push(FieldError::new(location.path(), kind));
        }
    }

    /// Reports a name that is not a field of the entity.
    pub(super) fn unknown(&mut self, name: &str, entity: &Entity) {
        // A suggestion is not cheap, and after the last error it would be dropped.
        if self.errors.len() >= ERRORS_MAX {
            return;
        }
        let kind = if matches!(name, "id" | "version") {
            FieldErrorKind::Reserved
        } else {
            let known = entity.settable_fields().map(|field| field.name.as_str());
            let known: Vec<&str> = known.collect();
            let meant = suggest::nearest(name, &known).map(str::to_owned);
            FieldErrorKind::Unknown { entity: entity.name.clone(), meant }
        };
        self.report(&Location::Field(name), kind);
    }

    /// Checks a value in stored form.
    pub(super) fn value(&mut self, value: &Value, of: &FieldType, location: &Location<'_>) {
        let outcome = match (of, value) {
            (FieldType::Any, _) => return self.any(value, location),
            (FieldType::Tags, Value::M(tags)) => return self.tags(tags, location),
            (FieldType::List(of, limits), Value::L(elements)) => {
                for (index, element) in elements.iter().enumerate() {
                    self.value(element, of, &Location::Element(location, index));
                }
                length(LengthUnit::Values, limits, elements.len())
            }
            (FieldType::Map(of, limits), Value::M(members)) => {
                for (name, member) in members {
                    let location = Location::Member(location, name);
                    self.name(name, NAME_BYTES_MAX, &location);
                    self.value(member, of, &location);
                }
                length(LengthUnit::Values, limits, members.len())
            }
            _ => scalar(value, of),
        };
        if let Err(kind) = outcome {
            self.report(location, kind);
        }
    }

    fn any(&mut self, value: &Value, location: &Location<'_>) {
        if value.depth() > ANY_DEPTH_MAX {
            self.report(location, FieldErrorKind::TooDeep { depth_max: ANY_DEPTH_MAX });
        } else {
            self.json(value, location);
        }
    }

    /// Checks that JSON can represent a value.
    fn json(&mut self, value: &Value, location: &Location<'_>) {
        match value {
            Value::S(_) | Value::N(_) | Value::Bool(_) | Value::Null => {}
            Value::L(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    self.json(element, &Location::Element(location, index));
                }
            }
            Value::M(members) => {
                for (name, member) in members {
                    let location = Location::Member(location, name);
                    self.name(name, NAME_BYTES_MAX, &location);
                    self.json(member, &location);
                }
            }
            Value::B(_) | Value::Ss(_) | Value::Ns(_) | Value::Bs(_) => {
                self.report(location, wrong_type(value, &FieldType::Any));
            }
        }
    }

    fn tags(&mut self, tags: &Item, location: &Location<'_>) {
        for (key, tag) in tags {
            let location = Location::Member(location, key);
            self.name(key, TAG_KEY_BYTES_MAX, &location);
            let limits = Limits { low: None, high: Some(TAG_VALUE_BYTES_MAX) };
            let outcome = match tag {
                Value::S(text) => length(LengthUnit::Bytes, &limits, text.len()),
                _ => Err(wrong_type(tag, &FieldType::Text(Limits::NONE))),
            };
            if let Err(kind) = outcome {
                self.report(&location, kind);
            }
        }
        let limits = Limits { low: None, high: Some(TAGS_MAX) };
        if let Err(kind) = length(LengthUnit::Values, &limits, tags.len()) {
            self.report(location, kind);
        }
    }

    /// Checks the name of a map member.
    fn name(&mut self, name: &Name, bytes_max: u64, location: &Location<'_>) {
        let limits = Limits { low: Some(1), high: Some(bytes_max) };
        if let Err(kind) = length(LengthUnit::NameBytes, &limits, name.as_str().len()) {
            self.report(location, kind);
        }
    }
}

/// Checks a value that is not a list, a map or tags, or whose field is one of these and it is not.
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
            Value::S(text) if base64::decode(text).is_none() => Err(FieldErrorKind::NotBase64),
            _ => Err(wrong_type()),
        },
        FieldType::Enum(members) => member(text()?, members),
        FieldType::Ref(..) => id::check(text()?),
        FieldType::Any | FieldType::Tags | FieldType::List(..) | FieldType::Map(..) => {
            Err(wrong_type())
        }
    }
}

pub(super) fn wrong_type(value: &Value, of: &FieldType) -> FieldErrorKind {
    FieldErrorKind::WrongType { expected: of.in_words(), found: value.value_type() }
}

fn length(unit: LengthUnit, limits: &Limits<u64>, found: usize) -> Result<(), FieldErrorKind> {
    let found = found as u64;
    if limits.contains(&found) {
        return Ok(());
    }
    Err(FieldErrorKind::Length { unit, limits: *limits, found })
}

fn range(found: &Number, limits: Limits<Number>) -> Result<(), FieldErrorKind> {
    if limits.contains(found) {
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
            Some(time_ms) if time::RANGE_MS.contains(&time_ms) => Ok(()),
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
