//! Every command on data directories with a file missing, empty, truncated, replaced or with one byte
//! changed: it reports the damage or works correctly. Commands that read change nothing.

use std::fs;
use std::path::{Path, PathBuf};

use crate::wrong_directories::{Rig, copy, snapshot};

/// Commands that only read.
const READS: &[&[&str]] = &[
    &["export", "MODEL", "--data", "DIR"],
    &["verify", "MODEL", "--data", "DIR"],
    &["token", "list", "--data", "DIR"],
    &["explain", "MODEL", "--data", "DIR", "/tasks"],
    &["backup", "--data", "DIR", "--to", "NEW"],
    &["scrub", "--data", "DIR"],
];

/// Commands that write, but leave the tasks unchanged.
const WRITES: &[&[&str]] = &[
    &["import", "MODEL", "--data", "DIR", "LINES"],
    &["token", "create", "--data", "DIR", "--role", "admin"],
    &["verify", "MODEL", "--data", "DIR", "--repair"],
];

const TASKS: usize = 300;

/// A directory `good` with tasks and a token.
fn rig(name: &str) -> Rig {
    let line = |n| {
        let text = "wash up ".repeat(20);
        format!(r#"{{"entity":"task","id":"t{n}","fields":{{"name":"{text}{n}"}}}}"#) + "\n"
    };
    let rig = Rig::with_lines(name, (0..TASKS).map(line).collect());
    let (success, _, err) = rig.output(WRITES[1], &rig.folder.path("good"));
    assert!(success, "{err}");
    rig
}

/// Copies the good directory and damages a file of the copy.
fn damaged(rig: &Rig, file: &Path, damage: impl FnOnce(&Path)) -> PathBuf {
    let path = PathBuf::from(rig.folder.path("damaged"));
    let _ = fs::remove_dir_all(&path);
    copy(Path::new(&rig.folder.path("good")), &path);
    damage(&path.join(file));
    path
}

type Damage = Box<dyn Fn(&Path)>;

fn damages(len: usize) -> Vec<(String, Damage)> {
    let mut all: Vec<(String, Damage)> = vec![
        ("missing".to_owned(), Box::new(|path| fs::remove_file(path).unwrap())),
        ("empty".to_owned(), Box::new(|path| fs::write(path, "").unwrap())),
        ("foreign".to_owned(), Box::new(|path| fs::write(path, "somebody else's\n").unwrap())),
        (
            "truncated".to_owned(),
            Box::new(|path| {
                let bytes = fs::read(path).unwrap();
                fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
            }),
        ),
    ];
    for part in 0..8 {
        let at = len * part / 8;
        let change = move |path: &Path| {
            let mut bytes = fs::read(path).unwrap();
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 0x41;
            }
            fs::write(path, bytes).unwrap();
        };
        all.push((format!("byte {at} changed"), Box::new(change)));
    }
    all
}

#[test]
fn every_command_reports_a_damaged_file_or_works_correctly() {
    let rig = rig("damaged-files");
    let output = |call: &[&str], directory: &Path| rig.output(call, directory.to_str().unwrap());
    let good = PathBuf::from(rig.folder.path("good"));
    let expected: Vec<String> = READS.iter().map(|call| output(call, &good).1).collect();
    assert_eq!(expected[0].lines().count(), TASKS);
    let files = snapshot(&good).into_iter();
    let files: Vec<(PathBuf, usize)> = files
        .filter_map(|(path, bytes)| {
            Some((path.strip_prefix(&good).unwrap().to_owned(), bytes?.len()))
        })
        .collect();
    for name in ["format", "tree.redb", "log/end"] {
        assert!(files.iter().any(|(path, _)| path == Path::new(name)), "{files:?}");
    }
    for (file, len) in &files {
        for (what, damage) in damages(*len) {
            let what = format!("{} {what}", file.display());
            let directory = damaged(&rig, file, &damage);
            let before = snapshot(&directory);
            for (call, expected) in READS.iter().zip(&expected) {
                let (success, out, err) = output(call, &directory);
                assert!(!err.contains("panicked"), "{what}: {call:?}: {err}");
                match success {
                    true => assert_eq!(&out, expected, "{what}: {call:?}"),
                    false => assert!(err.contains(rig.folder.path("damaged").as_str()), "{err}"),
                }
                assert!(snapshot(&directory) == before, "{what}: {call:?} changes the directory");
            }
            for call in WRITES {
                let directory = damaged(&rig, file, &damage);
                let (success, _, err) = output(call, &directory);
                assert!(!err.contains("panicked"), "{what}: {call:?}: {err}");
                let (success, out, err) = match success {
                    true => output(READS[0], &directory),
                    false => (false, String::new(), err),
                };
                match success {
                    true => assert_eq!(out, expected[0], "{what}: after {call:?}"),
                    false => assert!(err.contains(rig.folder.path("damaged").as_str()), "{err}"),
                }
            }
        }
    }
}
