//! Our endpoint behind a network and a service that fail: a server of plain HTTP that asks before
//! each request what is to happen to it.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyloom_dynamodb::{Endpoint, EndpointOptions, Keys, Remote, RemoteOptions, Reply};
use keyloom_store::{MemoryStore, Store};
use keyloom_testkit::ManualClock;
use pollster::block_on;
use serde_json::{Value, json};

use super::items::spec;

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is not done, and answered with this status and this code.
    Refused(u16, &'static str),
    /// It is not done, because another transaction is in its way.
    Conflict,
    /// It is not done, and the connection ends.
    CutBefore,
    /// It is done, and the connection ends.
    CutAfter,
    /// It is done, and the connection ends within the answer.
    CutWithin,
    /// It is done, and the answer is none.
    Garbage,
    /// It is done, and not answered until the client has gone.
    Silence,
    /// So many parts of a batch are done, and the others left over.
    Leftover(usize),
}

type Plan = Box<dyn FnMut(&str) -> Option<Fault> + Send>;

/// What the threads of the server share.
struct Shared {
    endpoint: Endpoint,
    plan: Mutex<Plan>,
    seen: Mutex<Vec<Seen>>,
}

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) operation: String,
    pub(crate) token: Option<String>,
}

/// A server whose requests meet faults. Its threads end with its clients.
pub(crate) struct Faulty {
    shared: Arc<Shared>,
    url: String,
    /// What is behind it.
    pub(crate) store: Arc<MemoryStore>,
}

impl Faulty {
    /// One with the table, and without faults so far.
    pub(crate) fn start() -> Faulty {
        let clock = Arc::new(ManualClock::new());
        let store = Arc::new(MemoryStore::new(clock.clone()));
        block_on(store.create_table(spec())).unwrap();
        let options = EndpointOptions { clock, ..EndpointOptions::default() };
        let shared = Arc::new(Shared {
            endpoint: Endpoint::new(store.clone(), options),
            plan: Mutex::new(Box::new(|_| None)),
            seen: Mutex::default(),
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

    /// Says what happens to each request from now on, by its operation. Forgets what came before.
    pub(crate) fn plan(&self, plan: impl FnMut(&str) -> Option<Fault> + Send + 'static) {
        *self.shared.plan.lock().unwrap() = Box::new(plan);
        self.shared.seen.lock().unwrap().clear();
    }

    /// Says what happens to the next requests of one operation; all others are served.
    pub(crate) fn script(&self, operation: &'static str, faults: &[Fault]) {
        let mut faults = VecDeque::from(faults.to_vec());
        self.plan(move |asked| if asked == operation { faults.pop_front() } else { None });
    }

    /// Does the same to every request of one operation.
    pub(crate) fn always(&self, operation: &'static str, fault: Fault) {
        self.plan(move |asked| (asked == operation).then_some(fault));
    }

    /// The requests of an operation that came since the plan was made.
    pub(crate) fn seen(&self, operation: &str) -> Vec<Seen> {
        let seen = self.shared.seen.lock().unwrap();
        seen.iter().filter(|seen| seen.operation == operation).cloned().collect()
    }

    /// The store over this server, with so many attempts at a request.
    pub(crate) fn remote(&self, attempts_max: u32, attempt_timeout: Duration) -> Remote {
        remote(&self.url, attempts_max, attempt_timeout)
    }
}

/// A store whose waits are too short to notice.
pub(crate) fn remote(url: &str, attempts_max: u32, attempt_timeout: Duration) -> Remote {
    let options = RemoteOptions {
        endpoint: Some(url.to_owned()),
        keys: Some(Keys { id: "made".to_owned(), secret: "up".to_owned() }),
        attempts_max,
        delay: Duration::from_micros(100),
        attempt_timeout,
        ..RemoteOptions::default()
    };
    block_on(Remote::connect(options)).unwrap()
}

impl Shared {
    /// Answers the requests of one connection until it ends.
    fn serve(&self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        while let Some((target, body)) = request(&mut stream) {
            let operation = target.rsplit('.').next().unwrap().to_owned();
            let token = parsed(&body)["ClientRequestToken"].as_str().map(str::to_owned);
            let fault = (self.plan.lock().unwrap())(&operation);
            self.seen.lock().unwrap().push(Seen { operation, token });
            let Some(answer) = self.answer(fault, &target, &body) else { return };
            let length =
                if fault == Some(Fault::CutWithin) { answer.len() / 2 } else { answer.len() };
            match fault {
                // The client goes away; then nothing more can be read.
                Some(Fault::Silence) => drop(stream.read_to_end(&mut Vec::new())),
                _ if stream.get_mut().write_all(&answer.as_bytes()[..length]).is_err() => return,
                _ => {}
            }
            if matches!(fault, Some(Fault::Silence | Fault::CutWithin)) {
                return;
            }
        }
    }

    /// The answer as it goes over the wire; none if the connection ends.
    fn answer(&self, fault: Option<Fault>, target: &str, body: &[u8]) -> Option<String> {
        let done = |body: &[u8]| block_on(self.endpoint.call(target, body));
        match fault {
            None | Some(Fault::CutWithin | Fault::Silence) => Some(wire(&done(body))),
            Some(Fault::Refused(status, code)) => Some(wire(&refusal(status, code))),
            Some(Fault::Conflict) => Some(wire(&conflict(&parsed(body)))),
            Some(Fault::CutBefore) => None,
            Some(Fault::CutAfter) => {
                done(body);
                None
            }
            Some(Fault::Garbage) => {
                done(body);
                Some(wire(&Reply { status: 200, body: "<html>".to_owned() }))
            }
            Some(Fault::Leftover(count)) => Some(wire(&in_part(count, parsed(body), done))),
        }
    }
}

/// The target and the body of the next request; none if the connection has ended.
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

/// Another transaction is in the way of the first action.
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

/// Does the first parts of a batch about the one table, and leaves the others.
fn in_part(count: usize, mut request: Value, done: impl Fn(&[u8]) -> Reply) -> Reply {
    let items = request["RequestItems"].as_object_mut().unwrap();
    let (table, asked) = items.iter_mut().next().unwrap();
    let (table, is_read) = (table.clone(), asked.is_object());
    let parts = if is_read { &mut asked["Keys"] } else { asked };
    let parts = parts.as_array_mut().unwrap();
    let left = parts.split_off(count.min(parts.len()));
    let is_empty = parts.is_empty();
    let mut answer = match is_empty {
        true => json!({ "Responses": {} }),
        false => parsed(done(request.to_string().as_bytes()).body.as_bytes()),
    };
    if !left.is_empty() {
        let (member, left) = match is_read {
            true => ("UnprocessedKeys", json!({ table: { "Keys": left } })),
            false => ("UnprocessedItems", json!({ table: left })),
        };
        answer[member] = left;
    }
    Reply { status: 200, body: answer.to_string() }
}
