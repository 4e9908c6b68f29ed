//! A model that is served on a free port.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyloom::{Db, Options, Store, SystemEntropy, User};
use keyloom_server::{
    Config, IssuerOptions, Issuers, Limits, OwnRoute, Rest, RestOptions, Role, Route, TlsFiles,
    TokenRequest, Tokens,
};
use keyloom_store::{Background, Engine, MemoryStore, Options as EngineOptions};
use keyloom_testkit::{ManualClock, SimDisk};
use pollster::block_on;

use super::ask::Ask;
use super::log;
use crate::rig::{Answer, Rig, config, short_limits};

/// A served model, with its database and store.
pub(crate) struct Served {
    pub(crate) rig: Rig,
    pub(crate) db: Db,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) tokens: Tokens,
    pub(crate) routes: Vec<Route>,
    serve_again: ServeAgain,
}

/// Serves the model that the database has by now.
struct ServeAgain(Box<dyn Fn(RestOptions) -> Result<(), String> + Send + Sync>);

/// Who may send requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// Loopback clients, without tokens.
    Open,
    /// Clients with a token.
    Closed,
}

/// How to serve.
pub(crate) struct Setup {
    pub(crate) door: Door,
    pub(crate) limits: Limits,
    pub(crate) tls: Option<TlsFiles>,
    pub(crate) store: fn(&ManualClock) -> Arc<dyn Store>,
    /// A store that others may have open, too, instead of the one above.
    pub(crate) opened: Option<Arc<dyn Store>>,
    /// An engine whose metrics are collected, instead of the store.
    pub(crate) engine: Option<Arc<Engine>>,
    /// Where administrators may back up the engine.
    pub(crate) backup_folder: Option<PathBuf>,
    pub(crate) own: Vec<OwnRoute>,
    pub(crate) closed: &'static [&'static str],
    pub(crate) cors_origins: &'static [&'static str],
    /// Identity providers.
    pub(crate) issuers: Vec<IssuerOptions>,
}

impl Setup {
    pub(crate) fn new(door: Door) -> Setup {
        let limits = Limits { body_bytes: 64 * 1024, ..short_limits() };
        let (own, closed, cors_origins) = (vec![], &[][..], &[][..]);
        let (tls, engine, store) = (None, None, reference as fn(&ManualClock) -> Arc<dyn Store>);
        let issuers = vec![];
        let (backup_folder, opened) = (None, None);
        Setup {
            door,
            limits,
            tls,
            store,
            opened,
            engine,
            backup_folder,
            own,
            closed,
            cors_origins,
            issuers,
        }
    }
}

fn reference(clock: &ManualClock) -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(Arc::new(clock.clone())))
}

/// An engine on a disk in memory.
pub(crate) fn engine(clock: &ManualClock) -> Arc<dyn Store> {
    let options = EngineOptions {
        background: Background::Manual,
        clock: Arc::new(clock.clone()),
        disk: Arc::new(SimDisk::new(0)),
        ..EngineOptions::default()
    };
    Arc::new(Engine::open(Path::new("/data"), options).expect("the engine opens"))
}

impl Served {
    pub(crate) fn start(model: &str, setup: Setup) -> Served {
        log::start();
        let clock = ManualClock::new();
        let store = match (&setup.engine, setup.opened) {
            (Some(engine), _) => engine.clone(),
            (None, Some(store)) => store,
            (None, None) => (setup.store)(&clock),
        };
        let open_tokens = || {
            let clock = Arc::new(clock.clone());
            block_on(Tokens::open(store.clone(), "keyloom", clock, Arc::new(SystemEntropy)))
                .unwrap()
        };
        let tokens = open_tokens();
        if setup.door == Door::Closed {
            token(&tokens, Role::Reader, None);
        }
        let options = Options { clock: Arc::new(clock.clone()), ..Options::default() };
        let db = block_on(Db::open_with(model, store.clone(), options)).unwrap();
        let options = RestOptions {
            closed: setup.closed,
            engine: setup.engine,
            backup_folder: setup.backup_folder,
            ..RestOptions::default()
        };
        let mut trusting = open_tokens();
        if !setup.issuers.is_empty() {
            let issuers = Issuers::new(setup.issuers, Arc::new(clock.clone())).unwrap();
            trusting = trusting.trusting(issuers);
        }
        let rest = Rest::new(db.clone(), trusting, setup.own, options).unwrap();
        let routes = rest.routes();
        let reload = rest.reload();
        let serve_again = ServeAgain(Box::new(move |options| reload(vec![], options)));
        let cors_origins = setup.cors_origins.iter().map(|origin| (*origin).to_owned()).collect();
        let config = Config { cors_origins, ..config(setup.limits, setup.tls) };
        let rig = Rig::serve(rest.into(), clock, config);
        Served { rig, db, store, tokens, routes, serve_again }
    }

    /// Serves the model that the database has by now, without these operations.
    pub(crate) fn serve_again(&self, closed: &'static [&'static str]) {
        let options = RestOptions { closed, ..RestOptions::default() };
        (self.serve_again.0)(options).unwrap();
    }

    /// Serves without tokens.
    pub(crate) fn open(model: &str) -> Served {
        Served::start(model, Setup::new(Door::Open))
    }

    /// Serves with tokens.
    pub(crate) fn closed(model: &str) -> Served {
        Served::start(model, Setup::new(Door::Closed))
    }

    /// Sends one request on a new connection.
    pub(crate) fn ask(&self, ask: &Ask) -> Answer {
        self.rig.client().send(&ask.bytes())
    }

    /// The text of a position of the feed.
    pub(crate) fn position(&self, number: u128) -> String {
        let newest = block_on(self.db.newest_position()).unwrap().to_string();
        let (shard, _) = newest.split_once(':').unwrap();
        format!("{shard}:{number}")
    }

    /// Creates a token of a user, and returns its text.
    pub(crate) fn user(&self, user: User) -> String {
        let (role, name) = (Role::User, "test".to_owned());
        let request = TokenRequest { role, user: Some(user), tenant: None, name, expires: None };
        block_on(self.tokens.create(request)).unwrap().1
    }

    /// Creates a token, and returns its text.
    pub(crate) fn token(&self, role: Role, tenant: Option<&str>) -> String {
        token(&self.tokens, role, tenant)
    }
}

fn token(tokens: &Tokens, role: Role, tenant: Option<&str>) -> String {
    let tenant = tenant.map(str::to_owned);
    let request = TokenRequest { role, user: None, tenant, name: "test".to_owned(), expires: None };
    block_on(tokens.create(request)).unwrap().1
}

/// The model of an app.
pub(crate) fn app(name: &str) -> String {
    let path = format!("{}/../../apps/{name}/model.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// The names of all apps.
pub(crate) fn apps() -> Vec<String> {
    let folder = format!("{}/../../apps", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let apps = entries.filter(|path| path.join("model.toml").is_file());
    let mut names: Vec<String> =
        apps.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    assert!(names.len() >= 4, "{names:?}");
    names
}
