//! Commands on data that a server has open: the server runs them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::http::Http;
use crate::process::{Folder, Served, Serving, app, keyloom, output};
use crate::wrong_directories::{CALLS, Rig};

/// Commands that need exclusive access to the directory.
const ALONE: &[&str] = &["serve", "demo", "dynamodb"];

fn serve(model: &str, data: &str) -> Serving {
    Serving::start(model, &["--data", data])
}

/// Import lines of tasks with these numbers.
fn tasks(numbers: std::ops::Range<u32>) -> String {
    let line = |n| format!(r#"{{"entity":"task","id":"t{n:06}","fields":{{"name":"task {n}"}}}}"#);
    numbers.map(|n| line(n) + "\n").collect()
}

fn send(data: &str, bytes: &[u8]) -> Vec<Value> {
    let mut stream = UnixStream::connect(Path::new(data).join("socket")).unwrap();
    stream.write_all(bytes).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let lines = BufReader::new(stream).lines();
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
}

#[test]
fn every_command_works_while_a_server_has_the_directory_open() {
    let rig = Rig::new("online");
    let good = rig.folder.path("good");
    let mut serving = serve(&app("tasks"), &good);
    for call in CALLS {
        // `DIR` is not the data of these, or the model is another.
        if call.ends_with(&["--to", "DIR"]) || call.contains(&"--from") || call[0] == "jobs" {
            continue;
        }
        let (success, _, err) = rig.output(call, &good);
        let is_refused = ALONE.contains(&call[0]) || call[..2] == ["token", "revoke"];
        assert_eq!(success, !is_refused, "{call:?}: {err}");
        assert!(!ALONE.contains(&call[0]) || err.contains("open in another process"), "{err}");
    }
    assert!(serving.stop());
    assert!(!Path::new(&good).join("socket").exists());
}

#[test]
fn results_are_the_same_with_and_without_a_server() {
    let rig = Rig::with_lines("online-same", tasks(0..3000));
    let good = rig.folder.path("good");
    let calls: [&[&str]; 5] = [
        &["export", "MODEL", "--data", "DIR"],
        &["verify", "MODEL", "--data", "DIR", "--json"],
        &["explain", "MODEL", "--data", "DIR", "/tasks"],
        &["token", "list", "--data", "DIR", "--json"],
        &["backup", "--data", "DIR", "--to", "NEW", "--json"],
    ];
    assert!(rig.output(&["token", "create", "--data", "DIR", "--role", "reader"], &good).0);
    let alone = calls.map(|call| rig.output(call, &good));
    let _serving = serve(&app("tasks"), &good);
    for (call, alone) in calls.iter().zip(alone) {
        assert_eq!(rig.output(call, &good), alone, "{call:?}");
    }
    let (success, _, err) = rig.output(&["jobs", "list", "ONCALL", "--data", "DIR"], &good);
    assert!(!success && err.contains("serves another model"), "{err}");
}

#[test]
fn a_server_serves_imported_data_and_requires_tokens_from_the_first_one_on() {
    let rig = Rig::new("online-import");
    let good = rig.folder.path("good");
    let serving = serve(&app("tasks"), &good);
    let mut http = Http::connect(&serving.url, "");
    let lines = rig.folder.write("more", tasks(0..2000) + "no entry\n" + &tasks(2000..2001));
    let import = ["import", &app("tasks"), "--data", &good, "--keep-going", "--json", &lines];
    let (success, out, err) = output(&import);
    assert!(!success && err.contains("line 2001: "), "{err}");
    let summary: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&summary["created"], &summary["not_imported"]), (&json!(2001), &json!(1)));
    let (_, page) = http.ask("GET", "/tasks?limit=1&total=true", &Value::Null).unwrap();
    assert_eq!(page["total"], json!(2002));
    let (success, token, _) =
        output(&["token", "create", "--data", &good, "--role", "reader", "--json"]);
    assert!(success);
    assert_eq!(http.ask("GET", "/tasks", &Value::Null).unwrap().0, 401);
    let token: Value = serde_json::from_str(&token).unwrap();
    let header = format!("Authorization: Bearer {}\r\n", token["token"].as_str().unwrap());
    let mut reader = Http::connect(&serving.url, &header);
    assert_eq!(reader.ask("GET", "/tasks", &Value::Null).unwrap().0, 200);
    assert!(output(&["token", "revoke", "--data", &good, token["id"].as_str().unwrap()]).0);
    assert_eq!(reader.ask("GET", "/tasks", &Value::Null).unwrap().0, 401);
}

