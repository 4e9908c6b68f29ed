//! The program as a process, with real HTTP and mail receivers: a hunt that survives `kill -9`, and
//! answers on every channel.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use keyloom_server::WebhookSecret;
use keyloom_testkit::readme::Process;
use serde_json::{Value as Json, json};

use crate::servers::{
    Answer, DEADLINE, Inbox, Letter, Request, ask, ask_with, http, smtp, smtp_with_tls,
};

const SECRET: &str = "a secret of more than sixteen bytes";

/// A self-signed certificate of `localhost`.
const CERTIFICATE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/server/tests/certificates/localhost.pem");
const KEY: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/server/tests/certificates/localhost.key");

struct Rig {
    data: PathBuf,
    http: Inbox<Request>,
    smtp: Inbox<Letter>,
    server: Option<Process>,
}

impl Rig {
    fn start(name: &str) -> Rig {
        let data = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&data);
        let mut rig = Rig { data, http: http(), smtp: smtp(), server: None };
        rig.restart();
        rig
    }

    /// Kills the program with SIGKILL if it runs, and starts it.
    fn restart(&mut self) {
        drop(self.server.take());
        let mut command = Command::new(env!("CARGO_BIN_EXE_oncall"));
        command.arg("--data").arg(&self.data).arg("--private-webhooks");
        command.arg("--smtp").arg(format!("smtp://127.0.0.1:{}", self.smtp.port));
        command.args(["--mail-from", "On call <oncall@example.com>"]);
        command.arg("--provider").arg(format!("http://127.0.0.1:{}/provider", self.http.port));
        command.env("ONCALL_PROVIDER_SECRET", SECRET).env("ONCALL_WEBHOOK_SECRET", SECRET);
        self.server = Some(Process::serve(command));
    }

    fn url(&self) -> &str {
        &self.server.as_ref().expect("it runs").url
    }

    fn ask(&self, method: &str, path: &str, body: Option<&Json>) -> Answer {
        ask(self.url(), method, path, body)
    }

    fn make(&self, path: &str, body: &Json) -> String {
        let made = self.ask("POST", path, Some(body));
        assert_eq!(made.status, 201, "{}", made.body);
        made.json()["id"].as_str().unwrap().to_owned()
    }

    fn contact(&self, methods: &[(&str, String, u32)]) -> String {
        let contact = self.make("/contacts", &json!({ "name": "Ada <Lovelace>" }));
        for (position, (kind, destination, wait_seconds)) in methods.iter().enumerate() {
            let method = json!({ "contact": contact, "kind": kind, "destination": destination,
                "wait_seconds": wait_seconds, "position": position });
            self.make("/methods", &method);
        }
        contact
    }

    fn search(&self, contact: &str) -> String {
        let search = json!({ "contact": contact, "message": "{service} has {error}",
            "subject": { "service": "<checkout>", "error": "timeouts" } });
        self.make("/searches", &search)
    }

    /// Polls the timeline of a search until a condition holds.
    fn wait_for(&self, search: &str, what: &str, is_so: impl Fn(&Json) -> bool) -> Json {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let timeline = self.ask("GET", &format!("/searches/{search}/{what}"), None).json();
            if is_so(&timeline) {
                return timeline;
            }
            assert!(Instant::now() < deadline, "{timeline:#}");
            std::thread::yield_now();
        }
    }

    fn hook(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.http.port)
    }

    fn status(&self, search: &str) -> String {
        let found = self.ask("GET", &format!("/searches/{search}"), None).json();
        found["status"].as_str().unwrap().to_owned()
    }
}

/// The path of a URL.
fn path(url: &str) -> String {
    let url = url.strip_prefix("http://").expect("a URL of the program");
    format!("/{}", url.split_once('/').expect("a path").1)
}

fn now_secs() -> u64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs()
}

