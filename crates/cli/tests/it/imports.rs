//! Import by example: any order, cycles, long chains, defaults, stdin.

use std::io::Write;
use std::ops::Range;
use std::process::Stdio;

use crate::process::{Folder, keyloom, output};

const MODEL: &str = "
[entity.person]
fields.name = 'text'
fields.boss = 'ref person clear?'
fields.since = 'time = now'
fields.mood = \"text? = 'good'\"

[entity.hen]
fields.egg = 'ref egg refuse'

[entity.egg]
fields.hen = 'ref hen refuse'
";

fn person(id: usize, boss: Option<usize>) -> String {
    let boss = boss.map(|boss| format!(",\"boss\":\"{boss}\"")).unwrap_or_default();
    format!("{{\"entity\":\"person\",\"id\":\"{id}\",\"fields\":{{\"name\":\"n\"{boss}}}}}\n")
}

fn import(folder: &Folder, lines: &str) -> (bool, String, String) {
    let model = folder.write("model.toml", MODEL);
    let file = folder.write("lines", lines);
    output(&["import", &model, "--data", &folder.path("data"), &file])
}

fn verified(folder: &Folder) -> bool {
    output(&["verify", &folder.path("model.toml"), "--data", &folder.path("data")]).0
}

#[test]
fn a_chain_is_imported_from_either_end() {
    let count = 3000;
    let mut chain: Vec<String> =
        (0..count).map(|id| person(id, (id > 0).then(|| id - 1))).collect();
    for (name, is_reversed) in [("chain", false), ("reversed-chain", true)] {
        if is_reversed {
            chain.reverse();
        }
        let folder = Folder::new(name);
        let (success, out, err) = import(&folder, &chain.concat());
        assert!(success && out.starts_with("3,000 created"), "{out}{err}");
        assert!(verified(&folder));
    }
}

#[test]
fn entities_in_a_cycle_are_imported_in_one_transaction() {
    let folder = Folder::new("circles");
    let circle = "{\"entity\":\"hen\",\"id\":\"h\",\"fields\":{\"egg\":\"e\"}}\n\
                  {\"entity\":\"egg\",\"id\":\"e\",\"fields\":{\"hen\":\"h\"}}\n";
    let people = [person(1, Some(2)), person(2, Some(3)), person(3, Some(1)), person(4, Some(4))];
    let (success, out, err) = import(&folder, &format!("{circle}{}", people.concat()));
    assert!(success && out.starts_with("6 created"), "{out}{err}");
    assert!(verified(&folder));
    let data = folder.path("data");
    let (_, exported, _) = output(&["export", &folder.path("model.toml"), "--data", &data]);
    let other = Folder::new("circles-again");
    let (success, out, err) = import(&other, &exported);
    assert!(success && out.starts_with("6 created"), "{out}{err}");

    let long: String =
        (10..200).map(|id| person(id, Some(if id < 199 { id + 1 } else { 10 }))).collect();
    let (success, _, err) = import(&other, &long);
    assert!(!success && err.contains("189 others refer to each other"), "{err}");
    assert!(err.contains("touches 190 rows, and the limit is 100"), "{err}");
}

/// Of the tree, and of its rows.
fn tree_bytes(folder: &Folder) -> (u64, u64) {
    let (success, out, err) = output(&["status", "--data", &folder.path("data"), "--json"]);
    assert!(success, "{err}");
    let status: serde_json::Value = serde_json::from_str(&out).unwrap();
    let bytes = |name: &str| status[name].as_u64().unwrap_or_else(|| panic!("{out}"));
    (bytes("tree_bytes"), bytes("live_bytes"))
}

#[test]
fn an_import_that_loads_most_of_the_data_compacts_it() {
    let folder = Folder::new("compacted-import");
    let text = "x".repeat(1000);
    // In no order of ids, so that pages are split everywhere.
    let line = |id: usize| {
        let id = id.wrapping_mul(2_654_435_761) % 1_000_003;
        format!("{{\"entity\":\"person\",\"id\":\"{id}\",\"fields\":{{\"name\":\"{text}\"}}}}\n")
    };
    let lines = |ids: Range<usize>| ids.map(line).collect::<String>();
    let (success, out, err) = import(&folder, &lines(0..25_000));
    assert!(success && out.starts_with("25,000 created"), "{out}{err}");
    let (loaded, live) = tree_bytes(&folder);
    assert!(loaded < live / 4 * 5, "{loaded} bytes for {live} bytes of rows");
    // Half as many more are not: the file has grown by more than their rows.
    let (success, out, err) = import(&folder, &lines(25_000..37_000));
    assert!(success && out.starts_with("12,000 created"), "{out}{err}");
    let (more, live) = tree_bytes(&folder);
    assert!(more >= live / 4 * 5, "{more} bytes for {live} bytes of rows");
    assert!(verified(&folder));
}

#[test]
fn defaults_are_filled_once_and_absence_is_kept() {
    let folder = Folder::new("defaults");
    let lines = "{\"entity\":\"person\",\"id\":\"1\",\"fields\":{\"name\":\"a\",\"mood\":null}}\n\
                 {\"entity\":\"person\",\"id\":\"2\",\"fields\":{\"name\":\"b\"}}\n";
    assert!(import(&folder, lines).0);
    // `since` got a time by default; a repeated import must not see a difference.
    let (success, out, err) = import(&folder, lines);
    assert!(success && out.contains("2 unchanged"), "{out}{err}");
    let (_, out, _) =
        output(&["export", &folder.path("model.toml"), "--data", &folder.path("data")]);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].contains("\"mood\":null") && lines[1].contains("\"mood\":\"good\""), "{out}");
}

#[test]
fn lines_can_come_from_stdin() {
    let folder = Folder::new("standard-input");
    let model = folder.write("model.toml", MODEL);
    let mut child = keyloom()
        .args(["import", &model, "--data", &folder.path("data"), "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(person(1, None).as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["created"], 1);
}
