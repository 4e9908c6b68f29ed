//! The rows of posting lists on a store without sets: deltas, directories and chunks, as items.

use std::collections::BTreeMap;

use keyloom_value::{Condition, Item, Path, SetValue, Update, Value};

use super::attribute::PARTITION;
use super::{RowKey, Unreadable};

/// Of a delta row: the stamp of the last write, which no other write has.
const LAST: &str = "last";
/// Of a delta row: the changes, in the order of writes.
const CHANGES: &str = "changes";
/// Of a change: the stamp of its write, the lists joined and the lists left.
const STAMP: &str = "s";
const JOINED: &str = "i";
const LEFT: &str = "o";
/// Of a directory row: its version, and the number of members by chunk.
const VERSION: &str = "version";
const COUNTS: &str = "counts";
/// Of a chunk row.
const MEMBERS: &str = "members";

/// Members up to which a chunk is a list of two bytes each: longer lists are bitmaps.
const SPARSE_MAX: usize = 4096;
const BITMAP_BYTES: usize = Chunk::ORDINALS as usize / 8;

/// What writes have changed in posting lists for one ordinal, and what is not folded yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// The changes, in the order of writes.
    pub changes: Vec<DeltaChange>,
}

/// What one write has changed for one ordinal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeltaChange {
    /// Identifies the write.
    pub stamp: String,
    /// The names of lists that it has joined.
    pub joined: Vec<Vec<u8>>,
    /// The names of lists that it has left.
    pub left: Vec<Vec<u8>>,
}

impl DeltaChange {
    /// The update of a delta row that appends this change. It needs no condition: updates of a row are
    /// applied one after the other, so the changes are in the order of writes.
    pub fn append(&self) -> Update {
        let before = SetValue::if_missing(Path::from(CHANGES), Value::L(vec![]));
        Update::new()
            .set(Path::from(LAST), Value::from(self.stamp.as_str()))
            .set(Path::from(CHANGES), SetValue::append(before, Value::L(vec![self.to_value()])))
    }

    fn to_value(&self) -> Value {
        let names = |names: &[Vec<u8>]| Value::L(names.iter().cloned().map(Value::B).collect());
        Value::M(Item::from([
            (STAMP, Value::from(self.stamp.as_str())),
            (JOINED, names(&self.joined)),
            (LEFT, names(&self.left)),
        ]))
    }

    fn read(value: &Value) -> Option<DeltaChange> {
        let Value::M(change) = value else { return None };
        let names = |name: &str| match change.get(name) {
            Some(Value::L(names)) => {
                names.iter().map(|name| name.as_b().map(<[u8]>::to_vec)).collect()
            }
            Some(_) | None => None,
        };
        let stamp = change.get(STAMP)?.as_s()?.to_owned();
        Some(DeltaChange { stamp, joined: names(JOINED)?, left: names(LEFT)? })
    }
}

impl Delta {
    /// The attribute that changes with every write.
    pub const LAST: &'static str = LAST;

    /// Reads a delta row.
    ///
    /// # Errors
    ///
    /// If an attribute is damaged.
    pub fn read(row: &Item) -> Result<Delta, Unreadable> {
        let changes = match row.get(CHANGES) {
            Some(Value::L(changes)) => changes.iter().map(DeltaChange::read).collect(),
            Some(_) | None => None,
        };
        changes.map(|changes| Delta { changes }).ok_or(Unreadable { attribute: CHANGES })
    }

    /// The stamp of the last write.
    pub fn last(&self) -> Option<&str> {
        self.changes.last().map(|change| change.stamp.as_str())
    }

    /// For each list that is mentioned, whether the ordinal is in it.
    pub fn states(&self) -> BTreeMap<&[u8], bool> {
        let mut states = BTreeMap::new();
        for change in &self.changes {
            states.extend(change.joined.iter().map(|name| (name.as_slice(), true)));
            states.extend(change.left.iter().map(|name| (name.as_slice(), false)));
        }
        states
    }

