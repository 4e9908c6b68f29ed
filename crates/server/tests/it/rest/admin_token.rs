//! The admin token: created once; rejected if another one has its id.

use std::sync::Arc;

use keyloom::SystemEntropy;
use keyloom_server::{AdminToken, AdminTokenError, Role, TokenRequest, Tokens};
use keyloom_store::{MemoryStore, Time};
use keyloom_testkit::ManualClock;
use pollster::block_on;

fn tokens(store: &Arc<MemoryStore>, clock: &ManualClock) -> Tokens {
    let clock = Arc::new(clock.clone());
    block_on(Tokens::open(store.clone(), "keyloom", clock, Arc::new(SystemEntropy))).unwrap()
}

fn generated() -> String {
    AdminToken::generate(&SystemEntropy).unwrap()
}

#[test]
fn servers_that_start_concurrently_create_it_once() {
    let clock = ManualClock::new();
    let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
    let all: Vec<Tokens> = (0..8).map(|_| tokens(&store, &clock)).collect();
    let admin = AdminToken::new(&generated()).unwrap();
    std::thread::scope(|scope| {
        for tokens in &all {
            scope.spawn(|| block_on(tokens.ensure_admin(&admin)).unwrap());
        }
    });
    let listed = block_on(all[0].list()).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].role, listed[0].expires), (Role::Admin, None));
    assert!(!tokens(&store, &clock).is_open());
}

#[test]
fn tokens_without_the_role_admin_are_rejected() {
    let clock = ManualClock::new();
    let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
    let tokens = tokens(&store, &clock);
    let create = |role, expires| {
        let request = TokenRequest { role, user: None, tenant: None, name: String::new(), expires };
        let (_, text) = block_on(tokens.create(request)).unwrap();
        block_on(tokens.ensure_admin(&AdminToken::new(&text).unwrap()))
    };
    assert!(create(Role::Admin, None).is_ok());
    assert!(matches!(create(Role::Writer, None), Err(AdminTokenError::NotAdmin { .. })));
    let now = Some(ManualClock::START);
    assert!(matches!(create(Role::Admin, now), Err(AdminTokenError::NotAdmin { .. })));
    assert!(create(Role::Admin, Some(Time(ManualClock::START.0 + 1))).is_ok());
    let (first, second) = (generated(), generated());
    block_on(tokens.ensure_admin(&AdminToken::new(&first).unwrap())).unwrap();
    let forged = format!("{}_{}", &first[..19], second.rsplit('_').next().unwrap());
    let error = block_on(tokens.ensure_admin(&AdminToken::new(&forged).unwrap())).unwrap_err();
    assert!(matches!(error, AdminTokenError::OtherSecret { .. }), "{error}");
    assert!(!format!("{:?}", AdminToken::new(&first)).contains(&first[20..]));
}
