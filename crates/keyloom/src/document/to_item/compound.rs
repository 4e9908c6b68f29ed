//! Lists, maps, structs and variants while they are being serialized.

use keyloom_value::{Name, Value};
use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};

use super::super::error::{DocumentError, Fault};
use super::super::read_json::json_to_value;
use super::name::ToName;
use super::{ToValue, number, tagged};

/// A list.
pub(super) struct Elements {
    inner: ToValue,
    elements: Vec<Value>,
}

/// A map or a struct.
pub(super) struct Members {
    inner: ToValue,
    members: Vec<(Name, Value)>,
    /// The name that waits for its value.
    pending: Option<Name>,
}

/// The content of a variant of an enum.
pub(super) struct Variant<C> {
    pub(super) variant: &'static str,
    pub(super) content: C,
}

/// A struct, or what serde_json serializes as one.
pub(super) enum StructMembers {
    Own(Members),
    Foreign(Foreign, Value),
}

/// What serde_json hides in a struct with a private name, because serde cannot express it.
#[derive(Clone, Copy)]
pub(super) enum Foreign {
    /// A number with all of its digits, as text: its feature `arbitrary_precision`, which any
    /// package in a build can switch on for all.
    Number,
    /// A piece of JSON as text.
    RawValue {
        /// The number of lists and maps around it.
        around: usize,
    },
}

impl Foreign {
    pub(super) fn find(name: &str, around: usize) -> Option<Foreign> {
        match name {
            "$serde_json::private::Number" => Some(Foreign::Number),
            "$serde_json::private::RawValue" => Some(Foreign::RawValue { around }),
            _ => None,
        }
    }

    fn value(self, content: &Value) -> Result<Value, DocumentError> {
        let text = content.as_s().unwrap_or_default();
        match self {
            Foreign::Number => number(text.parse()),
            Foreign::RawValue { around } => json_to_value(text, around),
        }
    }
}

impl Elements {
    pub(super) fn new(inner: ToValue) -> Elements {
        Elements { inner, elements: vec![] }
    }

    fn push<T: Serialize + ?Sized>(&mut self, element: &T) -> Result<(), DocumentError> {
        let value = element.serialize(self.inner);
        let index = self.elements.len();
        self.elements.push(value.map_err(|error| error.in_element(index))?);
        Ok(())
    }

    fn finish(self) -> Value {
        Value::L(self.elements)
    }
}

impl Members {
    pub(super) fn new(inner: ToValue) -> Members {
        Members { inner, members: vec![], pending: None }
    }

    fn push<T: Serialize + ?Sized>(&mut self, name: Name, member: &T) -> Result<(), DocumentError> {
        let value = member.serialize(self.inner).map_err(|error| error.in_member(&name))?;
        self.members.push((name, value));
        Ok(())
    }

    fn finish(mut self) -> Result<Value, DocumentError> {
        self.members.sort_by(|(left, _), (right, _)| left.cmp(right));
        match self.members.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => {
                let name = pair[0].0.as_str().to_owned();
                Err(DocumentError::new(Fault::Twice { name }))
            }
            None => Ok(Value::M(self.members.into_iter().collect())),
        }
    }
}

/// Serde has several traits for lists.
macro_rules! lists {
    ($($list:ident $push:ident,)*) => {
        $(impl $list for Elements {
            type Ok = Value;
            type Error = DocumentError;

            fn $push<T: Serialize + ?Sized>(&mut self, it: &T) -> Result<(), DocumentError> {
                self.push(it)
            }

            fn end(self) -> Result<Value, DocumentError> {
                Ok(self.finish())
            }
        })*
    };
}

lists! {
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
}

impl SerializeTupleVariant for Variant<Elements> {
    type Ok = Value;
    type Error = DocumentError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, it: &T) -> Result<(), DocumentError> {
        self.content.push(it).map_err(|error| error.in_member(self.variant))
    }

    fn end(self) -> Result<Value, DocumentError> {
        Ok(tagged(self.variant, self.content.finish()))
    }
}

impl SerializeMap for Members {
    type Ok = Value;
    type Error = DocumentError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), DocumentError> {
        self.pending = Some(key.serialize(ToName)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), DocumentError> {
        let name = self.pending.take();
        self.push(name.ok_or_else(|| DocumentError::new(Fault::NameNotText))?, value)
    }

    fn end(self) -> Result<Value, DocumentError> {
        self.finish()
    }
}

impl SerializeStruct for StructMembers {
    type Ok = Value;
    type Error = DocumentError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), DocumentError> {
        match self {
            StructMembers::Own(members) => members.push(Name::from(name), value),
            StructMembers::Foreign(_, content) => {
                *content = value.serialize(ToValue { depth: 0 })?;
                Ok(())
            }
        }
    }

    fn end(self) -> Result<Value, DocumentError> {
        match self {
            StructMembers::Own(members) => members.finish(),
            StructMembers::Foreign(foreign, content) => foreign.value(&content),
        }
    }
}

impl SerializeStructVariant for Variant<Members> {
    type Ok = Value;
    type Error = DocumentError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), DocumentError> {
        let pushed = self.content.push(Name::from(name), value);
        pushed.map_err(|error| error.in_member(self.variant))
    }

    fn end(self) -> Result<Value, DocumentError> {
        Ok(tagged(self.variant, self.content.finish()?))
    }
}
