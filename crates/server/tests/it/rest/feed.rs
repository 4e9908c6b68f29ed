//! A change stream contains exactly what its caller could read one by one: for every model, role and
//! tenant, and whatever operations an application has closed.

use std::collections::BTreeSet;

use keyloom_server::Role;
use keyloom_testkit::Random;

use super::ask::Ask;
use super::changes::Stream;
use super::served::{Door, Setup, app, apps, engine};
use super::stages::{Stage, encoded};

const RANDOM_MODELS: u64 = 8;

/// Entities by kind and id.
type Things = BTreeSet<(String, String)>;

/// A caller that follows changes: a token, and the tenant in its header.
struct Follower {
    shown: String,
    token: String,
    names: Option<String>,
    /// The tenants that it must name to read everything it can.
    tenants: Vec<Option<String>>,
}

impl Follower {
    fn all(stage: &Stage) -> Vec<Follower> {
        let parties = [stage.victim.tenant.clone(), stage.stranger.tenant.clone()];
        let mut all = vec![];
        // Users cannot follow all changes.
        for role in [Role::Reader, Role::Writer, Role::Admin] {
            let mut add = |tenant: Option<&str>, names: Option<&str>| {
                let shown = format!("{role:?} of {tenant:?} who names {names:?}");
                let tenants = match (tenant, names) {
                    (None, None) => parties.iter().cloned().map(Some).collect(),
                    (Some(_), _) | (None, Some(_)) => vec![None],
                };
                let (token, names) = (stage.served.token(role, tenant), names.map(str::to_owned));
                all.push(Follower { shown, token, names, tenants });
            };
            for party in &parties {
                add(Some(party), None);
                add(None, Some(party));
            }
            add(None, None);
        }
        all
    }

    fn ask(&self, path: &str, tenant: Option<&str>) -> Ask {
        let ask = Ask::get(path).bearer(&self.token);
        match self.names.as_deref().or(tenant) {
            Some(tenant) => ask.tenant(tenant),
            None => ask,
        }
    }

    /// The entities that it can read one by one.
    fn reads(&self, stage: &Stage) -> Things {
        let mut read = Things::new();
        let mut client = stage.served.rig.client();
        let things = stage.victim.things.iter().chain(&stage.stranger.things);
        // Jobs can be read by their own routes only.
        for thing in things.filter(|thing| stage.model.jobs() != Some(thing.entity)) {
            let entity = stage.model.entity(thing.entity);
            let path = format!("{}/{}", entity.path, encoded(&thing.id));
            for tenant in &self.tenants {
                let answer = client.send(&self.ask(&path, tenant.as_deref()).bytes());
                if answer.status == 200 {
                    read.insert((entity.name.clone(), thing.id.clone()));
                }
            }
        }
        read
    }

    fn follows(&self, stage: &Stage) -> Stream {
        // The position before all changes.
        let path = format!("/changes?after={}", stage.served.position(0));
        Stream::open(&stage.served, &self.ask(&path, None))
    }
}

/// All events of a stream until the server stops.
fn told(mut stream: Stream) -> Things {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let events = std::iter::from_fn(|| stream.next_or_end());
    events.map(|event| (text(&event.data["entity"]), text(&event.data["id"]))).collect()
}

/// Served from an engine, without the operations that the application closes.
fn without(closed: &'static [&'static str]) -> Setup {
    Setup { closed, store: engine, ..Setup::new(Door::Closed) }
}

fn check(name: &str, mut stage: Stage, closed: &str) {
    let followers = Follower::all(&stage);
    let reads: Vec<Things> = followers.iter().map(|follower| follower.reads(&stage)).collect();
    let streams: Vec<Stream> = followers.iter().map(|follower| follower.follows(&stage)).collect();
    stage.served.rig.stop();
    for ((follower, reads), stream) in followers.iter().zip(reads).zip(streams) {
        let shown = format!("{name} without {closed:?}, {}", follower.shown);
        assert_eq!(told(stream), reads, "{shown}");
        let is_closed = |(entity, _): &(String, String)| format!("read_{entity}") == closed;
        assert!(!reads.iter().any(is_closed), "{shown}");
    }
    stage.served.rig.join();
}

#[test]
fn a_stream_contains_what_its_caller_could_read() {
    let drafts = (0..RANDOM_MODELS).map(|seed| {
        let draft = keyloom_testkit::model::draft(&mut Random::new(seed));
        (format!("seed {seed}"), draft.text())
    });
    let models = apps().into_iter().map(|name| (name.clone(), app(&name))).chain(drafts);
    for ((name, text), seed) in models.zip(0..) {
        let Some(stage) = Stage::build(&text, seed) else { continue };
        let model = stage.model.clone();
        check(&name, stage, "");
        for (id, entity) in model.entities() {
            if model.jobs() == Some(id) {
                continue;
            }
            let closed: &'static str = format!("read_{}", entity.name).leak();
            let stage = Stage::build_with(&text, seed, without(vec![closed].leak())).unwrap();
            check(&name, stage, closed);
        }
    }
}

/// Secret links of the on-call service cannot be read by any route, so no stream contains them.
#[test]
fn entities_that_no_route_reads_are_in_no_stream() {
    let closed = &["create_link", "read_link", "replace_link", "change_link", "delete_link"];
    let stage = Stage::build_with(&app("oncall"), 1, without(closed)).unwrap();
    let links = stage.model.find("link").unwrap();
    assert!(stage.victim.things.iter().any(|thing| thing.entity == links));
    let token = stage.served.token(Role::Reader, Some(&stage.stranger.tenant));
    let ask = Ask::get("/changes?entity=link").bearer(&token);
    assert_eq!(stage.served.ask(&ask).outcome(), "400 bad-parameter");
    let document = stage.served.ask(&Ask::get("/openapi.json")).json();
    let parameters = document["paths"]["/changes"]["get"]["parameters"].to_string();
    assert!(parameters.contains("\"search\"") && !parameters.contains("\"link\""), "{parameters}");
}
