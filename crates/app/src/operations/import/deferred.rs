//! Entries that refer to entities that did not exist yet, ordered so that targets come first and cycles
//! are imported together.

use std::collections::HashMap;

use keyloom::{Entry, Value};
use keyloom_model::{EntityId, FieldId, Layout};

use super::producer::Numbered;

/// Maximum size of deferred lines, which are held in memory.
const BYTES_MAX: usize = 512 << 20;

/// Entries that wait for the end of the input.
#[derive(Default)]
pub(super) struct Deferred {
    entries: Vec<Numbered>,
    bytes: usize,
}

/// Entries that can be imported once all components before them are.
pub(super) enum Component {
    Single(Numbered),
    /// Entries that refer to each other.
    Cycle(Vec<Numbered>),
}

impl Deferred {
    /// Adds an entry; fails if the limit is exceeded.
    pub(super) fn add(&mut self, entry: Numbered) -> Result<(), String> {
        self.bytes += entry.bytes;
        self.entries.push(entry);
        if self.bytes <= BYTES_MAX {
            return Ok(());
        }
        Err(format!(
            "more than {} MiB of lines refer to later lines, or to entities that do not exist: put \
             the targets of references first, as `keyloom export` does.",
            BYTES_MAX >> 20
        ))
    }

    /// All components, each after those it refers to.
    pub(super) fn components(self, layout: &Layout) -> Vec<Component> {
        let mut entries: Vec<Option<Numbered>> = self.entries.into_iter().map(Some).collect();
        let targets = targets(&entries, layout);
        let mut take = |index: usize| entries.get_mut(index).and_then(Option::take);
        let component = |indexes: Vec<usize>| {
            let mut members: Vec<Numbered> = indexes.into_iter().filter_map(&mut take).collect();
            members.sort_by_key(|member| member.line);
            match members.len() {
                0 => None,
                1 => members.pop().map(Component::Single),
                _ => Some(Component::Cycle(members)),
            }
        };
        strongly_connected(&targets).into_iter().filter_map(component).collect()
    }
}

/// The indexes of the entries that each entry refers to.
fn targets(entries: &[Option<Numbered>], layout: &Layout) -> Vec<Vec<usize>> {
    let all = || entries.iter().flatten().map(|numbered| &numbered.entry).enumerate();
    let key = |entry: &Entry| (entry.entity.clone(), tenant(entry), entry.id.clone());
    let known: HashMap<_, usize> = all().map(|(index, entry)| (key(entry), index)).collect();
    let model = layout.model();
    let of = |entry: &Entry| {
        let Some(kind) = model.find(&entry.entity) else { return vec![] };
        let linked = layout.references().of(kind).iter().map(|link| (link.field, link.target));
        let listed = model.entity(kind).reference_lists();
        let target = |(field, target): (FieldId, EntityId)| {
            let tenant = tenant(entry).filter(|_| layout.has_tenant(target));
            let ids = entry.fields.get(&model.entity(kind).field(field).name).map(ids);
            let key = move |id| (model.entity(target).name.clone(), tenant.clone(), id);
            ids.into_iter().flatten().map(key).filter_map(|key| known.get(&key).copied())
        };
        linked.chain(listed).flat_map(target).collect()
    };
    all().map(|(_, entry)| of(entry)).collect()
}

/// The ids that a field refers to: one, or those in a list.
fn ids(value: &Value) -> Vec<String> {
    match value {
        Value::S(id) => vec![id.clone()],
        Value::L(list) => list.iter().filter_map(Value::as_s).map(str::to_owned).collect(),
        _ => vec![],
    }
}

fn tenant(entry: &Entry) -> Option<String> {
    entry.tenant.as_ref().map(ToString::to_string)
}

/// The strongly connected components of a graph, each after those that it leads to: Tarjan's algorithm,
/// without recursion, because the input determines the depth. O(nodes + edges).
fn strongly_connected(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let mut order = vec![UNSEEN; edges.len()];
    let mut low = vec![UNSEEN; edges.len()];
    let mut is_open = vec![false; edges.len()];
    let (mut open, mut components, mut seen) = (vec![], vec![], 0);
    for root in 0..edges.len() {
        let mut path = vec![(root, 0)];
        while let Some((node, edge)) = path.pop() {
            if edge == 0 {
                if order[node] != UNSEEN {
                    continue;
                }
                (order[node], low[node]) = (seen, seen);
                seen += 1;
                open.push(node);
                is_open[node] = true;
            } else {
                // Back from the edge before this one.
                let target = edges[node][edge - 1];
                if is_open[target] {
                    low[node] = low[node].min(low[target]);
                }
            }
            if let Some(target) = edges[node].get(edge) {
                path.push((node, edge + 1));
                if order[*target] == UNSEEN {
                    path.push((*target, 0));
                }
            } else if low[node] == order[node] {
                let start = open.iter().rposition(|other| *other == node).unwrap_or_default();
                let component = open.split_off(start);
                component.iter().for_each(|member| is_open[*member] = false);
                components.push(component);
            }
        }
    }
    components
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(edges: &[&[usize]], expected: &[&[usize]]) {
        let edges: Vec<Vec<usize>> = edges.iter().map(|targets| targets.to_vec()).collect();
        let found = strongly_connected(&edges).into_iter().map(|mut component| {
            component.sort_unstable();
            component
        });
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn targets_come_first_and_cycles_stay_together() {
        check(&[], &[]);
        check(&[&[]], &[&[0]]);
        check(&[&[0]], &[&[0]]);
        check(&[&[1], &[2], &[]], &[&[2], &[1], &[0]]);
        check(&[&[1], &[0]], &[&[0, 1]]);
        check(&[&[1, 3], &[2], &[0], &[4], &[4]], &[&[4], &[3], &[0, 1, 2]]);
        check(&[&[1, 2], &[3], &[3], &[]], &[&[3], &[1], &[2], &[0]]);
    }

    #[test]
    fn a_long_chain_does_not_overflow_the_stack() {
        let count = 200_000;
        let edges: Vec<Vec<usize>> =
            (0..count).map(|node| if node + 1 < count { vec![node + 1] } else { vec![] }).collect();
        let components = strongly_connected(&edges);
        assert_eq!(components.len(), count);
        assert_eq!(components[0], [count - 1]);
    }
}
