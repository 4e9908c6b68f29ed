//! Every operation of every model, tried without permission: refused, with nothing changed and nothing
//! revealed.

use std::collections::BTreeSet;

use keyloom_model::IdSource;
use keyloom_server::{Role, Route, TokenRequest};
use keyloom_store::{Scan, TableName};
use keyloom_testkit::{ManualClock, Random};
use pollster::block_on;

use super::ask::Ask;
use super::served::{app, apps};
use super::stages::{MARK, Stage, Thing};
use crate::rig::{Answer, Client};

const RANDOM_MODELS: u64 = 12;

/// The models of all apps, and random ones.
fn stages() -> impl Iterator<Item = (String, Stage)> {
    let drafts = (0..RANDOM_MODELS).map(|seed| {
        let draft = keyloom_testkit::model::draft(&mut Random::new(seed));
        (format!("seed {seed}"), draft.text())
    });
    let models = apps().into_iter().map(|name| (name.clone(), app(&name))).chain(drafts);
    models.zip(0..).filter_map(|((name, text), seed)| Some((name, Stage::build(&text, seed)?)))
}

/// Every row of the store that requests could change.
fn rows(stage: &Stage) -> BTreeSet<String> {
    let mut rows = BTreeSet::new();
    for table in ["keyloom", "keyloom.tokens"] {
        let mut scan = Scan::new(&TableName::new(table).unwrap());
        loop {
            let page = block_on(stage.served.store.scan(scan.clone())).unwrap();
            rows.extend(page.items.iter().map(|item| format!("{table}: {item:?}")));
            match page.last_key {
                None => break,
                start => scan.start = start,
            }
        }
    }
    rows
}

/// Sends requests that must all be refused in this way, without changing anything.
fn assert_refused(
    (name, stage): (&str, &Stage),
    asks: impl Iterator<Item = Ask>,
    expected: &str,
) -> usize {
    let (before, mut client) = (rows(stage), stage.served.rig.client());
    let mut count = 0;
    for ask in asks {
        let answer = client.send(&ask.bytes());
        let shown = format!("{name}: {} {}", ask.method, ask.path);
        assert_eq!(answer.outcome(), expected, "{shown}");
        assert!(!answer.text().contains(MARK), "{shown}: {}", answer.text());
        count += 1;
    }
    assert!(rows(stage) == before, "{name}: something has changed");
    count
}

/// All requests to operations that need a role, with that role.
fn all_asks(stage: &Stage) -> Vec<(Ask, Role)> {
    let routes = stage.served.routes.iter().filter_map(|route| Some((route, route.role?)));
    let asks = |route: &Route| stage.asks(route).into_iter().flat_map(also_live);
    routes.flat_map(|(route, role)| asks(route).map(move |ask| (ask, role))).collect()
}

/// A request, and the one that follows its result.
fn also_live(ask: Ask) -> Vec<Ask> {
    if ask.method != "GET" {
        return vec![ask];
    }
    let sign = if ask.path.contains('?') { '&' } else { '?' };
    let live = Ask { path: format!("{}{sign}live=true", ask.path), ..ask.clone() };
    vec![ask, live]
}

#[test]
fn every_operation_of_the_apps_is_tried() {
    for (name, stage) in stages().filter(|(name, _)| !name.starts_with("seed")) {
        for route in &stage.served.routes {
            assert!(!stage.asks(route).is_empty(), "{name}: {route:?}");
        }
    }
}

#[test]
fn every_operation_needs_a_valid_token() {
    for (name, stage) in stages() {
        let served = &stage.served;
        let expires = Some(keyloom_store::Time(ManualClock::START.0 + 1));
        let request = TokenRequest {
            role: Role::Admin,
            user: None,
            tenant: None,
            name: String::new(),
            expires,
        };
        let (_, expired) = block_on(served.tokens.create(request.clone())).unwrap();
        let (token, revoked) = block_on(served.tokens.create(request)).unwrap();
        block_on(served.tokens.revoke(&token.id)).unwrap();
        served.rig.clock.advance_ms(1);
        let asks = all_asks(&stage);
        let made_up = format!("kl_{}_{}", "a".repeat(16), "b".repeat(52));
        for given in [None, Some("garbage"), Some(&made_up), Some(&expired), Some(&revoked)] {
            let with = |(ask, _): &(Ask, Role)| match given {
                None => ask.clone(),
                Some(token) => ask.clone().bearer(token),
            };
            assert_refused((&name, &stage), asks.iter().map(with), "401 unauthorized");
        }
    }
}

