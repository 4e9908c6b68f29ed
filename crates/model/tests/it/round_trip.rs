//! Random entities and random documents: what is admitted is valid, the external form round-trips,
//! and patches follow RFC 7396.

use std::cell::Cell;

use keyloom_model::{Entity, Presence};
use keyloom_value::{Item, Value};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

use crate::random_entity::{document, entity};

fn case(nearness: u32) -> impl Strategy<Value = (Entity, Item, Item)> {
    entity().prop_flat_map(move |entity| {
        let documents = (document(&entity, nearness), document(&entity, nearness));
        documents.prop_map(move |(document, patch)| (entity.clone(), document, patch))
    })
}

/// The merge of RFC 7396 as its section 2 writes it, on whole documents.
fn merge_patch(target: Option<&Value>, patch: &Value) -> Value {
    let Value::M(patch) = patch else { return patch.clone() };
    let mut target = match target {
        Some(Value::M(target)) => target.clone(),
        _ => Item::new(),
    };
    for (name, value) in patch {
        if *value == Value::Null {
            target.remove(name.as_str());
        } else {
            let merged = merge_patch(target.get(name.as_str()), value);
            target.insert(name, merged);
        }
    }
    Value::M(target)
}

/// Checks one case; returns whether the document was admitted.
fn check_case(entity: &Entity, document: &Item, patch: &Item) -> Result<bool, TestCaseError> {
    let Ok(fields) = entity.admit(document, 7) else { return Ok(false) };
    prop_assert_eq!(entity.check_fields(&fields), Ok(()));
    let shown = entity.to_external(&fields);
    prop_assert_eq!(entity.admit(&shown, 8), Ok(fields.clone()));
    prop_assert_eq!(entity.admit_patch(&fields, &Item::new()), Ok(fields.clone()));
    let Ok(patched) = entity.admit_patch(&fields, patch) else { return Ok(true) };
    prop_assert_eq!(entity.check_fields(&patched), Ok(()));
    for (name, value) in &fields {
        if !patch.contains(name.as_str()) {
            prop_assert_eq!(patched.get(name.as_str()), Some(value));
        }
    }
    // Merging the external form and admitting the result is the same, except that defaults are
    // filled in again.
    let merged =
        merge_patch(Some(&Value::M(entity.to_external(&fields))), &Value::M(patch.clone()));
    let Value::M(mut merged) = merged else { return Err(TestCaseError::fail("no map")) };
    for field in entity.fields.iter().filter(|field| field.presence == Presence::Optional) {
        if !merged.contains(&field.name) {
            merged.insert(&field.name, Value::Null);
        }
    }
    prop_assert_eq!(entity.admit(&merged, 9), Ok(patched));
    Ok(true)
}

#[test]
fn valid_documents_are_admitted_and_round_trip() {
    let mut runner = TestRunner::new(ProptestConfig::with_cases(1000));
    let refused = Cell::new(0);
    let outcome = runner.run(&case(100), |(entity, document, patch)| {
        if !check_case(&entity, &document, &patch)? {
            refused.set(refused.get() + 1);
        }
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(
        refused.get() < 50,
        "{} of 1000 were refused: generators miss the point",
        refused.get()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn nearly_valid_documents_are_admitted_or_rejected((entity, document, patch) in case(70)) {
        check_case(&entity, &document, &patch)?;
        // Fields that were never admitted must not cause a panic either.
        let _ = entity.admit_patch(&document, &patch);
        let _ = entity.check_fields(&document);
        let _ = entity.to_external(&document);
    }
}
