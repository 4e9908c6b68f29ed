//! Whether one entity is among those that a list request selects, decided by its own row alone.

use keyloom_model::{Image, Layout};
use keyloom_store::Direction;
use keyloom_value::Item;

use crate::list_part::ListPart;
use crate::{Error, ListRequest};

/// A list request, and an entity in terms of the current model.
pub(crate) struct Listed<'q> {
    pub(crate) layout: &'q Layout,
    pub(crate) request: &'q ListRequest,
}

impl Listed<'_> {
    /// Whether the request selects an entity. The row that the entity implies decides, as on pages.
    pub(crate) fn has(&self, image: &Image) -> Result<bool, Error> {
        let rows = self.layout.rows(image).unwrap_or_default();
        let Some(own) = rows.first() else { return Ok(false) };
        Ok(self.position(image, &own.item)?.is_some())
    }

    /// The position of an entity in the list, by its own row, if the request selects it: in its part of
    /// the list, within its range, and past its filter.
    pub(crate) fn position(&self, image: &Image, own: &Item) -> Result<Option<Vec<u8>>, Error> {
        let Listed { layout, request } = *self;
        let of = (request.entity, request.list);
        let partition = request.partition(layout)?;
        let span = request.range.span(layout, request.entity, request.list)?;
        // What does not fit into a key has no entities.
        let shards = partition.and_then(|partition| layout.lists().shards(of, &partition).ok());
        let Some(shards) = shards else { return Ok(None) };
        let slot = layout.lists().slot(request.entity, request.list);
        let part = ListPart::new(slot, &shards, span, Direction::Forward)?;
        // An entity that is not in the list has no position in it.
        let Ok(position) = part.position(own) else { return Ok(None) };
        if !part.span.has(position) || !part.has(own, position) {
            return Ok(None);
        }
        let entity = layout.model().entity(request.entity);
        let passes = request.filter.as_ref().is_none_or(|filter| filter.holds(entity, image));
        Ok(passes.then(|| position.to_vec()))
    }
}
