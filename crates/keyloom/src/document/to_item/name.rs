//! Keys of maps → names. Texts, characters, integers, booleans and unit variants become text;
//! everything else is refused.

use keyloom_value::Name;
use serde::Serialize;
use serde::ser::{Impossible, Serializer};

use super::super::error::{DocumentError, Fault};

/// Serializes a key as a name.
pub(super) struct ToName;

type Never = Impossible<Name, DocumentError>;

fn refuse<T>() -> Result<T, DocumentError> {
    Err(DocumentError::new(Fault::NameNotText))
}

impl Serializer for ToName {
    type Ok = Name;
    type Error = DocumentError;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Never;
    type SerializeStruct = Never;
    type SerializeStructVariant = Never;

    fn serialize_bool(self, truth: bool) -> Result<Name, DocumentError> {
        Ok(Name::from(truth.to_string()))
    }

    fn serialize_i8(self, integer: i8) -> Result<Name, DocumentError> {
        Ok(Name::from(integer.to_string()))
    }

    fn serialize_i16(self, integer: i16) -> Result<Name, DocumentError> {
        Ok(Name::from(integer.to_string()))
    }

    fn serialize_i32(self, integer: i32) -> Result<Name, DocumentError> {
        Ok(Name::from(integer.to_string()))
    }

    fn serialize_i64(self, integer: i64) -> Result<Name, DocumentError> {
        Ok(Name::from(integer.to_string()))
    }

    fn serialize_i128(self, integer: i128) -> Result<Name, DocumentError> {
        Ok(Name::from(integer.to_string()))
    }

    fn serialize_u8(self, integer: u8) -> Result<Name, DocumentError> {
        Ok(Name::from(integer.to_string()))
    }

    fn serialize_u16(self, integer: u16) -> Result<Name, DocumentError> {
        Ok(Name::from(integer.to_string()))
    }

    fn serialize_u32(self, integer: u32) -> Result<Name, DocumentError> {
        Ok(Name::from(integer.to_string()))
    }

    fn serialize_u64(self, integer: u64) -> Result<Name, DocumentError> {
        Ok(Name::from(integer.to_string()))
    }

    fn serialize_u128(self, integer: u128) -> Result<Name, DocumentError> {
        Ok(Name::from(integer.to_string()))
    }

    fn serialize_f32(self, _: f32) -> Result<Name, DocumentError> {
        refuse()
    }

    fn serialize_f64(self, _: f64) -> Result<Name, DocumentError> {
        refuse()
    }

    fn serialize_char(self, character: char) -> Result<Name, DocumentError> {
        Ok(Name::from(character.to_string()))
    }

    fn serialize_str(self, text: &str) -> Result<Name, DocumentError> {
        Ok(Name::from(text))
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<Name, DocumentError> {
        refuse()
    }

    fn serialize_none(self) -> Result<Name, DocumentError> {
        refuse()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, some: &T) -> Result<Name, DocumentError> {
        some.serialize(self)
    }

    fn serialize_unit(self) -> Result<Name, DocumentError> {
        refuse()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Name, DocumentError> {
        refuse()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Name, DocumentError> {
        Ok(Name::from(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        inner: &T,
    ) -> Result<Name, DocumentError> {
        inner.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Name, DocumentError> {
        refuse()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Never, DocumentError> {
        refuse()
    }

    fn serialize_tuple(self, _: usize) -> Result<Never, DocumentError> {
        refuse()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Never, DocumentError> {
        refuse()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, DocumentError> {
        refuse()
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Never, DocumentError> {
        refuse()
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Never, DocumentError> {
        refuse()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, DocumentError> {
        refuse()
    }
}