#[test]
fn incremental_backups_of_a_running_server_restore_it() {
    let rig = Rig::with_lines("online-increments", tasks(0..500));
    let good = rig.folder.path("good");
    let _serving = serve(&app("tasks"), &good);
    let path = |name: &str| rig.folder.path(name);
    let backup = |more: &[&str]| {
        let (success, _, err) = output(&[&["backup", "--data", &good][..], more].concat());
        assert!(success, "{err}");
    };
    backup(&["--to", &path("monday")]);
    let mut since = path("monday");
    for (day, first) in [("tuesday", 500), ("wednesday", 1000)] {
        let lines = rig.folder.write(day, tasks(first..first + 500));
        assert!(output(&["import", &app("tasks"), "--data", &good, &lines]).0);
        let to = path(&format!("backup-{day}"));
        backup(&["--to", &to, "--since", &since]);
        since = to;
    }
    let [monday, tuesday, wednesday, again] =
        ["monday", "backup-tuesday", "backup-wednesday", "again"].map(path);
    let restore = ["restore", "--from", &monday, "--to", &again, "--log", &tuesday];
    let (success, _, err) = output(&[&restore[..], &["--log", &wednesday]].concat());
    assert!(success, "{err}");
    let export = |data: &str| output(&["export", &app("tasks"), "--data", data]);
    assert_eq!(export(&again), export(&good));
    assert_eq!(export(&good).1.lines().count(), 1500);
}

#[test]
fn a_dynamodb_server_is_backed_up_without_a_model() {
    let served = Served::start("online-tables");
    let folder = Folder::new("online-tables-copy");
    let data = served.directory().to_str().unwrap();
    let (success, out, err) = output(&["status", "--data", data, "--json"]);
    let status: Value = serde_json::from_str(&out).unwrap_or_default();
    assert!(success && status["server"]["url"] == json!(served.url), "{out}{err}");
    let [free, total] = ["free_bytes", "total_bytes"].map(|name| status[name].as_u64().unwrap());
    assert!(0 < free && free <= total, "{out}");
    assert!(output(&["backup", "--data", data, "--to", &folder.path("copy")]).0);
    let (success, _, err) = output(&["export", &app("tasks"), "--data", data]);
    assert!(!success && err.contains("without a model"), "{err}");
}

