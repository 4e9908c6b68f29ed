//! Whether one entity is among those that a list request selects, decided by its own row alone.

use keyloom_model::Image;
use keyloom_store::Direction;

use crate::list_part::ListPart;
use crate::{Error, ListRequest, Reader};

/// A list request, and an entity in terms of the current model.
pub(crate) struct Listed<'q> {
    pub(crate) reader: &'q Reader<'q>,
    pub(crate) request: &'q ListRequest,
}

impl Listed<'_> {
    /// Whether the request selects an entity: in its part of the list, within its range, and past its
    /// filter. The row that the entity implies decides, as on pages.
    pub(crate) fn has(&self, image: &Image) -> Result<bool, Error> {
        let Listed { reader, request } = *self;
        let (layout, of) = (reader.layout, (request.entity, request.list));
        let partition = request.partition(layout)?;
        let span = request.range.span(layout, request.entity, request.list)?;
        // What does not fit into a key has no entities.
        let shards = partition.and_then(|partition| layout.lists().shards(of, &partition).ok());
        let Some(shards) = shards else { return Ok(false) };
        let slot = layout.lists().slot(request.entity, request.list);
        let part = ListPart::new(slot, &shards, (span, Direction::Forward))?;
        let own_key = layout.own_key(&image.key);
        let rows = layout.rows(image).unwrap_or_default();
        let Some(own) = rows.iter().find(|row| row.key == own_key) else { return Ok(false) };
        // An entity that is not in the list has no position in it.
        let Ok(position) = part.position(&own.item) else { return Ok(false) };
        let entity = layout.model().entity(request.entity);
        let passes = request.filter.as_ref().is_none_or(|filter| filter.holds(entity, image));
        Ok(passes && part.span.has(position) && part.has(&own.item, position))
    }
}
