//! From a filter to groups that are combined: the rarest first, what is empty left out, declared
//! combinations of tags in place of single ones.

use keyloom_model::{Entity, EntityId, Group, Layout};
use keyloom_value::{KeyBytes, Value};

use crate::Filter;

/// Groups, combined. Members are numbers of entities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// Nobody.
    Nothing,
    /// Who is in a group.
    Group {
        /// Its name.
        name: KeyBytes,
        /// How many are in it, or a bound.
        size: u64,
    },
    /// Who is in all of these, the rarest first, and in none of those.
    All(Vec<Node>, Vec<Node>),
    /// Who is in any of these.
    Any(Vec<Node>),
}

/// Where the groups of a filter are.
pub(crate) struct Scope<'s> {
    pub(crate) layout: &'s Layout,
    pub(crate) entity: EntityId,
    pub(crate) tenant: Option<&'s Value>,
    pub(crate) list: keyloom_model::ListId,
    pub(crate) by: &'s [Value],
}

impl Scope<'_> {
    /// Everyone in the list who passes the filter. Sizes are not known yet.
    pub(crate) fn node(&self, filter: Option<&Filter>) -> Node {
        let list = self.group(&Group::List(self.list, self.by));
        match filter {
            None => list,
            Some(filter) => {
                let (mut with, without) = self.conjuncts(std::slice::from_ref(filter));
                // Facets are of this part of the list, and who is in a list of all is anywhere.
                let is_all = list == self.group(&Group::All);
                if with.is_empty() || !(is_all || with.iter().any(|node| self.is_within(node))) {
                    with.push(list);
                }
                Node::All(with, without)
            }
        }
    }

    fn declared(&self) -> &Entity {
        self.layout.model().entity(self.entity)
    }

    /// What all filters say together: who must be in, and who must not.
    fn conjuncts(&self, filters: &[Filter]) -> (Vec<Node>, Vec<Node>) {
        let mut flat = vec![];
        filters.iter().for_each(|filter| flatten(filter, &mut flat));
        let (mut with, mut without) = (vec![], vec![]);
        self.combine(&mut flat, &mut with);
        for filter in flat {
            match filter {
                Filter::Not(inner) => without.push(self.positive(inner)),
                filter => with.push(self.positive(filter)),
            }
        }
        (with, without)
    }

    fn positive(&self, filter: &Filter) -> Node {
        match filter {
            Filter::Tag { field, key, value } => self.group(&Group::Tag(*field, key, value)),
            Filter::TagKey { field, key } => self.group(&Group::TagKey(*field, key)),
            Filter::Facet { field, value } => {
                self.group(&Group::Facet(self.list, self.by, *field, value))
            }
            Filter::All(filters) => {
                let (mut with, without) = self.conjuncts(filters);
                if with.is_empty() {
                    with.push(self.group(&Group::All));
                }
                Node::All(with, without)
            }
            Filter::Any(filters) => {
                Node::Any(filters.iter().map(|filter| self.positive(filter)).collect())
            }
            Filter::Not(inner) => {
                Node::All(vec![self.group(&Group::All)], vec![self.positive(inner)])
            }
        }
    }

    /// Takes tags out that a declared combination has together.
    fn combine<'f>(&self, filters: &mut Vec<&'f Filter>, with: &mut Vec<Node>) {
        for combination in &self.declared().combinations {
            let place = |wanted: &String| {
                filters.iter().position(|filter| match filter {
                    Filter::Tag { field, key, .. } => *field == combination.field && key == wanted,
                    _ => false,
                })
            };
            let places: Option<Vec<usize>> = combination.keys.iter().map(place).collect();
            let Some(mut places) = places else { continue };
            let value = |place: &usize| match filters[*place] {
                Filter::Tag { value, .. } => value.as_str(),
                _ => "",
            };
            let values: Vec<&'f str> = places.iter().map(value).collect();
            let group = Group::Combination(combination, &values);
            // One that does not fit into a key is not kept.
            let Ok(name) = self.layout.group_name(self.entity, self.tenant, &group) else {
                continue;
            };
            with.push(Node::Group { name, size: u64::MAX });
            places.sort_unstable();
            for place in places.iter().rev() {
                filters.remove(*place);
            }
        }
    }

    fn group(&self, group: &Group<'_>) -> Node {
        match self.layout.group_name(self.entity, self.tenant, group) {
            Ok(name) => Node::Group { name, size: u64::MAX },
            Err(_) => Node::Nothing,
        }
    }

    /// Whether only members of this part of the list are in it.
    fn is_within(&self, node: &Node) -> bool {
        match node {
            Node::Nothing => true,
            Node::Group { name, .. } => {
                let letter = KeyBytes::decode_part(name.as_bytes());
                letter.is_ok_and(|(letter, _)| matches!(letter.as_s(), Some("f" | "l")))
            }
            Node::All(with, _) => with.iter().any(|node| self.is_within(node)),
            Node::Any(nodes) => nodes.iter().all(|node| self.is_within(node)),
        }
    }
}

