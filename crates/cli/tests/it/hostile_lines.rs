//! Invalid lines of an import, with the message for each: `tests/said/lines.txt`.

use keyloom::{Item, Value, item_to_json};

use crate::process::{Folder, assert_written, output};

const MODEL: &str = "
[entity.project]
fields.name = 'text 1..20'
unique = ['name']

[entity.task]
tenant = 'team'
fields.team = 'text'
fields.project = 'ref project refuse'
fields.rank = 'int 0..9'
fields.of = 'ref task clear?'
";

/// Lines, most of them invalid in different ways.
fn lines() -> Vec<Vec<u8>> {
    let project = |id: &str, name: &str| {
        format!("{{\"entity\":\"project\",\"id\":\"{id}\",\"fields\":{{\"name\":\"{name}\"}}}}")
    };
    let task = |id: &str, fields: &str| {
        format!("{{\"entity\":\"task\",\"id\":\"{id}\",\"tenant\":\"a\",\"fields\":{{{fields}}}}}")
    };
    let texts = [
        project("p1", "one"),
        String::new(),
        "{\"entity\":\"project\",".to_owned(),
        "[1, 2]".to_owned(),
        "null".to_owned(),
        "{}".to_owned(),
        "{\"entity\":\"project\",\"id\":7,\"fields\":{}}".to_owned(),
        "{\"entity\":\"project\",\"id\":\"p2\"}".to_owned(),
        "{\"entity\":\"project\",\"id\":\"p2\",\"fields\":[]}".to_owned(),
        "{\"entity\":\"project\",\"id\":\"p2\",\"fields\":{},\"field\":1}".to_owned(),
        "{\"entity\":\"projekt\",\"id\":\"p2\",\"fields\":{}}".to_owned(),
        "{\"entity\":\"project\",\"id\":\"p2\",\"id\":\"p3\",\"fields\":{}}".to_owned(),
        "{\"entity\":\"project\",\"id\":\"p2\",\"tenant\":\"a\",\"fields\":{\"name\":\"x\"}}"
            .to_owned(),
        "{\"entity\":\"task\",\"id\":\"t\",\"fields\":{\"project\":\"p1\",\"rank\":1}}".to_owned(),
        "{\"entity\":\"task\",\"id\":\"t\",\"tenant\":true,\"fields\":{}}".to_owned(),
        project("", "empty"),
        project(&"x".repeat(3000), "long"),
        project("p1", "one"),
        project("p1", "another"),
        project("p3", "one"),
        project("p4", &"x".repeat(21)),
        "{\"entity\":\"project\",\"id\":\"p5\",\"fields\":{\"nam\":\"x\"}}".to_owned(),
        task("t1", "\"project\":\"p1\",\"rank\":3"),
        task("t2", "\"project\":\"nowhere\",\"rank\":3"),
        task("t3", "\"project\":\"p1\",\"rank\":10,\"team\":\"b\""),
        task("t4", "\"project\":\"p1\",\"rank\":1e400"),
        task("t5", "\"project\":\"p1\",\"rank\":1.5"),
        task("t6", "\"project\":\"p1\",\"rank\":1,\"of\":\"t7\""),
        task("t7", "\"project\":\"p1\",\"rank\":1,\"of\":\"t8\""),
        task("t8", "\"project\":\"p1\",\"rank\":1,\"of\":\"t6\""),
        task("t9", "\"project\":\"p1\",\"rank\":1,\"of\":\"t10\""),
        task("t10", "\"project\":\"p1\",\"rank\":99,\"of\":\"t9\""),
        "[".repeat(100_000),
        format!("{{\"entity\":\"{}\"}}", "x".repeat(5 << 20)),
    ];
    let mut lines: Vec<Vec<u8>> = texts.into_iter().map(String::into_bytes).collect();
    lines.push(b"{\"entity\":\"project\",\"id\":\"\xFF\",\"fields\":{}}".to_vec());
    lines.push(b"\x00\x01\x02".to_vec());
    // The last line has no newline.
    lines.push(project("p9", "last").into_bytes());
    lines
}

#[test]
fn every_invalid_line_is_reported_and_the_others_are_imported() {
    let folder = Folder::new("hostile-lines");
    let model = folder.write("model.toml", MODEL);
    let file = folder.write("lines", lines().join(&b'\n'));
    let data = folder.path("data");
    let import = ["import", &model, "--data", &data, &file, "--keep-going"];
    let (success, out, err) = output(&import);
    assert!(!success);
    let (_, exported, _) = output(&["export", &model, "--data", &data]);
    // Shortens the id of three thousand letters.
    let err = err.replace(&"x".repeat(3000), "xxx");
    assert_written("tests/said/lines.txt", &format!("{err}{out}\n{exported}"));
    assert!(output(&["verify", &model, "--data", &data]).0);

    // Again: nothing is created, and the same lines fail.
    let (_, again, errors) = output(&import);
    assert_eq!(errors.replace(&"x".repeat(3000), "xxx"), err);
    assert!(again.starts_with("0 created"), "{again}");
}

#[test]
fn the_first_invalid_line_ends_an_import() {
    let folder = Folder::new("first-bad-line");
    let model = folder.write("model.toml", MODEL);
    let file = folder.write("lines", lines().join(&b'\n'));
    let data = folder.path("data");
    let (success, out, err) = output(&["import", &model, "--data", &data, &file, "--json"]);
    assert!(!success);
    assert_eq!(err.lines().count(), 2, "{err}");
    assert!(err.starts_with("line 3: "), "{err}");
    assert!(err.ends_with("keyloom import: 1 line was not imported, see above.\n"), "{err}");
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&answer["not_imported"], &answer["problems"][0]["line"]), (&1.into(), &3.into()));
}

#[test]
fn existing_entities_that_differ_are_replaced_only_with_replace() {
    let folder = Folder::new("replaced-lines");
    let model = folder.write("model.toml", MODEL);
    let data = folder.path("data");
    let line = |name: &str| {
        let fields = Value::M(Item::from([("name", Value::from(name))]));
        let line =
            [("entity", Value::from("project")), ("id", Value::from("p")), ("fields", fields)];
        item_to_json(&Item::from(line))
    };
    let import = |name: &str, more: &[&str]| {
        let file = folder.write("lines", line(name));
        output(&[&["import", &model, "--data", &data, &file], more].concat())
    };
    assert!(import("one", &[]).0);
    let (success, _, err) = import("two", &[]);
    assert!(!success && err.contains("exists and differs"), "{err}");
    let (success, out, _) = import("two", &["--replace"]);
    assert!(success && out.contains("1 replaced"), "{out}");
    let (success, out, _) = import("two", &[]);
    assert!(success && out.contains("1 unchanged"), "{out}");
}

#[test]
fn a_missing_file_or_a_folder_is_an_error() {
    let folder = Folder::new("no-lines");
    let model = folder.write("model.toml", MODEL);
    let (data, missing) = (folder.path("data"), folder.path("missing"));
    for file in [missing, folder.path("")] {
        let (success, _, err) = output(&["import", &model, "--data", &data, &file]);
        assert!(!success && err.contains("cannot be read"), "{err}");
    }
    let (success, _, err) = output(&["export", &model, "--data", &data, "--entity", "tsk"]);
    assert!(!success && err.contains("did you mean `task`?"), "{err}");
}
