//! Documents → the fields of an entity in stored form, and back to the external form.
//!
//! The *stored form* has one value type for each field type: text, enum and ref are S; int, number
//! and time (milliseconds since 1970) are N; bool is BOOL, bytes is B, list is L, map and tags are
//! M, `any` is what JSON maps to. An absent field has no value; NULL occurs only in `any`. In the
//! *external form*, times are RFC 3339 texts and bytes are base64; a document may use either form.
//! `id` and `version` are not part of a document here: callers remove them first.

mod checker;
mod convert;
mod error;
mod id;
mod named;
mod patch;
mod relative;

use std::borrow::Cow;

use keyloom_value::{Item, Name, Value};

use crate::model::{
    DefaultValue, Entity, Field, FieldAccess, FieldId, FieldType, Literal, Presence, Search,
};
use crate::time;

use checker::{Checker, Location, NESTING_MAX};
pub use error::{FieldError, FieldErrorKind, LengthUnit};
use error::{excerpt, null_error};
pub use id::check_id;
use relative::Relative;

impl Entity {
    /// Returns the stored form of a whole document, with defaults filled in; `now_ms` is the value
    /// of `now`.
    ///
    /// Null means that an optional field is absent, even if it has a default. It is not a value of
    /// a required field. O(n) in the size of the document.
    ///
    /// # Errors
    ///
    /// The first 100 errors of the document: in the order of the entity's fields, then formats,
    /// then unknown fields.
    pub fn admit(&self, document: &Item, now_ms: i64) -> Result<Item, Vec<FieldError>> {
        self.admit_document(document, now_ms, |_| Setting::Free)
    }

    /// Like [`admit`](Entity::admit), for a document from a client of the service. `before` is the
    /// stored entity that the document replaces, if any. A read-only field keeps its stored value,
    /// or gets its default; the document may repeat that value but not change it.
    ///
    /// # Errors
    ///
    /// Those of [`admit`](Entity::admit).
    pub fn admit_client(
        &self,
        document: &Item,
        before: Option<&Item>,
        now_ms: i64,
    ) -> Result<Item, Vec<FieldError>> {
        self.admit_document(document, now_ms, |field| match (field.access, before) {
            (FieldAccess::ReadWrite, _) => Setting::Free,
            (FieldAccess::ReadOnly, Some(before)) => {
                Setting::Fixed(before.get(&field.name).cloned())
            }
            (FieldAccess::ReadOnly, None) => {
                Setting::Fixed(field.default.as_ref().map(|default| default.value(now_ms)))
            }
        })
    }

    fn admit_document(
        &self,
        document: &Item,
        now_ms: i64,
        setting: impl Fn(&Field) -> Setting,
    ) -> Result<Item, Vec<FieldError>> {
        let mut checker = Checker::default();
        let mut fields = Vec::with_capacity(self.fields.len());
        for field in self.settable_fields() {
            let value = match (setting(field), document.get(&field.name), &field.default) {
                (Setting::Free | Setting::Fixed(None), None, None) if self.is_assigned(field) => {
                    None
                }
                (Setting::Fixed(value), given, _) => checker.read_only(given, value, field),
                (Setting::Free, Some(given), _) => checker.given(given, field),
                (Setting::Free, None, Some(default)) => Some(default.value(now_ms)),
                (Setting::Free, None, None) => checker.absent(field),
            };
            fields.extend(value.map(|value| (Name::from(&field.name), value)));
        }
        let fields: Item = fields.into_iter().collect();
        checker.check_formats(&fields, self);
        checker.check_names(document, self);
        checker.finish().map(|()| fields)
    }

    /// Whether the write that creates an entity assigns a value to the field: the number of a sequence.
    pub fn is_assigned(&self, field: &Field) -> bool {
        self.sequence.as_ref().is_some_and(|sequence| self.field(sequence.field) == field)
    }

    /// Returns the stored form after a merge patch (RFC 7396): null removes a field, a map merges
    /// into a field of type `any`, `map` or `tags`, everything else replaces. Defaults are not
    /// filled in again. Fields that the patch does not name do not change. `{"$add": 5}` adds to a
    /// number, `{"$append": [...]}` to a list.
    ///
    /// # Errors
    ///
    /// Those of [`admit`](Entity::admit). The whole result is checked, so a field that was already
    /// invalid is reported even if the patch does not name it.
    pub fn admit_patch(&self, fields: &Item, patch: &Item) -> Result<Item, Vec<FieldError>> {
        self.apply_patch(fields, patch, |_| FieldAccess::ReadWrite)
    }

    /// Like [`admit_patch`](Entity::admit_patch), for a patch from a client of the service: it must
    /// not change read-only fields.
    ///
    /// # Errors
    ///
    /// Those of [`admit_patch`](Entity::admit_patch), and one for each read-only field that the
    /// patch changes.
    pub fn admit_client_patch(&self, fields: &Item, patch: &Item) -> Result<Item, Vec<FieldError>> {
        self.apply_patch(fields, patch, |field| field.access)
    }

