//! Every call is bounded, reports what it has read, and makes progress.

use keyloom_model::Image;
use keyloom_query::{Budget, End, Error, Filters, ListRequest, Reader};
use keyloom_store::Direction;
use keyloom_value::{Item, Value};
use pollster::FutureExt;

use crate::lists::{ids, pages};
use crate::rig::{NOW_MS, Rig};
use crate::watched::{Indexed, Watched};

const MODEL: &str = r#"
    [entity.task]
    fields.rank  = "int"
    fields.body  = "text"
    fields.until = "time?"
    expires = "until"
    list.ranked = { order = "rank" }
"#;

fn task(rig: &Rig, number: i64, body_bytes: usize) -> Image {
    let fields = [("rank", number.into()), ("body", "x".repeat(body_bytes).into())];
    rig.image("task", &format!("t{number:03}"), fields)
}

fn ranked(rig: &Rig, limit: u32, budget: Budget) -> ListRequest {
    let (entity, list) = rig.list("task", "ranked");
    ListRequest { limit, budget, ..ListRequest::new(entity, list) }
}

fn expected(numbers: impl Iterator<Item = i64>) -> Vec<String> {
    numbers.map(|number| format!("t{number:03}")).collect()
}

#[test]
fn smallest_budget_still_reaches_the_end_of_the_list() {
    Rig::each(MODEL, |rig| {
        rig.put_own(&(0..30).map(|number| task(rig, number, 9)).collect::<Vec<_>>());
        let budgets = [
            Budget { rows: 0, bytes: 0 },
            Budget { rows: 1, ..Budget::STANDARD },
            Budget { bytes: 1, ..Budget::STANDARD },
        ];
        for budget in budgets {
            for direction in [Direction::Forward, Direction::Backward] {
                let request = ListRequest { direction, ..ranked(rig, 20, budget) };
                let pages = pages(rig, &request);
                let mut ids = ids(&pages);
                if direction == Direction::Backward {
                    ids.reverse();
                }
                assert_eq!(ids, expected(0..30));
                let (_, before) = pages.split_last().unwrap();
                assert!(before.iter().all(|page| page.next.is_some()));
                assert!(before.iter().all(|page| matches!(page.end, End::Budget | End::Limit)));
            }
        }
    });
}

#[test]
fn empty_page_ends_at_its_budget_with_a_cursor() {
    Rig::each(MODEL, |rig| {
        for number in 0..90 {
            let mut image = task(rig, number, 9);
            if number != 77 {
                image.fields.insert("until", NOW_MS);
            }
            rig.put(&image);
        }
        let budget = Budget { rows: 20, ..Budget::STANDARD };
        let pages = pages(rig, &ranked(rig, 10, budget));
        assert_eq!(ids(&pages), ["t077"]);
        assert!(pages.len() > 5 && pages.iter().all(|page| page.read.rows <= 21), "{pages:?}");
        assert_eq!((pages[0].end, pages[0].rows.len()), (End::Budget, 0));
    });
}

#[test]
fn byte_budget_ends_a_page() {
    Rig::each(MODEL, |rig| {
        rig.put_own(&(0..150).map(|number| task(rig, number, 10_000)).collect::<Vec<_>>());
        let budget = Budget { bytes: 500_000, ..Budget::STANDARD };
        let pages = pages(rig, &ranked(rig, 150, budget));
        assert_eq!(ids(&pages), expected(0..150));
        assert_eq!(pages.iter().map(|page| page.rows.len()).collect::<Vec<_>>(), [50, 50, 50]);
        assert_eq!(pages[0].end, End::Budget);
        // The last entity is the one with which the budget is reached.
        assert!((500_000..511_000).contains(&pages[0].read.bytes), "{:?}", pages[0].read);
        // A store that reads rows by their keys reads a batch of them.
        let watched = Watched::new(&rig.store);
        let reader = Reader { store: &watched, ..rig.reader() };
        let page = reader.list(&ranked(rig, 150, budget), &rig.cursors, None).block_on().unwrap();
        assert_eq!((page.rows.len(), page.end), (100, End::Budget));
    });
}

#[test]
fn page_costs_one_query_and_one_batch_per_100_rows() {
    Rig::each(MODEL, |rig| {
        rig.put_own(&(0..250).map(|number| task(rig, number, 9)).collect::<Vec<_>>());
        let watched = Watched::new(&rig.store);
        let reader = Reader { store: &watched, ..rig.reader() };
        for (limit, batches) in [(1, 1), (100, 1), (101, 2), (250, 3), (1_000, 3)] {
            let request = ranked(rig, limit, Budget::STANDARD);
            let page = reader.list(&request, &rig.cursors, None).block_on().unwrap();
            assert_eq!(page.rows.len(), 250.min(limit as usize));
            assert_eq!(watched.take_counts(), [0, 1, batches]);
        }
        reader.get(&rig.key("task", "t001")).block_on().unwrap().unwrap();
        assert_eq!(watched.take_counts(), [1, 0, 0]);
    });
}

