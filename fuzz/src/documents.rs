//! JSON text, and the lines of an import.

use keyloom::{Entry, item_to_json, json_to_item};
use keyloom_json::{Limits, Reader, Token, write_text};

/// Accepted text is valid JSON for other parsers, round-trips, and is within the limits.
pub fn json(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        assert!(json_to_item(input).is_err(), "only UTF-8 is JSON");
        return;
    };
    let mut reader = Reader::new(text, Limits { depth: 8, values: 64 });
    let mut written = String::new();
    if let Ok(values) = rewrite(&mut reader, &mut written)
        && reader.end().is_ok()
    {
        assert!(values <= 64, "there are {values} values");
        let other =
            |text: &str| serde_json::from_str::<&serde_json::value::RawValue>(text).map(drop);
        assert!(other(text).is_ok(), "other parsers reject it");
        let mut again = String::new();
        let mut reader = Reader::new(&written, Limits { depth: 8, values: 64 });
        assert!(rewrite(&mut reader, &mut again).is_ok() && reader.end().is_ok());
        assert_eq!(written, again);
    }
    if let Ok(item) = json_to_item(input) {
        let written = item_to_json(&item);
        assert_eq!(json_to_item(written.as_bytes()).as_ref(), Ok(&item), "{written}");
    }
}

/// Copies JSON; returns the number of values.
fn rewrite(reader: &mut Reader<'_>, out: &mut String) -> Result<usize, keyloom_json::JsonError> {
    let mut values = 1;
    match reader.value("a value")? {
        Token::Null => out.push_str("null"),
        Token::Bool(boolean) => out.push_str(if boolean { "true" } else { "false" }),
        Token::Number(number) => out.push_str(number),
        Token::Text(text) => write_text(out, &text),
        Token::List => {
            out.push('[');
            let mut is_first = true;
            while reader.next_element()? {
                if !std::mem::take(&mut is_first) {
                    out.push(',');
                }
                values += rewrite(reader, out)?;
            }
            out.push(']');
        }
        Token::Object => {
            out.push('{');
            let mut is_first = true;
            while let Some(name) = reader.next_member()? {
                if !std::mem::take(&mut is_first) {
                    out.push(',');
                }
                write_text(out, &name);
                reader.colon()?;
                out.push(':');
                values += rewrite(reader, out)?;
            }
            out.push('}');
        }
    }
    Ok(values)
}

/// An accepted line of an import round-trips.
pub fn import(input: &[u8]) {
    if let Ok(entry) = Entry::from_json(input) {
        let written = entry.to_json();
        let again = Entry::from_json(written.as_bytes()).expect("what was written is read");
        assert_eq!(again, entry);
    }
}
