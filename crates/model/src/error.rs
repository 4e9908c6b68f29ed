//! Errors of model files: their codes, their messages, and how the stages collect them.

mod code;
mod excerpt;
mod model_error;
mod reporter;

pub use code::Code;
pub use model_error::{ModelError, render};
pub(crate) use reporter::{Report, Reporter};
