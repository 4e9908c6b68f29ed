//! Read-only fields: a client never changes their values.

use keyloom_model::{Entity, Field, FieldAccess, FieldErrorKind, Model};
use keyloom_testkit::Random;
use keyloom_testkit::model::{document, drafts, patch};
use keyloom_value::{Item, Value};
use proptest::prelude::*;

const NOW_MS: i64 = 7;

fn read_only(entity: &Entity) -> impl Iterator<Item = &Field> {
    entity.fields.iter().filter(|field| field.access == FieldAccess::ReadOnly)
}

/// The document without its read-only fields.
fn open_part(entity: &Entity, document: &Item) -> Item {
    let mut document = document.clone();
    read_only(entity).for_each(|field| drop(document.remove(&field.name)));
    document
}

/// The values of the read-only fields.
fn read_only_values(entity: &Entity, fields: &Item) -> Vec<Option<Value>> {
    read_only(entity).map(|field| fields.get(&field.name).cloned()).collect()
}

/// The names of the fields that are refused for being read-only; no other error is expected.
fn refused<T>(admitted: Result<T, Vec<keyloom_model::FieldError>>) -> Vec<String> {
    let errors = admitted.err().unwrap_or_default();
    assert!(errors.iter().all(|error| *error.kind() == FieldErrorKind::ReadOnly), "{errors:?}");
    errors.iter().map(|error| error.path().to_string()).collect()
}

/// The read-only fields that a document gives another value than the expected one.
fn misgiven(entity: &Entity, document: &Item, expected: &Item) -> Vec<String> {
    let differs = |field: &&Field| match document.get(&field.name) {
        None => false,
        Some(Value::Null) => expected.contains(&field.name),
        given => given != expected.get(&field.name),
    };
    read_only(entity).filter(differs).map(|field| field.name.clone()).collect()
}

fn check_entity(model: &Model, entity: &Entity, random: &mut Random) -> Result<(), TestCaseError> {
    let id = model.find(&entity.name).expect("it is of the model");
    let ids = |_| vec!["a".to_owned(), "b".to_owned()];
    let mut draw = || document((model, id), &ids, random);
    let (Some(given), Some(stored)) = (draw(), draw()) else { return Ok(()) };
    // A document may have null for `any`, which is wrong if the field is required.
    let (Ok(stored), Ok(_)) = (entity.admit(&stored, 1), entity.admit(&given, 1)) else {
        return Ok(());
    };
    let open = open_part(entity, &given);

    let created = entity.admit_client(&open, None, NOW_MS);
    prop_assert_eq!(&created, &entity.admit(&open, NOW_MS));
    // The format of a text can depend on a read-only field, so its open part alone may be wrong.
    let Ok(created) = created else { return Ok(()) };
    let misgiven_new = misgiven(entity, &given, &created);
    prop_assert_eq!(refused(entity.admit_client(&given, None, NOW_MS)), misgiven_new);

    let Ok(replaced) = entity.admit_client(&open, Some(&stored), NOW_MS) else { return Ok(()) };
    prop_assert_eq!(read_only_values(entity, &replaced), read_only_values(entity, &stored));
    prop_assert_eq!(open_part(entity, &replaced), open_part(entity, &created));
    let misgiven_old = misgiven(entity, &given, &stored);
    prop_assert_eq!(refused(entity.admit_client(&given, Some(&stored), NOW_MS)), misgiven_old);
    let repeated = entity.admit_client(&entity.to_external(&stored), Some(&stored), NOW_MS);
    prop_assert_eq!(&repeated, &Ok(stored.clone()));

    let patch = patch((model, id), &ids, random);
    let patch = patch.into_iter().map(|(name, value)| (name, value.unwrap_or(Value::Null)));
    let patch: Item = patch.collect();
    let Ok(free) = entity.admit_patch(&stored, &patch) else { return Ok(()) };
    let is_kept = read_only_values(entity, &free) == read_only_values(entity, &stored);
    let patched = entity.admit_client_patch(&stored, &patch);
    prop_assert_eq!(patched.is_ok(), is_kept, "{:?}", patched);
    prop_assert!(!is_kept || patched == Ok(free));
    let open = open_part(entity, &patch);
    prop_assert_eq!(
        entity.admit_client_patch(&stored, &open).is_ok(),
        entity.admit_patch(&stored, &open).is_ok()
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_client_never_changes_a_read_only_field(draft in drafts(), seed in any::<u64>()) {
        let (model, mut random) = (draft.model(), Random::new(seed));
        for (_, entity) in model.entities() {
            check_entity(&model, entity, &mut random)?;
        }
    }
}

#[test]
fn a_refusal_says_what_to_do() {
    let model = keyloom_model::check(
        "[entity.search]\nread_only = [\"status\", \"log\"]\n\
         fields.status = \"enum(active, ended) = active\"\nfields.log = \"any?\"\n",
    )
    .expect("it is right");
    let search = model.entity(model.find("search").expect("it is there"));
    let given = Item::from([("status", Value::from("ended")), ("log", Value::from("x"))]);
    let errors = search.admit_client(&given, None, 0).expect_err("both are read-only");
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "`status` is read-only; leave it out, or send its current value",
            "`log` is read-only; leave it out, or send its current value"
        ]
    );
    let stored = search.admit(&given, 0).expect("the service sets both");
    // A merge patch that changes nothing inside is no change.
    for log in [Value::from("x"), Value::M(Item::new()), Value::Null] {
        let patch = Item::from([("log", log.clone())]);
        let is_same = log == Value::from("x");
        assert_eq!(search.admit_client_patch(&stored, &patch).is_ok(), is_same, "{log}");
    }
}
