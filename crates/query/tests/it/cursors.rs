//! Cursors cannot be forged, changed, or used for another query.

use std::ops::Bound;

use keyloom_model::Layout;
use keyloom_query::{Budget, CursorError, CursorKey, Error, ListRequest, Range};
use keyloom_store::Direction;
use keyloom_value::Item;
use pollster::FutureExt;
use proptest::prelude::*;

use crate::rig::{Rig, STORES};

const MODEL: &str = r#"
    [entity.page]
    tenant = "site"
    fields.site  = "text"
    fields.state = "enum(draft, done)"
    fields.kind  = "enum(x, y)"
    fields.rank  = "int"
    fields.level = "int"
    list.all    = {}
    list.ranked = { by = "kind", order = "-rank", where = { level = 1 } }
    list.mixed  = { by = "kind", order = ["state", "-rank"] }
    list.again  = { by = "kind", order = ["state", "rank"] }
"#;

const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn filled(model: &str) -> Rig {
    let rig = Rig::new(STORES[0].1, model);
    for number in 0..9 {
        let tenant = if number < 6 { "a" } else { "b" };
        let fields = [
            ("site", tenant.into()),
            ("state", "done".into()),
            ("kind", "x".into()),
            ("rank", 1.into()),
            ("level", 1.into()),
        ];
        let mut image = rig.image("page", &format!("p{number}"), fields);
        image.key.tenant = Some(tenant.into());
        rig.put(&image);
    }
    rig
}

fn request(rig: &Rig, list: &str) -> ListRequest {
    let (entity, id) = rig.list("page", list);
    let by = if list == "all" { vec![] } else { vec!["x".into()] };
    ListRequest { tenant: Some("a".into()), by, limit: 2, ..ListRequest::new(entity, id) }
}

fn cursor(rig: &Rig, request: &ListRequest) -> String {
    let page = rig.reader().list(request, &rig.cursors, None).block_on().unwrap();
    page.next.expect("there is a second page")
}

fn refusal(rig: &Rig, request: &ListRequest, cursor: &str) -> CursorError {
    match rig.reader().list(request, &rig.cursors, Some(cursor)).block_on() {
        Err(Error::Cursor(error)) => error,
        other => panic!("{cursor}: {other:?}"),
    }
}

#[test]
fn changed_cursor_is_rejected() {
    let rig = filled(MODEL);
    let request = request(&rig, "mixed");
    let good = cursor(&rig, &request);
    assert!(good.chars().all(|c| ALPHABET.contains(c)), "{good} needs no escaping in a URL");
    for at in 0..good.len() {
        for other in ALPHABET.chars().filter(|c| !good[at..].starts_with(*c)) {
            let mut bad = good.clone();
            bad.replace_range(at..=at, other.encode_utf8(&mut [0; 4]));
            let error = refusal(&rig, &request, &bad);
            // The first eight bits are the version; the last character has unused bits.
            let is_format_broken = at < 2 || at + 1 == good.len();
            assert!(
                error == CursorError::Changed
                    || is_format_broken && error == CursorError::NotACursor,
                "{at} {other}: {error}"
            );
        }
        for len in [at, at + 1] {
            let bad = format!("{}{}", &good[..at], &good[len..]);
            if bad != good {
                assert_ne!(refusal(&rig, &request, &bad), CursorError::OtherQuery, "{at}");
            }
        }
    }
    for bad in [format!("{good}A"), format!("{good}AAAA"), format!("{good}{good}")] {
        assert_ne!(refusal(&rig, &request, &bad), CursorError::OtherQuery);
    }
}

#[test]
fn text_that_is_no_cursor_is_reported_as_such() {
    let rig = filled(MODEL);
    let request = request(&rig, "mixed");
    let long = "AQ".repeat(1_000_000);
    for text in ["", "A", "next", "a cursor", "=", "AQ==", "\0", "ü", "%41", &long] {
        assert_eq!(refusal(&rig, &request, text), CursorError::NotACursor, "{text:.20}");
    }
}

#[test]
fn cursor_of_another_store_is_rejected() {
    let (rig, mut other) = (filled(MODEL), filled(MODEL));
    other.cursors = CursorKey::new([8; 32]);
    let request = request(&rig, "mixed");
    let good = cursor(&rig, &request);
    assert_eq!(refusal(&other, &request, &good), CursorError::Changed);
    assert_eq!(format!("{:?}", rig.cursors), "CursorKey", "a secret is not printed");
}

