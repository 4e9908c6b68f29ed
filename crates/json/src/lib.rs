//! JSON text (RFC 8259), read token by token, within limits that hold before anything is built.
//!
//! [`Reader`] returns [`Token`]s, from which its caller builds what it needs. Numbers stay text,
//! names may repeat (the caller decides what that means), and every error has an offset.
//! [`write_text`] writes strings.
//!
//! ```
//! use keyloom_json::{Limits, Reader, Token};
//!
//! let mut reader = Reader::new(r#"{"price": 1.50}"#, Limits { depth: 32, values: 1000 });
//! assert_eq!(reader.value("a value")?, Token::Object);
//! assert_eq!(reader.next_member()?.as_deref(), Some("price"));
//! reader.colon()?;
//! assert_eq!(reader.value("a value")?, Token::Number("1.50"));
//! assert_eq!(reader.next_member()?, None);
//! reader.end()?;
//! # Ok::<(), keyloom_json::JsonError>(())
//! ```
//!
//! # Trade-offs
//!
//! Most JSON parsers convert numbers to floats, let the last of two equal names win, and have fixed
//! error messages. This one does less: it allocates only for strings with escapes.

mod error;
mod plain;
mod reader;
mod write;

pub use error::{JsonError, JsonFault};
pub use reader::{Limits, Reader, Token};
pub use write::write_text;
