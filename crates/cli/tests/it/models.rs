//! Commands about models: `check` and `verify`.

use std::path::Path;
use std::sync::Arc;

use keyloom::Db;
use keyloom_store::{Engine, Options};
use pollster::block_on;

use crate::process::{Served, app, scratch, told};

fn write(name: &str, text: &str) -> String {
    let path = scratch(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_models_of_the_apps_are_right() {
    for name in ["tasks", "comments", "kitchen", "oncall"] {
        let (success, out, err) = told(&["check", &app(name)]);
        assert!(success && out.contains("The model is right."), "{out}{err}");
    }
}

#[test]
fn a_wrong_model_is_told_with_place_and_help() {
    let path = write("wrong.toml", "[entity.task]\nfields.name = \"txt\"\n");
    let (success, _, err) = told(&["check", &path]);
    assert!(!success);
    for part in ["error[K0202]", "wrong.toml:2:16", "did you mean `text`?"] {
        assert!(err.contains(part), "{part}: {err}");
    }
    let (success, _, err) = told(&["check", "/no/such/model.toml"]);
    assert!(!success && err.contains("cannot be read"), "{err}");
}

#[test]
fn what_becomes_of_data_is_told() {
    let old = write("old.toml", "[entity.task]\nfields.name = \"text\"\n");
    let longer = "[entity.task]\nfields.name = \"text\"\nlist.by_name = { order = \"name\" }\n";
    let longer = write("longer.toml", longer);
    let (success, out, _) = told(&["check", &longer, "--against", &old]);
    assert!(success && out.contains("by_name"), "{out}");
    let (success, _, err) = told(&["check", &old, "--against", &longer]);
    assert!(success, "a list can go: {err}");
    let other = write("other.toml", "[entity.task]\nfields.name = \"int\"\n");
    let (success, _, err) = told(&["check", &other, "--against", &old]);
    assert!(!success && err.contains("cannot be kept"), "{err}");
}

#[test]
fn a_directory_is_verified_and_repaired() {
    let directory = scratch("verified");
    let _ = std::fs::remove_dir_all(&directory);
    let model = app("kitchen");
    let data = directory.to_str().unwrap();
    let (success, _, err) = told(&["verify", &model, "--data", data]);
    assert!(!success && err.contains("does not contain a Keyloom database"), "{err}");
    damage(&directory, &std::fs::read_to_string(&model).unwrap());
    let (success, out, _) = told(&["verify", &model, "--data", data]);
    assert!(!success && out.contains("`category`") && out.contains("0 repaired, 1 left"), "{out}");
    let (success, out, err) = told(&["verify", &model, "--data", data, "--repair"]);
    assert!(success && out.contains("1 repaired, 0 left"), "{out}{err}");
    let (success, out, err) = told(&["verify", &model, "--data", data]);
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
    let (success, out, err) = told(&place);
    assert!(!success && out.contains("0 repaired, 1 left"), "{out}{err}");
    let (success, out, err) = told(&[&place[..], &["--repair"]].concat());
    assert!(success && out.contains("1 repaired, 0 left"), "{out}{err}");
    let missing = ["verify", &model, "--dynamodb", "nothing", "--endpoint-url", &served.url];
    let (success, _, err) = told(&missing);
    assert!(!success && err.contains("There is no table `nothing`."), "{err}");
}

/// A kitchen with one category, the guard of whose name is gone.
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
