//! Which tags and values of a facet the matches of a filter have, and how many have each.
//!
//! Values are in the order of their key bytes. A call counts until it has as many values as requested,
//! or its budget is spent. It continues at a value, an ordinal, and the count up to there, so that a
//! value of very many entities is counted over several calls.

use keyloom_model::{Entity, FieldId, FieldType, PostingKey, attribute, posting_row_prefix};
use keyloom_store::{Direction, ListSets, SetName};
use keyloom_value::{KeyBytes, Value};

use crate::fetch::unreadable;
use crate::fingerprint::Fingerprint;
use crate::hidden::Hidden;
use crate::nodes::{Node, NodeRef, PostingRows, PostingSet, Search, Sizes};
use crate::partition::Partition;
use crate::plan::Scope;
use crate::posting_list::{PostingList, PostingOf, PostingOwner};
use crate::span::Span;
use crate::visible::{ATTEMPTS_MAX, ReadState, Verdict};
use crate::{CursorError, CursorKey, Error, ListRequest, ReadCost, Reader, RequestError};

/// The values to count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counted {
    /// The values of a facet of the list.
    Facet(FieldId),
    /// The keys of tags in a field that begin with a text.
    TagKeys(FieldId, String),
    /// The values of a key of tags in a field that begin with a text.
    TagValues(FieldId, String, String),
}

/// A value, or the key of a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueCount {
    /// The value or key.
    pub value: Value,
    /// How many entities have it: at least one.
    pub count: u64,
}

/// Some of the values that entities have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValuePage {
    /// In the order of their key bytes.
    pub counts: Vec<ValueCount>,
    /// The cursor of those that follow; absent if nothing follows for sure.
    pub next: Option<String>,
    /// How much was read.
    pub read: ReadCost,
}

/// The posting lists of all values of one facet, of all keys, or of all values of one key.
struct Family {
    /// The prefix of their names, before the value.
    base: Vec<u8>,
    /// The prefix of the key parts to count.
    begin: Vec<u8>,
}

/// What is counted, and where.
struct Asked<'a> {
    request: &'a ListRequest,
    counted: &'a Counted,
    family: Family,
}

/// Where counting continues, as a client says it.
#[derive(Clone, Copy, Debug)]
pub struct Resume<'r> {
    /// The secret that authenticates cursors.
    pub cursors: &'r CursorKey,
    /// The cursor of a page before; none for the first page.
    pub cursor: Option<&'r str>,
}

/// The posting list of one value.
struct Member {
    /// The value as a part of a key.
    part: Vec<u8>,
    /// How many are in it, if that is known.
    size: Option<u64>,
}

/// Where counting continues.
#[derive(Clone, Default)]
struct Progress {
    /// The value that was counted last.
    part: Option<Vec<u8>>,
    /// If it was not counted to its end: the next ordinal, and the count before it.
    within: Option<(u64, u64)>,
}

