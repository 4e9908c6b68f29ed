//! The modules of two applications are as checked in. `KEYLOOM_BLESS=1` writes them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use keyloom_build::Builder;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn check(app: &str) {
    let model = root().join(format!("apps/{app}/model.toml"));
    let code = Builder::new().generate(&fs::read_to_string(&model).unwrap(), "model.toml").unwrap();
    let golden = root().join(format!("crates/build/tests/modules/{app}.rs.txt"));
    if env::var_os("KEYLOOM_BLESS").is_some() {
        fs::create_dir_all(golden.parent().unwrap()).unwrap();
        fs::write(&golden, &code).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap();
    assert!(code == expected, "{}: bless it, and read the difference", golden.display());
}

#[test]
fn the_module_of_the_comments_is_as_checked_in() {
    check("comments");
}

#[test]
fn the_module_of_the_tasks_is_as_checked_in() {
    check("tasks");
}
