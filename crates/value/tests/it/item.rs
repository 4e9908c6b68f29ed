//! An item is a map, sorted by name.

use std::collections::BTreeMap;

use keyloom_value::{Item, Name, Value};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::generators::cases;

/// More names than are searched linearly.
fn name() -> impl Strategy<Value = Name> {
    (0..40).prop_map(|index| Name::from(format!("{:b}", index * 7 % 40)))
}

fn attributes() -> impl Strategy<Value = Vec<(Name, Value)>> {
    vec((name(), (0..100).prop_map(Value::from)), 0..60)
}

proptest! {
    #![proptest_config(cases(4))]

    #[test]
    fn an_item_behaves_like_a_sorted_map(
        changes in vec((name(), proptest::option::weighted(0.7, 0..100)), 0..80),
    ) {
        let mut item = Item::new();
        let mut model: BTreeMap<Name, Value> = BTreeMap::new();
        for (name, change) in changes {
            let (was, expected) = match change {
                Some(value) => {
                    let was = item.insert(name.clone(), value);
                    (was, model.insert(name.clone(), Value::from(value)))
                }
                None => (item.remove(name.as_str()), model.remove(name.as_str())),
            };
            prop_assert_eq!(was, expected);
            prop_assert_eq!(item.get(name.as_str()), model.get(name.as_str()));
            prop_assert_eq!(item.contains(name.as_str()), model.contains_key(name.as_str()));
        }
        prop_assert_eq!(item.len(), model.len());
        prop_assert_eq!(item.is_empty(), model.is_empty());
        prop_assert!(item.names().eq(model.keys()));
        prop_assert!(item.iter().eq(model.iter()));
        prop_assert!((&item).into_iter().eq(model.iter()));
        prop_assert!(item.into_iter().eq(model));
    }

    #[test]
    fn the_last_of_several_attributes_with_one_name_wins(attributes in attributes()) {
        let item: Item = attributes.iter().cloned().collect();
        let model: BTreeMap<Name, Value> = attributes.into_iter().collect();
        prop_assert!(item.into_iter().eq(model));
    }

    #[test]
    fn from_sorted_accepts_only_strictly_ascending_names(attributes in attributes()) {
        let item: Item = attributes.iter().cloned().collect();
        let ascending: Vec<_> = item.clone().into_iter().collect();
        prop_assert_eq!(Item::from_sorted(ascending.clone()), Some(item));
        let sorted = ascending == attributes;
        prop_assert_eq!(Item::from_sorted(attributes).is_some(), sorted);
        if let Some(last) = ascending.last() {
            let doubled = [ascending.clone(), vec![last.clone()]].concat();
            prop_assert_eq!(Item::from_sorted(doubled), None);
        }
    }
}

#[test]
fn a_value_can_be_changed_in_place() {
    let mut item = Item::from([("a", 1), ("b", 2)]);
    if let Some(value) = item.get_mut("b") {
        *value = Value::from("two");
    }
    assert_eq!(item, Item::from([("a", Value::from(1)), ("b", Value::from("two"))]));
    assert_eq!(item.get_mut("c"), None);
}
