//! Tokens by database, and those that version 0.1 shared among all databases of an account.

use std::sync::Arc;

use keyloom::SystemEntropy;
use keyloom_server::{Role, TokenRequest, Tokens};
use keyloom_store::{
    Engine, KeySchema, KeyType, MemoryStore, Options, Store, TableName, TableSpec,
};
use keyloom_testkit::ManualClock;
use pollster::block_on;

fn store() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(Arc::new(ManualClock::new())))
}

fn tokens(store: &Arc<dyn Store>, table: &str) -> Tokens {
    let clock = Arc::new(ManualClock::new());
    block_on(Tokens::open(store.clone(), table, clock, Arc::new(SystemEntropy))).unwrap()
}

fn create(tokens: &Tokens) -> String {
    let (tenant, name) = (None, String::new());
    let request = TokenRequest { role: Role::Admin, user: None, tenant, name, expires: None };
    block_on(tokens.create(request)).unwrap().0.id
}

fn ids(tokens: &Tokens) -> Vec<String> {
    block_on(tokens.list()).unwrap().into_iter().map(|token| token.id).collect()
}

fn make_table(store: &Arc<dyn Store>, name: &str) {
    let spec =
        TableSpec::new(TableName::new(name).unwrap(), KeySchema::partition("id", KeyType::S));
    block_on(store.create_table(spec)).unwrap();
}

fn are_shared(store: &Arc<dyn Store>, table: &str) -> bool {
    block_on(Tokens::are_shared(&**store, table)).unwrap()
}

#[test]
fn databases_of_one_store_have_different_tokens() {
    let store = store();
    let (shop, blog) = (tokens(&store, "shop"), tokens(&store, "blog"));
    let id = create(&shop);
    assert!(!shop.is_open() && tokens(&store, "blog").is_open());
    assert_eq!((ids(&shop), ids(&blog)), (vec![id.clone()], vec![]));
    assert!(!block_on(blog.revoke(&id)).unwrap());
    assert_eq!(ids(&shop), [id]);
}

#[test]
fn shared_tokens_are_noticed_until_a_database_has_its_own() {
    let store = store();
    make_table(&store, "shop");
    assert!(!are_shared(&store, "shop"), "there are none");
    let id = create(&tokens(&store, "keyloom"));
    assert!(are_shared(&store, "shop"));
    assert!(!are_shared(&store, "fresh"), "a new database never shared them");
    assert!(!are_shared(&store, "keyloom"), "they are its own");
    assert!(are_shared(&store, "shop"), "asking decides nothing");
    let shop = tokens(&store, "shop");
    assert_eq!(block_on(shop.adopt_shared()).unwrap(), 1);
    assert!(!shop.is_open() && !are_shared(&store, "shop"));
    assert_eq!((ids(&shop), ids(&tokens(&store, "keyloom"))), (vec![id.clone()], vec![id]));
    assert_eq!(block_on(shop.adopt_shared()).unwrap(), 0);
}

/// Directories of version 0.1 keep their tokens where they are.
#[test]
fn the_tokens_of_a_directory_stay_in_their_table() {
    let disk = keyloom_testkit::SimDisk::new(0);
    let options = Options { disk: Arc::new(disk), ..Options::default() };
    let engine = Engine::open(std::path::Path::new("/data"), options).unwrap();
    let store: Arc<dyn Store> = Arc::new(engine);
    let default = keyloom::Options::default().table;
    create(&tokens(&store, &default));
    let names = block_on(store.list_tables()).unwrap();
    assert_eq!(names, [TableName::new("keyloom.tokens").unwrap()]);
    make_table(&store, &default);
    assert!(!are_shared(&store, &default));
    assert!(!tokens(&store, &default).is_open());
}
