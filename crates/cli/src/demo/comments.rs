//! Sample comments on a hundred products, a few of which have most of the comments.

use keyloom::{Entry, Item, Number, Value};
use keyloom_model::FieldType;

use keyloom_app::random::Random;

const PRODUCTS: u64 = 100;
/// Comments are one minute apart; the last one is from the beginning of 2026.
const LAST_MS: i64 = 1_767_225_600_000;
const BETWEEN_MS: i64 = 60_000;

const WORDS: [(i64, [&str; 3]); 5] = [
    (5, ["Exactly what I was looking for.", "Would buy it again.", "Better than the last one."]),
    (4, ["Good, with small flaws.", "Does what it says.", "Nearly perfect."]),
    (3, ["It is all right.", "Neither good nor bad.", "Fine for the price."]),
    (2, ["I had hoped for more.", "Broke after a month.", "The manual is missing."]),
    (1, ["Never again.", "It came in pieces.", "Not at all as described."]),
];
const LANGUAGES: [(&str, u64); 5] = [("en", 12), ("fr", 4), ("de", 4), ("es", 3), ("pl", 1)];

pub(super) fn sample(number: u64, size: u64) -> Vec<Entry> {
    let mut random = Random::new(number);
    // The minimum of two draws favors low numbers, so some products get more comments.
    let product = random.below(PRODUCTS).min(random.below(PRODUCTS)) + 1;
    let rating = random.weighted(&[(5, 8), (4, 5), (3, 3), (2, 2), (1, 3)], 3);
    let words =
        WORDS.iter().find(|(of, _)| *of == rating).map_or("", |(_, words)| random.pick(words, ""));
    let before = i64::try_from(size.saturating_sub(number)).unwrap_or(i64::MAX);
    let created = LAST_MS.saturating_sub(before.saturating_mul(BETWEEN_MS));
    let fields = Item::from([
        ("product", Value::from(product.to_string())),
        ("language", Value::from(random.weighted(&LANGUAGES, "en"))),
        ("rating", Value::N(Number::from(rating))),
        ("created", FieldType::Time.to_external(&Value::N(Number::from(created.max(0))))),
        ("body", Value::from(words)),
    ]);
    let id = format!("sample-{number:010}");
    vec![Entry { entity: "comment".to_owned(), tenant: None, id, fields }]
}
