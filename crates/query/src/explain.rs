//! How a question is answered, as a tree: which lists are combined, how large they are, and what the
//! algorithm of the document on item tagging would have read.

use std::collections::BTreeMap;
use std::fmt;

use keyloom_model::Group;
use keyloom_store::Members;
use keyloom_value::{KeyBytes, Value};

use crate::cut::Turn;
use crate::facets::Prefix;
use crate::hidden::Hidden;
use crate::matched::Choice;
use crate::nodes::{Node, Outline, PostingRows, Search, Step};
use crate::posting_list::{PostingList, PostingOwner, text_of};
use crate::{Budget, Error, Filter, ListRequest, ReadCost, Reader};

/// As many combinations of facets as are told one by one.
const COMBINATIONS_SHOWN: usize = 12;
/// As far as the size of a list is counted where lists are rows: only so that it can be shown.
const COUNTED_MAX: u64 = 100;

/// A step of an answer, and what it is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What is done, or which list is looked at.
    pub step: String,
    /// How many are in the list, if that is known; where lists are rows, up to 100 are counted.
    pub members: Option<u64>,
    /// What it is done with.
    pub parts: Vec<Plan>,
}

/// Everything that is known about an answer before it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// How it is found.
    pub plan: Plan,
    /// How much may be read for it.
    pub bound: Budget,
    /// What taking one id after the other of every list would read, if all are tags.
    pub one_by_one: Option<OneByOne>,
}

/// What the document's algorithm reads: every list from its start, until the page is full. It
/// depends on where those are that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneByOne {
    /// Of the lists of all single tags.
    pub tags: ListReads,
    /// Of the lists that are looked at here: a declared combination is one.
    pub planned: ListReads,
    /// Entities, after that.
    pub entities: u64,
}

/// Rows of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListReads {
    /// If all that match are on the first page of each.
    pub best: u64,
    /// If they are at the end of each.
    pub worst: u64,
}

/// What is known of lists: how many are in each, and where lists are rows, which.
#[derive(Debug, Default)]
struct Known(BTreeMap<KeyBytes, List>);

#[derive(Debug)]
struct List {
    size: u64,
    /// All of them, if they were read.
    all: Option<Members>,
}

impl Known {
    fn size(&self, list: &PostingList) -> u64 {
        self.0.get(&list.name).map_or(0, |list| list.size)
    }

    fn sizes(&self, lists: &[PostingList]) -> Vec<u64> {
        lists.iter().map(|list| self.size(list)).collect()
    }

    /// How many are in all of some lists, if that is known.
    fn in_all(&self, lists: &[PostingList]) -> Option<u64> {
        let mut lists = lists.iter().map(|list| self.0.get(&list.name)?.all.as_ref());
        let mut members = lists.next()??.clone();
        for list in lists {
            members.and(list?);
        }
        Some(members.len())
    }
}

impl ListReads {
    /// Of lists of these sizes, with pages of so many rows.
    pub fn of(sizes: &[u64], page: u64) -> ListReads {
        let sum = |sizes: &mut dyn Iterator<Item = u64>| sizes.fold(0, u64::saturating_add);
        let best = sum(&mut sizes.iter().map(|size| (*size).min(page)));
        ListReads { best, worst: sum(&mut sizes.iter().copied()) }
    }
}