/// The filters that must hold together, without those that say the same again.
fn flatten<'f>(filter: &'f Filter, flat: &mut Vec<&'f Filter>) {
    match filter {
        Filter::All(filters) => filters.iter().for_each(|filter| flatten(filter, flat)),
        Filter::Not(inner) => match &**inner {
            Filter::Not(twice) => flatten(twice, flat),
            _ => push_once(filter, flat),
        },
        Filter::Any(filters) if filters.len() == 1 => flatten(&filters[0], flat),
        _ => push_once(filter, flat),
    }
}

fn push_once<'f>(filter: &'f Filter, flat: &mut Vec<&'f Filter>) {
    if !flat.contains(&filter) {
        flat.push(filter);
    }
}

impl Node {
    /// The names of all groups in it.
    pub(crate) fn names(&self, names: &mut Vec<KeyBytes>) {
        match self {
            Node::Nothing => {}
            Node::Group { name, .. } => names.push(name.clone()),
            Node::All(with, without) => {
                with.iter().chain(without).for_each(|node| node.names(names));
            }
            Node::Any(nodes) => nodes.iter().for_each(|node| node.names(names)),
        }
    }

    /// The same with sizes known: nothing empty is left in it, and the rarest comes first.
    pub(crate) fn sized(self, size_of: &dyn Fn(&KeyBytes) -> u64) -> Node {
        match self {
            Node::Nothing => Node::Nothing,
            Node::Group { name, .. } => match size_of(&name) {
                0 => Node::Nothing,
                size => Node::Group { name, size },
            },
            Node::All(with, without) => {
                let mut with: Vec<Node> =
                    with.into_iter().map(|node| node.sized(size_of)).collect();
                if with.contains(&Node::Nothing) {
                    return Node::Nothing;
                }
                with.sort_by_key(Node::size);
                let without = without.into_iter().map(|node| node.sized(size_of));
                let without: Vec<Node> = without.filter(|node| *node != Node::Nothing).collect();
                match with.len() == 1 && without.is_empty() {
                    true => with.pop().unwrap_or(Node::Nothing),
                    false => Node::All(with, without),
                }
            }
            Node::Any(nodes) => {
                let nodes = nodes.into_iter().map(|node| node.sized(size_of));
                let mut nodes: Vec<Node> = nodes.filter(|node| *node != Node::Nothing).collect();
                match nodes.len() {
                    0 => Node::Nothing,
                    1 => nodes.pop().unwrap_or(Node::Nothing),
                    _ => Node::Any(nodes),
                }
            }
        }
    }

    /// About as many as are in it, of a list of so many, if groups know nothing of each other.
    pub(crate) fn estimate(&self, of_list: u64) -> u64 {
        match self {
            Node::All(with, _) => with.iter().fold(of_list, |passing, node| {
                let share = node.estimate(of_list).min(of_list);
                passing.saturating_mul(share) / of_list.max(1)
            }),
            Node::Nothing | Node::Group { .. } | Node::Any(_) => self.size(),
        }
    }

    /// As many as can be in it.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Node::Nothing => 0,
            Node::Group { size, .. } => *size,
            Node::All(with, _) => with.iter().map(Node::size).min().unwrap_or(0),
            Node::Any(nodes) => nodes.iter().map(Node::size).fold(0, u64::saturating_add),
        }
    }
}

