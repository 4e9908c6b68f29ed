//! The image that a write returns.

use keyloom_value::{Item, Projection, Update};

use crate::Returns;

impl Returns {
    /// Returns the image for a put or delete.
    pub(crate) fn of_replacing(self, old: Option<&Item>) -> Option<Item> {
        match self {
            Returns::AllOld => old.cloned(),
            Returns::Nothing | Returns::UpdatedOld | Returns::AllNew | Returns::UpdatedNew => None,
        }
    }

    /// Whether the image for an update depends on what the update names.
    pub(crate) fn is_of_named(self) -> bool {
        match self {
            Returns::UpdatedOld | Returns::UpdatedNew => true,
            Returns::Nothing | Returns::AllOld | Returns::AllNew => false,
        }
    }

    /// Returns the image for an update. The updated attributes are the paths it wrote or removed;
    /// `None` if none of them exists. The update has passed its check, so its paths do not overlap.
    pub fn of_update(self, update: &Update, old: Option<&Item>, new: &Item) -> Option<Item> {
        let touched = |image: &Item| {
            let projection = Projection::new(update.paths().cloned().collect()).ok()?;
            Some(projection.apply(image)).filter(|parts| !parts.is_empty())
        };
        match self {
            Returns::Nothing => None,
            Returns::AllOld => old.cloned(),
            Returns::UpdatedOld => old.and_then(touched),
            Returns::AllNew => Some(new.clone()),
            Returns::UpdatedNew => touched(new),
        }
    }
}
