//! Lists equal a naive filter and sort of all images, on pages of any size.

use std::ops::Bound;

use keyloom_model::Image;
use keyloom_query::{DeletionState, End, Error, ListPage, ListRequest, Range, deletion_key};
use keyloom_store::Direction;
use keyloom_value::Value;
use pollster::FutureExt;
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use crate::naive;
use crate::rig::{NOW_MS, Rig, STORES};
use crate::things::{self, AnyImage, AnyRequest};

/// All pages of a list.
pub(crate) fn pages(rig: &Rig, request: &ListRequest) -> Vec<ListPage> {
    let (mut cursor, mut pages) = (None, Vec::new());
    loop {
        let reader = rig.reader();
        let page: ListPage =
            reader.list(request, &rig.cursors, cursor.as_deref()).block_on().unwrap();
        cursor = page.next.clone();
        pages.push(page);
        assert!(pages.len() < 10_000, "the pages do not end");
        if cursor.is_none() {
            return pages;
        }
    }
}

/// The pages before a page, from there to the first one.
pub(crate) fn pages_before(rig: &Rig, request: &ListRequest, page: &ListPage) -> Vec<ListPage> {
    let (mut cursor, mut pages) = (page.previous.clone(), Vec::new());
    while let Some(text) = cursor {
        let page: ListPage =
            rig.reader().list(request, &rig.cursors, Some(&text)).block_on().unwrap();
        cursor = page.previous.clone();
        pages.push(page);
        assert!(pages.len() < 10_000, "the pages do not end");
    }
    pages
}

/// The ids of the entities on pages.
pub(crate) fn ids(pages: &[ListPage]) -> Vec<&str> {
    let rows = pages.iter().flat_map(|page| &page.rows);
    rows.map(|row| row.image.key.id.as_str()).collect()
}

fn check(rig: &Rig, images: &[Image], request: &ListRequest) {
    let expected = naive::list(&rig.layout, images, request);
    let pages = pages(rig, request);
    assert_eq!(ids(&pages), expected, "{request:?}");
    for row in pages.iter().flat_map(|page| &page.rows) {
        assert!(images.contains(&row.image), "{row:?}");
    }
    // All entities are visible: all pages but the last are full, and a full last page is recognized.
    let (last, full) = pages.split_last().unwrap();
    assert!(full.iter().all(|page| page.rows.len() == request.limit as usize));
    assert!(full.iter().all(|page| page.end == End::Limit));
    assert_eq!(last.end, End::Exhausted);
    assert_eq!(pages.len(), expected.len().div_ceil(request.limit as usize).max(1));
    // The way back has the same pages.
    assert_eq!(pages[0].previous, None);
    let back = pages_before(rig, request, last);
    assert_eq!(back.len(), full.len(), "{request:?}");
    for (there, back) in full.iter().rev().zip(&back) {
        assert_eq!(back.rows, there.rows, "{request:?}");
        assert!(back.next.is_some(), "{request:?}");
    }
}

fn check_all(images: &[AnyImage], requests: &[AnyRequest]) {
    for (_, make) in STORES {
        let rig = Rig::new(*make, things::MODEL);
        let images: Vec<Image> = images.iter().map(|image| image.image(&rig.layout)).collect();
        rig.put_own(&images);
        for request in requests {
            check(&rig, &images, &request.request(&rig.layout));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn lists_equal_a_naive_filter_and_sort(
        images in things::images(), requests in proptest::collection::vec(things::request(), 60),
    ) {
        check_all(&images, &requests);
    }
}

/// Guards the property above against testing empty lists only.
#[test]
fn random_requests_cover_full_and_bounded_lists() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut found, mut bounded) = (0, 0);
    let rig = Rig::new(STORES[0].1, things::MODEL);
    for _ in 0..200 {
        let case = (things::images(), things::request()).new_tree(&mut runner).unwrap();
        let (images, request) = case.current();
        let images: Vec<Image> = images.iter().map(|image| image.image(&rig.layout)).collect();
        let request = request.request(&rig.layout);
        let all = ListRequest { range: Range::ALL, ..request.clone() };
        let in_range = naive::list(&rig.layout, &images, &request).len();
        found += usize::from(in_range > 1);
        bounded +=
            usize::from(in_range > 0 && in_range < naive::list(&rig.layout, &images, &all).len());
    }
    assert!(
        found > 40 && bounded > 20,
        "{found} lists with several entities, {bounded} cut by a range"
    );
}

const MODEL: &str = r#"
    [entity.task]
    fields.rank  = "int"
    fields.until = "time?"
    expires = "until"
    list.ranked = { order = "-rank" }
"#;

fn task(rig: &Rig, number: i64) -> Image {
    rig.image("task", &format!("t{number:04}"), [("rank", number.into())])
}

fn ranked(rig: &Rig, limit: u32) -> ListRequest {
    let (entity, list) = rig.list("task", "ranked");
    ListRequest { limit, ..ListRequest::new(entity, list) }
}

