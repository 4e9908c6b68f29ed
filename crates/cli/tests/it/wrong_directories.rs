//! Every command that takes a data directory, given something else or an incomplete one: it fails with a
//! message that names the directory and the fix, and changes nothing in it. Commands once emptied such
//! directories and exited with 0.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::help::commands;
use crate::process::{Folder, app, output};

/// The commands that take no data directory.
const WITHOUT_DATA: &[&str] =
    &["check", "chart", "client", "completions", "health", "infrastructure", "mcp", "plan"];

/// Every other command, with `DIR` for the directory and `NEW` for one that does not exist.
pub(crate) const CALLS: &[&[&str]] = &[
    &["serve", "MODEL", "--data", "DIR", "--listen", "127.0.0.1:0"],
    &["demo", "tasks", "--data", "DIR", "--listen", "127.0.0.1:0", "--size", "10"],
    &["dynamodb", "--data", "DIR", "--listen", "127.0.0.1:0"],
    &["import", "MODEL", "--data", "DIR", "LINES"],
    &["token", "create", "--data", "DIR", "--role", "admin"],
    &["token", "list", "--data", "DIR"],
    &["token", "revoke", "--data", "DIR", "0000"],
    &["status", "--data", "DIR"],
    &["jobs", "list", "ONCALL", "--data", "DIR"],
    &["export", "MODEL", "--data", "DIR"],
    &["verify", "MODEL", "--data", "DIR"],
    &["verify", "MODEL", "--data", "DIR", "--repair"],
    &["migrate", "MODEL", "--data", "DIR", "--plan"],
    &["migrate", "MODEL", "--data", "DIR"],
    &["scrub", "--data", "DIR"],
    &["compact", "--data", "DIR"],
    &["explain", "MODEL", "--data", "DIR", "/tasks"],
    &["backup", "--data", "DIR", "--to", "NEW"],
    &["backup", "--data", "GOOD", "--to", "DIR"],
    &["restore", "--from", "DIR", "--to", "NEW"],
    &["restore", "--from", "GOOD", "--to", "DIR"],
    &["copy", "--from", "DIR", "--to", "NEW"],
    &["copy", "--from", "GOOD", "--to", "DIR"],
];

/// Calls that create a store where there is none.
fn creates(call: &[&str]) -> bool {
    let first = ["serve", "demo", "dynamodb", "import"].contains(&call[0]);
    first || call.ends_with(&["--to", "DIR"]) || call[..2] == ["token", "create"]
}

pub(crate) struct Rig {
    pub(crate) folder: Folder,
    model: String,
    lines: String,
}

impl Rig {
    pub(crate) fn new(name: &str) -> Rig {
        let line = r#"{"entity":"task","id":"a","fields":{"name":"wash up"}}"#;
        Rig::with_lines(name, format!("{line}\n"))
    }

    /// Imports these lines into the directory `good`.
    pub(crate) fn with_lines(name: &str, lines: String) -> Rig {
        let folder = Folder::new(name);
        let lines = folder.write("lines", lines);
        let rig = Rig { folder, model: app("tasks"), lines };
        let (success, _, err) =
            output(&["import", &rig.model, "--data", &rig.folder.path("good"), &rig.lines]);
        assert!(success, "{err}");
        rig
    }

    /// Runs a call on a directory: whether it succeeds, and its stderr.
    fn call(&self, call: &[&str], directory: &str) -> (bool, String) {
        let (success, _, err) = self.output(call, directory);
        (success, err)
    }

    /// Runs a call on a directory: whether it succeeds, its stdout and its stderr.
    pub(crate) fn output(&self, call: &[&str], directory: &str) -> (bool, String, String) {
        let [good, new] = ["good", "new"].map(|name| self.folder.path(name));
        let oncall = app("oncall");
        let _ = fs::remove_dir_all(&new);
        let words: Vec<&str> = call
            .iter()
            .map(|word| match *word {
                "MODEL" => self.model.as_str(),
                "ONCALL" => oncall.as_str(),
                "LINES" => self.lines.as_str(),
                "DIR" => directory,
                "GOOD" => good.as_str(),
                "NEW" => new.as_str(),
                word => word,
            })
            .collect();
        output(&words)
    }
}

