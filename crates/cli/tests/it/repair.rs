//! A damaged tree: `verify` says what is damaged and how to repair it, `scrub` finds it, `--repair`
//! brings everything back.

use std::fs;
use std::path::{Path, PathBuf};

use crate::wrong_directories::{Rig, copy, snapshot};

const BLOCK: usize = 4096;
const EXPORT: &[&str] = &["export", "MODEL", "--data", "DIR"];
const VERIFY: &[&str] = &["verify", "MODEL", "--data", "DIR"];
const REPAIR: &[&str] = &["verify", "MODEL", "--data", "DIR", "--repair"];
const SCRUB: &[&str] = &["scrub", "--data", "DIR"];

fn rig(name: &str) -> Rig {
    let line = |n| {
        let text = "wash up ".repeat(20);
        format!(r#"{{"entity":"task","id":"t{n}","fields":{{"name":"{text}{n}"}}}}"#) + "\n"
    };
    Rig::with_lines(name, (0..300).map(line).collect())
}

/// Copies a directory, and changes a byte in a few blocks of the tree that hold rows.
fn damaged(rig: &Rig, from: &str) -> String {
    let path = rig.folder.path("damaged");
    let _ = fs::remove_dir_all(&path);
    copy(Path::new(&rig.folder.path(from)), Path::new(&path));
    let tree = PathBuf::from(&path).join("tree.redb");
    let mut bytes = fs::read(&tree).unwrap();
    let rows = (5..bytes.len() / BLOCK).filter(|block| {
        let block = &bytes[block * BLOCK..(block + 1) * BLOCK];
        block.windows(7).any(|text| text == b"wash up")
    });
    for block in rows.collect::<Vec<_>>() {
        bytes[block * BLOCK + 2000] ^= 0x41;
    }
    fs::write(&tree, bytes).unwrap();
    path
}

#[test]
fn a_damaged_tree_is_reported_and_rebuilt_from_the_log() {
    let rig = rig("repair-from-log");
    let (success, expected, _) = rig.told(EXPORT, &rig.folder.path("good"));
    assert!(success);
    let path = damaged(&rig, "good");
    let before = snapshot(Path::new(&path));
    let (success, _, err) = rig.told(VERIFY, &path);
    assert!(!success);
    let tree = format!("{path}/tree.redb");
    for expected in [tree.as_str(), "damaged blocks", "at byte", "--repair [--from BACKUP]"] {
        assert!(err.contains(expected), "{expected}: {err}");
    }
    let (success, out, err) = rig.told(SCRUB, &path);
    assert!(!success && out.contains(&tree) && err.contains("--repair"), "{out}{err}");
    let json = [SCRUB, &["--json"]].concat();
    let (success, out, _) = rig.told(&json, &path);
    assert!(!success && out.contains(r#""offset":"#) && out.contains(r#""findings":"#), "{out}");
    assert!(snapshot(Path::new(&path)) == before, "reading changes nothing");
    let (success, out, err) = rig.told(REPAIR, &path);
    assert!(success && out.contains("Tree rebuilt"), "{out}{err}");
    assert!(out.contains("0 left") && out.contains("bytes of free space"), "{out}");
    assert_eq!(rig.told(EXPORT, &path).1, expected);
    let deep = [SCRUB, &["--deep"]].concat();
    for call in [SCRUB, VERIFY, &deep] {
        let (success, out, err) = rig.told(call, &path);
        assert!(success, "{call:?}: {out}{err}");
    }
    // Without damage there is nothing to rebuild.
    let (success, out, _) = rig.told(REPAIR, &path);
    assert!(success && !out.contains("rebuilt"), "{out}");
}

#[test]
fn a_tree_whose_log_is_too_short_is_rebuilt_from_a_backup_of_the_same_store() {
    let rig = rig("repair-from-backup");
    let path = |name: &str| rig.folder.path(name);
    let run = |words: &[&str]| {
        let (success, out, err) = rig.told(words, &path("again"));
        assert!(success, "{words:?}: {out}{err}");
        out
    };
    run(&["backup", "--data", &path("good"), "--to", &path("first")]);
    // The log of a restored store begins with what comes after.
    run(&["restore", "--from", &path("first"), "--to", "DIR"]);
    run(&["backup", "--data", "DIR", "--to", &path("second")]);
    run(&["token", "create", "--data", "DIR", "--role", "admin"]);
    let [tokens, tasks] = [&["token", "list", "--data", "DIR"][..], EXPORT].map(run);
    let directory = damaged(&rig, "again");
    let repair = |from: &[&str]| rig.told(&[REPAIR, from].concat(), &directory);
    let (success, _, err) = repair(&[]);
    assert!(!success && err.contains("--from BACKUP") && err.contains("keyloom export"), "{err}");
    let (success, _, err) = repair(&["--from", &path("first")]);
    assert!(!success && err.contains("another store"), "{err}");
    let (success, out, err) = repair(&["--from", &path("second")]);
    assert!(success && out.contains("Tree rebuilt"), "{out}{err}");
    assert_eq!(rig.told(EXPORT, &directory).1, tasks);
    assert_eq!(rig.told(&["token", "list", "--data", "DIR"], &directory).1, tokens);
    let [second, scratch] = ["second", "scratch"].map(path);
    let from = [SCRUB, &["--from", &second, "--scratch", &scratch]].concat();
    let (success, out, err) = rig.told(&from, &directory);
    assert!(success && out.contains("0 findings"), "{out}{err}");
    assert!(!Path::new(&scratch).exists());
}