impl Reader<'_> {
    /// How a page of a list would be found: its first, or any that follows.
    ///
    /// # Errors
    ///
    /// As [`Reader::list`].
    pub async fn explain(&self, request: &ListRequest) -> Result<Explanation, Error> {
        let request = &self.simplified(request);
        let entity = self.layout.model().entity(request.entity);
        let list = format!("the list `{}` of `{}`", entity.list(request.list).name, entity.name);
        let mut cost = ReadCost::default();
        let direction = Turn::On.of(request.direction);
        let budget = request.budget;
        let hidden = &Hidden::default();
        let mut search = Search { reader: self, direction, budget, hidden, cost: &mut cost };
        let choice = search.choose(request).await?;
        let (mut known, mut planned) = (Known::default(), vec![]);
        choice.node().iter().for_each(|node| node.posting_lists(&mut planned));
        search.learn(&planned, &mut known).await?;
        let one_by_one = search.one_by_one(request, &planned, &mut known).await?;
        let limit = request.limit;
        let leaf = |step: String| Plan { step, members: None, parts: vec![] };
        let plan = match &choice {
            Choice::Nothing => leaf("nothing matches: one of the lists is empty".to_owned()),
            Choice::Walk(None) => leaf(format!("walk along {list} until {limit} are found")),
            Choice::Walk(Some(node)) => Plan {
                step: format!("walk along {list}, look at each, until {limit} match"),
                members: None,
                parts: vec![self.tree(request, &node.outline(), &known)],
            },
            Choice::Merge(_, prefixes, node) => Plan {
                step: format!(
                    "merge what of {list} has each of these facets until {limit} are found"
                ),
                members: None,
                parts: self.combinations(request, prefixes, node.as_deref().zip(Some(&known))),
            },
            Choice::Sift(node, _) => Plan {
                step: format!("walk along {list}, look at what matches, until {limit} are found"),
                members: None,
                parts: vec![self.tree(request, &node.outline(), &known)],
            },
            Choice::Numbers(node) => Plan {
                step: format!(
                    "go through what matches in order of creation until {limit} are found"
                ),
                members: None,
                parts: vec![self.tree(request, &node.outline(), &known)],
            },
            Choice::Column(node) => Plan {
                step: format!("take the first {limit} that match in the order of {list}"),
                members: None,
                parts: vec![self.tree(request, &node.outline(), &known)],
            },
            Choice::Sort(node, few) => Plan {
                step: format!("take the {} that match and sort them as {list} is", few.len()),
                members: None,
                parts: vec![self.tree(request, &node.outline(), &known)],
            },
        };
        Ok(Explanation { plan, bound: request.budget, one_by_one })
    }

    /// Some combinations of facets in words, and what else is looked at.
    fn combinations(
        &self,
        request: &ListRequest,
        prefixes: &[Prefix],
        node: Option<(&dyn Node, &Known)>,
    ) -> Vec<Plan> {
        let leaf = |step: String| Plan { step, members: None, parts: vec![] };
        let entity = self.layout.model().entity(request.entity);
        let facets = &entity.list(request.list).facets;
        let words = |prefix: &Prefix| {
            let values = KeyBytes::decode(prefix).unwrap_or_default();
            let pairs = facets.iter().zip(&values).map(|(field, value)| match value {
                Value::B(_) => format!("no `{}`", entity.field(*field).name),
                value => format!("`{}` is `{}`", entity.field(*field).name, text_of(value)),
            });
            leaf(pairs.collect::<Vec<_>>().join(", "))
        };
        let mut parts: Vec<Plan> = prefixes.iter().take(COMBINATIONS_SHOWN).map(words).collect();
        if let Some(more) = prefixes.len().checked_sub(COMBINATIONS_SHOWN).filter(|more| *more > 0)
        {
            parts.push(leaf(format!("and {more} more")));
        }
        parts.extend(node.map(|(node, known)| self.tree(request, &node.outline(), known)));
        parts
    }

    fn tree(&self, request: &ListRequest, outline: &Outline, known: &Known) -> Plan {
        let entity = self.layout.model().entity(request.entity);
        let (step, members) = match &outline.step {
            Step::Read { list, .. } => (list.describe(entity), Some(known.size(list))),
            Step::Combine(words) => ((*words).to_owned(), None),
        };
        let parts = outline.parts.iter().map(|part| self.tree(request, part, known)).collect();
        Plan { step, members, parts }
    }
}

impl Choice {
    /// What matches, if that is looked for.
    fn node(&self) -> Option<&dyn Node> {
        match self {
            Choice::Walk(node) | Choice::Merge(_, _, node) => node.as_deref(),
            Choice::Sift(node, _)
            | Choice::Numbers(node)
            | Choice::Column(node)
            | Choice::Sort(node, _) => Some(&**node),
            Choice::Nothing => None,
        }
    }
}

