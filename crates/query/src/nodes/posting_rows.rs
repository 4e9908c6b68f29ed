//! A posting list that is kept as rows of the table, one for each ordinal, for stores without sets.
//! Its size is unknown until they are read. Each row also names the owner of its ordinal.

use keyloom_model::{Unreadable, attribute, ordinal_of, posting_row_prefix};
use keyloom_store::{Direction, Members};
use keyloom_value::{Item, Value};

use super::postings::{self, Postings, ROWS_MAX};
use super::{Batch, Found, Node, NodeRef, Outline, Search, Sizes};
use crate::Error;
use crate::error::unreadable;
use crate::ordinal::ordinal_key;
use crate::partition::{PageRequest, Partition};
use crate::posting_list::PostingList;
use crate::span::Span;

/// Rows that one request reads of a posting list alone, at least: one more than the usual page has.
const ROWS_ALONE_MIN: u32 = 21;
/// Rows that one request reads of a posting list that is combined with others, at least.
const ROWS_COMBINED_MIN: u32 = 8;

#[derive(Clone, Debug)]
pub(crate) struct PostingRows {
    list: PostingList,
}

impl PostingRows {
    pub(crate) fn new(list: PostingList) -> PostingRows {
        PostingRows { list }
    }

    /// Reads at most this many rows, from an ordinal on.
    async fn read_rows(
        &self,
        search: &mut Search<'_>,
        from: u64,
        rows: u32,
    ) -> Result<Batch, Error> {
        let (key, prefix) = posting_row_prefix(self.list.name.as_bytes());
        let partition = Partition::of_table(key);
        let at = [prefix, &ordinal_key(from)].concat();
        let span = match search.direction {
            Direction::Forward => Span::within(prefix).starting_at(Some(at)),
            Direction::Backward => Span::within(prefix).ending_at(Some(at)),
        };
        let (direction, limit) = (search.direction, rows.max(1) as usize);
        let request = PageRequest { partition: &partition, span: &span, direction, limit };
        let page = request.read(search.reader.rows(), search.cost).await?;
        let ordinal = |row: &Item| {
            let sort = row.get(attribute::SORT).and_then(Value::as_b);
            let ordinal = sort.and_then(|sort| ordinal_of(sort.get(prefix.len()..)?));
            ordinal.ok_or_else(|| unreadable(row, Unreadable { attribute: attribute::SORT }))
        };
        let ordinals = page.items.iter().map(ordinal).collect::<Result<Vec<u64>, Error>>()?;
        let through = page.last_key.and(ordinals.last().copied());
        let owner =
            |row: &Item| row.get(attribute::OWNER).and_then(Value::as_b).map(<[u8]>::to_vec);
        let owners = ordinals.iter().zip(&page.items);
        let owners = owners.filter_map(|(ordinal, row)| Some((*ordinal, owner(row)?))).collect();
        let mut ordinals = ordinals.into_iter().collect();
        search.leave_out(&self.list, &mut ordinals);
        Ok(Batch { ordinals, through, owners })
    }

    /// As [`Node::next`], for a posting list that is combined with others: fewer rows at first.
    pub(super) async fn next_combined(
        &self,
        search: &mut Search<'_>,
        from: u64,
    ) -> Result<Batch, Error> {
        let rows = portion(search, ROWS_COMBINED_MIN);
        self.read_rows(search, from, rows).await
    }

    /// Returns the first ordinal at or beyond one.
    pub(super) async fn first_from(
        &self,
        search: &mut Search<'_>,
        from: u64,
    ) -> Result<Option<u64>, Error> {
        let (mut from, mut rows) = (from, 1);
        loop {
            let batch = self.read_rows(search, from, rows).await?;
            if let Some(first) = search.first(&batch.ordinals) {
                return Ok(Some(first));
            }
            // The rows that were read do not count any more.
            match search.next_after(&batch) {
                Some(next) => (from, rows) = (next, ROWS_MAX),
                None => return Ok(None),
            }
        }
    }

    /// Returns the first ordinals, up to a maximum, and whether these are all.
    pub(crate) async fn first_members(
        &self,
        search: &mut Search<'_>,
        count_max: u64,
    ) -> Result<(Members, bool), Error> {
        let (mut from, mut members) = (search.start(), Members::default());
        while members.len() < count_max {
            let rows = u32::try_from(count_max - members.len()).unwrap_or(ROWS_MAX).min(ROWS_MAX);
            let batch = self.read_rows(search, from, rows).await?;
            members.or(&batch.ordinals);
            match search.next_after(&batch) {
                Some(next) => from = next,
                None => return Ok((members, true)),
            }
        }
        Ok((members, false))
    }
}

/// How many rows to read next: as many as were read before, so that few are wasted and many take few
/// requests.
fn portion(search: &Search<'_>, rows_min: u32) -> u32 {
    u32::try_from(search.cost.rows).unwrap_or(ROWS_MAX).clamp(rows_min, ROWS_MAX)
}

impl Postings for PostingRows {
    fn read<'f>(
        &'f self,
        search: &'f mut Search<'_>,
        from: u64,
        rows_max: u32,
    ) -> Found<'f, Batch> {
        Box::pin(self.read_rows(search, from, rows_max))
    }
}

impl Node for PostingRows {
    fn next<'f>(&'f self, search: &'f mut Search<'_>, from: u64) -> Found<'f, Batch> {
        let rows = portion(search, ROWS_ALONE_MIN);
        Box::pin(self.read_rows(search, from, rows))
    }

    fn retain<'f>(&'f self, search: &'f mut Search<'_>, ordinals: Members) -> Found<'f, Members> {
        Box::pin(postings::retain(self, search, ordinals))
    }

    /// Rows are not counted: there may always be some.
    fn sized(&self, _sizes: &Sizes) -> Option<NodeRef> {
        Some(self.clone().shared())
    }

    fn size_max(&self) -> u64 {
        Sizes::UNKNOWN
    }

    fn posting_lists(&self, lists: &mut Vec<PostingList>) {
        lists.push(self.list.clone());
    }

    fn outline(&self) -> Outline {
        Outline::read(&self.list, Sizes::UNKNOWN)
    }

    fn as_rows(&self) -> Option<&PostingRows> {
        Some(self)
    }
}
