//! Long reads next to short ones, and beyond their time limit.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use keyloom_server::{Limits, OwnAnswer, OwnReply, OwnRequest, OwnRoute, OwnShape, Role};
use pollster::block_on;
use serde_json::json;

use super::ask::Ask;
use super::served::{Door, Served, Setup, app, engine};
use crate::crowding::{HEAVY_CLIENTS, assert_light_passes_heavy};
use crate::rig::Answer;

const TASKS: usize = 3000;

/// `GET /long`, which reads until it is stopped.
struct Long {
    is_enough: Arc<AtomicBool>,
    /// One message for each request that has started reading.
    begun: mpsc::Receiver<()>,
    /// One message for each request whose reads have ended.
    ended: mpsc::Receiver<()>,
}

/// Reports when it is dropped.
struct Ended(mpsc::Sender<()>);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

impl Long {
    fn route() -> (Long, OwnRoute) {
        let ((begin, begun), (end, ended)) = (mpsc::channel(), mpsc::channel());
        let is_enough = Arc::new(AtomicBool::new(false));
        let long = Long { is_enough: Arc::clone(&is_enough), begun, ended };
        let handler = move |request: OwnRequest| -> OwnAnswer {
            let (is_enough, begin) = (Arc::clone(&is_enough), begin.clone());
            let ended = Ended(end.clone());
            Box::pin(async move {
                let _ended = ended;
                let list = request.db.list("task", "all").limit(100);
                list.read().await?;
                // The receiver may be gone.
                let _ = begin.send(());
                while !is_enough.load(Ordering::Relaxed) {
                    list.read().await?;
                }
                Ok(OwnReply::new("true"))
            })
        };
        let route = OwnRoute {
            name: "long",
            method: "GET",
            path: "/long",
            summary: "Reads until it is enough.",
            role: Some(Role::Reader),
            answer: OwnShape::Json("true"),
            handler: Arc::new(handler),
        };
        (long, route)
    }
}

fn served(own: Vec<OwnRoute>, answer_time: Duration) -> Served {
    let setup = Setup::new(Door::Open);
    let limits = Limits { answer_time, ..setup.limits };
    Served::start(&app("tasks"), Setup { own, store: engine, limits, ..setup })
}

fn create(served: &Served) -> String {
    let task = block_on(served.db.create("task", &json!({"name": "light"}))).unwrap();
    task.id().to_owned()
}

/// Without a pool the long reads would occupy all threads of the server.
#[test]
fn a_light_request_is_answered_while_long_reads_outnumber_the_threads() {
    let (long, route) = Long::route();
    let served = served(vec![route], Duration::from_secs(30));
    let light = Ask::get(&format!("/tasks/{}", create(&served)));
    let mut heavy: Vec<_> = (0..HEAVY_CLIENTS).map(|_| served.rig.connect()).collect();
    for client in &mut heavy {
        client.write_all(&Ask::get("/long").bytes()).unwrap();
    }
    // All of them get turns: none waits for the end of another.
    (0..HEAVY_CLIENTS).for_each(|_| long.begun.recv().unwrap());
    for _ in 0..10 {
        assert_eq!(served.ask(&light).status, 200);
        assert_eq!(served.ask(&Ask::get("/tasks?limit=20")).status, 200);
        assert_eq!(served.ask(&Ask::post("/tasks", &json!({"name": "new"}))).status, 201);
    }
    assert!(long.ended.try_recv().is_err(), "they are still reading");
    long.is_enough.store(true, Ordering::Relaxed);
    for client in &mut heavy {
        assert_eq!(Answer::read(client).status, 200);
    }
}

#[test]
fn a_light_request_passes_long_pages() {
    let served = served(vec![], Duration::from_secs(30));
    for _ in 0..TASKS / 100 {
        let create =
            |number: usize| json!({"create": "task", "document": {"name": number.to_string()}});
        let changes: Vec<_> = (0..100).map(create).collect();
        let batch = Ask::post("/transaction", &json!({ "changes": changes }));
        assert_eq!(served.ask(&batch).status, 200);
    }
    let light = Ask::get(&format!("/tasks/{}", create(&served)));
    let heavy = Ask::get("/tasks?limit=1000").bytes();
    assert_light_passes_heavy(&served.rig, &light.bytes(), &heavy);
}

#[test]
fn a_long_read_times_out_and_ends() {
    let (long, route) = Long::route();
    let served = served(vec![route], Duration::from_millis(100));
    create(&served);
    let late = served.ask(&Ask::get("/long"));
    assert_eq!(late.outcome(), "503 overdue");
    // The test did not stop it.
    long.ended.recv().unwrap();
}

#[test]
fn a_read_ends_when_its_client_disconnects() {
    let (long, route) = Long::route();
    let served = served(vec![route], Duration::from_secs(3600));
    create(&served);
    let mut client = served.rig.connect();
    client.write_all(&Ask::get("/long").bytes()).unwrap();
    long.begun.recv().unwrap();
    drop(client);
    long.ended.recv().unwrap();
}
