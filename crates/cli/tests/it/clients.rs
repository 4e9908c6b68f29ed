//! Generated clients: those of the applications equal the files in `tests/clients-generated`
//! (`KEYLOOM_BLESS=1` rewrites them, review the diff), and no file of somebody else is replaced.
//! `tests/judges/generated.rs` checks their types and runs them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::process::{Folder, app, assert_written, output};

const APPS: [&str; 4] = ["tasks", "comments", "kitchen", "oncall"];
/// Each language with the file of its client.
const LANGUAGES: [(&str, &str); 2] = [("typescript", "client.ts"), ("python", "client.py")];
/// The members of pages that clients know; `Page` of each runtime has them.
const PAGE_MEMBERS: [&str; 7] =
    ["items", "next", "previous", "total", "total_at_least", "settling", "explain"];

/// Generates a client of a model file, and returns its text.
fn generated(folder: &Folder, language: &str, model: &str) -> String {
    let out = folder.path("out");
    let (success, path, err) = output(&["client", language, model, "--out", &out]);
    assert!(success, "{err}");
    fs::read_to_string(path.trim_end()).unwrap()
}

#[test]
fn the_clients_of_the_applications_are_as_recorded() {
    let folder = Folder::new("clients-generated");
    for (language, file) in LANGUAGES {
        let extension = Path::new(file).extension().unwrap().to_str().unwrap();
        for name in APPS {
            let text = generated(&folder, language, &app(name));
            assert_written(&format!("tests/clients-generated/{name}.{extension}"), &text);
        }
    }
}

#[test]
fn only_generated_files_are_replaced() {
    let folder = Folder::new("clients-foreign");
    for (language, file) in LANGUAGES {
        let first = generated(&folder, language, &app("tasks"));
        let path = folder.path(&format!("out/{file}"));
        assert!(generated(&folder, language, &app("comments")) != first);
        for foreign in ["", "export const mine = 1;\n", &first[1..]] {
            fs::write(&path, foreign).unwrap();
            let call = ["client", language, &app("tasks"), "--out", &folder.path("out")];
            let (success, _, err) = output(&call);
            assert!(
                !success && err.contains(&path) && err.contains("nothing was changed"),
                "{err}"
            );
            assert_eq!(fs::read_to_string(&path).unwrap(), foreign);
        }
        fs::remove_file(&path).unwrap();
    }
    let left: Vec<_> = fs::read_dir(folder.path("out")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_model_with_errors_writes_nothing() {
    let folder = Folder::new("clients-invalid");
    let model = folder.write("model.toml", "[entity.task]\nfields.name = \"texd\"\n");
    let call = ["client", "typescript", &model, "--out", &folder.path("out")];
    let (success, _, err) = output(&call);
    assert!(!success && err.contains("has errors"), "{err}");
    assert!(!Path::new(&folder.path("out")).exists());
}

/// Runtimes declare pages once, for all queries.
#[test]
fn runtimes_know_every_member_of_pages() {
    for name in APPS {
        let path = format!("{}/tests/openapi/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let document: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        for (schema, page) in schemas.iter().filter(|(name, _)| name.ends_with(".page")) {
            for member in page["properties"].as_object().unwrap().keys() {
                assert!(PAGE_MEMBERS.contains(&member.as_str()), "{name}: {schema}: {member}");
            }
        }
    }
}
