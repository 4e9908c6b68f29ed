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

/// The names that a module declares for its importers, or for itself.
fn declared(text: &str) -> Vec<&str> {
    let starts = ["export interface ", "export class ", "export type ", "interface ", "class "];
    let name = |line: &'_ str| -> Option<usize> {
        let start = starts.iter().find(|start| line.starts_with(*start));
        let assigned = || line.contains(" = TypedDict(") || line.contains(" = Literal[");
        start
            .map(|start| start.len())
            .or_else(|| (!line.starts_with(' ') && assigned()).then_some(0))
    };
    let names = text.lines().filter_map(|line| Some(&line[name(line)?..]));
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    names.map(|rest| rest.split(|c: char| !is_part(c)).next().unwrap_or_default()).collect()
}

#[test]
fn no_two_types_have_one_name() {
    let folder = Folder::new("clients-names");
    let hostile = format!("{}/tests/clients/hostile.toml", env!("CARGO_MANIFEST_DIR"));
    for (language, _) in LANGUAGES {
        for model in [&hostile, &app("oncall")] {
            let text = generated(&folder, language, model);
            let mut names = declared(&text);
            assert!(names.len() > 40, "{language}: {names:?}");
            names.sort_unstable();
            let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
            assert!(twice.is_empty(), "{language}: {twice:?}");
        }
    }
}

#[test]
fn names_that_a_language_reserves_end_with_an_underscore() {
    let folder = Folder::new("clients-hostile");
    let hostile = format!("{}/tests/clients/hostile.toml", env!("CARGO_MANIFEST_DIR"));
    let typescript = generated(&folder, "typescript", &hostile);
    for expected in [
        "readonly class: ClassQueries_;",
        "readonly constructor_: ConstructorQueries;",
        "readonly transaction_: TransactionQueries;",
        "readonly send_: SendQueries;",
        "export interface Change_ {",
        "export interface Entities_ {",
        "  change: Change_;",
        "export interface Page_ {",
        "export interface Promise_ {",
        // The number is only in the name of the operation: the server itself creates tokens.
        "create(body: TokenCreate, ",
        // An option beside a field of its name.
        "[\"limit\", \"value\", params.limit],",
        "[\"$limit\", \"text\", params.limit_],",
        "[\"q.import\", \"text\", params.q_import],",
        // A comment does not end where a text of the model says so.
        "`\"a *\\/ b\"` by default.",
    ] {
        assert!(typescript.contains(expected), "{expected}");
    }
    let python = generated(&folder, "python", &hostile);
    for expected in [
        "self.class_ = ClassQueries_(",
        "self.close_ = CloseQueries(",
        "self.send_ = SendQueries(",
        "class Change_(",
        "    old: Change_ | None",
        "class None_(",
        "        from_: str | datetime | Bounds[str | datetime] | None = None,",
        "        with_: Sequence[str] | None = None,",
        "        self_: str,",
        "(\"from\", \"value\", from_),",
        "        \"from\": \"str\",",
    ] {
        assert!(python.contains(expected), "{expected}");
    }
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
