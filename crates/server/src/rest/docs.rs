//! The page that people read, made of the same descriptions as the one for programs.

mod guide;
mod html;
mod page;
mod request;
mod welcome;

pub use html::escape_html;
pub(super) use page::{SCRIPT, STYLE, page};
pub(super) use welcome::{WELCOME_SCRIPT, welcome};
