//! A server that reads its model again on SIGHUP: requests go on, and a model that cannot be served
//! changes nothing.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::http::Http;
use crate::process::{Folder, Serving, output};

const OLD: &str = "
[entity.note]
fields.text = 'text 1..40'
fields.size = 'int = 1'
list.all = { path = '/notes', order = 'text' }
";

const RENAMED: &str = "
[entity.note]
fields.title = 'text 1..40'
fields.size = 'int = 1'
renamed.title = 'text'
list.all = { path = '/notes', order = 'title' }
list.by_size = { path = '/notes', by = 'size', order = 'title' }
";

struct Rig {
    folder: Folder,
    model: String,
    data: String,
    serving: Serving,
}

impl Rig {
    fn new(name: &str) -> Rig {
        let folder = Folder::new(name);
        let (model, data) = (folder.write("model.toml", OLD), folder.path("data"));
        let serving = Serving::start(&model, &["--data", &data]);
        Rig { folder, model, data, serving }
    }

    fn http(&self) -> Http {
        Http::connect(&self.serving.url, "")
    }

    /// Replaces the model file and sends the signal.
    fn reload(&self, model: &str) {
        self.folder.write("model.toml", model);
        let process = self.serving.id().to_string();
        assert!(Command::new("kill").args(["-HUP", &process]).status().unwrap().success());
    }

    /// Asks until the answer is the expected one.
    fn wait_for(&self, path: &str, is_expected: impl Fn(u16, &Value) -> bool) -> Value {
        let mut http = self.http();
        for _ in 0..200_000 {
            let (status, body) = http.ask("GET", path, &Value::Null).unwrap();
            if is_expected(status, &body) {
                return body;
            }
            thread::yield_now();
        }
        panic!("{path} does not change");
    }

    fn stop_and_verify(mut self) {
        assert!(self.serving.stop());
        let (success, out, err) = output(&["verify", &self.model, "--data", &self.data]);
        assert!(success, "{out}{err}");
    }
}

#[test]
fn a_reloaded_model_is_served_with_its_routes_and_its_data() {
    let rig = Rig::new("reload");
    let mut http = rig.http();
    let (status, note) = http.ask("POST", "/notes", &json!({ "text": "tea" })).unwrap();
    assert_eq!(status, 201, "{note}");
    let path = format!("/notes/{}", note["id"].as_str().unwrap());
    rig.reload(RENAMED);
    // A list that is new is unavailable until it is built.
    let is_listed = |status: u16, body: &Value| {
        assert!([200, 404, 400, 503].contains(&status), "{status} {body}");
        status == 200 && body["items"][0]["title"] == "tea"
    };
    rig.wait_for("/notes?size=1", is_listed);
    // The connection from before is still there.
    let (status, note) = http.ask("GET", &path, &Value::Null).unwrap();
    assert_eq!((status, &note["title"]), (200, &json!("tea")));
    let (status, openapi) = http.ask("GET", "/openapi.json", &Value::Null).unwrap();
    assert!(status == 200 && openapi.to_string().contains("\"title\""));
    let (status, problem) = http.ask("POST", "/notes", &json!({ "text": "pot" })).unwrap();
    assert_eq!(status, 422, "{problem}");
    rig.stop_and_verify();
}

