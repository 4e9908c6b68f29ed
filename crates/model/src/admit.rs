//! Documents that people give → the fields of an entity in stored form, and back.
//!
//! The *stored form* has one type for each type of field: text, enum and ref are S; int, number
//! and time (milliseconds since 1970) are N; bool is BOOL, bytes is B, list is L, map and tags are
//! M, `any` is what JSON maps to. What is absent is not there; there is no NULL outside of `any`.
//! A document may also say a time as text and bytes as base64.
//!
//! `id` and `version` are no part of it: whoever has a document takes them off first.

mod checker;
mod convert;
mod error;
mod id;
mod patch;

use std::borrow::Cow;

use keyloom_value::{Item, Name, Value};

use crate::model::{
    DefaultValue, Entity, Field, FieldAccess, FieldOrigin, FieldType, Literal, Presence,
};
use crate::time;

use checker::{Checker, NESTING_MAX, Place};
pub use error::{FieldError, FieldErrorKind, LengthUnit};
use error::{excerpt, expected_null};
pub use id::check_id;

impl Entity {
    /// The stored form of a whole document, defaults filled in; `now_ms` is the moment of `now`.
    ///
    /// Null says that an optional field is absent, also if it has a default. It is no value for
    /// a required field. O(n) in the size of the document.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the document, in the order of the entity's fields, then their
    /// formats, then what is no field: the first 100 errors.
    pub fn admit(&self, document: &Item, now_ms: i64) -> Result<Item, Vec<FieldError>> {
        self.whole(document, now_ms, |_| Setting::Free)
    }

    /// As [`admit`](Entity::admit), for a document from a client of the service. `before` is what
    /// is stored, if the document replaces it. A read-only field keeps the value that is stored,
    /// or gets its default; the document may repeat that value and give no other.
    ///
    /// # Errors
    ///
    /// As of [`admit`](Entity::admit).
    pub fn admit_client(
        &self,
        document: &Item,
        before: Option<&Item>,
        now_ms: i64,
    ) -> Result<Item, Vec<FieldError>> {
        self.whole(document, now_ms, |field| match (field.access, before) {
            (FieldAccess::ReadWrite, _) => Setting::Free,
            (FieldAccess::ReadOnly, Some(before)) => {
                Setting::Fixed(before.get(&field.name).cloned())
            }
            (FieldAccess::ReadOnly, None) => {
                Setting::Fixed(field.default.as_ref().map(|default| default.value(now_ms)))
            }
        })
    }

    fn whole(
        &self,
        document: &Item,
        now_ms: i64,
        setting: impl Fn(&Field) -> Setting,
    ) -> Result<Item, Vec<FieldError>> {
        let mut checker = Checker::default();
        let mut fields = Vec::with_capacity(self.fields.len());
        for field in self.settable() {
            let value = match (setting(field), document.get(&field.name), &field.default) {
                (Setting::Fixed(value), given, _) => checker.fixed((given, value), field),
                (Setting::Free, Some(given), _) => checker.given(given, field),
                (Setting::Free, None, Some(default)) => Some(default.value(now_ms)),
                (Setting::Free, None, None) => checker.absent(field),
            };
            fields.extend(value.map(|value| (Name::from(&field.name), value)));
        }
        let fields: Item = fields.into_iter().collect();
        checker.formats(&fields, self);
        checker.names(document, self);
        checker.finish().map(|()| fields)
    }

    /// The stored form after a merge patch (RFC 7396): null removes a field, a map merges into a
    /// field of the type `any`, `map` or `tags`, everything else replaces. Defaults are not filled
    /// in again. Fields that the patch does not name stay exactly as they are.
    ///
    /// # Errors
    ///
    /// As of [`admit`](Entity::admit): the whole result must be right, so that also a field that
    /// the patch does not name can be at fault, if it was wrong before.
    pub fn admit_patch(&self, fields: &Item, patch: &Item) -> Result<Item, Vec<FieldError>> {
        self.patched(fields, patch, |_| FieldAccess::ReadWrite)
    }

