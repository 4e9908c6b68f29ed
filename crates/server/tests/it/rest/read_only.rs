//! Read-only fields: no request can set them, and the library can.

use keyloom::{Clock, Db, Error, FieldErrorKind};
use keyloom_model::{Entity, Field, FieldAccess, IdSource};
use keyloom_server::Role;
use keyloom_testkit::Random;
use pollster::block_on;
use serde_json::{Value as Json, json};

use super::ask::Ask;
use super::served::{Served, app, apps};
use super::stages::{Stage, Thing, encoded};
use crate::rig::Answer;

const RANDOM_MODELS: u64 = 40;

fn stages() -> impl Iterator<Item = (String, Stage)> {
    let drafts = (0..RANDOM_MODELS).map(|seed| {
        let draft = keyloom_testkit::model::draft(&mut Random::new(seed));
        (format!("seed {seed}"), draft.text())
    });
    let models = apps().into_iter().map(|name| (name.clone(), app(&name))).chain(drafts);
    models.zip(0..).filter_map(|((name, text), seed)| Some((name, Stage::build(&text, seed)?)))
}

fn read_only(entity: &Entity) -> impl Iterator<Item = &Field> {
    entity.fields.iter().filter(|field| field.access == FieldAccess::ReadOnly)
}

/// An entity that requests write.
struct Subject<'s> {
    stage: &'s Stage,
    thing: &'s Thing,
    token: &'s str,
}

/// All ways to write an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Create,
    Replace,
    Change,
}

impl Subject<'_> {
    /// The database as the owner of the entity sees it.
    fn db(&self) -> Db {
        match self.stage.is_shared(self.thing.entity) {
            true => self.stage.served.db.clone(),
            false => self.stage.served.db.tenant(self.stage.victim.value.clone()),
        }
    }

    fn entity(&self) -> &Entity {
        self.stage.model.entity(self.thing.entity)
    }

    /// The requests that write a document this way: alone, in a batch, and in a transaction.
    fn asks(&self, way: Way, document: &Json) -> [Ask; 3] {
        let entity = self.entity();
        let here = format!("{}/{}", entity.path, encoded(&self.thing.id));
        let (name, id) = (&entity.name, &self.thing.id);
        let (alone, part) = match way {
            Way::Create => {
                (Ask::post(&entity.path, document), json!({ "create": name, "document": document }))
            }
            Way::Replace => {
                (Ask::put(&here, document), json!({ "put": name, "id": id, "document": document }))
            }
            Way::Change => (
                Ask::patch(&here, document),
                json!({ "update": name, "id": id, "document": document }),
            ),
        };
        let batch = Ask::post("/batch", &json!({ "requests": [part] }));
        let transaction = Ask::post("/transaction", &json!({ "changes": [part] }));
        [alone, batch, transaction].map(|ask| ask.bearer(self.token))
    }

    /// A valid document without read-only fields.
    fn open_part(&self, way: Way) -> Json {
        let mut document = self.thing.document.clone();
        let members = document.as_object_mut().unwrap();
        members.remove("version");
        read_only(self.entity()).for_each(|field| drop(members.remove(&field.name)));
        if way == Way::Create {
            members.remove("id");
            if self.entity().id_source == IdSource::Given {
                members.insert("id".to_owned(), json!("q".repeat(1 + self.thing.id.len())));
            }
        }
        document
    }

    /// The current read-only fields. A null in an object would remove something.
    fn repeated(&self) -> Json {
        let members = self.thing.document.as_object().unwrap().clone();
        let is_repeated = |name: &String, value: &Json| {
            let nulls = value.is_object() && value.to_string().contains("null");
            !nulls && read_only(self.entity()).any(|field| field.name == *name)
        };
        members.into_iter().filter(|(name, value)| is_repeated(name, value)).collect()
    }

    /// Values of all types that differ from the current one.
    fn others(&self, way: Way, field: &Field) -> Vec<Json> {
        let things = self.stage.victim.things.iter().chain(&self.stage.stranger.things);
        let same_kind = things.filter(|thing| thing.entity == self.thing.entity);
        let values = same_kind.filter_map(|thing| thing.document.get(&field.name).cloned());
        let odd = [json!(null), json!("x y z"), json!(7_777_777), json!(["x"]), json!({"x": 1})];
        let has = match (way, &field.default) {
            (Way::Create, None) => Json::Null,
            (Way::Create, Some(default)) => {
                let now_ms = i64::try_from(self.stage.served.rig.clock.now().0).unwrap();
                json_of(&field.of.to_external(&default.value(now_ms)))
            }
            (Way::Replace | Way::Change, _) => {
                self.thing.document.get(&field.name).cloned().unwrap_or_default()
            }
        };
        // A patch that is an object may change nothing.
        let is_other = |value: &Json| match (way, value, &has) {
            (Way::Change, Json::Object(members), Json::Object(_)) => members.contains_key("x"),
            _ => *value != has,
        };
        values.chain(odd).filter(is_other).collect()
    }
}

