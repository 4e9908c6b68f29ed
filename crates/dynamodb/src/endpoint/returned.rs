//! Which image a write returns, read from its parameters and made from two images.

use keyloom_store::{OnFailure, Returns};
use keyloom_value::{Item, Projection, Update};

use crate::json::Writer;
use crate::wire::{Fault, write_item};

use super::params::Params;

/// The parameter `ReturnValues`, which has passed its constraints.
pub(super) fn returns(params: &Params<'_>) -> Result<Returns, Fault> {
    Ok(match params.text("ReturnValues")? {
        Some("ALL_OLD") => Returns::AllOld,
        Some("UPDATED_OLD") => Returns::UpdatedOld,
        Some("ALL_NEW") => Returns::AllNew,
        Some("UPDATED_NEW") => Returns::UpdatedNew,
        _ => Returns::Nothing,
    })
}

/// The same for a put or delete, which have no new image to return.
pub(super) fn returns_old(params: &Params<'_>) -> Result<Returns, Fault> {
    match returns(params)? {
        returns @ (Returns::Nothing | Returns::AllOld) => Ok(returns),
        Returns::UpdatedOld | Returns::AllNew | Returns::UpdatedNew => {
            Err(Fault::validation("ReturnValues can only be ALL_OLD or NONE"))
        }
    }
}

/// The parameter `ReturnValuesOnConditionCheckFailure`.
pub(super) fn on_failure(params: &Params<'_>) -> Result<OnFailure, Fault> {
    Ok(match params.text("ReturnValuesOnConditionCheckFailure")? {
        Some("ALL_OLD") => OnFailure::ReturnItem,
        _ => OnFailure::Nothing,
    })
}

/// The image that an update returns, given the item before and after.
pub(super) fn of_update(
    returns: Returns,
    update: &Update,
    old: Option<&Item>,
    new: &Item,
) -> Option<Item> {
    let touched = |image: &Item| {
        let projection = Projection::new(update.paths().cloned().collect()).ok()?;
        Some(projection.apply(image)).filter(|parts| !parts.is_empty())
    };
    match returns {
        Returns::Nothing => None,
        Returns::AllOld => old.cloned(),
        Returns::UpdatedOld => old.and_then(touched),
        Returns::AllNew => Some(new.clone()),
        Returns::UpdatedNew => touched(new),
    }
}

/// The member `Attributes` of an answer.
pub(super) fn write_attributes(w: &mut Writer, image: Option<&Item>) {
    if let Some(image) = image {
        write_item(w.name("Attributes"), image);
    }
}
