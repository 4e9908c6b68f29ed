//! The program with its built-in receiver: real mail, real requests, answers on every channel.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use keyloom_testkit::readme::Process;
use serde_json::{Value as Json, json};

use crate::servers::{Answer, DEADLINE, ask, ask_with};

struct Rig {
    server: Process,
}

impl Rig {
    fn start(name: &str) -> Rig {
        let data = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&data);
        let mut command = Command::new(env!("CARGO_BIN_EXE_oncall"));
        command.arg("--data").arg(&data).arg("--receiver");
        Rig { server: Process::serve(command) }
    }

    fn ask(&self, method: &str, path: &str, body: Option<&Json>) -> Answer {
        ask(&self.server.url, method, path, body)
    }

    fn make(&self, path: &str, body: &Json) -> String {
        let made = self.ask("POST", path, Some(body));
        assert_eq!(made.status, 201, "{}", made.body);
        made.json()["id"].as_str().unwrap().to_owned()
    }

    fn contact(&self, methods: &[(&str, &str)]) -> String {
        let contact = self.make("/contacts", &json!({ "name": "Ada" }));
        for (position, (kind, destination)) in methods.iter().enumerate() {
            let method = json!({ "contact": contact, "kind": kind, "destination": destination,
                "position": position });
            self.make("/methods", &method);
        }
        contact
    }

    fn search(&self, contact: &str, message: &str) -> String {
        self.make("/searches", &json!({ "contact": contact, "message": message }))
    }

    fn received(&self) -> Vec<Json> {
        let list = self.ask("GET", "/receiver/messages", None);
        assert_eq!(list.status, 200, "{}", list.body);
        list.json()["items"].as_array().unwrap().clone()
    }

    /// Waits until a search has `count` messages.
    fn wait_for(&self, search: &str, count: usize) -> Vec<Json> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let mut received = self.received();
            received.retain(|message| message["search"] == search);
            if received.len() >= count {
                return received;
            }
            assert!(Instant::now() < deadline, "{received:#?}");
            std::thread::yield_now();
        }
    }

    /// Answers a message: the status, and the detail of a problem.
    fn answer(&self, message: &Json, answer: &Json) -> (u64, String) {
        let path = format!("/receiver/messages/{}/answer", message["number"]);
        let said = self.ask("POST", &path, Some(answer));
        assert_eq!(said.status, 200, "{}", said.body);
        let said = said.json();
        (said["status"].as_u64().unwrap(), said["detail"].as_str().unwrap_or("").to_owned())
    }

    fn status(&self, search: &str) -> Json {
        self.ask("GET", &format!("/searches/{search}"), None).json()["status"].clone()
    }
}

const EVERY_KIND: [(&str, &str); 4] = [
    ("email", "ada@example.com"),
    ("text", "+15550100"),
    ("call", "+15550101"),
    ("webhook", "http://receiver.localhost/webhook/ada"),
];

fn of<'m>(messages: &'m [Json], kind: &str) -> &'m Json {
    messages.iter().find(|message| message["kind"] == kind).expect("one of each kind")
}

