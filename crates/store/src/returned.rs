//! Which image a write returns.

use keyloom_value::{Item, Projection, Update};

use crate::Returns;

impl Returns {
    /// The image that a put or delete returns.
    pub(crate) fn of_replacing(self, old: Option<&Item>) -> Option<Item> {
        match self {
            Returns::AllOld => old.cloned(),
            Returns::Nothing | Returns::UpdatedOld | Returns::AllNew | Returns::UpdatedNew => None,
        }
    }

    /// The image that an update returns. What it touched are the paths it wrote or removed; none of
    /// them being there is the same as nothing to return. The update has passed its check, so its
    /// paths do not overlap.
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
