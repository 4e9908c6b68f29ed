//! A summary of portable rows: how many there are of each kind, and a number that depends on all of
//! their contents. Two sources with the same summary have the same rows, in whatever order.
//!
//! The number is the sum of the hashes of all rows, so that parts can be summed up in any order.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::try_join_all;
use keyloom_store::Segment;
use keyloom_value::{Item, Value};
use sha2::{Digest, Sha256};

use super::portable::{SYSTEM, expiry_ms, kind_of};
use super::{CopyFrom, CopyRow};
use crate::answer::Answer;
use crate::error::Error;

/// How much longer a row must be kept to be compared: the store may remove it meanwhile.
const LASTING_MS: i64 = 6 * 60 * 60 * 1000;

/// How many rows there are of each kind, and what is in them.
///
/// [`summarize`] has an example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary(BTreeMap<String, Tally>);

/// The rows of one kind.
///
/// [`summarize`] has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many there are.
    pub rows: u64,
    /// The sum of their hashes.
    pub sum: u128,
}

impl Summary {
    /// The rows of each kind: names of entities, and `system rows`.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, Tally)> {
        self.0.iter().map(|(kind, tally)| (kind.as_str(), *tally))
    }

    /// The number of entities.
    pub fn entities(&self) -> u64 {
        let kinds = self.kinds().filter(|(kind, _)| *kind != SYSTEM);
        kinds.map(|(_, tally)| tally.rows).sum()
    }

    /// Adds a portable row.
    pub fn add(&mut self, row: &Item) {
        self.add_as(&kind_of(row), row);
    }

    /// Adds any other item, under a name.
    pub fn add_as(&mut self, kind: &str, item: &Item) {
        let mut hash = Sha256::new();
        hash_item(&mut hash, item);
        let hash: [u8; 32] = hash.finalize().into();
        let mut first = [0; 16];
        first.copy_from_slice(&hash[..16]);
        let tally = self.0.entry(kind.to_owned()).or_default();
        tally.rows += 1;
        tally.sum = tally.sum.wrapping_add(u128::from_be_bytes(first));
    }

    /// The summary as an item.
    pub fn to_item(&self) -> Item {
        let tally = |(kind, tally): (&String, &Tally)| {
            let pair = [Value::from(tally.rows), Value::B(tally.sum.to_be_bytes().to_vec())];
            (keyloom_value::Name::from(kind.as_str()), Value::L(pair.to_vec()))
        };
        self.0.iter().map(tally).collect()
    }

    /// Returns a sentence for each kind in which two summaries differ.
    pub fn differences(&self, other: &Summary) -> Vec<String> {
        let kinds: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let tally = |of: &Summary, kind: &String| of.0.get(kind).copied().unwrap_or_default();
        let differs = kinds.into_iter().filter(|kind| tally(self, kind) != tally(other, kind));
        differs
            .map(|kind| match (tally(self, kind).rows, tally(other, kind).rows) {
                (ours, theirs) if ours == theirs => format!("some of {ours} `{kind}` differ"),
                (ours, theirs) => format!("{ours} and {theirs} `{kind}`"),
            })
            .collect()
    }

    fn merge(mut self, other: Summary) -> Summary {
        for (kind, tally) in other.0 {
            let sum = self.0.entry(kind).or_default();
            sum.rows += tally.rows;
            sum.sum = sum.sum.wrapping_add(tally.sum);
        }
        self
    }
}

/// Sums up all rows of a source. Rows that the store may remove within
/// hours of `now_ms` are left out.
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Db, Options, copy::StoreSource, copy::summarize};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # let model = "[entity.task]\nfields.name = \"text\"";
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// # let db = Db::open(model, store.clone()).await?;
/// # db.create("task", &json!({ "name": "cook" })).await?;
/// let source = StoreSource::open(store, Options::default(), None).await?;
/// let summary = summarize(&source, 0, &|_| {}).await?;
/// assert_eq!(summary.entities(), 1);
/// for (kind, tally) in summary.kinds() {
///     println!("{kind}: {} rows", tally.rows);
/// }
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
///
/// # Errors
///
/// If the source fails.
pub fn summarize<'a>(
    from: &'a dyn CopyFrom,
    now_ms: i64,
    on_read: &'a (dyn Fn(u64) + Send + Sync),
) -> Answer<'a, Summary> {
    Box::pin(async move {
        let of = from.readers().max(1);
        let segments =
            (0..of).map(|number| segment_of(from, Segment { number, of }, now_ms, on_read));
        let parts = try_join_all(segments).await?;
        Ok(parts.into_iter().fold(Summary::default(), Summary::merge))
    })
}

async fn segment_of(
    from: &dyn CopyFrom,
    segment: Segment,
    now_ms: i64,
    on_read: &(dyn Fn(u64) + Send + Sync),
) -> Result<Summary, Error> {
    let (mut summary, mut after) = (Summary::default(), None);
    let lasting_ms = now_ms.saturating_add(LASTING_MS);
    loop {
        let page = from.page(segment, after.as_ref()).await?;
        for CopyRow { row, .. } in &page.rows {
            if expiry_ms(row).is_none_or(|at_ms| at_ms >= lasting_ms) {
                summary.add(row);
            }
        }
        on_read(page.read);
        match page.next {
            None => return Ok(summary),
            next => after = next,
        }
    }
}

/// Hashes an item so that no other item has the same bytes: every part has its type and length.
fn hash_item(hash: &mut Sha256, item: &Item) {
    hash_len(hash, b'm', item.len());
    for (name, value) in item.iter() {
        hash_bytes(hash, b'n', name.as_str().as_bytes());
        hash_value(hash, value);
    }
}

fn hash_value(hash: &mut Sha256, value: &Value) {
    match value {
        Value::S(text) => hash_bytes(hash, b'S', text.as_bytes()),
        Value::N(number) => hash_bytes(hash, b'N', number.to_string().as_bytes()),
        Value::B(bytes) => hash_bytes(hash, b'B', bytes),
        Value::Bool(is_true) => hash_len(hash, b'b', usize::from(*is_true)),
        Value::Null => hash_len(hash, b'0', 0),
        Value::L(values) => {
            hash_len(hash, b'L', values.len());
            values.iter().for_each(|value| hash_value(hash, value));
        }
        Value::M(item) => hash_item(hash, item),
        Value::Ss(texts) => {
            hash_len(hash, b's', texts.len());
            texts.iter().for_each(|text| hash_bytes(hash, b'S', text.as_bytes()));
        }
        Value::Ns(numbers) => {
            hash_len(hash, b'd', numbers.len());
            numbers.iter().for_each(|number| hash_bytes(hash, b'N', number.to_string().as_bytes()));
        }
        Value::Bs(all) => {
            hash_len(hash, b'y', all.len());
            all.iter().for_each(|bytes| hash_bytes(hash, b'B', bytes));
        }
    }
}

fn hash_bytes(hash: &mut Sha256, tag: u8, bytes: &[u8]) {
    hash_len(hash, tag, bytes.len());
    hash.update(bytes);
}

fn hash_len(hash: &mut Sha256, tag: u8, len: usize) {
    hash.update([tag]);
    hash.update((len as u64).to_be_bytes());
}
