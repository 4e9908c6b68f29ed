//! Lists, maps and variants while they are being deserialized.

use keyloom_model::{Entity, FieldType};
use keyloom_value::{Item, Name, Value};
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

use super::super::error::DocumentError;
use super::given::Given;
use super::name::GivenName;

/// The members of a map, one after the other.
pub(super) struct FieldAccess<'de> {
    rest: Vec<(&'de Name, &'de Value)>,
    types: Types<'de>,
    pending: Option<(&'de Name, &'de Value)>,
}

/// The types of the members of a map.
#[derive(Clone, Copy)]
pub(super) enum Types<'de> {
    /// The fields of an entity.
    Fields(&'de Entity),
    /// All of one type, or without a type.
    Same(Option<&'de FieldType>),
}

impl<'de> FieldAccess<'de> {
    pub(super) fn new(members: &'de Item, types: Types<'de>) -> FieldAccess<'de> {
        FieldAccess { rest: members.iter().rev().collect(), types, pending: None }
    }
}

impl<'de> Types<'de> {
    fn of(self, name: &Name) -> Option<&'de FieldType> {
        match self {
            Types::Fields(entity) => {
                let field = entity.fields.iter().find(|field| field.name == name.as_str());
                field.map(|field| &field.of)
            }
            Types::Same(of) => of,
        }
    }
}

impl<'de> MapAccess<'de> for FieldAccess<'de> {
    type Error = DocumentError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DocumentError> {
        self.pending = self.rest.pop();
        let Some((name, _)) = self.pending else { return Ok(None) };
        seed.deserialize(GivenName(name.as_str())).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, DocumentError> {
        let Some((name, value)) = self.pending.take() else {
            return Err(DocumentError::custom("a value was requested before its name"));
        };
        let given = Given { value, of: self.types.of(name) };
        seed.deserialize(given).map_err(|error| error.in_member(name))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// The elements of a list, one after the other.
pub(super) struct ElementAccess<'de> {
    elements: std::iter::Enumerate<std::slice::Iter<'de, Value>>,
    of: Option<&'de FieldType>,
}

impl<'de> ElementAccess<'de> {
    pub(super) fn new(elements: &'de [Value], of: Option<&'de FieldType>) -> ElementAccess<'de> {
        ElementAccess { elements: elements.iter().enumerate(), of }
    }
}

impl<'de> SeqAccess<'de> for ElementAccess<'de> {
    type Error = DocumentError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DocumentError> {
        let Some((index, value)) = self.elements.next() else { return Ok(None) };
        let given = Given { value, of: self.of };
        seed.deserialize(given).map(Some).map_err(|error| error.in_element(index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.elements.len())
    }
}

/// An externally tagged variant of an enum, and its content if it has one.
pub(super) struct GivenVariant<'de> {
    pub(super) variant: &'de str,
    pub(super) content: Option<Given<'de>>,
}

impl<'de> GivenVariant<'de> {
    fn content(&self) -> Result<Given<'de>, DocumentError> {
        let lacking = || format!("the variant `{}` has no content here", self.variant);
        self.content.ok_or_else(|| DocumentError::custom(lacking()))
    }
}

impl<'de> EnumAccess<'de> for GivenVariant<'de> {
    type Error = DocumentError;
    type Variant = GivenVariant<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, GivenVariant<'de>), DocumentError> {
        let variant: StrDeserializer<'_, DocumentError> = self.variant.into_deserializer();
        Ok((seed.deserialize(variant)?, self))
    }
}

impl<'de> VariantAccess<'de> for GivenVariant<'de> {
    type Error = DocumentError;

    fn unit_variant(self) -> Result<(), DocumentError> {
        match self.content {
            None | Some(Given { value: Value::Null, .. }) => Ok(()),
            Some(_) => {
                let excess = format!("the variant `{}` has content here", self.variant);
                Err(DocumentError::custom(excess))
            }
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, DocumentError> {
        let outcome = seed.deserialize(self.content()?);
        outcome.map_err(|error| error.in_member(self.variant))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        let outcome = self.content()?.deserialize_tuple(len, visitor);
        outcome.map_err(|error| error.in_member(self.variant))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        let outcome = self.content()?.deserialize_struct("", fields, visitor);
        outcome.map_err(|error| error.in_member(self.variant))
    }
}
