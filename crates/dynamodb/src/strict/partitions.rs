//! The partitions of one key space, a table or a global index: ranges of positions, each with its
//! capacity.
//!
//! A partition that has been throttled for a while is split where half of its recent requests are
//! on either side. That does not help with one key, nor with a sort key that only grows, so then
//! it is not done; and items that share a partition key stay together if the table has a local
//! index.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use keyloom_store::Time;

use super::bucket::Bucket;
use super::options::StrictOptions;
use super::position::Position;
use super::usage::{Access, Usage, Used};

/// How many recent requests a partition remembers, to find where to split.
const RECENT_MAX: usize = 256;
/// After this long without throttling, a partition is no longer hot.
const COOL_MS: u64 = 5_000;
/// The smallest part of the recent requests that either side of a split must have.
const SIDE_MIN: f64 = 0.2;

/// The partitions of a key space.
#[derive(Clone, Debug)]
pub(super) struct Partitions {
    /// By the first position of each; the first one starts at the least position of all.
    by_start: BTreeMap<Position, Partition>,
    rules: Rules,
    splits: u64,
}

/// What the partitions of a space have in common.
#[derive(Clone, Debug)]
struct Rules {
    write_units: f64,
    read_units: f64,
    burst: Duration,
    split_after: Duration,
    keeps_collections: bool,
}

/// A range of positions with its capacity.
#[derive(Clone, Debug)]
pub(super) struct Partition {
    read: Bucket,
    write: Bucket,
    recent: VecDeque<Position>,
    hot: Option<Hot>,
    /// What it consumed and refused, for reports.
    pub(super) usage: Usage,
    /// Why it was not split although it was hot.
    pub(super) unsplit: Option<Unsplit>,
}

/// Since when a partition has been throttled, and when it was last.
#[derive(Clone, Copy, Debug)]
struct Hot {
    since: Time,
    last: Time,
}

/// Why a hot partition stays whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unsplit {
    OneKey,
    GrowingKey,
    LocalIndex,
}

impl Partitions {
    /// Divides the key space into equal parts. `keeps_collections` if the table has a local index.
    pub(super) fn new(options: &StrictOptions, keeps_collections: bool, now: Time) -> Partitions {
        let rules = Rules {
            write_units: options.write_units,
            read_units: options.read_units,
            burst: options.burst,
            split_after: options.split_after,
            keeps_collections,
        };
        let count = u64::from(options.partitions.max(1));
        let starts = (0..count).map(|n| Position { hash: n * (u64::MAX / count), sort: vec![] });
        let by_start = starts.map(|start| (start, Partition::new(&rules, now))).collect();
        Partitions { by_start, rules, splits: 0 }
    }

    /// Whether the partition at a position admits another request. A refusal heats it up, and may
    /// split it.
    pub(super) fn admits(&mut self, position: &Position, access: Access, now: Time) -> bool {
        let split_after = self.rules.split_after;
        let Some(partition) = self.at(position) else { return true };
        partition.remember(position);
        if partition.bucket(access).has_room(now) {
            return true;
        }
        if partition.heat_up(now) >= split_after {
            self.split(position, now);
        }
        false
    }

    /// Consumes units of the partition at a position.
    pub(super) fn take(&mut self, position: &Position, used: Used, now: Time) {
        let Some(partition) = self.at(position) else { return };
        partition.bucket(used.access).take(used.units);
        partition.usage.add(used, now);
    }

    /// Consumes units of all partitions, an equal part of each.
    pub(super) fn take_evenly(&mut self, used: Used, now: Time) {
        let part = Used { units: used.units / self.by_start.len() as f64, ..used };
        for partition in self.by_start.values_mut() {
            partition.bucket(part.access).take(part.units);
            partition.usage.add(part, now);
        }
    }

