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

/// The child of a contact.
#[derive(Clone, Copy)]
struct Child<'c> {
    parent: &'c str,
    id: &'c str,
}

/// The same key, of the tenant that all entities here are of.
fn of_tenant(key: EntityKey) -> EntityKey {
    EntityKey { tenant: Some("a".into()), ..key }
}

fn contact(rig: &Rig, id: &str) -> Image {
    let image = rig.image("contact", id, [("domain", "a".into())]);
    Image { key: of_tenant(image.key), ..image }
}

fn method(rig: &Rig, child: Child<'_>) -> Image {
    let Child { parent, id } = child;
    let image = rig.image("method", id, [("contact", parent.into()), ("address", id.into())]);
    Image { key: of_tenant(image.key), ..image }
}

fn note(rig: &Rig, child: Child<'_>, body_bytes: usize) -> Image {
    let Child { parent, id } = child;
    let fields = [("contact", parent.into()), ("body", "x".repeat(body_bytes).into())];
    let image = rig.image("note", id, fields);
    Image { key: of_tenant(image.key), ..image }
}

fn of_ann(id: &str) -> Child<'_> {
    Child { parent: "ann", id }
}

/// A request for the first 9 children of a contact.
fn request(rig: &Rig, id: &str) -> FamilyRequest {
    let parent = of_tenant(rig.key("contact", id));
    FamilyRequest { parent, children: Children::All, limit: 9 }
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
        assert!(page.next != Some(cursor), "the cursor does not advance");
        next = page.next;
    }
    Some((parent.image, children))
}

fn ids(children: &[Image]) -> Vec<&str> {
    children.iter().map(|image| image.key.id.as_str()).collect()
}

#[test]
fn children_are_the_same_for_any_page_size() {
    Rig::each(MODEL, |rig| {
        let ann = contact(rig, "ann");
        let neighbours = ["an", "ann\0", "ann#", "anna"].map(|id| contact(rig, id));
        let methods: Vec<Image> =
            (0..7).map(|number| method(rig, of_ann(&format!("m{number}")))).collect();
        let notes: Vec<Image> =
            (0..5).map(|number| note(rig, of_ann(&format!("n{number}")), 9)).collect();
        let strangers = neighbours.iter().map(|other| {
            let parent = &other.key.id;
            method(rig, Child { parent, id: &format!("of {parent}") })
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
                let request = FamilyRequest { children, limit, ..request(rig, "ann") };
                let found = whole(rig, &request).unwrap();
                assert_eq!(found, (ann.clone(), expected.clone()), "{limit}");
            }
            let three = FamilyRequest { children, limit: 3, ..request(rig, "ann") };
            let first = rig.reader().children(&three, &rig.cursors, None).block_on().unwrap();
            let first = first.unwrap().children.into_iter().map(|child| child.image);
            assert_eq!(first.collect::<Vec<_>>(), expected[..3]);
            let full = FamilyRequest { limit: u32::try_from(expected.len()).unwrap(), ..three };
            let family = rig.reader().family(&full, &rig.cursors).block_on().unwrap().unwrap();
            assert_eq!(family.next, None, "a full last page is known");
        }
        let (_, children) = whole(rig, &request(rig, "anna")).unwrap();
        assert_eq!(ids(&children), ["of anna"]);
    });
}

#[test]
fn parent_with_children_is_one_read() {
    Rig::each(MODEL, |rig| {
        rig.put(&contact(rig, "ann"));
        rig.put(&note(rig, of_ann("n"), 9));
        let line = rig.image("line", "l", [("note", "n".into())]);
        rig.put(&Image { key: of_tenant(line.key), ..line });
        let watched = Watched::new(&rig.store);
        let reader = Reader { store: &watched, ..rig.reader() };
        let counts = |request: &FamilyRequest| {
            let family = reader.family(request, &rig.cursors).block_on().unwrap();
            assert_eq!(family.unwrap().children.len(), 1);
            watched.take_counts()
        };
        assert_eq!(counts(&request(rig, "ann")), [0, 1, 0]);
        let children = Children::Of(rig.entity("note"));
        let one_kind = FamilyRequest { children, ..request(rig, "ann") };
        assert_eq!(counts(&one_kind), [1, 1, 0], "one kind of two");
        let (parent, children) =
            (of_tenant(rig.key("note", "n")), Children::Of(rig.entity("line")));
        let only_kind = FamilyRequest { parent, children, limit: 9 };
        assert_eq!(counts(&only_kind), [0, 1, 0]);
    });
}

