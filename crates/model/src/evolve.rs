//! Changes of a model: whether data written under the old one can be kept under the new one.
//!
//! Declarations are compared by name, entities and fields by their names in rows, and uniques by definition; the
//! order of the file does not matter. This is a pure comparison: it neither reads nor changes data.

mod change;
mod entity;
mod enumerate;
mod field;
mod field_pair;
mod findings;
mod format;
mod pattern;
mod query;
mod refusal;
mod side;
mod types;
mod unique;

pub use change::{Change, ChangeKind, Evolution, Impact};
pub use refusal::Refusal;

use crate::model::Model;
use findings::Findings;
use side::{Pair, Side};

/// Compares the model that data was written under with a new one, and returns what must be done to
/// the data. The cost is O(n²) in the declarations of one entity, which are few.
///
/// # Errors
///
/// Every reason why the data cannot be kept: changes that would remove data, or that stored data
/// may violate, are refused.
pub fn evolve(old: &Model, new: &Model) -> Result<Evolution, Vec<Refusal>> {
    let new = &new.clone().following(old);
    let mut findings = Findings::default();
    entity::compare_presence(old, new, &mut findings);
    for (id, entity) in new.entities() {
        let Some(before) = old.find_stored(&entity.stored) else { continue };
        let pair = Pair { old: Side::new(old, before), new: Side::new(new, id), id };
        entity::compare(&pair, &mut findings);
        field::compare(&pair, &mut findings);
        format::compare(&pair, &mut findings);
        pattern::compare(&pair, &mut findings);
        unique::compare(&pair, &mut findings);
        query::compare(&pair, &mut findings);
    }
    if findings.refusals.is_empty() {
        Ok(Evolution::new(findings.changes, new))
    } else {
        Err(findings.refusals)
    }
}
