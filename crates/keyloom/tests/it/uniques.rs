//! Unique values: cases that are easy to get wrong, each on every store.

use std::sync::{Arc, Barrier};

use keyloom::{Change, Db, Error, Record};
use keyloom_store::{Clock, Store};
use keyloom_testkit::ManualClock;
use keyloom_value::Value;
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, each_store, open, open_at};

const MODEL: &str = r#"
[entity.team]
id = "given"
fields.name = "text"
unique = ["name"]

[entity.person]
id = "given"
parent = "team"
fields.nick = "text?"
fields.first = "text?"
fields.last = "text?"
fields.mail = "text?"
fields.until = "time?"
expires = "until"
unique = [
  { fields = ["nick"], within = "team" },
  ["first", "last"],
  { fields = ["mail"], fold_case = true },
]
"#;

/// Runs a test with two teams, `red` and `blue`, on each store, and verifies what it leaves.
fn with_teams(test: impl Fn(&Db)) {
    each_store(|store| {
        let db = block_on(two_teams(store));
        test(&db);
        assert_clean(&db);
    });
}

async fn two_teams(store: Arc<dyn Store>) -> Db {
    let db = open(MODEL, store).await;
    for name in ["red", "blue"] {
        db.create("team", &json!({"id": name, "name": name})).await.unwrap();
    }
    db
}

fn create(db: &Db, person: &serde_json::Value) -> Result<Record, Error> {
    block_on(db.create("person", person))
}

fn update(db: &Db, id: &str, patch: &serde_json::Value) -> Result<Record, Error> {
    block_on(db.update("person", id, patch))
}

fn find(db: &Db, field: &str, value: &str) -> Option<String> {
    let found = block_on(db.find("person", &[(field, Value::from(value))])).unwrap();
    found.map(|record| record.id().to_owned())
}

