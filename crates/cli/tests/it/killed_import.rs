//! An import that is killed can be repeated, and creates nothing twice.

use std::io::Write;
use std::process::Stdio;

use crate::process::{Folder, keyloom, output};

/// Many more than an import has in flight.
const LINES: usize = 60_000;
const SENT: usize = 40_000;

const MODEL: &str = "
[entity.group]
fields.name = 'text'

[entity.note]
parent = 'group'
fields.text = 'text 1..40'
unique = ['text']
list.all = { order = '-text' }
";

fn line(number: usize) -> String {
    if number == 0 {
        return "{\"entity\":\"group\",\"id\":\"g\",\"fields\":{\"name\":\"g\"}}\n".to_owned();
    }
    format!(
        "{{\"entity\":\"note\",\"id\":\"{number}\",\"fields\":{{\"group\":\"g\",\"text\":\"t{number}\"}}}}\n"
    )
}

#[test]
fn a_killed_import_can_be_repeated_and_creates_nothing_twice() {
    let folder = Folder::new("killed-import");
    let (model, data) = (folder.write("model.toml", MODEL), folder.path("data"));
    let mut child =
        keyloom().args(["import", &model, "--data", &data]).stdin(Stdio::piped()).spawn().unwrap();
    // All but a pipe buffer of this was read by the import, and most of it imported.
    let lines: String = (0..SENT).map(line).collect();
    let mut input = child.stdin.take().unwrap();
    input.write_all(lines.as_bytes()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(input);

    let (success, out, err) = output(&["verify", &model, "--data", &data]);
    assert!(success, "{out}{err}");
    let (_, exported, _) = output(&["export", &model, "--data", &data]);
    let before = exported.lines().count();
    assert!(before > 0 && before < SENT, "{before} of {SENT}");

    let all = folder.write("lines", (0..LINES).map(line).collect::<String>());
    let (success, out, err) = output(&["import", &model, "--data", &data, &all, "--json"]);
    assert!(success, "{err}");
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    let count = |name: &str| answer[name].as_u64().unwrap() as usize;
    assert_eq!((count("unchanged"), count("created")), (before, LINES - before));
    let (success, out, err) = output(&["verify", &model, "--data", &data]);
    assert!(success, "{out}{err}");
}