#[test]
fn messages_of_every_kind_arrive_and_can_be_answered() {
    let rig = Rig::start("demo-kinds");
    let contact = rig.contact(&EVERY_KIND);
    let message = "Überlauf in „checkout“\n.\n..and a long line: ".to_owned() + &"ü".repeat(600);
    let search = rig.search(&contact, &message);
    let received = rig.wait_for(&search, 4);
    for (kind, destination) in EVERY_KIND {
        assert_eq!(of(&received, kind)["to"], destination);
        assert!(of(&received, kind)["time"].as_str().unwrap().ends_with('Z'));
    }
    let mail = of(&received, "email");
    assert_eq!(mail["subject"], "Überlauf in „checkout“");
    assert!(mail["text"].as_str().unwrap().contains(&message), "{mail:#}");
    let hook: Json =
        serde_json::from_str(of(&received, "webhook")["text"].as_str().unwrap()).unwrap();
    assert_eq!((&hook["text"], &hook["domain"]), (&json!(message), &json!("acme")));
    // A reply that is no answer is refused with a hint, and changes nothing.
    let (text, call) = (of(&received, "text"), of(&received, "call"));
    let refused = rig.answer(text, &json!({ "text": "no" }));
    assert_eq!(refused, (422, "Reply OK to answer.".to_owned()));
    assert_eq!(rig.answer(call, &json!({ "digits": "2" })).0, 422);
    assert_eq!(rig.status(&search), "active");
    assert_eq!(rig.answer(call, &json!({ "digits": "1" })), (200, String::new()));
    assert_eq!(rig.status(&search), "successful");
    // Later answers are refused.
    assert_eq!(rig.answer(text, &json!({ "text": "OK" })).0, 409);
    assert_eq!(rig.answer(of(&received, "webhook"), &json!({})).0, 409);
    let timeline = rig.ask("GET", &format!("/searches/{search}/timeline"), None).json();
    let events = timeline["events"].as_array().unwrap();
    assert_eq!(events.last().unwrap()["text"], "Ada answered the call.");
    assert_eq!(timeline["next"], Json::Null);
    let references = rig.ask("GET", &format!("/searches/{search}/attempts"), None).json();
    let references = references["items"].as_array().unwrap().iter();
    let of_provider = references.filter(|attempt| attempt["reference"].is_string()).count();
    assert_eq!(of_provider, 2, "the provider names calls and texts");
}

#[test]
fn every_other_kind_of_answer_ends_a_search_too() {
    let rig = Rig::start("demo-answers");
    let contact = rig.contact(&EVERY_KIND);
    let search = rig.search(&contact, "fire");
    let received = rig.wait_for(&search, 4);
    assert_eq!(rig.answer(of(&received, "text"), &json!({ "text": "ok!" })).0, 200);
    assert_eq!(rig.status(&search), "successful");
    let search = rig.search(&contact, "fire");
    let received = rig.wait_for(&search, 4);
    assert_eq!(rig.answer(of(&received, "webhook"), &json!({})).0, 200);
    assert_eq!(rig.status(&search), "successful");
    let search = rig.search(&contact, "fire");
    let received = rig.wait_for(&search, 4);
    let link = of(&received, "email")["answer_url"].as_str().expect("a link").to_owned();
    let link = link.strip_prefix(&rig.server.url).expect("a link to the service");
    assert!(rig.ask("GET", link, None).body.contains("<button>"));
    assert_eq!(rig.ask("POST", link, None).status, 200);
    assert_eq!(rig.status(&search), "successful");
    let timeline = rig.ask("GET", &format!("/searches/{search}/timeline"), None).json();
    let events = timeline["events"].as_array().unwrap();
    assert_eq!(events.last().unwrap()["text"], "Ada answered with the link in the email.");
}

#[test]
fn another_domain_sees_and_answers_none_of_the_messages() {
    let rig = Rig::start("demo-domains");
    let contact = rig.contact(&EVERY_KIND);
    let search = rig.search(&contact, "fire");
    let received = rig.wait_for(&search, 4);
    let globex = [("keyloom-tenant", "globex")];
    let as_globex = |verb, path: &str, body: Option<&Json>| {
        ask_with(&rig.server.url, (verb, path), &globex, body)
    };
    let list = as_globex("GET", "/receiver/messages", None);
    assert_eq!(list.json(), json!({ "items": [] }));
    let path = format!("/receiver/messages/{}/answer", of(&received, "text")["number"]);
    assert_eq!(as_globex("POST", &path, Some(&json!({ "text": "OK" }))).status, 404);
    let nobody = ask_with(&rig.server.url, ("GET", "/receiver/messages"), &[], None);
    assert_eq!(nobody.json()["code"], "tenant-needed");
    assert_eq!(rig.status(&search), "active");
}

