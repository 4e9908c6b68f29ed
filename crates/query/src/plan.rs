//! Plans a filter as a tree of query nodes: tags of a declared combination are looked up together,
//! and the list itself takes part only where the filter is not limited to it already. Pure: reads
//! nothing, so sizes are not known yet ([`Node::sized`](crate::nodes::Node::sized) adds them).

use keyloom_model::{Entity, FieldId, FilterIndex, ListId, PostingKey};
use keyloom_value::Value;

use crate::nodes::{
    Difference, Intersection, Node, NodeRef, PostingSet, Search, Sizes, SliceRange, Union,
};
use crate::posting_list::{PostingList, PostingOwner};
use crate::{Error, Filter, ListRequest, ValueRange};

/// The part of a list that a filter is about.
pub(crate) struct Scope<'s> {
    pub(crate) owner: PostingOwner<'s>,
    pub(crate) list: ListId,
    pub(crate) by: &'s [Value],
}

/// A planned filter, once the sizes of its posting lists are known.
pub(crate) struct SizedPlan {
    /// None if nothing can pass.
    pub(crate) node: Option<NodeRef>,
    /// The size of the part of the list that the filter is about.
    pub(crate) list_size: u64,
}

/// Filters that must hold together: what must match, and what must not.
struct Conjuncts {
    matched: Vec<NodeRef>,
    excluded: Vec<NodeRef>,
}

impl<'s> Scope<'s> {
    /// The part of a list that a request is about.
    pub(crate) fn of(search: &Search<'s>, request: &'s ListRequest) -> Scope<'s> {
        Scope {
            owner: PostingOwner::of(search.reader, request),
            list: request.list,
            by: &request.by,
        }
    }

    /// Everything in the list that passes the filter. None if nothing can.
    pub(crate) fn plan(&self, filter: Option<&Filter>) -> Option<NodeRef> {
        let list = self.list()?;
        let Some(filter) = filter else { return Some(read(list)) };
        let mut conjuncts = self.conjuncts(filter)?;
        // Facets are of this part of the list, and a list of all has every entity.
        let is_all = self.owner.list(&PostingKey::All).as_ref() == Some(&list);
        if conjuncts.matched.is_empty() || !(is_all || is_within_list(filter)) {
            conjuncts.matched.push(read(list));
        }
        self.both(conjuncts)
    }

    /// The posting list of this part of the list. None if nothing can be in it.
    pub(crate) fn list(&self) -> Option<PostingList> {
        self.owner.list(&PostingKey::List(self.list, self.by))
    }

    /// The parts of a filter that must hold together. None if nothing can pass.
    fn conjuncts(&self, filter: &Filter) -> Option<Conjuncts> {
        let mut parts: Vec<&Filter> = match filter {
            Filter::All(parts) => parts.iter().collect(),
            filter => vec![filter],
        };
        let mut conjuncts = Conjuncts { matched: vec![], excluded: vec![] };
        self.combine(&mut parts, &mut conjuncts.matched);
        for part in parts {
            match part {
                Filter::Not(inner) => conjuncts.excluded.extend(self.node(inner)),
                part => conjuncts.matched.push(self.node(part)?),
            }
        }
        Some(conjuncts)
    }

    /// What passes a filter, wherever it is. None if nothing can.
    fn node(&self, filter: &Filter) -> Option<NodeRef> {
        match filter {
            Filter::Tag { field, key, value } => self.posting(&PostingKey::Tag(*field, key, value)),
            Filter::TagKey { field, key } => self.posting(&PostingKey::TagKey(*field, key)),
            Filter::Facet { field, value } => {
                self.posting(&PostingKey::Facet(self.list, self.by, *field, value))
            }
            Filter::Present { field } => self.posting(&PostingKey::Present(*field)),
            Filter::Range { field, range } => self.range(*field, range),
            Filter::Term { search, term } => self.posting(&PostingKey::Term(*search, term)),
            Filter::Any(filters) => {
                Union::of(filters.iter().filter_map(|filter| self.node(filter)).collect())
            }
            Filter::All(_) | Filter::Not(_) => self.both(self.conjuncts(filter)?),
        }
    }

    /// What has a value of a field within a range.
    fn range(&self, field: FieldId, range: &ValueRange) -> Option<NodeRef> {
        let present = self.owner.list(&PostingKey::Present(field))?;
        let bounds = range.slice_bounds();
        let slices = (0..bounds.slices()).map(|slice| PostingKey::Slice(field, slice));
        let slices = slices.map(|slice| self.owner.list(&slice)).collect::<Option<_>>()?;
        let text = format!("`{}` in {range}", self.declared().field(field).name);
        Some(SliceRange::new(present, slices, bounds, text).shared())
    }

    /// What matches everything that must match, and nothing else. If nothing must, it is taken from
    /// all entities.
    fn both(&self, conjuncts: Conjuncts) -> Option<NodeRef> {
        let Conjuncts { mut matched, excluded } = conjuncts;
        if matched.is_empty() {
            matched.push(self.posting(&PostingKey::All)?);
        }
        Some(Difference::of(Intersection::of(matched)?, excluded))
    }

    /// Replaces tags by the declared combination that has them together, once it is built.
    fn combine<'f>(&self, filters: &mut Vec<&'f Filter>, matched: &mut Vec<NodeRef>) {
        for (at, combination) in self.declared().combinations.iter().enumerate() {
            if !self.owner.layout.is_built(self.owner.entity, FilterIndex::Combination(at)) {
                continue;
            }
            let index = |wanted: &String| {
                filters.iter().position(|filter| match filter {
                    Filter::Tag { field, key, .. } => *field == combination.field && key == wanted,
                    _ => false,
                })
            };
            let indexes: Option<Vec<usize>> = combination.keys.iter().map(index).collect();
            let Some(mut indexes) = indexes else { continue };
            let value = |index: &usize| match filters[*index] {
                Filter::Tag { value, .. } => value.as_str(),
                _ => "",
            };
            let values: Vec<&'f str> = indexes.iter().map(value).collect();
            // One that does not fit into a key is not stored.
            let Some(node) = self.posting(&PostingKey::Combination(combination, &values)) else {
                continue;
            };
            matched.push(node);
            indexes.sort_unstable();
            for index in indexes.iter().rev() {
                filters.remove(*index);
            }
        }
    }

    fn posting(&self, group: &PostingKey<'_>) -> Option<NodeRef> {
        self.owner.list(group).map(read)
    }

    fn declared(&self) -> &Entity {
        self.owner.layout.model().entity(self.owner.entity)
    }
}

