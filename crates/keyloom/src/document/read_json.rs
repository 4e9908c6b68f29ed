//! JSON text → an item: keeps every digit of a number, and refuses duplicate names.

use keyloom_json::{JsonError, JsonFault, Limits, Reader, Token};
use keyloom_value::{Item, Name, Value};

use super::DEPTH_MAX;
use super::error::{DocumentError, Fault, Position};

/// The number of values that any text may have. Every value of an entity takes at least one byte of
/// its 320 KiB (a list takes one for each element), so no entity has more.
const VALUES_MAX: usize = 320 * 1024;

/// Bytes per value of a longer text, which contains several documents. With [`VALUES_MAX`], this bounds
/// memory: a text takes at most 17 times its size or 42 MB (`server/tests/it/json_memory.rs`).
const VALUE_BYTES_MIN: usize = 8;

/// Parses a JSON object exactly. O(n log n) in its length at most, and O(n) if names are in order.
///
/// ```
/// use keyloom::{item_to_json, json_to_item};
///
/// let item = json_to_item(br#"{ "price": 0.1, "id": 12345678901234567890 }"#)?;
/// assert_eq!(item_to_json(&item), r#"{"id":12345678901234567890,"price":0.1}"#);
/// # Ok::<(), keyloom::DocumentError>(())
/// ```
///
/// # Errors
///
/// If the bytes are not UTF-8 or not one JSON object, if a name is twice in one object, if
/// something is nested more than 32 deep, if there are more than 327,680 values and more than one
/// for every 8 bytes, or if a number has more than 38 digits or is out of range. The error has the
/// line and column, and the path where there is one.
pub fn json_to_item(json: &[u8]) -> Result<Item, DocumentError> {
    let text = std::str::from_utf8(json).map_err(|error| {
        let position = Position::of(json, error.valid_up_to());
        DocumentError::new(Fault::NotUtf8).at(position)
    })?;
    object(text, limits(text, DEPTH_MAX))
}

/// Parses a JSON object that Keyloom wrote, with entities that were accepted before.
pub(crate) fn own_json_to_item(text: &str) -> Result<Item, DocumentError> {
    object(text, Limits { depth: DEPTH_MAX + 1, values: text.len() })
}

fn object(text: &str, limits: Limits) -> Result<Item, DocumentError> {
    match document(text, limits, "an object")? {
        Value::M(item) => Ok(item),
        _ => Err(DocumentError::new(Fault::NotAnObject).at(Position::of(text.as_bytes(), 0))),
    }
}

/// Parses a JSON value that is nested in this many lists and maps.
pub(super) fn json_to_value(text: &str, around: usize) -> Result<Value, DocumentError> {
    document(text, limits(text, DEPTH_MAX.saturating_sub(around)), "a value")
}

fn limits(text: &str, depth: usize) -> Limits {
    Limits { depth, values: VALUES_MAX.max(text.len() / VALUE_BYTES_MIN) }
}

fn document(text: &str, limits: Limits, what: &'static str) -> Result<Value, DocumentError> {
    let mut builder = Builder { text, reader: Reader::new(text, limits) };
    let value = builder.value(what)?;
    builder.reader.end().map_err(|error| builder.wrong(error))?;
    Ok(value)
}

struct Builder<'a> {
    text: &'a str,
    reader: Reader<'a>,
}

impl Builder<'_> {
    fn value(&mut self, what: &'static str) -> Result<Value, DocumentError> {
        let start = self.reader.next_offset();
        let token = self.reader.value(what).map_err(|error| self.wrong(error))?;
        Ok(match token {
            Token::Null => Value::Null,
            Token::Bool(truth) => Value::Bool(truth),
            Token::Number(digits) => {
                let number = digits.parse();
                Value::N(number.map_err(|error| self.error_at(start, Fault::Number(error)))?)
            }
            Token::Text(text) => Value::S(text.into_owned()),
            Token::List => Value::L(self.list()?),
            Token::Object => Value::M(self.object(start)?),
        })
    }

    fn list(&mut self) -> Result<Vec<Value>, DocumentError> {
        let mut elements = vec![];
        while self.reader.next_element().map_err(|error| self.wrong(error))? {
            let index = elements.len();
            elements.push(self.value("a value").map_err(|error| error.in_element(index))?);
        }
        Ok(elements)
    }

    /// Parses the object that starts here.
    fn object(&mut self, start: usize) -> Result<Item, DocumentError> {
        let mut members = vec![];
        while let Some(name) = self.reader.next_member().map_err(|error| self.wrong(error))? {
            let name = Name::from(&*name);
            let value = self.member().map_err(|error| error.in_member(&name))?;
            members.push((name, value));
        }
        members.sort_by(|(left, _), (right, _)| left.cmp(right));
        let twice = members.windows(2).find(|pair| pair[0].0 == pair[1].0);
        if let Some(pair) = twice {
            let name = pair[0].0.as_str().to_owned();
            return Err(self.error_at(start, Fault::Twice { name }));
        }
        // A vector starts with room for four, more than many small objects need.
        members.shrink_to_fit();
        Ok(members.into_iter().collect())
    }

    fn member(&mut self) -> Result<Value, DocumentError> {
        self.reader.colon().map_err(|error| self.wrong(error))?;
        self.value("a value")
    }

    fn wrong(&self, error: JsonError) -> DocumentError {
        let fault = match error.fault {
            // The limit of a part is lower than that of the document, which is reported.
            JsonFault::TooDeep { .. } => Fault::TooDeep,
            fault => Fault::Json(fault),
        };
        self.error_at(error.offset, fault)
    }

    fn error_at(&self, offset: usize, fault: Fault) -> DocumentError {
        DocumentError::new(fault).at(Position::of(self.text.as_bytes(), offset))
    }
}