#[test]
fn the_receiver_refuses_requests_of_others() {
    let rig = Rig::start("demo-hostile");
    let provider = json!({ "key": "x", "kind": "text", "to": "+1", "text": "x", "reply_url": "y" });
    for path in ["/receiver/provider", "/receiver/webhook/ada"] {
        assert_eq!(rig.ask("POST", path, Some(&provider)).status, 401, "{path}");
        let forged =
            [("webhook-id", "x"), ("webhook-timestamp", "1"), ("webhook-signature", "v1,x")];
        let forged = ask_with(&rig.server.url, ("POST", path), &forged, Some(&provider));
        assert_eq!(forged.status, 401, "{path}");
    }
    for path in ["/receiver/messages/1/answer", "/receiver/messages/x/answer"] {
        assert_eq!(rig.ask("POST", path, Some(&json!({}))).status, 404, "{path}");
    }
    for body in [json!([]), json!({ "text": 1 }), json!({ "other": "x" })] {
        assert_eq!(rig.ask("POST", "/receiver/messages/1/answer", Some(&body)).status, 422);
    }
    for after in ["x", "-1", "99999999999999999999"] {
        let path = format!("/receiver/messages?after={after}");
        assert_eq!(rig.ask("GET", &path, None).status, 400, "{after}");
    }
    // A message that is too large is a dead letter, and webhooks to private addresses are blocked.
    let url = format!("{}/receiver/webhook/ada", rig.server.url);
    let contact =
        rig.contact(&[("text", "+15550100"), ("email", "a@example.com"), ("webhook", &url)]);
    let search = json!({ "contact": contact, "message": "{a}{a}{a}{a}{a}{a}",
        "subject": { "a": "x".repeat(20_000) } });
    let search = rig.make("/searches", &search);
    let deadline = Instant::now() + DEADLINE;
    loop {
        let timeline = rig.ask("GET", &format!("/searches/{search}/timeline"), None).json();
        let attempts = timeline["attempts"].as_array().unwrap().clone();
        let errors: Vec<&str> = attempts.iter().filter_map(|one| one["error"].as_str()).collect();
        if let [text, mail, webhook] = errors[..] {
            assert_eq!(text, "The receiver refused it: status 413.");
            assert_eq!(mail, "The mail server refused it: 552 Message too large.");
            assert!(webhook.contains("only public addresses are allowed"), "{webhook}");
            break;
        }
        assert!(Instant::now() < deadline, "{timeline:#}");
        std::thread::yield_now();
    }
    assert!(rig.received().is_empty());
}

#[test]
fn the_receiver_conflicts_with_the_settings_it_replaces() {
    for arguments in [["--smtp", "smtp://127.0.0.1"], ["--public-url", "https://oncall.example"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oncall"));
        let output = command.arg("--receiver").args(arguments).output().expect("it starts");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success());
        assert!(
            said.contains(&format!("--receiver cannot be used together with {}", arguments[0]))
        );
    }
}

#[test]
fn the_page_is_served_with_and_without_the_receiver() {
    let rig = Rig::start("demo-page");
    let panel = |url: &str| {
        let page = ask(url, "GET", "/", None);
        assert!(page.status == 200 && page.body.contains("<title>On call</title>"));
        let modules = ["page.js", "search.js", "live.js", "when.js", "api.js", "client.js"];
        for file in modules.into_iter().chain(["page.css", "base.css"]) {
            assert_eq!(ask(url, "GET", &format!("/{file}"), None).status, 200, "{file}");
        }
        ask(url, "GET", "/receiver.js", None).body
    };
    assert!(panel(&rig.server.url).contains("/receiver/messages"));
    let data = Path::new(env!("CARGO_TARGET_TMPDIR")).join("demo-no-receiver");
    let _ = std::fs::remove_dir_all(&data);
    let mut command = Command::new(env!("CARGO_BIN_EXE_oncall"));
    command.arg("--data").arg(&data);
    let server = Process::serve(command);
    assert!(panel(&server.url).contains("receiver = null"));
    assert_eq!(ask(&server.url, "GET", "/receiver/messages", None).status, 404);
}
