//! What a request brings together: entries of leaderboards with their entities, and entities with lists and
//! counts of those that refer to them.

use serde_json::{Value, json};

use super::ask::Ask;
use super::served::{Door, Served, Setup};

const FEED: &str = r#"
[entity.person]
id = "given"
path = "/people"
fields.name = "text"

[entity.post]
id = "given"
fields.author = "ref person cascade"
fields.text   = "text"
fields.stars  = "int = 0"
list.all    = { path = "/posts" }
list.of     = { path = "/people/{author}/posts", by = "author", order = "-stars" }
board.top = { rank = "stars" }

[entity.like]
fields.post = "ref post cascade"
fields.kind = "text = 'heart'"
list.of_post  = { path = "/posts/{post}/likes", by = "post", order = "kind" }
count.of_post = { path = "/posts/{post}/likes/count", by = "post", split = "kind" }
board.liked = { of = "post" }
board.kinds = { of = "kind" }
"#;

fn served() -> Served {
    filled(Served::open(FEED))
}

fn filled(served: Served) -> Served {
    let make = |path: &str, document: Value| {
        served.ask(&Ask::post(path, &document)).expect_json(201);
    };
    make("/people", json!({"id": "ann", "name": "Ann"}));
    for (id, likes) in [("roof", 2), ("tea", 1)] {
        make("/posts", json!({"id": id, "author": "ann", "text": id, "stars": likes}));
        for _ in 0..likes {
            make("/likes", json!({"post": id}));
        }
    }
    served
}

#[test]
fn entries_of_leaderboards_come_with_their_entities() {
    let served = served();
    let get = |path: &str| served.ask(&Ask::get(path)).expect_json(200);
    for board in ["liked", "top"] {
        let plain = get(&format!("/boards/{board}"));
        assert_eq!(plain["items"][0], json!({"rank": 1, "of": "roof", "score": 2}));
        let page = get(&format!("/boards/{board}?with=of&limit=1"));
        let entry = &page["items"][0];
        assert_eq!((&entry["of"], &entry["score"]), (&json!("roof"), &json!(2)));
        assert_eq!(entry["with"]["of"], get("/posts/roof"));
        let next = page["next"].as_str().expect("a cursor");
        let rest = get(&format!("/boards/{board}?with=of&limit=1&cursor={next}"));
        assert_eq!(rest["items"][0]["with"]["of"]["text"], "tea");
        let path =
            format!("/boards/{board}?around=tea&with=of.author&fields=of.text,of.author.name");
        let around = get(&path);
        assert_eq!(around["items"][1]["with"]["of"]["text"], "tea");
        assert_eq!(around["items"][1]["with"]["of"].get("stars"), None);
        let author = &around["items"][1]["with"]["of"]["with"]["author"];
        assert_eq!((&author["name"], &author["id"]), (&json!("Ann"), &json!("ann")));
        let one = get(&format!("/boards/{board}/tea?with=of,of"));
        assert_eq!(one["with"]["of"]["text"], "tea");
        assert_eq!(get(&format!("/boards/{board}/tea?with="))["with"], json!(null));
    }
}

#[test]
fn the_entities_of_a_page_are_one_read() {
    let served = served();
    let cost = |path: &str| {
        let page = served.ask(&Ask::get(path)).expect_json(200);
        page["explain"]["requests"].as_array().expect("requests").len()
    };
    let alone = cost("/boards/top?explain=true");
    assert_eq!(cost("/boards/top?explain=true&with=of"), alone + 1);
    assert_eq!(cost("/boards/top?explain=true&with=of.author"), alone + 2);
}

#[test]
fn other_entities_of_leaderboards_are_refused() {
    let served = served();
    for (query, expected) in [
        ("with=post", "begins with `of`"),
        ("with=of.", "begins with `of`"),
        ("with=offer", "begins with `of`"),
        ("with=of,author", "begins with `of`"),
        ("with=of.autor", "did you mean `author`?"),
        ("fields=of.text", "add that, or omit `fields`"),
        ("with=of&fields=text", "begins with `of`"),
        ("with=of&fields=of,of.text", "`of.NAME`"),
        ("with=of&fields=of.txt", "did you mean `text`?"),
        ("with=of&fields=of.author.name", "`author` in `fields` is not in `with`"),
        ("with=of&with=of", "`with` is given twice"),
    ] {
        for path in ["/boards/liked", "/boards/top/roof"] {
            let asked = served.ask(&Ask::get(&format!("{path}?{query}")));
            assert_eq!(asked.outcome(), "400 bad-parameter", "{path}?{query}");
            let detail = asked.json()["detail"].as_str().expect("a detail").to_owned();
            assert!(detail.contains(expected), "{path}?{query}: {detail}");
        }
    }
    let asked = served.ask(&Ask::get("/boards/kinds?with=of"));
    assert_eq!(asked.outcome(), "400 bad-parameter");
    let described = served.ask(&Ask::get("/openapi.json")).expect_json(200);
    let has_with = |board: &str| {
        let parameters = &described["paths"][format!("/boards/{board}")]["get"]["parameters"];
        let mut parameters = parameters.as_array().expect("parameters").iter();
        parameters.any(|parameter| parameter["name"] == "with")
    };
    assert!(has_with("liked") && has_with("top") && !has_with("kinds"));
}

