//! A change of one entity, with everything that the entity implied before and implies afterwards.

use keyloom_model::{Addend, Counter, Image, Layout, Reason, Row};
use keyloom_value::Item;

use crate::topic::Topic;

/// A change of one entity. Either side is none if the entity did not exist.
#[derive(Clone, Debug)]
pub struct EntityChange {
    pub(crate) old: Option<Placed>,
    pub(crate) new: Option<Placed>,
    topics: Vec<Topic>,
    /// Whether no entity has changed, but a score that was settled.
    pub(crate) is_settled: bool,
    /// Whether the images are what readers see, however much time passes and whatever is deleted.
    pub(crate) is_lasting: bool,
}

/// An entity with the rows and counters that it implies.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) image: Image,
    /// Its own row first.
    rows: Vec<Row>,
    pub(crate) addends: Vec<Addend>,
}

impl EntityChange {
    /// The change from one image of an entity to another, both in terms of the current model. `is_lasting`
    /// says whether both of their rows are ([`crate::is_lasting`]).
    pub fn new(
        layout: &Layout,
        (old, new): (Option<Image>, Option<Image>),
        is_lasting: bool,
    ) -> EntityChange {
        let (old, new) =
            (old.map(|old| Placed::new(layout, old)), new.map(|new| Placed::new(layout, new)));
        let sides = old.iter().chain(&new);
        let mut topics: Vec<Topic> = sides.flat_map(|placed| placed.topics(layout)).collect();
        topics.sort_unstable();
        topics.dedup();
        EntityChange { old, new, topics, is_settled: false, is_lasting }
    }

    /// What a leaderboard shows of a score has changed, after entities have changed it.
    pub fn of_settled(score: &Counter) -> EntityChange {
        let topics = Topic::counter(score).into_iter().collect();
        EntityChange { old: None, new: None, topics, is_settled: true, is_lasting: false }
    }

    /// What the change is about: everything that it affects depends on one of these. In order.
    pub fn topics(&self) -> &[Topic] {
        &self.topics
    }

    /// How many bytes the fields of both images have.
    pub fn size(&self) -> usize {
        self.sides().map(|side| side.image.fields.size()).sum()
    }

    /// The entity before and after.
    pub(crate) fn sides(&self) -> impl Iterator<Item = &Placed> {
        self.old.iter().chain(&self.new)
    }
}

impl Placed {
    fn new(layout: &Layout, image: Image) -> Placed {
        // What is stored fits into keys.
        let rows = layout.rows(&image).unwrap_or_default();
        let addends = layout.counters().of(&image).unwrap_or_default();
        Placed { image, rows, addends }
    }

    /// Its own row.
    pub(crate) fn own(&self) -> Option<&Item> {
        self.rows.first().map(|row| &row.item)
    }

    fn topics(&self, layout: &Layout) -> Vec<Topic> {
        let mut topics = vec![Topic::entity(layout, &self.image.key)];
        for row in &self.rows {
            match row.reason {
                Reason::Guard(_) => topics.push(Topic::guard(&row.key)),
                Reason::Link(_) => topics.push(Topic::links(&row.key.partition)),
                _ => {}
            }
        }
        topics.extend(self.indexed(layout));
        let postings = layout.postings().of(&self.image).unwrap_or_default();
        topics.extend(postings.iter().map(Topic::posting));
        topics.extend(self.addends.iter().filter_map(|addend| Topic::counter(&addend.counter)));
        topics
    }

    /// The partitions of lists and leaderboards that the entity is in.
    fn indexed(&self, layout: &Layout) -> Vec<Topic> {
        let id = self.image.key.entity;
        let entity = layout.model().entity(id);
        let lists = entity.lists().map(|(list, _)| layout.lists().slot(id, list));
        let boards = entity.boards().map(|(board, _)| layout.leaderboards().slot(id, board));
        let Some(own) = self.own() else { return vec![] };
        let partition = |slot: keyloom_model::Slot| own.get(slot.partition().as_str())?.as_b();
        lists.chain(boards).filter_map(partition).map(Topic::index).collect()
    }

    /// What it adds to counters of these topics.
    pub(crate) fn added_to(&self, topics: &[Topic]) -> Vec<&Addend> {
        let is_of =
            |counter: &Counter| Topic::counter(counter).is_some_and(|of| topics.contains(&of));
        self.addends.iter().filter(|addend| is_of(&addend.counter)).collect()
    }
}
