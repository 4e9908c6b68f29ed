//! Access rules over HTTP: every operation of a model, by every kind of user, is answered as a naive reading
//! of the rules says; also as a stream.

use std::collections::BTreeSet;

use keyloom::User;
use keyloom_model::{Entity, Grantees, Model, check};
use keyloom_server::{Role, Route};
use keyloom_testkit::Random;
use serde_json::{Value as Json, json};

use super::ask::Ask;
use super::changes::Stream;
use super::served::{Door, Served, Setup, engine};
use crate::rig::Answer;

const MODELS: u64 = 25;

/// Who tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    subject: &'static str,
    role: &'static str,
}

/// Ann leads the project, bob has its task.
pub(super) const USERS: [Known; 6] = [
    Known { subject: "ann", role: "guest" },
    Known { subject: "bob", role: "guest" },
    Known { subject: "cyn", role: "guest" },
    Known { subject: "cyn", role: "staff" },
    Known { subject: "ann", role: "boss" },
    Known { subject: "cyn", role: "boss" },
];

/// The entities that operations are about.
pub(super) struct Scene {
    pub(super) served: Served,
    model: Model,
    pub(super) admin: String,
    pub(super) project: String,
    pub(super) task: String,
}

/// What is expected of an operation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// It succeeds; of a query, these entities are returned.
    Done(Option<BTreeSet<String>>),
    /// The entity does not exist for the user.
    Unseen,
    Forbidden,
}

fn rule(random: &mut Random, words: &[&str]) -> String {
    let words = random.some_of(words, 2);
    let words: BTreeSet<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    format!("[{}]", words.into_iter().collect::<Vec<_>>().join(", "))
}

/// A model with random rules.
fn model(random: &mut Random) -> String {
    let mut rules = |words: &[&str]| -> String {
        let verbs = ["read", "create", "update", "delete"];
        let rules = verbs.map(|verb| format!("access.{verb} = {}\n", rule(random, words)));
        rules.iter().filter(|rule| !rule.contains("[]")).cloned().collect()
    };
    let projects = rules(&["owner", "everyone", "staff", "boss"]);
    let tasks = rules(&["owner", "parent", "everyone", "staff"]);
    format!(
        r#"
[entity.project]
fields.lead   = "text"
fields.name   = "text"
fields.points = "int = 1"
access.owner  = "lead"
{projects}
unique = ["name"]
list.all   = {{ path = "/projects", facets = ["lead"] }}
list.mine  = {{ by = "lead" }}
list.team  = {{ order = "name", access = ["staff"] }}
count.all  = {{ split = ["lead"] }}
count.mine = {{ by = "lead" }}
board.best = {{ rank = "points", by = "lead" }}

[entity.task]
parent = "project"
fields.assignee = "text"
fields.title    = "text"
access.owner    = "assignee"
{tasks}
list.of   = {{ by = "project", facets = ["assignee"] }}
count.of  = {{ by = "project", split = ["assignee"] }}

[entity.vault]
fields.text = "text"
list.all = {{ path = "/vaults" }}
"#
    )
}

impl Known {
    pub(super) fn user(self) -> User {
        User::new(self.subject, [self.role])
    }

    /// Whether a rule admits the user to everything.
    pub(super) fn is_named(self, rule: &Grantees) -> bool {
        rule.everyone || rule.roles.contains(self.role)
    }
}

impl Scene {
    pub(super) fn new(seed: u64) -> Scene {
        let text = model(&mut Random::new(seed));
        let model = check(&text).unwrap_or_else(|errors| panic!("{text}\n{errors:?}"));
        let served = Served::start(&text, Setup { store: engine, ..Setup::new(Door::Closed) });
        let admin = served.token(Role::Admin, None);
        let mut scene = Scene { served, model, admin, project: String::new(), task: String::new() };
        scene.project = scene.create_project();
        let task = json!({ "project": scene.project, "assignee": "bob", "title": "it" });
        scene.task = scene.create("/tasks", &task);
        // Others, which nobody here may confuse with these.
        let other = json!({ "lead": "dan", "name": "other" });
        scene.create("/projects", &other);
        scene.create("/vaults", &json!({ "text": "it" }));
        scene
    }

