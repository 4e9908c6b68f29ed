//! Items as bytes: the size as DynamoDB counts it, then a count, then names and values in name
//! order.

use std::collections::BTreeSet;

use keyloom_value::{Item, Name, Number, Value};

use super::bytes::utf8;
use super::{Malformed, Reader, Writer};

/// Deeper than any valid item; keeps damaged bytes from exhausting the stack.
const DEPTH_MAX: usize = 64;

const TAG_TEXT: u8 = 1;
const TAG_NUMBER: u8 = 2;
const TAG_BYTES: u8 = 3;
const TAG_FALSE: u8 = 4;
const TAG_TRUE: u8 = 5;
const TAG_NULL: u8 = 6;
const TAG_LIST: u8 = 7;
const TAG_MAP: u8 = 8;
const TAG_TEXT_SET: u8 = 9;
const TAG_NUMBER_SET: u8 = 10;
const TAG_BYTES_SET: u8 = 11;

/// The names of the last decoded item. Items of one page mostly have the same names in the same
/// order; sharing them saves an allocation each.
#[derive(Debug, Default)]
pub(crate) struct NameCache(Vec<Name>);

impl NameCache {
    fn name(&mut self, index: usize, bytes: &[u8]) -> Result<Name, Malformed> {
        if let Some(known) = self.0.get(index)
            && known.as_str().as_bytes() == bytes
        {
            return Ok(known.clone());
        }
        let name = Name::from(utf8(bytes)?);
        self.0.truncate(index);
        self.0.push(name.clone());
        Ok(name)
    }
}

pub(crate) fn encode_item(item: &Item) -> Vec<u8> {
    let size = item.size();
    let mut out = Writer::with_capacity(size + 3 * item.len() + 8);
    out.size(size);
    write_item(&mut out, item);
    out.into_vec()
}

/// Encodes only the size of an item whose attributes are all in its key.
pub(crate) fn encode_size(size: usize) -> Vec<u8> {
    let mut out = Writer::default();
    out.size(size);
    out.into_vec()
}

/// Whether the bytes are only the size of an item.
pub(crate) fn is_size_alone(bytes: &[u8]) -> bool {
    let mut reader = Reader::new(bytes);
    reader.varint().is_ok() && reader.rest().is_empty()
}

/// Returns the size of an encoded item as DynamoDB counts it, without decoding the item.
pub(crate) fn item_size(bytes: &[u8]) -> Result<u64, Malformed> {
    Reader::new(bytes).varint()
}

pub(crate) fn decode_item(bytes: &[u8], names: &mut NameCache) -> Result<Item, Malformed> {
    let mut reader = Reader::new(bytes);
    reader.varint()?;
    let count = reader.count()?;
    let mut attributes = Vec::with_capacity(count);
    for index in 0..count {
        let name = names.name(index, reader.bytes()?)?;
        attributes.push((name, read_value(&mut reader, 0)?));
    }
    reader.finish()?;
    Item::from_sorted(attributes).ok_or(Malformed("attributes are out of order"))
}

fn write_item(out: &mut Writer, item: &Item) {
    out.size(item.len());
    for (name, value) in item {
        out.text(name.as_str());
        write_value(out, value);
    }
}

fn write_value(out: &mut Writer, value: &Value) {
    match value {
        Value::S(text) => {
            out.u8(TAG_TEXT);
            out.text(text);
        }
        Value::N(number) => {
            out.u8(TAG_NUMBER);
            write_number(out, number);
        }
        Value::B(bytes) => {
            out.u8(TAG_BYTES);
            out.bytes(bytes);
        }
        Value::Bool(false) => out.u8(TAG_FALSE),
        Value::Bool(true) => out.u8(TAG_TRUE),
        Value::Null => out.u8(TAG_NULL),
        Value::L(values) => {
            write_many(out, TAG_LIST, values.len(), values, write_value);
        }
        Value::M(item) => {
            out.u8(TAG_MAP);
            write_item(out, item);
        }
        Value::Ss(texts) => {
            write_many(out, TAG_TEXT_SET, texts.len(), texts, |out, text| out.text(text));
        }
        Value::Ns(numbers) => {
            write_many(out, TAG_NUMBER_SET, numbers.len(), numbers, write_number);
        }
        Value::Bs(strings) => {
            write_many(out, TAG_BYTES_SET, strings.len(), strings, |out, bytes| out.bytes(bytes));
        }
    }
}

fn write_many<'a, T: 'a>(
    out: &mut Writer,
    tag: u8,
    count: usize,
    members: impl IntoIterator<Item = &'a T>,
    mut write: impl FnMut(&mut Writer, &'a T),
) {
    out.u8(tag);
    out.size(count);
    for member in members {
        write(out, member);
    }
}

fn write_number(out: &mut Writer, number: &Number) {
    let (coefficient, exponent) = number.parts();
    out.signed(i128::from(exponent));
    out.signed(coefficient);
}

/// Reads the common types inline: passing a value through a call costs as much as reading it.
#[inline(always)]
fn read_value(reader: &mut Reader<'_>, depth: usize) -> Result<Value, Malformed> {
    match reader.u8()? {
        TAG_TEXT => Ok(Value::S(reader.text()?.to_owned())),
        TAG_BYTES => Ok(Value::B(reader.bytes()?.to_vec())),
        tag => read_rare_value(tag, reader, depth),
    }
}

fn read_rare_value(tag: u8, reader: &mut Reader<'_>, depth: usize) -> Result<Value, Malformed> {
    if depth > DEPTH_MAX {
        return Err(Malformed("values are nested too deeply"));
    }
    Ok(match tag {
        TAG_NUMBER => Value::N(read_number(reader)?),
        TAG_FALSE => Value::Bool(false),
        TAG_TRUE => Value::Bool(true),
        TAG_NULL => Value::Null,
        TAG_LIST => {
            let count = reader.count()?;
            Value::L((0..count).map(|_| read_value(reader, depth + 1)).collect::<Result<_, _>>()?)
        }
        TAG_MAP => Value::M(read_map(reader, depth + 1)?),
        TAG_TEXT_SET => Value::Ss(read_set(reader, |reader| Ok(reader.text()?.to_owned()))?),
        TAG_NUMBER_SET => Value::Ns(read_set(reader, read_number)?),
        TAG_BYTES_SET => Value::Bs(read_set(reader, |reader| Ok(reader.bytes()?.to_vec()))?),
        _ => return Err(Malformed("a value has an unknown type")),
    })
}

fn read_map(reader: &mut Reader<'_>, depth: usize) -> Result<Item, Malformed> {
    let count = reader.count()?;
    let mut members = Vec::with_capacity(count);
    for _ in 0..count {
        members.push((Name::from(reader.text()?), read_value(reader, depth)?));
    }
    Item::from_sorted(members).ok_or(Malformed("members are out of order"))
}

fn read_set<'a, T: Ord>(
    reader: &mut Reader<'a>,
    mut read: impl FnMut(&mut Reader<'a>) -> Result<T, Malformed>,
) -> Result<BTreeSet<T>, Malformed> {
    let count = reader.count()?;
    (0..count).map(|_| read(reader)).collect()
}

fn read_number(reader: &mut Reader<'_>) -> Result<Number, Malformed> {
    let exponent =
        i16::try_from(reader.signed()?).map_err(|_| Malformed("a number is malformed"))?;
    Number::from_parts(reader.signed()?, exponent).map_err(|_| Malformed("a number is malformed"))
}