    /// Returns the partitions in order, each with the position where it starts.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Position, &Partition)> {
        self.by_start.iter()
    }

    /// Returns how often a partition was split.
    pub(super) fn splits(&self) -> u64 {
        self.splits
    }

    fn at(&mut self, position: &Position) -> Option<&mut Partition> {
        self.by_start.range_mut(..=position.clone()).next_back().map(|(_, partition)| partition)
    }

    fn split(&mut self, position: &Position, now: Time) {
        let keeps_collections = self.rules.keeps_collections;
        let Some((start, partition)) = self.by_start.range_mut(..=position.clone()).next_back()
        else {
            return;
        };
        match split_point(&partition.recent, keeps_collections) {
            Ok(point) if point > *start => {
                let (start, usage) = (start.clone(), partition.usage.clone());
                let halved = Partition { usage, ..Partition::new(&self.rules, now) };
                self.by_start.insert(start, halved);
                self.by_start.insert(point, Partition::new(&self.rules, now));
                self.splits += 1;
            }
            Ok(_) => partition.stay_whole(Unsplit::OneKey),
            Err(why) => partition.stay_whole(why),
        }
    }
}

impl Partition {
    fn new(rules: &Rules, now: Time) -> Partition {
        let seconds = rules.burst.as_secs_f64();
        Partition {
            read: Bucket::new(rules.read_units, seconds, now),
            write: Bucket::new(rules.write_units, seconds, now),
            recent: VecDeque::new(),
            hot: None,
            usage: Usage::default(),
            unsplit: None,
        }
    }

    fn bucket(&mut self, access: Access) -> &mut Bucket {
        match access {
            Access::Read => &mut self.read,
            Access::Write => &mut self.write,
        }
    }

    fn remember(&mut self, position: &Position) {
        if self.recent.len() == RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(position.clone());
    }

    /// Notes why it is not split. That is considered again when it has been hot for as long again.
    fn stay_whole(&mut self, why: Unsplit) {
        (self.unsplit, self.hot) = (Some(why), None);
    }

    /// Counts a refusal. Returns for how long there have been some.
    fn heat_up(&mut self, now: Time) -> Duration {
        self.usage.throttled += 1;
        let hot = self.hot.filter(|hot| now.0.saturating_sub(hot.last.0) < COOL_MS);
        let since = hot.map_or(now, |hot| hot.since);
        self.hot = Some(Hot { since, last: now });
        Duration::from_millis(now.0.saturating_sub(since.0))
    }
}

/// Returns where to split so that either side has its part of the recent requests.
fn split_point(recent: &VecDeque<Position>, keeps_collections: bool) -> Result<Position, Unsplit> {
    if recent.len() == RECENT_MAX && is_growing(recent) {
        return Err(Unsplit::GrowingKey);
    }
    let mut sorted: Vec<Position> = recent.iter().cloned().collect();
    if keeps_collections {
        sorted.iter_mut().for_each(|position| position.sort.clear());
    }
    sorted.sort();
    let is_even = |point: &&Position| {
        let below = sorted.partition_point(|position| position < *point) as f64;
        let part = below / sorted.len() as f64;
        (SIDE_MIN..=1.0 - SIDE_MIN).contains(&part)
    };
    // The first position above the median, or else the median itself: duplicates of it stay together.
    let median = sorted.get(sorted.len() / 2);
    let above = median.and_then(|median| sorted.iter().find(|position| *position > median));
    let found = [above, median].into_iter().flatten().find(is_even);
    found.cloned().ok_or(match keeps_collections {
        true => Unsplit::LocalIndex,
        false => Unsplit::OneKey,
    })
}