/// Tokens that may write the shared and the own entities of the tenant.
fn tokens(stage: &Stage) -> [String; 2] {
    [
        stage.served.token(Role::Admin, None),
        stage.served.token(Role::Writer, Some(&stage.victim.tenant)),
    ]
}

fn subjects<'s>(
    stage: &'s Stage,
    [shared, own]: &'s [String; 2],
) -> impl Iterator<Item = Subject<'s>> {
    stage.victim.things.iter().map(move |thing| {
        let token = if stage.is_shared(thing.entity) { shared } else { own };
        Subject { stage, thing, token }
    })
}

fn json_of(value: &keyloom::Value) -> Json {
    match value {
        keyloom::Value::L(_) => json!([]),
        keyloom::Value::M(_) => json!({}),
        keyloom::Value::S(text) => json!(text),
        keyloom::Value::Bool(truth) => json!(truth),
        other => serde_json::from_str(&other.to_string()).unwrap(),
    }
}

/// The problem of a response, or that of the only part of a batch.
fn problem(answer: &Answer) -> Json {
    let body = answer.json();
    match body.get("results") {
        Some(results) => results[0]["problem"].clone(),
        None => body,
    }
}

fn is_refused_for(answer: &Answer, field: &str) -> bool {
    let problem = problem(answer);
    let errors = problem["errors"].as_array().cloned().unwrap_or_default();
    problem["code"] == "invalid"
        && errors.iter().any(|error| {
            error["field"] == field && error["detail"].as_str().unwrap().contains("is read-only")
        })
}

#[test]
fn no_request_sets_a_read_only_field() {
    let mut tried = 0;
    for (name, stage) in stages() {
        let tokens = tokens(&stage);
        let mut client = stage.served.rig.client();
        for subject in subjects(&stage, &tokens) {
            let (db, kind, id) = (subject.db(), &subject.entity().name, &subject.thing.id);
            let before = block_on(db.get(kind, id)).unwrap();
            for way in [Way::Create, Way::Replace, Way::Change] {
                for field in read_only(subject.entity()) {
                    for other in subject.others(way, field) {
                        let mut document = subject.open_part(way);
                        document[&field.name] = other;
                        for ask in subject.asks(way, &document) {
                            let answer = client.send(&ask.bytes());
                            let shown = format!("{name}: {} {document}", ask.path);
                            assert!(
                                is_refused_for(&answer, &field.name),
                                "{shown}: {}",
                                answer.text()
                            );
                            tried += 1;
                        }
                    }
                }
            }
            assert_eq!(block_on(db.get(kind, id)).unwrap(), before, "{name}");
        }
    }
    assert!(tried > 500, "{tried}");
}