    fn create_project(&self) -> String {
        let name = format!("p{}", self.projects().len());
        self.create("/projects", &json!({ "lead": "ann", "name": name }))
    }

    fn projects(&self) -> BTreeSet<String> {
        let all = self.served.ask(&Ask::get("/projects?limit=100").bearer(&self.admin));
        ids(&all.expect_json(200))
    }

    fn create(&self, path: &str, document: &Json) -> String {
        let created = self.served.ask(&Ask::post(path, document).bearer(&self.admin));
        created.expect_json(201)["id"].as_str().unwrap().to_owned()
    }

    pub(super) fn rules(&self, kind: &str) -> &keyloom_model::Access {
        &self.entity(kind).access
    }

    /// Who may read a list, beyond the rules of its entity.
    pub(super) fn list_readers(&self, kind: &str, name: &str) -> &Grantees {
        let entity = self.entity(kind);
        &entity.list(entity.find_list(name).unwrap()).readers
    }

    pub(super) fn count_readers(&self, kind: &str, name: &str) -> &Grantees {
        let entity = self.entity(kind);
        &entity.count(entity.find_count(name).unwrap()).readers
    }

    pub(super) fn board_readers(&self) -> &Grantees {
        &self.entity("project").boards.first().unwrap().readers
    }

    fn entity(&self, kind: &str) -> &Entity {
        self.model.entity(self.model.find(kind).unwrap())
    }

    /// Whether a rule about what is ann's admits a user.
    pub(super) fn is_project_admitted(&self, user: Known, rule: &Grantees) -> bool {
        user.is_named(rule) || rule.owner && user.subject == "ann"
    }

    /// Whether a rule about the task admits a user; `on_project` is that about the project.
    fn is_task_admitted(&self, user: Known, rule: &Grantees, on_project: &Grantees) -> bool {
        user.is_named(rule)
            || rule.owner && user.subject == "bob"
            || rule.parent && self.is_project_admitted(user, on_project)
    }

    pub(super) fn sees(&self, user: Known, kind: &str) -> bool {
        let (project, task) = (&self.rules("project").read, &self.rules("task").read);
        match kind {
            "project" => self.is_project_admitted(user, project),
            _ => self.is_task_admitted(user, task, project),
        }
    }

    pub(super) fn can_ever_see(&self, user: Known, kind: &str) -> bool {
        let read = &self.rules(kind).read;
        user.is_named(read) || read.owner || read.parent
    }

    /// Something that is done to an entity that exists: it must be visible, and allowed by a rule.
    pub(super) fn change(
        &self,
        user: Known,
        kind: &str,
        (rule, is_allowed): (&Grantees, bool),
    ) -> Expected {
        let may_ever = user.is_named(rule) || rule.owner || rule.parent;
        match (self.sees(user, kind), self.can_ever_see(user, kind) && may_ever, is_allowed) {
            (true, _, true) => Expected::Done(None),
            (true, _, false) | (false, false, _) => Expected::Forbidden,
            (false, true, _) => Expected::Unseen,
        }
    }

    /// A query of all projects, of which the user sees some.
    pub(super) fn projects_by(&self, user: Known, readers: &Grantees) -> Expected {
        let own = user.subject == "ann";
        match (user.is_named(readers), readers.owner) {
            (true, _) => Expected::Done(Some(self.projects())),
            (false, true) if own => Expected::Done(Some([self.project.clone()].into())),
            (false, true) => Expected::Done(Some([].into())),
            (false, false) => Expected::Forbidden,
        }
    }

    /// A query of the tasks of the project.
    pub(super) fn tasks_by(&self, user: Known, readers: &Grantees) -> Expected {
        let all = || Expected::Done(Some([self.task.clone()].into()));
        let by_parent = readers.parent && self.sees(user, "project");
        match (user.is_named(readers) || by_parent, readers.owner) {
            (true, _) => all(),
            (false, true) if user.subject == "bob" => all(),
            (false, true) => Expected::Done(Some([].into())),
            (false, false) => Expected::Forbidden,
        }
    }

