//! A server whose disk fills up repeatedly, and one that runs out of file handles: each recovers without a
//! restart, and no acknowledged write is lost. Idle clients do not take the file handles of the log.
//!
//! The disk is a small tmpfs in a mount namespace of its own. The test is skipped, with a message, where
//! that is not permitted.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::Http;
use crate::process::{Serving, fresh, keyloom, scratch};

const MODEL: &str = r#"
[entity.thing]
id = "given"
fields.number = "int"
fields.body = "text"
list.all = { order = "number" }
"#;
/// Holds two preallocated log segments, the tree and the ballast.
const DISK: &str = "size=80m";
/// A few hundred such bodies fill a segment.
const BODY_BYTES: usize = 60_000;
/// So many fill two segments of the log, which opens others.
const BODIES: usize = 600;
/// The time limit of each wait. After a fault the engine retries at least every 32 seconds.
const PATIENCE: Duration = Duration::from_secs(120);

/// A small file system, visible in the mount namespace of `keeper`.
struct SmallDisk {
    keeper: Child,
    path: PathBuf,
}

impl SmallDisk {
    /// None if mounting is not permitted.
    fn mount(name: &str) -> Option<SmallDisk> {
        let path = fresh(name);
        std::fs::create_dir_all(&path).unwrap();
        let script = r#"mount -t tmpfs -o "$1" tmpfs "$2" && echo mounted && exec sleep 600"#;
        let keeper = Command::new("unshare")
            .args(["--map-root-user", "--mount", "sh", "-c", script, "sh", DISK])
            .arg(&path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut disk = SmallDisk { keeper: keeper.ok()?, path };
        let mut line = String::new();
        BufReader::new(disk.keeper.stdout.take()?).read_line(&mut line).ok()?;
        (line == "mounted\n").then_some(disk)
    }

    /// A command in the namespace.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("nsenter");
        let keeper = self.keeper.id().to_string();
        command.args(["--target", &keeper, "--user", "--mount", "--preserve-credentials", "--"]);
        command.arg(program);
        command
    }

    fn ballast(&self) -> PathBuf {
        self.path.join("ballast")
    }

    /// Fills the disk.
    fn fill(&self) {
        let mut fill = self.command(Path::new("dd"));
        fill.args(["if=/dev/zero", "bs=4k"]).arg(format!("of={}", self.ballast().display()));
        let filled = fill.stderr(Stdio::null()).status().unwrap();
        assert!(!filled.success(), "dd fails when the disk is full");
    }

    fn free(&self) {
        assert!(self.command(Path::new("rm")).arg(self.ballast()).status().unwrap().success());
    }

    fn serve(&self, model: &str) -> Serving {
        let program = keyloom().get_program().to_owned();
        let mut serve = self.command(Path::new(&program));
        serve.args(["serve", model, "--log", "nothing", "--listen", "127.0.0.1:0", "--data"]);
        serve.arg(self.path.join("data"));
        Serving::spawn(serve)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
        let _ = std::fs::remove_dir(&self.path);
    }
}

/// Creates things sequentially, and remembers which were acknowledged.
#[derive(Default)]
struct Client {
    next: u64,
    acknowledged: Vec<u64>,
}

impl Client {
    /// Creates a thing and returns the status of the response, if there is one: 201, or 503 while the
    /// store cannot write.
    fn create(&mut self, http: &mut Http) -> Option<u16> {
        let number = self.next;
        self.next += 1;
        let (id, body) = (format!("t{number}"), "x".repeat(BODY_BYTES));
        let thing = json!({"id": id, "number": number, "body": body});
        let (status, answer) = http.ask("POST", "/things", &thing)?;
        match status {
            201 => self.acknowledged.push(number),
            503 => {}
            other => panic!("{other}: {answer}"),
        }
        Some(status)
    }

    /// Creates things until `count` responses had this status.
    fn create_until(&mut self, http: &mut Http, status: u16, mut count: usize) {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            count -= usize::from(self.create(http).unwrap() == status);
            if count == 0 {
                return;
            }
        }
        panic!("status {status} is missing {count} times");
    }

    /// Asserts that everything acknowledged exists.
    fn check(&self, http: &mut Http) {
        for number in &self.acknowledged {
            let (status, thing) =
                http.ask("GET", &format!("/things/t{number}"), &Value::Null).unwrap();
            assert_eq!(
                (status, thing["number"].as_u64()),
                (200, Some(*number)),
                "{number} is lost"
            );
        }
    }

    /// Deletes everything, which frees space.
    fn delete_all(&mut self, http: &mut Http) {
        for number in self.acknowledged.drain(..) {
            let (status, answer) =
                http.ask("DELETE", &format!("/things/t{number}"), &Value::Null).unwrap();
            assert_eq!(status, 204, "{answer}");
        }
    }
}

