//! Requests for a range, a total or a path that does not exist: the exact text of their problems.

use super::ask::Ask;
use super::served::{Door, Served, Setup, app};

/// Requests each path and compares outcome and detail.
#[track_caller]
fn assert_told(served: &Served, cases: &[(&str, &str, &str)]) {
    for (path, outcome, detail) in cases {
        let encoded = path.replace('>', "%3E").replace('<', "%3C");
        let answer = served.ask(&Ask::get(&encoded));
        assert_eq!(answer.outcome(), *outcome, "{path}");
        assert_eq!(answer.json()["detail"], *detail, "{path}");
    }
}

const BAD: &str = "400 bad-parameter";
const GONE: &str = "404 not-found";

#[test]
fn only_order_fields_take_a_range() {
    let comments = Served::open(&app("comments"));
    let only_created = "`rating` takes exact values here, not a range: write \
                        `rating=VALUE,VALUE` instead of `rating=>=…`. Only `created` takes a range \
                        here.";
    assert_told(
        &comments,
        &[
            ("/products/42/comments?rating=>=3", BAD, only_created),
            ("/products/42/comments?rating=>=3&created=>2020-01-01T00:00:00Z", BAD, only_created),
            ("/products/42/comments?rating=>=3&rating=<5&total=true", BAD, only_created),
            (
                "/products/42/comments?language=<f",
                BAD,
                "`language` takes exact values here, not a range: write `language=VALUE,VALUE` \
                 instead of `language=<…`. Only `created` takes a range here. If the value begins \
                 with `<`, write `language==<…`.",
            ),
            (
                "/products/42/comments/facets?rating=>3",
                BAD,
                "`rating` takes exact values here, not a range: write `rating=VALUE,VALUE` instead \
                 of `rating=>…`. No parameter of this path takes a range.",
            ),
            (
                "/products/42/comments/facets?created=>2020-01-01T00:00:00Z",
                BAD,
                "This request cannot filter by the field `created`: it takes `language`, `rating`, \
                 `limit` and `explain`.",
            ),
            (
                "/products/42/comments?product=43",
                BAD,
                "The path already contains `product`: omit the parameter.",
            ),
        ],
    );
    // What the messages suggest works.
    for path in ["rating=3,4,5", "created=%3E=2020-01-01T00:00:00Z", "language==%3Cf"] {
        comments.ask(&Ask::get(&format!("/products/42/comments?{path}"))).expect_json(200);
    }
}

#[test]
fn an_unknown_parameter_lists_the_known_ones() {
    let tasks = Served::open(&app("tasks"));
    assert_told(
        &tasks,
        &[
            (
                "/tasks?priority=>=2",
                BAD,
                "Unknown parameter `priority`: this request takes `tag`, `limit`, `cursor`, \
                 `reverse`, `with`, `fields`, `total` and `explain`. To filter by a tag, write \
                 `tag=priority:VALUE`. Tags match exact values, not ranges.",
            ),
            (
                "/tasks?priority=high",
                BAD,
                "Unknown parameter `priority`: this request takes `tag`, `limit`, `cursor`, \
                 `reverse`, `with`, `fields`, `total` and `explain`. To filter by a tag, write \
                 `tag=priority:VALUE`.",
            ),
            (
                "/tasks?name=>=x",
                BAD,
                "This request cannot filter by the field `name`: it takes `tag`, `limit`, \
                 `cursor`, `reverse`, `with`, `fields`, `total` and `explain`.",
            ),
            ("/tasks?tags=a:b", BAD, "Unknown parameter `tags`: did you mean `tag`?"),
        ],
    );
    tasks.ask(&Ask::get("/tasks?tag=priority:high&explain=true")).expect_json(200);
}

const PEOPLE: &str = r#"
[entity.team]
id = "given"
unique = [["city", "street"]]
fields.city = "text"
fields.street = "text"
list.by_street = { by = "city", order = "street" }

[entity.person]
path = "/people"
parent = "team"
fields.name = "text"
fields.email = "text?"
fields.age = "int"
unique = ["email", { fields = ["name"], within = "team" }]
list.by_age = { path = "/people", order = "age" }
list.by_team = { path = "/people", by = "team", order = ["-age", "name"] }
"#;

