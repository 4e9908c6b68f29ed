//! HTML pages for people, from the same descriptions as the OpenAPI document.

mod assets;
mod guide;
mod html;
mod page;
mod request;
mod welcome;

pub(super) use assets::{SCRIPT, STYLE, WELCOME_SCRIPT};
pub use html::escape_html;
pub(super) use page::page;
pub(super) use welcome::welcome;
