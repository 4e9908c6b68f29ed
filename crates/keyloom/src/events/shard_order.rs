//! In which order the shards of a feed are read: each after the end of its parent.
//!
//! A shard ends when it is split, and its children have the later changes of the same rows. Whoever
//! begins a child earlier sees changes of one row out of order.

use std::collections::BTreeSet;

use keyloom_store::{Shard, ShardId};

use super::Position;

/// The shards of a feed, and which of them a reader has read to their ends.
pub(crate) struct ShardOrder<'s> {
    /// Each after its parent.
    shards: &'s [Shard],
    ended: BTreeSet<ShardId>,
}

impl<'s> ShardOrder<'s> {
    pub(crate) fn new(shards: &'s [Shard]) -> ShardOrder<'s> {
        ShardOrder { shards, ended: BTreeSet::new() }
    }

    /// Notes that a shard has ended and was read to its end.
    pub(crate) fn end(&mut self, shard: &ShardId) {
        self.ended.insert(shard.clone());
    }

    /// Notes that the ancestors of the shards in a position were read to their ends: otherwise these
    /// would not have been begun.
    pub(crate) fn end_ancestors(&mut self, position: &Position) {
        let mut begun: BTreeSet<&ShardId> = position.0.keys().collect();
        // Children first, so that one pass finds all ancestors.
        for shard in self.shards.iter().rev().filter(|shard| shard.parent.is_some()) {
            if begun.contains(&shard.id) {
                begun.extend(&shard.parent);
                self.ended.extend(shard.parent.clone());
            }
        }
    }

    /// Whether a shard of which the reader has seen nothing may be begun now.
    pub(crate) fn may_begin(&self, shard: &ShardId) -> bool {
        let listed = self.shards.iter().find(|listed| listed.id == *shard);
        let parent = listed.and_then(|listed| listed.parent.as_ref());
        !self.ended.contains(shard) && parent.is_none_or(|parent| self.ended.contains(parent))
    }

    /// Removes shards from a position that have ended, once it has their children: these imply them.
    pub(crate) fn trim(&self, position: &mut Position) {
        for Shard { id, .. } in self.shards.iter().filter(|shard| self.ended.contains(&shard.id)) {
            let is_begun = |child: &Shard| {
                position.0.contains_key(&child.id) || self.ended.contains(&child.id)
            };
            let mut children =
                self.shards.iter().filter(|shard| shard.parent.as_ref() == Some(id)).peekable();
            if children.peek().is_some() && children.all(is_begun) {
                position.0.remove(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use keyloom_store::SeqNo;

    use super::*;

    fn shards() -> Vec<Shard> {
        let listed =
            [("a", None), ("z", None), ("b", Some("a")), ("c", Some("a")), ("d", Some("b"))];
        let id = |id: &str| ShardId(id.to_owned());
        listed.map(|(shard, parent)| Shard { id: id(shard), parent: parent.map(id) }).to_vec()
    }

    fn position(ids: &[&str]) -> Position {
        Position(ids.iter().map(|id| (ShardId((*id).to_owned()), SeqNo(7))).collect())
    }

    /// Which shards may be begun by a reader with this position, after these have ended.
    fn check(at: &[&str], ended: &[&str], expected: &[&str]) {
        let shards = shards();
        let mut order = ShardOrder::new(&shards);
        order.end_ancestors(&position(at));
        ended.iter().for_each(|id| order.end(&ShardId((*id).to_owned())));
        let new = shards.iter().filter(|shard| !at.contains(&shard.id.0.as_str()));
        let may: Vec<&str> = new
            .filter(|shard| order.may_begin(&shard.id))
            .map(|shard| shard.id.0.as_str())
            .collect();
        assert_eq!(may, expected, "at {at:?}, {ended:?} ended");
    }

    #[test]
    fn a_shard_begins_after_the_end_of_its_parent() {
        check(&[], &[], &["a", "z"]);
        check(&["a", "z"], &[], &[]);
        check(&["a", "z"], &["a"], &["b", "c"]);
        check(&["a", "z"], &["a", "b"], &["c", "d"]);
    }

    #[test]
    fn shards_in_a_position_imply_the_ends_of_their_ancestors() {
        check(&["b", "z"], &[], &["c"]);
        check(&["d", "z"], &[], &["c"]);
        check(&["c", "d", "z"], &[], &[]);
    }

    #[test]
    fn an_ended_shard_leaves_a_position_when_all_of_its_children_are_in_it() {
        let shards = shards();
        let mut order = ShardOrder::new(&shards);
        order.end(&ShardId("a".to_owned()));
        let check = |order: &ShardOrder<'_>, ids: &[&str], expected: &[&str]| {
            let mut trimmed = position(ids);
            order.trim(&mut trimmed);
            assert_eq!(trimmed, position(expected));
        };
        check(&order, &["a", "z"], &["a", "z"]);
        check(&order, &["a", "b", "z"], &["a", "b", "z"]);
        check(&order, &["a", "b", "c", "z"], &["b", "c", "z"]);
        order.end(&ShardId("b".to_owned()));
        check(&order, &["a", "b", "c", "d", "z"], &["c", "d", "z"]);
        check(&order, &["a", "c", "d", "z"], &["c", "d", "z"]);
    }
}
