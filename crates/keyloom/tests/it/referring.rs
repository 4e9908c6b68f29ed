//! Lists and counts of those that refer to an entity, read together with it: as one by one, of one
//! moment, and within bounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keyloom::{Change, Db, Error, Value};
use keyloom_store::Store;
use keyloom_testkit::{ManualClock, SimDisk};
use pollster::block_on;
use serde_json::{Value as Json, json};

use crate::rig::{each_store, engine, memory_store_at, open, plain_store};

const FEED: &str = r#"
[entity.person]
id = "given"
path = "/people"

[entity.post]
id = "given"
fields.author = "ref person cascade"
list.all       = { path = "/posts" }
list.of_author = { path = "/people/{author}/posts", by = "author" }

[entity.like]
fields.post = "ref post cascade"
fields.kind = "text = 'heart'"
count.of_post = { path = "/posts/{post}/likes/count", by = "post", split = "kind", shards = 100 }

[entity.comment]
id = "given"
fields.post    = "ref post cascade"
fields.text    = "text"
fields.words   = "int"
fields.written = "time"
list.of_post = { path = "/posts/{post}/comments", by = "post", order = "-written" }
count.words  = { by = "post", sum = "words", max = "written", window = "day", of = "written" }
"#;

async fn post(db: &Db, id: &str) {
    db.put("person", "ann", &json!({})).await.unwrap();
    db.create("post", &json!({"id": id, "author": "ann"})).await.unwrap();
}

async fn comment(db: &Db, post: &str, number: usize) {
    let written = format!("2024-01-01T00:{number:02}:00Z");
    let id = format!("{post}-{number}");
    let comment = json!({"id": id, "post": post, "text": "", "words": number, "written": written});
    db.create("comment", &comment).await.unwrap();
}

async fn posts_with(db: &Db, posts: usize, of_each: usize) {
    for number in 0..posts {
        let id = format!("p{number:03}");
        post(db, &id).await;
        for number in 0..of_each {
            comment(db, &id, number).await;
            db.create("like", &json!({"post": id})).await.unwrap();
        }
    }
}

fn stores() -> [Arc<dyn Store>; 3] {
    let clock = ManualClock::new();
    [Arc::new(memory_store_at(&clock)), Arc::new(engine(&SimDisk::new(0))), plain_store(&clock)]
}

#[test]
fn a_post_comes_with_its_first_comments_and_its_counts() {
    each_store(|store| {
        block_on(async {
            let db = open(FEED, store).await;
            posts_with(&db, 1, 12).await;
            post(&db, "quiet").await;
            let with = "comments.post,likes.count,comment.words";
            let tree = db.tree("post", "p000", with, None).await.unwrap().unwrap();
            let json: Json = serde_json::from_str(&tree.to_json()).unwrap();
            let with = &json["with"];
            assert_eq!(with["likes.count"], json!({"count": 12}));
            assert_eq!(
                with["comment.words"],
                json!({
                    "count": 12, "sum": {"words": 66}, "average": {"words": 5.5},
                    "max": {"written": "2024-01-01T00:11:00Z"},
                })
            );
            let ids = |page: &Json| -> Vec<String> {
                let items = page["items"].as_array().unwrap().iter();
                items.map(|item| item["id"].as_str().unwrap().to_owned()).collect()
            };
            let first = ids(&with["comments"]);
            assert_eq!((first.len(), first[0].as_str()), (10, "p000-11"));
            assert_eq!(with["comments"]["items"][3]["with"]["post"]["author"], "ann");
            // The cursor continues the list.
            let next = tree.lists["comments"].next.clone().unwrap();
            let rest = db.list("comment", "of_post").by("post", "p000").after(next);
            let rest = rest.read().await.unwrap();
            assert_eq!((rest.items.len(), rest.next), (2, None));
            let quiet = db.tree("post", "quiet", "comments,likes.count", Some(3)).await;
            let quiet = quiet.unwrap().unwrap();
            assert!(
                quiet
                    .to_json()
                    .ends_with(r#","with":{"comments":{"items":[]},"likes.count":{"count":0}}}"#),
                "{}",
                quiet.to_json()
            );
            let fields = db.fields("post", "comments", "id,comments.words").unwrap();
            let tree = db.tree("post", "p000", "comments", Some(1)).await.unwrap().unwrap();
            let json: Json = serde_json::from_str(&tree.to_json_of(&fields)).unwrap();
            assert_eq!(json.get("author"), None);
            let comment = &json["with"]["comments"]["items"][0];
            assert_eq!((&comment["words"], comment.get("text")), (&json!(11), None));
        });
    });
}

#[test]
fn a_page_takes_one_read_for_each_count_and_two_for_each_list() {
    for (store, shards) in stores().into_iter().zip([1, 1, 100]) {
        let db = block_on(open(FEED, store));
        block_on(posts_with(&db, 20, 2));
        let cost = |with: &str| {
            let (watched, explained) = db.explained();
            let page = block_on(watched.list("post", "all").read()).unwrap();
            assert_eq!(page.items.len(), 20);
            let trees = block_on(watched.trees("post", page.items, with, None)).unwrap();
            assert_eq!(trees.len(), 20);
            let reads = explained.reads();
            (reads.len(), reads.iter().map(|read| read.rows).sum::<u64>())
        };
        let (alone, rows) = cost("");
        // A row for each shard that has one: the likes of a post are spread over at most two.
        let (reads, counters) = cost("likes.count");
        assert_eq!(reads, alone + 20 * shards, "{shards}");
        assert!((rows + 20..=rows + 40).contains(&counters), "{counters} and {rows}");
        // Two keys of an index and two entities of each.
        assert_eq!(cost("comments"), (alone + 40, rows + 80), "{shards}");
        // What is met again is not read again.
        assert_eq!(cost("comments,comments.post"), (alone + 40, rows + 80), "{shards}");
    }
}

#[test]
fn what_is_read_together_is_bounded() {
    block_on(async {
        let db = open(FEED, plain_store(&ManualClock::new())).await;
        posts_with(&db, 51, 0).await;
        // 50 posts, and 100 shards of each count.
        let page = db.list("post", "all").limit(49).read().await.unwrap();
        db.trees("post", page.items, "likes.count", None).await.unwrap();
        let page = db.list("post", "all").limit(50).read().await.unwrap();
        let refused = db.trees("post", page.items, "likes.count", None).await;
        assert!(matches!(refused, Err(Error::TreeTooLarge { .. })), "{refused:?}");
        let db = open(FEED, Arc::new(memory_store_at(&ManualClock::new()))).await;
        posts_with(&db, 75, 0).await;
        let with = "posts.author.posts";
        let few = db.tree("person", "ann", with, Some(30)).await.unwrap().unwrap();
        assert_eq!(few.lists["posts"].items.len(), 30);
        // 75 posts, each with its author and 75 posts again.
        let refused = db.tree("person", "ann", with, Some(1000)).await;
        assert!(matches!(refused, Err(Error::TreeTooLarge { .. })), "{refused:?}");
        let refused = db.tree("person", "ann", "posts", Some(1001)).await;
        assert!(matches!(refused, Err(Error::Request(_))), "{refused:?}");
    });
}

#[test]
fn other_steps_are_refused() {
    block_on(async {
        let db = open(FEED, Arc::new(memory_store_at(&ManualClock::new()))).await;
        for (with, expected) in [
            ("likes", "expected one of `author`, `likes.count`, `comments`, `comment.words`"),
            ("likes.", "has no reference `likes`"),
            ("likes.counts", "has no reference `likes`"),
            ("likes.count.", "`likes.count` is a count, and has no ``"),
            ("likes.count.post", "`likes.count` is a count, and has no `post`"),
            ("comment", "has no reference `comment`"),
            ("comment.of_post", "has no reference `comment`"),
            ("comments.likes.count", "`comment` has no reference `likes`"),
            (".", "has no reference ``"),
        ] {
            let refused = db.tree("post", "p", with, None).await.unwrap_err().to_string();
            assert!(refused.contains(expected), "{with}: {refused}");
        }
        for (fields, expected) in [
            ("likes.count", "`likes` in `fields` is not in `with`"),
            ("likes.count.count", "`likes` in `fields` is not in `with`"),
            ("comments.word", "did you mean `words`?"),
        ] {
            let refused = db.fields("post", "likes.count,comments", fields);
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains(expected), "{fields}: {refused}");
        }
    });
}