#[test]
fn invisible_parents_and_children_are_left_out() {
    Rig::each(MODEL, |rig| {
        let mut gone = contact(rig, "gone");
        gone.fields.insert("until", NOW_MS);
        rig.put(&gone);
        rig.put(&method(rig, Child { parent: "gone", id: "of gone" }));
        rig.put(&contact(rig, "ann"));
        let expiring = [("m1", 0), ("m2", 1), ("m3", -1)];
        for (id, after_ms) in expiring {
            let mut image = method(rig, of_ann(id));
            image.fields.insert("until", NOW_MS + after_ms);
            rig.put(&image);
        }
        rig.put_marked(&method(rig, of_ann("m4")), "t");
        rig.put_marked(&contact(rig, "bob"), "t");
        rig.put_marked(&method(rig, Child { parent: "bob", id: "of bob" }), "t");
        // The parent has no own row, so it does not exist.
        rig.put(&method(rig, Child { parent: "nobody", id: "of nobody" }));

        let children = |id: &str| {
            [Children::All, Children::Of(rig.entity("method"))].map(|children| {
                let request = FamilyRequest { children, limit: 1, ..request(rig, id) };
                let found = whole(rig, &request);
                found.map(|(_, children)| ids(&children).join(" "))
            })
        };
        let some = |ids: &str| [Some(ids.to_owned()), Some(ids.to_owned())];
        let mut record = deletion_key("t").to_item();
        for state in [DeletionState::Marking, DeletionState::Sweeping] {
            record.insert(DeletionState::ATTRIBUTE, state.to_value());
            rig.put_row(record.clone());
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
        let request = request(rig, "gone");
        assert_eq!(rig.reader().children(&request, &rig.cursors, None).block_on().unwrap(), None);
    });
}

/// A store ends a page at 1 MiB, whatever the limit.
#[test]
fn large_children_span_several_pages() {
    Rig::each(MODEL, |rig| {
        rig.put(&contact(rig, "ann"));
        let notes: Vec<Image> =
            (0..9).map(|number| note(rig, of_ann(&format!("n{number}")), 300_000)).collect();
        notes.iter().for_each(|image| rig.put(image));
        let request = FamilyRequest { limit: 100, ..request(rig, "ann") };
        let first = rig.reader().family(&request, &rig.cursors).block_on().unwrap().unwrap();
        assert!((1..9).contains(&first.children.len()) && first.next.is_some());
        assert_eq!(whole(rig, &request).unwrap().1, notes);
    });
}

#[test]
fn cursor_of_other_children_is_rejected() {
    Rig::each(MODEL, |rig| {
        for parent in ["ann", "bob"] {
            rig.put(&contact(rig, parent));
            for number in 0..3 {
                rig.put(&method(rig, Child { parent, id: &format!("{parent}{number}") }));
            }
        }
        let asked = FamilyRequest { limit: 1, ..request(rig, "ann") };
        let reader = rig.reader();
        let cursor = reader.family(&asked, &rig.cursors).block_on().unwrap().unwrap().next.unwrap();
        let others = [
            FamilyRequest { limit: 1, ..request(rig, "bob") },
            FamilyRequest { children: Children::Of(rig.entity("method")), ..asked.clone() },
        ];
        for other in others {
            let error = reader.children(&other, &rig.cursors, Some(&cursor)).block_on();
            assert!(matches!(error, Err(Error::Cursor(CursorError::OtherQuery))), "{error:?}");
        }
    });
}

#[test]
fn invalid_requests_for_children_are_rejected() {
    Rig::each(MODEL, |rig| {
        let ask = |request: FamilyRequest| {
            rig.reader().family(&request, &rig.cursors).block_on().unwrap_err().to_string()
        };
        let cases = [
            (
                FamilyRequest { limit: 0, ..request(rig, "ann") },
                "The limit 0 is out of range: use 1 to 1000.",
            ),
            (
                FamilyRequest { children: Children::Of(rig.entity("line")), ..request(rig, "ann") },
                "`line` is not a child of `contact`.",
            ),
            (
                FamilyRequest { parent: rig.key("contact", "ann"), ..request(rig, "ann") },
                "Every `contact` belongs to a tenant: name the one to read.",
            ),
        ];
        for (request, expected) in cases {
            assert_eq!(ask(request), expected);
        }
        let too_long = request(rig, &"x".repeat(3_000));
        assert_eq!(rig.reader().family(&too_long, &rig.cursors).block_on().unwrap(), None);
        assert_eq!(rig.reader().children(&too_long, &rig.cursors, None).block_on().unwrap(), None);
    });
}
