//! `compact`, `backup` and `restore`: contents of the copies, points in time, and errors.

use crate::process::{Folder, output};

const MODEL: &str = "[entity.note]\nid = \"given\"\nfields.text = \"text\"\n";

/// The export line of a note.
fn line(id: &str) -> String {
    format!("{{\"entity\":\"note\",\"id\":\"{id}\",\"fields\":{{\"text\":\"of {id}\"}}}}\n")
}

struct Notes {
    folder: Folder,
    model: String,
    data: String,
}

impl Notes {
    fn new(name: &str) -> Notes {
        let folder = Folder::new(name);
        let (model, data) = (folder.write("notes.toml", MODEL), folder.path("data"));
        Notes { folder, model, data }
    }

    /// Adds notes; each call is a commit of its own.
    fn add(&self, ids: &[&str]) {
        let lines = ids.iter().map(|id| line(id)).collect::<String>();
        let file = self.folder.write("lines", lines);
        let (success, _, err) = output(&["import", &self.model, "--data", &self.data, &file]);
        assert!(success, "{err}");
    }

    fn of(&self, data: &str) -> String {
        let (success, out, err) = output(&["export", &self.model, "--data", data]);
        assert!(success, "{err}");
        let (verified, _, err) = output(&["verify", &self.model, "--data", data]);
        assert!(verified, "{err}");
        out
    }
}

/// The time of the last commit in a copy.
fn at(answer: &str) -> String {
    let answer: serde_json::Value = serde_json::from_str(answer).unwrap();
    answer["at"].as_str().unwrap().to_owned()
}

#[test]
fn compacting_returns_space_and_changes_no_data() {
    let notes = Notes::new("compacted");
    let ids: Vec<String> = (0..300).map(|id| format!("n{id:03}")).collect();
    notes.add(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    let before = notes.of(&notes.data);
    let (success, out, err) = output(&["compact", "--data", &notes.data, "--json"]);
    assert!(success && err.contains("of free disk space"), "{err}");
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    let bytes = |name: &str| answer[name].as_u64().unwrap();
    assert!(bytes("rows") >= 300 && bytes("after_bytes") <= bytes("before_bytes"), "{out}");
    let (success, out, _) = output(&["compact", "--data", &notes.data]);
    assert!(success && out.contains(" before, ") && out.ends_with(" after.\n"), "{out}");
    assert_eq!(notes.of(&notes.data), before);
    let (success, _, err) = output(&["compact", "--data", &notes.folder.path("missing")]);
    assert!(!success && !err.contains("panicked"), "{err}");
}

#[test]
fn a_backup_is_restored_as_it_is_and_to_a_point_in_time() {
    let notes = Notes::new("copied");
    let [backup, later] = ["backup", "later"].map(|name| notes.folder.path(name));
    notes.add(&["a"]);
    assert!(output(&["backup", "--data", &notes.data, "--to", &backup]).0);
    notes.add(&["b"]);
    // The time of the backup's last commit is the point in time to restore.
    let (_, second, _) = output(&["backup", "--data", &notes.data, "--to", &later, "--json"]);
    let moment = at(&second);
    // The next commit must be at a later millisecond.
    while !is_past(&moment) {
        std::thread::yield_now();
    }
    notes.add(&["c"]);
    let restored = |name: &str, more: &[&str]| {
        let to = notes.folder.path(name);
        let arguments = [&["restore", "--from", &backup, "--to", &to], more].concat();
        let (success, out, err) = output(&arguments);
        assert!(success && out.contains("up to commit"), "{out}{err}");
        notes.of(&to)
    };
    assert_eq!(restored("as-it-is", &[]), line("a"));
    let log = ["--log", notes.data.as_str()];
    assert_eq!(restored("latest", &log), ["a", "b", "c"].map(line).concat());
    let until = [&log[..], &["--until", &moment]].concat();
    assert_eq!(restored("until", &until), ["a", "b"].map(line).concat());
    assert_eq!(notes.of(&later), ["a", "b"].map(line).concat());
}

fn is_past(moment: &str) -> bool {
    use keyloom_store::{Clock, SystemClock};
    let time = keyloom_model::FieldType::Time;
    let now = time.to_external(&keyloom_value::Value::from(SystemClock.now().0));
    // Zero milliseconds are omitted, which sorts wrong; that only waits longer.
    now.as_s().is_some_and(|now| now.len() == moment.len() && now > moment)
}

#[test]
fn refused_copies_overwrite_nothing() {
    let notes = Notes::new("not-copied");
    notes.add(&["a"]);
    let [backup, new, missing] = ["backup", "new", "missing"].map(|name| notes.folder.path(name));
    assert!(output(&["backup", "--data", &notes.data, "--to", &backup]).0);
    let cases: &[(&[&str], &str)] = &[
        (&["backup", "--data", &notes.data, "--to", &backup], "is not empty"),
        (&["backup", "--data", &missing, "--to", &new], "does not contain a Keyloom database"),
        (&["backup", "--data", &notes.data], "--to <DIR>"),
        (&["restore", "--from", &backup, "--to", &notes.data], "is not empty"),
        (&["restore", "--from", &missing, "--to", &new], "does not contain a Keyloom database"),
        (&["restore", "--from", &backup, "--log", &missing, "--to", &new], "Keyloom database"),
        (
            &["restore", "--from", &backup, "--to", &new, "--until", "2001-01-01T00:00:00Z"],
            "choose another one, an older backup",
        ),
        (
            &["restore", "--from", &backup, "--to", &new, "--until", "noon"],
            "expected a time since 1970 such as",
        ),
        (
            &["restore", "--from", &notes.folder.path(""), "--to", &new],
            "is not a Keyloom data directory",
        ),
    ];
    for (arguments, expected) in cases {
        let (success, _, err) = output(arguments);
        assert!(!success && err.contains(expected), "{arguments:?}: {err}");
        assert!(!std::path::Path::new(&new).exists(), "{arguments:?} leaves files behind");
    }
    assert_eq!(notes.of(&notes.data), line("a"));
}