impl SizedPlan {
    /// Plans the filter of a request, and reads the sizes of its posting lists.
    pub(crate) async fn read(
        search: &mut Search<'_>,
        request: &ListRequest,
    ) -> Result<SizedPlan, Error> {
        let scope = Scope::of(search, request);
        let Some((list, node)) = scope.list().zip(scope.plan(request.filter.as_ref())) else {
            return Ok(SizedPlan { node: None, list_size: 0 });
        };
        let mut lists = vec![list];
        node.posting_lists(&mut lists);
        let sizes = search.sizes(&lists).await?;
        let list_size = sizes.first().copied().unwrap_or(0);
        let node = node.sized(&Sizes::new(&lists, sizes));
        lists.clear();
        node.iter().for_each(|node| node.posting_lists(&mut lists));
        search.view.combine(lists.iter().map(|list| list.name.as_bytes()));
        Ok(SizedPlan { node, list_size })
    }
}

/// The node that reads a posting list, whose size is not known yet.
fn read(list: PostingList) -> NodeRef {
    PostingSet::new(list, Sizes::UNKNOWN).shared()
}

/// Whether only entities of this part of the list pass a filter: it names a value of a facet, whose
/// posting lists are of the part.
fn is_within_list(filter: &Filter) -> bool {
    match filter {
        Filter::Facet { .. } => true,
        Filter::Range { .. }
        | Filter::Present { .. }
        | Filter::Term { .. }
        | Filter::Tag { .. }
        | Filter::TagKey { .. }
        | Filter::Not(_) => false,
        Filter::All(filters) => filters.iter().any(is_within_list),
        Filter::Any(filters) => filters.iter().all(is_within_list),
    }
}

#[cfg(test)]
mod tests {
    use keyloom_model::Layout;
    use keyloom_value::Item;

    use super::*;
    use crate::Filters;
    use crate::nodes::{Outline, Step};
    use crate::posting_list::PostingOf;

