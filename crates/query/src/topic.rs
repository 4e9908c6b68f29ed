//! Topics: what a read depends on and a change is about, in a form that can be looked up. They are
//! hashes of keys, so two topics can be equal by chance: a change that has a topic of a read need not
//! affect it, but one that has none of them does not.

use std::hash::{DefaultHasher, Hash, Hasher};

use keyloom_model::{Counter, EntityId, EntityKey, Layout, ListId, PostingKey, RowKey};
use keyloom_value::{KeyBytes, Value};

use crate::Filter;

/// A hash of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Topic(u64);

/// What a key is one of.
#[derive(Hash)]
enum Kind {
    Entity,
    Guard,
    Links,
    Index,
    Posting,
    Counter,
}

impl Topic {
    fn new(kind: Kind, key: &[u8]) -> Topic {
        let mut hasher = DefaultHasher::new();
        (kind, key).hash(&mut hasher);
        Topic(hasher.finish())
    }

    /// An entity.
    pub(crate) fn entity(layout: &Layout, key: &EntityKey) -> Topic {
        // Own rows of a kind and a tenant differ in the partition.
        Topic::new(Kind::Entity, layout.own_key(key).partition.as_bytes())
    }

    /// A unique value.
    pub(crate) fn guard(key: &RowKey) -> Topic {
        Topic::new(Kind::Guard, &[key.partition.as_bytes(), key.sort.as_bytes()].concat())
    }

    /// The entities that refer to one.
    pub(crate) fn links(partition: &KeyBytes) -> Topic {
        Topic::new(Kind::Links, partition.as_bytes())
    }

    /// A partition of a list or a leaderboard.
    pub(crate) fn index(partition: &[u8]) -> Topic {
        Topic::new(Kind::Index, partition)
    }

    /// A posting list.
    pub(crate) fn posting(name: &KeyBytes) -> Topic {
        Topic::new(Kind::Posting, name.as_bytes())
    }

    /// The count or the leaderboard that a counter is part of.
    pub(crate) fn counter(counter: &Counter) -> Option<Topic> {
        let score = match counter {
            Counter::Plain(key) | Counter::InOrder(key) => {
                return Some(Topic::counters(&key.partition));
            }
            Counter::Pending(_) => return None,
            Counter::Score(_) => counter.clone(),
            Counter::Change(_) => counter.changed()?,
        };
        Some(Topic::counters(&score.ranking()?.entries))
    }

    /// The counters of a partition of a count, or the entries of a leaderboard.
    pub(crate) fn counters(partition: &KeyBytes) -> Topic {
        Topic::new(Kind::Counter, partition.as_bytes())
    }
}

/// A list that a filter is for.
pub(crate) struct Filtered<'f> {
    pub(crate) layout: &'f Layout,
    pub(crate) entity: EntityId,
    pub(crate) list: ListId,
    pub(crate) tenant: Option<&'f Value>,
    pub(crate) by: &'f [Value],
}

impl Filtered<'_> {
    /// Topics of which every entity that passes a filter has one; none if only the list itself is known
    /// to have them.
    pub(crate) fn topics(&self, filter: &Filter) -> Option<Vec<Topic>> {
        let key = match filter {
            Filter::Tag { field, key, value } => PostingKey::Tag(*field, key, value),
            Filter::TagKey { field, key } => PostingKey::TagKey(*field, key),
            Filter::Facet { field, value } => PostingKey::Facet(self.list, self.by, *field, value),
            Filter::Present { field } => PostingKey::Present(*field),
            Filter::Term { search, term } => PostingKey::Term(*search, term),
            Filter::All(parts) => {
                let known = parts.iter().filter_map(|part| self.topics(part));
                return known.min_by_key(Vec::len);
            }
            Filter::Any(parts) => {
                let all: Option<Vec<_>> = parts.iter().map(|part| self.topics(part)).collect();
                return all.map(|all| all.concat());
            }
            Filter::Range { .. } | Filter::Not(_) => return None,
        };
        // No entity is in a list whose name does not fit into a key.
        let name = self.layout.postings().name(self.entity, self.tenant, &key).ok();
        Some(name.iter().map(Topic::posting).collect())
    }
}