#[test]
fn current_values_can_be_sent_back_and_omitted_fields_are_kept() {
    let mut tried = 0;
    for (name, stage) in stages() {
        let tokens = tokens(&stage);
        let mut client = stage.served.rig.client();
        for subject in subjects(&stage, &tokens) {
            if read_only(subject.entity()).next().is_none() {
                continue;
            }
            let document = &subject.thing.document;
            let cases = [
                (Way::Replace, document.clone()),
                (Way::Replace, subject.open_part(Way::Replace)),
                (Way::Change, subject.repeated()),
                (Way::Change, json!({})),
            ];
            for ask in cases.iter().flat_map(|(way, document)| subject.asks(*way, document)) {
                let answer = client.send(&ask.bytes()).expect_json(200);
                let answer = match answer.get("results") {
                    Some(results) => results[0].get("body").unwrap_or(&results[0]),
                    None => &answer,
                };
                assert_eq!(answer, document, "{name}: {} {}", ask.method, ask.path);
                tried += 1;
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn the_library_sets_read_only_fields() {
    let mut set = 0;
    for (_, stage) in stages() {
        for subject in subjects(&stage, &tokens(&stage)) {
            let (db, entity, id) = (subject.db(), &subject.entity().name, &subject.thing.id);
            for field in read_only(subject.entity()) {
                for other in subject.others(Way::Change, field) {
                    match block_on(db.update(entity, id, &json!({ &field.name: other }))) {
                        Ok(_) => set += 1,
                        Err(Error::Fields { errors, .. }) => {
                            let kinds = errors.iter().map(|error| error.kind());
                            assert!(!kinds.into_iter().any(|k| *k == FieldErrorKind::ReadOnly));
                        }
                        Err(_) => {}
                    }
                }
            }
        }
    }
    assert!(set > 50, "{set}");
}

const MODEL: &str = r#"
[entity.search]
path = "/searches"
id = "given"
read_only = ["status", "ended"]
fields.status = "enum(active, ended) = active"
fields.ended = "time?"
fields.subject = "text?"
"#;

#[test]
fn a_problem_names_the_field_and_the_fix() {
    let served = Served::open(MODEL);
    let wrong = json!({"id": "a", "status": "ended", "subject": 1});
    let problem = served.ask(&Ask::post("/searches", &wrong)).expect_json(422);
    let errors = json!([
        {"field": "status",
         "detail": "`status` is read-only; leave it out, or send its current value."},
        {"field": "subject", "detail": "`subject` must be a text, and this is a number."},
    ]);
    assert_eq!((&problem["code"], &problem["errors"]), (&json!("invalid"), &errors));
    let explained = served.ask(&Ask::post(
        "/transaction?explain=true",
        &json!({"changes": [{"create": "search", "document": {"id": "a", "status": "ended"}}]}),
    ));
    assert_eq!(explained.outcome(), "422 invalid");
    let made = Ask::put("/searches/a", &json!({"status": "active", "subject": "x"}));
    assert_eq!(served.ask(&made).expect_json(201)["status"], "active");
    block_on(served.db.update("search", "a", &json!({"status": "ended", "ended": 5}))).unwrap();
    let put = served.ask(&Ask::put("/searches/a", &json!({}))).expect_json(200);
    assert_eq!((&put["status"], put.get("subject")), (&json!("ended"), None));
    assert_eq!(put["ended"], "1970-01-01T00:00:00.005Z");
}

#[test]
fn read_only_fields_are_documented() {
    let served = Served::open(MODEL);
    let document = served.ask(&Ask::get("/openapi.json")).expect_json(200);
    let schemas = &document["components"]["schemas"];
    for (schema, expected) in [
        ("search", json!(true)),
        ("search.create", json!(null)),
        ("search.replace", json!(true)),
        ("search.patch", json!(true)),
    ] {
        let properties = &schemas[schema]["properties"];
        assert_eq!(properties["status"]["readOnly"], expected, "{schema}");
        assert_eq!(properties["subject"]["readOnly"], json!(null), "{schema}");
    }
    assert!(schemas["search.create"]["properties"].get("ended").is_none());
    let page = served.ask(&Ask::get("/docs"));
    assert!(page.text().contains("Read-only: the service sets it."));
}

#[test]
fn the_time_of_the_last_change_is_read_only() {
    let model = "[entity.task]\nid = \"given\"\nupdated = \"changed\"\nfields.name = \"text = 'x'\"\n\
                 fields.changed = \"time = now\"\n";
    let served = Served::open(model);
    let made = served.ask(&Ask::post("/tasks", &json!({"id": "a"}))).expect_json(201);
    let dated = json!({"name": "y", "changed": "2020-01-01T00:00:00Z"});
    for ask in [Ask::patch("/tasks/a", &dated), Ask::put("/tasks/a", &dated)] {
        assert_eq!(served.ask(&ask).outcome(), "422 invalid");
    }
    let new = json!({"id": "b", "changed": "2020-01-01T00:00:00Z"});
    assert_eq!(served.ask(&Ask::post("/tasks", &new)).outcome(), "422 invalid");
    // A response can be sent back, and changes nothing.
    assert_eq!(served.ask(&Ask::put("/tasks/a", &made)).expect_json(200), made);
    let open = served.ask(&Ask::get("/openapi.json")).expect_json(200);
    let field = &open["components"]["schemas"]["task"]["properties"]["changed"];
    assert_eq!(field["readOnly"], json!(true));
    assert!(field["description"].as_str().unwrap().contains("the time of the last change"));
    let create = &open["components"]["schemas"]["task.create"]["properties"];
    assert_eq!(create.get("changed"), None);
}