/// Where the store can do that, entities are read with their index rows, and no more of either than
/// are on the page.
#[test]
fn page_costs_one_read_through_the_index_however_long_it_is() {
    Rig::each(&format!("{MODEL}fields.tags = \"tags = {{}}\"\nlist.all = {{}}"), |rig| {
        let tagged = |number: i64| {
            let mut task = task(rig, number, 9);
            task.ordinal = u64::try_from(number).ok();
            let tag = Item::from([("kind", if number % 3 == 0 { "odd" } else { "even" })]);
            task.fields.insert("tags", Value::M(tag));
            task
        };
        (0..250).for_each(|number| rig.put_with_postings(&tagged(number)));
        let indexed = Indexed::new(&rig.store);
        let reader = Reader { store: &indexed, ..rig.reader() };
        let (entity, all) = rig.list("task", "all");
        let kind = rig.layout.model().entity(entity).find_field("tags").unwrap();
        let filters = Filters { entity: rig.layout.model().entity(entity), list: all };
        let filter = filters.tag(kind, "kind", "odd").unwrap();
        for limit in [1, 100, 250, 1_000] {
            for filter in [None, Some(filter.clone())] {
                let budget = Budget::STANDARD;
                let list = if filter.is_some() { all } else { rig.list("task", "ranked").1 };
                let matches = if filter.is_some() { 84 } else { 250 };
                let request =
                    ListRequest { limit, budget, filter, ..ListRequest::new(entity, list) };
                let page = reader.list(&request, &rig.cursors, None).block_on().unwrap();
                let found = page.rows.len();
                assert_eq!(found, matches.min(limit as usize));
                assert_eq!(page.next.is_some(), found < matches);
                assert_eq!(
                    indexed.take_count(),
                    found.div_ceil(if list == all { 100 } else { 1_000 })
                );
                // An index row for each, and one beyond the page or two reads of the posting list.
                assert!(page.read.rows <= 2 * found as u64 + 3, "{:?}", page.read);
            }
        }
    });
}

#[test]
fn unprocessed_rows_are_retried_a_limited_number_of_times() {
    Rig::each(MODEL, |rig| {
        rig.put_own(&(0..120).map(|number| task(rig, number, 9)).collect::<Vec<_>>());
        let mut watched = Watched::new(&rig.store);
        let request = ranked(rig, 110, Budget::STANDARD);
        for batch_max in [1, 7, 99] {
            watched.batch_max = batch_max;
            let reader = Reader { store: &watched, ..rig.reader() };
            let page = reader.list(&request, &rig.cursors, None).block_on().unwrap();
            assert_eq!(ids(&[page]), expected(0..110));
            // The store returns the first row last, and without it no page would make progress.
            let budget = Budget { bytes: 1, ..Budget::STANDARD };
            let request = ListRequest { budget, ..request.clone() };
            let page = reader.list(&request, &rig.cursors, None).block_on().unwrap();
            assert_eq!(ids(std::slice::from_ref(&page))[0], "t000");
            assert_eq!(page.end, End::Budget);
        }
        watched.batch_max = 0;
        let reader = Reader { store: &watched, ..rig.reader() };
        let error = reader.list(&request, &rig.cursors, None).block_on().unwrap_err();
        assert!(matches!(error, Error::Unanswered { rows: 100 }), "{error}");
    });
}

/// An index that lags leads to rows that are deleted or have moved: the table decides.
#[test]
fn entities_moved_or_deleted_since_the_index_are_left_out() {
    Rig::each(MODEL, |rig| {
        rig.put_own(&(0..10).map(|number| task(rig, number, 9)).collect::<Vec<_>>());
        let watched = Watched::new(&rig.store);
        rig.delete(&task(rig, 3, 9));
        let mut moved = task(rig, 5, 9);
        moved.fields.insert("rank", 100);
        rig.put(&moved);
        let mut changed = task(rig, 6, 9);
        changed.fields.insert("body", "changed");
        rig.put(&changed);
        let reader = Reader { store: &watched, ..rig.reader() };
        let request = ranked(rig, 100, Budget::STANDARD);
        let page = reader.list(&request, &rig.cursors, None).block_on().unwrap();
        assert!(page.rows.iter().any(|row| row.image == changed));
        assert_eq!(ids(&[page]), expected([0, 1, 2, 4, 6, 7, 8, 9].into_iter()));
    });
}
