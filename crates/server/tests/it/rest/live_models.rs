//! Streams while the model changes: they end, and whoever connects again gets what the new model says.

use keyloom::User;
use keyloom_server::Role;
use pollster::block_on;
use serde_json::{Value as Json, json};

use super::ask::Ask;
use super::changes::{Stream, Told};
use super::live_client::{apply, live};
use super::served::{Door, Served, Setup, engine};
use crate::rig::Answer;

const MODEL: &str = "
[entity.task]
id = 'given'
fields.name = 'text'
fields.secret = 'text?'
fields.author = 'text'
access.owner = 'author'
access.read = ['owner', 'staff']
list.all = { path = '/tasks', facets = ['author'] }
list.named = { path = '/named', order = 'name', facets = ['author'] }
count.by = { path = '/count', by = 'author' }
";

/// A change of what is served.
struct Reload {
    /// What of the model is replaced by what.
    edits: &'static [(&'static str, &'static str)],
    closed: &'static [&'static str],
    /// Who follows what, and what they get when they connect again.
    followed: &'static [(Who, &'static str, Again)],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Admin,
    /// A user with a role of the model, who is an author, too.
    Staff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Again {
    /// Nothing until something changes.
    Same,
    /// Another result.
    Page,
    Refused(&'static str),
}

const RELOADS: [Reload; 7] = [
    // A field is renamed.
    Reload {
        edits: &[
            ("fields.name = 'text'", "fields.title = 'text'\nrenamed.title = 'name'"),
            ("order = 'name'", "order = 'title'"),
        ],
        closed: &[],
        followed: &[
            (Who::Admin, "/tasks", Again::Page),
            (Who::Admin, "/tasks/t1", Again::Page),
            (Who::Admin, "/named?fields=name", Again::Refused("400 bad-parameter")),
            (Who::Admin, "/count?author=bob", Again::Same),
        ],
    },
    // A field is removed.
    Reload {
        edits: &[("fields.secret = 'text?'", "removed = ['secret']")],
        closed: &[],
        followed: &[
            (Who::Admin, "/tasks", Again::Page),
            (Who::Admin, "/tasks/t1", Again::Page),
            (Who::Admin, "/tasks?fields=secret", Again::Refused("400 bad-parameter")),
        ],
    },
    // A list is removed.
    Reload {
        edits: &[("list.named = { path = '/named', order = 'name', facets = ['author'] }", "")],
        closed: &[],
        followed: &[
            (Who::Admin, "/named", Again::Refused("404 not-found")),
            (Who::Admin, "/tasks", Again::Same),
        ],
    },
    // Users may read less.
    Reload {
        edits: &[("['owner', 'staff']", "['owner']")],
        closed: &[],
        followed: &[
            (Who::Staff, "/tasks", Again::Page),
            (Who::Staff, "/tasks/t1", Again::Refused("404 not-found")),
            (Who::Staff, "/count?author=bob", Again::Refused("403 forbidden")),
        ],
    },
    // There is a field more.
    Reload {
        edits: &[("fields.name", "fields.more = 'int?'\nfields.name")],
        closed: &[],
        followed: &[(Who::Admin, "/tasks", Again::Same), (Who::Staff, "/tasks", Again::Same)],
    },
    // The application closes operations, also without another model.
    Reload {
        edits: &[("fields.name", "fields.more = 'int?'\nfields.name")],
        closed: &["list_task_all", "read_task"],
        followed: &[
            (Who::Admin, "/tasks", Again::Refused("405 bad-method")),
            (Who::Admin, "/tasks/t1", Again::Refused("405 bad-method")),
            (Who::Admin, "/named", Again::Same),
        ],
    },
    Reload {
        edits: &[],
        closed: &["count_task_by"],
        followed: &[(Who::Admin, "/count?author=bob", Again::Refused("404 not-found"))],
    },
];

/// The one that renames a field.
const RENAMED: &Reload = &RELOADS[0];

impl Reload {
    fn model(&self) -> String {
        let replace = |text: String, (old, new): &(&str, &str)| {
            assert!(text.contains(old), "{old}");
            text.replace(old, new)
        };
        self.edits.iter().fold(MODEL.to_owned(), replace)
    }

    fn apply(&self, served: &Served) {
        if !self.edits.is_empty() {
            block_on(served.db.change_model(&self.model())).unwrap();
        }
        served.serve_again(self.closed);
    }
}

impl Who {
    fn token(self, served: &Served) -> String {
        match self {
            Who::Admin => served.token(Role::Admin, None),
            Who::Staff => served.user(User::new("ann", ["staff"])),
        }
    }
}

fn served() -> Served {
    let served = Served::start(MODEL, Setup { store: engine, ..Setup::new(Door::Closed) });
    for (id, author) in [("t1", "bob"), ("t2", "ann")] {
        let task = json!({ "id": id, "name": id, "secret": "hidden", "author": author });
        block_on(served.db.create("task", &task)).unwrap();
    }
    served
}

/// Changes what every query here is about.
fn create(served: &Served, id: &str) {
    let model = served.db.model();
    let task = model.entity(model.find("task").unwrap());
    let name = ["title", "name"].into_iter().find(|name| task.find_field(name).is_some());
    let name = name.unwrap();
    block_on(served.db.create("task", &json!({ "id": id, name: id, "author": "bob" }))).unwrap();
}

/// A stream, and what is shown of it.
struct Following {
    path: &'static str,
    token: String,
    stream: Stream,
    first: Json,
    body: Json,
    /// The id of the last event.
    id: String,
}

impl Following {
    fn open(served: &Served, who: Who, path: &'static str) -> Following {
        let token = who.token(served);
        let mut stream = Stream::open(served, &live(path, &token));
        let told = first_of(&mut stream, path);
        let body = told.data["body"].clone();
        Following { path, token, stream, first: body.clone(), body, id: told.id }
    }

    /// Reads to the end.
    fn end(&mut self) {
        while let Some(told) = self.stream.next_or_end() {
            assert_ne!(told.name, "error", "{}: {}", self.path, told.data);
            apply(&mut self.body, &told);
            self.id = told.id;
        }
    }

    fn plain(&self, served: &Served) -> Answer {
        served.ask(&Ask::get(self.path).bearer(&self.token))
    }

    /// Connects again.
    fn check_again(&self, served: &Served, again: Again) {
        let (path, plain) = (self.path, self.plain(served));
        let ask = live(path, &self.token).header("Last-Event-ID", &self.id);
        match again {
            Again::Refused(outcome) => {
                assert_eq!(served.ask(&ask).outcome(), outcome, "{path}");
                assert_eq!(plain.outcome(), outcome, "{path}");
            }
            Again::Same => {
                assert_eq!(plain.expect_json(200), self.first, "{path}");
                let mut stream = Stream::open(served, &ask);
                create(served, "t4");
                assert_ne!(stream.next_or_end().expect("an event").name, "page", "{path}");
                block_on(served.db.delete("task", "t4")).unwrap();
            }
            Again::Page => {
                let plain = plain.expect_json(200);
                assert_ne!(plain, self.first, "{path}");
                let mut stream = Stream::open(served, &ask);
                if self.body != plain {
                    assert_eq!(first_of(&mut stream, path).data["body"], plain, "{path}");
                }
            }
        }
    }
}

fn first_of(stream: &mut Stream, path: &str) -> Told {
    let first = stream.next_or_end().expect("a page");
    assert_eq!(first.name, "page", "{path}");
    first
}

#[test]
fn streams_end_when_the_model_changes_and_go_on_with_the_new_one() {
    for reload in &RELOADS {
        let served = served();
        let open =
            |(who, path, _): &(Who, &'static str, Again)| Following::open(&served, *who, path);
        let mut followed: Vec<Following> = reload.followed.iter().map(open).collect();
        reload.apply(&served);
        create(&served, "t3");
        for following in &mut followed {
            following.end();
            // There may be an event already of the new model, but none of a change after it.
            let Following { path, body, .. } = following;
            assert!(!body.to_string().contains("t3"), "{path}: {body}");
        }
        block_on(served.db.delete("task", "t3")).unwrap();
        for (following, (_, _, again)) in followed.iter().zip(reload.followed) {
            following.check_again(&served, *again);
        }
    }
}

/// Another process may have changed the model: nobody tells this one to serve its operations. Streams show what
/// the query returns by now, or end without an error of a model that their clients know nothing of.
#[test]
fn without_a_signal_streams_show_what_the_query_returns_under_the_new_model() {
    for reload in RELOADS.iter().filter(|reload| !reload.edits.is_empty()) {
        let served = served();
        let open =
            |(who, path, _): &(Who, &'static str, Again)| Following::open(&served, *who, path);
        let mut followed: Vec<Following> = reload.followed.iter().map(open).collect();
        block_on(served.db.change_model(&reload.model())).unwrap();
        for following in &mut followed {
            let (path, plain) = (following.path, following.plain(&served));
            let expected = match plain.status {
                200 => Some(plain.expect_json(200)),
                404 if path.starts_with("/tasks/") => Some(Json::Null),
                _ => None,
            };
            while expected.as_ref() != Some(&following.body) {
                let Some(told) = following.stream.next_or_end() else { break };
                assert_ne!(told.name, "error", "{path}: {}", told.data);
                apply(&mut following.body, &told);
            }
            let body = &following.body;
            assert!(expected.is_none_or(|expected| expected == *body), "{path}: {body}");
        }
    }
}

#[test]
fn streams_of_changes_end_with_the_model_and_can_be_resumed() {
    let served = served();
    let token = served.token(Role::Admin, None);
    let mut stream = Stream::open(&served, &Ask::get("/changes").bearer(&token));
    create(&served, "t3");
    let told = stream.next_or_end().unwrap();
    RENAMED.apply(&served);
    assert_eq!(stream.next_or_end(), None);
    create(&served, "t4");
    let again = Ask::get("/changes").bearer(&token).header("Last-Event-ID", &told.id);
    let told = Stream::open(&served, &again).next_or_end().unwrap();
    assert_eq!(told.data["new"]["title"], "t4");
    // What cannot be read any more is in no stream.
    let mut stream = Stream::open(&served, &again);
    assert_eq!(stream.next_or_end().unwrap(), told);
    served.serve_again(&["read_task"]);
    assert_eq!(stream.next_or_end(), None);
    served.ask(&Ask::get("/changes?entity=task").bearer(&token)).expect_json(400);
}

/// Nothing of the service before is kept for streams that are over.
#[test]
fn queries_of_an_earlier_model_do_not_run_on() {
    let served = served();
    let token = served.token(Role::Admin, None);
    for path in ["/tasks", "/named", "/count?author=bob"] {
        let mut stream = Stream::open(&served, &live(path, &token));
        first_of(&mut stream, path);
    }
    RENAMED.apply(&served);
    let is_over = |_: &usize| {
        let metrics = served.ask(&Ask::get("/metrics").bearer(&token));
        metrics.text().contains("keyloom_live_queries 0")
    };
    (0..10_000).find(is_over).expect("they end");
}

#[test]
fn streams_of_a_replaced_model_and_of_the_new_one_end_when_the_server_stops() {
    let mut served = served();
    let token = served.token(Role::Admin, None);
    served.serve_again(&[]);
    let mut stream = Stream::open(&served, &live("/tasks", &token));
    first_of(&mut stream, "/tasks");
    served.rig.stop();
    assert_eq!(stream.next_or_end(), None);
    served.rig.join();
}
