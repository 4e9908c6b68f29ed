//! Paths resolve to values; overlapping and conflicting paths are found.

use keyloom_value::{Item, Path, PathClash, Projection, Step, Value};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::generators::{cases, item, path};

/// Returns whether one path is a prefix of the other.
fn is_prefix(left: &Path, right: &Path) -> bool {
    left.root() == right.root() && right.steps().starts_with(left.steps())
}

/// Returns whether they agree up to a step that is a member in one and an element in the other.
fn differ_in_kind(left: &Path, right: &Path) -> bool {
    let same = left.steps().iter().zip(right.steps()).take_while(|(left, right)| left == right);
    let depth = same.count();
    let kinds = (left.steps().get(depth), right.steps().get(depth));
    left.root() == right.root()
        && (matches!(kinds, (Some(Step::Member(_)), Some(Step::Element(_))))
            || matches!(kinds, (Some(Step::Element(_)), Some(Step::Member(_)))))
}

proptest! {
    #![proptest_config(cases(4))]

    #[test]
    fn paths_overlap_if_one_is_a_prefix_of_the_other(left in path(), right in path()) {
        let expected = is_prefix(&left, &right) || is_prefix(&right, &left);
        prop_assert_eq!(left.overlaps(&right), expected);
        prop_assert_eq!(right.overlaps(&left), expected);
        prop_assert!(left.overlaps(&left) && !left.conflicts(&left));
    }

    #[test]
    fn paths_conflict_if_they_differ_in_the_kind_of_a_step(left in path(), right in path()) {
        prop_assert_eq!(left.conflicts(&right), differ_in_kind(&left, &right));
        prop_assert_eq!(left.conflicts(&right), right.conflicts(&left));
    }

    #[test]
    fn conflicting_paths_never_both_have_a_value(item in item(), left in path(), right in path()) {
        if left.conflicts(&right) {
            prop_assert!(left.get(&item).is_none() || right.get(&item).is_none());
        }
    }

    #[test]
    fn a_clash_is_found_if_any_two_paths_clash(paths in vec(path(), 0..8)) {
        let clash = |left: &Path, right: &Path| left.overlaps(right) || left.conflicts(right);
        let any = paths.iter().enumerate().any(|(index, left)| {
            paths[index + 1..].iter().any(|right| clash(left, right))
        });
        let found = Projection::new(paths.clone()).err();
        prop_assert_eq!(found.is_some(), any);
        if let Some(PathClash::Overlap { first, second } | PathClash::Conflict { first, second }) = found {
            prop_assert!(clash(&first, &second));
            let at = |path: &Path| paths.iter().position(|other| other == path);
            prop_assert!(at(&first) <= at(&second), "they are reported in the order given");
        }
    }

    #[test]
    fn get_takes_one_step_after_another(item in item(), path in path(), index in 0_usize..3) {
        let parent = path.get(&item);
        let member = path.clone().member("a");
        let element = path.element(index);
        let (expected_member, expected_element) = match parent {
            Some(Value::M(members)) => (members.get("a"), None),
            Some(Value::L(elements)) => (None, elements.get(index)),
            _ => (None, None),
        };
        prop_assert_eq!(member.get(&item), expected_member);
        prop_assert_eq!(element.get(&item), expected_element);
    }
}

#[test]
fn a_text_is_the_name_of_an_attribute_and_is_not_parsed() {
    let item = Item::from([
        ("a.b", Value::from(1)),
        ("a", Value::M(Item::from([("b", Value::L(vec![Value::from(2), Value::from(3)]))]))),
    ]);
    assert_eq!(Path::from("a.b").get(&item), Some(&Value::from(1)));
    assert_eq!(Path::from("a").member("b").element(1).get(&item), Some(&Value::from(3)));
    assert_eq!(Path::from("a").member("b").element(2).get(&item), None);
    assert_eq!(Path::from("a").element(0).get(&item), None);
}

#[test]
fn a_clash_message_names_both_paths() {
    let paths = vec![Path::from("a").member("b"), Path::from("a.b"), Path::from("a")];
    let clash = Projection::new(paths).expect_err("two of them overlap");
    assert_eq!(clash.to_string(), "the paths a.b and a overlap; remove or rewrite one of them");
}
