//! Parents with their children.

use keyloom_model::{EntityKey, Image};
use keyloom_query::{
    Children, CursorError, DeletionState, Error, Family, FamilyRequest, Reader, deletion_key,
};
use pollster::FutureExt;

use crate::rig::{NOW_MS, Rig};
use crate::watched::Watched;

const MODEL: &str = r#"
    [entity.contact]
    tenant = "domain"
    fields.domain = "text"
    fields.until  = "time?"
    expires = "until"

    [entity.method]
    parent = "contact"
    fields.address = "text"
    fields.until   = "time?"
    expires = "until"

    [entity.note]
    parent = "contact"
    fields.body = "text = ''"

    [entity.line]
    parent = "note"
"#;

fn key(rig: &Rig, entity: &str, id: &str) -> EntityKey {
    EntityKey { tenant: Some("a".into()), ..rig.key(entity, id) }
}

fn contact(rig: &Rig, id: &str) -> Image {
    let image = rig.image("contact", id, [("domain", "a".into())]);
    Image { key: key(rig, "contact", id), ..image }
}

fn method(rig: &Rig, parent: &str, id: &str) -> Image {
    let image = rig.image("method", id, [("contact", parent.into()), ("address", id.into())]);
    Image { key: key(rig, "method", id), ..image }
}

fn note(rig: &Rig, parent: &str, id: &str, body_bytes: usize) -> Image {
    let fields = [("contact", parent.into()), ("body", "x".repeat(body_bytes).into())];
    Image { key: key(rig, "note", id), ..rig.image("note", id, fields) }
}

fn request(rig: &Rig, id: &str, children: Children, limit: u32) -> FamilyRequest {
    FamilyRequest { parent: key(rig, "contact", id), children, limit }
}

/// The parent with all its children, page by page.
fn whole(rig: &Rig, request: &FamilyRequest) -> Option<(Image, Vec<Image>)> {
    let reader = rig.reader();
    let family = reader.family(request, &rig.cursors).block_on().unwrap()?;
    let Family { parent, children, mut next } = family;
    let mut children: Vec<Image> = children.into_iter().map(|child| child.image).collect();
    while let Some(cursor) = next {
        let page = reader.children(request, &rig.cursors, Some(&cursor)).block_on().unwrap()?;
        assert!(page.children.len() <= request.limit as usize);
        children.extend(page.children.into_iter().map(|child| child.image));
        assert!(page.next != Some(cursor), "it does not get on");
        next = page.next;
    }
    Some((parent.image, children))
}

fn ids(children: &[Image]) -> Vec<&str> {
    children.iter().map(|image| image.key.id.as_str()).collect()
}

#[test]
fn a_family_is_the_parent_and_its_children_whatever_the_page() {
    Rig::each(MODEL, |rig| {
        let ann = contact(rig, "ann");
        let neighbours = ["an", "ann\0", "ann#", "anna"].map(|id| contact(rig, id));
        let methods: Vec<Image> =
            (0..7).map(|number| method(rig, "ann", &format!("m{number}"))).collect();
        let notes: Vec<Image> =
            (0..5).map(|number| note(rig, "ann", &format!("n{number}"), 9)).collect();
        let strangers = neighbours.iter().map(|other| {
            let id = &other.key.id;
            method(rig, id, &format!("of {id}"))
        });
        let strangers: Vec<Image> = strangers.collect();
        let all = [&[ann.clone()][..], &neighbours, &methods, &notes, &strangers].concat();
        all.iter().rev().for_each(|image| rig.put(image));

        let both = [&methods[..], &notes[..]].concat();
        let cases = [
            (Children::All, &both),
            (Children::Of(rig.entity("method")), &methods),
            (Children::Of(rig.entity("note")), &notes),
        ];
        for (children, expected) in cases {
            for limit in 1..14 {
                let found = whole(rig, &request(rig, "ann", children, limit)).unwrap();
                assert_eq!(found, (ann.clone(), expected.clone()), "{limit}");
            }
            let (reader, three) = (rig.reader(), request(rig, "ann", children, 3));
            let first = reader.children(&three, &rig.cursors, None).block_on().unwrap();
            let first = first.unwrap().children.into_iter().map(|child| child.image);
            assert_eq!(first.collect::<Vec<_>>(), expected[..3]);
            let full = request(rig, "ann", children, u32::try_from(expected.len()).unwrap());
            let family = rig.reader().family(&full, &rig.cursors).block_on().unwrap().unwrap();
            assert_eq!(family.next, None, "a full last page is known");
        }
        let (_, children) = whole(rig, &request(rig, "anna", Children::All, 9)).unwrap();
        assert_eq!(ids(&children), ["of anna"]);
    });
}

#[test]
fn a_family_is_one_read() {
    Rig::each(MODEL, |rig| {
        rig.put(&contact(rig, "ann"));
        rig.put(&note(rig, "ann", "n", 9));
        let line = rig.image("line", "l", [("note", "n".into())]);
        rig.put(&Image { key: key(rig, "line", "l"), ..line });
        let watched = Watched::new(&rig.store);
        let reader = Reader { store: &watched, ..rig.reader() };
        let counts = |request: &FamilyRequest| {
            let family = reader.family(request, &rig.cursors).block_on().unwrap();
            assert_eq!(family.unwrap().children.len(), 1);
            watched.take_counts()
        };
        assert_eq!(counts(&request(rig, "ann", Children::All, 9)), [0, 1, 0]);
        let of_note = Children::Of(rig.entity("note"));
        assert_eq!(counts(&request(rig, "ann", of_note, 9)), [1, 1, 0], "one kind of two");
        let lines = Children::Of(rig.entity("line"));
        let only_kind = FamilyRequest { parent: key(rig, "note", "n"), children: lines, limit: 9 };
        assert_eq!(counts(&only_kind), [0, 1, 0]);
    });
}

