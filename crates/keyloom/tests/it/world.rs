//! Random models and histories, and a database that is obviously right to compare with.

mod building;
mod counts;
mod document;
mod draw;
mod emptied;
mod evolve;
mod filters;
mod laws;
mod lists;
mod naive;
mod play;
mod readable;
mod request;
pub(crate) mod rows;

pub(crate) use document::Document;
pub(crate) use draw::Draw;
pub(crate) use naive::{Key, Naive, Thing};
pub(crate) use play::{Depth, Marks, World, open};
pub(crate) use readable::Readable;
pub(crate) use request::{Action, Kind, Request, kind_of};
