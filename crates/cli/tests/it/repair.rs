//! A damaged tree: `verify` and `scrub` report it with the command that repairs it, and `verify --repair`
//! restores all data.

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

/// Copies a directory and changes a byte in each block of the tree that holds rows.
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
    let (success, expected, _) = rig.output(EXPORT, &rig.folder.path("good"));
    assert!(success);
    let path = damaged(&rig, "good");
    let before = snapshot(Path::new(&path));
    let (success, _, err) = rig.output(VERIFY, &path);
    assert!(!success);
    let tree = format!("{path}/tree.redb");
    for expected in [tree.as_str(), "damaged blocks", "at byte", "--repair [--from BACKUP]"] {
        assert!(err.contains(expected), "{expected}: {err}");
    }
    let (success, out, err) = rig.output(SCRUB, &path);
    assert!(!success && out.contains(&tree) && err.contains("--repair"), "{out}{err}");
    let json = [SCRUB, &["--json"]].concat();
    let (success, out, _) = rig.output(&json, &path);
    assert!(!success && out.contains(r#""offset":"#) && out.contains(r#""findings":"#), "{out}");
    assert!(snapshot(Path::new(&path)) == before, "reading changes nothing");
    let (success, out, err) = rig.output(REPAIR, &path);
    assert!(success && out.contains("Tree rebuilt"), "{out}{err}");
    assert!(out.contains("0 left") && out.contains("bytes of free space"), "{out}");
    assert_eq!(rig.output(EXPORT, &path).1, expected);
    let deep = [SCRUB, &["--deep"]].concat();
    for call in [SCRUB, VERIFY, &deep] {
        let (success, out, err) = rig.output(call, &path);
        assert!(success, "{call:?}: {out}{err}");
    }
    // Without damage there is nothing to rebuild.
    let (success, out, _) = rig.output(REPAIR, &path);
    assert!(success && !out.contains("rebuilt"), "{out}");
}

#[test]
fn a_tree_whose_log_is_too_short_is_rebuilt_from_a_backup_of_the_same_store() {
    let rig = rig("repair-from-backup");
    let path = |name: &str| rig.folder.path(name);
    let run = |words: &[&str]| {
        let (success, out, err) = rig.output(words, &path("again"));
        assert!(success, "{words:?}: {out}{err}");
        out
    };
    run(&["backup", "--data", &path("good"), "--to", &path("first")]);
    // The log of a restored store starts at the restore.
    run(&["restore", "--from", &path("first"), "--to", "DIR"]);
    run(&["backup", "--data", "DIR", "--to", &path("second")]);
    run(&["token", "create", "--data", "DIR", "--role", "admin"]);
    let [tokens, tasks] = [&["token", "list", "--data", "DIR"][..], EXPORT].map(run);
    let directory = damaged(&rig, "again");
    let repair = |from: &[&str]| rig.output(&[REPAIR, from].concat(), &directory);
    let (success, _, err) = repair(&[]);
    assert!(!success && err.contains("--from BACKUP") && err.contains("--salvage"), "{err}");
    let (success, _, err) = repair(&["--from", &path("first")]);
    assert!(!success && err.contains("another store"), "{err}");
    let (success, out, err) = repair(&["--from", &path("second")]);
    assert!(success && out.contains("Tree rebuilt"), "{out}{err}");
    assert_eq!(rig.output(EXPORT, &directory).1, tasks);
    assert_eq!(rig.output(&["token", "list", "--data", "DIR"], &directory).1, tokens);
    let [second, scratch] = ["second", "scratch"].map(path);
    let from = [SCRUB, &["--from", &second, "--scratch", &scratch]].concat();
    let (success, out, err) = rig.output(&from, &directory);
    assert!(success && out.contains("0 findings"), "{out}{err}");
    assert!(!Path::new(&scratch).exists());
}

#[test]
fn without_a_backup_salvage_keeps_what_can_be_read() {
    let rig = rig("repair-salvage");
    let path = |name: &str| rig.folder.path(name);
    let run = |words: &[&str], directory: &str| {
        let (success, out, err) = rig.output(words, directory);
        assert!(success, "{words:?}: {out}{err}");
        out
    };
    run(&["backup", "--data", &path("good"), "--to", &path("first")], "");
    run(&["restore", "--from", &path("first"), "--to", "DIR"], &path("again"));
    let before = run(EXPORT, &path("again"));
    let directory = path("damaged");
    copy(Path::new(&path("again")), Path::new(&directory));
    let tree = PathBuf::from(&directory).join("tree.redb");
    let mut bytes = fs::read(&tree).unwrap();
    let has_rows = |block: &[u8]| block[0] == 1 && block.windows(7).any(|text| text == b"wash up");
    let rows = (5..bytes.len() / BLOCK).filter(|n| has_rows(&bytes[n * BLOCK..(n + 1) * BLOCK]));
    // Skips the first ones, which may also hold the engine's own rows.
    for block in rows.skip(2).step_by(5).collect::<Vec<_>>() {
        bytes[block * BLOCK + 2000] ^= 0x41;
    }
    fs::write(&tree, &bytes).unwrap();
    let salvage = [REPAIR, &["--salvage"]].concat();
    let damaged = snapshot(Path::new(&directory));
    assert!(!rig.output(REPAIR, &directory).0);
    assert!(snapshot(Path::new(&directory)) == damaged, "nothing is salvaged without --salvage");
    let out = run(&salvage, &directory);
    assert!(out.contains("Tree salvaged") && out.contains("items lost"), "{out}");
    assert!(out.contains("0 left"), "{out}");
    let after = run(EXPORT, &directory);
    let (kept, all) = (after.lines().count(), before.lines().count());
    assert!(all / 3 < kept && kept < all, "{kept} of {all}");
    let known: std::collections::BTreeSet<&str> = before.lines().collect();
    assert!(after.lines().all(|line| known.contains(line)));
    run(VERIFY, &directory);
    run(SCRUB, &directory);
    // Without damage there is nothing to salvage.
    assert!(!run(&salvage, &directory).contains("salvaged"));
}
