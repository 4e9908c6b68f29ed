//! Backups that administrators start, on a real disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use keyloom::Db;
use keyloom_server::Role;
use keyloom_store::{Background, Engine, Options};
use pollster::block_on;
use serde_json::{Value, json};

use super::ask::Ask;
use super::served::{Door, Served, Setup, app};

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("keyloom-backups-{}-{number}", std::process::id());
        Folder(std::env::temp_dir().join(name))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn open(path: &Path) -> Engine {
    let options = Options { background: Background::Manual, ..Options::default() };
    Engine::open(path, options).unwrap()
}

fn serve(folder: &Folder) -> Served {
    let engine = Arc::new(open(&folder.path("data")));
    let backup_folder = Some(folder.path("backups"));
    let setup = Setup { engine: Some(engine), backup_folder, ..Setup::new(Door::Closed) };
    Served::start(&app("tasks"), setup)
}

/// The list of backups, once the latest one has ended.
fn ended(served: &Served, admin: &str) -> Value {
    loop {
        let list = served.ask(&Ask::get("/console/backups").bearer(admin)).expect_json(200);
        if list["latest"]["state"] != "running" {
            return list;
        }
    }
}

#[test]
fn an_administrator_backs_up_into_the_folder_of_the_operator() {
    let folder = Folder::new();
    let served = serve(&folder);
    let admin = served.token(Role::Admin, None);
    let list = served.ask(&Ask::get("/console/backups").bearer(&admin)).expect_json(200);
    assert_eq!(list, json!({ "items": [] }));
    for number in 0..50 {
        let task = json!({ "name": format!("task {number}") });
        served.ask(&Ask::post("/tasks", &task).bearer(&admin)).expect_json(201);
    }
    let start = Ask::new("POST", "/console/backups").bearer(&admin);
    let started = served.ask(&start).expect_json(202);
    let name = started["name"].as_str().unwrap();
    assert!(name.starts_with("backup-") && !name.contains([':', '/']), "{name}");
    let list = ended(&served, &admin);
    assert_eq!((&list["latest"]["state"], &list["latest"]["name"]), (&json!("done"), &json!(name)));
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    assert!(list["items"][0]["bytes"].as_u64() > Some(0), "{list}");
    // Another one at the same moment: the clock of this test stands still, and nothing is overwritten.
    served.ask(&start).expect_json(202);
    assert_eq!(ended(&served, &admin)["latest"]["state"], "failed");
    assert_eq!(ended(&served, &admin)["items"], list["items"]);
    served.rig.clock.advance_ms(1);
    served.ask(&start).expect_json(202);
    let list = ended(&served, &admin);
    assert_eq!(list["latest"]["state"], "done");
    assert!(list["items"][0]["name"].as_str() > list["items"][1]["name"].as_str(), "{list}");
    // It opens, and holds every row.
    let options = Options { background: Background::Manual, ..Options::default() };
    let backup = Engine::open_existing(folder.path("backups").join(name), options).unwrap();
    let tasks = block_on(async {
        let db = Db::open(&app("tasks"), Arc::new(backup)).await.unwrap();
        db.list("task", "all").limit(100).read().await.unwrap().items.len()
    });
    assert_eq!(tasks, 50);
    assert!(list["latest"]["rows"].as_u64() >= Some(50), "{list}");
}

#[test]
fn nobody_else_backs_up_and_no_client_names_a_path() {
    let folder = Folder::new();
    let served = serve(&folder);
    let (admin, writer) = (served.token(Role::Admin, None), served.token(Role::Writer, None));
    let outcome = |ask: Ask| served.ask(&ask).outcome();
    for method in ["GET", "POST"] {
        let ask = Ask::new(method, "/console/backups");
        assert_eq!(outcome(ask), "401 unauthorized");
        let ask = Ask::new(method, "/console/backups").bearer(&writer);
        assert_eq!(outcome(ask), "403 forbidden");
        let ask = Ask::new(method, "/console/backups?to=/tmp/elsewhere").bearer(&admin);
        assert_eq!(outcome(ask), "400 bad-parameter");
    }
    assert!(!folder.path("backups").exists(), "nothing was made");
}

#[test]
fn without_a_folder_there_are_no_backups() {
    let served = Served::open(&app("tasks"));
    for method in ["GET", "POST"] {
        let refused = served.ask(&Ask::new(method, "/console/backups"));
        assert_eq!(refused.outcome(), "409 wrong-state");
        assert!(refused.text().contains("--backup-dir"), "{}", refused.text());
    }
}

#[test]
fn a_folder_that_cannot_be_read_is_reported_without_its_path() {
    let folder = Folder::new();
    let served = serve(&folder);
    let admin = served.token(Role::Admin, None);
    std::fs::write(folder.path("backups"), "a file").unwrap();
    let refused = served.ask(&Ask::get("/console/backups").bearer(&admin));
    assert_eq!(refused.outcome(), "500 internal");
    assert!(!refused.text().contains("keyloom-backups"), "{}", refused.text());
    served.ask(&Ask::get("/tasks").bearer(&admin)).expect_json(200);
}