#[test]
fn the_socket_is_private_and_survives_hostile_input() {
    let rig = Rig::new("online-hostile");
    let good = rig.folder.path("good");
    let mut serving = serve(&app("tasks"), &good);
    let mode = fs::metadata(Path::new(&good).join("socket")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for bytes in [&b""[..], b"\n", b"{}\n", b"[]", &[0xff; 5000], &[b'['; 1 << 20]] {
        let answers = send(&good, bytes);
        let errors = answers.iter().filter(|answer| answer.get("error").is_some()).count();
        assert_eq!((answers.len(), errors), [(1, 1), (0, 0)][usize::from(bytes.is_empty())]);
    }
    let request = |version: &str, name: &str| {
        send(
            &good,
            format!("{}\n", json!({"version": version, "name": name, "operation": {}})).as_bytes(),
        )
    };
    let version = env!("CARGO_PKG_VERSION");
    for (answers, expected) in [
        (request("0.0.0", "status"), "has version"),
        (request(version, "stop"), "unknown operation: `stop`"),
        (request(version, "backup"), "cannot read the command"),
    ] {
        assert!(answers[0]["error"].as_str().unwrap().contains(expected), "{answers:?}");
    }
    assert!(request(version, "status")[0].get("answer").is_some());
    // Idle connections do not block others for longer than their time-out.
    let idle: Vec<UnixStream> =
        (0..20).map(|_| UnixStream::connect(Path::new(&good).join("socket")).unwrap()).collect();
    assert!(output(&["status", "--data", &good]).0);
    drop(idle);
    assert!(serving.stop());
}

#[test]
fn a_stale_socket_of_a_killed_server_is_ignored() {
    let rig = Rig::new("online-killed");
    let good = rig.folder.path("good");
    let mut serving = serve(&app("tasks"), &good);
    serving.kill();
    let socket = Path::new(&good).join("socket");
    assert!(socket.exists());
    assert!(output(&["export", &app("tasks"), "--data", &good]).0);
    let mut serving = serve(&app("tasks"), &good);
    assert!(output(&["status", "--data", &good]).1.contains(&serving.url));
    assert!(serving.stop());
    // A foreign file at the path stays, and the server runs without a socket.
    fs::write(&socket, "mine").unwrap();
    let mut serving = serve(&app("tasks"), &good);
    let (success, _, err) = output(&["status", "--data", &good]);
    assert!(!success && err.contains("open in another process"), "{err}");
    assert!(serving.stop());
    assert_eq!(fs::read_to_string(&socket).unwrap(), "mine");
}

#[test]
fn a_directory_path_may_exceed_the_limit_of_socket_paths() {
    let folder = Folder::new("online-long");
    let long: PathBuf = ["a-very-long-name-for-a-directory"; 5].iter().collect();
    let data = folder.path(long.to_str().unwrap());
    fs::create_dir_all(&data).unwrap();
    let serving = serve(&app("tasks"), &data);
    let (success, out, err) = output(&["status", "--data", &data]);
    assert!(success && out.contains(&serving.url), "{out}{err}");
}

#[test]
fn a_server_stops_during_running_commands() {
    let rig = Rig::with_lines("online-stop", tasks(0..20_000));
    let good = rig.folder.path("good");
    let mut serving = serve(&app("tasks"), &good);
    // A client that stops reading, and one that stops sending.
    let mut export = keyloom()
        .args(["export", &app("tasks"), "--data", &good])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    export.stdout.as_mut().unwrap().read_exact(&mut [0; 100]).unwrap();
    let operation = json!({"model": fs::read_to_string(app("tasks")).unwrap(), "replace": false,
        "on_problem": "stop", "bytes": null});
    let version = env!("CARGO_PKG_VERSION");
    let request = json!({"version": version, "name": "import", "operation": operation});
    let mut import = UnixStream::connect(Path::new(&good).join("socket")).unwrap();
    write!(import, "{request}\n{}", tasks(0..1)).unwrap();
    assert!(serving.stop());
    let mut rest = Vec::new();
    export.stdout.take().unwrap().read_to_end(&mut rest).unwrap();
    assert!(!export.wait().unwrap().success());
    let mut answers = String::new();
    let _ = import.read_to_string(&mut answers);
    assert!(!answers.contains("answer"), "{answers}");
    assert!(output(&["verify", &app("tasks"), "--data", &good]).0);
}

fn hang_up(serving: &Serving) {
    let process = serving.id().to_string();
    assert!(Command::new("kill").args(["-HUP", &process]).status().unwrap().success());
}

#[test]
fn a_hangup_does_not_stop_a_server() {
    let rig = Rig::new("online-hangup");
    let good = rig.folder.path("good");
    let mut serving = serve(&app("tasks"), &good);
    let mut http = Http::connect(&serving.url, "");
    for _ in 0..20 {
        hang_up(&serving);
        assert_eq!(http.ask("GET", "/tasks", &Value::Null).unwrap().0, 200);
    }
    assert!(serving.stop());
}

#[test]
fn a_hangup_reloads_a_renewed_certificate() {
    let rig = Rig::new("online-renewed");
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/tests/certificates");
    let [certificate, key] = ["cert.pem", "cert.key"].map(|name| rig.folder.path(name));
    let install = |name: &str| {
        for (extension, to) in [("pem", &certificate), ("key", &key)] {
            fs::copy(files.join(name).with_extension(extension), to).unwrap();
        }
    };
    install("localhost");
    let good = rig.folder.path("good");
    let tls = ["--data", &good, "--tls-cert", &certificate, "--tls-key", &key];
    let mut serving = Serving::start(&app("tasks"), &tls);
    let url = serving.url.replace("127.0.0.1", "localhost");
    let is_served = |name: &str| {
        let trusted = files.join(name).with_extension("pem");
        output(&["health", &url, "--ca", trusted.to_str().unwrap()]).0
    };
    assert!(is_served("localhost") && !is_served("renewed"));
    // An invalid certificate changes nothing.
    fs::write(&certificate, "no certificate").unwrap();
    hang_up(&serving);
    assert!((0..20).all(|_| is_served("localhost")));
    install("renewed");
    hang_up(&serving);
    // Signals are delivered asynchronously.
    assert!((0..1000).any(|_| is_served("renewed")));
    assert!(!is_served("localhost"));
    assert!(serving.stop());
}
