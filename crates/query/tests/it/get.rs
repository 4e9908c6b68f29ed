//! Entities by key and by unique value; what refers to them; what has expired; what is seen.

use keyloom_model::attribute::{OWNER, VERSION};
use keyloom_model::{EntityKey, OwnRow, Pending, UniqueId};
use keyloom_query::{DeletionState, Error, deletion_key};
use keyloom_store::Put;
use keyloom_value::Value;
use pollster::FutureExt;

use crate::rig::{NOW_MS, Rig};

const MODEL: &str = r#"
    [entity.person]
    fields.email = "text"
    fields.until = "time?"
    expires = "until"
    unique = [{ fields = ["email"], fold_case = true }]

    [entity.note]
    parent = "person"
    fields.about = "ref person refuse?"

    [entity.page]
    tenant = "site"
    fields.site = "text"
    fields.name = "text"
    unique = ["name"]
"#;

fn person(rig: &Rig, id: &str, until_ms: Option<i64>) -> keyloom_model::Image {
    let mut image = rig.image("person", id, [("email", format!("{id}@a.org").into())]);
    if let Some(ms) = until_ms {
        image.fields.insert("until", ms);
    }
    image
}

fn unique(rig: &Rig, entity: &str) -> UniqueId {
    rig.layout.model().entity(rig.entity(entity)).uniques().next().unwrap().0
}

fn find(rig: &Rig, email: &str) -> Option<String> {
    let (entity, unique) = (rig.entity("person"), unique(rig, "person"));
    let found = rig.reader().find(entity, None, unique, &[email.into()]).block_on().unwrap();
    found.map(|row| row.image.key.id)
}

fn ids(rows: &[Option<OwnRow>]) -> Vec<Option<&str>> {
    rows.iter().map(|row| row.as_ref().map(|row| row.image.key.id.as_str())).collect()
}

fn set_state(rig: &Rig, task: &str, state: DeletionState) {
    let mut row = deletion_key(task).to_item();
    row.insert(DeletionState::ATTRIBUTE, state.to_value());
    rig.store.put(Put::new(&rig.table, row)).block_on().unwrap();
}

#[test]
fn an_entity_is_got_as_it_was_put() {
    Rig::each(MODEL, |rig| {
        let ann = person(rig, "ann", Some(NOW_MS + 1));
        rig.put(&ann);
        let row = rig.reader().get(&ann.key).block_on().unwrap().unwrap();
        assert_eq!(row, OwnRow { image: ann, revision: 1, deletion: None, pending: Pending::NONE });
        for id in ["bob", "", "#", "\0", &"x".repeat(5_000)] {
            assert_eq!(rig.reader().get(&rig.key("person", id)).block_on().unwrap(), None);
        }
    });
}

#[test]
fn many_are_got_in_order_whatever_is_missing_or_asked_twice() {
    Rig::each(MODEL, |rig| {
        let all: Vec<String> = (0..250).map(|number| format!("p{number}")).collect();
        for id in all.iter().filter(|id| *id != "p7") {
            rig.put(&person(rig, id, (id == "p8").then_some(NOW_MS)));
        }
        rig.put_marked(&person(rig, "p9", None), "t");
        set_state(rig, "t", DeletionState::Sweeping);
        let too_long = "x".repeat(5_000);
        let mut asked: Vec<&str> = all.iter().map(String::as_str).rev().collect();
        asked.extend(["p3", too_long.as_str(), "p7", "p3", "p9", "p4"]);
        let keys: Vec<EntityKey> = asked.iter().map(|id| rig.key("person", id)).collect();
        let rows = rig.reader().get_many(&keys).block_on().unwrap();
        let hidden = ["p7", "p8", "p9", too_long.as_str()];
        let expected = asked.iter().map(|id| (!hidden.contains(id)).then_some(*id));
        assert_eq!(ids(&rows), expected.collect::<Vec<_>>());
    });
}

