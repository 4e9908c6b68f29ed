//! What is read together is what is read one by one, in far fewer requests.

use std::sync::Arc;

use keyloom::{Db, Error};
use keyloom_testkit::ManualClock;
use pollster::block_on;
use serde_json::json;

use crate::rig::{each_store, memory_store_at, open, open_at};

const FEED: &str = r#"
[entity.person]
id = "given"
fields.name = "text"

[entity.post]
id = "given"
expires = "until"
fields.author = "ref person cascade"
fields.rating = "int = 0"
fields.until  = "time?"
list.all   = { path = "/posts" }
board.best = { rank = "rating" }

[entity.like]
fields.post = "ref post cascade"
fields.kind = "text = 'heart'"
board.liked = { of = "post" }
board.kinds = { of = "kind" }
"#;

/// So many posts of two persons, each with one like more than the one before it.
async fn posts(db: &Db, count: usize) {
    for name in ["ann", "bo"] {
        db.create("person", &json!({"id": name, "name": name})).await.unwrap();
    }
    for number in 0..count {
        let id = format!("p{number:03}");
        let author = ["ann", "bo"][number % 2];
        let post = json!({"id": id, "author": author, "rating": number});
        db.create("post", &post).await.unwrap();
        for _ in 0..=number.min(3) {
            db.create("like", &json!({"post": id})).await.unwrap();
        }
    }
}

#[test]
fn entries_of_a_leaderboard_come_with_their_entities() {
    each_store(|store| {
        block_on(async {
            let db = open(FEED, store).await;
            posts(&db, 3).await;
            for (board, expected) in
                [("liked", ["p002", "p001", "p000"]), ("best", ["p002", "p001", "p000"])]
            {
                let query = db.board(board);
                let page = query.read().await.unwrap();
                let found = query.entities(&page.items, "author").await.unwrap();
                let found: Vec<_> = found.into_iter().map(Option::unwrap).collect();
                let ids: Vec<&str> = found.iter().map(|tree| tree.record.id()).collect();
                assert_eq!(ids, expected, "{board}");
                let author = found[1].refs["author"].as_ref().unwrap();
                assert_eq!(author.record.id(), "bo");
            }
            let query = db.board("liked");
            let one = query.rank("p001").await.unwrap().unwrap();
            let found = query.entities(&[one], "").await.unwrap();
            assert_eq!(found[0].as_ref().unwrap().record.id(), "p001");
            // Values that are no entities.
            let kinds = db.board("kinds");
            let page = kinds.read().await.unwrap();
            let refused = kinds.entities(&page.items, "").await;
            assert!(matches!(refused, Err(Error::Unknown { .. })), "{refused:?}");
            let refused = query.entities(&[], "autor").await.unwrap_err().to_string();
            assert!(refused.contains("did you mean `author`?"), "{refused}");
            let refused = query.fields("", "rat").unwrap_err().to_string();
            assert!(refused.contains("has no field `rat`"), "{refused}");
        });
    });
}

#[test]
fn entities_of_entries_are_one_read_for_every_hundred() {
    let db = block_on(open(FEED, Arc::new(memory_store_at(&ManualClock::new()))));
    block_on(posts(&db, 120));
    let reads = |limit: u32, with: Option<&str>| {
        let (watched, explained) = db.explained();
        let query = watched.board("best").limit(limit);
        let page = block_on(query.read()).unwrap();
        assert_eq!(page.items.len(), limit as usize);
        if let Some(with) = with {
            block_on(query.entities(&page.items, with)).unwrap();
        }
        let reads = explained.reads();
        (reads.len(), reads.iter().map(|read| read.rows).sum::<u64>())
    };
    let (alone, rows) = reads(10, None);
    assert_eq!(reads(10, Some("")), (alone + 1, rows + 10));
    // Two authors, in one batch.
    assert_eq!(reads(10, Some("author")), (alone + 2, rows + 12));
    let (alone, rows) = reads(120, None);
    assert_eq!(reads(120, Some("")), (alone + 2, rows + 120));
}

#[test]
fn an_expired_entity_is_on_the_board_without_its_fields() {
    let clock = ManualClock::new();
    block_on(async {
        let db = open_at(FEED, Arc::new(memory_store_at(&clock)), &clock).await;
        posts(&db, 2).await;
        let until = json!({"until": "2023-11-15T00:00:00Z"});
        db.update("post", "p001", &until).await.unwrap();
        clock.advance_ms(24 * 60 * 60 * 1000);
        let query = db.board("best");
        let page = query.read().await.unwrap();
        let found = query.entities(&page.items, "author").await.unwrap();
        assert_eq!(page.items[0].of.as_s(), Some("p001"));
        assert_eq!(found[0], None);
        assert_eq!(found[1].as_ref().unwrap().record.id(), "p000");
    });
}