impl Reader<'_> {
    /// Returns how many entities of a list that pass a filter have each value, at most
    /// `request.limit` values. Expired entities count until they are removed.
    ///
    /// # Errors
    ///
    /// If there is no such facet or no tags, a range is given, the cursor is of another query, the
    /// store fails, or a row is damaged.
    pub async fn count_values(
        &self,
        request: &ListRequest,
        counted: &Counted,
        resume: Resume<'_>,
    ) -> Result<ValuePage, Error> {
        let Resume { cursors, cursor } = resume;
        self.check_countable(request)?;
        self.check_counted(request, counted)?;
        let fingerprint = self.values_fingerprint(request, counted);
        let opened = cursor.map(|text| cursors.open(text, &fingerprint)).transpose()?;
        let from =
            opened.map(|place| Progress::from_bytes(&place)).transpose()?.unwrap_or_default();
        let Some(family) = self.family_of(request, counted) else {
            return Ok(ValuePage::default());
        };
        let mut state = ReadState::default();
        let asked = Asked { request, counted, family };
        let (counts, stopped) = self.counts_at_once(&asked, from, &mut state).await?;
        let entity = self.layout.model().entity(request.entity);
        let show = |(part, count): (Vec<u8>, u64)| {
            let value = shown(entity, counted, &part)?;
            Some(ValueCount { value, count })
        };
        let counts = counts.into_iter().filter_map(show).collect();
        let next = stopped.map(|place| cursors.seal(&fingerprint, &place.to_bytes()));
        Ok(ValuePage { counts, next, read: state.cost })
    }

    /// Counts at one moment, as far as deletions are concerned; and returns where to continue.
    async fn counts_at_once(
        &self,
        asked: &Asked<'_>,
        from: Progress,
        state: &mut ReadState,
    ) -> Result<(Vec<(Vec<u8>, u64)>, Option<Progress>), Error> {
        let Asked { request, counted, family } = asked;
        for _ in 0..ATTEMPTS_MAX {
            let hidden = &Hidden::read(self, PostingOwner::of(self, request), state).await?;
            let (direction, budget, cost) = (Direction::Forward, request.budget, &mut state.cost);
            let mut search = Search { reader: self, direction, budget, hidden, cost };
            let (node, _) = search.sized_node(request).await?;
            let (mut counts, mut stopped) = (vec![], None);
            if let Some(node) = node {
                let is_all = self.is_all(request, counted) && hidden.is_empty();
                let scope = search.scope(request);
                let mut counting = Counting { family, counted, scope, node, is_all, search };
                stopped = counting.run(from.clone(), request.limit, &mut counts).await?;
            }
            if state.confirm(self).await? == Verdict::Valid {
                return Ok((counts, stopped));
            }
        }
        Err(Error::Unanswered { rows: 1 })
    }

    fn check_counted(&self, request: &ListRequest, counted: &Counted) -> Result<(), RequestError> {
        let entity = self.layout.model().entity(request.entity);
        let list = entity.list(request.list);
        let name = |field: &FieldId| entity.field(*field).name.clone();
        match counted {
            Counted::Facet(field) if !list.facets.contains(field) => {
                Err(RequestError::NotAFacet { list: list.name.clone(), field: name(field) })
            }
            Counted::TagKeys(field, _) | Counted::TagValues(field, ..)
                if entity.field(*field).of != FieldType::Tags =>
            {
                Err(RequestError::NotTags { field: name(field) })
            }
            Counted::Facet(_) | Counted::TagKeys(..) | Counted::TagValues(..) => Ok(()),
        }
    }

    fn values_fingerprint(&self, request: &ListRequest, counted: &Counted) -> Fingerprint {
        let entity = self.layout.model().entity(request.entity);
        let name = |field: &FieldId| entity.field(*field).name.as_str();
        let what: [&str; 4] = match counted {
            Counted::Facet(field) => ["facet", name(field), "", ""],
            Counted::TagKeys(field, prefix) => ["keys", name(field), prefix, ""],
            Counted::TagValues(field, key, prefix) => ["values", name(field), key, prefix],
        };
        let list = PostingKey::List(request.list, &request.by);
        let list = self.layout.postings().name(request.entity, request.tenant.as_ref(), &list);
        let filter = request.filter.as_ref().map(|filter| filter.canonical(entity));
        Fingerprint::of_values(
            list.as_ref().map_or(&[][..], KeyBytes::as_bytes),
            &what,
            filter.as_deref(),
        )
    }

    /// Whether every entity that has a value is in the list and passes: then the value's posting list
    /// alone gives the count.
    fn is_all(&self, request: &ListRequest, counted: &Counted) -> bool {
        let name = |group: &PostingKey<'_>| {
            self.layout.postings().name(request.entity, request.tenant.as_ref(), group).ok()
        };
        let is_in_list = match counted {
            Counted::Facet(_) => true,
            Counted::TagKeys(..) | Counted::TagValues(..) => {
                name(&PostingKey::List(request.list, &request.by)) == name(&PostingKey::All)
            }
        };
        is_in_list && request.filter.is_none()
    }

    /// None if what is requested does not fit into a key.
    fn family_of(&self, request: &ListRequest, counted: &Counted) -> Option<Family> {
        let nothing = Value::from("");
        let group = match counted {
            Counted::Facet(field) => PostingKey::Facet(request.list, &request.by, *field, &nothing),
            Counted::TagKeys(field, prefix) => PostingKey::TagKey(*field, prefix),
            Counted::TagValues(field, key, prefix) => PostingKey::Tag(*field, key, prefix),
        };
        let name =
            self.layout.postings().name(request.entity, request.tenant.as_ref(), &group).ok()?;
        let (base, part) = posting_row_prefix(name.as_bytes());
        let begin: &[u8] = match counted {
            Counted::Facet(_) => &[],
            // Text ends with two bytes in a key; a prefix of text does not have them.
            Counted::TagKeys(..) | Counted::TagValues(..) => {
                KeyBytes::before(KeyBytes::before(part))
            }
        };
        Some(Family { base: base.to_vec(), begin: begin.to_vec() })
    }
}

