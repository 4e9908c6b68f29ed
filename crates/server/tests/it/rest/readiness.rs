//! Readiness and behaviour of a server that cannot write.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyloom_store::{Background, Disk, Engine, Options};
use keyloom_testkit::{ManualClock, SimDisk};
use serde_json::json;

use super::ask::Ask;
use super::served::{Door, Served, Setup, app};

fn serve(disk: &SimDisk) -> (Served, Arc<Engine>) {
    let options = Options {
        background: Background::Manual,
        clock: Arc::new(ManualClock::new()),
        disk: Arc::new(disk.clone()),
        ..Options::default()
    };
    let engine = Arc::new(Engine::open(Path::new("/data"), options).unwrap());
    let setup = Setup { engine: Some(engine.clone()), ..Setup::new(Door::Open) };
    (Served::start(&app("tasks"), setup), engine)
}

fn used_bytes(disk: &SimDisk) -> u64 {
    disk.files().iter().map(|path| disk.file_bytes(path).unwrap().len() as u64).sum()
}

/// Creates tasks until one is refused. Returns their number and the refusal.
fn fill(served: &Served) -> (usize, crate::rig::Answer) {
    for created in 0..100_000 {
        let text = "x".repeat(20_000);
        let answer = served.ask(&Ask::post("/tasks", &json!({"name": "a", "description": text})));
        if answer.status != 201 {
            return (created, answer);
        }
    }
    panic!("the disk never was full");
}

#[test]
fn a_server_with_a_full_disk_is_not_ready_and_still_reads() {
    let disk = SimDisk::new(1);
    let (served, engine) = serve(&disk);
    assert_eq!(served.ask(&Ask::get("/readyz")).expect_json(200), json!({"status": "ready"}));
    disk.set_capacity(used_bytes(&disk) + 100_000);
    let (created, refused) = fill(&served);
    for refused in [refused, served.ask(&Ask::get("/readyz"))] {
        assert_eq!(refused.outcome(), "503 writes-refused");
        assert_eq!(refused.header("retry-after"), Some("5"));
        let text = refused.text();
        assert!(!text.contains("/data") && !text.contains("full"), "{text}");
    }
    assert_eq!(served.ask(&Ask::get("/healthz")).status, 200);
    let page = served.ask(&Ask::get("/tasks?limit=1000")).expect_json(200);
    assert_eq!(page["items"].as_array().unwrap().len(), created);
    disk.set_capacity(u64::MAX);
    engine.settle().unwrap();
    assert_eq!(served.ask(&Ask::get("/readyz")).status, 200);
    served.ask(&Ask::post("/tasks", &json!({"name": "b"}))).expect_json(201);
}

#[test]
fn a_server_whose_files_are_gone_sends_no_retry_after() {
    let disk = SimDisk::new(2);
    let (served, engine) = serve(&disk);
    let is_segment = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "log");
    let segment = disk.files().into_iter().find(is_segment).unwrap();
    disk.remove(&segment).unwrap();
    assert!(engine.settle().is_err());
    let refused = served.ask(&Ask::post("/tasks", &json!({"name": "a"})));
    for refused in [refused, served.ask(&Ask::get("/readyz"))] {
        assert_eq!(refused.outcome(), "503 writes-refused");
        assert_eq!(refused.header("retry-after"), None);
    }
    assert_eq!(served.ask(&Ask::get("/tasks")).status, 200);
}
