//! Chooses the declared query that answers conditions on fields, such as the parameters of a URL.
//! Decides from the model alone: reads nothing, and does not know where conditions come from.

use keyloom_model::{Entity, FieldId, List, ListId, UniqueId};
use keyloom_value::Value;

/// A condition on a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The field.
    pub field: FieldId,
    /// How it compares with the value.
    pub comparison: Comparison,
    /// The value.
    pub value: Value,
}

/// How a field compares with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// It has the value. Several values of one facet mean any of them.
    Equal,
    /// It is less.
    Less,
    /// It is less or equal.
    AtMost,
    /// It is greater.
    More,
    /// It is greater or equal.
    AtLeast,
    /// It has any value; the value of the condition means nothing.
    Present,
    /// It has no value, likewise.
    Absent,
}

/// Declared queries of one entity to choose from.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<'c> {
    /// The entity.
    pub entity: &'c Entity,
    /// Some of its lists.
    pub lists: &'c [ListId],
    /// Some of its uniques.
    pub uniques: &'c [UniqueId],
}

/// The query that answers, with the role of each condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// The entity that has these values of a unique.
    Unique(Vec<(FieldId, Value)>),
    /// A list.
    List(ChosenList),
}

/// A list, and the conditions on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenList {
    /// The list.
    pub list: ListId,
    /// A value for each field of its `by`.
    pub by: Vec<(FieldId, Value)>,
    /// Conditions on the fields of its order, and on fields that every list can be filtered by.
    pub bounds: Vec<Condition>,
    /// Facets, each with the values of which an entity must have one.
    pub facets: Vec<(FieldId, Vec<Value>)>,
}

impl Candidates<'_> {
    /// The query that takes all conditions: a unique if they are exactly its fields, and otherwise a
    /// list ([`Candidates::choose_list`]). A unique takes no filter by tags.
    pub fn choose(&self, conditions: &[Condition], has_tags: bool) -> Option<Chosen> {
        let uniques = self.uniques.iter().filter(|_| !has_tags);
        let unique = uniques.filter_map(|unique| self.unique(*unique, conditions)).next();
        let list = || self.choose_list(conditions).map(Chosen::List);
        unique.map(Chosen::Unique).or_else(list)
    }

    /// The list that takes all conditions: a value for each field of its `by`, and nothing else but
    /// bounds of its order, values of its facets, and conditions on fields in `filters`. Of several, the
    /// one with the most fields in its `by`, which reads the least; then the one whose order has the
    /// most of the conditions.
    pub fn choose_list(&self, conditions: &[Condition]) -> Option<ChosenList> {
        let lists = self.lists.iter().filter_map(|list| self.list(*list, conditions));
        lists.max_by_key(|chosen| {
            let order = &self.entity.list(chosen.list).order;
            let is_ordered =
                |bound: &&Condition| order.iter().any(|order| order.field == bound.field);
            (chosen.by.len(), chosen.bounds.iter().filter(is_ordered).count())
        })
    }

    /// The values of a unique, if exactly these are given.
    fn unique(&self, id: UniqueId, conditions: &[Condition]) -> Option<Vec<(FieldId, Value)>> {
        let unique = self.entity.unique(id);
        let fields: Vec<FieldId> = unique.within.iter().chain(&unique.fields).copied().collect();
        let values = values_of(&fields, conditions)?;
        (values.len() == conditions.len()).then_some(values)
    }

    fn list(&self, id: ListId, conditions: &[Condition]) -> Option<ChosenList> {
        let List { by, order, facets, .. } = self.entity.list(id);
        let by_values = values_of(by, conditions)?;
        let position =
            |condition: &Condition| order.iter().position(|order| order.field == condition.field);
        let is_facet_value = |condition: &Condition| {
            facets.contains(&condition.field) && condition.comparison == Comparison::Equal
        };
        let rest: Vec<&Condition> =
            conditions.iter().filter(|condition| !by.contains(&condition.field)).collect();
        // A value of a field that is both is one of the facet, unless bounds of a field after it in the
        // order need it.
        let ranges = rest.iter().filter(|condition| !is_facet_value(condition));
        let last = ranges.filter_map(|condition| position(condition)).max();
        let is_needed =
            |condition: &Condition| position(condition).is_some_and(|at| Some(at) < last);
        let (values, bounds): (Vec<&Condition>, Vec<&Condition>) = rest
            .into_iter()
            .partition(|condition| is_facet_value(condition) && !is_needed(condition));
        let is_taken = |bound: &Condition| match bound.comparison {
            Comparison::Present | Comparison::Absent => self.entity.filters.contains(&bound.field),
            _ => position(bound).is_some() || self.entity.is_range_filter(bound.field),
        };
        if !bounds.iter().all(|bound| is_taken(bound)) {
            return None;
        }
        let facet = |field: &FieldId| {
            let values = values.iter().filter(|condition| condition.field == *field);
            let values: Vec<Value> = values.map(|condition| condition.value.clone()).collect();
            (!values.is_empty()).then_some((*field, values))
        };
        let facets = facets.iter().filter_map(facet).collect();
        let bounds = bounds.into_iter().cloned().collect();
        Some(ChosenList { list: id, by: by_values, bounds, facets })
    }
}

/// The values of all these fields, if each is given exactly one.
fn values_of(fields: &[FieldId], conditions: &[Condition]) -> Option<Vec<(FieldId, Value)>> {
    let value = |field: &FieldId| {
        let mut given = conditions.iter().filter(|condition| condition.field == *field);
        match (given.next(), given.next()) {
            (Some(one), None) if one.comparison == Comparison::Equal => {
                Some((*field, one.value.clone()))
            }
            _ => None,
        }
    };
    fields.iter().map(value).collect()
}
