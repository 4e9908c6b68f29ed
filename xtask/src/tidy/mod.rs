//! The style budgets, as checks that fail: what a reviewer should never have to say twice.
//!
//! A rule is a function from the [`Workspace`] to [`Finding`]s; each lives in a file named for
//! what it watches, with samples that prove it fires. Rules read text, not a syntax tree: the
//! code is formatted by rustfmt, and [`RustSource`] blanks comments and literals, which is
//! enough to be exact about what they ask.

mod calls;
mod documents;
mod files;
mod finding;
mod functions;
mod layers;
mod lengths;
mod manifest;
mod pictures;
mod ratchet;
mod run;
mod rust_source;
mod surface;
mod words;
mod workspace;

use finding::Finding;
use manifest::Manifest;
use ratchet::Ratchet;
pub(crate) use run::{check, run};
use rust_source::RustSource;
use workspace::{Role, RustFile, TextFile, Workspace};
