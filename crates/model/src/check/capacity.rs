//! Checks that an entity fits the limits of a store: rows of a transaction, indexes of a table.

use crate::declared::DeclaredEntity;
use crate::error::{Code, Report, Reporter};
use crate::layout::{ROWS_MAX, SLOTS_MAX, rows_max, slots_needed};
use crate::model::Entity;

pub(crate) fn check_capacity(
    declared: &DeclaredEntity,
    entity: &Entity,
    reporter: &mut Reporter<'_>,
) {
    let name = &declared.name;
    let rows = rows_max(entity);
    if rows > ROWS_MAX {
        let reason = format!("one write to `{}` could touch {rows} rows", name.text);
        let help = format!(
            "a transaction has at most {ROWS_MAX}; each unique takes 2, each reference or parent 3, \
             a list of references as many as it can hold, \
             the entity itself 1, a count 2 and twice as many for each field of `split` and for windows, \
             as many again for each field of `min` and `max`, a board 22 to 44: declare fewer of them"
        );
        reporter.push(Report::new(Code::TooManyRows, name.span, reason).help(help));
    }
    let slots = slots_needed(entity);
    if slots > SLOTS_MAX {
        let reason = format!("the lists of `{}` need {slots} indexes", name.text);
        let help = format!(
            "a table has at most {SLOTS_MAX}, and 20 on DynamoDB; each list takes 1, or 2 with `facets`; each board with `rank`, \
             `expires`, and tags and facets together take 1: declare fewer of them"
        );
        reporter.push(Report::new(Code::TooManyIndexes, name.span, reason).help(help));
    }
}
