//! What a filter says about the facets of a list, as prefixes of index keys by facet: one for each
//! combination of values that can pass.

use keyloom_model::{
    Entity, FacetKeys, Field, FieldId, FieldType, FilterIndex, Presence, Slot, Unreadable,
    attribute,
};
use keyloom_store::Direction;
use keyloom_value::{KeyBytes, Name, Value};

use crate::error::unreadable;
use crate::partition::{MergedRequest, Partition};
use crate::span::Span;
use crate::{Error, Filter, ListRequest, ReadCost, Reader};

/// How many combinations are read side by side, at most; those of each shard count.
const COMBINATIONS_MAX: usize = 256;
/// A facet that the filter does not name has its values enumerated if it can have at most this many;
/// otherwise those that exist are looked up.
const VALUES_MAX: u64 = 16;

/// The combinations of a list's facets that can pass a filter.
#[derive(Clone, Debug)]
pub(crate) struct Facets {
    slot: Slot,
    /// The partition of each shard.
    shards: Vec<KeyBytes>,
    /// For each facet of the list, the key parts that can pass; none if any value can.
    parts: Vec<Option<Vec<KeyBytes>>>,
    /// Whether everything that has such a combination passes.
    pub(crate) is_all: bool,
}

/// The prefix of the index keys of one combination.
pub(crate) type Prefix = Vec<u8>;

impl Facets {
    /// None if the filter names no value of a facet, or the list does not have the index keys by facet of all entities.
    pub(crate) fn of(reader: &Reader<'_>, request: &ListRequest) -> Option<Facets> {
        let (of, layout) = ((request.entity, request.list), reader.layout);
        if !layout.is_built(request.entity, FilterIndex::FacetKeys(request.list)) {
            return None;
        }
        let slot = layout.facets().slot(request.entity, request.list)?;
        let partition = layout.facets().partition(of, request.tenant.as_ref(), &request.by).ok()?;
        let shards = layout.lists().shards(of, &partition).ok()?;
        let entity = layout.model().entity(request.entity);
        let mut said = Said { entity, values: vec![], is_all: true };
        said.take(request.filter.as_ref()?);
        if said.values.is_empty() {
            return None;
        }
        let named = said.values.iter().flat_map(|(_, values)| values).flatten();
        let is_exact = named.into_iter().all(FacetKeys::is_exact);
        let part = |field: FieldId, value: &Option<Value>| {
            layout.facets().part(request.entity, field, value.as_ref())
        };
        let parts = |field: &FieldId| {
            let named = said.values.iter().find(|(other, _)| other == field);
            let values = named.map(|(_, values)| values.clone());
            let values = values.or_else(|| all_values(entity.field(*field)))?;
            let mut parts: Vec<KeyBytes> = values.iter().map(|value| part(*field, value)).collect();
            // Long values with the same beginning share a key part.
            parts.sort();
            parts.dedup();
            Some(parts)
        };
        Some(Facets {
            slot,
            shards,
            parts: entity.list(request.list).facets.iter().map(parts).collect(),
            is_all: said.is_all && is_exact,
        })
    }

    /// How many combinations can be read side by side.
    pub(crate) fn combinations_max(&self) -> usize {
        COMBINATIONS_MAX / self.shards.len().max(1)
    }

    /// The number of combinations, if it is known without reading.
    pub(crate) fn known_count(&self) -> Option<usize> {
        let mut counts = self.parts.iter().map(|parts| parts.as_ref().map(Vec::len));
        counts.try_fold(1_usize, |product, count| Some(product.saturating_mul(count?)))
    }