#[test]
fn lists_and_counts_of_other_tenants_stay_apart() {
    let model = r#"
        [entity.customer]
        id = "given"
        tenant = "company"
        fields.company = "text"

        [entity.order]
        tenant = "company"
        fields.company  = "text"
        fields.customer = "ref customer cascade"
        list.of  = { path = "/customers/{customer}/orders", by = "customer" }
        count.of = { path = "/customers/{customer}/orders/count", by = "customer" }
        "#;
    for store in stores() {
        block_on(async {
            let db = open(model, store).await;
            for (company, orders) in [("a", 1), ("b", 2)] {
                let db = db.tenant(company);
                db.create("customer", &json!({"id": "c"})).await.unwrap();
                for _ in 0..orders {
                    db.create("order", &json!({"customer": "c"})).await.unwrap();
                }
            }
            for (company, orders) in [("a", 1_usize), ("b", 2)] {
                let db = db.tenant(company);
                let tree = db.tree("customer", "c", "orders,orders.count", None).await;
                let tree = tree.unwrap().unwrap();
                assert_eq!(tree.lists["orders"].items.len(), orders);
                assert_eq!(
                    tree.counts["orders.count"].get("count"),
                    Some(&Value::from(orders as u64))
                );
            }
        });
    }
}

/// Each transaction adds a comment and a like, or deletes the post with all of them.
#[test]
fn a_tree_is_of_one_moment() {
    let db = block_on(open(FEED, Arc::new(engine(&SimDisk::new(0)))));
    block_on(post(&db, "p"));
    let (writer, is_over) = (db.clone(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..150 {
                let id = format!("c{number}");
                let time = "2024-01-01T00:00:00Z";
                let comment =
                    json!({"id": id, "post": "p", "text": "", "words": 1, "written": time});
                let changes = vec![
                    Change::create("comment", &comment).unwrap(),
                    Change::create("like", &json!({"post": "p"})).unwrap(),
                ];
                block_on(writer.transact(changes)).unwrap();
            }
            is_over.store(true, Ordering::SeqCst);
        });
        let with = "likes.count,comments,comment.words";
        while !is_over.load(Ordering::SeqCst) {
            let tree = block_on(db.tree("post", "p", with, Some(1000))).unwrap().unwrap();
            let count = Value::from(tree.lists["comments"].items.len() as u64);
            assert_eq!(tree.counts["likes.count"].get("count"), Some(&count));
            assert_eq!(tree.counts["comment.words"].get("count"), Some(&count));
        }
    });
}
