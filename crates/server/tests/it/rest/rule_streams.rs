//! Live queries of users: while entities change hands, a stream shows what its query returns to the user, and
//! ends when the query would be refused.

use keyloom::User;
use keyloom_server::Role;
use serde_json::{Value as Json, json};

use super::ask::Ask;
use super::changes::Stream;
use super::live_client::apply;
use super::rules::{Expected, Scene, USERS};

const MODELS: u64 = 12;

/// Queries besides those of the matrix, which are followed by whom they are not refused.
const OTHERS: [&str; 5] = [
    "/projects/{p}?with=tasks",
    "/projects?with=tasks&limit=100",
    "/projects?total=true&limit=100",
    "/projects/facets/lead",
    "/tasks/{t}?with=project",
];

/// A query that a user follows.
struct Followed {
    shown: String,
    ask: Ask,
    stream: Stream,
    body: Json,
    is_over: bool,
}

impl Followed {
    fn open(scene: &Scene, (path, token): (&str, &str)) -> Followed {
        let sign = if path.contains('?') { '&' } else { '?' };
        let live = Ask::get(&format!("{path}{sign}live=true")).bearer(token);
        let mut stream = Stream::open(&scene.served, &live);
        let first = stream.next_or_end().expect("a page");
        let (body, ask) = (first.data["body"].clone(), Ask::get(path).bearer(token));
        Followed { shown: path.to_owned(), ask, stream, body, is_over: false }
    }

    /// Reads events until what is shown is what the query returns.
    fn follow(&mut self, scene: &Scene, change: &str) {
        let answer = scene.served.ask(&self.ask);
        let expected = match answer.status {
            200 => Some(answer.expect_json(200)),
            // An entity that the user cannot see any more is gone.
            404 if self.body.get("items").is_none() => Some(Json::Null),
            _ => None,
        };
        while expected.as_ref().is_none_or(|expected| *expected != self.body) {
            let told = self.stream.next_or_end();
            let told = told.unwrap_or_else(|| {
                let (shown, body) = (&self.shown, &self.body);
                panic!("{shown} after {change}: {body} is shown instead of {expected:?}")
            });
            if told.name == "error" {
                let (status, shown) = (&told.data["status"], &self.shown);
                assert_eq!(*status, json!(answer.status), "{shown}: {}", told.data);
                assert_eq!(self.stream.next_or_end(), None, "{shown}");
                self.is_over = true;
                return;
            }
            apply(&mut self.body, &told);
            let is_whole = !told.id.starts_with('~');
            // There was one change: nothing is between what was shown and what is expected.
            assert!(!is_whole || Some(&self.body) == expected.as_ref(), "{}: {told:?}", self.shown);
        }
    }
}

/// What the administrator does.
fn changes(scene: &Scene) -> Vec<Ask> {
    let (project, task) =
        (format!("/projects/{}", scene.project), format!("/tasks/{}", scene.task));
    let of_project =
        |assignee: &str| json!({ "project": scene.project, "assignee": assignee, "title": "more" });
    vec![
        Ask::patch(&project, &json!({ "points": 5 })),
        Ask::patch(&task, &json!({ "title": "changed" })),
        Ask::post("/tasks", &of_project("bob")),
        Ask::post("/tasks", &of_project("cyn")),
        Ask::post("/projects", &json!({ "lead": "ann", "name": "second" })),
        Ask::post("/projects", &json!({ "lead": "cyn", "name": "third" })),
        Ask::patch(&task, &json!({ "assignee": "cyn" })),
        Ask::patch(&project, &json!({ "lead": "cyn" })),
        Ask::patch(&project, &json!({ "name": "renamed" })),
        Ask::patch(&task, &json!({ "title": "changed again" })),
        Ask::patch(&project, &json!({ "lead": "ann" })),
        Ask::delete(&task),
        Ask::patch(&project, &json!({ "lead": "dan" })),
    ]
}

/// Every way to ask for changes, from a position of the past.
fn asks(after: &str) -> Vec<Ask> {
    let mut asks = vec![];
    for path in ["/changes", "/changes/page"] {
        asks.push(Ask::get(path));
        for kind in ["project", "task", "vault"] {
            asks.push(Ask::get(&format!("{path}?entity={kind}&after={after}")));
        }
        asks.push(Ask::new("HEAD", &format!("{path}?after={after}")));
        asks.push(Ask::get(path).header("Last-Event-ID", after));
    }
    asks
}

