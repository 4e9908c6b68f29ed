//! A server on a file system that fills up, is freed and fills up again, and one that runs out of file
//! handles: it is back without a restart, and nothing that it acknowledged is lost.
//!
//! The file system is a small one in memory, in a mount namespace of its own. Where that is not allowed,
//! the test says so and is skipped.

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
/// Two segments of the log are prepared; the tree and what fills it up need some more.
const DISK: &str = "size=80m";
/// So large that a segment is full after a few hundred.
const BODY_BYTES: usize = 60_000;
/// How long something that should happen may take. After a fault it is tried again every 32 seconds at
/// the latest.
const PATIENCE: Duration = Duration::from_secs(120);

/// A small file system. Whoever is in the namespace of its keeper sees it.
struct SmallDisk {
    keeper: Child,
    path: PathBuf,
}

impl SmallDisk {
    /// None where nobody may mount one.
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

    /// A program that sees it.
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

    /// Takes all that is free.
    fn fill(&self) {
        let mut fill = self.command(Path::new("dd"));
        fill.args(["if=/dev/zero", "bs=4k"]).arg(format!("of={}", self.ballast().display()));
        let filled = fill.stderr(Stdio::null()).status().unwrap();
        assert!(!filled.success(), "it ends when the disk is full");
    }

    fn free(&self) {
        assert!(self.command(Path::new("rm")).arg(self.ballast()).status().unwrap().success());
    }

    fn serve(&self, model: &str) -> Serving {
        let program = keyloom().get_program().to_owned();
        let mut serve = self.command(Path::new(&program));
        serve.args(["serve", model, "--log", "nothing", "--listen", "127.0.0.1:0", "--data"]);
        serve.arg(self.path.join("data"));
        Serving::of(serve)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
        let _ = std::fs::remove_dir(&self.path);
    }
}

/// Creates things one after the other, and remembers which were acknowledged.
#[derive(Default)]
struct Client {
    next: u64,
    acknowledged: Vec<u64>,
}

impl Client {
    /// Creates one; the status of the answer, if there was one. The only refusal is that the store
    /// cannot write.
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

    /// Creates until so many answers had this status.
    fn create_until(&mut self, http: &mut Http, status: u16, mut count: usize) {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            count -= usize::from(self.create(http).unwrap() == status);
            if count == 0 {
                return;
            }
        }
        panic!("status {status} did not come {count} more times");
    }

    /// Everything acknowledged is there.
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

    /// Makes room for more.
    fn delete_all(&mut self, http: &mut Http) {
        for number in self.acknowledged.drain(..) {
            let (status, answer) =
                http.ask("DELETE", &format!("/things/t{number}"), &Value::Null).unwrap();
            assert_eq!(status, 204, "{answer}");
        }
    }
}

#[test]
fn a_server_on_a_disk_that_fills_up_and_is_freed_is_back_and_has_lost_nothing() {
    let Some(disk) = SmallDisk::mount("small-disk") else {
        eprintln!("Skipped: `unshare --map-root-user --mount` with a tmpfs is not allowed here.");
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
    // Full as it is, it can be read; and written once there is room.
    let serving = disk.serve(model);
    let mut http = Http::connect(&serving.url, "");
    client.check(&mut http);
    disk.free();
    client.create_until(&mut http, 201, 20);
    client.check(&mut http);
}

/// A limit that is lowered under it is as good as handles that others have taken.
fn limit_handles(serving: &Serving, soft: &str) -> bool {
    let mut limit = Command::new("prlimit");
    limit.args(["--pid", &serving.id().to_string(), &format!("--nofile={soft}:")]);
    limit.status().is_ok_and(|status| status.success())
}

#[test]
fn a_server_that_runs_out_of_file_handles_is_back_when_they_are_free() {
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
            eprintln!("Skipped: there is no `prlimit` that may change limits here.");
            return;
        }
        // Connections wait; the one there is goes on. The log needs a handle for its next segment.
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
