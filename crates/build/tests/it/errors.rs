//! A build fails with what is wrong, and where.

use std::env;
use std::fs;
use std::path::PathBuf;

use keyloom_build::{Builder, Error};

fn folder(name: &str) -> PathBuf {
    let folder = env::temp_dir().join(format!("keyloom-build-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn errors_of_a_model_have_their_position_and_their_help() {
    let folder = folder("errors");
    let path = folder.join("wrong.toml");
    fs::write(&path, "[entity.task]\nfields.name = \"txt\"\n").unwrap();
    let error = Builder::new().out_dir(&folder).compile(&path).unwrap_err();
    // Cargo shows what `main` returns by `Debug`.
    let shown = format!("{error:?}");
    for part in ["error[K0202]", "wrong.toml:2:16", "did you mean `text`?", "1 error"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(matches!(error, Error::Model(_)));
    assert!(!folder.join("wrong.rs").exists());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn files_and_names_that_cannot_be_used_are_named() {
    let folder = folder("files");
    let builder = Builder::new().out_dir(&folder);
    let error = builder.compile(folder.join("none.toml")).unwrap_err();
    assert!(error.to_string().contains("none.toml` cannot be read"), "{error}");
    let path = folder.join("my-model.toml");
    fs::write(&path, "[entity.task]\n").unwrap();
    let error = builder.compile(&path).unwrap_err();
    assert!(error.to_string().contains("`my-model` cannot be the name of a module"), "{error}");
    builder.clone().module("my_model").compile(&path).unwrap();
    assert!(folder.join("my_model.rs").exists());
    fs::remove_dir_all(folder).unwrap();
}