    /// Which change the write with a stamp has made. None if it is not among them: others have removed
    /// it.
    pub fn position(&self, stamp: &str) -> Option<usize> {
        self.changes.iter().position(|change| change.stamp == stamp)
    }

    /// The update that removes the first changes of a row, and the condition that the last one of them
    /// is of the write with a stamp: changes that were appended since do not matter.
    pub fn remove_first(count: usize, stamp: &str) -> (Update, Condition) {
        let change = |place: usize| Path::from(CHANGES).element(place);
        // The last first: some servers remove elements one by one, each moving the next.
        let places = (0..count).rev();
        let update = places.fold(Update::new(), |update, place| update.remove(change(place)));
        let last = change(count.saturating_sub(1)).member(STAMP);
        (update, Condition::equal(last, Value::from(stamp)))
    }
}

/// Which chunks a posting list has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    /// Changes whenever the list is folded.
    pub version: String,
    /// The number of members of each chunk that has any.
    pub counts: BTreeMap<u64, u32>,
}

impl Directory {
    /// Reads a directory row.
    ///
    /// # Errors
    ///
    /// If an attribute is damaged.
    pub fn read(row: &Item) -> Result<Directory, Unreadable> {
        let wrong = |attribute: &'static str| Unreadable { attribute };
        let version = row.get(VERSION).and_then(Value::as_s).ok_or_else(|| wrong(VERSION))?;
        let packed = row.get(COUNTS).and_then(Value::as_b).ok_or_else(|| wrong(COUNTS))?;
        let (entries, rest) = packed.as_chunks::<10>();
        if !rest.is_empty() {
            return Err(wrong(COUNTS));
        }
        let entry = |entry: &[u8; 10]| {
            let [a, b, c, d, e, f, count @ ..] = *entry;
            (u64::from_be_bytes([0, 0, a, b, c, d, e, f]), u32::from_be_bytes(count))
        };
        let counts = entries.iter().map(entry).collect();
        Ok(Directory { version: version.to_owned(), counts })
    }

    /// The row, with its key.
    pub fn row(&self, key: &RowKey) -> Item {
        let pack = |(chunk, count): (&u64, &u32)| {
            let mut packed = chunk.to_be_bytes()[2..].to_vec();
            packed.extend(count.to_be_bytes());
            packed
        };
        let mut row = key.to_item();
        row.insert(VERSION, self.version.as_str());
        row.insert(COUNTS, Value::B(self.counts.iter().flat_map(pack).collect()));
        row
    }

    /// The condition that the row is as it was read; none if there was no row.
    pub fn unchanged(before: Option<&Directory>) -> Condition {
        match before {
            None => Condition::missing(PARTITION),
            Some(before) => {
                let version = Value::from(before.version.as_str());
                Condition::equal(Path::from(VERSION), version)
            }
        }
    }
}

/// The members of a posting list among 65,536 ordinals, as a row holds them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Ascending; each is the ordinal minus the first one of the chunk.
    pub members: Vec<u16>,
}

impl Chunk {
    /// The number of ordinals that one chunk spans.
    pub const ORDINALS: u64 = 1 << 16;

    /// Reads a chunk row.
    ///
    /// # Errors
    ///
    /// If the attribute is damaged.
    pub fn read(row: &Item) -> Result<Chunk, Unreadable> {
        let wrong = || Unreadable { attribute: MEMBERS };
        let packed = row.get(MEMBERS).and_then(Value::as_b).ok_or_else(wrong)?;
        let members = match packed.len() {
            BITMAP_BYTES => members_of(packed),
            _ => {
                let (pairs, rest) = packed.as_chunks::<2>();
                let members: Vec<u16> = pairs.iter().copied().map(u16::from_be_bytes).collect();
                let is_valid = rest.is_empty() && members.is_sorted_by(|left, right| left < right);
                is_valid.then_some(members).ok_or_else(wrong)?
            }
        };
        Ok(Chunk { members })
    }

