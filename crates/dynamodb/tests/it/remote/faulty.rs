//! The endpoint behind a failing network and service: a plain HTTP server that injects a fault into
//! each request, according to a plan.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyloom_dynamodb::{
    Endpoint, EndpointOptions, Keys, Remote, RemoteOptions, Reply, Strict, StrictOptions,
};
use keyloom_store::{Feed, MemoryStore, Store, TableSpec};
use keyloom_testkit::ManualClock;
use pollster::block_on;
use serde_json::{Value, json};

use super::items::spec;

/// A fault of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Not applied; responds with this status and code.
    Refused(u16, &'static str),
    /// Not applied, because of a conflicting transaction.
    Conflict,
    /// Not applied; closes the connection.
    CutBefore,
    /// Applied; closes the connection.
    CutAfter,
    /// Applied; closes the connection in the middle of the response.
    CutWithin,
    /// Applied; responds with garbage.
    Garbage,
    /// Applied; does not respond until the client disconnects.
    Silence,
    /// Applies this many parts of a batch and leaves the others unprocessed.
    Leftover(usize),
}

type Plan = Box<dyn FnMut(&str) -> Option<Fault> + Send>;

/// State that the server's threads share.
struct Shared {
    endpoint: Endpoint,
    plan: Mutex<Plan>,
    received: Mutex<Vec<Received>>,
}

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) operation: String,
    pub(crate) token: Option<String>,
}

/// A server that injects faults. Its threads end when their clients disconnect.
pub(crate) struct Faulty {
    shared: Arc<Shared>,
    url: String,
    /// The store behind it.
    pub(crate) store: Arc<MemoryStore>,
}

impl Faulty {
    /// Starts a server with the table and without faults.
    pub(crate) fn start() -> Faulty {
        let clock = Arc::new(ManualClock::new());
        let store = Arc::new(MemoryStore::new(clock.clone()));
        block_on(store.create_table(spec())).unwrap();
        let options = EndpointOptions { clock, ..EndpointOptions::default() };
        Faulty::serve(Endpoint::new(store.clone(), options), store)
    }

    /// Starts a server in strict mode, with a table that has a feed.
    pub(crate) fn strict(rules: StrictOptions, clock: &ManualClock) -> Faulty {
        let clock = Arc::new(clock.clone());
        let store = Arc::new(MemoryStore::new(clock.clone()));
        block_on(store.create_table(TableSpec { feed: Feed::Images, ..spec() })).unwrap();
        let options = EndpointOptions { clock: clock.clone(), ..EndpointOptions::default() };
        let strict = Arc::new(Strict::new(store.clone(), clock, rules));
        Faulty::serve(Endpoint::strict(strict, options), store)
    }

    fn serve(endpoint: Endpoint, store: Arc<MemoryStore>) -> Faulty {
        let shared = Arc::new(Shared {
            endpoint,
            plan: Mutex::new(Box::new(|_| None)),
            received: Mutex::default(),
        });
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serving = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = serving.clone();
                std::thread::spawn(move || shared.serve(stream));
            }
        });
        Faulty { shared, url, store }
    }

    /// Sets the fault of each request from now on, by its operation. Clears the received requests.
    pub(crate) fn plan(&self, plan: impl FnMut(&str) -> Option<Fault> + Send + 'static) {
        *self.shared.plan.lock().unwrap() = Box::new(plan);
        self.shared.received.lock().unwrap().clear();
    }

    /// Sets the faults of the next requests of one operation; all others are served.
    pub(crate) fn script(&self, operation: &'static str, faults: &[Fault]) {
        let mut faults = VecDeque::from(faults.to_vec());
        self.plan(move |requested| if requested == operation { faults.pop_front() } else { None });
    }

    /// Injects the same fault into every request of one operation.
    pub(crate) fn always(&self, operation: &'static str, fault: Fault) {
        self.plan(move |requested| (requested == operation).then_some(fault));
    }

    /// Returns the requests of an operation received since the plan was set.
    pub(crate) fn received(&self, operation: &str) -> Vec<Received> {
        let received = self.shared.received.lock().unwrap();
        received.iter().filter(|received| received.operation == operation).cloned().collect()
    }

    /// Connects a store to this server.
    pub(crate) fn remote(&self, attempts_max: u32, attempt_timeout: Duration) -> Remote {
        remote(&self.url, attempts_max, attempt_timeout)
    }

    /// Connects a store that has the server's clock.
    pub(crate) fn remote_at(&self, clock: &ManualClock) -> Remote {
        let options = options(&self.url, 50, Duration::from_secs(30));
        let clock = Arc::new(clock.clone());
        block_on(Remote::connect(RemoteOptions { clock, ..options })).unwrap()
    }
}