    fn apply_patch(
        &self,
        fields: &Item,
        patch: &Item,
        access: impl Fn(&Field) -> FieldAccess,
    ) -> Result<Item, Vec<FieldError>> {
        let mut checker = Checker::default();
        let mut patched = Vec::with_capacity(self.fields.len());
        for field in self.settable_fields() {
            let before = fields.get(&field.name);
            let change = match patch.get(&field.name) {
                None => None,
                Some(change) => match Relative::of(change, field) {
                    None => Some(merged(change, before, field)),
                    Some(relative) => match checker.applied(relative, before, field) {
                        Some(value) => Some(Cow::Owned(value)),
                        None => continue,
                    },
                },
            };
            let value = match (change, access(field)) {
                (Some(change), FieldAccess::ReadWrite) => checker.given(&change, field),
                (Some(change), FieldAccess::ReadOnly) => {
                    checker.read_only(Some(&change), before.cloned(), field)
                }
                (None, _) => checker.stored(before, field),
            };
            patched.extend(value.map(|value| (Name::from(&field.name), value)));
        }
        let patched: Item = patched.into_iter().collect();
        checker.check_formats(&patched, self);
        checker.check_names(patch, self);
        checker.check_names(fields, self);
        checker.finish().map(|()| patched)
    }

    /// Checks that enums have values that new entities can have.
    ///
    /// # Errors
    ///
    /// One for each field that begins with another value.
    pub fn check_initials(&self, fields: &Item) -> Result<(), Vec<FieldError>> {
        let mut checker = Checker::default();
        for rule in &self.initials {
            let name = &self.field(rule.field).name;
            if let Some(found) = fields.get(name).and_then(Value::as_s)
                && !rule.members.iter().any(|member| member == found)
            {
                let (found, initial) = (found.to_owned(), rule.members.clone());
                let kind = FieldErrorKind::NotInitial { found, initial };
                checker.report(&Location::Field(name), kind);
            }
        }
        checker.finish()
    }

    /// Checks that the values of enums may change as they do, from one state of an entity to another.
    ///
    /// # Errors
    ///
    /// One for each field whose change its transitions do not allow.
    pub fn check_transitions(&self, before: &Item, after: &Item) -> Result<(), Vec<FieldError>> {
        let mut checker = Checker::default();
        for rule in &self.transitions {
            let name = &self.field(rule.field).name;
            let value = |fields: &Item| fields.get(name).and_then(Value::as_s).map(str::to_owned);
            if let (Some(from), Some(to)) = (value(before), value(after))
                && !rule.allows(&from, &to)
            {
                let allowed = rule.from(&from).to_vec();
                let kind = FieldErrorKind::NoTransition { from, to, allowed };
                checker.report(&Location::Field(name), kind);
            }
        }
        checker.finish()
    }

    /// Whether a patch contains changes that depend on values before, which every attempt to apply it
    /// computes again.
    pub fn is_relative(patch: &Item) -> bool {
        relative::is_relative(patch)
    }

    /// Checks that fields are in stored form, complete and valid.
    ///
    /// # Errors
    ///
    /// Those of [`admit`](Entity::admit).
    pub fn check_fields(&self, fields: &Item) -> Result<(), Vec<FieldError>> {
        let mut checker = Checker::default();
        for field in self.settable_fields() {
            match fields.get(&field.name) {
                Some(value) => checker.value(value, &field.of, &Location::Field(&field.name)),
                None => {
                    checker.absent(field);
                }
            }
        }
        checker.check_formats(fields, self);
        checker.check_names(fields, self);
        checker.finish()
    }

    /// Returns the external form of fields in stored form: times as RFC 3339 text in UTC, bytes as
    /// base64, everything else unchanged, including `id` and `version`.
    ///
    /// An absent optional field that has a default becomes null, so that
    /// [`admit`](Entity::admit) turns the external form into exactly what was stored.
    pub fn to_external(&self, fields: &Item) -> Item {
        let absent = self.settable_fields().filter(|field| {
            field.default.is_some()
                && field.presence == Presence::Optional
                && !fields.contains(&field.name)
        });
        let absent = absent.map(|field| (Name::from(&field.name), Value::Null));
        self.external_values(fields).chain(absent).collect()
    }

    /// Returns the external form of some values of fields. Unlike [`Entity::to_external`], it says
    /// nothing about other fields.
    pub fn external_values<'v>(
        &'v self,
        values: &'v Item,
    ) -> impl Iterator<Item = (Name, Value)> + 'v {
        values.iter().map(|(name, value)| {
            let field = self.fields.iter().find(|field| field.name == name.as_str());
            let value = field.map_or_else(|| value.clone(), |field| field.of.to_external(value));
            (name.clone(), value)
        })
    }
}

impl Field {
    /// Checks that a value is valid for this field, in stored form.
    ///
    /// # Errors
    ///
    /// Every rule that it breaks.
    pub fn check(&self, value: &Value) -> Result<(), Vec<FieldError>> {
        let mut checker = Checker::default();
        checker.value(value, &self.of, &Location::Field(&self.name));
        checker.finish()
    }
}

