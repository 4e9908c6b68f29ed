//! An import that is killed goes on when it is begun anew, and makes nothing twice.

use std::io::Write;
use std::process::Stdio;

use crate::process::{Folder, keyloom, told};

/// Many more than an import can have under way.
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
fn a_killed_import_goes_on_and_makes_nothing_twice() {
    let folder = Folder::new("killed-import");
    let (model, data) = (folder.write("model.toml", MODEL), folder.path("data"));
    let mut child =
        keyloom().args(["import", &model, "--data", &data]).stdin(Stdio::piped()).spawn().unwrap();
    // What was written was read, but for a pipe full; and what was read so long ago is imported.
    let lines: String = (0..SENT).map(line).collect();
    let mut input = child.stdin.take().unwrap();
    input.write_all(lines.as_bytes()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(input);

    let (success, out, err) = told(&["verify", &model, "--data", &data]);
    assert!(success, "{out}{err}");
    let (_, exported, _) = told(&["export", &model, "--data", &data]);
    let before = exported.lines().count();
    assert!(before > 0 && before < SENT, "{before} of {SENT}");

    let all = folder.write("lines", (0..LINES).map(line).collect::<String>());
    let (success, out, err) = told(&["import", &model, "--data", &data, &all, "--json"]);
    assert!(success, "{err}");
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    let count = |name: &str| answer[name].as_u64().unwrap() as usize;
    assert_eq!((count("unchanged"), count("created")), (before, LINES - before));
    let (success, out, err) = told(&["verify", &model, "--data", &data]);
    assert!(success, "{out}{err}");
}
