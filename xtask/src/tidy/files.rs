//! File names and module docs.

use super::rust_source::DeclaredItem;
use super::{Finding, RustFile, Workspace};

/// Names that do not describe their content.
const EMPTY_NAMES: &[&str] =
    &["utils", "util", "common", "helpers", "helper", "misc", "new", "v2", "old"];

pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    let names = workspace.texts.iter().filter_map(|file| check_name(&file.path));
    let openings = workspace.rust.iter().filter_map(check_opening);
    let contents = workspace.rust.iter().flat_map(check_contents);
    names.chain(openings).chain(contents).collect()
}

fn check_name(path: &str) -> Option<Finding> {
    let mut stems = path.split('/').map(|part| part.split('.').next().unwrap_or(part));
    let name = stems.find(|stem| EMPTY_NAMES.contains(stem))?;
    let message = format!("`{name}` is not descriptive: name it after its content.");
    Some(Finding::new(path, 1, message))
}

fn check_opening(file: &RustFile) -> Option<Finding> {
    let message = "start the file with `//!`: what it is, and what it does not do.";
    (!file.source.text().starts_with("//!")).then(|| Finding::new(&file.path, 1, message))
}

/// `lib.rs` and `mod.rs` contain only declarations of modules and re-exports.
fn check_contents(file: &RustFile) -> Vec<Finding> {
    if !matches!(file.path.rsplit('/').next(), Some("lib.rs" | "mod.rs")) {
        return vec![];
    }
    let items = file.source.items();
    let others = items.iter().filter(|item| !is_contents(item));
    others
        .map(|item| {
            let first = item.code.lines().next().unwrap_or_default();
            let message = format!(
                "this file may contain only `mod`, `use` and docs: move `{first}` to a file named \
             after it."
            );
            Finding::new(&file.path, item.line, message)
        })
        .collect()
}

fn is_contents(item: &DeclaredItem<'_>) -> bool {
    let code = match item.code.strip_prefix("pub(") {
        Some(rest) => rest.split_once(')').map_or(rest, |(_, code)| code),
        None => item.code.strip_prefix("pub ").unwrap_or(item.code),
    };
    let code = code.trim_start();
    code.ends_with(';') && (code.starts_with("mod ") || code.starts_with("use "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(path: &str, text: &str) -> Vec<String> {
        check(&Workspace::sample(&[(path, text)])).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_meaningless_name_is_rejected_for_files_and_folders() {
        for path in ["crates/a/src/utils.rs", "crates/common/src/lib.rs", "docs/old.md"] {
            assert_eq!(check_text(path, "//! A.\n").len(), 1, "{path}");
        }
        assert!(check_text("crates/a/src/commonplace.rs", "//! A.\n").is_empty());
    }

    #[test]
    fn a_file_must_start_with_docs() {
        assert_eq!(check_text("crates/a/src/a.rs", "use a::b;\n").len(), 1);
        assert!(check_text("crates/a/src/a.rs", "//! A.\nuse a::b;\n").is_empty());
    }

    #[test]
    fn module_roots_contain_only_declarations() {
        let contents = "//! A.\n#![warn(b)]\n\n/// Doc.\npub mod c;\n#[cfg(test)]\nmod tests;\n\
            pub(crate) use c::{D, E};\nuse f::G;\n";
        assert!(check_text("crates/a/src/lib.rs", contents).is_empty());
        let others =
            ["pub fn f() {}", "struct S;", "mod m {\n    use a::b;\n}", "const C: u8 = 1;"];
        for item in others {
            let found = check_text("crates/a/src/b/mod.rs", &format!("//! A.\n{item}\n"));
            assert_eq!(found.len(), 1, "{item}: {found:?}");
            assert!(found[0].starts_with("crates/a/src/b/mod.rs:2: "), "{found:?}");
            assert!(check_text("crates/a/src/b.rs", &format!("//! A.\n{item}\n")).is_empty());
        }
    }
}
