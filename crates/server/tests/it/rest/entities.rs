//! Single entities: creating, reading, replacing, changing and deleting them, with conditions.

use serde_json::json;

use super::ask::Ask;
use super::served::Served;

const MODEL: &str = r#"
[entity.team]
id = "given"
fields.name = "text 1..40"
fields.motto = "text = 'none'"
fields.facts = "any?"

[entity.player]
parent = "team"
on_parent_delete = "cascade"
fields.name = "text"

[entity.match]
path = "/matches"
fields.home = "ref team refuse"
fields.guest = "ref team clear?"
"#;

fn teams() -> Served {
    let served = Served::open(MODEL);
    for id in ["a", "b"] {
        let made = served.ask(&Ask::post("/teams", &json!({"id": id, "name": id})));
        made.expect_json(201);
    }
    served
}

#[test]
fn a_created_entity_is_where_its_location_says() {
    let served = teams();
    for id in ["plain", "sl/ash", "ü?&=#%", " ", "...", "+"] {
        let made = served.ask(&Ask::post("/teams", &json!({"id": id, "name": "x"})));
        let document = made.expect_json(201);
        assert_eq!((&document["id"], &document["motto"]), (&json!(id), &json!("none")));
        assert_eq!(made.tag(), format!("\"{}\"", document["version"].as_str().unwrap()));
        let read = served.ask(&Ask::get(made.header("location").unwrap()));
        assert_eq!((read.expect_json(200), read.tag()), (document, made.tag()), "{id}");
    }
    let again = served.ask(&Ask::post("/teams", &json!({"id": "a", "name": "x"})));
    assert_eq!(again.outcome(), "409 exists");
}

#[test]
fn a_reader_with_the_current_version_gets_304() {
    let served = teams();
    let tag = served.ask(&Ask::get("/teams/a")).tag();
    let cases = [
        (tag.clone(), 304),
        (format!("W/{tag}"), 304),
        (format!("\"x\", {tag}"), 304),
        ("*".to_owned(), 304),
        ("\"x\"".to_owned(), 200),
    ];
    for (given, status) in cases {
        for method in ["GET", "HEAD"] {
            let ask = Ask::new(method, "/teams/a").header("If-None-Match", &given);
            let answer = served.ask(&ask);
            assert_eq!((answer.status, answer.tag()), (status, tag.clone()), "{method} {given}");
        }
    }
}

#[test]
fn head_answers_as_get_without_the_body() {
    let served = teams();
    for path in ["/teams/a", "/teams/none", "/healthz", "/nowhere", "/teams/a/with/players"] {
        let (get, head) = (served.ask(&Ask::get(path)), served.ask(&Ask::new("HEAD", path)));
        assert_eq!(head.status, get.status, "{path}");
        for name in ["content-length", "content-type", "etag"] {
            assert_eq!(head.header(name), get.header(name), "{path} {name}");
        }
        assert_eq!(head.body, b"", "{path}");
    }
    // Compressed as the response to GET would be.
    let get = Ask::get("/openapi.json").header("Accept-Encoding", "gzip");
    let (get, head) =
        (served.ask(&get), served.ask(&Ask { method: "HEAD".to_owned(), ..get.clone() }));
    for name in ["content-length", "content-encoding", "vary"] {
        assert!(get.header(name).is_some(), "{name}");
        assert_eq!(head.header(name), get.header(name), "{name}");
    }
    assert_eq!(head.body, b"");
}

#[test]
fn a_change_applies_to_the_expected_version_only() {
    let served = teams();
    let old = served.ask(&Ask::get("/teams/a")).tag();
    let rename = Ask::patch("/teams/a", &json!({"name": "A"}));
    let new = served.ask(&rename.clone().header("If-Match", &old)).tag();
    assert_ne!(old, new);
    let document = json!({"name": "B"});
    let asks = [rename, Ask::put("/teams/a", &document), Ask::delete("/teams/a")];
    for ask in &asks {
        for given in [&old, &format!("W/{new}"), &format!("\"x\", {old}")] {
            let answer = served.ask(&ask.clone().header("If-Match", given));
            assert_eq!(answer.outcome(), "412 version-mismatch", "{} {given}", ask.method);
        }
        for given in ["x", "\"x", "", "a, b", "\u{e9}"] {
            let answer = served.ask(&ask.clone().header("If-Match", given));
            assert_eq!(answer.outcome(), "400 bad-header", "{} {given}", ask.method);
        }
    }
    // In a body the version is a part of the document, so the code is that of a conflict.
    for ask in &asks[..2] {
        let old = json!({"name": "B", "version": old.trim_matches('"')});
        let answer = served.ask(&Ask::new(&ask.method, &ask.path).json(&old));
        assert_eq!(answer.outcome(), "409 version-conflict", "{}", ask.method);
    }
    assert_eq!(served.ask(&Ask::get("/teams/a")).tag(), new, "nothing has happened");
    let several = format!("\"x\", {new}");
    assert_eq!(served.ask(&asks[1].clone().header("If-Match", &several)).status, 200);
    assert_eq!(served.ask(&asks[2].clone().header("If-Match", "*")).status, 204);
}

