//! Which tags and values of a facet the matches of a filter have, and how many have each.
//!
//! Values are in the order of their key bytes. A call counts until it has as many values as requested,
//! or its budget is spent. It continues at a value, an ordinal, and the count up to there, so that a
//! value of very many entities is counted over several calls.

use keyloom_model::{Entity, FieldId, FieldType, PostingKey, posting_row_prefix};
use keyloom_store::Direction;
use keyloom_value::{KeyBytes, Value};

use crate::chunks::{ChunkView, ListSize};
use crate::fingerprint::Fingerprint;
use crate::hidden::Hidden;
use crate::nodes::{Intersection, Node, NodeRef, PostingSet, Search, Sizes};
use crate::plan::{Scope, SizedPlan};
use crate::posting_list::{PostingList, PostingOf, PostingOwner};
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
struct ValueLists {
    /// The prefix of their names, before the value.
    base: Vec<u8>,
    /// The prefix of the key parts to count.
    begin: Vec<u8>,
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

/// The values of a list's matches, to be counted.
pub(crate) struct ValuesQuery<'q> {
    pub(crate) reader: &'q Reader<'q>,
    pub(crate) request: &'q ListRequest,
    pub(crate) counted: &'q Counted,
}

impl ValuesQuery<'_> {
    /// Counts the first values, or those after a cursor.
    pub(crate) async fn read(&self, resume: Resume<'_>) -> Result<ValuePage, Error> {
        let Resume { cursors, cursor } = resume;
        self.request.check_countable(self.reader.layout)?;
        self.check_counted()?;
        let fingerprint = self.fingerprint();
        let opened = cursor.map(|text| cursors.open(text, &fingerprint)).transpose()?;
        let from =
            opened.map(|place| Progress::from_bytes(&place)).transpose()?.unwrap_or_default();
        let Some(lists) = self.lists() else { return Ok(ValuePage::default()) };
        let mut state = ReadState::default();
        let (counts, stopped) = self.counts_at_once(&lists, from, &mut state).await?;
        let show = |(part, count): (Vec<u8>, u64)| {
            let value = shown(self.entity(), self.counted, &part)?;
            Some(ValueCount { value, count })
        };
        let counts = counts.into_iter().filter_map(show).collect();
        let next = stopped.map(|place| cursors.seal(&fingerprint, &place.to_bytes()));
        Ok(ValuePage { counts, next, read: state.cost })
    }

    fn entity(&self) -> &Entity {
        self.reader.layout.model().entity(self.request.entity)
    }

    /// Counts at one moment, as far as deletions are concerned; and returns where to continue.
    async fn counts_at_once(
        &self,
        lists: &ValueLists,
        from: Progress,
        state: &mut ReadState,
    ) -> Result<(Vec<(Vec<u8>, u64)>, Option<Progress>), Error> {
        let ValuesQuery { reader, request, counted } = *self;
        for _ in 0..ATTEMPTS_MAX {
            let view = &mut ChunkView::new(request.entity, request.tenant.as_ref());
            let owner = PostingOwner::of(reader, request);
            let hidden = &Hidden::read(reader, owner, state, view).await?;
            let (direction, budget, cost) = (Direction::Forward, request.budget, &mut state.cost);
            let mut search = Search { reader, direction, budget, hidden, cost, view };
            let SizedPlan { node, .. } = SizedPlan::read(&mut search, request).await?;
            let (mut counts, mut stopped) = (vec![], None);
            if let Some(node) = node {
                let is_all = self.is_all() && hidden.is_empty();
                let scope = Scope::of(&search, request);
                let mut counting = Counting { lists, counted, scope, node, is_all, search };
                stopped = counting.run(from.clone(), request.limit, &mut counts).await?;
            }
            if state.confirm(reader.rows()).await? == Verdict::Valid {
                return Ok((counts, stopped));
            }
        }
        Err(Error::Unanswered { rows: 1 })
    }

    fn check_counted(&self) -> Result<(), RequestError> {
        let entity = self.entity();
        let list = entity.list(self.request.list);
        let name = |field: &FieldId| entity.field(*field).name.clone();
        match self.counted {
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

    fn fingerprint(&self) -> Fingerprint {
        let entity = self.entity();
        let name = |field: &FieldId| entity.field(*field).name.as_str();
        let what: [&str; 4] = match self.counted {
            Counted::Facet(field) => ["facet", name(field), "", ""],
            Counted::TagKeys(field, prefix) => ["keys", name(field), prefix, ""],
            Counted::TagValues(field, key, prefix) => ["values", name(field), key, prefix],
        };
        let list = self.name(&PostingKey::List(self.request.list, &self.request.by));
        let filter = self.request.filter.as_ref().map(|filter| filter.canonical(entity));
        Fingerprint::of_values(
            list.as_ref().map_or(&[][..], KeyBytes::as_bytes),
            &what,
            filter.as_deref(),
        )
    }

    /// The name of a posting list; none if it does not fit into a key.
    fn name(&self, list: &PostingKey<'_>) -> Option<KeyBytes> {
        let ListRequest { entity, tenant, .. } = self.request;
        self.reader.layout.postings().name(*entity, tenant.as_ref(), list).ok()
    }

    /// Whether every entity that has a value is in the list and passes: then the value's posting list
    /// alone gives the count.
    fn is_all(&self) -> bool {
        let is_in_list = match self.counted {
            Counted::Facet(_) => true,
            Counted::TagKeys(..) | Counted::TagValues(..) => {
                let list = PostingKey::List(self.request.list, &self.request.by);
                self.name(&list) == self.name(&PostingKey::All)
            }
        };
        is_in_list && self.request.filter.is_none()
    }

    /// The posting lists of the values; none if what is requested does not fit into a key.
    fn lists(&self) -> Option<ValueLists> {
        let nothing = Value::from("");
        let ListRequest { list, by, .. } = self.request;
        let name = self.name(&match self.counted {
            Counted::Facet(field) => PostingKey::Facet(*list, by, *field, &nothing),
            Counted::TagKeys(field, prefix) => PostingKey::TagKey(*field, prefix),
            Counted::TagValues(field, key, prefix) => PostingKey::Tag(*field, key, prefix),
        })?;
        let (base, part) = posting_row_prefix(name.as_bytes());
        let begin: &[u8] = match self.counted {
            Counted::Facet(_) => &[],
            // Text ends with two bytes in a key; a prefix of text does not have them.
            Counted::TagKeys(..) | Counted::TagValues(..) => {
                KeyBytes::before(KeyBytes::before(part))
            }
        };
        Some(ValueLists { base: base.to_vec(), begin: begin.to_vec() })
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
    lists: &'c ValueLists,
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
        // The last value of a full page: it has a next one only if another value follows that counts.
        let mut full: Option<Vec<u8>> = None;
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
                let is_over = count > 0 || rest.is_some() || self.search.is_spent();
                if let Some(part) = full.take_if(|_| is_over) {
                    return Ok(Some(Progress { part: Some(part), within: None }));
                }
                if let Some(number) = rest {
                    let within = Some((number, count));
                    return Ok(Some(Progress { part: Some(member.part), within }));
                }
                let is_last = member.part == last;
                let part = member.part.clone();
                if count > 0 {
                    counts.push((member.part, count));
                }
                let is_spent = self.search.is_spent();
                if is_spent && !(is_last && self.members(Some(&part), 1).await?.is_empty()) {
                    return Ok(Some(Progress { part: Some(part), within: None }));
                }
                if counts.len() >= limit as usize && full.is_none() {
                    full = Some(part);
                }
            }
            place.part = Some(last);
        }
    }

    /// Reads the values after one.
    async fn members(&mut self, after: Option<&[u8]>, limit: u32) -> Result<Vec<Member>, Error> {
        let ValueLists { base, begin } = self.lists;
        let found = self.search.list(base, begin, after, limit).await?;
        let member = |ListSize { part, size }| Member { part, size: Some(size) };
        Ok(found.into_iter().map(member).collect())
    }

    /// The node that reads the posting list of a value.
    fn posting(&self, member: &Member) -> NodeRef {
        let name = key_of(&[&self.lists.base[..], &member.part].concat());
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
        PostingSet::new(list, member.size.unwrap_or(Sizes::UNKNOWN)).shared()
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
        let Some(node) = Intersection::of(parts) else { return Ok((0, None)) };
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