/// Every file and folder below a path, with the bytes of files.
pub(crate) fn snapshot(path: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let Ok(entries) = fs::read_dir(path) else { return found };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(snapshot(&path));
            found.insert(path, None);
        } else {
            found.insert(path.clone(), Some(fs::read(&path).unwrap()));
        }
    }
    found
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            false => assert!(fs::copy(&path, &target).is_ok()),
        }
    }
}

/// Spoils a copy of a data directory.
type Spoil = fn(&Path);

/// Data directories with a file missing or overwritten, and directories of other programs.
const SPOILT: &[(&str, Spoil)] = &[
    ("format missing", |path| fs::remove_file(path.join("format")).unwrap()),
    ("format empty", |path| fs::write(path.join("format"), "").unwrap()),
    ("format of something else", |path| fs::write(path.join("format"), "png").unwrap()),
    ("format and tree missing", |path| {
        fs::remove_file(path.join("format")).unwrap();
        fs::remove_file(path.join("tree.redb")).unwrap();
    }),
    ("a folder of documents", |path| {
        fs::remove_dir_all(path).unwrap();
        fs::create_dir_all(path).unwrap();
        fs::write(path.join("thesis.tex"), "chapter 1").unwrap();
    }),
    ("a folder with logs", |path| {
        fs::remove_dir_all(path).unwrap();
        fs::create_dir_all(path.join("log")).unwrap();
        fs::write(path.join("log/access.log"), "GET /").unwrap();
    }),
    ("a folder with folders", |path| {
        fs::remove_dir_all(path).unwrap();
        fs::create_dir_all(path.join("photos/2026")).unwrap();
    }),
];

#[test]
fn every_command_with_data_is_tried() {
    for name in commands() {
        let is_tried = CALLS.iter().any(|call| call[0] == name);
        assert!(is_tried != WITHOUT_DATA.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn a_directory_that_is_no_data_directory_is_refused_and_unchanged() {
    let rig = Rig::new("wrong-directories");
    let directory = rig.folder.path("spoilt");
    let path = Path::new(&directory);
    for (what, spoil) in SPOILT {
        let _ = fs::remove_dir_all(path);
        copy(Path::new(&rig.folder.path("good")), path);
        spoil(path);
        let before = snapshot(path);
        for call in CALLS {
            let (success, err) = rig.call(call, &directory);
            assert!(!success, "{what}: {call:?} succeeds");
            assert!(
                err.contains(&directory) && err.contains("Nothing was changed"),
                "{what}: {err}"
            );
            assert!(snapshot(path) == before, "{what}: {call:?} changes the directory");
        }
    }
}

#[test]
fn commands_that_need_data_create_none() {
    let rig = Rig::new("missing-directories");
    let [missing, empty] = ["missing", "empty"].map(|name| rig.folder.path(name));
    fs::create_dir_all(&empty).unwrap();
    for call in CALLS.iter().filter(|call| !creates(call)) {
        for directory in [&missing, &empty] {
            let (success, err) = rig.call(call, directory);
            assert!(
                !success && err.contains("does not contain a Keyloom database"),
                "{call:?}: {err}"
            );
        }
        assert!(!Path::new(&missing).exists(), "{call:?}");
        assert!(snapshot(Path::new(&empty)).is_empty(), "{call:?}");
        assert!(!Path::new(&rig.folder.path("new")).exists(), "{call:?}");
    }
}

#[test]
fn a_file_instead_of_a_directory_is_refused_and_unchanged() {
    let rig = Rig::new("file-as-directory");
    let file = rig.folder.write("file", "mine");
    for call in CALLS {
        let (success, err) = rig.call(call, &file);
        assert!(!success && err.contains(&file), "{call:?}: {err}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine", "{call:?}");
    }
}

#[test]
fn a_port_in_use_is_an_error_before_anything_is_created() {
    let rig = Rig::new("taken-port");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let data = rig.folder.path("data");
    for command in [&["serve", &rig.model][..], &["demo", "tasks"], &["dynamodb"]] {
        let (success, _, err) =
            output(&[command, &["--data", &data, "--listen", &address]].concat());
        assert!(!success && err.contains("another process is using this port"), "{err}");
        assert!(!Path::new(&data).exists(), "{command:?}");
    }
}