    /// The number of facets that an index key begins with.
    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    /// The partitions of the list's index keys by facet, one for each shard.
    pub(crate) fn partitions(&self) -> Result<Vec<Partition<'_>>, Error> {
        Partition::all_of_slot(self.slot, &self.shards)
    }

    /// The name of their sort attribute.
    pub(crate) fn sort(&self) -> Name {
        self.slot.sort()
    }

    /// The number of shards.
    pub(crate) fn shards(&self) -> usize {
        self.shards.len()
    }

    /// Returns all combinations, or none if there are too many. The values of a facet that can have any
    /// are looked up, with one read for each.
    pub(crate) async fn prefixes(
        &self,
        reader: &Reader<'_>,
        cost: &mut ReadCost,
    ) -> Result<Option<Vec<Prefix>>, Error> {
        let mut prefixes = vec![Prefix::new()];
        for parts in &self.parts {
            let mut longer = vec![];
            for prefix in prefixes {
                let longer_by = |part: &KeyBytes| [&prefix, part.as_bytes()].concat();
                match parts {
                    Some(parts) => longer.extend(parts.iter().map(longer_by)),
                    None => longer.extend(self.find_longer(reader, &prefix, cost).await?),
                }
                if longer.len() > self.combinations_max() {
                    return Ok(None);
                }
            }
            prefixes = longer;
        }
        Ok(Some(prefixes))
    }

    /// The prefixes that exist and are longer than one by a part: one more than can be read side by
    /// side at most.
    async fn find_longer(
        &self,
        reader: &Reader<'_>,
        prefix: &[u8],
        cost: &mut ReadCost,
    ) -> Result<Vec<Prefix>, Error> {
        let (partitions, name) = (&self.partitions()?, self.sort());
        let (direction, limit) = (Direction::Forward, 1);
        let (mut span, mut found) = (Span::within(prefix), vec![]);
        while found.len() <= self.combinations_max() {
            let request = MergedRequest { partitions, span: &span, direction, limit };
            let page = request.read(reader.rows(), cost).await?;
            let Some(row) = page.items.first() else { break };
            let wrong = || unreadable(row, Unreadable { attribute: attribute::SORT });
            let sort = row.get(name.as_str()).and_then(Value::as_b).ok_or_else(wrong)?;
            let rest = sort.get(prefix.len()..).ok_or_else(wrong)?;
            let after = KeyBytes::skip_part(rest).map_err(|_| wrong())?;
            let longer = sort[..sort.len() - after.len()].to_vec();
            let Some(next) = KeyBytes::after_prefix(&longer) else { break };
            span = Span { from: Some(next), ..span };
            found.push(longer);
        }
        Ok(found)
    }
}

/// What a filter says about single facets.
struct Said<'e> {
    entity: &'e Entity,
    /// Which values of a facet can pass; that it is absent is one.
    values: Vec<(FieldId, Vec<Option<Value>>)>,
    /// Whether that is all it says.
    is_all: bool,
}

impl Said<'_> {
    fn take(&mut self, filter: &Filter) {
        match filter {
            Filter::All(filters) => filters.iter().for_each(|filter| self.take(filter)),
            filter => match self.of_one_facet(filter) {
                Some((field, values)) => self.narrow(field, values),
                None => self.is_all = false,
            },
        }
    }

    /// The values of one facet that pass a filter, if it is about one facet alone.
    fn of_one_facet(&self, filter: &Filter) -> Option<(FieldId, Vec<Option<Value>>)> {
        match filter {
            Filter::Facet { field, value } => Some((*field, vec![Some(value.clone())])),
            Filter::Any(filters) => {
                let each = filters.iter().map(|filter| self.of_one_facet(filter));
                let each: Vec<(FieldId, Vec<Option<Value>>)> = each.collect::<Option<_>>()?;
                let (field, _) = each.first()?;
                let is_same = each.iter().all(|(other, _)| other == field);
                is_same.then(|| (*field, each.iter().flat_map(|(_, of)| of.clone()).collect()))
            }
            Filter::Not(filter) => {
                let (field, not) = self.of_one_facet(filter)?;
                let all = all_values(self.entity.field(field))?;
                Some((field, all.into_iter().filter(|value| !not.contains(value)).collect()))
            }
            Filter::All(_)
            | Filter::Range { .. }
            | Filter::Present { .. }
            | Filter::Term { .. }
            | Filter::Tag { .. }
            | Filter::TagKey { .. } => None,
        }
    }

    fn narrow(&mut self, field: FieldId, values: Vec<Option<Value>>) {
        match self.values.iter_mut().find(|(other, _)| *other == field) {
            Some((_, there)) => there.retain(|value| values.contains(value)),
            None => self.values.push((field, values)),
        }
    }
}

/// Every value that a field can have, if they are few; that it is absent is one.
fn all_values(field: &Field) -> Option<Vec<Option<Value>>> {
    let mut values: Vec<Option<Value>> = match &field.of {
        FieldType::Bool => [false, true].map(|truth| Some(Value::Bool(truth))).to_vec(),
        FieldType::Enum(members) => {
            members.iter().map(|member| Some(Value::from(member.as_str()))).collect()
        }
        FieldType::Int(limits) => {
            let (low, high) = limits.low.zip(limits.high)?;
            let is_few = high.abs_diff(low) < VALUES_MAX;
            is_few.then(|| (low..=high).map(|value| Some(Value::from(value))).collect())?
        }
        _ => return None,
    };
    if field.presence != Presence::Required {
        values.push(None);
    }
    (values.len() as u64 <= VALUES_MAX).then_some(values)
}
