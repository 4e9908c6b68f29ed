//! Webhooks of a model with a real receiver: signed, retried, not lost by `kill -9`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keyloom_server::WebhookSecret;
use keyloom_testkit::readme::Process;
use serde_json::{Value as Json, json};

use crate::http::Http;
use crate::process::{Folder, keyloom, output};

const SECRET: &str = "a secret of more than sixteen bytes";
/// Reached only if something is broken.
const DEADLINE: Duration = Duration::from_secs(240);

/// A received request.
struct Received {
    headers: Vec<(String, String)>,
    body: String,
}

impl Received {
    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// Responds with these statuses in turn, and forwards the requests.
fn receiver(statuses: &'static [u16]) -> (u16, Receiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, came) = channel();
    std::thread::spawn(move || {
        let mut statuses = statuses.iter();
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let mut headers = vec![];
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                    break;
                }
                if let Some((name, value)) = line.trim().split_once(": ") {
                    headers.push((name.to_ascii_lowercase(), value.to_owned()));
                }
            }
            let mut came = Received { headers, body: String::new() };
            let length = came.header("content-length").map_or(0, |length| length.parse().unwrap());
            let mut body = vec![0; length];
            if reader.read_exact(&mut body).is_err() {
                continue;
            }
            came.body = String::from_utf8(body).unwrap();
            let status = statuses.next().unwrap_or(&200);
            let _ = sender.send(came);
            let _ = write!(reader.get_mut(), "HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
        }
    });
    (port, came)
}

fn serve(folder: &Folder, model: &str) -> Process {
    let mut command = keyloom();
    command.args(["serve", model, "--data", &folder.path("data")]);
    command.env("KEYLOOM_WEBHOOK_SECRET", SECRET);
    Process::serve(command)
}

#[test]
fn events_are_posted_signed_until_they_are_accepted() {
    let folder = Folder::new("webhooks");
    let (port, came) = receiver(&[500, 200, 503]);
    let text = format!(
        "[entity.order]\nfields.amount = \"int\"\n[on.order]\n\
         insert = {{ webhook = \"http://127.0.0.1:{port}/orders\" }}\n"
    );
    let model = folder.write("model.toml", &text);
    let (success, _, err) = output(&["serve", &model, "--data", &folder.path("data")]);
    assert!(!success && err.contains("--webhook-secret"), "{err}");

    let served = serve(&folder, &model);
    let order = |served: &Process, amount: i64| {
        let mut http = Http::connect(&served.url, "");
        let (status, order) = http.ask("POST", "/orders", &json!({ "amount": amount })).unwrap();
        assert_eq!(status, 201, "{order}");
        order["id"].clone()
    };
    let first = order(&served, 1);
    let secret = WebhookSecret::new(SECRET).unwrap();
    let next = || {
        let came = came.recv_timeout(DEADLINE).expect("it is posted");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        secret.check(|name| came.header(name), now, came.body.as_bytes()).unwrap();
        let event: Json = serde_json::from_str(&came.body).unwrap();
        (came.header("webhook-id").unwrap().to_owned(), event["new"]["id"].clone())
    };
    let (failed, taken) = (next(), next());
    assert_eq!(failed, taken, "the second attempt has the same event and id");
    assert_eq!(taken.1, first);

    let second = order(&served, 2);
    let failed = next();
    assert_eq!(failed.1, second);
    // The process is killed while a retry is scheduled.
    let mut http = Http::connect(&served.url, "");
    let mut waits = || {
        let (_, jobs) =
            http.ask("GET", "/jobs/lists/by_status?status=waiting", &Json::Null).unwrap();
        !jobs["items"].as_array().unwrap().is_empty()
    };
    while !waits() {
        std::thread::yield_now();
    }
    drop(served);
    let _served = serve(&folder, &model);
    assert_eq!(next(), failed);
}

/// Handlers and jobs wait for a program that implements them; webhooks are posted nevertheless, whatever
/// their size.
#[test]
fn webhooks_are_posted_beside_code_that_the_server_does_not_have() {
    let folder = Folder::new("webhooks-beside-code");
    let (port, came) = receiver(&[500, 200]);
    let text = format!(
        "[entity.order]\nid = \"given\"\nfields.text = \"text?\"\n[on.order]\n\
         insert = \"bill\"\nupdate = {{ webhook = \"http://127.0.0.1:{port}/orders\" }}\n\
         delete = {{ job = \"file\" }}\n"
    );
    let model = folder.write("model.toml", &text);
    let served = serve(&folder, &model);
    let mut http = Http::connect(&served.url, "");
    let text = |letter: &str| letter.repeat(170 * 1024);
    for letter in ["a", "b"] {
        let order = json!({ "text": text(letter) });
        let (status, _) = http.ask("PUT", "/orders/1", &order).unwrap();
        assert!(status < 300, "{status}");
    }
    let first = came.recv_timeout(DEADLINE).expect("it is posted");
    let again = came.recv_timeout(DEADLINE).expect("it is posted again");
    assert_eq!(first.body, again.body);
    assert_eq!(first.header("webhook-id"), again.header("webhook-id"));
    assert_eq!(first.header("webhook-id"), first.header("idempotency-key"));
    let event: Json = serde_json::from_str(&first.body).unwrap();
    assert_eq!(event["old"]["text"], json!(text("a")));
    assert_eq!(event["new"]["text"], json!(text("b")));
    let (_, jobs) = http.ask("GET", "/jobs/lists/by_status?status=failed", &Json::Null).unwrap();
    assert_eq!(jobs["items"], json!([]), "nothing else was attempted");
    drop(served);
    let resume = |consumer: &str| {
        output(&["jobs", "resume", &model, "--data", &folder.path("data"), consumer])
    };
    assert!(resume("order.update").0);
    let (success, _, err) = resume("order.updat");
    assert!(!success && err.contains("did you mean `order.update`?"), "{err}");
}
