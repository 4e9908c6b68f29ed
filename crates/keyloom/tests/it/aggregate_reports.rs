//! Wrong aggregates that users of other databases have published about views which are kept up to date by writes, as
//! regression tests. Each has the story of the report. That a group which was emptied comes back is in `summing.rs`.

use std::sync::Arc;

use keyloom::{Counted, Db, Value};
use keyloom_store::Store;
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, each_store, open};

const PLAIN: &str = r#"
[entity.reading]
id = "given"
fields.place = "text"
fields.note = "text?"
fields.level = "int?"
"#;

const COUNTED: &str = r#"
count.levels = { by = "place", sum = "level", min = "level", max = "level" }
count.noted = { where = { note = "x" }, sum = "level", max = "level" }
"#;

/// Opens the readings with their counts.
fn counted(store: &Arc<dyn Store>) -> Db {
    block_on(open(&format!("{PLAIN}{COUNTED}"), store.clone()))
}

fn put(db: &Db, id: &str, level: Option<i64>, note: Option<&str>) {
    let reading = json!({ "id": id, "place": "k", "level": level, "note": note });
    block_on(db.put("reading", id, &reading)).expect("it is written");
}

fn levels(db: &Db) -> Counted {
    block_on(db.count("reading", "levels").by("place", "k").whole()).expect("it is counted")
}

fn noted(db: &Db) -> Counted {
    block_on(db.count("reading", "noted").whole()).expect("it is counted")
}

fn sum(counted: &Counted) -> Option<&Value> {
    counted.sums.get("level")
}

fn extremes(counted: &Counted) -> [Option<&Value>; 2] {
    [counted.min.get("level"), counted.max.get("level")]
}

/// A view added integers up as floating-point numbers: 2^62 and 1 made 4.611686018427388e18, which was stored, while the
/// same query without the view was exact.
#[test]
fn a_sum_of_integers_beyond_2_to_the_53_is_exact() {
    const LARGE: i64 = 1 << 62;
    each_store(|store| {
        // Of data that was there before the count, as in the report, and of what is written after it.
        let db = block_on(open(PLAIN, store.clone()));
        put(&db, "a", Some(LARGE), None);
        put(&db, "b", Some(1), None);
        let db = counted(&store);
        block_on(db.backfill(|_| {})).expect("it is built");
        assert_eq!(sum(&levels(&db)), Some(&Value::from(LARGE + 1)));
        put(&db, "c", Some((1 << 53) + 1), None);
        assert_eq!(sum(&levels(&db)), Some(&Value::from(LARGE + (1 << 53) + 2)));
        // More than 64 bits have.
        put(&db, "d", Some(LARGE), None);
        put(&db, "e", Some(i64::MAX), None);
        let all = "18455751272964292609".parse().expect("a number");
        assert_eq!(sum(&levels(&db)), Some(&Value::N(all)));
        for gone in ["a", "d", "e"] {
            block_on(db.delete("reading", gone)).expect("it is deleted");
        }
        assert_eq!(sum(&levels(&db)), Some(&Value::from((1_i64 << 53) + 2)));
        assert_clean(&db);
    });
}

/// An update of the entity with the greatest value failed if the group had an entity without a value: it was included when
/// the greatest one was looked for again, although the condition of the view excluded it. Insertions had worked.
#[test]
fn a_maximum_survives_an_update_beside_entities_without_a_value() {
    each_store(|store| {
        let db = counted(&store);
        put(&db, "n0", Some(1), Some("x"));
        put(&db, "n1", None, Some("x"));
        put(&db, "n2", Some(996), Some("x"));
        // Excluded by the condition, with a greater value.
        put(&db, "n3", Some(5000), None);
        let max = |expected: i64| {
            assert_eq!(noted(&db).max.get("level"), Some(&Value::from(expected)));
        };
        max(996);
        for level in [2, 997, 0, -7] {
            put(&db, "n2", Some(level), Some("x"));
            max(level.max(1));
        }
        put(&db, "n2", Some(996), None);
        max(1);
        put(&db, "n0", None, Some("x"));
        assert_eq!(noted(&db).max.get("level"), None);
        assert_eq!(noted(&db).count, 2);
        put(&db, "n1", Some(3), Some("x"));
        max(3);
        assert_clean(&db);
    });
}

/// A view made its table refuse entities without the value that it added up, and an update that took the value away failed
/// with the sum in the message.
#[test]
fn entities_without_a_value_are_counted_and_add_nothing() {
    each_store(|store| {
        let db = counted(&store);
        put(&db, "a", Some(10), None);
        put(&db, "b", None, None);
        let of = |db: &Db| (levels(db).count, sum(&levels(db)).cloned());
        assert_eq!(of(&db), (2, Some(Value::from(10))));
        put(&db, "a", None, None);
        assert_eq!(of(&db), (2, Some(Value::from(0))));
        assert_eq!(extremes(&levels(&db)), [None, None]);
        put(&db, "b", Some(4), None);
        assert_eq!(of(&db), (2, Some(Value::from(4))));
        assert_clean(&db);
    });
}

/// A group whose sum was zero was taken for an empty one, and its next change gave wrong numbers.
#[test]
fn a_group_whose_sum_is_zero_goes_on() {
    each_store(|store| {
        let db = counted(&store);
        put(&db, "a", Some(0), None);
        put(&db, "b", Some(-3), None);
        put(&db, "c", Some(3), None);
        assert_eq!((levels(&db).count, sum(&levels(&db))), (3, Some(&Value::from(0))));
        put(&db, "a", Some(1), None);
        let found = levels(&db);
        assert_eq!((found.count, sum(&found)), (3, Some(&Value::from(1))));
        assert_eq!(extremes(&found), [Some(&Value::from(-3)), Some(&Value::from(3))]);
        assert_clean(&db);
    });
}