#[test]
fn a_hunt_survives_a_killed_program_and_is_answered_by_text() {
    let mut rig = Rig::start("oncall-killed");
    let hook = rig.hook("/hook");
    let contact = rig.contact(&[
        ("email", "ada@example.com".to_owned(), 0),
        ("webhook", hook, 0),
        ("text", "+15550100".to_owned(), 3),
    ]);
    let search = rig.search(&contact);
    let letter = rig.smtp.next();
    assert_eq!(letter.to, "ada@example.com");
    assert!(letter.text.contains("Subject: <checkout> has timeouts"), "{}", letter.text);
    let hooked = rig.http.next();
    assert_eq!(hooked.path, "/hook");
    let secret = WebhookSecret::new(SECRET).unwrap();
    let signed = secret.check(|name| hooked.header(name), now_secs(), hooked.text.as_bytes());
    assert_eq!(signed, Ok(()), "what is posted is signed");
    assert_eq!(hooked.json()["text"], "<checkout> has timeouts");
    rig.wait_for(&search, "attempts", |attempts| {
        let attempts = attempts["items"].as_array().unwrap();
        attempts.iter().all(|attempt| attempt["status"] == "delivered")
    });
    // While the third method waits.
    rig.restart();
    let text = rig.http.next();
    let body = text.json();
    assert_eq!((text.path.as_str(), &body["kind"]), ("/provider", &json!("text")));
    assert_eq!(body["to"], "+15550100");
    assert_eq!(text.header("idempotency-key"), body["key"].as_str());
    let reply = path(body["reply_url"].as_str().unwrap());
    let say = |said: &Json, is_signed: bool| {
        let bytes = said.to_string();
        let signature = secret.headers("reply-1", now_secs(), bytes.as_bytes());
        let signature: Vec<(&str, &str)> =
            signature.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let given = if is_signed { &signature[..] } else { &[] };
        ask_with(rig.url(), ("POST", &reply), given, Some(said))
    };
    assert_eq!(say(&json!({ "text": "OK" }), false).status, 401, "anybody could have said it");
    let wrong = say(&json!({ "text": "no" }), true);
    assert_eq!((wrong.status, &wrong.json()["detail"]), (422, &json!("Reply OK to answer.")));
    assert_eq!(rig.status(&search), "active");
    assert_eq!(say(&json!({ "text": "OK" }), true).status, 200);
    assert_eq!(rig.status(&search), "successful");
    // Later answers are refused on every channel.
    let late = say(&json!({ "text": "OK" }), true);
    assert_eq!((late.status, &late.json()["code"]), (409, &json!("wrong-state")));
    let page = rig.ask("POST", &path(hooked.json()["answer_url"].as_str().unwrap()), None);
    assert_eq!(page.status, 409);
    assert!(page.body.contains("the search is already successful"), "{}", page.body);
    let canceled =
        rig.ask("POST", &format!("/searches/{search}/cancel"), Some(&json!({ "by": "Bob" })));
    assert_eq!(canceled.status, 409);
    let attempts = rig.wait_for(&search, "attempts", |attempts| {
        attempts["items"].as_array().unwrap().iter().all(|one| one["status"] == "delivered")
    });
    let attempts = attempts["items"].as_array().unwrap();
    assert_eq!(attempts.len(), 3, "each is written once");
    assert_eq!(attempts[2]["reference"], "call-7");
    assert!(rig.http.rest().is_empty() && rig.smtp.rest().is_empty(), "each came once");
}

#[test]
fn a_link_in_a_mail_shows_the_search_and_answers_it_once() {
    let rig = Rig::start("oncall-link");
    let contact = rig.contact(&[("email", "ada@example.com".to_owned(), 0)]);
    let search = rig.search(&contact);
    let letter = rig.smtp.next();
    let link = letter.text.lines().find(|line| line.starts_with("http://")).expect("a link");
    let link = path(link);
    let page = rig.ask("GET", &link, None);
    assert_eq!(page.status, 200);
    assert!(page.body.contains("Ada &lt;Lovelace&gt;"), "{}", page.body);
    assert!(page.body.contains("&lt;checkout&gt;") && !page.body.contains("<checkout>"));
    assert!(page.body.contains("http-equiv=refresh") && page.body.contains("<button>"));
    let policy = page.head.iter().find(|(name, _)| name == "content-security-policy");
    assert!(policy.expect("a policy").1.starts_with("default-src 'none'"));
    assert_eq!(rig.status(&search), "active", "seeing is not answering");
    // A made-up link is not found, and a link to watch cannot answer.
    assert_eq!(rig.ask("GET", &link[..link.len() - 1], None).status, 404);
    let watch = rig.ask("POST", &format!("/searches/{search}/watch"), Some(&json!({}))).json();
    let watch = path(watch["url"].as_str().unwrap());
    let watched = rig.ask("GET", &watch, None);
    assert!(watched.status == 200 && !watched.body.contains("<button>"));
    let forged = watch.replace("/watch/", "/answer/");
    assert_eq!(rig.ask("POST", &forged, None).status, 404);
    let answered = rig.ask("POST", &link, None);
    assert!(answered.status == 200 && answered.body.contains("Thank you"), "{}", answered.body);
    assert_eq!(rig.ask("POST", &link, None).status, 409, "a link is used once");
    assert!(!rig.ask("GET", &watch, None).body.contains("refresh"), "nothing happens any more");
    assert_eq!(rig.status(&search), "successful");
}

