//! How a page was found, as a tree: drawn from what strategies recorded while they ran, with the
//! posting lists that were combined and their sizes. Chooses nothing and plans nothing; it counts what
//! reading every list id by id would have cost.

use std::collections::BTreeMap;
use std::fmt;

use keyloom_model::{Entity, Layout, PostingKey};
use keyloom_value::{KeyBytes, Value};

use crate::chunks::ChunkView;
use crate::considered::{Considered, considered};
use crate::facets::Prefix;
use crate::hidden::Hidden;
use crate::nodes::{Outline, Search, Sizes, Step};
use crate::posting_list::{PostingList, PostingOwner, text_of};
use crate::strategy::Chosen;
use crate::{Budget, Error, Filter, ListRequest, Ran, ReadCost, Reader};

/// How many combinations of facets are named one by one.
const COMBINATIONS_SHOWN: usize = 12;

/// A step of a query plan, and its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What is done, or which list is read.
    pub step: String,
    /// The size of the list, if it is known.
    pub members: Option<u64>,
    /// The parts of the step.
    pub parts: Vec<Plan>,
}

/// How a page was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// What was done.
    pub plan: Plan,
    /// How much it was allowed to read.
    pub bound: Budget,
    /// What reading every list id by id would cost, if the filter is an AND of tags.
    pub one_by_one: Option<OneByOne>,
    /// The ways in which it could have been found, the cheapest first, if there was a choice.
    pub considered: Vec<Considered>,
}

/// What it would cost to read every list id by id from its start until the page is full. It depends on
/// where the matches are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneByOne {
    /// Reads of the lists of all single tags.
    pub tags: ListReads,
    /// Reads of the lists in the plan: a declared combination is one.
    pub planned: ListReads,
    /// Entities, after that.
    pub entities: u64,
}

/// Rows of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListReads {
    /// If all matches are on the first page of each list.
    pub best: u64,
    /// If they are at the end of each list.
    pub worst: u64,
}

/// The sizes of posting lists, as far as they are known.
#[derive(Debug, Default)]
struct Known(BTreeMap<KeyBytes, u64>);

impl Known {
    /// Adds the sizes that were known when the plan was made.
    fn take(&mut self, outline: &Outline) {
        if let Step::Read { list, size } = &outline.step
            && *size != Sizes::UNKNOWN
        {
            self.0.insert(list.name.clone(), *size);
        }
        outline.parts.iter().for_each(|part| self.take(part));
    }

    fn size(&self, list: &PostingList) -> u64 {
        self.0.get(&list.name).copied().unwrap_or(0)
    }

    fn sizes(&self, lists: &[PostingList]) -> Vec<u64> {
        lists.iter().map(|list| self.size(list)).collect()
    }
}

impl ListReads {
    /// The reads of lists of these sizes, with this many rows on a page.
    fn of(sizes: &[u64], page: u64) -> ListReads {
        let sum = |sizes: &mut dyn Iterator<Item = u64>| sizes.fold(0, u64::saturating_add);
        let best = sum(&mut sizes.iter().map(|size| (*size).min(page)));
        ListReads { best, worst: sum(&mut sizes.iter().copied()) }
    }
}

/// Explains how a page of a list was found, from the record of what ran.
pub(crate) async fn explain(
    reader: &Reader<'_>,
    request: &ListRequest,
    ran: &Ran,
) -> Result<Explanation, Error> {
    let (cost, hidden) = (&mut ReadCost::default(), &Hidden::default());
    let (direction, budget) = (request.direction, request.budget);
    let view = &mut ChunkView::new(request.entity, request.tenant.as_ref());
    let search = Search { reader, direction, budget, hidden, cost, view };
    let mut survey = Survey { search, request, known: Known::default() };
    // A strategy that takes over combines the same posting lists.
    let first = ran.strategies().iter().find_map(Chosen::node);
    let outline = first.map(|node| node.outline());
    outline.iter().for_each(|outline| survey.known.take(outline));
    let mut planned = vec![];
    first.iter().for_each(|node| node.posting_lists(&mut planned));
    survey.learn(&planned).await?;
    let one_by_one = survey.one_by_one(&planned).await?;
    let considered = considered(&mut survey.search, request, ran).await?;
    let drawing = Drawing { layout: reader.layout, request, known: &survey.known };
    Ok(Explanation { plan: drawing.draw(ran.strategies()), bound: budget, one_by_one, considered })
}