#[test]
fn every_operation_needs_its_role() {
    for (name, stage) in stages() {
        let asks = all_asks(&stage);
        for role in [Role::Reader, Role::Writer] {
            let token = stage.served.token(role, Some(&stage.victim.tenant));
            let denied = asks.iter().filter(|(_, needed)| *needed > role);
            let denied = denied.map(|(ask, _)| ask.clone().bearer(&token));
            let count = assert_refused((&name, &stage), denied, "403 forbidden");
            assert!(count >= 4, "{name}: {count}");
        }
        // Readers may send a batch, but not run its parts.
        let batch = stage.served.routes.iter().find(|route| route.name == "batch").unwrap();
        let reader = stage.served.token(Role::Reader, Some(&stage.victim.tenant));
        let asks = stage.asks(batch).into_iter();
        let changes = asks
            .filter(|ask| !String::from_utf8_lossy(ask.body.as_ref().unwrap()).contains("\"get\""));
        let changes = changes.map(|ask| ask.bearer(&reader));
        assert_refused((&name, &stage), changes, "403 forbidden");
    }
}

/// What the console offers: all that a caller may do, and nothing else.
#[test]
fn the_model_lists_the_operations_that_a_caller_may_run() {
    for (name, stage) in stages() {
        let bound = Some(stage.stranger.tenant.as_str());
        let callers = [(Role::Reader, None), (Role::Reader, bound), (Role::Writer, bound)];
        for (role, tenant) in callers.into_iter().chain([(Role::Writer, None), (Role::Admin, None)])
        {
            let token = stage.served.token(role, tenant);
            let model = stage.served.ask(&Ask::get("/model").bearer(&token)).expect_json(200);
            let listed: Vec<&str> = model["operations"]
                .as_array()
                .unwrap()
                .iter()
                .map(|name| name.as_str().unwrap())
                .collect();
            let mut client = stage.served.rig.client();
            for route in &stage.served.routes {
                let is_listed = listed.contains(&route.name.as_str());
                // A stream does not end; the parts of these two are checked separately.
                if is_listed && ["changes", "batch", "transaction"].contains(&&*route.name) {
                    continue;
                }
                for ask in stage.asks(route) {
                    let shown =
                        format!("{name}: {role:?} of {tenant:?}: {} {}", ask.method, ask.path);
                    let outcome = client.send(&ask.bearer(&token).bytes()).outcome();
                    assert_eq!(outcome != "403 forbidden", is_listed, "{shown}: {outcome}");
                }
            }
        }
    }
}

#[test]
fn a_token_of_one_tenant_cannot_name_another() {
    for (name, stage) in stages() {
        let token = stage.served.token(Role::Writer, Some(&stage.stranger.tenant));
        let asks = all_asks(&stage);
        let asks = asks.iter().filter(|(_, role)| *role <= Role::Writer);
        let asks = asks.map(|(ask, _)| ask.clone().bearer(&token).tenant("somebody-else"));
        assert_refused((&name, &stage), asks, "403 forbidden");
    }
}

#[test]
fn without_a_tenant_no_data_of_tenants_is_visible() {
    for (name, stage) in stages() {
        let admin = stage.served.token(Role::Admin, None);
        let routes = stage.served.routes.iter().filter(|route| {
            let entity = route.entity.as_ref().map(|name| stage.model.find(name).unwrap());
            entity.is_some_and(|entity| !stage.is_shared(entity))
        });
        let asks = routes.flat_map(|route| stage.asks(route)).flat_map(also_live);
        let asks = asks.map(|ask| ask.bearer(&admin));
        assert_refused((&name, &stage), asks, "400 tenant-needed");
    }
}

#[test]
fn a_token_of_one_tenant_cannot_change_shared_data() {
    for (name, stage) in stages() {
        let token = stage.served.token(Role::Writer, Some(&stage.stranger.tenant));
        let things = stage.victim.things.iter().filter(|thing| stage.is_shared(thing.entity));
        let asks = things.flat_map(|thing| {
            let routes = stage.served.routes.iter().filter(|route| route.method != "GET");
            let entity = &stage.model.entity(thing.entity).name;
            let stage = &stage;
            routes.flat_map(move |route| match (&route.entity, route.name.as_str()) {
                (Some(of), _) if of == entity => stage.asks_about(route, thing),
                (None, "transaction") => stage.bulk(route, thing, "changes"),
                _ => vec![],
            })
        });
        let asks = asks.map(|ask| ask.bearer(&token));
        assert_refused((&name, &stage), asks, "403 forbidden");
    }
}

