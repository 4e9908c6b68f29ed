//! Where a `SELECT` stopped, as an opaque token that is bound to its statement and parameters.
//!
//! A token holds no secret and needs no signature: it says no more than a start key does, and the
//! store checks it as one.

use std::hash::Hasher;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use keyloom_value::{Item, Value};
use twox_hash::XxHash3_64;

use crate::json::{Json, Writer, parse};
use crate::wire::{Fault, item, write_item, write_value};

/// Where a `SELECT` goes on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Position {
    /// The number of the read, from 0.
    pub(super) read: usize,
    /// The last key of that read; `None` if it has not begun.
    pub(super) start: Option<Item>,
}

/// What a token is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint(u64);

impl Fingerprint {
    pub(super) fn of(statement: &str, parameters: &[Value]) -> Fingerprint {
        let mut writer = Writer::new();
        writer.list(|w| parameters.iter().for_each(|value| write_value(w, value)));
        let mut hasher = XxHash3_64::default();
        hasher.write(statement.as_bytes());
        hasher.write(&[0]);
        hasher.write(writer.finish().as_bytes());
        Fingerprint(hasher.finish())
    }

    fn text(self) -> String {
        format!("{:016x}", self.0)
    }
}

impl Position {
    pub(super) fn token(&self, fingerprint: Fingerprint) -> String {
        let mut writer = Writer::new();
        writer.object(|w| {
            w.name("of").text(&fingerprint.text());
            w.name("read").number(self.read);
            if let Some(start) = &self.start {
                write_item(w.name("start"), start);
            }
        });
        URL_SAFE_NO_PAD.encode(writer.finish())
    }

    pub(super) fn from_token(token: &str, fingerprint: Fingerprint) -> Result<Position, Fault> {
        let invalid = || Fault::validation("Invalid NextToken");
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| invalid())?;
        let text = std::str::from_utf8(&bytes).map_err(|_| invalid())?;
        let json = parse(text).ok_or_else(invalid)?;
        let (Some(Json::Text(of)), Some(Json::Number(read))) = (json.get("of"), json.get("read"))
        else {
            return Err(invalid());
        };
        if **of != fingerprint.text() {
            return Err(Fault::validation("The provided starting key is invalid"));
        }
        let start = json.get("start").map(item).transpose().map_err(|_| invalid())?;
        Ok(Position { read: read.parse().map_err(|_| invalid())?, start })
    }
}
