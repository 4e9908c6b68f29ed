//! The steps from one result of a query to another.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::seen::{Item, Seen};

/// A step. Places count from 0, in the items as the steps before have left them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step<'s> {
    Leave {
        at: usize,
        item: &'s Item,
    },
    Enter {
        at: usize,
        item: &'s Item,
    },
    Move {
        from: usize,
        at: usize,
        item: &'s Item,
    },
    Change {
        at: usize,
        item: &'s Item,
    },
    /// A member has another value, or none any more.
    Member {
        name: &'s str,
        value: Option<&'s str>,
    },
}

/// The steps that lead from one result to another; as few moves as possible.
pub(super) fn steps<'s>(old: &'s Seen, new: &'s Seen) -> Vec<Step<'s>> {
    let (first, from, to) = differing(&old.items, &new.items);
    let current = from.iter().map(|item| &**item).collect();
    let mut places = Places { first, current, steps: vec![] };
    places.remove_gone(to);
    places.arrange(to);
    places.change(to);
    places.steps.extend(member_steps(old, new));
    places.steps
}

/// The parts in which two pages differ, and how many items are before: most changes are of one item.
fn differing<'s>(
    old: &'s [Arc<Item>],
    new: &'s [Arc<Item>],
) -> (usize, &'s [Arc<Item>], &'s [Arc<Item>]) {
    let is_same = |pair: &(&Arc<Item>, &Arc<Item>)| Arc::ptr_eq(pair.0, pair.1);
    let first = old.iter().zip(new).take_while(is_same).count();
    let (old, new) = (&old[first..], &new[first..]);
    let last = old.iter().rev().zip(new.iter().rev()).take_while(is_same).count();
    (first, &old[..old.len() - last], &new[..new.len() - last])
}

/// The items that differ, as the steps so far have left them.
struct Places<'s> {
    /// The place of the first of them.
    first: usize,
    current: Vec<&'s Item>,
    steps: Vec<Step<'s>>,
}

impl<'s> Places<'s> {
    fn remove_gone(&mut self, new: &'s [Arc<Item>]) {
        let kept: HashSet<&str> = new.iter().map(|item| item.identity.as_str()).collect();
        // From the end, so that the places before stay.
        for at in (0..self.current.len()).rev() {
            if !kept.contains(self.current[at].identity.as_str()) {
                let item = self.current.remove(at);
                self.steps.push(Step::Leave { at: self.first + at, item });
            }
        }
    }

    /// Puts each item that is new or out of order behind the one that it follows.
    fn arrange(&mut self, new: &'s [Arc<Item>]) {
        let staying = self.staying(new);
        let mut before: Option<&str> = None;
        for item in new {
            let identity = item.identity.as_str();
            if !staying.contains(identity) {
                self.place(item, before);
            }
            before = Some(identity);
        }
    }

    fn place(&mut self, item: &'s Item, before: Option<&str>) {
        let find = |places: &[&Item], identity: &str| {
            places.iter().position(|item| item.identity == identity)
        };
        let from = find(&self.current, &item.identity);
        if let Some(from) = from {
            self.current.remove(from);
        }
        let at = before.and_then(|before| find(&self.current, before)).map_or(0, |at| at + 1);
        self.current.insert(at, item);
        let at = self.first + at;
        self.steps.push(match from {
            Some(from) => Step::Move { from: self.first + from, at, item },
            None => Step::Enter { at, item },
        });
    }

