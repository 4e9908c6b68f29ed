//! A server whose disk fills up repeatedly, and one that runs out of file handles: each recovers without a
//! restart, and no acknowledged write is lost.
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

fn connect(serving: &Serving) -> TcpStream {
    TcpStream::connect(serving.url.strip_prefix("http://").unwrap()).unwrap()
}
