//! The image that a write returns.

use keyloom_store::{OnFailure, Returns};
use keyloom_value::Item;

use crate::json::Writer;
use crate::wire::{Fault, write_item};

use super::params::Params;

/// Reads `ReturnValues`, which has passed its constraints.
pub(super) fn returns(params: &Params<'_>) -> Result<Returns, Fault> {
    Ok(match params.text("ReturnValues")? {
        Some("ALL_OLD") => Returns::AllOld,
        Some("UPDATED_OLD") => Returns::UpdatedOld,
        Some("ALL_NEW") => Returns::AllNew,
        Some("UPDATED_NEW") => Returns::UpdatedNew,
        _ => Returns::Nothing,
    })
}

/// Reads `ReturnValues` of a put or delete, which can only return the old image.
pub(super) fn returns_old(params: &Params<'_>) -> Result<Returns, Fault> {
    match returns(params)? {
        returns @ (Returns::Nothing | Returns::AllOld) => Ok(returns),
        Returns::UpdatedOld | Returns::AllNew | Returns::UpdatedNew => {
            Err(Fault::validation("ReturnValues can only be ALL_OLD or NONE"))
        }
    }
}

/// Reads `ReturnValuesOnConditionCheckFailure`.
pub(super) fn on_failure(params: &Params<'_>) -> Result<OnFailure, Fault> {
    Ok(match params.text("ReturnValuesOnConditionCheckFailure")? {
        Some("ALL_OLD") => OnFailure::ReturnItem,
        _ => OnFailure::Nothing,
    })
}

/// Writes `Attributes`, if there is an image.
pub(super) fn write_attributes(w: &mut Writer, image: Option<&Item>) {
    if let Some(image) = image {
        write_item(w.name("Attributes"), image);
    }
}
