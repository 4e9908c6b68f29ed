//! Compares pages by facets with the alternative: a sorted list per language and rating, of which the
//! first 20 entries of each requested list are merged, and 20 returned.

mod by_hand;
mod comment;

use keyloom::{Db, ListQuery, Page, Record};
use pollster::block_on;

use crate::kept::Kept;
use crate::measured::{format_time, median};
use crate::tasks::PAGE;
use by_hand::ByHand;
use comment::{Comment, Found, MODEL, PRODUCT, Requested, merge, number};

/// How many languages and ratings are requested. All five ratings would not filter.
const REQUESTED: [(u64, u64); 4] = [(1, 1), (2, 2), (4, 4), (16, 4)];

type Contender<'k> = (&'static str, Box<dyn Fn(&Requested) -> Found + 'k>);

/// Prints the cost of a page by number of comments, up to `comments_max`, and combinations.
pub(crate) fn report(comments_max: u32) {
    let mut comments = 10_000;
    while comments <= comments_max {
        let kept = Kept::open(MODEL);
        // With one thread, so that the order of creation is that of time.
        kept.import(comments, 1, |number| Comment::new(number).entry());
        let by_hand = ByHand::load(kept.engine.clone(), comments);
        kept.settle();
        compare(comments, &contenders(&kept.db, &by_hand));
        comments *= 10;
    }
}

/// Returns the contenders; the first is the reference.
fn contenders<'k>(db: &'k Db, by_hand: &'k ByHand) -> [Contender<'k>; 4] {
    let newest = || db.list("comment", "newest").by("product", PRODUCT);
    let latest = || db.list("comment", "latest").by("product", PRODUCT).backward();
    [
        ("lists merged by hand", Box::new(|requested| by_hand.page(requested))),
        ("declared lists merged", Box::new(|requested| merged(db, requested))),
        ("facets, by time", Box::new(move |requested| faceted(newest(), requested))),
        ("facets, in order of creation", Box::new(move |requested| faceted(latest(), requested))),
    ]
}

fn compare(comments: u32, contenders: &[Contender<'_>]) {
    let names: Vec<&str> = contenders.iter().map(|(name, _)| *name).collect();
    println!("{comments} comments:\n\n| combinations | {} |", names.join(" | "));
    println!("|---:|{}", "---:|".repeat(names.len()));
    for (languages, ratings) in REQUESTED {
        let requested = Requested::new(languages, ratings);
        let mut first = None;
        let cells = contenders.iter().map(|(name, find)| {
            let (page, rows) = find(&requested);
            let time = median(|| find(&requested));
            let (first_page, first_time) = first.get_or_insert_with(|| (page.clone(), time));
            assert_eq!(page, *first_page, "{name} finds the same as the others");
            let ratio = first_time.as_secs_f64() / time.as_secs_f64();
            format!("{}, {rows} rows, {ratio:.2}", format_time(time))
        });
        let cells: Vec<String> = cells.collect();
        println!("| {} | {} |", requested.combinations().count(), cells.join(" | "));
    }
    println!();
}

fn faceted(list: ListQuery, requested: &Requested) -> Found {
    let languages = requested.languages.iter().map(String::as_str);
    let page = read(list.facet("language", languages).facet("rating", requested.ratings.clone()));
    (page.items.iter().map(|record| number(record.fields())).collect(), page.read.rows)
}

/// Like `ByHand`, with lists that the model declares.
fn merged(db: &Db, requested: &Requested) -> Found {
    let pages: Vec<Page> = requested
        .combinations()
        .map(|(language, rating)| {
            let list = db.list("comment", "sorted").by("product", PRODUCT);
            read(list.by("language", language).by("rating", rating))
        })
        .collect();
    let comments = pages.iter().flat_map(|page| &page.items).map(Record::fields);
    (merge(comments), pages.iter().map(|page| page.read.rows).sum())
}

fn read(list: ListQuery) -> Page {
    block_on(list.limit(PAGE as u32).read()).expect("a page is read")
}
