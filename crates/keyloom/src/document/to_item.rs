//! User types → items, through serde.

mod compound;
mod name;

use keyloom_value::{Item, Number, NumberError, Value};
use serde::Serialize;
use serde::ser::Serializer;

use super::DEPTH_MAX;
use super::error::{DocumentError, Fault};
use compound::{Elements, Foreign, Members, StructMembers, Variant};

/// Serializes a struct, or a map with text keys, as an item.
///
/// Texts, numbers, booleans, lists and maps become what they are; a float becomes the shortest
/// decimal that reads back as it; bytes (`serialize_bytes`, as `serde_bytes` does; a plain
/// `Vec<u8>` is a list) become B; enums are tagged from outside, as in JSON. `None` becomes null:
/// in a whole document that is an absent field, in a patch it removes the field. To omit a field, use
/// `#[serde(skip_serializing_if = "Option::is_none")]`.
///
/// ```
/// use keyloom::{Value, to_item};
///
/// #[derive(serde::Serialize)]
/// struct Task {
///     name: &'static str,
///     priority: Option<u8>,
/// }
/// let item = to_item(&Task { name: "cook", priority: None })?;
/// assert_eq!(item.get("name"), Some(&Value::from("cook")));
/// assert_eq!(item.get("priority"), Some(&Value::Null));
/// # Ok::<(), keyloom::DocumentError>(())
/// ```
///
/// # Errors
///
/// If it is not a struct or map, a key is not a text or duplicate, something is nested more than 32
/// deep, a number has more than 38 digits or is not finite, or a type cannot be serialized. The error
/// names the field.
pub fn to_item<T: Serialize + ?Sized>(document: &T) -> Result<Item, DocumentError> {
    match document.serialize(ToValue { depth: 0 })? {
        Value::M(item) => Ok(item),
        _ => Err(DocumentError::new(Fault::NotAnObject)),
    }
}

/// Serializes anything as a value.
#[derive(Clone, Copy)]
struct ToValue {
    /// The number of lists and maps around it.
    depth: usize,
}

impl ToValue {
    /// The serializer for the contents of a list or map.
    fn inner(self) -> Result<ToValue, DocumentError> {
        if self.depth == DEPTH_MAX {
            return Err(DocumentError::new(Fault::TooDeep));
        }
        Ok(ToValue { depth: self.depth + 1 })
    }
}

fn number(number: Result<Number, NumberError>) -> Result<Value, DocumentError> {
    number.map(Value::N).map_err(|error| DocumentError::new(Fault::Number(error)))
}

/// The number with the shortest decimal of a float.
fn float(is_finite: bool, text: &str) -> Result<Value, DocumentError> {
    if !is_finite {
        return Err(DocumentError::new(Fault::NotFinite));
    }
    number(text.parse())
}

fn tagged(variant: &str, content: Value) -> Value {
    Value::M(Item::from([(variant, content)]))
}

impl Serializer for ToValue {
    type Ok = Value;
    type Error = DocumentError;
    type SerializeSeq = Elements;
    type SerializeTuple = Elements;
    type SerializeTupleStruct = Elements;
    type SerializeTupleVariant = Variant<Elements>;
    type SerializeMap = Members;
    type SerializeStruct = StructMembers;
    type SerializeStructVariant = Variant<Members>;

    fn serialize_bool(self, truth: bool) -> Result<Value, DocumentError> {
        Ok(Value::Bool(truth))
    }

    fn serialize_i8(self, integer: i8) -> Result<Value, DocumentError> {
        self.serialize_i64(i64::from(integer))
    }

    fn serialize_i16(self, integer: i16) -> Result<Value, DocumentError> {
        self.serialize_i64(i64::from(integer))
    }

    fn serialize_i32(self, integer: i32) -> Result<Value, DocumentError> {
        self.serialize_i64(i64::from(integer))
    }

    fn serialize_i64(self, integer: i64) -> Result<Value, DocumentError> {
        Ok(Value::from(integer))
    }

    fn serialize_i128(self, integer: i128) -> Result<Value, DocumentError> {
        number(Number::from_parts(integer, 0))
    }

    fn serialize_u8(self, integer: u8) -> Result<Value, DocumentError> {
        self.serialize_u64(u64::from(integer))
    }

    fn serialize_u16(self, integer: u16) -> Result<Value, DocumentError> {
        self.serialize_u64(u64::from(integer))
    }

    fn serialize_u32(self, integer: u32) -> Result<Value, DocumentError> {
        self.serialize_u64(u64::from(integer))
    }

    fn serialize_u64(self, integer: u64) -> Result<Value, DocumentError> {
        Ok(Value::from(integer))
    }

    fn serialize_u128(self, integer: u128) -> Result<Value, DocumentError> {
        number(integer.to_string().parse())
    }

    fn serialize_f32(self, value: f32) -> Result<Value, DocumentError> {
        float(value.is_finite(), &format!("{value:e}"))
    }

    fn serialize_f64(self, value: f64) -> Result<Value, DocumentError> {
        float(value.is_finite(), &format!("{value:e}"))
    }

    fn serialize_char(self, character: char) -> Result<Value, DocumentError> {
        Ok(Value::S(character.to_string()))
    }

    fn serialize_str(self, text: &str) -> Result<Value, DocumentError> {
        Ok(Value::from(text))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Value, DocumentError> {
        Ok(Value::B(bytes.to_vec()))
    }

    fn serialize_none(self) -> Result<Value, DocumentError> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, some: &T) -> Result<Value, DocumentError> {
        some.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, DocumentError> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Value, DocumentError> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Value, DocumentError> {
        Ok(Value::from(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        inner: &T,
    ) -> Result<Value, DocumentError> {
        inner.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        content: &T,
    ) -> Result<Value, DocumentError> {
        let content = content.serialize(self.inner()?);
        Ok(tagged(variant, content.map_err(|error| error.in_member(variant))?))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Elements, DocumentError> {
        Ok(Elements::new(self.inner()?))
    }

    fn serialize_tuple(self, _: usize) -> Result<Elements, DocumentError> {
        Ok(Elements::new(self.inner()?))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Elements, DocumentError> {
        Ok(Elements::new(self.inner()?))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Variant<Elements>, DocumentError> {
        Ok(Variant { variant, content: Elements::new(self.inner()?.inner()?) })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members, DocumentError> {
        Ok(Members::new(self.inner()?))
    }

    fn serialize_struct(
        self,
        name: &'static str,
        _: usize,
    ) -> Result<StructMembers, DocumentError> {
        Ok(match Foreign::find(name, self.depth) {
            Some(foreign) => StructMembers::Foreign(foreign, Value::Null),
            None => StructMembers::Own(Members::new(self.inner()?)),
        })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Variant<Members>, DocumentError> {
        Ok(Variant { variant, content: Members::new(self.inner()?.inner()?) })
    }
}