#[track_caller]
fn assert_taken<T: std::fmt::Debug>(result: Result<T, Error>, by: &str) {
    match result {
        Err(Error::UniqueViolation { owner, .. }) => assert_eq!(owner.as_deref(), Some(by)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn setting_the_same_value_changes_nothing_and_keeps_the_version() {
    with_teams(|db| {
        let ann = create(db, &json!({"id": "ann", "team": "red", "mail": "ann@x"})).unwrap();
        let same = update(db, "ann", &json!({"mail": "ann@x"})).unwrap();
        assert_eq!(same, ann);
        let put = json!({"team": "red", "mail": "ann@x"});
        assert_eq!(block_on(db.put("person", "ann", &put)).unwrap(), ann);
        assert_taken(create(db, &json!({"id": "bob", "team": "red", "mail": "ann@x"})), "ann");
    });
}

#[test]
fn a_value_changed_and_restored_is_free_in_between() {
    with_teams(|db| {
        create(db, &json!({"id": "ann", "team": "red", "mail": "a"})).unwrap();
        update(db, "ann", &json!({"mail": "b"})).unwrap();
        create(db, &json!({"id": "bob", "team": "red", "mail": "a"})).unwrap();
        assert_taken(update(db, "ann", &json!({"mail": "a"})), "bob");
        update(db, "bob", &json!({"mail": "c"})).unwrap();
        update(db, "ann", &json!({"mail": "a"})).unwrap();
        assert_eq!([find(db, "mail", "a"), find(db, "mail", "b")], [Some("ann".into()), None]);
        assert_taken(update(db, "bob", &json!({"mail": "a"})), "ann");
    });
}

#[test]
fn two_entities_swap_their_values_in_one_transaction_and_three_rotate() {
    with_teams(|db| {
        for id in ["a", "b", "c"] {
            create(db, &json!({"id": id, "team": "red", "mail": id})).unwrap();
        }
        let set = |id: &str, mail: &str| {
            Change::update("person", id, &json!({"mail": mail})).expect("a document")
        };
        block_on(db.transact(vec![set("a", "b"), set("b", "a")])).unwrap();
        assert_eq!(
            [find(db, "mail", "a"), find(db, "mail", "b")],
            [Some("b".into()), Some("a".into())]
        );
        block_on(db.transact(vec![set("a", "a"), set("b", "c"), set("c", "b")])).unwrap();
        assert_eq!(find(db, "mail", "b"), Some("c".into()));
        // A single change is refused: the other entity still has the value.
        assert_taken(update(db, "a", &json!({"mail": "b"})), "c");
        let both = block_on(db.transact(vec![set("a", "z"), set("b", "z")]));
        assert!(matches!(both, Err(Error::UniqueViolation { .. })), "{both:?}");
    });
}

#[test]
fn a_value_passes_from_a_deleted_entity_to_a_new_one_in_one_transaction() {
    with_teams(|db| {
        create(db, &json!({"id": "ann", "team": "red", "mail": "m"})).unwrap();
        let heir = json!({"id": "eve", "team": "blue", "mail": "m"});
        let changes =
            vec![Change::create("person", &heir).unwrap(), Change::delete("person", "ann")];
        block_on(db.transact(changes)).unwrap();
        assert_eq!(find(db, "mail", "m"), Some("eve".into()));
    });
}

#[test]
fn a_scoped_value_is_unique_within_its_scope_and_moves_with_it() {
    with_teams(|db| {
        create(db, &json!({"id": "a", "team": "red", "nick": "ace"})).unwrap();
        create(db, &json!({"id": "b", "team": "blue", "nick": "ace"})).unwrap();
        assert_taken(create(db, &json!({"id": "c", "team": "red", "nick": "ace"})), "a");
        assert_taken(update(db, "b", &json!({"team": "red"})), "a");
        update(db, "a", &json!({"nick": "king"})).unwrap();
        update(db, "b", &json!({"team": "red"})).unwrap();
        create(db, &json!({"id": "c", "team": "blue", "nick": "ace"})).unwrap();
        let values = [("team", Value::from("red")), ("nick", Value::from("ace"))];
        let found = block_on(db.find("person", &values)).unwrap();
        assert_eq!(found.unwrap().id(), "b");
    });
}

#[test]
fn several_fields_are_unique_together_and_not_alone() {
    with_teams(|db| {
        let named = |id: &str, first: &str, last: &str| {
            create(db, &json!({"id": id, "team": "red", "first": first, "last": last}))
        };
        named("1", "ann", "lee").unwrap();
        named("2", "ann", "ray").unwrap();
        named("3", "bob", "lee").unwrap();
        assert_taken(named("4", "ann", "lee"), "1");
        assert_taken(update(db, "3", &json!({"first": "ann"})), "1");
    });
}

#[test]
fn absent_values_do_not_conflict() {
    with_teams(|db| {
        for id in ["1", "2", "3"] {
            create(db, &json!({"id": id, "team": "red", "first": "ann"})).unwrap();
        }
        update(db, "1", &json!({"last": "lee"})).unwrap();
        assert_taken(update(db, "2", &json!({"last": "lee"})), "1");
        update(db, "1", &json!({"last": null})).unwrap();
        update(db, "2", &json!({"last": "lee"})).unwrap();
        assert_taken(update(db, "1", &json!({"last": "lee"})), "2");
    });
}

#[test]
fn a_put_takes_and_releases_values_like_any_change() {
    with_teams(|db| {
        let put = |id: &str, mail: &str| {
            block_on(db.put("person", id, &json!({"team": "red", "mail": mail})))
        };
        put("ann", "a").unwrap();
        put("ann", "b").unwrap();
        put("bob", "a").unwrap();
        assert_taken(put("eve", "b"), "ann");
        assert_eq!(block_on(db.get("person", "eve")).unwrap(), None);
        block_on(db.put("person", "ann", &json!({"team": "red"}))).unwrap();
        put("eve", "b").unwrap();
    });
}

#[test]
fn a_taken_value_aborts_the_whole_transaction() {
    with_teams(|db| {
        create(db, &json!({"id": "ann", "team": "red", "mail": "m"})).unwrap();
        let changes = vec![
            Change::create("team", &json!({"id": "new", "name": "new"})).unwrap(),
            Change::create("person", &json!({"id": "bob", "team": "new", "mail": "b"})).unwrap(),
            Change::update("person", "ann", &json!({"nick": "x"})).unwrap(),
            Change::create("person", &json!({"id": "eve", "team": "new", "mail": "m"})).unwrap(),
        ];
        assert_taken(block_on(db.transact(changes.clone())), "ann");
        assert_eq!(block_on(db.get("team", "new")).unwrap(), None);
        assert_eq!(block_on(db.get("person", "bob")).unwrap(), None);
        assert_eq!(block_on(db.get("person", "ann")).unwrap().unwrap().get("nick"), None);
        update(db, "ann", &json!({"mail": "other"})).unwrap();
        block_on(db.transact(changes)).unwrap();
    });
}

#[test]
fn the_value_of_an_expired_entity_is_free_before_and_after_its_deletion() {
    each_store(|store| {
        let clock = ManualClock::new();
        let db = block_on(open_at(MODEL, store, &clock));
        block_on(db.create("team", &json!({"id": "red", "name": "red"}))).unwrap();
        let soon = clock.now().0 + 1000;
        for (id, mail) in [("ann", "a"), ("bob", "b"), ("cat", "c")] {
            create(&db, &json!({"id": id, "team": "red", "mail": mail, "until": soon})).unwrap();
        }
        assert_taken(create(&db, &json!({"id": "eve", "team": "red", "mail": "a"})), "ann");
        clock.advance_ms(1000);
        assert_eq!(find(&db, "mail", "a"), None);
        create(&db, &json!({"id": "eve", "team": "red", "mail": "a"})).unwrap();
        assert_eq!(find(&db, "mail", "a"), Some("eve".into()));
        // Its own id is free too.
        create(&db, &json!({"id": "bob", "team": "red", "mail": "b"})).unwrap();
        assert_eq!(block_on(db.expire(10)).unwrap(), 1);
        create(&db, &json!({"id": "cat", "team": "red", "mail": "c"})).unwrap();
        assert_eq!(block_on(db.expire(10)).unwrap(), 0);
        assert_clean(&db);
    });
}

#[test]
fn deleting_a_missing_entity_frees_nothing() {
    with_teams(|db| {
        create(db, &json!({"id": "ann", "team": "red", "mail": "m"})).unwrap();
        let gone = block_on(db.delete("person", "bob"));
        assert!(matches!(gone, Err(Error::NotFound { .. })), "{gone:?}");
        block_on(db.delete("person", "ann")).unwrap();
        create(db, &json!({"id": "bob", "team": "red", "mail": "m"})).unwrap();
        let gone = block_on(db.delete("person", "ann"));
        assert!(matches!(gone, Err(Error::NotFound { .. })), "{gone:?}");
        assert_taken(create(db, &json!({"id": "ann", "team": "red", "mail": "m"})), "bob");
    });
}

#[test]
fn letter_case_counts_unless_it_is_folded() {
    with_teams(|db| {
        create(db, &json!({"id": "1", "team": "red", "nick": "Ann", "mail": "Ann@X.org"})).unwrap();
        create(db, &json!({"id": "2", "team": "red", "nick": "ann"})).unwrap();
        assert_taken(update(db, "2", &json!({"mail": "aNN@x.ORG"})), "1");
        assert_eq!(find(db, "mail", "ANN@X.ORG"), Some("1".into()));
        let other = update(db, "1", &json!({"mail": "ANN@x.org"})).unwrap();
        assert_eq!(other.get("mail"), Some(&Value::from("ANN@x.org")));
        create(db, &json!({"id": "3", "team": "red", "mail": "ÄRGER"})).unwrap();
        assert_taken(update(db, "2", &json!({"mail": "ärger"})), "3");
    });
}

#[test]
fn no_character_makes_two_combinations_collide() {
    let parts = [
        "",
        "a",
        "b",
        "\0",
        "a\0",
        "\0a",
        "#",
        "a#b",
        ":",
        "a:b",
        "/",
        "a/b",
        "\u{1}",
        "\u{10FFFF}",
        "a\0\u{1}b",
    ];
    with_teams(|db| {
        for (number, (first, last)) in
            parts.iter().flat_map(|first| parts.map(|last| (*first, last))).enumerate()
        {
            let person =
                json!({"id": number.to_string(), "team": "red", "first": first, "last": last});
            create(db, &person).unwrap();
        }
        for (number, (first, last)) in
            parts.iter().flat_map(|first| parts.map(|last| (*first, last))).enumerate()
        {
            let values = [("first", Value::from(first)), ("last", Value::from(last))];
            let found = block_on(db.find("person", &values)).unwrap().unwrap();
            assert_eq!(found.id(), number.to_string());
            let again = json!({"id": "x", "team": "blue", "first": first, "last": last});
            assert_taken(create(db, &again), &number.to_string());
        }
    });
}

#[test]
fn exactly_one_of_a_hundred_concurrent_creates_gets_a_name() {
    with_teams(|db| {
        let barrier = Barrier::new(100);
        let results: Vec<Result<Record, Error>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..100)
                .map(|number| {
                    let barrier = &barrier;
                    scope.spawn(move || {
                        barrier.wait();
                        let person =
                            json!({"id": format!("p{number}"), "team": "red", "mail": "m"});
                        create(db, &person)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let winners: Vec<&Record> =
            results.iter().filter_map(|result| result.as_ref().ok()).collect();
        assert_eq!(winners.len(), 1, "{results:?}");
        for lost in results.iter().filter_map(|result| result.as_ref().err()) {
            assert!(
                matches!(lost, Error::UniqueViolation { owner: Some(owner), .. } if owner == winners[0].id()),
                "{lost:?}"
            );
        }
        assert_eq!(find(db, "mail", "m").as_deref(), Some(winners[0].id()));
    });
}
