//! `keyloom migrate`: what it plans, that a plan changes nothing, and that a killed migration goes on.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::process::{Folder, keyloom, output};

const OLD: &str = "
[entity.note]
fields.text = 'text 1..40'
fields.size = 'int'
fields.color = 'text?'
unique = ['text']
list.all = { order = '-text' }
";

const NEW: &str = "
[entity.note]
fields.title = 'text 1..40'
fields.size = 'text'
renamed.title = 'text'
removed = ['color']
unique = ['title']
list.all = { order = '-title' }
list.by_size = { by = 'size', order = 'title' }
";

fn line(number: usize) -> String {
    let color = if number.is_multiple_of(3) { ",\"color\":\"red\"" } else { "" };
    let size = number % 7;
    format!(
        "{{\"entity\":\"note\",\"id\":\"{number}\",\
          \"fields\":{{\"text\":\"t{number}\",\"size\":{size}{color}}}}}\n"
    )
}

struct Rig {
    folder: Folder,
    data: String,
}

impl Rig {
    fn new(name: &str, lines: usize) -> Rig {
        let folder = Folder::new(name);
        let (old, data) = (folder.write("old.toml", OLD), folder.path("data"));
        let lines = folder.write("lines", (0..lines).map(line).collect::<String>());
        let (success, out, err) = output(&["import", &old, "--data", &data, &lines]);
        assert!(success, "{out}{err}");
        Rig { folder, data }
    }

    fn migrate(&self, model: &str, flags: &[&str]) -> (bool, String, String) {
        let model = self.folder.write("new.toml", model);
        output(&[&["migrate", &model, "--data", &self.data], flags].concat())
    }

    fn plan(&self, model: &str) -> Value {
        let (_, out, err) = self.migrate(model, &["--plan", "--json"]);
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"))
    }

    fn exported(&self, model: &str) -> Vec<Value> {
        let model = self.folder.write("new.toml", model);
        let (success, out, err) = output(&["export", &model, "--data", &self.data]);
        assert!(success, "{err}");
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn verify(&self, model: &str) {
        let model = self.folder.write("new.toml", model);
        let (success, out, err) = output(&["verify", &model, "--data", &self.data]);
        assert!(success, "{out}{err}");
    }

    /// The bytes in the directory.
    fn size(&self) -> u64 {
        let files = fs::read_dir(Path::new(&self.data)).unwrap();
        let sizes = files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len()));
        sizes.sum()
    }
}

#[test]
fn a_plan_says_what_changes_and_what_is_lost_and_changes_nothing() {
    let rig = Rig::new("migrate-plan", 30);
    let before = rig.exported(OLD);
    let plan = rig.plan(NEW);
    assert_eq!(plan["refusals"], json!([]));
    assert_eq!(plan["lost"], json!({ "note.color": 10 }));
    assert_eq!(plan["rewritten"], json!({ "note": 30 }));
    assert_eq!(plan["unavailable"], json!(["the list `by_size` of `note`"]));
    assert_eq!(plan["done"], false);
    assert!(plan["changes"].to_string().contains("`note.title` was `text`"), "{plan}");
    assert_eq!(rig.exported(OLD), before);
    rig.verify(OLD);
    let (success, out, err) = rig.migrate(NEW, &["--plan"]);
    assert!(success && out.contains("the values of `note.color` in 10 entities"), "{out}{err}");
    let (success, out, err) = rig.migrate(NEW, &[]);
    assert!(success && out.ends_with("Done.\n"), "{out}{err}");
    rig.verify(NEW);
    let after = rig.exported(NEW);
    let first = after.iter().find(|entry| entry["id"] == "3").unwrap();
    assert_eq!(first["fields"], json!({ "title": "t3", "size": "3" }));
}

#[test]
fn a_refused_migration_names_the_first_misfit_and_how_many_there_are() {
    let rig = Rig::new("migrate-refused", 30);
    let narrow = OLD.replace("'int'", "'int ..5'");
    let (success, out, err) = rig.migrate(&narrow, &[]);
    assert!(!success && err.contains("does not allow this change"), "{out}{err}");
    assert!(out.contains("does not fit: `size`") && out.contains("3 others"), "{out}");
    let lost = OLD.replace("fields.color = 'text?'", "");
    let (success, out, _) = rig.migrate(&lost, &["--plan"]);
    assert!(!success && out.contains("add `removed = [\"color\"]` to `[entity.note]`"), "{out}");
    rig.verify(OLD);
}

#[test]
fn a_killed_migration_goes_on_where_it_was() {
    const NOTES: usize = 20_000;
    let rig = Rig::new("migrate-killed", NOTES);
    let model = rig.folder.write("new.toml", NEW);
    let before = rig.size();
    let mut child = keyloom()
        .args(["migrate", &model, "--data", &rig.data])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The model is written first, and the rows after it.
    while rig.size() < before + 500_000 && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let plan = rig.plan(NEW);
    assert_eq!((&plan["changes"], &plan["rewritten"]), (&json!([]), &json!({ "note": 0 })));
    let (success, out, err) = rig.migrate(NEW, &[]);
    assert!(success && out.ends_with("Done.\n"), "{out}{err}");
    rig.verify(NEW);
    let after = rig.exported(NEW);
    assert_eq!(after.len(), NOTES);
    let is_whole = |entry: &Value| {
        let fields = entry["fields"].as_object().unwrap();
        let number: usize = entry["id"].as_str().unwrap().parse().unwrap();
        let (title, size) = (format!("t{number}"), (number % 7).to_string());
        fields.len() == 2 && fields["title"] == title && fields["size"] == size
    };
    assert!(after.iter().all(is_whole));
    assert_eq!(rig.plan(NEW)["rewritten"], json!({}));
}
