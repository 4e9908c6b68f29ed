//! Our endpoint in this process, over a memory store with the test's clock.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use keyloom_dynamodb::{Endpoint, EndpointOptions, Keys, Remote, RemoteOptions};
use keyloom_server::{Config, DynamoDb, Limits, Server};
use keyloom_store::MemoryStore;
use keyloom_testkit::ManualClock;
use pollster::block_on;
use tokio::sync::oneshot;

/// Nothing is throttled here, so two attempts are enough.
pub(crate) const ATTEMPTS_MAX: u32 = 2;

/// A server that stops when it is dropped.
pub(crate) struct OwnEndpoint {
    pub(crate) url: String,
    pub(crate) store: Arc<MemoryStore>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl OwnEndpoint {
    pub(crate) fn start(clock: &ManualClock) -> OwnEndpoint {
        let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        let options =
            EndpointOptions { clock: Arc::new(clock.clone()), ..EndpointOptions::default() };
        let endpoint = Endpoint::new(store.clone(), options);
        let app = DynamoDb::new(endpoint, None, Arc::new(clock.clone()));
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let config = Config { listen, tls: None, limits: Limits::default(), cors_origins: vec![] };
        let (stop, stopped) = oneshot::channel();
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let server = Server::bind(config, app.into()).await.unwrap();
                sender.send(server.address()).unwrap();
                server.run(async { drop(stopped.await) }).await;
            });
        });
        let url = format!("http://{}", receiver.recv().unwrap());
        OwnEndpoint { url, store, stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for OwnEndpoint {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// The remote store over an endpoint that accepts any keys.
pub(crate) fn remote(url: &str, attempts_max: u32) -> Remote {
    let keys = Keys { id: "made".to_owned(), secret: "up".to_owned() };
    let endpoint = Some(url.to_owned());
    let options =
        RemoteOptions { endpoint, keys: Some(keys), attempts_max, ..RemoteOptions::default() };
    block_on(Remote::connect(options)).unwrap()
}
