//! Random models: small ones that use every feature of the language and are valid, documents and
//! patches of their entities, and edits of them that are known to be allowed or refused.
//!
//! A [`Draft`] is a model file as data: it can be changed and then written. Names come from a small
//! pool, so that fields, entities and lists share them. Documents can be created for every entity
//! of a draft in order: a required reference targets an entity drafted before.

mod declaration;
mod document;
mod draft;
mod edit;
mod entity;
mod field;
mod shrink;
mod strategy;
mod text;

pub use document::{Patch, document, given_id, patch};
pub use draft::{
    Draft, DraftBoard, DraftCombination, DraftCount, DraftEntity, DraftField, DraftFormat,
    DraftHandler, DraftList, DraftParent, DraftRanking, DraftSequence, DraftTest, DraftType,
    DraftUnique,
};
pub use edit::{Edit, EditKind, Verdict};
pub use entity::draft;
pub use strategy::drafts;