#[test]
fn parameters_that_match_no_query_list_the_ones_that_would() {
    let ways = "give any of `age`; or `team`, optionally with `age` and `name`; or `email`; or \
                `team` and `name`.";
    let cases = [
        (
            "/people?name=Ann",
            format!("No list or unique value of `person` takes `name` alone: {ways}"),
        ),
        (
            "/people?email=a&team=x",
            format!(
                "No list or unique value of `person` takes `email` and `team` together: {ways}"
            ),
        ),
        (
            "/people?team=>x",
            "`team` takes exact values here, not a range: write `team=VALUE` instead of \
             `team=>…`. Only `age` and `name` take a range here."
                .to_owned(),
        ),
        ("/people?team=x&team=y", "`team` takes one value here: give it once.".to_owned()),
        (
            "/people?total=true",
            "`total` requires tags, facets, `filters` or a search, and `person` has none: omit it."
                .to_owned(),
        ),
        (
            "/teams",
            "`/teams` has no list: to find one `team` by a unique value, give `city` and `street`."
                .to_owned(),
        ),
        (
            "/teams/lists/by_street",
            "This path needs parameters: give `city`, optionally with `street`.".to_owned(),
        ),
    ];
    let served = Served::open(PEOPLE);
    for (path, detail) in &cases {
        assert_told(&served, &[(path, BAD, detail)]);
    }
}

#[test]
fn a_total_of_a_range_is_rejected() {
    let comments = Served::open(&app("comments"));
    let refused = "`total` cannot be combined with a range of `created` here: it counts what \
                   filters match, and lists of `comment` have no filter by `created`. Omit `total` \
                   or `created`, or declare `created` in `filters`.";
    for range in [
        "created=>2020-01-01T00:00:00Z",
        "created=2020-01-01T00:00:00Z",
        "created=>2020-01-01T00:00:00Z&created=<2021-01-01T00:00:00Z&rating=5",
    ] {
        let path = format!("/products/42/comments?{range}&total=true");
        assert_told(&comments, &[(&path, BAD, refused)]);
    }
    for query in ["created=%3E2020-01-01T00:00:00Z&total=false", "rating=5&total=true"] {
        comments.ask(&Ask::get(&format!("/products/42/comments?{query}"))).expect_json(200);
    }
}

#[test]
fn a_path_without_a_list_names_the_paths_of_lists() {
    let tasks = Served::open(&app("tasks"));
    let cases = [
        ("/tasks/lists/open", "The list `open` of `task` is served at `/open-tasks`."),
        (
            "/tasks/lists/none",
            "`task` has no list `none`. Lists of `task`: `all` at `/tasks`, `open` at `/open-tasks`.",
        ),
        ("/tasks/", "Nothing is served at `/tasks/`: did you mean `/tasks`?"),
        ("/Task", "Nothing is served at `/Task`: did you mean `/tasks`?"),
        ("/opentasks", "Nothing is served at `/opentasks`: did you mean `/open-tasks`?"),
        ("/projects", "Nothing is served at `/projects`: `/docs` lists every path."),
    ];
    let cases: Vec<_> = cases.iter().map(|(path, detail)| (*path, GONE, *detail)).collect();
    assert_told(&tasks, &cases);
    let oncall = Served::open(&app("oncall"));
    assert_told(
        &oncall,
        &[
            (
                "/searches",
                "405 bad-method",
                "No list is served at `/searches`, which supports `POST` only. Lists of `search`: \
                 `by_contact` at `/contacts/{contact}/searches`, `by_status` at \
                 `/contacts/{contact}/searches?status=…`.",
            ),
            (
                "/contact/7/searches",
                GONE,
                "Nothing is served at `/contact/7/searches`: did you mean `/contacts/7/searches`?",
            ),
            (
                "/jobs",
                GONE,
                "No list is served at `/jobs`. Lists of `job`: `by_status` at \
                 `/jobs/lists/by_status?status=…`, `by_lane` at `/jobs/lists/by_lane?lane=…`.",
            ),
            (
                "/links",
                "405 bad-method",
                "No list is served at `/links`, which supports `POST` only. `link` has no lists.",
            ),
        ],
    );
}

#[test]
fn a_closed_entity_is_not_mentioned() {
    const CLOSED: &[&str] =
        &["create_link", "read_link", "replace_link", "change_link", "delete_link"];
    let mut setup = Setup::new(Door::Open);
    setup.closed = CLOSED;
    let closed = Served::start(&app("oncall"), setup);
    for path in ["/links", "/links/lists/all"] {
        let nothing = format!("Nothing is served at `{path}`: `/docs` lists every path.");
        assert_told(&closed, &[(path, GONE, &nothing)]);
    }
}

#[test]
fn an_unsupported_method_lists_the_supported_ones() {
    let tasks = Served::open(&app("tasks"));
    let refused = tasks.ask(&Ask::new("PUT", "/tasks"));
    assert_eq!(refused.outcome(), "405 bad-method");
    assert_eq!(refused.header("allow"), Some("DELETE, GET, HEAD, PATCH, POST"));
    let detail =
        "`/tasks` does not support `PUT`: it supports `DELETE`, `GET`, `HEAD`, `PATCH` and `POST`.";
    assert_eq!(refused.json()["detail"], detail);
}