    const MODEL: &str = "
        [entity.task]
        fields.tags = \"tags\"
        fields.team = \"text\"
        tags.tags.combine = [[\"a\", \"b\"]]
        list.all = {}
        list.of_team = { by = \"team\" }
    ";

    /// Describes the plan of a filter. The size of a posting list is the value of its tag.
    fn described(list: &str, filter: impl Fn(Filters<'_>) -> Filter) -> String {
        let model = keyloom_model::check(MODEL).unwrap();
        let layout = Layout::new(model, 1, &Item::new());
        let entity = layout.model().find("task").unwrap();
        let declared = layout.model().entity(entity);
        let list = declared.find_list(list).unwrap();
        let by = [Value::from("t")];
        let owner = PostingOwner { layout: &layout, entity, tenant: None };
        let scope = Scope { owner, list, by: &by };
        let node = scope.plan(Some(&filter(Filters { entity: declared, list }))).unwrap();
        let mut lists = vec![];
        node.posting_lists(&mut lists);
        let size = |list: &PostingList| match &list.of {
            PostingOf::Tag { value, .. } => value.parse().unwrap(),
            PostingOf::Combination(pairs) => pairs.last().unwrap().1.parse().unwrap(),
            _ => 50,
        };
        let sizes = lists.iter().map(size).collect();
        match node.sized(&Sizes::new(&lists, sizes)) {
            Some(node) => drawn(declared, &node.outline()),
            None => "nothing".to_owned(),
        }
    }

    fn drawn(entity: &Entity, outline: &Outline) -> String {
        let parts: Vec<String> = outline.parts.iter().map(|part| drawn(entity, part)).collect();
        match &outline.step {
            Step::Read { list, size } => format!("{} ({size})", list.describe(entity)),
            Step::Range { text, slices } => format!("{text} by {slices} [{}]", parts.join(", ")),
            Step::Combine(of) => format!("{} [{}]", of.describe(), parts.join(", ")),
        }
    }

    /// A filter by a tag, given as `key:value`.
    fn tag(filters: Filters<'_>, tag: &str) -> Filter {
        let (key, value) = tag.split_once(':').unwrap();
        let field = filters.entity.find_field("tags").unwrap();
        filters.tag(field, key, value).unwrap()
    }

    fn all<const N: usize>(filters: Filters<'_>, parts: [Filter; N]) -> Filter {
        filters.all(parts.into()).unwrap()
    }

    #[test]
    fn intersection_starts_with_the_smallest_list() {
        let plan = described("all", |f| all(f, [tag(f, "x:9"), tag(f, "y:3")]));
        assert_eq!(plan, "in all of, the rarest first [the tag `y:3` (3), the tag `x:9` (9)]");
    }

    #[test]
    fn declared_combination_replaces_its_tags() {
        let plan = described("all", |f| all(f, [tag(f, "b:2"), tag(f, "x:1"), tag(f, "a:7")]));
        let expected = "in all of, the rarest first [the tag `x:1` (1), the declared combination \
                        `a:7` + `b:2` (2)]";
        assert_eq!(plan, expected);
    }

    #[test]
    fn empty_lists_are_not_read() {
        let both = |f: Filters<'_>| all(f, [tag(f, "x:0"), tag(f, "y:3")]);
        assert_eq!(described("all", both), "nothing");
        let either = |f: Filters<'_>| f.any(vec![tag(f, "x:0"), tag(f, "y:3")]).unwrap();
        assert_eq!(described("all", either), "the tag `y:3` (3)");
        let without = |f: Filters<'_>| all(f, [tag(f, "y:3"), tag(f, "x:0").not()]);
        assert_eq!(described("all", without), "the tag `y:3` (3)");
    }

    #[test]
    fn exclusion_alone_subtracts_from_all_entities() {
        let plan = described("all", |f| tag(f, "x:3").not());
        let expected = "in all of [every `task` (50), in none of [the tag `x:3` (3)]]";
        assert_eq!(plan, expected);
    }

    #[test]
    fn list_by_a_field_is_part_of_the_intersection() {
        let plan = described("of_team", |f| tag(f, "x:3").not().not());
        let expected = "in all of, the rarest first [the tag `x:3` (3), everything in the list \
                        `of_team` (50)]";
        assert_eq!(plan, expected);
    }
}