    /// The request of a route, and what is expected of it.
    pub(super) fn case(&self, user: Known, route: &Route) -> Option<(Ask, Expected)> {
        let (project, task) = (self.rules("project"), self.rules("task"));
        let list = |kind: &str, name: &str| self.list_readers(kind, name);
        let count = |kind: &str, name: &str| self.count_readers(kind, name);
        let at = |path: &str| path.replace("{p}", &self.project).replace("{t}", &self.task);
        let get = |path: &str| Ask::get(&at(path));
        let changed = json!({ "name": format!("p-{}-{}", user.subject, user.role), "lead": "ann" });
        let name = json!({ "name": format!("n-{}-{}", user.subject, user.role) });
        let done = |is_done: bool| match is_done {
            true => Expected::Done(None),
            false => Expected::Forbidden,
        };
        let numbers = |expected: Expected| match expected {
            Expected::Done(_) => Expected::Done(None),
            other => other,
        };
        Some(match route.name.as_str() {
            "read_project" => {
                (get("/projects/{p}"), self.change(user, "project", (&project.read, true)))
            }
            "change_project" => {
                let is_allowed = self.is_project_admitted(user, &project.update);
                let patch = json!({ "points": 2 });
                (
                    Ask::patch(&at("/projects/{p}"), &patch),
                    self.change(user, "project", (&project.update, is_allowed)),
                )
            }
            "replace_project" => {
                let is_allowed = self.is_project_admitted(user, &project.update);
                (
                    Ask::put(&at("/projects/{p}"), &changed),
                    self.change(user, "project", (&project.update, is_allowed)),
                )
            }
            "delete_project" => {
                let is_allowed = self.is_project_admitted(user, &project.delete);
                let path = format!("/projects/{}", self.create_project());
                (Ask::delete(&path), self.change(user, "project", (&project.delete, is_allowed)))
            }
            "create_project" => {
                let is_allowed = user.is_named(&project.create) || project.create.owner;
                (Ask::post("/projects", &name), done(is_allowed))
            }
            "list_project_all" => {
                let readers = list("project", "all");
                (get("/projects?limit=100"), self.projects_by(user, readers))
            }
            "list_project_mine" => {
                let is_allowed = self.is_project_admitted(user, list("project", "mine"));
                let own = || Expected::Done(Some([self.project.clone()].into()));
                let expected = if is_allowed { own() } else { Expected::Forbidden };
                (get("/projects/lists/mine?lead=ann"), expected)
            }
            "list_project_team" => {
                let readers = list("project", "team");
                (get("/projects/lists/team?limit=100"), self.projects_by(user, readers))
            }
            "count_project_all" => {
                let expected = self.projects_by(user, count("project", "all"));
                (get(&route.path), numbers(expected))
            }
            "count_project_mine" => {
                let is_allowed = self.is_project_admitted(user, count("project", "mine"));
                (get(&format!("{}?lead=ann", route.path)), done(is_allowed))
            }
            "board_best" | "rank_best" => {
                let is_allowed = self.is_project_admitted(user, self.board_readers());
                let path = route.path.replace("{of}", &self.project);
                (get(&format!("{path}?lead=ann")), done(is_allowed))
            }
            "read_task" => (get("/tasks/{t}"), self.change(user, "task", (&task.read, true))),
            "change_task" => {
                let is_allowed = self.is_task_admitted(user, &task.update, &project.update);
                let patch = json!({ "title": "other" });
                (
                    Ask::patch(&at("/tasks/{t}"), &patch),
                    self.change(user, "task", (&task.update, is_allowed)),
                )
            }
            "replace_task" => {
                let is_allowed = self.is_task_admitted(user, &task.update, &project.update);
                let whole = json!({ "project": self.project, "assignee": "bob", "title": "new" });
                (
                    Ask::put(&at("/tasks/{t}"), &whole),
                    self.change(user, "task", (&task.update, is_allowed)),
                )
            }
            "delete_task" => {
                let is_allowed = self.is_task_admitted(user, &task.delete, &project.update);
                let other = json!({ "project": self.project, "assignee": "bob", "title": "x" });
                let path = format!("/tasks/{}", self.create("/tasks", &other));
                (Ask::delete(&path), self.change(user, "task", (&task.delete, is_allowed)))
            }
            "create_task" => {
                let by_parent = self.is_project_admitted(user, &project.update);
                let rule = &task.create;
                let is_allowed = user.is_named(rule) || rule.owner || rule.parent && by_parent;
                let document = json!({ "project": self.project, "title": "mine" });
                (Ask::post("/tasks", &document), done(is_allowed))
            }
            "list_task_of" => {
                let readers = list("task", "of");
                (get("/tasks/lists/of?project={p}"), self.tasks_by(user, readers))
            }
            "count_task_of" => {
                let expected = self.tasks_by(user, count("task", "of"));
                (get(&format!("{}?project={{p}}", route.path)), numbers(expected))
            }
            name if name.contains("vault") && route.method == "GET" => {
                (get(&route.path.replace("{id}", "x")), Expected::Forbidden)
            }
            "create_vault" => {
                (Ask::post("/vaults", &json!({ "text": "mine" })), Expected::Forbidden)
            }
            _ => return None,
        })
    }
}