#[test]
fn put_creates_or_replaces_if_clients_choose_ids() {
    let served = teams();
    let full = json!({"name": "n", "motto": "m", "facts": {"x": [1, 2]}});
    let made = served.ask(&Ask::put("/teams/c%2Fd", &full));
    assert_eq!((made.status, made.header("location")), (201, Some("/teams/c%2Fd")));
    let replaced = served.ask(&Ask::put("/teams/c%2Fd", &json!({"name": "o"})));
    let document = replaced.expect_json(200);
    let expected = json!({"id": "c/d", "name": "o", "motto": "none",
        "version": replaced.tag().trim_matches('"')});
    assert_eq!(document, expected, "what is not named is gone");
    let other = served.ask(&Ask::put("/teams/c", &json!({"id": "d", "name": "x"})));
    assert_eq!(other.outcome(), "422 invalid");
}

#[test]
fn conditions_restrict_put_to_creating_or_replacing() {
    let served = teams();
    let put = |path: &str, header: &str, value: &str, document| {
        served.ask(&Ask::put(path, &document).header(header, value)).outcome()
    };
    let document = json!({"name": "n"});
    let only_new = |path, document| put(path, "If-None-Match", "*", document);
    assert_eq!(only_new("/teams/a", document.clone()), "412 version-mismatch");
    let other_id = json!({"id": "d", "name": "x"});
    assert_eq!(only_new("/teams/new", other_id), "422 invalid");
    assert_eq!(only_new("/teams/new", document.clone()), "201");
    let tag = served.ask(&Ask::get("/teams/a")).tag();
    let unless = |tag: &str| put("/teams/a", "If-None-Match", tag, json!({"name": "n"}));
    assert_eq!(unless(&tag), "412 version-mismatch");
    assert_eq!(unless("\"another\""), "200");
    for given in ["*", "\"another\""] {
        let answer = put("/teams/none", "If-Match", given, document.clone());
        assert_eq!(answer, "412 version-mismatch", "there is none to be replaced");
    }
    assert_eq!(served.ask(&Ask::get("/teams/none")).status, 404);
}

#[test]
fn put_never_creates_if_ids_are_generated() {
    let served = teams();
    let game = served.ask(&Ask::post("/matches", &json!({"home": "a"})));
    let path = game.header("location").unwrap();
    let replaced = served.ask(&Ask::put(path, &json!({"home": "b"}))).expect_json(200);
    assert_eq!(replaced["home"], "b");
    for ask in [
        Ask::put("/matches/none", &json!({"home": "b"})),
        Ask::put("/matches/none", &json!({"home": "b"})).header("If-None-Match", "*"),
    ] {
        assert_eq!(served.ask(&ask).outcome(), "404 not-found");
    }
    let given = served.ask(&Ask::post("/matches", &json!({"id": "x", "home": "b"})));
    assert_eq!(given.outcome(), "422 invalid");
}

#[test]
fn a_patch_merges() {
    let served = teams();
    let patch = |patch| served.ask(&Ask::patch("/teams/a", &patch)).expect_json(200);
    patch(json!({"motto": "m", "facts": {"x": 1, "y": {"z": 2, "w": 3}}}));
    let merged = patch(json!({"facts": {"x": null, "y": {"z": null, "v": [1, null]}}}));
    assert_eq!(merged["facts"], json!({"y": {"w": 3, "v": [1, null]}}));
    let without = patch(json!({"facts": null}));
    assert_eq!((without.get("facts"), &without["name"]), (None, &json!("a")));
    let before = served.ask(&Ask::get("/teams/a")).tag();
    let nothing = served.ask(&Ask::patch("/teams/a", &json!({})));
    assert_eq!((nothing.status, nothing.tag()), (200, before), "nothing changes the version");
    let kind = Ask::new("PATCH", "/teams/a").body("{\"name\":\"z\"}");
    let merge = kind.clone().header("Content-Type", "application/merge-patch+json");
    assert_eq!(served.ask(&merge).status, 200);
    let post = Ask { method: "POST".into(), path: "/teams".into(), ..merge };
    assert_eq!(served.ask(&post).outcome(), "415 bad-media-type");
    let required = served.ask(&Ask::patch("/teams/a", &json!({"name": null})));
    assert_eq!(required.outcome(), "422 invalid");
}

