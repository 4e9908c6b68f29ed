//! PocketBase with a public collection of comments and the indexes that its queries need. By default
//! it does not sync commits.

use keyloom_bench::pocketbase;

use crate::contender::{Contender, Target, Work};

const COLLECTION: &str = r#"{
    "name": "comments", "type": "base", "listRule": "", "viewRule": "", "createRule": "",
    "fields": [
        {"name": "product", "type": "text"}, {"name": "language", "type": "text"},
        {"name": "rating", "type": "number"}, {"name": "created", "type": "number"},
        {"name": "body", "type": "text"}
    ],
    "indexes": [
        "CREATE INDEX by_product ON comments (product, created DESC)",
        "CREATE INDEX by_facets ON comments (product, language, rating, created DESC)"
    ]
}"#;

pub(crate) fn start() -> Result<Contender, String> {
    let (running, store) = pocketbase::start("comments", COLLECTION)?;
    let files = ["data.db", "data.db-wal"].map(|name| store.join(name)).to_vec();
    let (ids, created) = (vec![], 0.into());
    Ok(Contender { name: "PocketBase", running, request, files, ids, created })
}

fn request(work: Work, target: &Target<'_>) -> (String, Option<String>) {
    let Target { id, product, language, .. } = target;
    let records = "/api/collections/comments/records";
    // Percent-encoded, as clients send it.
    let of_product = format!("product%3D'p{product}'");
    let in_language = format!("{of_product}%26%26language%3D'{language}'");
    let rated = format!("{in_language}%26%26(rating%3D1%7C%7Crating%3D3%7C%7Crating%3D5)");
    let page = |filter: &str, total: &str| {
        format!("GET {records}?perPage=20&sort=-created{total}&filter=({filter})")
    };
    let line = match work {
        Work::Get => format!("GET {records}/{id}"),
        Work::Page => page(&of_product, "&skipTotal=1"),
        Work::Filtered => page(&rated, "&skipTotal=1"),
        Work::FilteredWithTotal => page(&rated, ""),
        Work::Count => format!("GET {records}?perPage=1&fields=id&filter=({in_language})"),
        Work::Create => return (format!("POST {records}"), Some(target.comment())),
    };
    (line, None)
}
