//! The comments and the queries, the same for every contender.

use std::cmp::Reverse;

use keyloom::{Entry, Item, Value};

use crate::tasks::PAGE;

/// Lists with facets, in the order of a field and of creation; and the lists to merge.
pub(super) const MODEL: &str = r#"
[entity.comment]
fields.product  = "text"
fields.language = "text"
fields.rating   = "int 1..5"
fields.created  = "time"
fields.body     = "text"
list.newest = { by = "product", order = "-created", facets = ["language", "rating"] }
list.latest = { by = "product", facets = ["language", "rating"] }
list.sorted = { by = ["product", "language", "rating"], order = "-created" }
"#;

/// All comments are on one product.
pub(super) const PRODUCT: &str = "42";
/// Languages, equally frequent.
const LANGUAGES: u64 = 20;
const BODY_BYTES: usize = 200;

/// The numbers of the comments on a page, newest first, and how many rows were read.
pub(super) type Found = (Vec<i64>, u64);

/// A query: one of some languages and one of some ratings.
pub(super) struct Requested {
    pub(super) languages: Vec<String>,
    pub(super) ratings: Vec<u64>,
}

impl Requested {
    pub(super) fn new(languages: u64, ratings: u64) -> Requested {
        Requested {
            languages: (0..languages).map(language).collect(),
            ratings: (1..=ratings).collect(),
        }
    }

    pub(super) fn combinations(&self) -> impl Iterator<Item = (&str, u64)> {
        let with = |language| self.ratings.iter().map(move |rating| (language, *rating));
        self.languages.iter().map(String::as_str).flat_map(with)
    }
}

/// A comment; a greater number is newer.
pub(super) struct Comment {
    number: u32,
    pub(super) language: String,
    pub(super) rating: u64,
}

impl Comment {
    pub(super) fn new(number: u32) -> Comment {
        let mixed = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let (language, rating) = (language(mixed % LANGUAGES), mixed / LANGUAGES % 5 + 1);
        Comment { number, language, rating }
    }

    pub(super) fn fields(self) -> Item {
        Item::from([
            ("product", Value::from(PRODUCT)),
            ("language", Value::from(self.language)),
            ("rating", Value::from(self.rating)),
            ("created", Value::from(u64::from(self.number))),
            ("body", Value::from("x".repeat(BODY_BYTES))),
        ])
    }

    pub(super) fn entry(self) -> Entry {
        let id = format!("{:010}", self.number);
        Entry { entity: "comment".to_owned(), tenant: None, id, fields: self.fields() }
    }
}

/// Returns the number of the comment with these fields.
pub(super) fn number(fields: &Item) -> i64 {
    let created = fields.get("created").and_then(Value::as_n);
    created.and_then(|created| created.to_i64()).expect("it has a time")
}

/// Returns the newest of several lists, up to a page.
pub(super) fn merge<'c>(comments: impl Iterator<Item = &'c Item>) -> Vec<i64> {
    let mut numbers: Vec<i64> = comments.map(number).collect();
    numbers.sort_unstable_by_key(|number| Reverse(*number));
    numbers.truncate(PAGE);
    numbers
}

fn language(number: u64) -> String {
    format!("l{number:02}")
}
