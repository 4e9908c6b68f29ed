//! The stored data: comments of 1 KB, listed by product, newest first.

/// The model; PostgreSQL's table is equivalent.
pub(crate) const MODEL: &str = r#"
[entity.comment]
fields.product = "text 1..100"
fields.rating  = "int 1..5"
fields.created = "time = now"
fields.body    = "text"

[entity.comment.list.by_product]
path  = "/products/{product}/comments"
by    = "product"
order = "-created"
"#;

/// The number of products with comments.
pub(crate) const PRODUCTS: u64 = 1000;

/// Returns a new comment as JSON.
pub(crate) fn comment(random: u64) -> String {
    let (product, rating) = (random % PRODUCTS, random % 5 + 1);
    let body = "x".repeat(960);
    format!(r#"{{"product":"p{product}","rating":{rating},"body":"{body}"}}"#)
}
