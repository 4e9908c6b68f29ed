//! Reads as the pages about filters, access and live queries show them.

use keyloom::{Db, Error, Filter, FindTags, Page, User};
use serde_json::json;
use tokio::sync::mpsc;

use super::{open, run};

/// Everything that the page about filters reads.
const FILTERED: &str = r#"
[entity.task]
fields.tags = "tags = {}"
list.all = {}

[entity.comment]
fields.product = "text"
fields.language = "text"
fields.rating = "int"
list.by_product = { by = "product", facets = ["language", "rating"] }

[entity.product]
filters = ["price", "seller"]
fields.price = "number"
fields.seller = "text?"
list.all = {}
"#;

#[expect(unused_variables, clippy::print_stdout, reason = "as on the page")]
async fn filters(db: Db) -> Result<(), Error> {
    let task = |tags| json!({ "tags": tags });
    db.create("task", &task(json!({ "priority": "high" }))).await?;
    db.create("task", &task(json!({ "priority": "high", "deadline": "friday" }))).await?;
    for (language, rating) in [("en", 5), ("en", 4), ("fr", 3)] {
        let comment = json!({ "product": "42", "language": language, "rating": rating });
        db.create("comment", &comment).await?;
    }
    for product in [json!({ "price": 12 }), json!({ "price": 15, "seller": "ann" })] {
        db.create("product", &product).await?;
    }
    // The example.
    let query =
        db.list("task", "all").tag("priority", "high").filter(Filter::has_tag("deadline").not());
    let page = query.clone().limit(20).read().await?;
    if let Some(next) = page.next {
        let second = query.clone().limit(20).after(next).read().await?;
    }
    let total = query.total().await?.count;

    // Tag keys and facet values, with counts.
    let keys = query.tags(&FindTags::default()).await?.counts;
    let comments = db.list("comment", "by_product").by("product", "42").facet("language", ["en"]);
    let ratings = comments.facet_values("rating").await?.counts;

    // Ranges of numbers and times, and entities without a value, by the `filters` of the entity.
    let affordable = db.list("product", "all").at_least("price", 10).at_most("price", 20);
    let unsold = affordable.filter(Filter::present("seller").not()).total().await?.count;

    // The plan and the reads of a request.
    let (watched, explained) = db.explained();
    watched.list("task", "all").tag("priority", "high").read().await?;
    print!("{}", explained.explanations()[0].plan);
    // Its end.
    assert_eq!((page.items.len(), total, unsold), (1, 1, 1));
    assert_eq!((keys.len(), ratings.len()), (1, 2));
    Ok(())
}

#[test]
fn filters_work_as_their_page_shows() {
    run(async { filters(open(FILTERED).await).await.unwrap() });
}

const NOTES: &str = r#"
[entity.note]
fields.author = "text"
access.owner = "author"
access.read = ["owner", "moderator"]
access.create = ["owner"]
access.update = ["owner"]
access.delete = ["owner", "moderator"]
list.mine = { path = "/notes", by = "author" }
"#;

async fn access(db: Db) -> Result<(), Error> {
    db.create("note", &json!({ "author": "ann" })).await?;
    // The example.
    let ann = db.user(User::new("ann", ["moderator"]));
    let page = ann.list("note", "mine").by("author", "ann").read().await?;
    // Its end.
    assert_eq!(page.items.len(), 1);
    let bo = db.user(User::new("bo", [""; 0]));
    let refused = bo.create("note", &json!({ "author": "ann" })).await;
    assert!(matches!(refused, Err(Error::Forbidden { .. })), "{refused:?}");
    Ok(())
}

#[test]
fn access_is_checked_in_a_program_as_its_page_shows() {
    run(async { access(open(NOTES).await).await.unwrap() });
}

const FOLLOWED: &str = r#"
[entity.task]
fields.tags = "tags = {}"
fields.state = "text = open"
list.all = {}
count.by_state = { by = "state" }
"#;

async fn follow(db: Db, show: impl Fn(Page, u64)) -> Result<(), Error> {
    // The example.
    let mut live = db.live();
    loop {
        let moment = live.next().await?;
        let page = moment.db.list("task", "all").tag("priority", "high").read().await?;
        let open = moment.db.count("task", "by_state").by("state", "open").total().await?;
        show(page, open);
    }
}

#[test]
fn a_query_is_followed_in_a_program_as_its_page_shows() {
    run(async {
        let db = open(FOLLOWED).await;
        let (sender, mut shown) = mpsc::unbounded_channel();
        let show = move |page: Page, open| sender.send((page.items.len(), open)).unwrap();
        let following = tokio::spawn(follow(db.clone(), show));
        assert_eq!(shown.recv().await, Some((0, 0)));
        db.create("task", &json!({ "tags": { "priority": "high" } })).await.unwrap();
        assert_eq!(shown.recv().await, Some((1, 1)));
        following.abort();
    });
}