/// The value that a part of a key stands for.
fn shown(entity: &Entity, counted: &Counted, part: &[u8]) -> Option<Value> {
    let (value, _) = KeyBytes::decode_part(part).ok()?;
    let Counted::Facet(field) = counted else { return Some(value) };
    match entity.field(*field).of {
        FieldType::Bool => Some(Value::Bool(value.as_n()?.to_i64()? != 0)),
        _ => Some(value),
    }
}

/// The key that has these bytes.
fn key_of(bytes: &[u8]) -> KeyBytes {
    let mut key = KeyBytes::new();
    for part in KeyBytes::decode(bytes).unwrap_or_default() {
        let pushed = key.push(&part);
        debug_assert!(pushed.is_ok(), "what was part of a key can be");
    }
    key
}

/// A count in progress, from value to value.
struct Counting<'c> {
    family: &'c Family,
    counted: &'c Counted,
    scope: Scope<'c>,
    /// The matches.
    node: NodeRef,
    /// Whether every entity with one of the values matches.
    is_all: bool,
    search: Search<'c>,
}

impl Counting<'_> {
    /// Counts from a position on; returns where to continue if it stops before the end.
    async fn run(
        &mut self,
        mut place: Progress,
        limit: u32,
        counts: &mut Vec<(Vec<u8>, u64)>,
    ) -> Result<Option<Progress>, Error> {
        loop {
            let (resumed, looked) = match (place.within.take(), place.part.take()) {
                (Some(within), Some(part)) => (Some(within), vec![Member { part, size: None }]),
                (_, after) => (None, self.members(after.as_deref(), limit).await?),
            };
            let Some(last) = looked.last().map(|member| member.part.clone()) else {
                return Ok(None);
            };
            for member in looked {
                let (count, rest) = self.count(&member, resumed).await?;
                if let Some(number) = rest {
                    let within = Some((number, count));
                    return Ok(Some(Progress { part: Some(member.part), within }));
                }
                let is_last = member.part == last;
                let part = member.part.clone();
                if count > 0 {
                    counts.push((member.part, count));
                }
                let is_full = counts.len() >= limit as usize || self.search.is_spent();
                if is_full && !(is_last && self.members(Some(&part), 1).await?.is_empty()) {
                    return Ok(Some(Progress { part: Some(part), within: None }));
                }
            }
            place.part = Some(last);
        }
    }

    /// Reads the values after one.
    async fn members(&mut self, after: Option<&[u8]>, limit: u32) -> Result<Vec<Member>, Error> {
        match self.search.sets() {
            Some(sets) => {
                let Family { base, begin } = self.family;
                let set = |part: &[u8]| SetName::new([&base[..], part].concat());
                let after = after.map(set).transpose().map_err(keyloom_store::Error::from)?;
                let (table, prefix) =
                    (self.search.reader.table.clone(), [&base[..], begin].concat());
                let list = ListSets { table, prefix, after, limit: limit.max(1) };
                let found = sets.list_sets(list).await?;
                self.search.cost.rows += found.len() as u64;
                let member = |found: keyloom_store::SetSize| Member {
                    part: found.set.as_bytes().get(base.len()..).unwrap_or_default().to_vec(),
                    size: Some(found.members),
                };
                Ok(found.into_iter().map(member).collect())
            }
            None => self.next_row(after).await.map(|found| found.into_iter().collect()),
        }
    }

    /// Reads the next value, where posting lists are rows: the first row after all of one value.
    async fn next_row(&mut self, after: Option<&[u8]>) -> Result<Option<Member>, Error> {
        let Family { base, begin } = self.family;
        let from = match after {
            None => Some(begin.clone()),
            Some(after) => KeyBytes::after_prefix(after),
        };
        let Some(from) = from else { return Ok(None) };
        let partition = Partition::of_table(base);
        let span = Span::new(Some(from), KeyBytes::after_prefix(begin));
        let request = partition.first(&span, 1);
        let page = self.search.reader.page(request, self.search.cost).await?;
        let Some(row) = page.items.first() else { return Ok(None) };
        let sort = partition.sort_of(row)?;
        let rest = KeyBytes::skip_part(sort).map_err(|_| {
            unreadable(row, keyloom_model::Unreadable { attribute: attribute::SORT })
        })?;
        let part = sort[..sort.len() - rest.len()].to_vec();
        Ok(Some(Member { part, size: None }))
    }

    /// The node that reads the posting list of a value.
    fn posting(&self, member: &Member) -> NodeRef {
        let name = key_of(&[&self.family.base[..], &member.part].concat());
        let value = KeyBytes::decode_part(&member.part).ok().map(|(value, _)| value);
        let text = || value.as_ref().and_then(Value::as_s).unwrap_or_default().to_owned();
        let of = match self.counted {
            Counted::Facet(field) => PostingOf::Facet {
                list: self.scope.list,
                field: *field,
                value: value.clone().unwrap_or(Value::Null),
            },
            Counted::TagKeys(..) => PostingOf::TagKey { key: text() },
            Counted::TagValues(_, key, _) => PostingOf::Tag { key: key.clone(), value: text() },
        };
        let list = PostingList { entity: self.scope.owner.entity, of, name };
        match self.search.sets() {
            Some(_) => PostingSet::new(list, member.size.unwrap_or(Sizes::UNKNOWN)).shared(),
            None => PostingRows::new(list).shared(),
        }
    }

    /// Counts the matches with a value; and returns where to continue if the budget is spent.
    async fn count(
        &mut self,
        member: &Member,
        resumed: Option<(u64, u64)>,
    ) -> Result<(u64, Option<u64>), Error> {
        if let (true, Some(size)) = (self.is_all, member.size) {
            return Ok((size, None));
        }
        let mut parts = vec![self.posting(member)];
        parts.extend((!self.is_all).then(|| self.node.clone()));
        let Some(node) = self.scope.intersection(parts) else { return Ok((0, None)) };
        let (mut from, mut count) = resumed.unwrap_or((self.search.start(), 0));
        loop {
            let batch = self.search.next(&*node, from).await?;
            count += batch.ordinals.len();
            match self.search.next_after(&batch) {
                None => return Ok((count, None)),
                Some(next) if self.search.is_spent() => return Ok((count, Some(next))),
                Some(next) => from = next,
            }
        }
    }
}

impl Progress {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = KeyBytes::new();
        let mut push = |value: Value| {
            let pushed = bytes.push(&value);
            debug_assert!(pushed.is_ok(), "bytes and numbers can be parts of a key");
        };
        push(Value::B(self.part.clone().unwrap_or_default()));
        if let Some((number, count)) = self.within {
            push(Value::from(number));
            push(Value::from(count));
        }
        bytes.into_vec()
    }

    /// Never refuses authentic bytes.
    fn from_bytes(bytes: &[u8]) -> Result<Progress, CursorError> {
        let parts = KeyBytes::decode(bytes).map_err(|_| CursorError::NotACursor)?;
        let number = |value: &Value| {
            let number = value.as_n().and_then(keyloom_value::Number::to_i64)?;
            u64::try_from(number).ok()
        };
        let (part, within) = match &parts[..] {
            [Value::B(part)] => (part, None),
            [Value::B(part), from, count] => {
                let [from, count] = [from, count].map(number);
                (part, Some(from.zip(count).ok_or(CursorError::NotACursor)?))
            }
            _ => return Err(CursorError::NotACursor),
        };
        Ok(Progress { part: Some(part.clone()), within })
    }
}
