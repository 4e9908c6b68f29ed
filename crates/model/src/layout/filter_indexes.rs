//! Which indexes filters can read. After a change of the model, an index has the rows of earlier revisions only if each of
//! these declares it as the current one does; what is new, or declared otherwise, is built by the backfill.

use super::{Layout, Slot};
use crate::model::{EntityId, FieldId, Language, ListId, SearchId};

/// Posting lists, or index keys, that are declared together, so that they are built together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FilterIndex {
    /// The values of a facet of a list.
    Facet(ListId, FieldId),
    /// The index keys by facet of a list.
    FacetKeys(ListId),
    /// A field in `filters`.
    Field(FieldId),
    /// A search.
    Search(SearchId),
    /// The tags in a field.
    Tags(FieldId),
    /// A combination of tags, by its position among those of its entity.
    Combination(usize),
}

/// What an index contains, in the words of rows and keys, which models share. Lists are not compared: one that is
/// declared otherwise cannot be read at all.
#[derive(Debug, PartialEq, Eq)]
enum Contents<'l> {
    Facet(&'l str, &'l str),
    FacetKeys(&'l str, Vec<&'l str>, Slot),
    Field(&'l str),
    Search { name: &'l str, fields: Vec<&'l str>, language: Option<Language>, has_prefixes: bool },
    Tags(&'l str),
    Combination(&'l str, &'l [String]),
}

impl Layout {
    /// Whether an index for filters has every entity of a kind.
    pub fn is_built(&self, entity: EntityId, index: FilterIndex) -> bool {
        !self.layout_of(entity).unbuilt.contains(&index)
    }

    /// The indexes for filters that lack entities, in a fixed order.
    pub fn unbuilt(&self, entity: EntityId) -> impl Iterator<Item = FilterIndex> {
        self.layout_of(entity).unbuilt.iter().copied()
    }

    /// The same layout for a table with entities of a kind that an earlier layout has placed.
    #[must_use]
    pub fn with_earlier_filters(mut self, entity: EntityId, before: &Layout) -> Layout {
        let Some(id) = before.model().find_stored(self.stored(entity)) else { return self };
        let there = match before.matching() == self.matching() {
            true => before.filter_indexes(id),
            false => vec![],
        };
        let is_there = |contents: &Contents<'_>| there.iter().any(|(_, other)| other == contents);
        let declared = self.filter_indexes(entity).into_iter();
        let unbuilt: Vec<FilterIndex> =
            declared.filter(|(_, contents)| !is_there(contents)).map(|(index, _)| index).collect();
        if let Some(layout) = self.entities.get_mut(entity.index()) {
            layout.unbuilt.extend(unbuilt);
        }
        self
    }

    /// Every index that filters of an entity read.
    fn filter_indexes(&self, id: EntityId) -> Vec<(FilterIndex, Contents<'_>)> {
        let entity = self.model().entity(id);
        if !entity.has_ordinals() {
            return vec![];
        }
        let stored = |field: &FieldId| entity.field(*field).stored.as_str();
        let mut all = vec![];
        for (list, declared) in entity.lists() {
            let name = declared.name.as_str();
            let facets: Vec<&str> = declared.facets.iter().map(stored).collect();
            if let Some(slot) = self.facets().slot(id, list) {
                let contents = Contents::FacetKeys(name, facets.clone(), slot);
                all.push((FilterIndex::FacetKeys(list), contents));
            }
            let values = |(field, facet): (&FieldId, _)| {
                (FilterIndex::Facet(list, *field), Contents::Facet(name, facet))
            };
            all.extend(declared.facets.iter().zip(facets).map(values));
        }
        let field = |field| (FilterIndex::Field(field), Contents::Field(stored(&field)));
        all.extend(entity.filters.iter().copied().map(field));
        for (search, declared) in entity.searches() {
            let mut fields: Vec<&str> = declared.fields.iter().map(stored).collect();
            fields.sort_unstable();
            let (name, language) = (declared.name.as_str(), declared.language);
            let has_prefixes = declared.has_prefixes;
            let contents = Contents::Search { name, fields, language, has_prefixes };
            all.push((FilterIndex::Search(search), contents));
        }
        let tags = |field| (FilterIndex::Tags(field), Contents::Tags(stored(&field)));
        all.extend(entity.tag_fields().map(tags));
        for (at, combination) in entity.combinations.iter().enumerate() {
            let contents = Contents::Combination(stored(&combination.field), &combination.keys);
            all.push((FilterIndex::Combination(at), contents));
        }
        all
    }
}
