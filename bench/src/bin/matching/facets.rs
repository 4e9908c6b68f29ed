//! A page by facets beside what is done without them: a sorted list for each language and rating
//! (parts 2 and 3 of document 001), the first 20 of each that is asked for, merged, and 20 kept.

mod by_hand;
mod comment;

use keyloom::{Db, ListQuery, Page, Record};
use pollster::block_on;

use crate::kept::Kept;
use crate::measured::{median, shown};
use crate::tasks::PAGE;
use by_hand::ByHand;
use comment::{Asked, Comment, MODEL, PRODUCT, merge, number};

/// How many languages and ratings are asked for. All five ratings would be no filter.
const ASKED: [(u64, u64); 4] = [(1, 1), (2, 2), (4, 4), (16, 4)];

/// The numbers of the comments of a page, the newest first, and how many rows were read for it.
type Found = (Vec<i64>, u64);
type Contender<'k> = (&'static str, Box<dyn Fn(&Asked) -> Found + 'k>);

/// Prints what a page costs with more and more comments, up to so many, and combinations.
pub(crate) fn report(comments_max: u32) {
    let mut comments = 10_000;
    while comments <= comments_max {
        let kept = Kept::open(MODEL);
        // One after the other, so that the order of creation is that of time.
        kept.import(comments, 1, |number| Comment::new(number).entry());
        let by_hand = ByHand::load(kept.engine.clone(), comments);
        kept.settle();
        compare(comments, &contenders(&kept.db, &by_hand));
        comments *= 10;
    }
}

/// The first is what the others are compared with.
fn contenders<'k>(db: &'k Db, by_hand: &'k ByHand) -> [Contender<'k>; 4] {
    let newest = || db.list("comment", "newest").by("product", PRODUCT);
    let latest = || db.list("comment", "latest").by("product", PRODUCT).backward();
    [
        ("lists merged by hand", Box::new(|asked| by_hand.page(asked))),
        ("declared lists merged", Box::new(|asked| merged(db, asked))),
        ("facets, by time", Box::new(move |asked| faceted(newest(), asked))),
        ("facets, in order of creation", Box::new(move |asked| faceted(latest(), asked))),
    ]
}

fn compare(comments: u32, contenders: &[Contender<'_>]) {
    let names: Vec<&str> = contenders.iter().map(|(name, _)| *name).collect();
    println!("{comments} comments:\n\n| combinations | {} |", names.join(" | "));
    println!("|---:|{}", "---:|".repeat(names.len()));
    for (languages, ratings) in ASKED {
        let asked = Asked::new(languages, ratings);
        let mut first = None;
        let cells = contenders.iter().map(|(name, find)| {
            let (page, rows) = find(&asked);
            let time = median(|| find(&asked));
            let (first_page, first_time) = first.get_or_insert_with(|| (page.clone(), time));
            assert_eq!(page, *first_page, "{name} finds what the others find");
            let ratio = first_time.as_secs_f64() / time.as_secs_f64();
            format!("{}, {rows} rows, {ratio:.2}", shown(time))
        });
        let cells: Vec<String> = cells.collect();
        println!("| {} | {} |", asked.combinations().count(), cells.join(" | "));
    }
    println!();
}

fn faceted(list: ListQuery, asked: &Asked) -> Found {
    let languages = asked.languages.iter().map(String::as_str);
    let page = read(list.facet("language", languages).facet("rating", asked.ratings.clone()));
    (page.items.iter().map(|record| number(record.fields())).collect(), page.read.rows)
}

/// The same as by hand, with lists that the model declares.
fn merged(db: &Db, asked: &Asked) -> Found {
    let pages: Vec<Page> = asked
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
