//! Commands about models: `check` and `verify`.

use std::path::Path;
use std::sync::Arc;

use keyloom::Db;
use keyloom_store::{Engine, Options};
use pollster::block_on;

use crate::process::{Served, app, output, scratch};

fn write(name: &str, text: &str) -> String {
    let path = scratch(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_models_of_the_applications_are_valid() {
    for name in ["tasks", "comments", "kitchen", "oncall"] {
        let (success, out, err) = output(&["check", &app(name)]);
        assert!(success && out.contains("OK: the model needs"), "{out}{err}");
    }
}

#[test]
fn model_errors_have_a_position_and_a_fix() {
    let path = write("wrong.toml", "[entity.task]\nfields.name = \"txt\"\n");
    let (success, _, err) = output(&["check", &path]);
    assert!(!success);
    for part in ["error[K0202]", "wrong.toml:2:16", "did you mean `text`?"] {
        assert!(err.contains(part), "{part}: {err}");
    }
    let (success, _, err) = output(&["check", "/no/such/model.toml"]);
    assert!(!success && err.contains("cannot be read"), "{err}");
}

#[test]
fn a_model_that_cannot_be_served_is_refused_before_any_data_has_it() {
    let model = "[entity.task]\ncount.open = {}\nlist.all = { path = \"/tasks/counts/open\" }\n";
    let (path, data) = (write("unservable.toml", model), scratch("unservable-data"));
    for command in [vec!["check", &path], vec!["serve", &path, "--data", data.to_str().unwrap()]] {
        let (success, _, err) = output(&command);
        assert!(!success && err.contains("are both `GET /tasks/counts/open`"), "{err}");
    }
    assert!(!data.exists());
}

#[test]
fn changes_for_existing_data_are_listed() {
    let old = write("old.toml", "[entity.task]\nfields.name = \"text\"\n");
    let longer = "[entity.task]\nfields.name = \"text\"\nlist.by_name = { order = \"name\" }\n";
    let longer = write("longer.toml", longer);
    let (success, out, _) = output(&["check", &longer, "--against", &old]);
    assert!(success && out.contains("by_name"), "{out}");
    let (success, _, err) = output(&["check", &old, "--against", &longer]);
    assert!(success, "a list can be removed: {err}");
    let other = write("other.toml", "[entity.task]\nfields.name = \"bytes\"\n");
    let (success, _, err) = output(&["check", &other, "--against", &old]);
    assert!(!success && err.contains("cannot be migrated"), "{err}");
}

#[test]
fn a_directory_is_verified_and_repaired() {
    let directory = scratch("verified");
    let _ = std::fs::remove_dir_all(&directory);
    let model = app("kitchen");
    let data = directory.to_str().unwrap();
    let (success, _, err) = output(&["verify", &model, "--data", data]);
    assert!(!success && err.contains("does not contain a Keyloom database"), "{err}");
    damage(&directory, &std::fs::read_to_string(&model).unwrap());
    let (success, out, _) = output(&["verify", &model, "--data", data]);
    assert!(!success && out.contains("`category`") && out.contains("0 repaired, 1 left"), "{out}");
    let (success, out, err) = output(&["verify", &model, "--data", data, "--repair"]);
    assert!(success && out.contains("1 repaired, 0 left"), "{out}{err}");
    let (success, out, err) = output(&["verify", &model, "--data", data]);
    assert!(success && out.contains("0 repaired, 0 left"), "{out}{err}");
    let _ = std::fs::remove_dir_all(&directory);
}

#[test]
fn a_table_in_dynamodb_is_verified_and_repaired() {
    let directory = scratch("verified-remotely");
    let _ = std::fs::remove_dir_all(&directory);
    let model = app("kitchen");
    damage(&directory, &std::fs::read_to_string(&model).unwrap());
    let served = Served::on(&directory);
    let place = ["verify", &model, "--dynamodb", "keyloom", "--endpoint-url", &served.url];
    let (success, out, err) = output(&place);
    assert!(!success && out.contains("0 repaired, 1 left"), "{out}{err}");
    let (success, out, err) = output(&[&place[..], &["--repair"]].concat());
    assert!(success && out.contains("1 repaired, 0 left"), "{out}{err}");
    let missing = ["verify", &model, "--dynamodb", "nothing", "--endpoint-url", &served.url];
    let (success, _, err) = output(&missing);
    assert!(!success && err.contains("Table `nothing` not found."), "{err}");
}

#[test]
fn counts_in_dynamodb_are_verified_and_repaired() {
    let directory = scratch("verified-counts");
    let _ = std::fs::remove_dir_all(&directory);
    let model = app("comments");
    let text = std::fs::read_to_string(&model).unwrap();
    damage_counts(&directory, &text);
    let served = Served::on(&directory);
    let place = ["verify", &model, "--dynamodb", "keyloom", "--endpoint-url", &served.url];
    let (success, out, err) = output(&place);
    assert!(!success && out.contains("is 12, and should be 2."), "{out}{err}");
    let (success, out, err) = output(&[&place[..], &["--repair", "--json"]].concat());
    let summary = out.lines().last().unwrap_or_default();
    assert!(success && summary.contains("\"left\":0"), "{out}{err}");
    assert!(summary.contains("\"unchecked\":0"), "{out}{err}");
    let (success, out, err) = output(&place);
    assert!(success && out.contains("0 repaired, 0 left."), "{out}{err}");
}

/// Creates two comments, and adds 10 to a counter.
fn damage_counts(directory: &Path, model: &str) {
    use keyloom_store::{Put, Read, Scan, Store, TableName};
    let engine = Arc::new(Engine::open(directory, Options::default()).unwrap());
    let db = block_on(Db::open(model, engine.clone())).unwrap();
    let comment = serde_json::json!({"product": "p", "language": "en", "rating": 5, "body": "x"});
    for _ in 0..2 {
        block_on(db.create("comment", &comment)).unwrap();
    }
    let table = TableName::new("keyloom").unwrap();
    let rows = block_on(engine.scan(Scan::new(&table))).unwrap().items;
    let is_two = |row: &&keyloom_value::Item| row.get("C") == Some(&keyloom_value::Value::from(2));
    let mut counter = rows.iter().find(is_two).unwrap().clone();
    counter.insert("C", 12);
    block_on(engine.put(Put::new(&table, counter))).unwrap();
}

/// Creates a kitchen with one category, and deletes the guard of its name.
fn damage(directory: &Path, model: &str) {
    use keyloom_store::{Delete, Read, Scan, Store, TableName};
    let engine = Arc::new(Engine::open(directory, Options::default()).unwrap());
    let db = block_on(Db::open(model, engine.clone())).unwrap();
    let category = serde_json::json!({ "name": "pasta", "shop_order": 1 });
    block_on(db.create("category", &category)).unwrap();
    let table = TableName::new("keyloom").unwrap();
    let rows = block_on(engine.scan(Scan::new(&table))).unwrap().items;
    let guard = rows.iter().find(|row| row.contains("O")).unwrap();
    let key = ["PK", "SK"].map(|name| (name, guard.get(name).unwrap().clone()));
    block_on(engine.delete(Delete::new(&table, key.into()))).unwrap();
}
