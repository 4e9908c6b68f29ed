//! The stored rows: the same bytes for every contender.

/// Bytes of a row's body.
pub(crate) const BODY_BYTES: usize = 1024;
/// Bytes of a row's key: two strings of eight.
pub(crate) const KEY_BYTES: usize = 16;
/// Loaded rows that share a partition.
pub(crate) const PARTITION_ROWS: u64 = 100;
/// Rows of one range read.
pub(crate) const RANGE_ROWS: u64 = 20;
/// Distinct bodies; one per row would measure the generator.
const BODIES: u64 = 64;

/// The key of a row: a partition and a position in it, each eight hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowKey([u8; KEY_BYTES]);

/// A key and a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row<'a> {
    pub(crate) key: RowKey,
    pub(crate) body: &'a [u8],
}

/// The rows to load before measuring, computed on demand.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) count: u64,
    bodies: Vec<Vec<u8>>,
}

impl RowKey {
    pub(crate) fn new(partition: u32, position: u32) -> RowKey {
        let mut bytes = [0; KEY_BYTES];
        bytes.copy_from_slice(format!("{partition:08x}{position:08x}").as_bytes());
        RowKey(bytes)
    }

    /// Returns the key with these bytes; `None` if their number is wrong.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<RowKey> {
        bytes.try_into().ok().map(RowKey)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn partition(&self) -> &str {
        self.text(0..8)
    }

    pub(crate) fn position(&self) -> &str {
        self.text(8..16)
    }

    fn text(&self, range: std::ops::Range<usize>) -> &str {
        std::str::from_utf8(&self.0[range]).unwrap_or_default()
    }
}

impl Rows {
    pub(crate) fn new(count: u64) -> Rows {
        let body = |seed| {
            let mut random = Random::new(seed);
            let words = std::iter::repeat_with(|| random.next().to_le_bytes());
            words.flatten().take(BODY_BYTES).collect()
        };
        Rows { count, bodies: (0..BODIES).map(body).collect() }
    }

    /// Returns all rows, partition by partition, in no particular order of partitions.
    pub(crate) fn all(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.count).map(|index| Row { key: key(index), body: self.body(index) })
    }

    /// Returns a random loaded row.
    pub(crate) fn any(&self, random: &mut Random) -> Row<'_> {
        let index = random.below(self.count);
        Row { key: key(index), body: self.body(index) }
    }

    /// Returns a random key followed by a whole range in its partition.
    pub(crate) fn any_range(&self, random: &mut Random) -> RowKey {
        let partition = random.below(self.count / PARTITION_ROWS);
        let position = random.below(PARTITION_ROWS - RANGE_ROWS + 1);
        key(partition * PARTITION_ROWS + position)
    }

    /// Returns a row with a random key, which almost certainly does not exist yet.
    pub(crate) fn fresh(&self, random: &mut Random) -> Row<'_> {
        let bits = random.next();
        let [partition, position] = [bits >> 32, bits & u64::from(u32::MAX)].map(low_half);
        Row { key: RowKey::new(partition, position), body: self.body(bits) }
    }

    fn body(&self, index: u64) -> &[u8] {
        &self.bodies[(index % BODIES) as usize]
    }
}

fn key(index: u64) -> RowKey {
    RowKey::new(scattered(low_half(index / PARTITION_ROWS)), low_half(index % PARTITION_ROWS))
}

/// Permutes numbers pseudo-randomly: multiplying by an odd factor is invertible.
fn scattered(number: u32) -> u32 {
    let mixed = number.wrapping_mul(0x9e37_79b1);
    (mixed ^ (mixed >> 16)).wrapping_mul(0x85eb_ca6b)
}

fn low_half(number: u64) -> u32 {
    (number & u64::from(u32::MAX)) as u32
}

/// A seeded random number generator (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below the limit. The bias is one in 2^64 / limit.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn loaded_keys_are_distinct_and_ranges_stay_inside_a_partition() {
        let rows = Rows::new(10_050);
        let keys: BTreeSet<RowKey> = rows.all().map(|row| row.key).collect();
        assert_eq!(keys.len(), 10_050);
        let mut random = Random::new(1);
        for _ in 0..1000 {
            let from = rows.any_range(&mut random);
            let range: Vec<&RowKey> = keys.range(from..).take(20).collect();
            assert_eq!(range.len(), 20);
            assert!(range.iter().all(|key| key.partition() == from.partition()));
        }
    }

    #[test]
    fn a_key_consists_of_two_strings() {
        let key = RowKey::new(0xab, 7);
        assert_eq!((key.partition(), key.position()), ("000000ab", "00000007"));
        assert_eq!(key.bytes(), b"000000ab00000007");
    }
}
