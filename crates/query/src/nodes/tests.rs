//! Every node, alone and nested, returns the same as a naive filter of all ordinals: from any position,
//! in both directions, under any budget, in both forms of storage, and within a bound of reads.

mod rig;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use keyloom_model::{Matching, SliceBits};
use keyloom_store::Direction;
use keyloom_value::Number;
use proptest::prelude::*;
use proptest::sample::select;

use self::rig::{How, Rig, Shape, chunks};
use super::Sizes;
use crate::{Budget, ValueRange};

/// How many posting lists a case has.
const LISTS: usize = 5;
/// Where ordinals are: at the start, on both sides of two bounds between chunks, and far away.
const REGIONS: [u64; 4] = [0, (1 << 16) - 40, (1 << 17) - 40, 1 << 40];
const REGION_LEN: u64 = 80;

const FORMS: [Matching; 2] = [Matching::Sets, Matching::Chunks];

fn ordinal() -> impl Strategy<Value = u64> {
    (select(&REGIONS[..]), 0..REGION_LEN).prop_map(|(region, offset)| region + offset)
}

/// A few ordinals anywhere, or a run of more than one request reads.
fn ordinals() -> impl Strategy<Value = BTreeSet<u64>> {
    let run = (ordinal(), 1..4_u64, 1..260_u64);
    prop_oneof![
        3 => proptest::collection::btree_set(ordinal(), 0..40),
        1 => run.prop_map(|(start, step, count)| (0..count).map(|at| start + at * step).collect()),
    ]
}

fn lists() -> impl Strategy<Value = Vec<BTreeSet<u64>>> {
    proptest::collection::vec(ordinals(), LISTS)
}

fn position() -> impl Strategy<Value = u64> {
    prop_oneof![4 => ordinal(), 1 => Just(0), 1 => Just(u64::MAX)]
}

fn direction() -> impl Strategy<Value = Direction> {
    select(&[Direction::Forward, Direction::Backward][..])
}

fn how() -> impl Strategy<Value = How> {
    let rows = prop_oneof![Just(u64::MAX), 0..300_u64];
    (direction(), rows).prop_map(|(direction, rows)| {
        let bytes = u64::MAX;
        How { direction, budget: Budget { rows, bytes } }
    })
}

fn leaf() -> impl Strategy<Value = Shape> {
    (0..LISTS).prop_map(Shape::List)
}

/// Some parts, each of another list.
fn leaves() -> impl Strategy<Value = Vec<Shape>> {
    proptest::sample::subsequence((0..LISTS).collect::<Vec<_>>(), 2..=4)
        .prop_shuffle()
        .prop_map(|lists| lists.into_iter().map(Shape::List).collect())
}

/// One node of each kind over posting lists.
fn flat() -> impl Strategy<Value = Shape> {
    prop_oneof![
        leaf(),
        leaves().prop_map(Shape::All),
        leaves().prop_map(Shape::Any),
        leaves().prop_map(|mut parts| Shape::Without(Box::new(parts.remove(0)), parts)),
    ]
}

/// Nodes of nodes.
fn nested() -> impl Strategy<Value = Shape> {
    leaf().prop_recursive(3, 16, 3, |inner| {
        let parts = proptest::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            parts.clone().prop_map(Shape::All),
            parts.clone().prop_map(Shape::Any),
            (inner, parts).prop_map(|(of, excluded)| Shape::Without(Box::new(of), excluded)),
        ]
    })
}

/// Small numbers, close to each other and to zero, and large ones.
fn number() -> impl Strategy<Value = Number> {
    let near = (-30..30_i128, -1..1_i16);
    let far = (-5..5_i128, 10..13_i16);
    prop_oneof![4 => near, 1 => far]
        .prop_map(|(digits, exponent)| Number::from_parts(digits, exponent).unwrap())
}

fn range() -> impl Strategy<Value = ValueRange> {
    let bound = prop_oneof![
        1 => Just(Bound::Unbounded),
        2 => number().prop_map(Bound::Included),
        2 => number().prop_map(Bound::Excluded),
    ];
    (bound.clone(), bound).prop_map(|(lower, upper)| ValueRange { lower, upper })
}

fn numbers() -> impl Strategy<Value = BTreeMap<u64, Number>> {
    let few = proptest::collection::btree_map(ordinal(), number(), 0..60);
    // More than are decided on one by one.
    let many = proptest::collection::vec(number(), 15..40)
        .prop_map(|numbers| (65_000..).zip(numbers).collect());
    prop_oneof![7 => few, 1 => many]
}

