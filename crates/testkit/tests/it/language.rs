//! Random models use every key of the model language, by the language's own table of them, or it is said here which tests
//! use it: what holds for random models is otherwise taken to hold for keys that none of them has.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use keyloom_model::TABLES;
use keyloom_testkit::Random;
use keyloom_testkit::model::{EditKind, draft};
use toml::{Table, Value};

/// A kind of table, as the language calls it, and one of its keys.
type Key = (&'static str, String);

/// How many random models must have a key.
const MODELS_MIN: usize = 20;

/// The keys that no random model has, each with a file of tests about it.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("a model", "jobs", "keyloom/tests/it/jobs.rs"),
    ("a handler", "webhook", "keyloom/tests/it/webhooks.rs"),
    ("a handler", "job", "keyloom/tests/it/working.rs"),
    ("an entity", "updated", "keyloom/tests/it/updated.rs"),
    ("an entity", "pattern", "model/tests/it/patterns.rs"),
    ("an entity", "initial", "keyloom/tests/it/transitions.rs"),
    ("an entity", "transitions", "keyloom/tests/it/transitions.rs"),
    ("an entity", "access", "keyloom/tests/it/access.rs"),
    ("an access table", "owner", "keyloom/tests/it/access.rs"),
    ("an access table", "read", "keyloom/tests/it/access.rs"),
    ("an access table", "create", "keyloom/tests/it/access.rs"),
    ("an access table", "update", "keyloom/tests/it/access.rs"),
    ("an access table", "delete", "keyloom/tests/it/access.rs"),
    ("a list", "access", "keyloom/tests/it/access.rs"),
    ("a count", "access", "keyloom/tests/it/access.rs"),
    ("a board", "access", "keyloom/tests/it/access.rs"),
    ("a count", "path", "server/tests/it/rest/counts.rs"),
    ("a board", "shards", "keyloom/tests/it/sharded_boards.rs"),
    ("a search", "language", "model/src/model/search.rs"),
    ("a search", "prefixes", "keyloom/tests/it/matching.rs"),
];

#[test]
fn random_models_have_every_key_of_the_language() {
    let mut models: BTreeMap<Key, usize> = BTreeMap::new();
    for seed in 0..1_000 {
        let mut random = Random::new(seed);
        let drawn = draft(&mut random);
        // What became of entities and fields of an earlier model is declared by an edit.
        let edits = [EditKind::RenameEntity, EditKind::RenameField, EditKind::RemoveField];
        let edits = edits.into_iter();
        let edited = edits.filter_map(|kind| kind.apply(&drawn, &mut random));
        let texts = edited.map(|edit| edit.draft.text()).chain([drawn.text()]);
        for key in texts.flat_map(|text| keys_of(&text)).collect::<BTreeSet<Key>>() {
            *models.entry(key).or_default() += 1;
        }
    }
    for table in TABLES {
        for key in table.keys {
            let times = models.remove(&(table.what, (*key).to_owned())).unwrap_or_default();
            let elsewhere = ELSEWHERE.iter().find(|(what, of, _)| (what, of) == (&table.what, key));
            match elsewhere {
                None => {
                    let is_often = times >= MODELS_MIN;
                    assert!(is_often, "{} has `{key}` in {times} of 1,000 models", table.what);
                }
                Some((_, _, file)) => {
                    assert_eq!(times, 0, "{}: `{key}` is in random models now", table.what);
                    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
                    let text = std::fs::read_to_string(crates.join(file)).expect("a file of tests");
                    assert!(text.contains(key), "{file} is not about `{key}`");
                }
            }
        }
    }
    assert!(models.is_empty(), "{models:?} are not keys of the language");
}

/// The keys of the language in the text of a model.
fn keys_of(text: &str) -> Vec<Key> {
    let model: Table = text.parse().expect("TOML");
    let mut keys = of("a model", &model);
    for target in tables(&model, "on").flat_map(|(_, changes)| changes.values()) {
        keys.extend(target.as_table().into_iter().flat_map(|table| of("a handler", table)));
    }
    for (_, entity) in tables(&model, "entity") {
        keys.extend(of("an entity", entity));
        for (key, what) in [
            ("list", "a list"),
            ("count", "a count"),
            ("board", "a board"),
            ("search", "a search"),
            ("tags", "a tags table"),
        ] {
            keys.extend(tables(entity, key).flat_map(|(_, table)| of(what, table)));
        }
        let access = entity.get("access").and_then(Value::as_table);
        keys.extend(access.into_iter().flat_map(|table| of("an access table", table)));
        let uniques = entity.get("unique").and_then(Value::as_array).into_iter().flatten();
        keys.extend(uniques.filter_map(Value::as_table).flat_map(|table| of("a unique", table)));
    }
    keys
}

fn of(what: &'static str, table: &Table) -> Vec<Key> {
    table.keys().map(|key| (what, key.clone())).collect()
}

/// The tables in a table of tables.
fn tables<'t>(table: &'t Table, key: &str) -> impl Iterator<Item = (&'t String, &'t Table)> {
    let inner = table.get(key).and_then(Value::as_table).into_iter().flatten();
    inner.filter_map(|(name, value)| Some((name, value.as_table()?)))
}