fn ids(body: &Json) -> BTreeSet<String> {
    let items = body["items"].as_array().into_iter().flatten();
    items.filter_map(|item| item["id"].as_str()).map(str::to_owned).collect()
}

pub(super) fn check_answer(answer: &Answer, expected: &Expected, shown: &str) {
    match expected {
        Expected::Unseen => assert_eq!(answer.outcome(), "404 not-found", "{shown}"),
        Expected::Forbidden => assert_eq!(answer.outcome(), "403 forbidden", "{shown}"),
        Expected::Done(found) => {
            assert!((200..300).contains(&answer.status), "{shown}: {}", answer.outcome());
            if let Some(expected) = found {
                assert_eq!(&ids(&answer.expect_json(200)), expected, "{shown}");
            }
        }
    }
}

/// Clears away what operations of users have created, and what they were to delete.
fn clean_up(scene: &Scene, ask: &Ask, answer: &Answer) {
    let path = match answer.status {
        201 => {
            let id = answer.expect_json(201)["id"].as_str().unwrap().to_owned();
            format!("{}/{id}", ask.path)
        }
        _ if ask.method == "DELETE" => ask.path.clone(),
        _ => return,
    };
    scene.served.ask(&Ask::delete(&path).bearer(&scene.admin));
}

#[test]
fn every_operation_is_answered_as_the_rules_say() {
    for seed in 0..MODELS {
        let scene = Scene::new(seed);
        let mut tried = BTreeSet::new();
        for user in USERS {
            let token = scene.served.user(user.user());
            for route in &scene.served.routes {
                let Some((ask, expected)) = scene.case(user, route) else { continue };
                let shown = format!("seed {seed}: {} {} by {user:?}", ask.method, ask.path);
                let answer = scene.served.ask(&ask.clone().bearer(&token));
                check_answer(&answer, &expected, &shown);
                clean_up(&scene, &ask, &answer);
                if ask.method == "GET" {
                    check_stream(&scene, (&ask, &token), &expected, &shown);
                }
                tried.insert(route.name.clone());
            }
            for question in scene.questions(user) {
                let shown = format!("seed {seed}: {} by {user:?}", question.route);
                scene.check(&question, (&shown, &token));
                tried.insert(question.route.to_owned());
            }
            check_others(&scene, &token);
        }
        let of_entities = scene.served.routes.iter().filter(|route| route.entity.is_some());
        let names = of_entities.map(|route| route.name.as_str());
        let missed: Vec<&str> = names.filter(|name| !tried.contains(*name)).collect();
        assert!(missed.is_empty(), "{missed:?}");
    }
}