    /// As [`admit_patch`](Entity::admit_patch), for a patch from a client of the service: it must
    /// leave read-only fields as they are.
    ///
    /// # Errors
    ///
    /// As of [`admit_patch`](Entity::admit_patch).
    pub fn admit_client_patch(&self, fields: &Item, patch: &Item) -> Result<Item, Vec<FieldError>> {
        self.patched(fields, patch, |field| field.access)
    }

    fn patched(
        &self,
        fields: &Item,
        patch: &Item,
        access: impl Fn(&Field) -> FieldAccess,
    ) -> Result<Item, Vec<FieldError>> {
        let mut checker = Checker::default();
        let mut patched = Vec::with_capacity(self.fields.len());
        for field in self.settable() {
            let before = fields.get(&field.name);
            let value = match (patch.get(&field.name), access(field)) {
                (Some(change), FieldAccess::ReadWrite) => checker.changed((change, before), field),
                (Some(change), FieldAccess::ReadOnly) => {
                    let change = merged(change, before, field);
                    checker.fixed((Some(&change), before.cloned()), field)
                }
                (None, _) => checker.kept(before, field),
            };
            patched.extend(value.map(|value| (Name::from(&field.name), value)));
        }
        let patched: Item = patched.into_iter().collect();
        checker.formats(&patched, self);
        checker.names(patch, self);
        checker.names(fields, self);
        checker.finish().map(|()| patched)
    }

    /// Checks that fields are in stored form, complete, and keep every rule of the model.
    ///
    /// # Errors
    ///
    /// As of [`admit`](Entity::admit).
    pub fn check_fields(&self, fields: &Item) -> Result<(), Vec<FieldError>> {
        let mut checker = Checker::default();
        for field in self.settable() {
            match fields.get(&field.name) {
                Some(value) => checker.value(value, &field.of, &Place::Field(&field.name)),
                None => {
                    checker.absent(field);
                }
            }
        }
        checker.formats(fields, self);
        checker.names(fields, self);
        checker.finish()
    }

    /// The outward form of fields in stored form: times as RFC 3339 text in UTC, bytes as base64,
    /// everything else as it is, `id` and `version` included.
    ///
    /// An optional field that has a default and is absent nevertheless is shown as null. So
    /// [`admit`](Entity::admit) makes of what is shown exactly what was stored.
    pub fn show(&self, fields: &Item) -> Item {
        let shown = fields.iter().map(|(name, value)| {
            let of = self.fields.iter().find(|field| field.name == name.as_str());
            let value = of.map_or_else(|| value.clone(), |field| field.of.show(value));
            (name.clone(), value)
        });
        let absent = self.settable().filter(|field| {
            field.default.is_some()
                && field.presence == Presence::Optional
                && !fields.contains(&field.name)
        });
        shown.chain(absent.map(|field| (Name::from(&field.name), Value::Null))).collect()
    }

    /// The fields that a document has: all but `id`.
    fn settable(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| match field.origin {
            FieldOrigin::Id => false,
            FieldOrigin::Parent | FieldOrigin::Declared => true,
        })
    }
}

impl Field {
    /// Checks that a value is one of this field, in stored form.
    ///
    /// # Errors
    ///
    /// Every rule that it breaks.
    pub fn check(&self, value: &Value) -> Result<(), Vec<FieldError>> {
        let mut checker = Checker::default();
        checker.value(value, &self.of, &Place::Field(&self.name));
        checker.finish()
    }
}

impl FieldType {
    /// The stored form of a value that is in its outward form; what is none stays as it is.
    pub fn take(&self, value: &Value) -> Value {
        convert::stored(value, self)
    }

    /// The outward form of a value of this type in stored form; what is none stays as it is.
    pub fn show(&self, value: &Value) -> Value {
        convert::shown(value, self)
    }
}

/// What a document can do to a field.
enum Setting {
    /// Give it any value.
    Free,
    /// Repeat the value that it has anyway.
    Fixed(Option<Value>),
}