/// The response to a request of another tenant, with all ids replaced.
fn tried(client: &mut Client, ask: &Ask, (token, ids): (&str, &[String])) -> String {
    let ask = ask.clone().bearer(token).header("X-Request-Id", "same");
    let answer = client.send(&ask.bytes());
    if answer.status == 202 {
        return started(&answer);
    }
    if answer.status == 201 || answer.text().contains("\"status\":201") {
        clean_up(client, &answer, token);
        return "made".to_owned();
    }
    let mut told = format!("{} {}", answer.status, answer.text());
    for id in ids {
        told = told.replace(id, "ID");
    }
    told
}

/// What a response tells about an operation that runs in the background, apart from its id.
fn started(answer: &Answer) -> String {
    let mut operation: serde_json::Value = serde_json::from_str(answer.text()).unwrap();
    operation["id"].take();
    format!("started {operation}")
}

/// Deletes what the other tenant created, so that the next request finds the same state.
fn clean_up(client: &mut Client, answer: &Answer, token: &str) {
    if let Some(path) = answer.header("location") {
        let deleted = client.send(&Ask::delete(path).bearer(token).bytes());
        assert_eq!(deleted.status, 204, "{path}");
    }
}

/// The ids in an entity: its own, and those it refers to.
fn ids(stage: &Stage, thing: &Thing) -> Vec<String> {
    let never = stage.that_never_was(thing);
    let mut ids = vec![thing.id.clone(), never.id.clone()];
    for (name, value) in thing.document.as_object().unwrap() {
        if *value != never.document[name] {
            let texts = [value, &never.document[name]].map(|id| id.as_str().unwrap().to_owned());
            ids.extend(texts);
        }
    }
    // The longest first: one may be a prefix of another.
    ids.sort_by_key(|id| std::cmp::Reverse(id.len()));
    ids
}

/// Whether a route reads or changes one existing entity.
fn reads_one(stage: &Stage, thing: &Thing, route: &Route) -> bool {
    let is_given = stage.model.entity(thing.entity).id_source == IdSource::Given;
    route.path.ends_with("/{id}") && !(route.method == "PUT" && is_given)
}

#[test]
fn data_of_another_tenant_is_indistinguishable_from_missing_data() {
    for (name, stage) in stages() {
        let token = stage.served.token(Role::Writer, Some(&stage.stranger.tenant));
        let (before, mut client) = (rows(&stage), stage.served.rig.client());
        for thing in stage.victim.things.iter().filter(|thing| !stage.is_shared(thing.entity)) {
            let (entity, ids) = (&stage.model.entity(thing.entity).name, ids(&stage, thing));
            let never = stage.that_never_was(thing);
            for route in &stage.served.routes {
                let asks = |thing: &Thing| match (&route.entity, route.name.as_str()) {
                    (Some(of), _) if of == entity => stage.asks_about(route, thing),
                    (None, "transaction") => stage.bulk(route, thing, "changes"),
                    (None, "batch") => stage.bulk(route, thing, "requests"),
                    _ => vec![],
                };
                for (real, unreal) in asks(thing).iter().zip(&asks(&never)) {
                    let shown = format!("{name}: {} {}", real.method, real.path);
                    let told = tried(&mut client, real, (&token, &ids));
                    assert_eq!(told, tried(&mut client, unreal, (&token, &ids)), "{shown}");
                    assert!(!told.contains(MARK), "{shown}: {told}");
                    let is_there = told.starts_with("2") && reads_one(&stage, thing, route);
                    assert!(!is_there, "{shown}: {told}");
                    // In the apps, the values of the two tenants differ.
                    let is_told = told.starts_with("409") && !name.starts_with("seed");
                    assert!(!is_told, "{shown}: {told}");
                }
            }
        }
        let lost: Vec<String> = before.difference(&rows(&stage)).cloned().collect();
        assert!(lost.is_empty(), "{name}: {lost:#?}");
    }
}