#[test]
fn what_has_expired_is_not_seen_and_is_named_oldest_first() {
    Rig::each(MODEL, |rig| {
        let times = [("c", -5), ("a", 0), ("b", -9), ("d", 1)];
        for (id, after_ms) in times {
            rig.put(&person(rig, id, Some(NOW_MS + after_ms)));
        }
        rig.put(&person(rig, "e", None));
        let sees = |id| rig.reader().get(&rig.key("person", id)).block_on().unwrap().is_some();
        assert_eq!(["a", "b", "c", "d", "e"].map(sees), [false, false, false, true, true]);
        assert!(rig.reader().get_any(&rig.key("person", "b")).block_on().unwrap().is_some());
        assert_eq!((find(rig, "b@a.org"), find(rig, "d@a.org").as_deref()), (None, Some("d")));

        let expired = |limit| {
            let keys = rig.reader().expired(rig.entity("person"), None, limit).block_on().unwrap();
            keys.keys.into_iter().map(|key| key.id).collect::<Vec<_>>()
        };
        assert_eq!(
            (expired(9), expired(2)),
            (vec!["b".into(), "c".into(), "a".into()], vec!["b".into(), "c".into()])
        );
        assert_eq!(rig.reader().expired(rig.entity("note"), None, 9).block_on().unwrap().keys, []);
    });
}

#[test]
fn what_a_deletion_has_marked_is_seen_until_it_sweeps() {
    Rig::each(MODEL, |rig| {
        let ann = person(rig, "ann", None);
        rig.put_marked(&ann, "t");
        let sees = || rig.reader().get(&ann.key).block_on().unwrap().is_some();
        assert!(sees(), "the deletion has no row");
        set_state(rig, "t", DeletionState::Marking);
        assert!(sees(), "the deletion is marking");
        assert_eq!(find(rig, "ann@a.org").as_deref(), Some("ann"));
        set_state(rig, "t", DeletionState::Sweeping);
        assert!(!sees(), "the deletion is sweeping");
        assert_eq!(find(rig, "ann@a.org"), None);
        let any = rig.reader().get_any(&ann.key).block_on().unwrap().unwrap();
        assert_eq!(any.deletion.as_deref(), Some("t"));
    });
}

/// The row of a finished deletion goes after the rows it has marked. Whoever read a marked row
/// before, and looks for the deletion after, must not see what is gone.
#[test]
fn a_row_that_was_swept_while_it_was_read_is_not_seen() {
    Rig::each(MODEL, |rig| {
        let ann = person(rig, "ann", None);
        rig.put_marked(&ann, "t");
        let read_before = rig.reader().get_any(&ann.key).block_on().unwrap().unwrap();
        rig.delete(&ann);
        assert_eq!(rig.reader().seen(read_before).block_on().unwrap(), None);
    });
}

#[test]
fn a_unique_value_finds_its_entity() {
    Rig::each(MODEL, |rig| {
        let ann = person(rig, "ann", None);
        rig.put(&ann);
        assert_eq!(find(rig, "ANN@a.org").as_deref(), Some("ann"));
        for other in ["bob@a.org", "", "\0", &"x".repeat(5_000)] {
            assert_eq!(find(rig, other), None);
        }
        let mut moved = ann.clone();
        moved.fields.insert("email", "new@a.org");
        rig.change(&ann, &moved);
        assert_eq!(
            (find(rig, "ann@a.org"), find(rig, "new@a.org").as_deref()),
            (None, Some("ann"))
        );
    });
}

/// Between reading the guard and its owner the value can pass on: a guard alone proves nothing.
#[test]
fn a_guard_whose_owner_has_another_value_finds_nothing() {
    Rig::each(MODEL, |rig| {
        rig.put(&person(rig, "ann", None));
        let stale = &rig.layout.rows(&person(rig, "old", None)).unwrap()[1];
        let mut row = stale.item.clone();
        let ann = rig.layout.own_key(&rig.key("person", "ann"));
        row.insert(OWNER, ann.partition.as_bytes().to_vec());
        rig.put_row(row);
        assert_eq!(find(rig, "old@a.org"), None);
        rig.put_row(stale.item.clone());
        assert_eq!(find(rig, "old@a.org"), None, "the owner is not there");
    });
}