impl FieldType {
    /// Returns the stored form of a value in external form. A value of another type is returned
    /// unchanged.
    pub fn to_stored(&self, value: &Value) -> Value {
        convert::to_stored(value, self)
    }

    /// Returns the external form of a value in stored form. A value of another type is returned
    /// unchanged.
    pub fn to_external(&self, value: &Value) -> Value {
        convert::to_external(value, self)
    }
}

/// What a document may set a field to.
enum Setting {
    /// Any value.
    Free,
    /// Only this value, which the field has anyway.
    Fixed(Option<Value>),
}

/// The value of a field after a patch.
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

/// Each method returns the stored value of a field, and records what is wrong with it.
impl Checker {
    /// A value from a document.
    fn given(&mut self, value: &Value, field: &Field) -> Option<Value> {
        let location = Location::Field(&field.name);
        match (value, field.presence) {
            (Value::Null, Presence::Optional) => None,
            (Value::Null, Presence::Required) => {
                self.report(&location, null_error(field));
                None
            }
            (Value::L(_) | Value::M(_), _) if value.depth() > NESTING_MAX => {
                self.report(&location, FieldErrorKind::TooDeep { depth_max: NESTING_MAX });
                None
            }
            _ => {
                let value = convert::to_stored(value, &field.of);
                self.value(&value, &field.of, &location);
                Some(value)
            }
        }
    }

    /// The value of a read-only field; a document may omit or repeat it.
    fn read_only(
        &mut self,
        given: Option<&Value>,
        value: Option<Value>,
        field: &Field,
    ) -> Option<Value> {
        let is_same = match (given, &value) {
            (None, _) | (Some(Value::Null), None) => true,
            (Some(Value::Null), Some(_)) | (Some(_), None) => false,
            (Some(given), Some(value)) => {
                given.depth() <= NESTING_MAX && convert::to_stored(given, &field.of) == *value
            }
        };
        if !is_same {
            self.report(&Location::Field(&field.name), FieldErrorKind::ReadOnly);
        }
        self.stored(value.as_ref(), field)
    }

    /// A stored value that does not change.
    fn stored(&mut self, value: Option<&Value>, field: &Field) -> Option<Value> {
        let Some(value) = value else { return self.absent(field) };
        self.value(value, &field.of, &Location::Field(&field.name));
        Some(value.clone())
    }

    fn absent(&mut self, field: &Field) -> Option<Value> {
        if field.presence == Presence::Required {
            let expected = field.of.in_words();
            self.report(&Location::Field(&field.name), FieldErrorKind::Missing { expected });
        }
        None
    }
}

/// Checks that concern an entity as a whole.
impl Checker {
    /// Checks the formats of texts, which may depend on other fields.
    fn check_formats(&mut self, fields: &Item, entity: &Entity) {
        self.check_patterns(fields, entity);
        self.check_searches(fields, entity);
        for rule in &entity.formats {
            let name = &entity.field(rule.field).name;
            if let Some(text) = fields.get(name).and_then(Value::as_s)
                && let Some(format) = entity.required_format(rule, fields)
                && !format.matches(text)
            {
                let found = excerpt(text);
                self.report(&Location::Field(name), FieldErrorKind::NotInFormat { format, found });
            }
        }
    }

    fn check_patterns(&mut self, fields: &Item, entity: &Entity) {
        for rule in &entity.patterns {
            let name = &entity.field(rule.field).name;
            if let Some(text) = fields.get(name).and_then(Value::as_s)
                && !rule.pattern.matches(text)
            {
                let (pattern, found) = (rule.pattern.as_str().to_owned(), excerpt(text));
                let kind = FieldErrorKind::NotMatching { pattern, found };
                self.report(&Location::Field(name), kind);
            }
        }
    }

    fn check_searches(&mut self, fields: &Item, entity: &Entity) {
        for search in entity.searches.iter().filter(|search| search.is_too_long(entity, fields)) {
            let has_value = |id: &&FieldId| fields.get(&entity.field(**id).name).is_some();
            let Some(field) = search.fields.iter().find(has_value) else { continue };
            let (search, max) = (search.name.clone(), Search::TERMS_MAX);
            let kind = FieldErrorKind::TooManyWords { search, max };
            self.report(&Location::Field(&entity.field(*field).name), kind);
        }
    }

    /// Reports names that are not fields of the entity.
    fn check_names(&mut self, document: &Item, entity: &Entity) {
        for name in document.names() {
            let name = name.as_str();
            if !entity.settable_fields().any(|field| field.name == name) {
                self.unknown(name, entity);
            }
        }
    }
}

impl DefaultValue {
    /// Returns the default in stored form; `now_ms` is the value of `now`.
    pub fn value(&self, now_ms: i64) -> Value {
        match self {
            DefaultValue::Now => {
                Value::from(now_ms.clamp(*time::RANGE_MS.start(), *time::RANGE_MS.end()))
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
