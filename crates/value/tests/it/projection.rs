//! Projections keep the values at their paths, in place.

use keyloom_value::{Item, Path, Projection, Step, Value};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::generators::{cases, item, name, path};

fn example() -> Item {
    let numbers = (0..5).map(Value::from).collect();
    let inner = Item::from([("x", 1), ("y", 2)]);
    let rows = (0..3).map(|row| Value::M(Item::from([("r", row), ("s", -row)]))).collect();
    Item::from([
        ("id", Value::from("t1")),
        ("l", Value::L(numbers)),
        ("m", Value::M(inner)),
        ("rows", Value::L(rows)),
    ])
}

fn check(paths: Vec<Path>, expected: &str) {
    let projection = Projection::new(paths).unwrap_or_else(|clash| panic!("{clash}"));
    assert_eq!(projection.apply(&example()).to_string(), expected, "{projection}");
}

#[test]
fn nested_parts_keep_their_maps_and_elements_have_no_gaps() {
    let at = Path::from;
    check(vec![], "{}");
    check(vec![at("id"), at("none")], "{id: \"t1\"}");
    check(vec![at("m").member("y")], "{m: {y: 2}}");
    check(vec![at("m").member("z"), at("l").element(9)], "{}");
    check(vec![at("l").element(3), at("l").element(0)], "{l: [0, 3]}");
    check(vec![at("l").member("a"), at("m").element(0)], "{}");
    check(
        vec![at("rows").element(2).member("s"), at("rows").element(1), at("m")],
        "{m: {x: 1, y: 2}, rows: [{r: 1, s: -1}, {s: -2}]}",
    );
}

proptest! {
    #![proptest_config(cases(4))]

    #[test]
    fn all_names_keep_the_whole_item(item in item()) {
        prop_assert_eq!(Projection::names(item.names()).apply(&item), item);
    }

    #[test]
    fn names_keep_exactly_those_attributes(item in item(), names in vec(name(), 0..5)) {
        let kept = Projection::names(&names).apply(&item);
        for (name, value) in &item {
            let expected = names.contains(name).then_some(value);
            prop_assert_eq!(kept.get(name.as_str()), expected);
        }
        prop_assert!(kept.len() <= item.len());
    }

    #[test]
    fn a_path_through_maps_resolves_to_the_same_value(item in item(), paths in vec(path(), 0..6)) {
        if let Ok(projection) = Projection::new(paths) {
            let kept = projection.apply(&item);
            for path in projection.paths() {
                let through_maps = path.steps().iter().all(|step| matches!(step, Step::Member(_)));
                if through_maps {
                    prop_assert_eq!(path.get(&kept), path.get(&item));
                }
            }
            prop_assert!(kept.size() <= item.size());
        }
    }

    #[test]
    fn the_order_of_paths_does_not_matter(item in item(), paths in vec(path(), 0..6)) {
        let reversed = Projection::new(paths.iter().rev().cloned().collect());
        if let (Ok(projection), Ok(reversed)) = (Projection::new(paths), reversed) {
            prop_assert_eq!(projection.apply(&item), reversed.apply(&item));
        }
    }

    #[test]
    fn a_path_without_a_value_adds_nothing(item in item(), path in path()) {
        let found = path.get(&item).is_some();
        let projection = Projection::new(vec![path]).expect("one path does not clash");
        prop_assert_eq!(!projection.apply(&item).is_empty(), found);
    }
}