/// Connects a store with negligible backoff.
pub(crate) fn remote(url: &str, attempts_max: u32, attempt_timeout: Duration) -> Remote {
    block_on(Remote::connect(options(url, attempts_max, attempt_timeout))).unwrap()
}

fn options(url: &str, attempts_max: u32, attempt_timeout: Duration) -> RemoteOptions {
    RemoteOptions {
        endpoint: Some(url.to_owned()),
        keys: Some(Keys { id: "made".to_owned(), secret: "up".to_owned() }),
        attempts_max,
        delay: Duration::from_micros(100),
        attempt_timeout,
        ..RemoteOptions::default()
    }
}

impl Shared {
    /// Serves the requests of one connection until it ends.
    fn serve(&self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        while let Some((target, body)) = request(&mut stream) {
            let operation = target.rsplit('.').next().unwrap().to_owned();
            let token = parsed(&body)["ClientRequestToken"].as_str().map(str::to_owned);
            let fault = (self.plan.lock().unwrap())(&operation);
            self.received.lock().unwrap().push(Received { operation, token });
            let Some(response) = self.response(fault, &target, &body) else { return };
            let length =
                if fault == Some(Fault::CutWithin) { response.len() / 2 } else { response.len() };
            match fault {
                // Reading ends when the client disconnects.
                Some(Fault::Silence) => drop(stream.read_to_end(&mut Vec::new())),
                _ if stream.get_mut().write_all(&response.as_bytes()[..length]).is_err() => return,
                _ => {}
            }
            if matches!(fault, Some(Fault::Silence | Fault::CutWithin)) {
                return;
            }
        }
    }

    /// Returns the bytes of the response; `None` to close the connection.
    fn response(&self, fault: Option<Fault>, target: &str, body: &[u8]) -> Option<String> {
        let apply = |body: &[u8]| block_on(self.endpoint.call(target, body));
        match fault {
            None | Some(Fault::CutWithin | Fault::Silence) => Some(wire(&apply(body))),
            Some(Fault::Refused(status, code)) => Some(wire(&refusal(status, code))),
            Some(Fault::Conflict) => Some(wire(&conflict(&parsed(body)))),
            Some(Fault::CutBefore) => None,
            Some(Fault::CutAfter) => {
                apply(body);
                None
            }
            Some(Fault::Garbage) => {
                apply(body);
                Some(wire(&Reply { status: 200, body: "<html>".to_owned() }))
            }
            Some(Fault::Leftover(count)) => Some(wire(&apply_partly(count, parsed(body), apply))),
        }
    }
}

/// Reads the target and the body of the next request; `None` if the connection has ended.
fn request(stream: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let (mut target, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let line = line.strip_suffix("\r\n")?;
        match line.split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("x-amz-target") => {
                value.clone_into(&mut target);
            }
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().unwrap();
            }
            Some(_) => {}
            None if line.is_empty() => break,
            None => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((target, body))
}

fn parsed(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap()
}

fn wire(reply: &Reply) -> String {
    let Reply { status, body } = reply;
    let length = body.len();
    format!(
        "HTTP/1.1 {status} Status\r\nContent-Type: application/x-amz-json-1.0\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

fn refusal(status: u16, code: &str) -> Reply {
    let body =
        json!({ "__type": format!("com.amazonaws.dynamodb.v20120810#{code}"), "message": "later" });
    Reply { status, body: body.to_string() }
}

/// Another transaction conflicts with the first action.
fn conflict(request: &Value) -> Reply {
    let none = json!({ "Code": "None" });
    let mut reasons = vec![none; request["TransactItems"].as_array().unwrap().len()];
    reasons[0] = json!({ "Code": "TransactionConflict", "Message": "met another" });
    let body = json!({
        "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        "Message": "canceled",
        "CancellationReasons": reasons,
    });
    Reply { status: 400, body: body.to_string() }
}

/// Applies the first parts of a batch on the one table and leaves the others unprocessed.
fn apply_partly(count: usize, mut request: Value, apply: impl Fn(&[u8]) -> Reply) -> Reply {
    let items = request["RequestItems"].as_object_mut().unwrap();
    let (table, requested) = items.iter_mut().next().unwrap();
    let (table, is_read) = (table.clone(), requested.is_object());
    let parts = if is_read { &mut requested["Keys"] } else { requested };
    let parts = parts.as_array_mut().unwrap();
    let left = parts.split_off(count.min(parts.len()));
    let is_empty = parts.is_empty();
    let mut response = match is_empty {
        true => json!({ "Responses": {} }),
        false => parsed(apply(request.to_string().as_bytes()).body.as_bytes()),
    };
    if !left.is_empty() {
        let (member, left) = match is_read {
            true => ("UnprocessedKeys", json!({ table: { "Keys": left } })),
            false => ("UnprocessedItems", json!({ table: left })),
        };
        response[member] = left;
    }
    Reply { status: 200, body: response.to_string() }
}
