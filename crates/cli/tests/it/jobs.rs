//! Dead letters from the command line.

use std::path::Path;
use std::sync::Arc;

use keyloom::Db;
use keyloom::events::{Failure, Handlers, Job};
use keyloom_store::{Engine, Options};
use pollster::block_on;

use crate::process::{Folder, output};

const MODEL: &str = "jobs = true\n[entity.thing]\nfields.n = \"int\"\n";

#[test]
fn dead_letters_are_listed_shown_replayed_and_dropped() {
    let folder = Folder::new("jobs");
    let model = folder.write("model.toml", MODEL);
    let data = folder.path("data");
    {
        let engine = Engine::open(Path::new(&data), Options::default()).unwrap();
        let db = block_on(Db::open(MODEL, Arc::new(engine))).unwrap();
        for id in ["a", "b"] {
            block_on(db.schedule(Job::new("mail").id(id))).unwrap();
        }
        let fails = |_, _| async { Err(Failure::fatal("the post office is closed")) };
        block_on(db.work(&Handlers::new().job("mail", fails))).unwrap();
    }
    let jobs = |verb: &[&str]| {
        let place = [model.as_str(), "--data", &data];
        output(&[&["jobs"], &verb[..1], &place[..], &verb[1..]].concat())
    };
    let (success, out, _) = jobs(&["list"]);
    assert!(success && out.lines().count() == 3, "{out}");
    assert!(out.contains("the post office is closed"), "{out}");
    assert!(jobs(&["show", "a"]).1.contains("\"status\":\"failed\""));
    assert_eq!(jobs(&["replay", "a"]).1, "Jobs queued again: 1.\n");
    let (success, _, err) = jobs(&["replay", "a"]);
    assert!(!success && err.contains("waiting"), "{err}");
    assert_eq!(jobs(&["cancel", "a"]).1, "Canceled.\n");
    assert_eq!(jobs(&["drop", "a"]).1, "Deleted.\n");
    assert!(!jobs(&["show", "a"]).0);
    assert_eq!(jobs(&["replay", "--all"]).1, "Jobs queued again: 1.\n");
    assert_eq!(jobs(&["list"]).1, "No jobs with status failed.\n");
    assert_eq!(jobs(&["list", "--status", "waiting", "--json"]).1.lines().count(), 1);
}