impl Search<'_> {
    /// None if the filter is no AND of tags.
    async fn one_by_one(
        &mut self,
        request: &ListRequest,
        planned: &[PostingList],
        known: &mut Known,
    ) -> Result<Option<OneByOne>, Error> {
        let tags = match &request.filter {
            Some(tag @ Filter::Tag { .. }) => std::slice::from_ref(tag),
            Some(Filter::All(filters)) => &filters[..],
            Some(_) | None => return Ok(None),
        };
        let layout = self.reader.layout;
        let name = |filter: &Filter| match filter {
            Filter::Tag { field, key, value } => {
                let group = Group::Tag(*field, key, value);
                let tenant = request.tenant.as_ref();
                PostingOwner { layout, entity: request.entity, tenant }.list(&group)
            }
            _ => None,
        };
        let Some(names) = tags.iter().map(name).collect::<Option<Vec<PostingList>>>() else {
            return Ok(None);
        };
        self.learn(&names, known).await?;
        let matching = match known.in_all(planned) {
            Some(matching) if !planned.is_empty() => matching,
            Some(_) | None => self.reader.total(request).await?.count,
        };
        let page = u64::from(request.limit);
        Ok(Some(OneByOne {
            tags: ListReads::of(&known.sizes(&names), page),
            planned: ListReads::of(&known.sizes(planned), page),
            entities: matching.min(page),
        }))
    }

    /// Finds out how many are in some lists. Where lists are rows these are read, each once.
    async fn learn(&mut self, lists: &[PostingList], known: &mut Known) -> Result<(), Error> {
        let is_new = |list: &&PostingList| !known.0.contains_key(&list.name);
        let new: Vec<PostingList> = lists.iter().filter(is_new).cloned().collect();
        if self.sets().is_some() {
            let lists = self.sizes(&new).await?.into_iter().map(|size| List { size, all: None });
            known.0.extend(new.into_iter().map(|list| list.name).zip(lists));
            return Ok(());
        }
        for new in new {
            let name = new.name.clone();
            let (members, are_all) = PostingRows::new(new).first_members(self, COUNTED_MAX).await?;
            let list = List { size: members.len(), all: are_all.then_some(members) };
            known.0.insert(name, list);
        }
        Ok(())
    }
}

/// The tree as a drawing.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.draw(f, "", "")
    }
}

impl Plan {
    fn draw(&self, f: &mut fmt::Formatter<'_>, first: &str, rest: &str) -> fmt::Result {
        let members = self.members.map(|members| format!(" ({members})")).unwrap_or_default();
        writeln!(f, "{first}{}{members}", self.step)?;
        let last = self.parts.len().saturating_sub(1);
        for (index, part) in self.parts.iter().enumerate() {
            let (branch, below) =
                if index == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            part.draw(f, &format!("{rest}{branch}"), &format!("{rest}{below}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures of the document on item tagging, with pages of 20.
    #[test]
    fn one_by_one_reads_what_the_document_says() {
        let good = ListReads::of(&[50, 80, 20], 20);
        assert_eq!(good, ListReads { best: 60, worst: 150 });
        let bad = ListReads::of(&[1_000_000, 9_000_000, 2_000_000], 20);
        assert_eq!(bad, ListReads { best: 60, worst: 12_000_000 });
        assert_eq!(ListReads::of(&[3], 20), ListReads { best: 3, worst: 3 });
    }

    #[test]
    fn a_plan_is_drawn_as_a_tree() {
        let leaf = |step: &str, members| Plan { step: step.to_owned(), members, parts: vec![] };
        let inner = Plan { parts: vec![leaf("c", Some(1)), leaf("d", None)], ..leaf("b", None) };
        let plan = Plan { parts: vec![inner, leaf("e", Some(2))], ..leaf("a", None) };
        assert_eq!(plan.to_string(), "a\n├─ b\n│  ├─ c (1)\n│  └─ d\n└─ e (2)\n");
    }
}