#[test]
fn expired_and_swept_entities_are_on_no_page() {
    Rig::each(MODEL, |rig| {
        for number in 0..60 {
            let mut image = task(rig, number);
            match number % 4 {
                0 => drop(image.fields.insert("until", NOW_MS - number)),
                1 => drop(image.fields.insert("until", NOW_MS + 1)),
                _ => {}
            }
            match number % 5 {
                0 => rig.put_marked(&image, "swept"),
                1 => rig.put_marked(&image, "marking"),
                2 => rig.put_marked(&image, "given up"),
                _ => rig.put(&image),
            }
        }
        let states = [("swept", DeletionState::Sweeping), ("marking", DeletionState::Marking)];
        for (name, state) in states {
            let mut row = deletion_key(name).to_item();
            row.insert(DeletionState::ATTRIBUTE, state.to_value());
            rig.put_row(row);
        }
        let expected = (0..60).rev().filter(|number| number % 4 != 0 && number % 5 != 0);
        let expected: Vec<String> = expected.map(|number| format!("t{number:04}")).collect();
        for limit in [1, 2, 7, 100] {
            assert_eq!(ids(&pages(rig, &ranked(rig, limit))), expected);
        }
    });
}

/// The longest page takes several batches of the store.
#[test]
fn page_holds_1000_entities() {
    let rig = Rig::new(STORES[1].1, MODEL);
    let images: Vec<Image> = (0..1_050).map(|number| task(&rig, number)).collect();
    rig.put_own(&images);
    let pages = pages(&rig, &ranked(&rig, 1_000));
    assert_eq!(pages.iter().map(|page| page.rows.len()).collect::<Vec<_>>(), [1_000, 50]);
    // Calls are short, so that a long page holds up nobody.
    let calls = 1_000_u64.div_ceil(256);
    let ahead = "an index row and an own row each, and one ahead of each call";
    assert_eq!(pages[0].read.rows, 2_000 + calls, "{ahead}");
    assert!(ids(&pages).is_sorted_by(|left, right| left > right));
}

#[test]
fn value_too_long_for_a_key_has_an_empty_list() {
    let rig = Rig::new(STORES[0].1, things::MODEL);
    let (entity, list) = rig.list("thing", "of_kind");
    let request =
        ListRequest { by: vec!["x".repeat(3_000).into()], ..ListRequest::new(entity, list) };
    let page = rig.reader().list(&request, &rig.cursors, None).block_on().unwrap();
    assert_eq!((page.rows, page.next, page.end), (vec![], None, End::Exhausted));
}

#[test]
fn invalid_list_requests_are_rejected() {
    let rig = Rig::new(STORES[0].1, things::MODEL);
    let new = |entity: &str, list: &str| {
        let (entity, list) = rig.list(entity, list);
        ListRequest::new(entity, list)
    };
    let range =
        |equal: Vec<Value>, lower: Bound<Value>| Range { equal, lower, upper: Bound::Unbounded };
    let with_range = |list: &str, range| ListRequest { range, ..new("thing", list) };
    let cases = [
        (
            ListRequest { limit: 0, ..new("thing", "all") },
            "The limit 0 is out of range: use 1 to 1000.",
        ),
        (
            ListRequest { limit: 1_001, ..new("thing", "all") },
            "The limit 1001 is out of range: use 1 to 1000.",
        ),
        (new("thing", "of_kind"), "The list `of_kind` takes 1 values, and 0 were given."),
        (
            ListRequest { by: vec![true.into()], ..new("thing", "of_kind") },
            "A value of `kind` is not of the type text.",
        ),
        (new("owned", "all"), "Every `owned` belongs to a tenant: name the one to read."),
        (
            ListRequest { tenant: Some(true.into()), ..new("owned", "all") },
            "A value of `the tenant of owned` is not of the type text or int.",
        ),
        (
            ListRequest { tenant: Some("a".into()), ..new("thing", "all") },
            "All tenants share `thing`: leave out the tenant.",
        ),
        (
            with_range("all", range(vec![], Bound::Included(1.into()))),
            "The list `all` is ordered by 0 fields, and 1 were restricted: restrict the first ones only.",
        ),
        (
            with_range("mixed", range(vec!["low".into(), 1.into()], Bound::Excluded(1.into()))),
            "The list `mixed` is ordered by 2 fields, and 3 were restricted: restrict the first ones only.",
        ),
        (
            with_range("mixed", range(vec!["huge".into()], Bound::Unbounded)),
            "A value of `enum` is not of the type enum.",
        ),
        (
            with_range("mixed", range(vec!["low".into()], Bound::Included("1".into()))),
            "A value of `int` is not of the type int.",
        ),
    ];
    for (request, expected) in cases {
        match rig.reader().list(&request, &rig.cursors, None).block_on() {
            Err(Error::Request(error)) => assert_eq!(error.to_string(), expected),
            other => panic!("{request:?}: {other:?}"),
        }
    }
}

#[test]
fn backward_pages_reverse_forward_pages() {
    Rig::each(MODEL, |rig| {
        rig.put_own(&(0..20).map(|number| task(rig, number)).collect::<Vec<_>>());
        let forward = pages(rig, &ranked(rig, 3));
        let request = ListRequest { direction: Direction::Backward, ..ranked(rig, 3) };
        let backward = pages(rig, &request);
        assert!(ids(&forward).into_iter().eq(ids(&backward).into_iter().rev()));
    });
}