/// The events that a token gets, and the position after them.
fn page(scene: &Scene, token: &str, after: &str) -> (Vec<Json>, String) {
    let ask = Ask::get(&format!("/changes/page?limit=1000&after={after}")).bearer(token);
    let page = scene.served.ask(&ask).expect_json(200);
    assert_eq!(page["more"], false);
    (page["items"].as_array().unwrap().clone(), page["next"].as_str().unwrap().to_owned())
}

/// An event has an entity before and after. Whether somebody may read each is decided by what else is there at
/// that moment, which the feed does not say. So it is for those whom no rule limits.
#[test]
fn users_get_no_changes_and_those_whom_no_rule_limits_get_all_while_entities_change_hands() {
    for seed in 0..MODELS {
        let scene = Scene::new(seed);
        let users: Vec<String> = USERS.iter().map(|user| scene.served.user(user.user())).collect();
        // A role of the model that is called as one of ours gives a token of the server no other role.
        let named =
            ["reader", "writer", "admin"].map(|role| scene.served.user(User::new("cyn", [role])));
        let reader = scene.served.token(Role::Reader, None);
        let mut after = scene.served.position(0);
        let mut stream = Stream::open(&scene.served, &Ask::get("/changes").bearer(&reader));
        let mut images = vec![];
        (_, after) = page(&scene, &reader, &after);
        for change in changes(&scene) {
            let answer = scene.served.ask(&change.clone().bearer(&scene.admin));
            assert!(answer.status < 300, "{}: {}", change.path, answer.outcome());
            let mut client = scene.served.rig.client();
            for token in users.iter().chain(&named) {
                for ask in asks(&after) {
                    let answer = client.send(&ask.clone().bearer(token).bytes());
                    let shown = format!("seed {seed}: {} {}", ask.method, ask.path);
                    assert_eq!(answer.status, 403, "{shown}");
                    let is_head = ask.method == "HEAD";
                    assert!(is_head || answer.json()["code"] == "forbidden", "{shown}");
                }
            }
            let (events, next) = page(&scene, &reader, &after);
            assert_eq!(events.len(), 1, "seed {seed}: {}", change.path);
            let told = stream.next_or_end().unwrap();
            assert_eq!(told.data, events[0]);
            images.extend(events);
            after = next;
        }
        // Both hands are in the event.
        let hands = |event: &Json| [&event["old"]["lead"], &event["new"]["lead"]].map(Json::clone);
        assert!(images.iter().any(|event| hands(event) == [json!("ann"), json!("cyn")]));
    }
}

#[test]
fn streams_show_users_what_their_queries_return_while_entities_change_hands() {
    for seed in 0..MODELS {
        let scene = Scene::new(seed);
        let mut followed = vec![];
        for user in USERS {
            let token = scene.served.user(user.user());
            let reads = scene.served.routes.iter().filter(|route| route.method == "GET");
            let cases = reads.filter_map(|route| scene.case(user, route));
            let admitted = cases.filter(|(_, expected)| matches!(expected, Expected::Done(_)));
            let mut paths: Vec<String> = admitted.map(|(ask, _)| ask.path).collect();
            for path in OTHERS {
                let path = path.replace("{p}", &scene.project).replace("{t}", &scene.task);
                let answer = scene.served.ask(&Ask::get(&path).bearer(&token));
                paths.extend((answer.status == 200).then_some(path));
            }
            followed.extend(paths.iter().map(|path| {
                let mut followed = Followed::open(&scene, (path, &token));
                followed.shown = format!("seed {seed}: {path} by {user:?}");
                followed
            }));
        }
        for change in changes(&scene) {
            let answer = scene.served.ask(&change.clone().bearer(&scene.admin));
            assert!(answer.status < 300, "{}: {}", change.path, answer.outcome());
            let shown = format!("{} {}", change.method, change.path);
            followed.iter_mut().for_each(|followed| followed.follow(&scene, &shown));
            followed.retain(|followed| !followed.is_over);
        }
        assert!(!followed.is_empty(), "seed {seed}: nobody sees anything");
    }
}
