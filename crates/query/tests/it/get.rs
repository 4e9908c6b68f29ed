//! Entities by key and by unique value, references to them, expiry and visibility.

use keyloom_model::attribute::{OWNER, VERSION};
use keyloom_model::{EntityKey, OwnRow, Pending, UniqueId};
use keyloom_query::{DeletionState, Error, UniqueRequest, deletion_key};
use keyloom_store::Put;
use keyloom_value::{Item, Value};
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

/// A request without a tenant, of the only unique of an entity.
fn request(rig: &Rig, entity: &str, values: &[Value]) -> UniqueRequest {
    let (entity, unique) = (rig.entity(entity), unique(rig, entity));
    UniqueRequest { entity, tenant: None, unique, values: values.to_vec() }
}

fn find(rig: &Rig, email: &str) -> Option<String> {
    let request = request(rig, "person", &[email.into()]);
    let found = rig.reader().find(&request).block_on().unwrap();
    found.map(|row| row.image.key.id)
}

fn ids(rows: &[Option<OwnRow>]) -> Vec<Option<&str>> {
    rows.iter().map(|row| row.as_ref().map(|row| row.image.key.id.as_str())).collect()
}

fn set_state(rig: &Rig, deletion: &str, state: DeletionState) {
    let mut row = deletion_key(deletion).to_item();
    row.insert(DeletionState::ATTRIBUTE, state.to_value());
    rig.store.put(Put::new(&rig.table, row)).block_on().unwrap();
}

#[test]
fn get_returns_the_entity_as_stored() {
    Rig::each(MODEL, |rig| {
        let ann = person(rig, "ann", Some(NOW_MS + 1));
        rig.put(&ann);
        let row = rig.reader().get(&ann.key).block_on().unwrap().unwrap();
        assert_eq!(
            row,
            OwnRow {
                image: ann,
                revision: 1,
                deletion: None,
                pending: Pending::NONE,
                retired: Item::new(),
            }
        );
        for id in ["bob", "", "#", "\0", &"x".repeat(5_000)] {
            assert_eq!(rig.reader().get(&rig.key("person", id)).block_on().unwrap(), None);
        }
    });
}

#[test]
fn get_many_keeps_the_order_of_missing_and_repeated_keys() {
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
fn expired_entities_are_invisible_and_listed_oldest_first() {
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
fn marked_entity_is_visible_until_its_deletion_sweeps() {
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

/// A finished deletion removes its record after the rows it has marked. A reader that has read a
/// marked row before, and looks for the record after, must not return the removed entity.
#[test]
fn row_swept_between_two_reads_is_invisible() {
    Rig::each(MODEL, |rig| {
        let ann = person(rig, "ann", None);
        rig.put_marked(&ann, "t");
        let read_before = rig.reader().get_any(&ann.key).block_on().unwrap().unwrap();
        rig.delete(&ann);
        assert_eq!(rig.reader().seen(read_before).block_on().unwrap(), None);
    });
}

#[test]
fn find_returns_the_owner_of_a_unique_value() {
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

/// The value can move to another entity between reading the guard and its owner, so the guard alone
/// proves nothing.
#[test]
fn stale_guard_finds_nothing() {
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
fn find_is_limited_to_one_tenant() {
    Rig::each(MODEL, |rig| {
        let mut page = rig.image("page", "1", [("site", "a".into()), ("name", "home".into())]);
        page.key.tenant = Some("a".into());
        rig.put(&page);
        let find = |tenant: &Value| {
            let request = request(rig, "page", &["home".into()]);
            let request = UniqueRequest { tenant: Some(tenant.clone()), ..request };
            rig.reader().find(&request).block_on().unwrap().is_some()
        };
        assert!(find(&"a".into()));
        assert!(!find(&"b".into()) && !find(&"".into()));
        let stranger = EntityKey { tenant: Some("b".into()), ..page.key.clone() };
        assert_eq!(rig.reader().get(&stranger).block_on().unwrap(), None);
    });
}

#[test]
fn invalid_unique_requests_are_rejected() {
    Rig::each(MODEL, |rig| {
        let cases = [
            (request(rig, "person", &[]), "A unique of `person` takes 1 values, and 0 were given."),
            (request(rig, "person", &[1.into()]), "A value of `email` is not of the type text."),
            (
                UniqueRequest { tenant: Some("a".into()), ..request(rig, "person", &[]) },
                "All tenants share `person`: leave out the tenant.",
            ),
            (request(rig, "page", &[]), "Every `page` belongs to a tenant: name the one to read."),
        ];
        for (request, expected) in cases {
            match rig.reader().find(&request).block_on() {
                Err(Error::Request(error)) => assert_eq!(error.to_string(), expected),
                other => panic!("{other:?}"),
            }
        }
    });
}

#[test]
fn links_returns_every_reference_across_pages() {
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
fn error_names_the_damaged_row() {
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
fn futures_are_send() {
    fn check(future: impl Future + Send) {
        future.block_on();
    }
    Rig::each(MODEL, |rig| {
        check(rig.reader().get(&rig.key("person", "ann")));
        check(rig.reader().get_many(&[]));
    });
}