#[test]
fn tenants_do_not_find_each_other() {
    Rig::each(MODEL, |rig| {
        let mut page = rig.image("page", "1", [("site", "a".into()), ("name", "home".into())]);
        page.key.tenant = Some("a".into());
        rig.put(&page);
        let find = |tenant: &Value| {
            let (entity, unique) = (rig.entity("page"), unique(rig, "page"));
            let found =
                rig.reader().find(entity, Some(tenant), unique, &["home".into()]).block_on();
            found.unwrap().is_some()
        };
        assert!(find(&"a".into()));
        assert!(!find(&"b".into()) && !find(&"".into()));
        let stranger = EntityKey { tenant: Some("b".into()), ..page.key.clone() };
        assert_eq!(rig.reader().get(&stranger).block_on().unwrap(), None);
    });
}

#[test]
fn a_question_that_makes_no_sense_is_refused() {
    Rig::each(MODEL, |rig| {
        let (person, page) = (rig.entity("person"), rig.entity("page"));
        let (email, name) = (unique(rig, "person"), unique(rig, "page"));
        let tenant = Value::from("a");
        let find = |entity, tenant, unique, values: &[Value]| match rig
            .reader()
            .find(entity, tenant, unique, values)
            .block_on()
        {
            Err(Error::Request(error)) => error.to_string(),
            other => panic!("{other:?}"),
        };
        let cases = [
            (
                find(person, None, email, &[]),
                "A unique of `person` takes 1 values, and 0 were given.",
            ),
            (find(person, None, email, &[1.into()]), "A value of `email` is not of the type text."),
            (
                find(person, Some(&tenant), email, &[]),
                "All tenants share `person`: leave out the tenant.",
            ),
            (
                find(page, None, name, &[]),
                "Every `page` belongs to a tenant: name the one to read.",
            ),
        ];
        for (message, expected) in cases {
            assert_eq!(message, expected);
        }
    });
}

#[test]
fn links_are_all_that_refers_to_an_entity_page_by_page() {
    Rig::each(MODEL, |rig| {
        rig.put(&person(rig, "ann", None));
        rig.put(&person(rig, "bob", None));
        for number in 10..30 {
            let id = format!("n{number}");
            let (parent, about) = if number < 20 { ("ann", "bob") } else { ("bob", "ann") };
            let fields = [("person", parent.into()), ("about", about.into())];
            rig.put(&rig.image("note", &id, fields));
        }
        for limit in [1, 3, 19, 20, 100] {
            let (mut after, mut owners) = (None, Vec::new());
            loop {
                let ann = rig.key("person", "ann");
                let page = rig.reader().links(&ann, after.as_ref(), limit).block_on().unwrap();
                assert!(page.links.len() <= limit as usize);
                owners.extend(page.links.into_iter().map(|link| link.owner.id));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            let expected: Vec<String> = (10..30).map(|number| format!("n{number}")).collect();
            assert_eq!(owners, expected, "children first, then references; each by id");
        }
        let none = rig.reader().links(&rig.key("person", "eve"), None, 9).block_on().unwrap();
        assert_eq!((none.links, none.next), (vec![], None));
    });
}

#[test]
fn a_damaged_row_is_named() {
    Rig::each(MODEL, |rig| {
        let ann = person(rig, "ann", None);
        let mut row = rig.layout.rows(&ann).unwrap().remove(0).item;
        row.remove(VERSION);
        rig.put_row(row);
        let error = rig.reader().get(&ann.key).block_on().unwrap_err();
        assert_eq!(
            error.to_string(),
            "The row (\"e\", \"person\", \"ann\") / (0) is damaged: its attribute `V` is missing or of a wrong \
             type. Verify and repair the data."
        );
    });
}

/// Servers move futures between threads.
#[test]
fn futures_can_be_sent() {
    fn check(future: impl Future + Send) {
        future.block_on();
    }
    Rig::each(MODEL, |rig| {
        check(rig.reader().get(&rig.key("person", "ann")));
        check(rig.reader().get_many(&[]));
    });
}