#[test]
fn a_patch_adds_to_numbers_and_lists() {
    let model = "[entity.team]\nid = \"given\"\nfields.points = \"int 0..20 = 0\"\n\
                 fields.log = \"list of text ..2 = []\"\n";
    let served = Served::open(model);
    let made = served.ask(&Ask::post("/teams", &json!({"id": "a"})));
    let patch = json!({"points": {"$add": 12}, "log": {"$append": ["won"]}});
    let added = served.ask(&Ask::patch("/teams/a", &patch));
    let team = added.expect_json(200);
    assert_eq!((&team["points"], &team["log"]), (&json!(12), &json!(["won"])));
    let old = Ask::patch("/teams/a", &patch).header("If-Match", &made.tag());
    assert_eq!(served.ask(&old).outcome(), "412 version-mismatch");
    let too_many = served.ask(&Ask::patch("/teams/a", &patch));
    assert_eq!(too_many.outcome(), "422 invalid");
    assert_eq!(too_many.json()["errors"][0]["field"], "points");
    let wrong = served.ask(&Ask::patch("/teams/a", &json!({"points": {"$add": "1"}})));
    assert_eq!(wrong.json()["errors"][0]["field"], "points.`$add`");
    let change = json!({"update": "team", "id": "a", "document": {"points": {"$add": -2}}});
    let changes = json!({"changes": [change]});
    let once = Ask::post("/transaction", &changes).header("Idempotency-Key", "key");
    for _ in 0..2 {
        assert_eq!(served.ask(&once).expect_json(200)["results"][0]["points"], json!(10));
    }
    let batch = served.ask(&Ask::post("/batch", &json!({"requests": [change]})));
    assert_eq!(batch.expect_json(200)["results"][0]["body"]["points"], json!(8));
    assert_eq!(served.ask(&Ask::put("/teams/a", &patch)).outcome(), "422 invalid");
}

#[test]
fn a_deletion_cascades_refuses_or_clears_as_declared() {
    let served = teams();
    let made = |path: &str, document| {
        let answer = served.ask(&Ask::post(path, &document));
        answer.expect_json(201);
        answer.header("location").unwrap().to_owned()
    };
    let player = made("/players", json!({"team": "b", "name": "p"}));
    let game = made("/matches", json!({"home": "a", "guest": "b"}));
    assert_eq!(served.ask(&Ask::delete("/teams/a")).outcome(), "409 in-use");
    let deleted = served.ask(&Ask::delete("/teams/b"));
    assert_eq!((deleted.status, deleted.body.len()), (204, 0));
    for gone in ["/teams/b", &player] {
        assert_eq!(served.ask(&Ask::get(gone)).outcome(), "404 not-found", "{gone}");
        assert_eq!(served.ask(&Ask::delete(gone)).outcome(), "404 not-found", "{gone}");
    }
    assert_eq!(served.ask(&Ask::get(&game)).expect_json(200).get("guest"), None);
    let dangling = served.ask(&Ask::post("/matches", &json!({"home": "b"})));
    assert_eq!(dangling.outcome(), "422 target-gone");
}

#[test]
fn a_path_lists_its_methods() {
    let served = teams();
    let cases = [
        ("/teams", "POST"),
        ("/teams/a", "DELETE, GET, HEAD, PATCH, PUT"),
        ("/teams/a/with/players", "GET, HEAD"),
        ("/tokens", "GET, HEAD, POST"),
        ("/healthz", "GET, HEAD"),
    ];
    for (path, allow) in cases {
        for method in ["OPTIONS", "TRACE", "BREW", &"X".repeat(5000)] {
            let answer = served.ask(&Ask::new(method, path));
            let outcome = if method == "OPTIONS" { "204" } else { "405 bad-method" };
            assert_eq!(answer.outcome(), outcome, "{method} {path}");
            assert_eq!(answer.header("allow"), Some(allow), "{path}");
            assert!(answer.body.len() < 1000, "what was sent is not sent back at length");
        }
    }
}
