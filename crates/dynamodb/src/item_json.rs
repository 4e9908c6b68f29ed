//! Items as DynamoDB's JSON, for files: every value with its type, as in requests and responses.

use keyloom_value::Item;

use crate::json::{Writer, parse};
use crate::wire::{DecodeError, item, write_item};

/// Writes an item as DynamoDB's JSON, in one line.
pub fn item_to_json(from: &Item) -> String {
    let mut writer = Writer::new();
    write_item(&mut writer, from);
    writer.finish()
}

/// Reads an item from DynamoDB's JSON.
///
/// # Errors
///
/// If the text is not such an item: why not.
pub fn item_from_json(text: &str) -> Result<Item, String> {
    let json = parse(text).ok_or("it is not JSON")?;
    item(&json).map_err(|error| match error {
        DecodeError::Shape(why) | DecodeError::Rule(why) => why,
    })
}
