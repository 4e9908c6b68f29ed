//! Words of texts as filters: beside tags, facets and ranges, with totals and counts under them.

use serde_json::{Value as Json, json};

use super::ask::Ask;
use super::served::Served;

const MODEL: &str = r#"
[entity.article]
id = "given"
filters = ["words"]
fields.title = "text"
fields.body  = "text?"
fields.words = "int"
fields.kind  = "enum(news, essay)"
fields.tags  = "tags = {}"

[entity.article.search.text]
fields   = ["title", "body"]
language = "english"

[entity.article.list.all]
path   = "/articles"
order  = "-words"
facets = ["kind"]
"#;

fn served(model: &str) -> Served {
    let served = Served::open(model);
    let articles = [
        ("a", "Fixing the roof", "Tiles & gutters", 300, "news"),
        ("b", "The rooftop garden", "We fixed nothing; crème brûlée instead", 200, "essay"),
        ("c", "Gardens", "", 100, "essay"),
    ];
    for (id, title, body, words, kind) in articles {
        let tags = json!({ "first": &title[..1] });
        let article = json!({
            "id": id, "title": title, "body": body, "words": words, "kind": kind, "tags": tags,
        });
        served.ask(&Ask::post("/articles", &article)).expect_json(201);
    }
    served
}

fn get(served: &Served, path: &str) -> Json {
    served.ask(&Ask::get(path)).expect_json(200)
}

fn ids(page: &Json) -> String {
    let items = page["items"].as_array().expect("a page");
    items.iter().map(|item| item["id"].as_str().expect("an id")).collect()
}

#[test]
fn lists_are_filtered_by_words_in_their_order() {
    let served = served(MODEL);
    let cases = [
        ("q=fix", "ab"),
        ("q=roo", "ab"),
        ("q=roof%20", "a"),
        ("q=the+roof+fixes", "a"),
        ("q=Creme+BRULEE!", "b"),
        ("q=garden%20&reverse=true", "cb"),
        ("q=nothing+tiles", ""),
        ("q=", "abc"),
        ("q=%3F!", "abc"),
        ("$q=tiles", "a"),
        ("q=fix&kind=essay", "b"),
        ("q=fix&words=%3E=250", "a"),
        ("q=fix&tag=first:T", "b"),
        ("q=fix&q=garden", "b"),
    ];
    for (query, expected) in cases {
        assert_eq!(ids(&get(&served, &format!("/articles?{query}"))), expected, "{query}");
    }
    let page = get(&served, "/articles?q=fix&limit=1&total=true");
    assert_eq!((ids(&page).as_str(), &page["total"]), ("a", &json!(2)));
    let next = page["next"].as_str().expect("there is more");
    assert_eq!(ids(&get(&served, &format!("/articles?q=fix&limit=1&cursor={next}"))), "b");
    let other = Ask::get(&format!("/articles?q=roof&limit=1&cursor={next}"));
    served.ask(&other).expect_json(400);
}

#[test]
fn counts_of_values_are_filtered_by_words() {
    let served = served(MODEL);
    let counts = get(&served, "/articles/lists/all/facets/kind?q=garden");
    assert_eq!(counts["items"], json!([{ "value": "essay", "count": 2 }]));
    let counts = get(&served, "/articles/lists/all/tags/first?q=fix");
    let expected = json!([{ "value": "F", "count": 1 }, { "value": "T", "count": 1 }]);
    assert_eq!(counts["items"], expected);
}

#[test]
fn changed_texts_are_found_by_their_new_words_alone() {
    let served = served(MODEL);
    served.ask(&Ask::patch("/articles/a", &json!({ "title": "Painting" }))).expect_json(200);
    assert_eq!(ids(&get(&served, "/articles?q=roof%20")), "");
    assert_eq!(ids(&get(&served, "/articles?q=paint+gutters")), "a");
    served.ask(&Ask::delete("/articles/a"));
    assert_eq!(ids(&get(&served, "/articles?q=paint")), "");
}

#[test]
fn several_searches_have_parameters_of_their_own() {
    let model = MODEL.replace(
        "[entity.article.list.all]",
        "[entity.article.search.titles]\nfields = \"title\"\n[entity.article.list.all]",
    );
    let served = served(&model);
    assert_eq!(ids(&get(&served, "/articles?q.titles=gardens")), "c");
    assert_eq!(ids(&get(&served, "/articles?q.text=fix&q.titles=fix")), "a");
    let problem = served.ask(&Ask::get("/articles?q=fix")).expect_json(400);
    let detail = problem["detail"].as_str().expect("a detail");
    assert!(detail.contains("`q.text`") && detail.contains("`q.titles`"), "{detail}");
}

#[test]
fn a_field_called_q_is_the_parameter() {
    let model = MODEL.replace("fields.words", "fields.q = \"bool?\"\nfields.words");
    let model = model.replace("facets = [", "facets = [\"q\", ");
    let served = served(&model);
    assert_eq!(ids(&get(&served, "/articles?$q=tiles")), "a");
    assert_eq!(ids(&get(&served, "/articles?q=true")), "");
}

#[test]
fn too_many_words_are_rejected() {
    let served = served(MODEL);
    let text: String = (0..3_000).map(|n| format!("w{n:05}x ")).collect();
    let article = json!({ "id": "long", "title": text, "words": 1, "kind": "news" });
    let problem = served.ask(&Ask::post("/articles", &article)).expect_json(422);
    assert!(problem.to_string().contains("`text`"), "{problem}");
    let words: Vec<String> = (0..400).map(|n| format!("w{n}")).collect();
    let many = Ask::get(&format!("/articles?q={}", words.join("+")));
    served.ask(&many).expect_json(400);
}