/// Draws a record.
struct Drawing<'d> {
    layout: &'d Layout,
    request: &'d ListRequest,
    known: &'d Known,
}

impl<'d> Drawing<'d> {
    fn entity(&self) -> &'d Entity {
        self.layout.model().entity(self.request.entity)
    }

    /// The first strategy, and within it the one that took over.
    fn draw(&self, ran: &[Chosen]) -> Plan {
        let Some((first, then)) = ran.split_first() else { return self.strategy(&Chosen::Nothing) };
        let mut plan = self.strategy(first);
        if !then.is_empty() {
            let next = self.draw(then);
            plan.parts.push(Plan { step: format!("then {}", next.step), ..next });
        }
        plan
    }

    fn strategy(&self, chosen: &Chosen) -> Plan {
        let name = &self.entity().list(self.request.list).name;
        let mut list = format!("the list `{name}` of `{}`", self.entity().name);
        let shards = self.layout.lists().shard_count(self.request.entity, self.request.list);
        if shards > 1 {
            list = format!("{list} in {shards} shards");
        }
        let limit = self.request.limit;
        let step = match chosen {
            Chosen::Nothing => "nothing matches: one of the lists is empty".to_owned(),
            Chosen::Each => format!("walk along {list} until {limit} are found"),
            Chosen::AlongFacets(_) => {
                format!("merge what of {list} has each of these facets until {limit} are found")
            }
            Chosen::AlongList(_) => {
                format!("walk along {list}, look at what matches, until {limit} are found")
            }
            Chosen::AlongOrdinals(_) => {
                format!("go through what matches in order of creation until {limit} are found")
            }
            Chosen::AlongColumn(_) => {
                format!("take the first {limit} that match in the order of {list}")
            }
            Chosen::SmallSet(strategy) => {
                let count = strategy.ordinals.len();
                format!("take the {count} that match and sort them as {list} is")
            }
        };
        let mut parts = match chosen {
            Chosen::AlongFacets(strategy) => self.combinations(&strategy.prefixes),
            _ => vec![],
        };
        parts.extend(chosen.node().map(|node| self.tree(&node.outline())));
        Plan { step, members: None, parts }
    }

    /// Describes some combinations of facets.
    fn combinations(&self, prefixes: &[Prefix]) -> Vec<Plan> {
        let leaf = |step: String| Plan { step, members: None, parts: vec![] };
        let facets = &self.entity().list(self.request.list).facets;
        let words = |prefix: &Prefix| {
            let values = KeyBytes::decode(prefix).unwrap_or_default();
            let pairs = facets.iter().zip(&values).map(|(field, part)| {
                let name = &self.entity().field(*field).name;
                match self.layout.value_from_key(self.request.entity, *field, part) {
                    Value::B(_) => format!("no `{name}`"),
                    value => format!("`{name}` is `{}`", text_of(&value)),
                }
            });
            leaf(pairs.collect::<Vec<_>>().join(", "))
        };
        let mut parts: Vec<Plan> = prefixes.iter().take(COMBINATIONS_SHOWN).map(words).collect();
        if let Some(more) = prefixes.len().checked_sub(COMBINATIONS_SHOWN).filter(|more| *more > 0)
        {
            parts.push(leaf(format!("and {more} more")));
        }
        parts
    }

    fn tree(&self, outline: &Outline) -> Plan {
        let (step, members) = match &outline.step {
            Step::Read { list, .. } => (list.describe(self.entity()), Some(self.known.size(list))),
            Step::Range { text, slices } => (format!("{text}, by {slices} bit slices of"), None),
            Step::Combine(combination) => (combination.describe().to_owned(), None),
        };
        let parts = outline.parts.iter().map(|part| self.tree(part)).collect();
        Plan { step, members, parts }
    }
}