#[cfg(test)]
mod tests {
    use keyloom_value::Item;

    use super::*;

    const MODEL: &str = "
        [entity.task]
        fields.tags = \"tags\"
        fields.team = \"text\"
        tags.tags.combine = [[\"a\", \"b\"]]
        list.all = {}
        list.of_team = { by = \"team\" }
    ";

    /// The plan of a filter, with groups in words; sizes are those of the values of tags.
    fn planned(list: &str, filter: impl Fn(&Entity) -> Filter) -> String {
        let model = keyloom_model::check(MODEL).unwrap();
        let layout = Layout::new(model, 1, &Item::new());
        let entity = layout.model().find("task").unwrap();
        let declared = layout.model().entity(entity);
        let list = declared.find_list(list).unwrap();
        let by = [Value::from("t")];
        let scope = Scope { layout: &layout, entity, tenant: None, list, by: &by };
        let size_of = |name: &KeyBytes| match KeyBytes::decode(name.as_bytes()).unwrap().last() {
            Some(Value::S(value)) => value.parse().unwrap_or(50),
            _ => 50,
        };
        shown(&scope.node(Some(&filter(declared))).sized(&size_of))
    }

    fn shown(node: &Node) -> String {
        let all = |nodes: &[Node]| nodes.iter().map(shown).collect::<Vec<_>>().join(" ");
        match node {
            Node::Nothing => "nothing".to_owned(),
            Node::Group { name, .. } => {
                let parts = KeyBytes::decode(name.as_bytes()).unwrap();
                let texts: Vec<&str> = parts.iter().filter_map(Value::as_s).collect();
                texts.join("/")
            }
            Node::All(with, without) if without.is_empty() => format!("all({})", all(with)),
            Node::All(with, without) => format!("all({}; not {})", all(with), all(without)),
            Node::Any(nodes) => format!("any({})", all(nodes)),
        }
    }

    fn tag(entity: &Entity, key: &str, value: &str) -> Filter {
        let field = entity.find_field("tags").unwrap();
        Filter::Tag { field, key: key.to_owned(), value: value.to_owned() }
    }

    fn not(filter: Filter) -> Filter {
        Filter::Not(Box::new(filter))
    }

    #[test]
    fn the_rarest_comes_first() {
        let plan = planned("all", |e| Filter::All(vec![tag(e, "x", "9"), tag(e, "y", "3")]));
        assert_eq!(plan, "all(t/task/tags/y/3 t/task/tags/x/9)");
    }

    #[test]
    fn tags_of_a_declared_combination_are_looked_up_together() {
        let plan = planned("all", |e| {
            Filter::All(vec![tag(e, "b", "2"), tag(e, "x", "1"), tag(e, "a", "7")])
        });
        assert_eq!(plan, "all(t/task/tags/x/1 c/task/tags/a/b/7/2)");
    }

    #[test]
    fn what_is_empty_is_not_looked_at() {
        let both = |e: &Entity| Filter::All(vec![tag(e, "x", "0"), tag(e, "y", "3")]);
        assert_eq!(planned("all", both), "nothing");
        let either = |e: &Entity| Filter::Any(vec![tag(e, "x", "0"), tag(e, "y", "3")]);
        assert_eq!(planned("all", either), "t/task/tags/y/3");
        let without = |e: &Entity| Filter::All(vec![tag(e, "y", "3"), not(tag(e, "x", "0"))]);
        assert_eq!(planned("all", without), "t/task/tags/y/3");
    }

    #[test]
    fn what_is_only_denied_is_taken_from_all() {
        let plan = planned("all", |e| not(tag(e, "x", "3")));
        assert_eq!(plan, "all(a/task; not t/task/tags/x/3)");
    }

    #[test]
    fn a_part_of_a_list_takes_part() {
        let plan = planned("of_team", |e| not(not(tag(e, "x", "3"))));
        assert_eq!(plan, "all(t/task/tags/x/3 l/task/of_team/t)");
    }
}
