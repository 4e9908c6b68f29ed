//! JSON text (RFC 8259), read token by token, within limits that hold before anything is built.
//!
//! [`Reader`] hands out [`Token`]s; its caller builds of them what it needs. Numbers stay as they
//! are written, names may repeat (the caller decides what that means), and every error has its
//! offset. [`write_text`] is the way back for texts.
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
//! The usual readers build trees of floats, let the last of two names win, and say what is wrong in
//! words of their own. This one does less: it never allocates but for texts with escapes.

mod error;
mod reader;
mod write;

pub use error::{JsonError, JsonFault};
pub use reader::{Limits, Reader, Token};
pub use write::write_text;