/// Finds out how large posting lists are, for the explanation of a request.
struct Survey<'s> {
    search: Search<'s>,
    request: &'s ListRequest,
    known: Known,
}

impl Survey<'_> {
    /// None if the filter is not an AND of tags.
    async fn one_by_one(&mut self, planned: &[PostingList]) -> Result<Option<OneByOne>, Error> {
        let (reader, request) = (self.search.reader, self.request);
        let tags = match &request.filter {
            Some(tag @ Filter::Tag { .. }) => std::slice::from_ref(tag),
            Some(Filter::All(filters)) => &filters[..],
            Some(_) | None => return Ok(None),
        };
        let list = |filter: &Filter| match filter {
            Filter::Tag { field, key, value } => {
                PostingOwner::of(reader, request).list(&PostingKey::Tag(*field, key, value))
            }
            _ => None,
        };
        let Some(single) = tags.iter().map(list).collect::<Option<Vec<PostingList>>>() else {
            return Ok(None);
        };
        self.learn(&single).await?;
        let matching = reader.total(request).await?.count;
        let page = u64::from(request.limit);
        Ok(Some(OneByOne {
            tags: ListReads::of(&self.known.sizes(&single), page),
            planned: ListReads::of(&self.known.sizes(planned), page),
            entities: matching.min(page),
        }))
    }

    /// Learns the sizes of lists.
    async fn learn(&mut self, lists: &[PostingList]) -> Result<(), Error> {
        let Survey { search, known, .. } = self;
        let is_new = |list: &&PostingList| !known.0.contains_key(&list.name);
        let new: Vec<PostingList> = lists.iter().filter(is_new).cloned().collect();
        if !new.is_empty() {
            let sizes = search.sizes(&new).await?;
            known.0.extend(new.into_iter().map(|list| list.name).zip(sizes));
        }
        Ok(())
    }
}

/// The tree as a drawing.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.draw(f, Margin::default())
    }
}

/// What is drawn to the left of a step: of its own line, and of those of its parts.
#[derive(Default)]
struct Margin {
    own: String,
    parts: String,
}

impl Plan {
    fn draw(&self, f: &mut fmt::Formatter<'_>, margin: Margin) -> fmt::Result {
        let members = self.members.map(|members| format!(" ({members})")).unwrap_or_default();
        writeln!(f, "{}{}{members}", margin.own, self.step)?;
        let last = self.parts.len().saturating_sub(1);
        for (index, part) in self.parts.iter().enumerate() {
            let (branch, below) =
                if index == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            let [own, parts] = [branch, below].map(|sign| format!("{}{sign}", margin.parts));
            part.draw(f, Margin { own, parts })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three tags, with pages of 20: a good case and a bad one.
    #[test]
    fn list_reads_are_bounded_by_pages_and_by_sizes() {
        let good = ListReads::of(&[50, 80, 20], 20);
        assert_eq!(good, ListReads { best: 60, worst: 150 });
        let bad = ListReads::of(&[1_000_000, 9_000_000, 2_000_000], 20);
        assert_eq!(bad, ListReads { best: 60, worst: 12_000_000 });
        assert_eq!(ListReads::of(&[3], 20), ListReads { best: 3, worst: 3 });
    }

    #[test]
    fn plan_displays_as_a_tree() {
        let leaf = |step: &str, members| Plan { step: step.to_owned(), members, parts: vec![] };
        let inner = Plan { parts: vec![leaf("c", Some(1)), leaf("d", None)], ..leaf("b", None) };
        let plan = Plan { parts: vec![inner, leaf("e", Some(2))], ..leaf("a", None) };
        assert_eq!(plan.to_string(), "a\n├─ b\n│  ├─ c (1)\n│  └─ d\n└─ e (2)\n");
    }
}