/// The same query as a stream begins with the same entities, or is refused in the same way.
fn check_stream(scene: &Scene, (ask, token): (&Ask, &str), expected: &Expected, shown: &str) {
    let sign = if ask.path.contains('?') { '&' } else { '?' };
    let live = Ask::get(&format!("{}{sign}live=true", ask.path)).bearer(token);
    match expected {
        Expected::Done(found) => {
            let mut stream = Stream::open(&scene.served, &live);
            let first = stream.next_or_end().expect("a page");
            if let Some(found) = found {
                assert_eq!(&ids(&first.data["body"]), found, "{shown}");
            }
        }
        Expected::Unseen | Expected::Forbidden => {
            check_answer(&scene.served.ask(&live), expected, shown);
        }
    }
}

/// What is not for users.
fn check_others(scene: &Scene, token: &str) {
    for ask in [
        Ask::get("/changes"),
        Ask::get("/changes/page"),
        Ask::get("/metrics"),
        Ask::get("/tokens"),
        Ask::post("/tokens", &json!({ "role": "admin" })),
        Ask::delete("/tokens/abcdefghijklmnop"),
        Ask::get("/model"),
        Ask::post("/model", &json!({ "text": "" })),
        Ask::get(&format!("/model/rows?entity=project&id={}", scene.project)),
        Ask::new("POST", "/verify"),
        Ask::get("/operations"),
        Ask::get("/operations/x"),
        Ask::delete("/operations/x"),
        Ask::patch("/projects?lead=ann", &json!({ "points": 3 })),
        Ask::delete("/projects?lead=ann"),
    ] {
        let answer = scene.served.ask(&ask.clone().bearer(token));
        assert_eq!(answer.outcome(), "403 forbidden", "{} {}", ask.method, ask.path);
    }
}

const NOTES: &str = r#"
[entity.note]
fields.author = "text"
fields.topic  = "enum(a, b)"
fields.parent_note = "ref note keep?"
access.owner  = "author"
access.read   = ["owner", "editor"]
access.create = ["owner"]
access.update = ["owner", "editor"]
access.delete = ["owner"]
list.all = { path = "/notes", facets = ["author", "topic"] }
count.by = { path = "/count", by = "author", split = ["topic"] }
"#;

fn notes() -> (Served, [String; 3]) {
    let text = NOTES.replace(" keep?", " clear?");
    let served = Served::start(&text, Setup { store: engine, ..Setup::new(Door::Closed) });
    let user = |subject: &str, roles: &[&str]| {
        served.user(User::new(subject, roles.iter().copied().map(str::to_owned)))
    };
    let tokens = [user("ann", &[]), user("bob", &[]), user("eve", &["editor"])];
    (served, tokens)
}

fn note(served: &Served, token: &str, topic: &str) -> String {
    let created = served.ask(&Ask::post("/notes", &json!({ "topic": topic })).bearer(token));
    created.expect_json(201)["id"].as_str().unwrap().to_owned()
}

#[test]
fn an_entity_leaves_the_stream_of_whom_it_is_taken_from() {
    let (served, [ann, bob, eve]) = notes();
    let id = note(&served, &ann, "a");
    let open = |path: &str, token: &str| {
        let mut stream = Stream::open(&served, &Ask::get(path).bearer(token));
        assert_eq!(stream.next_or_end().expect("a page").name, "page");
        stream
    };
    let one = format!("/notes/{id}?live=true");
    let mut streams = [open("/notes?live=true", &ann), open(&one, &ann)];
    let mut of_bob = open("/notes?live=true", &bob);
    let path = format!("/notes/{id}");
    let given = Ask::patch(&path, &json!({ "author": "bob" }));
    assert_eq!(served.ask(&given.clone().bearer(&ann)).outcome(), "403 forbidden");
    assert_eq!(served.ask(&given.bearer(&eve)).status, 200);
    for stream in &mut streams {
        let told = stream.next_or_end().expect("an event");
        assert_eq!(told.name, "leave");
        assert!(!told.data.to_string().contains("bob"), "{told:?}");
    }
    let told = of_bob.next_or_end().expect("an event");
    assert_eq!((told.name.as_str(), &told.data["item"]["id"]), ("enter", &json!(id)));
}

