//! Deserializers of one value in stored form, and of all fields.

use keyloom_model::{Entity, FieldType};
use keyloom_value::{Item, Number, Value};
use serde::de::value::SeqDeserializer;
use serde::de::{Deserializer, Error, Visitor};
use serde::forward_to_deserialize_any;

use super::super::error::DocumentError;
use super::access::{ElementAccess, FieldAccess, GivenVariant, Types};
use super::number;

/// The fields of an entity, maybe with `id` and `version`.
pub(super) struct Fields<'de> {
    pub(super) fields: &'de Item,
    pub(super) entity: &'de Entity,
}

impl<'de> Deserializer<'de> for Fields<'de> {
    type Error = DocumentError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        visitor.visit_map(FieldAccess::new(self.fields, Types::Fields(self.entity)))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// One value.
#[derive(Clone, Copy)]
pub(super) struct Given<'de> {
    pub(super) value: &'de Value,
    /// The type of its field; none for `id`, and for whatever is in `any`.
    pub(super) of: Option<&'de FieldType>,
}

impl<'de> Given<'de> {
    /// Its external text, if it has one: times and bytes do.
    fn shown_text(&self) -> Option<String> {
        let shown = match (self.value, self.of?) {
            (Value::N(_), of @ FieldType::Time) => of.to_external(self.value),
            (Value::B(_), of @ FieldType::Bytes(_)) => of.to_external(self.value),
            _ => return None,
        };
        if let Value::S(text) = shown { Some(text) } else { None }
    }

    /// The digits of a number whose type is decimal, so that no float rounds it.
    fn digits(&self) -> Option<&'de Number> {
        let number = self.value.as_n()?;
        matches!(self.of?, FieldType::Number(_)).then_some(number)
    }

    /// The type of its contents.
    fn inner(&self) -> Option<&'de FieldType> {
        match self.of? {
            FieldType::List(of, _) | FieldType::Map(of, _) => Some(of),
            _ => None,
        }
    }

    fn whole<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        match self.value {
            Value::N(value) => number::visit_whole(value, visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    fn text<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        match self.digits() {
            Some(number) => visitor.visit_string(number.to_string()),
            None => self.deserialize_any(visitor),
        }
    }

    fn bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        match self.value {
            Value::B(bytes) => visitor.visit_borrowed_bytes(bytes),
            _ => self.deserialize_any(visitor),
        }
    }

    fn list<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        match self.value {
            Value::B(bytes) => visitor.visit_seq(SeqDeserializer::new(bytes.iter().copied())),
            _ => self.deserialize_any(visitor),
        }
    }
}

macro_rules! whole {
    ($($deserialize:ident)*) => {
        $(fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
            self.whole(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Given<'de> {
    type Error = DocumentError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        if let Some(text) = self.shown_text() {
            return visitor.visit_string(text);
        }
        match self.value {
            Value::S(text) => visitor.visit_borrowed_str(text),
            Value::N(value) => number::visit_any(value, visitor),
            Value::B(bytes) => visitor.visit_borrowed_bytes(bytes),
            Value::Bool(truth) => visitor.visit_bool(*truth),
            Value::Null => visitor.visit_unit(),
            Value::L(elements) => visitor.visit_seq(ElementAccess::new(elements, self.inner())),
            Value::M(members) => {
                visitor.visit_map(FieldAccess::new(members, Types::Same(self.inner())))
            }
            Value::Ss(_) | Value::Ns(_) | Value::Bs(_) => {
                Err(DocumentError::custom("a document has no sets, and this is one"))
            }
        }
    }

    whole! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        match self.value {
            Value::N(value) => number::visit_f32(value, visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        match self.value {
            Value::N(value) => number::visit_f64(value, visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        self.text(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        self.text(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        self.bytes(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        self.bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        self.list(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        self.list(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        self.list(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        match self.value {
            Value::S(variant) => visitor.visit_enum(GivenVariant { variant, content: None }),
            Value::M(members) if members.len() == 1 => match members.iter().next() {
                Some((name, value)) => {
                    let content = Some(Given { value, of: self.inner() });
                    visitor.visit_enum(GivenVariant { variant: name.as_str(), content })
                }
                None => self.deserialize_any(visitor),
            },
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! { bool char unit unit_struct map struct identifier }
}