/// The value that a patch makes of the one that was there before.
fn merged<'v>(change: &'v Value, before: Option<&Value>, field: &Field) -> Cow<'v, Value> {
    match (&field.of, change) {
        (FieldType::Any | FieldType::Map(..) | FieldType::Tags, Value::M(members))
            if change.depth() <= NESTING_MAX =>
        {
            Cow::Owned(patch::merged(before, members))
        }
        _ => Cow::Borrowed(change),
    }
}

/// Values come in here; what is wrong stays in the checker, what is right goes on.
impl Checker {
    /// A value of a document.
    fn given(&mut self, value: &Value, field: &Field) -> Option<Value> {
        let place = Place::Field(&field.name);
        match (value, field.presence) {
            (Value::Null, Presence::Optional) => None,
            (Value::Null, Presence::Required) => {
                self.report(&place, expected_null(field));
                None
            }
            (Value::L(_) | Value::M(_), _) if value.depth() > NESTING_MAX => {
                self.report(&place, FieldErrorKind::TooDeep { depth_max: NESTING_MAX });
                None
            }
            _ => {
                let value = convert::stored(value, &field.of);
                self.value(&value, &field.of, &place);
                Some(value)
            }
        }
    }

    /// A value of a patch, and the one that was there before.
    fn changed(&mut self, change: (&Value, Option<&Value>), field: &Field) -> Option<Value> {
        let (change, before) = change;
        self.given(&merged(change, before, field), field)
    }

    /// A value of a read-only field, given or not, and the one that it must be.
    fn fixed(&mut self, value: (Option<&Value>, Option<Value>), field: &Field) -> Option<Value> {
        let (given, value) = value;
        let is_same = match (given, &value) {
            (None, _) | (Some(Value::Null), None) => true,
            (Some(Value::Null), Some(_)) | (Some(_), None) => false,
            (Some(given), Some(value)) => {
                given.depth() <= NESTING_MAX && convert::stored(given, &field.of) == *value
            }
        };
        if !is_same {
            self.report(&Place::Field(&field.name), FieldErrorKind::ReadOnly);
        }
        self.kept(value.as_ref(), field)
    }

    /// What was stored before and stays.
    fn kept(&mut self, value: Option<&Value>, field: &Field) -> Option<Value> {
        let Some(value) = value else { return self.absent(field) };
        self.value(value, &field.of, &Place::Field(&field.name));
        Some(value.clone())
    }

    fn absent(&mut self, field: &Field) -> Option<Value> {
        if field.presence == Presence::Required {
            let expected = crate::describe::value_of(&field.of);
            self.report(&Place::Field(&field.name), FieldErrorKind::Missing { expected });
        }
        None
    }

    /// Checks the formats of texts, which may depend on other fields.
    fn formats(&mut self, fields: &Item, entity: &Entity) {
        for rule in &entity.formats {
            let name = &entity.field(rule.field).name;
            if let Some(text) = fields.get(name).and_then(Value::as_s)
                && let Some(format) = rule.format(entity, fields)
                && !format.matches(text)
            {
                let found = excerpt(text);
                self.report(&Place::Field(name), FieldErrorKind::NotInFormat { format, found });
            }
        }
    }

    /// Refuses what is no field of the entity.
    fn names(&mut self, document: &Item, entity: &Entity) {
        for name in document.names() {
            let name = name.as_str();
            if !entity.settable().any(|field| field.name == name) {
                self.unknown(name, entity);
            }
        }
    }
}

impl DefaultValue {
    /// The value, in stored form, that a field gets at this time.
    pub fn value(&self, now_ms: i64) -> Value {
        match self {
            DefaultValue::Now => {
                Value::from(now_ms.clamp(*time::MOMENTS_MS.start(), *time::MOMENTS_MS.end()))
            }
            DefaultValue::Literal(literal) => match literal {
                Literal::Text(text) => Value::from(text.as_str()),
                Literal::Int(value) | Literal::Time(value) => Value::from(*value),
                Literal::Number(value) => Value::from(*value),
                Literal::Bool(value) => Value::from(*value),
                Literal::EmptyList => Value::L(vec![]),
                Literal::EmptyMap => Value::M(Item::new()),
            },
        }
    }
}