#[test]
fn parts_of_batches_and_transactions_are_those_of_the_user() {
    let (served, [ann, bob, _]) = notes();
    let (own, others) = (note(&served, &ann, "a"), note(&served, &bob, "a"));
    let batch = json!({ "requests": [
        { "get": "note", "id": own }, { "get": "note", "id": others },
        { "update": "note", "id": others, "document": { "topic": "b" } },
        { "create": "note", "document": { "topic": "b", "author": "bob" } },
        { "create": "note", "document": { "topic": "b" } },
    ] });
    let answer = served.ask(&Ask::post("/batch", &batch).bearer(&ann)).expect_json(200);
    let results = answer["results"].as_array().unwrap();
    let statuses: Vec<i64> =
        results.iter().map(|result| result["status"].as_i64().unwrap()).collect();
    assert_eq!(statuses, [200, 404, 404, 403, 201]);
    let transaction = json!({ "changes": [
        { "update": "note", "id": own, "document": { "topic": "b" } },
        { "delete": "note", "id": others },
    ] });
    for (path, expected) in
        [("/transaction", "404 not-found"), ("/transaction?explain=true", "403 forbidden")]
    {
        let answer = served.ask(&Ask::post(path, &transaction).bearer(&ann));
        assert_eq!(answer.outcome(), expected, "{path}");
    }
    // Nothing of it was applied.
    let read = served.ask(&Ask::get(&format!("/notes/{own}")).bearer(&ann)).expect_json(200);
    assert_eq!(read["topic"], "a");
}

#[test]
fn totals_facets_and_counts_are_those_of_the_part_that_a_user_sees() {
    let (served, [ann, bob, eve]) = notes();
    for (token, topic) in [(&ann, "a"), (&ann, "b"), (&ann, "b"), (&bob, "a")] {
        note(&served, token, topic);
    }
    let get = |path: &str, token: &str| served.ask(&Ask::get(path).bearer(token));
    for (token, total, a, b) in [(&ann, 3, 1, 2), (&bob, 1, 1, 0), (&eve, 4, 2, 2)] {
        let page = get("/notes?total=true", token).expect_json(200);
        assert_eq!(page["total"], total, "{page}");
        let facets = get("/notes/facets/topic", token).expect_json(200);
        let count = |value: &str| {
            let items = facets["items"].as_array().unwrap();
            let found = items.iter().find(|item| item["value"] == value);
            found.map_or(0, |item| item["count"].as_i64().unwrap())
        };
        assert_eq!((count("a"), count("b")), (a, b), "{facets}");
    }
    // Users need not say who they are.
    assert_eq!(get("/count", &ann).expect_json(200)["count"], 3);
    assert_eq!(get("/count?topic=b", &ann).expect_json(200)["count"], 2);
    assert_eq!(get("/count?author=bob", &ann).outcome(), "403 forbidden");
    assert_eq!(get("/count?author=bob", &eve).expect_json(200)["count"], 1);
    assert_eq!(get("/notes?author=bob", &ann).expect_json(200)["items"], json!([]));
    // Plans tell how much there is of everything.
    for path in ["/notes?explain=true", "/notes?explain=true&live=true", "/count?explain=true"] {
        assert_eq!(get(path, &ann).outcome(), "403 forbidden", "{path}");
    }
}

#[test]
fn references_to_what_a_user_cannot_see_are_not_followed() {
    let (served, [ann, bob, _]) = notes();
    let others = note(&served, &bob, "a");
    let document = json!({ "topic": "a", "parent_note": others });
    let created = served.ask(&Ask::post("/notes", &document).bearer(&ann)).expect_json(201);
    let path = format!("/notes/{}?with=parent_note", created["id"].as_str().unwrap());
    let read = served.ask(&Ask::get(&path).bearer(&ann)).expect_json(200);
    assert_eq!(read["with"], json!({}), "{read}");
    let of_bob = format!("/notes/{others}");
    let page = served.ask(&Ask::get("/notes?with=parent_note").bearer(&ann)).expect_json(200);
    assert!(!page.to_string().contains("\"author\":\"bob\""), "{page}");
    assert_eq!(served.ask(&Ask::get(&of_bob).bearer(&ann)).outcome(), "404 not-found");
}