#[test]
fn refused_messages_are_reported_and_failed_ones_retried() {
    let rig = Rig::start("oncall-refused");
    let (refusing, busy) = (rig.hook("/400"), rig.hook("/503"));
    let contact = rig.contact(&[
        ("webhook", refusing, 0),
        ("email", "nobody@example.com".to_owned(), 0),
        ("webhook", busy, 0),
    ]);
    let search = rig.search(&contact);
    let mut tried = [0, 0];
    while tried[1] < 2 {
        tried[usize::from(rig.http.next().path == "/503")] += 1;
    }
    assert_eq!(tried[0], 1, "what is refused is not tried again");
    let timeline = rig.wait_for(&search, "timeline", |timeline| {
        let failed = timeline["attempts"].as_array().unwrap().iter();
        failed.filter(|attempt| attempt["state"] == "failed").count() == 2
    });
    let attempts = timeline["attempts"].as_array().unwrap();
    let states: Vec<&str> =
        attempts.iter().map(|attempt| attempt["state"].as_str().unwrap()).collect();
    assert_eq!(states[..2], ["failed", "failed"], "{timeline:#}");
    assert_eq!(attempts[0]["error"], "The receiver refused it: status 400.");
    assert!(attempts[1]["error"].as_str().unwrap().contains("nobody of this name"));
    let dead = rig.ask("GET", "/jobs/lists/by_status?status=failed", None).json();
    assert_eq!(dead["items"].as_array().unwrap().len(), 2, "{dead:#}");
    let canceled = json!({ "by": "Bob", "reason": "It was a test." });
    let canceled = rig.ask("POST", &format!("/searches/{search}/cancel"), Some(&canceled));
    assert_eq!((canceled.status, &canceled.json()["status"]), (200, &json!("canceled")));
    drop(rig.http.rest());
}

#[test]
fn requests_cannot_bypass_the_rules_of_searches() {
    let rig = Rig::start("oncall-rules");
    let contact = rig.contact(&[]);
    let search = rig.search(&contact);
    let status = json!({ "status": "active" });
    let path = format!("/searches/{search}");
    assert_eq!(rig.ask("PATCH", &path, Some(&status)).status, 405);
    assert_eq!(rig.ask("GET", "/links/x", None).status, 404);
    let update = json!({ "update": "search", "id": search, "document": status });
    let create = json!({ "create": "attempt", "document": {} });
    let read = json!({ "get": "link", "id": "x" });
    for part in [&update, &create] {
        let refused = rig.ask("POST", "/transaction", Some(&json!({ "changes": [part] })));
        assert_eq!((refused.status, &refused.json()["code"]), (403, &json!("forbidden")));
    }
    assert_eq!(rig.ask("POST", "/batch", Some(&json!({ "requests": [read] }))).status, 403);
    for (body, status) in [(json!({}), 422), (json!({ "by": 1 }), 422), (json!([]), 422)] {
        assert_eq!(rig.ask("POST", &format!("{path}/cancel"), Some(&body)).status, status);
    }
    let nobody = rig.ask("POST", "/searches/x/answer", Some(&json!({ "by": "Bob" })));
    assert_eq!(nobody.status, 404);
}

#[test]
fn of_many_concurrent_ends_exactly_one_succeeds() {
    let rig = Rig::start("oncall-many");
    let contact = rig.contact(&[("email", "ada@example.com".to_owned(), 3600)]);
    for _ in 0..10 {
        let search = rig.search(&contact);
        let statuses: Vec<(u16, &str)> = std::thread::scope(|scope| {
            let end = |verb: &'static str| {
                let (url, path) = (rig.url(), format!("/searches/{search}/{verb}"));
                let body = json!({ "by": "Bob" });
                scope.spawn(move || (ask(url, "POST", &path, Some(&body)).status, verb))
            };
            let threads: Vec<_> = (0..8)
                .map(|number| end(if number % 2 == 0 { "answer" } else { "cancel" }))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let won: Vec<&str> =
            statuses.iter().filter(|(status, _)| *status == 200).map(|(_, verb)| *verb).collect();
        let [won] = won[..] else { panic!("exactly one wins: {statuses:?}") };
        assert!(statuses.iter().all(|(status, _)| [200, 409].contains(status)), "{statuses:?}");
        let expected = if won == "answer" { "successful" } else { "canceled" };
        assert_eq!(rig.status(&search), expected);
    }
}

#[test]
fn mail_is_sent_over_tls_with_a_password() {
    let data = Path::new(env!("CARGO_TARGET_TMPDIR")).join("oncall-tls");
    let _ = std::fs::remove_dir_all(&data);
    let smtp = smtp_with_tls(CERTIFICATE, KEY);
    let mut command = Command::new(env!("CARGO_BIN_EXE_oncall"));
    command.arg("--data").arg(&data);
    command.arg("--smtp").arg(format!("smtp+starttls://localhost:{}", smtp.port));
    command.args(["--smtp-user", "ada", "--mail-from", "oncall@example.com"]);
    command.env("ONCALL_SMTP_PASSWORD", "hush").env("SSL_CERT_FILE", CERTIFICATE);
    let server = Some(Process::serve(command));
    let rig = Rig { data, http: http(), smtp, server };
    let contact = rig.contact(&[("email", "ada@example.com".to_owned(), 0)]);
    rig.search(&contact);
    assert_eq!(rig.smtp.next().to, "ada@example.com");
}