#[test]
fn a_server_recovers_from_a_full_disk_and_loses_nothing() {
    let Some(disk) = SmallDisk::mount("small-disk") else {
        eprintln!("Skipped: `unshare --map-root-user --mount` with a tmpfs is not permitted here.");
        return;
    };
    let model = scratch("small-disk.toml");
    std::fs::write(&model, MODEL).unwrap();
    let model = model.to_str().unwrap();
    let mut client = Client::default();
    let mut serving = disk.serve(model);
    let mut http = Http::connect(&serving.url, "");
    for round in 0..2 {
        client.create_until(&mut http, 201, 20);
        disk.fill();
        client.create_until(&mut http, 503, 5);
        assert_eq!(http.ask("GET", "/readyz", &Value::Null).unwrap().0, 503, "round {round}");
        client.check(&mut http);
        disk.free();
        client.create_until(&mut http, 201, 20);
        assert_eq!(http.ask("GET", "/readyz", &Value::Null).unwrap().0, 200, "round {round}");
        client.check(&mut http);
        client.delete_all(&mut http);
    }
    client.create_until(&mut http, 201, 20);
    disk.fill();
    client.create_until(&mut http, 503, 5);
    serving.kill();
    // On a full disk, data can be read; and written once there is space.
    let serving = disk.serve(model);
    let mut http = Http::connect(&serving.url, "");
    client.check(&mut http);
    disk.free();
    client.create_until(&mut http, 201, 20);
    client.check(&mut http);
}

/// Lowers the limit of a running server, which has the effect of handles used up by others.
fn limit_handles(serving: &Serving, soft: &str) -> bool {
    let mut limit = Command::new("prlimit");
    limit.args(["--pid", &serving.id().to_string(), &format!("--nofile={soft}:")]);
    limit.status().is_ok_and(|status| status.success())
}

#[test]
fn a_server_recovers_from_running_out_of_file_handles() {
    let directory = fresh("few-handles");
    let model = scratch("few-handles.toml");
    std::fs::write(&model, MODEL).unwrap();
    let data = directory.to_str().unwrap();
    let serving = Serving::start(model.to_str().unwrap(), &["--data", data]);
    let mut http = Http::connect(&serving.url, "");
    let mut client = Client::default();
    for _ in 0..2 {
        client.create_until(&mut http, 201, 20);
        if !limit_handles(&serving, "4") {
            eprintln!("Skipped: no `prlimit` that may change limits here.");
            return;
        }
        // New connections wait, the existing one continues. The log needs a handle for its next segment.
        let idle: Vec<TcpStream> = (0..50).map(|_| connect(&serving)).collect();
        client.create_until(&mut http, 503, 5);
        client.check(&mut http);
        assert!(limit_handles(&serving, "1024"));
        client.create_until(&mut http, 201, 20);
        assert_eq!(http.ask("GET", "/readyz", &Value::Null).unwrap().0, 200);
        drop(idle);
        client.check(&mut Http::connect(&serving.url, ""));
    }
    drop(serving);
    let _ = std::fs::remove_dir_all(&directory);
}

/// A server that has only so many file handles and cannot raise the limit.
fn with_handles(handles: &str, arguments: &[&str]) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"ulimit -n "$1" && shift && exec "$@""#, "sh", handles]);
    shell.arg(keyloom().get_program()).args(arguments).args(["--listen", "127.0.0.1:0"]);
    shell
}

/// Idle clients that would take nearly all of 1,024 file handles. They are as many here.
#[expect(clippy::print_stderr, reason = "says why a test is skipped")]
fn idle_crowd(serving: &Serving) -> Option<Vec<TcpStream>> {
    const HANDLES: u64 = 2048;
    if rlimit::increase_nofile_limit(HANDLES).is_ok_and(|limit| limit >= HANDLES) {
        return Some((0..1010).map(|_| connect(serving)).collect());
    }
    eprintln!("Skipped: fewer than {HANDLES} file handles here.");
    None
}

#[test]
fn idle_clients_leave_the_log_of_a_model_its_file_handles() {
    let directory = fresh("idle-crowd");
    let model = scratch("idle-crowd.toml");
    std::fs::write(&model, MODEL).unwrap();
    let (model, data) = (model.to_str().unwrap(), directory.to_str().unwrap());
    let serve = ["serve", model, "--data", data, "--log", "nothing"];
    let serving = Serving::spawn(with_handles("1024", &serve));
    let Some(_idle) = idle_crowd(&serving) else { return };
    let (mut http, mut client) = (Http::connect(&serving.url, ""), Client::default());
    for _ in 0..BODIES {
        assert_eq!(client.create(&mut http), Some(201));
    }
    assert_eq!(http.ask("GET", "/readyz", &Value::Null).unwrap().0, 200);
    client.check(&mut Http::connect(&serving.url, ""));
    drop(serving);
    let _ = std::fs::remove_dir_all(&directory);
}

#[test]
fn idle_clients_leave_the_log_of_tables_its_file_handles() {
    let directory = fresh("idle-crowd-tables");
    let serve = ["dynamodb", "--data", directory.to_str().unwrap()];
    let serving = Serving::spawn(with_handles("1024", &serve));
    let Some(_idle) = idle_crowd(&serving) else { return };
    let target = |operation| format!("X-Amz-Target: DynamoDB_20120810.{operation}\r\n");
    let table = json!({
        "TableName": "things",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "N"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    });
    let mut http = Http::connect(&serving.url, &target("CreateTable"));
    assert_eq!(http.ask("POST", "/", &table).unwrap().0, 200);
    let mut http = Http::connect(&serving.url, &target("PutItem"));
    for number in 0..BODIES {
        let item = json!({"id": {"N": number.to_string()}, "body": {"S": "x".repeat(BODY_BYTES)}});
        let put = json!({"TableName": "things", "Item": item});
        assert_eq!(http.ask("POST", "/", &put).unwrap().0, 200);
    }
    assert_eq!(http.ask("GET", "/readyz", &Value::Null).unwrap().0, 200);
    drop(serving);
    let _ = std::fs::remove_dir_all(&directory);
}

fn connect(serving: &Serving) -> TcpStream {
    TcpStream::connect(serving.url.strip_prefix("http://").unwrap()).unwrap()
}