const TOPICS: &str = r#"
[entity.topic]
fields.name = "text"

[entity.post]
fields.topic  = "ref topic cascade"
fields.author = "text"
fields.slug   = "text"
access.owner  = "author"
access.read   = ["owner"]
access.create = ["owner"]
unique = ["slug"]
list.of    = { path = "/topics/{topic}/posts", by = "topic", access = ["everyone"] }
list.mine  = { path = "/topics/{topic}/posts/by/{author}", by = ["topic", "author"] }
count.of   = { path = "/topics/{topic}/count", by = "topic", access = ["everyone"] }
list.slugs = { path = "/posts", by = "author" }
"#;

/// A list that everybody may read was refused while it was empty, because of the entity in its path.
#[test]
fn an_empty_list_is_answered_as_others_are() {
    let served = Served::start(TOPICS, Setup { store: engine, ..Setup::new(Door::Closed) });
    let admin = served.token(Role::Admin, None);
    let ann = served.user(User::new("ann", [""; 0]));
    let topic = json!({ "name": "it" });
    let topic = served.ask(&Ask::post("/topics", &topic).bearer(&admin)).expect_json(201);
    let topic = topic["id"].as_str().unwrap();
    let get = |path: &str, token: &str| served.ask(&Ask::get(path).bearer(token));
    // Users cannot tell whether a topic exists.
    for id in [topic, "missing"] {
        for path in [format!("/topics/{id}/posts"), format!("/topics/{id}/posts/by/ann")] {
            assert_eq!(get(&path, &ann).expect_json(200)["items"], json!([]), "{path}");
        }
        assert_eq!(get(&format!("/topics/{id}/count"), &ann).expect_json(200)["count"], 0);
    }
    assert_eq!(get("/topics/missing/posts", &admin).outcome(), "404 not-found");
}

#[test]
fn what_a_user_cannot_see_is_not_found_by_a_unique_value_either() {
    let served = Served::start(TOPICS, Setup { store: engine, ..Setup::new(Door::Closed) });
    let admin = served.token(Role::Admin, None);
    let user = |subject: &str| served.user(User::new(subject, [""; 0]));
    let (ann, bob) = (user("ann"), user("bob"));
    let topic = served.ask(&Ask::post("/topics", &json!({ "name": "it" })).bearer(&admin));
    let topic = topic.expect_json(201)["id"].clone();
    let post = json!({ "topic": topic, "slug": "secret" });
    let created = served.ask(&Ask::post("/posts", &post).bearer(&ann)).expect_json(201);
    let find = |token: &str, slug: &str| {
        served.ask(&Ask::get(&format!("/posts?slug={slug}")).bearer(token)).text().to_owned()
    };
    assert!(find(&ann, "secret").contains("\"author\":\"ann\""));
    assert_eq!(find(&bob, "secret"), find(&bob, "missing"));
    // A value that is taken is refused, and the answer does not tell by what.
    let taken = served.ask(&Ask::post("/posts", &post).bearer(&bob));
    assert_eq!(taken.outcome(), "409 taken");
    let shown = taken.text();
    assert!(!shown.contains(created["id"].as_str().unwrap()), "{shown}");
}

#[test]
fn the_documentation_says_who_may_run_an_operation() {
    let (served, [ann, ..]) = notes();
    let document = served.ask(&Ask::get("/openapi.json").bearer(&ann)).expect_json(200);
    let about = |path: &str, method: &str| {
        document["paths"][path][method]["description"].as_str().unwrap().to_owned()
    };
    let expected = "Users: the owner (`author`) or the role `editor`.";
    assert!(about("/notes/{id}", "patch").contains(expected));
    assert!(about("/notes", "get").contains(expected));
    assert!(about("/notes", "post").contains("Users: the owner (`author`)."));
    let page = served.ask(&Ask::get("/docs").bearer(&ann));
    assert!(page.text().contains("the role <code>editor</code>"));
}