/// Whether later requests of one partition key are all above earlier ones: the next will be, too.
fn is_growing(recent: &VecDeque<Position>) -> bool {
    let middle = recent.len() / 2;
    let earlier = recent.range(..middle).max();
    let later = recent.range(middle..).min();
    let is_one_collection = recent.iter().all(|position| position.hash == recent[0].hash);
    is_one_collection && earlier < later
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOUR_MS: u64 = 60 * 60 * 1000;

    fn options() -> StrictOptions {
        let split_after = Duration::from_secs(10);
        StrictOptions { burst: Duration::ZERO, split_after, ..StrictOptions::default() }
    }

    /// Offers a write of one unit to each position, every millisecond for two minutes. Returns how many
    /// were admitted in the last second.
    fn last_second(partitions: &mut Partitions, offered: impl Fn(u64) -> Vec<Position>) -> usize {
        let mut count = 0;
        for at in 0..120_000 {
            for position in offered(at) {
                if partitions.admits(&position, Access::Write, Time(at)) {
                    partitions.take(&position, write(1.0), Time(at));
                    count += usize::from(at >= 119_000);
                }
            }
        }
        count
    }

    fn write(units: f64) -> Used {
        Used { access: Access::Write, units }
    }

    fn at(hash: u64, sort: u64) -> Position {
        Position { hash, sort: sort.to_be_bytes().to_vec() }
    }

    #[test]
    fn many_keys_in_one_partition_are_split_apart() {
        let mut partitions = Partitions::new(&options(), false, Time(0));
        let keys = |_| (0..4).map(|n| at(n * 1000, 0)).collect();
        assert!(last_second(&mut partitions, keys) >= 3900);
        assert!(partitions.splits() >= 2);
    }

    #[test]
    fn sort_keys_of_one_partition_key_are_split_apart() {
        let mut partitions = Partitions::new(&options(), false, Time(0));
        let keys = |ms: u64| vec![at(7, (ms * 7919) % 1000), at(7, (ms * 104_729) % 1000)];
        assert!(last_second(&mut partitions, keys) >= 1900);
    }

    #[test]
    fn one_key_keeps_one_partition() {
        let mut partitions = Partitions::new(&options(), false, Time(0));
        assert!(last_second(&mut partitions, |_| vec![at(7, 0), at(7, 0)]) <= 1001);
        let hot = partitions.iter().find(|(_, partition)| partition.usage.throttled > 0);
        assert_eq!(hot.unwrap().1.unsplit, Some(Unsplit::OneKey));
    }

    #[test]
    fn a_growing_sort_key_keeps_one_partition() {
        let mut partitions = Partitions::new(&options(), false, Time(0));
        let keys = |ms: u64| vec![at(7, 2 * ms), at(7, 2 * ms + 1)];
        assert!(last_second(&mut partitions, keys) <= 1001);
        assert_eq!(partitions.splits(), 0);
    }

    #[test]
    fn a_local_index_keeps_a_collection_in_one_partition() {
        let mut partitions = Partitions::new(&options(), true, Time(0));
        let keys = |ms: u64| vec![at(7, (ms * 7919) % 1000), at(7, (ms * 104_729) % 1000)];
        assert!(last_second(&mut partitions, keys) <= 1001);
        assert_eq!(partitions.splits(), 0);
    }

    proptest! {
        /// Whatever is asked of which keys: every position has a partition, and no partition admits
        /// more than its capacity.
        #[test]
        fn no_partition_exceeds_its_capacity(
            requests in prop::collection::vec((any::<u64>(), 0..3_u64, 1..20_u64), 1..600),
            keeps_collections: bool,
        ) {
            let split_after = Duration::from_secs(1);
            let options = StrictOptions { split_after, write_units: 50.0, ..options() };
            let mut partitions = Partitions::new(&options, keeps_collections, Time(HOUR_MS));
            let (mut now, mut taken) = (HOUR_MS, 0.0);
            for (hash, sort, units) in requests {
                now += 7;
                let position = at(hash % 8 * (u64::MAX / 8), sort);
                if partitions.admits(&position, Access::Write, Time(now)) {
                    partitions.take(&position, write(units as f64), Time(now));
                    taken += units as f64;
                }
                prop_assert_eq!(partitions.iter().next().unwrap().0, &Position::default());
            }
            let used: f64 = partitions.iter().map(|(_, one)| one.usage.write.total()).sum();
            prop_assert_eq!(used, taken);
            let seconds = (now - HOUR_MS) as f64 / 1000.0 + 1.0;
            // Either side of a split starts with a second of capacity.
            let fresh = partitions.splits() as f64 * 50.0;
            for (_, partition) in partitions.iter() {
                prop_assert!(partition.usage.write.total() <= seconds * 50.0 + 20.0 + fresh);
            }
        }
    }
}
