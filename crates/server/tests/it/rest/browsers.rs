//! What browsers need: CORS, and tokens in cookies and parameters.

use std::io::Write;

use keyloom_server::Role;
use serde_json::json;

use super::ask::Ask;
use super::log;
use super::served::{Door, Served, Setup, app};
use crate::rig::Answer;

const ORIGIN: &str = "https://app.example.com";

fn served(cors_origins: &'static [&'static str]) -> Served {
    Served::start(&app("tasks"), Setup { cors_origins, ..Setup::new(Door::Closed) })
}

fn preflight(served: &Served, origin: &str) -> Answer {
    let ask = Ask::new("OPTIONS", "/tasks").header("Origin", origin);
    let ask = ask.header("Access-Control-Request-Method", "POST");
    served.ask(&ask.header("Access-Control-Request-Headers", "authorization,content-type"))
}

#[test]
fn only_pages_of_allowed_origins_can_use_the_api() {
    let served = served(&[ORIGIN, "http://localhost:3000"]);
    let token = served.token(Role::Writer, None);
    for origin in [ORIGIN, "http://localhost:3000"] {
        let allowed = preflight(&served, origin);
        assert_eq!(allowed.status, 200);
        assert_eq!(allowed.header("access-control-allow-origin"), Some(origin));
        let headers = allowed.header("access-control-allow-headers").unwrap();
        for name in ["authorization", "content-type", "if-match", "idempotency-key"] {
            assert!(headers.contains(name), "{headers}");
        }
        assert!(allowed.header("access-control-allow-methods").unwrap().contains("PATCH"));
        let ask = Ask::post("/tasks", &json!({"name": "n"})).bearer(&token);
        let made = served.ask(&ask.header("Origin", origin));
        assert_eq!(made.header("access-control-allow-origin"), Some(origin));
        assert!(made.header("access-control-expose-headers").unwrap().contains("etag"));
        // A page must be able to read why it was refused.
        let refused = served.ask(&Ask::get("/tasks").header("Origin", origin));
        assert_eq!(refused.outcome(), "401 unauthorized");
        assert_eq!(refused.header("access-control-allow-origin"), Some(origin));
    }
    let other = preflight(&served, "https://evil.example.com");
    assert_eq!(other.header("access-control-allow-origin"), None);
}

#[test]
fn cors_is_off_without_origins_and_open_with_a_star() {
    let silent = served(&[]);
    let answer = preflight(&silent, ORIGIN);
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (204, None));
    let answer = preflight(&served(&["*"]), ORIGIN);
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert_eq!(answer.header("access-control-allow-credentials"), None);
}

#[test]
fn a_token_in_a_cookie_is_accepted_for_reads_only() {
    let served = served(&[]);
    let token = served.token(Role::Writer, None);
    let cookie = format!("theme=dark; keyloom_token={token}; x=y");
    let with_cookie = |ask: Ask| served.ask(&ask.header("Cookie", &cookie));
    assert_eq!(with_cookie(Ask::get("/tasks")).status, 200);
    // Another site can make a browser send the cookie with a change.
    let change = with_cookie(Ask::post("/tasks", &json!({"name": "n"})));
    assert_eq!(change.outcome(), "401 unauthorized");
    let wrong = Ask::get("/tasks").header("Cookie", "keyloom_token=nonsense");
    assert_eq!(served.ask(&wrong).outcome(), "401 unauthorized");
    // The header takes precedence.
    let both = Ask::get("/tasks").header("Cookie", &cookie).bearer("nonsense");
    assert_eq!(served.ask(&both).outcome(), "401 unauthorized");
}

#[test]
fn a_stream_accepts_its_token_as_a_parameter_and_it_is_not_logged() {
    let served = served(&[]);
    let token = served.token(Role::Reader, None);
    let status = |path: &str| {
        let mut stream = served.rig.connect();
        stream.write_all(&Ask::get(path).bytes()).unwrap();
        Answer::read_head(&mut stream).status
    };
    assert_eq!(status(&format!("/changes?access_token={token}&entity=task")), 200);
    assert_eq!(status("/changes?access_token=nonsense"), 401);
    assert_eq!(status("/changes"), 401);
    let elsewhere = served.ask(&Ask::get(&format!("/tasks?access_token={token}")));
    assert_eq!(elsewhere.outcome(), "401 unauthorized", "only streams take it");
    let secret = token.rsplit('_').next().unwrap();
    assert!(!log::lines().concat().contains(secret));
}