    /// The row, with its key.
    pub fn row(&self, key: &RowKey) -> Item {
        let packed = match self.members.len() < SPARSE_MAX {
            true => self.members.iter().flat_map(|member| member.to_be_bytes()).collect(),
            false => bitmap_of(&self.members),
        };
        let mut row = key.to_item();
        row.insert(MEMBERS, Value::B(packed));
        row
    }
}

fn bitmap_of(members: &[u16]) -> Vec<u8> {
    let mut bitmap = vec![0_u8; BITMAP_BYTES];
    for member in members {
        bitmap[usize::from(*member) / 8] |= 0x80 >> (member % 8);
    }
    bitmap
}

fn members_of(bitmap: &[u8]) -> Vec<u16> {
    let of_byte = |(index, byte): (usize, &u8)| {
        let byte = *byte;
        let bits = (0..8_usize).filter(move |bit| byte & (0x80 >> bit) != 0);
        bits.filter_map(move |bit| u16::try_from(8 * index + bit).ok())
    };
    bitmap.iter().enumerate().flat_map(of_byte).collect()
}

#[cfg(test)]
mod tests {
    use keyloom_value::KeyBytes;

    use super::super::ChunkKeys;
    use super::*;

    fn key() -> RowKey {
        let mut name = KeyBytes::new();
        name.push_text("a");
        ChunkKeys::chunk_key(name.as_bytes(), 3)
    }

    #[test]
    fn chunks_of_any_size_are_read_as_they_were_written() {
        let every = |step: u16| (0..=u16::MAX).filter(|member| member % step == 0).collect();
        let sizes = [0, 1, SPARSE_MAX - 1, SPARSE_MAX, SPARSE_MAX + 1];
        let first = |size: usize| (0..=u16::MAX).rev().take(size).rev().collect();
        let all: Vec<Vec<u16>> =
            sizes.into_iter().map(first).chain([1, 2, 3, 16, 1000].map(every)).collect();
        for members in all {
            let chunk = Chunk { members };
            assert_eq!(Chunk::read(&chunk.row(&key())), Ok(chunk));
        }
    }

    #[test]
    fn damaged_chunks_are_refused() {
        for packed in [vec![1], vec![0, 2, 0, 1], vec![0, 1, 0, 1]] {
            let mut row = key().to_item();
            row.insert(MEMBERS, Value::B(packed));
            assert_eq!(Chunk::read(&row), Err(Unreadable { attribute: MEMBERS }));
        }
    }

    #[test]
    fn directories_are_read_as_they_were_written() {
        let counts = BTreeMap::from([(0, 65_536), (7, 1), ((1 << 48) - 1, 9)]);
        let directory = Directory { version: "v".to_owned(), counts };
        assert_eq!(Directory::read(&directory.row(&key())), Ok(directory));
    }

    #[test]
    fn appended_changes_are_read_in_the_order_of_writes() {
        let change = |stamp: &str, joined: &[&[u8]], left: &[&[u8]]| DeltaChange {
            stamp: stamp.to_owned(),
            joined: joined.iter().map(|name| name.to_vec()).collect(),
            left: left.iter().map(|name| name.to_vec()).collect(),
        };
        let changes = [change("1", &[b"a", b"b"], &[]), change("2", &[b"c"], &[b"a"])];
        let mut row = key().to_item();
        for change in &changes {
            row = change.append().apply(&row).expect("it applies");
        }
        let delta = Delta::read(&row).expect("a delta");
        assert_eq!(delta.changes, changes);
        assert_eq!(row.get(Delta::LAST), Some(&Value::from("2")));
        let states = [(&b"a"[..], false), (b"b", true), (b"c", true)];
        assert_eq!(delta.states(), BTreeMap::from(states));
        assert_eq!((delta.position("2"), delta.position("3")), (Some(1), None));
        let (first, is_first) = Delta::remove_first(1, "1");
        assert!(is_first.holds(Some(&row)) && !Delta::remove_first(1, "2").1.holds(Some(&row)));
        let rest = first.apply(&row).expect("it applies");
        assert_eq!(Delta::read(&rest).map(|rest| rest.changes), Ok(changes[1..].to_vec()));
    }
}
