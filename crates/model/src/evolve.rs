//! A changed model: what becomes of the data that was written under the old one.
//!
//! Everything is compared by its name, and uniques by what they say; the order of the file means
//! nothing. This is the pure half: it looks at no data and changes none.

mod change;
mod entity;
mod field;
mod format;
mod question;
mod refusal;
mod side;
mod types;
mod unique;

pub use change::{Change, ChangeKind, Evolution, Impact};
pub use refusal::Refusal;

use crate::model::Model;
use side::Pair;

/// What was found so far.
#[derive(Debug, Default)]
struct Findings {
    changes: Vec<Change>,
    refusals: Vec<Refusal>,
}

/// Compares the model that data was written under with one that it shall be kept under.
///
/// If the data can be kept, says what must be done to it; if not, every reason why. Removing data,
/// or what data was promised to be, is refused. The cost is O(n²) in the declarations of one entity,
/// which are few.
pub fn evolve(old: &Model, new: &Model) -> Result<Evolution, Vec<Refusal>> {
    let mut findings = Findings::default();
    entity::compare_presence(old, new, &mut findings);
    for (id, entity) in new.entities() {
        let Some(before) = old.find(&entity.name) else { continue };
        let pair = Pair::new((old, before), (new, id));
        entity::compare(&pair, &mut findings);
        field::compare(&pair, &mut findings);
        format::compare(&pair, &mut findings);
        unique::compare(&pair, &mut findings);
        question::compare(&pair, &mut findings);
    }
    if findings.refusals.is_empty() {
        Ok(Evolution::new(findings.changes, new))
    } else {
        Err(findings.refusals)
    }
}
