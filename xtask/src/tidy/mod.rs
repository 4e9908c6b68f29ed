//! Style checks: what a reviewer should never have to say twice.
//!
//! A rule is a function from the [`Workspace`] to [`Finding`]s, in a file named for what it checks,
//! with samples that prove it fires. Rules read text, not a syntax tree: rustfmt formats the code,
//! and [`RustSource`] blanks comments and literals, which makes the checks exact.

mod calls;
mod documents;
mod examples;
mod files;
mod finding;
mod functions;
mod layers;
mod lengths;
mod links;
mod manifest;
mod pictures;
mod ratchet;
mod run;
mod rust_source;
mod surface;
mod text_file;
mod words;
mod workspace;

use finding::Finding;
use manifest::Manifest;
use ratchet::Ratchet;
pub(crate) use run::{check, run};
use rust_source::RustSource;
use text_file::TextFile;
use workspace::{Role, RustFile, Workspace};