/// The ordinals that have a number, and those in each slice that a range needs.
fn slices(numbers: &BTreeMap<u64, Number>, range: &ValueRange) -> Vec<BTreeSet<u64>> {
    let slice = |slice: u16| {
        let is_in =
            |number: &Number| SliceBits::of(number).get(slice) != SliceBits::is_inverted(slice);
        numbers.iter().filter(|(_, number)| is_in(number)).map(|(ordinal, _)| *ordinal).collect()
    };
    let present = numbers.keys().copied().collect();
    std::iter::once(present).chain((0..range.slice_bounds().slices()).map(slice)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A range: the numbers in it, by their bits. Each slice is read at most once where there are
    /// numbers; what has a number is read twice where there are many.
    #[test]
    fn slices_of_a_range_equal_a_comparison_of_numbers(
        numbers in numbers(), range in range(), from in position(), given in ordinals(), how in how(),
        hidden in ordinals(),
    ) {
        let lists = slices(&numbers, &range);
        let count = lists.len() as u64;
        let chunks = chunks(&lists[0]);
        let shape = Shape::Range(range, Arc::new(numbers));
        for form in FORMS {
            let mut rig = Rig::new(form, &lists);
            rig.check_next(&shape, from, how)?;
            rig.check_retain(&shape, &given, how)?;
            if form == Matching::Sets {
                let read = rig.check_next(&shape, 0, How::unlimited(Direction::Forward))?;
                prop_assert!(read <= (count + 1) * chunks, "{} rows", read);
            }
            rig.hide(&hidden);
            rig.check_next(&shape, from, how)?;
        }
    }

    /// `next`, one node: each batch has all ordinals between its ends, and batches go on to the end
    /// under any budget.
    #[test]
    fn next_of_a_node_equals_a_naive_filter(
        lists in lists(), shape in flat(), from in position(), how in how(),
    ) {
        for form in FORMS {
            Rig::new(form, &lists).check_next(&shape, from, how)?;
        }
    }

    /// `next`, a tree of nodes.
    #[test]
    fn next_of_a_tree_equals_a_naive_filter(
        lists in lists(), shape in nested(), from in position(), how in how(),
    ) {
        for form in FORMS {
            Rig::new(form, &lists).check_next(&shape, from, how)?;
        }
    }

    /// Ordinals that a deletion has hidden are in no node, wherever in a batch they were.
    #[test]
    fn hidden_ordinals_match_no_node(
        lists in lists(), shape in nested(), hidden in ordinals(), given in ordinals(),
        how in how(),
    ) {
        for form in FORMS {
            let mut rig = Rig::new(form, &lists);
            rig.hide(&hidden);
            let start = match how.direction {
                Direction::Forward => 0,
                Direction::Backward => u64::MAX,
            };
            rig.check_next(&shape, start, how)?;
            rig.check_retain(&shape, &given, how)?;
        }
    }

    /// `retain`, one node: the intersection with any ordinals.
    #[test]
    fn retain_of_a_node_returns_the_intersection(
        lists in lists(), shape in flat(), given in ordinals(), how in how(),
    ) {
        for form in FORMS {
            Rig::new(form, &lists).check_retain(&shape, &given, how)?;
        }
    }

    /// `retain`, a tree of nodes.
    #[test]
    fn retain_of_a_tree_returns_the_intersection(
        lists in lists(), shape in nested(), given in ordinals(), how in how(),
    ) {
        for form in FORMS {
            Rig::new(form, &lists).check_retain(&shape, &given, how)?;
        }
    }

    /// A posting list is read once, and only where it matters.
    #[test]
    fn posting_list_is_read_once(
        lists in lists(), from in position(), given in ordinals(), direction in direction(),
    ) {
        let (list, shape) = (&lists[0], Shape::List(0));
        let left: BTreeSet<u64> = list.iter().copied().filter(|ordinal| match direction {
            Direction::Forward => *ordinal >= from,
            Direction::Backward => *ordinal <= from,
        }).collect();
        let sets = Rig::new(Matching::Sets, &lists);
        let read = sets.check_next(&shape, from, How::unlimited(direction))?;
        prop_assert_eq!(read, chunks(&left));
        let read = sets.check_retain(&shape, &given, How::unlimited(direction))?;
        prop_assert!(read <= chunks(&given).min(chunks(list)), "{} chunks", read);
    }

    /// AND reads of each list no more chunks than its smallest list has.
    #[test]
    fn intersection_cost_is_bounded_by_its_smallest_list(
        lists in lists(), parts in leaves(), direction in direction(), from in position(),
    ) {
        let count = parts.len() as u64;
        let members = |part: &Shape| match part {
            Shape::List(list) => lists[*list].clone(),
            _ => BTreeSet::new(),
        };
        let smallest = parts.iter().map(members).min_by_key(BTreeSet::len).unwrap_or_default();
        let shape = Shape::All(parts);
        let sets = Rig::new(Matching::Sets, &lists);
        let read = sets.check_next(&shape, from, How::unlimited(direction))?;
        prop_assert!(read <= count * chunks(&smallest), "{} chunks", read);
    }

    /// OR of sets reads of each list at most one chunk for each chunk that any list has.
    #[test]
    fn union_reads_each_chunk_of_each_list_once(
        lists in lists(), parts in leaves(), direction in direction(), from in position(),
    ) {
        let (count, shape) = (parts.len() as u64, Shape::Any(parts));
        let all = shape.matches(&lists);
        let read = Rig::new(Matching::Sets, &lists).check_next(&shape, from, How::unlimited(direction))?;
        prop_assert!(read <= count * chunks(&all), "{} chunks", read);
    }

    /// Sizes never promise less than there is, and a node without any is one that nothing matches.
    #[test]
    fn sizes_are_upper_bounds(lists in lists(), shape in nested()) {
        let rig = Rig::new(Matching::Sets, &lists);
        let matching = shape.matches(&lists).len() as u64;
        match rig.sized(&shape) {
            None => prop_assert_eq!(matching, 0),
            Some(node) => {
                prop_assert!(node.size_max() >= matching);
                prop_assert!(node.size_exact().is_none_or(|size| size == matching));
                prop_assert_ne!(node.size_max(), Sizes::UNKNOWN);
            }
        }
    }
}