#[test]
fn who_is_not_seen_has_no_family_and_is_in_none() {
    Rig::each(MODEL, |rig| {
        let mut gone = contact(rig, "gone");
        gone.fields.insert("until", NOW_MS);
        rig.put(&gone);
        rig.put(&method(rig, "gone", "of gone"));
        rig.put(&contact(rig, "ann"));
        let expiring = [("m1", 0), ("m2", 1), ("m3", -1)];
        for (id, after_ms) in expiring {
            let mut image = method(rig, "ann", id);
            image.fields.insert("until", NOW_MS + after_ms);
            rig.put(&image);
        }
        rig.put_marked(&method(rig, "ann", "m4"), "t");
        rig.put_marked(&contact(rig, "bob"), "t");
        rig.put_marked(&method(rig, "bob", "of bob"), "t");
        // No own row: what is left of a contact is no contact.
        rig.put(&method(rig, "nobody", "of nobody"));

        let children = |id: &str| {
            [Children::All, Children::Of(rig.entity("method"))].map(|children| {
                let found = whole(rig, &request(rig, id, children, 1));
                found.map(|(_, children)| ids(&children).join(" "))
            })
        };
        let some = |ids: &str| [Some(ids.to_owned()), Some(ids.to_owned())];
        let mut task = deletion_key("t").to_item();
        for state in [DeletionState::Marking, DeletionState::Sweeping] {
            task.insert(DeletionState::ATTRIBUTE, state.to_value());
            rig.put_row(task.clone());
            assert_eq!(
                [children("gone"), children("nobody"), children("")],
                [const { [None, None] }; 3]
            );
            match state {
                DeletionState::Marking | DeletionState::CalledOff => {
                    assert_eq!([children("ann"), children("bob")], [some("m2 m4"), some("of bob")]);
                }
                DeletionState::Sweeping => {
                    assert_eq!([children("ann"), children("bob")], [some("m2"), [None, None]]);
                }
            }
        }
        let request = request(rig, "gone", Children::All, 9);
        assert_eq!(rig.reader().children(&request, &rig.cursors, None).block_on().unwrap(), None);
    });
}

/// A store ends a page at 1 MiB, whatever the limit.
#[test]
fn large_children_come_on_several_pages() {
    Rig::each(MODEL, |rig| {
        rig.put(&contact(rig, "ann"));
        let notes: Vec<Image> =
            (0..9).map(|number| note(rig, "ann", &format!("n{number}"), 300_000)).collect();
        notes.iter().for_each(|image| rig.put(image));
        let request = request(rig, "ann", Children::All, 100);
        let first = rig.reader().family(&request, &rig.cursors).block_on().unwrap().unwrap();
        assert!((1..9).contains(&first.children.len()) && first.next.is_some());
        assert_eq!(whole(rig, &request).unwrap().1, notes);
    });
}

#[test]
fn a_cursor_is_of_one_family() {
    Rig::each(MODEL, |rig| {
        for parent in ["ann", "bob"] {
            rig.put(&contact(rig, parent));
            (0..3).for_each(|number| rig.put(&method(rig, parent, &format!("{parent}{number}"))));
        }
        let asked = request(rig, "ann", Children::All, 1);
        let reader = rig.reader();
        let cursor = reader.family(&asked, &rig.cursors).block_on().unwrap().unwrap().next.unwrap();
        let others = [
            request(rig, "bob", Children::All, 1),
            request(rig, "ann", Children::Of(rig.entity("method")), 1),
        ];
        for other in others {
            let error = reader.children(&other, &rig.cursors, Some(&cursor)).block_on();
            assert!(matches!(error, Err(Error::Cursor(CursorError::OtherQuery))), "{error:?}");
        }
    });
}

#[test]
fn a_family_that_makes_no_sense_is_refused() {
    Rig::each(MODEL, |rig| {
        let ask = |request: FamilyRequest| {
            rig.reader().family(&request, &rig.cursors).block_on().unwrap_err().to_string()
        };
        let cases = [
            (request(rig, "ann", Children::All, 0), "The limit 0 is out of range: use 1 to 1000."),
            (
                request(rig, "ann", Children::Of(rig.entity("line")), 1),
                "`line` is not a child of `contact`.",
            ),
            (
                FamilyRequest {
                    parent: rig.key("contact", "ann"),
                    children: Children::All,
                    limit: 1,
                },
                "Every `contact` belongs to a tenant: name the one to read.",
            ),
        ];
        for (request, expected) in cases {
            assert_eq!(ask(request), expected);
        }
        let too_long = request(rig, &"x".repeat(3_000), Children::All, 1);
        assert_eq!(rig.reader().family(&too_long, &rig.cursors).block_on().unwrap(), None);
        assert_eq!(rig.reader().children(&too_long, &rig.cursors, None).block_on().unwrap(), None);
    });
}
