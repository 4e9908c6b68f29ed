//! Whether everything that a request reads is built. After a change of the model, indexes for filters that are new or
//! declared otherwise lack entities until these are rewritten; the others have all of them throughout.

use keyloom_model::{EntityId, FilterIndex, Layout, ListId};

use crate::{Counted, Filter, ListRequest};

/// The list whose filters are looked at.
struct Filtered<'f> {
    layout: &'f Layout,
    entity: EntityId,
    list: ListId,
}

impl ListRequest {
    /// Whether the indexes that the filter needs have every entity.
    pub fn is_built(&self, layout: &Layout) -> bool {
        self.filter.as_ref().is_none_or(|filter| self.filtered(layout).is_built(filter))
    }

    fn filtered<'f>(&self, layout: &'f Layout) -> Filtered<'f> {
        Filtered { layout, entity: self.entity, list: self.list }
    }
}

impl Counted {
    /// Whether the posting lists of the values have every entity.
    pub fn is_built(&self, layout: &Layout, request: &ListRequest) -> bool {
        layout.is_built(
            request.entity,
            match self {
                Counted::Facet(field) => FilterIndex::Facet(request.list, *field),
                Counted::TagKeys(field, _) | Counted::TagValues(field, ..) => {
                    FilterIndex::Tags(*field)
                }
            },
        )
    }
}

impl Filtered<'_> {
    fn is_built(&self, filter: &Filter) -> bool {
        let index = match filter {
            Filter::Tag { field, .. } | Filter::TagKey { field, .. } => FilterIndex::Tags(*field),
            Filter::Facet { field, .. } => FilterIndex::Facet(self.list, *field),
            Filter::Range { field, .. } | Filter::Present { field } => FilterIndex::Field(*field),
            Filter::Term { search, .. } => FilterIndex::Search(*search),
            Filter::All(filters) | Filter::Any(filters) => {
                return filters.iter().all(|filter| self.is_built(filter));
            }
            Filter::Not(filter) => return self.is_built(filter),
        };
        self.layout.is_built(self.entity, index)
    }
}
