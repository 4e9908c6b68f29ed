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

/// Idle connections take every file handle that the process may have.
#[cfg(unix)]
#[test]
fn a_server_that_runs_out_of_file_handles_is_back_when_they_are_free() {
    let directory = fresh("few-handles");
    let model = scratch("few-handles.toml");
    std::fs::write(&model, MODEL).unwrap();
    let mut serve = Command::new("sh");
    serve.args(["-c", r#"ulimit -n 64 && exec "$@""#, "sh"]).arg(keyloom().get_program());
    serve.arg("serve").arg(&model).args(["--log", "nothing", "--listen", "127.0.0.1:0"]);
    serve.arg("--data").arg(&directory);
    let serving = Serving::of(serve);
    let address = serving.url.strip_prefix("http://").unwrap();
    let mut client = Client::default();
    let mut http = Http::connect(&serving.url, "");
    // More than a segment of the log takes, and the next one needs a handle. A connection that waits
    // is closed when another one comes: its client connects again.
    let mut create_all = |client: &mut Client, until: Option<u16>| {
        let (began, mut count) = (Instant::now(), 0);
        while count < 300 {
            assert!(began.elapsed() < PATIENCE, "{count} answers of status {until:?}");
            match client.create(&mut http) {
                Some(status) => count += usize::from(until.is_none_or(|until| status == until)),
                None => http = Http::connect(&serving.url, ""),
            }
        }
    };
    for _ in 0..3 {
        let idle: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(address).unwrap()).collect();
        create_all(&mut client, None);
        drop(idle);
        create_all(&mut client, Some(201));
    }
    client.check(&mut Http::connect(&serving.url, ""));
    drop(serving);
    let _ = std::fs::remove_dir_all(&directory);
}