/// The command was refused while a server ran: only SIGHUP could change its model.
#[test]
fn a_command_changes_the_model_of_a_running_server() {
    let rig = Rig::new("reload-command");
    let mut http = rig.http();
    for number in 0..30 {
        let note = json!({ "text": format!("note {number:02}") });
        assert_eq!(http.ask("POST", "/notes", &note).unwrap().0, 201);
    }
    let renamed = rig.folder.write("renamed.toml", RENAMED);
    let migrate = |model: &str, flags: &[&str]| {
        output(&[&["migrate", model, "--data", &rig.data], flags].concat())
    };
    let (success, out, err) = migrate(&renamed, &["--plan", "--json"]);
    let plan: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    assert!(success && plan["rewritten"]["note"] == 30 && plan["done"] == false, "{plan}");
    let refused = rig.folder.write("refused.toml", OLD.replace("fields.size = 'int = 1'", ""));
    let (success, out, err) = migrate(&refused, &[]);
    assert!(!success && out.contains("`note.size` is no longer declared"), "{out}{err}");
    assert_eq!(http.ask("GET", "/notes", &Value::Null).unwrap().1["items"][0]["text"], "note 00");
    let (success, out, err) = migrate(&renamed, &["--json"]);
    let done: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    assert!(success && done["done"] == true && done["served"] == true, "{done}");
    // Everything is rewritten when the command ends.
    let (status, page) = http.ask("GET", "/notes?size=1", &Value::Null).unwrap();
    assert_eq!((status, &page["items"][0]["title"]), (200, &json!("note 00")));
    // A signal for another reason, such as a new certificate, reads the old file again.
    rig.reload(OLD);
    let (success, out, err) = migrate(&renamed, &[]);
    assert!(success && out.ends_with("the next time.\n"), "{out}{err}");
    let (_, page) = http.ask("GET", "/notes?size=1", &Value::Null).unwrap();
    assert_eq!(page["items"][0]["title"], "note 00");
    rig.folder.write("model.toml", RENAMED);
    rig.stop_and_verify();
}

#[test]
fn a_model_that_is_invalid_or_refused_changes_nothing() {
    let rig = Rig::new("reload-refused");
    let mut http = rig.http();
    for (size, text) in [(1, "tea"), (9, "pot")] {
        let note = json!({ "text": text, "size": size });
        assert_eq!(http.ask("POST", "/notes", &note).unwrap().0, 201);
    }
    rig.reload("[entity.note]\nfields.text = 'txt'\n");
    rig.reload(&OLD.replace("int = 1", "int ..5 = 1"));
    rig.reload(&OLD.replace("fields.size = 'int = 1'", ""));
    rig.reload(
        &OLD.replace("'/notes', order", "'/notes/counts/open', order")
            .replace("list", "count.open = {}\nlist"),
    );
    let (status, page) = http.ask("GET", "/notes", &Value::Null).unwrap();
    assert_eq!((status, page["items"].as_array().unwrap().len()), (200, 2), "{page}");
    // What follows is served: those before were not.
    rig.reload(RENAMED);
    rig.wait_for("/notes", |_, body| body["items"][0]["title"] == "pot");
    rig.stop_and_verify();
}

#[test]
fn writers_lose_nothing_while_a_field_is_renamed() {
    let rig = Rig::new("reload-writers");
    let is_renamed = AtomicBool::new(false);
    let (rig_ref, renamed) = (&rig, &is_renamed);
    let write = move |writer: usize| {
        let (rig, is_renamed) = (rig_ref, renamed);
        let (mut http, mut ids) = (rig.http(), vec![]);
        let (mut field, mut number) = ("text", 0);
        // Everybody writes before and after.
        while field == "text" || number < 25 || !is_renamed.load(Ordering::Relaxed) {
            number += 1;
            let text = format!("{writer} {number}");
            let (status, note) = http.ask("POST", "/notes", &json!({ field: text })).unwrap();
            match status {
                201 => ids.push((note["id"].as_str().unwrap().to_owned(), text)),
                422 if field == "text" => field = "title",
                _ => panic!("{status} {note}"),
            }
        }
        ids
    };
    let written: Vec<(String, String)> = thread::scope(|scope| {
        let writers: Vec<_> = (0..16).map(|writer| scope.spawn(move || write(writer))).collect();
        rig.reload(RENAMED);
        rig.wait_for("/openapi.json", |_, body| body.to_string().contains("\"title\""));
        is_renamed.store(true, Ordering::Relaxed);
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    let mut http = rig.http();
    for (id, text) in &written {
        let (status, note) = http.ask("GET", &format!("/notes/{id}"), &Value::Null).unwrap();
        assert_eq!((status, &note["title"]), (200, &json!(text)));
    }
    rig.stop_and_verify();
}