#[test]
fn cursor_is_valid_only_for_its_query() {
    let rig = filled(MODEL);
    let asked = request(&rig, "mixed");
    let good = cursor(&rig, &asked);
    let range = |equal: &str| Range::equal(vec![equal.into()]);
    let bounded = |lower, upper| Range { equal: vec![], lower, upper };
    let done = || Bound::Included("done".into());
    let others = [
        request(&rig, "all"),
        request(&rig, "ranked"),
        request(&rig, "again"),
        ListRequest { tenant: Some("b".into()), ..asked.clone() },
        ListRequest { tenant: Some("".into()), ..asked.clone() },
        ListRequest { by: vec!["y".into()], ..asked.clone() },
        ListRequest { direction: Direction::Backward, ..asked.clone() },
        ListRequest { range: range("done"), ..asked.clone() },
        ListRequest { range: range("draft"), ..asked.clone() },
        ListRequest { range: bounded(done(), Bound::Unbounded), ..asked.clone() },
        ListRequest { range: bounded(Bound::Unbounded, done()), ..asked.clone() },
        ListRequest { tenant: Some("x".repeat(3_000).into()), ..asked.clone() },
    ];
    for other in others {
        assert_eq!(refusal(&rig, &other, &good), CursorError::OtherQuery, "{other:?}");
    }
    // How much is read at once is not part of the query.
    let budget = Budget { rows: 3, ..Budget::STANDARD };
    for same in [ListRequest { limit: 7, ..asked.clone() }, ListRequest { budget, ..asked }] {
        rig.reader().list(&same, &rig.cursors, Some(&good)).block_on().unwrap();
    }
}

#[test]
fn cursor_is_rejected_after_its_list_changes_meaning() {
    let mut rig = filled(MODEL);
    let good = cursor(&rig, &request(&rig, "mixed"));
    let filtered = cursor(&rig, &request(&rig, "ranked"));
    let mut change = |from: &str, to: &str| {
        assert!(MODEL.contains(from));
        let model = keyloom_model::check(&MODEL.replace(from, to)).unwrap();
        rig.layout = Layout::new(model, 2, &Item::new());
        let ask = |list: &str, cursor: &str| {
            let request = request(&rig, list);
            match rig.reader().list(&request, &rig.cursors, Some(cursor)).block_on() {
                Ok(_) => None,
                Err(Error::Cursor(error)) => Some(error),
                Err(other) => panic!("{other}"),
            }
        };
        (ask("mixed", &good), ask("ranked", &filtered))
    };
    let other = Some(CursorError::OtherQuery);
    assert_eq!(change("fields.rank", "fields.more = \"int?\"\nfields.rank"), (None, None));
    assert_eq!(change("draft, done", "done, draft"), (other, None));
    assert_eq!(change("draft, done", "draft, done, gone"), (other, None));
    assert_eq!(change("\"state\", \"-rank\"", "\"state\", \"-level\""), (other, None));
    assert_eq!(change("where = { level = 1 }", "where = { level = 2 }"), (None, other));
    assert_eq!(change("order = \"-rank\"", "order = \"rank\""), (None, other));
}

#[test]
fn cursor_errors_say_how_to_recover() {
    let texts = [CursorError::NotACursor, CursorError::Changed, CursorError::OtherQuery];
    let expected = [
        "Invalid cursor: pass `next` or `previous` unchanged, or none for the first page.",
        "The cursor was changed, or made by another store: pass `next` or `previous` unchanged, \
         or none for the first page.",
        "The cursor is of another query or tenant, or from before the model changed: repeat the \
         query that returned it, or start without a cursor.",
    ];
    assert_eq!(texts.map(|error| Error::Cursor(error).to_string()), expected);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn random_text_is_never_a_valid_cursor(text in prop_oneof![any::<String>(), "[A-Za-z0-9_-]{0,200}", "AQ[A-Za-z0-9_-]{42,80}"]) {
        thread_local!(static RIG: Rig = filled(MODEL));
        RIG.with(|rig| {
            let error = refusal(rig, &request(rig, "mixed"), &text);
            assert_ne!(error, CursorError::OtherQuery);
        });
    }
}