#[test]
fn a_feed_is_one_request() {
    let served = served();
    let get = |path: &str| served.ask(&Ask::get(path)).expect_json(200);
    let feed = get("/posts?with=author,likes,likes.count&fields=text,author.name,likes.kind");
    let [roof, tea] = feed["items"].as_array().expect("a page").as_slice() else {
        panic!("{feed}")
    };
    for (post, text, likes) in [(roof, "roof", 2), (tea, "tea", 1)] {
        assert_eq!((&post["text"], post.get("stars")), (&json!(text), None));
        assert_eq!(post["with"]["author"]["name"], "Ann");
        assert_eq!(post["with"]["likes.count"], json!({"count": likes}));
        assert_eq!(post["with"]["likes.count"], get(&format!("/posts/{text}/likes/count")));
        let items = post["with"]["likes"]["items"].as_array().expect("a list");
        assert_eq!((items.len(), &items[0]["kind"]), (likes, &json!("heart")));
        assert_eq!(items[0].get("post"), None);
    }
    // From a leaderboard, from one entity, and by steps.
    let top = get("/boards/top?with=of.likes.count");
    assert_eq!(top["items"][0]["with"]["of"]["with"]["likes.count"]["count"], 2);
    let person = get("/people/ann?with=posts.likes.count");
    let posts = &person["with"]["posts"]["items"];
    assert_eq!(posts[1]["with"]["likes.count"]["count"], 1);
    let page = get("/people/ann/posts?with=likes.count");
    assert_eq!(page["items"][0]["with"]["likes.count"]["count"], 2);
}

#[test]
fn a_list_in_a_response_can_be_continued() {
    let served = served();
    let get = |path: &str| served.ask(&Ask::get(path)).expect_json(200);
    let first = get("/posts/roof?with=likes&limit=1");
    let likes = &first["with"]["likes"];
    let next = likes["next"].as_str().expect("a cursor");
    let rest = get(&format!("/posts/roof/likes?limit=1&cursor={next}"));
    assert_eq!(rest["items"].as_array().expect("a page").len(), 1);
    assert_ne!(rest["items"][0]["id"], likes["items"][0]["id"]);
    assert_eq!(rest.get("next"), None);
    // It is of this post alone.
    let asked = served.ask(&Ask::get(&format!("/posts/tea/likes?limit=1&cursor={next}")));
    assert_eq!(asked.outcome(), "400 bad-cursor");
}

#[test]
fn what_lists_and_counts_cost_is_explained() {
    let served = served();
    let cost = |path: &str| {
        let page = served.ask(&Ask::get(path)).expect_json(200);
        page["explain"]["requests"].as_array().expect("requests").len()
    };
    let alone = cost("/posts?explain=true");
    // One read for each of two posts.
    assert_eq!(cost("/posts?explain=true&with=likes.count"), alone + 2);
    // An index and a batch for each.
    assert_eq!(cost("/posts?explain=true&with=likes"), alone + 4);
}

#[test]
fn lists_and_counts_are_described_and_others_refused() {
    let served = served();
    for (query, expected) in [
        ("with=like", "did you mean `likes`?"),
        ("with=likes.counts", "`like` has no reference `counts`"),
        ("with=likes.count.kind", "`likes.count` is a count"),
        ("with=likes.count&fields=likes.count.count", "`likes` in `fields` is not in `with`"),
        ("with=likes&fields=likes.kin", "did you mean `kind`?"),
    ] {
        for path in ["/posts/roof", "/posts"] {
            let asked = served.ask(&Ask::get(&format!("{path}?{query}")));
            assert_eq!(asked.outcome(), "400 bad-parameter", "{path}?{query}");
            let detail = asked.json()["detail"].as_str().expect("a detail").to_owned();
            assert!(detail.contains(expected), "{path}?{query}: {detail}");
        }
    }
    let many = vec!["likes.count"; 21].join(",");
    let asked = served.ask(&Ask::get(&format!("/posts?with={many}")));
    assert_eq!(asked.outcome(), "400 bad-parameter");
    let described = served.ask(&Ask::get("/openapi.json")).expect_json(200);
    let parameters = described["paths"]["/posts"]["get"]["parameters"].as_array().cloned();
    let with = parameters.expect("parameters").into_iter().find(|one| one["name"] == "with");
    let with = with.expect("the parameter");
    assert!(with["description"].as_str().expect("a text").contains("`likes.count`"), "{with}");
    let pattern = with["schema"]["pattern"].as_str().expect("a pattern");
    assert!(pattern.starts_with("^((author|likes|likes\\.count)"), "{pattern}");
}

/// What an application closes, no request does.
#[test]
fn closed_lists_and_counts_are_not_read_by_other_requests() {
    let closed = &["list_like_of_post", "count_like_of_post"];
    let served = filled(Served::start(FEED, Setup { closed, ..Setup::new(Door::Open) }));
    for path in [
        "/posts?with=likes",
        "/posts/roof?with=author,likes.count",
        "/people/ann?with=posts.likes.post",
        "/people/ann/posts?with=likes.count",
        "/boards/top?with=of.likes.count",
        "/boards/liked/roof?with=of,of.author.posts.likes",
    ] {
        assert_eq!(served.ask(&Ask::get(path)).outcome(), "403 forbidden", "{path}");
    }
    for path in
        ["/posts?with=author", "/people/ann?with=posts.author", "/boards/top?with=of.author"]
    {
        served.ask(&Ask::get(path)).expect_json(200);
    }
}