    /// The most items that are in the right order already.
    fn staying(&self, new: &'s [Arc<Item>]) -> HashSet<&'s str> {
        let places: HashMap<&str, usize> = self
            .current
            .iter()
            .enumerate()
            .map(|(at, item)| (item.identity.as_str(), at))
            .collect();
        let known: Vec<(&str, usize)> = new
            .iter()
            .filter_map(|item| Some((item.identity.as_str(), *places.get(item.identity.as_str())?)))
            .collect();
        let order: Vec<usize> = known.iter().map(|(_, place)| *place).collect();
        longest_increasing(&order).into_iter().map(|index| known[index].0).collect()
    }

    fn change(&mut self, new: &'s [Arc<Item>]) {
        for (at, item) in new.iter().enumerate() {
            if self.current.get(at).is_some_and(|current| current.json != item.json) {
                self.current[at] = item;
                self.steps.push(Step::Change { at: self.first + at, item });
            }
        }
    }
}

/// The indexes of a longest increasing part of a sequence.
fn longest_increasing(order: &[usize]) -> Vec<usize> {
    // For each length, the index at which a part of that length ends with the least value.
    let mut ends: Vec<usize> = vec![];
    let mut before: Vec<Option<usize>> = vec![None; order.len()];
    for (index, value) in order.iter().enumerate() {
        let length = ends.partition_point(|end| order[*end] < *value);
        before[index] = length.checked_sub(1).map(|length| ends[length]);
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut found = vec![];
    let mut next = ends.last().copied();
    while let Some(index) = next {
        found.push(index);
        next = before[index];
    }
    found
}

fn member_steps<'s>(old: &'s Seen, new: &'s Seen) -> Vec<Step<'s>> {
    let value = |seen: &'s Seen, wanted: &str| {
        let found = seen.members.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.as_str())
    };
    let gone = old.members.iter().filter(|(name, _)| value(new, name).is_none());
    let gone = gone.map(|(name, _)| Step::Member { name, value: None });
    let set = new.members.iter().filter(|(name, json)| value(old, name) != Some(json.as_str()));
    let set = set.map(|(name, json)| Step::Member { name, value: Some(json) });
    gone.chain(set).collect()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Items with these ids and contents, and a total.
    fn seen(items: &[(u8, u8)], total: u8) -> Seen {
        let item = |(id, content): &(u8, u8)| format!("{{\"id\":{id},\"content\":{content}}}");
        let items: Vec<String> = items.iter().map(item).collect();
        let total = if total > 0 { format!(",\"total\":{total}") } else { String::new() };
        let body = format!("{{\"items\":[{}]{total}}}", items.join(","));
        let seen = Seen::new(String::new(), &body, None);
        assert_eq!(seen.body(), body);
        seen
    }

    fn applied<'s>(old: &'s Seen, steps: &[Step<'s>]) -> (Vec<&'s str>, Vec<(&'s str, &'s str)>) {
        let mut items: Vec<&str> = old.items.iter().map(|item| item.json.as_str()).collect();
        let mut members: Vec<(&str, &str)> =
            old.members.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        for step in steps {
            match *step {
                Step::Leave { at, .. } => drop(items.remove(at)),
                Step::Enter { at, item } => items.insert(at, &item.json),
                Step::Move { from, at, item } => {
                    items.remove(from);
                    items.insert(at, &item.json);
                }
                Step::Change { at, item } => items[at] = &item.json,
                Step::Member { name, value } => {
                    members.retain(|(other, _)| *other != name);
                    members.extend(value.map(|value| (name, value)));
                }
            }
        }
        (items, members)
    }

    fn distinct(mut items: Vec<(u8, u8)>) -> Vec<(u8, u8)> {
        let mut met = HashSet::new();
        items.retain(|(id, _)| met.insert(*id));
        items
    }

    proptest! {
        #[test]
        fn steps_lead_from_one_result_to_the_other(
            old in vec((0..12_u8, 0..3_u8), 0..12), new in vec((0..12_u8, 0..3_u8), 0..12),
            totals in (0..3_u8, 0..3_u8),
        ) {
            let (old, new) = (distinct(old), distinct(new));
            let old = seen(&old, totals.0);
            // Items that are as they were are shared.
            let new = Seen::new(String::new(), &seen(&new, totals.1).body(), Some(&old));
            let steps = steps(&old, &new);
            prop_assert_eq!(applied(&old, &steps), applied(&new, &[]));
        }
    }

    #[test]
    fn an_item_that_goes_to_the_end_is_one_move() {
        let (old, new) = (
            seen(&[(1, 0), (2, 0), (3, 0), (4, 0)], 0),
            seen(&[(2, 0), (3, 0), (4, 0), (1, 0)], 0),
        );
        let steps = steps(&old, &new);
        assert!(matches!(steps[..], [Step::Move { from: 0, at: 3, .. }]), "{steps:?}");
    }
}
