//! The files that the rules check, read once.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::ops::{Bound, Range};
use std::path::Path;

use super::{Manifest, RustSource, TextFile};

/// Every text file of the workspace, sorted by path.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) texts: Vec<TextFile>,
    /// The paths of all files, also of those that are not text.
    paths: BTreeSet<String>,
    pub(crate) rust: Vec<RustFile>,
    pub(crate) manifests: Vec<Manifest>,
}

/// A Rust file and its role.
#[derive(Debug)]
pub(crate) struct RustFile {
    pub(crate) path: String,
    pub(crate) role: Role,
    pub(crate) source: RustSource,
    test_spans: Vec<Range<usize>>,
}

/// The role of a Rust file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Part of a library or program.
    Production,
    /// Compiled only for tests.
    Test,
    /// An example.
    Example,
}

impl Workspace {
    /// Reads the files of a folder, except those of git and cargo.
    pub(crate) fn read(root: &Path) -> Result<Workspace, String> {
        let (mut texts, mut others) = (vec![], BTreeSet::new());
        read_directory(root, "", &mut texts, &mut others).map_err(|error| {
            format!("Cannot read the workspace at {}: {error}.", root.display())
        })?;
        let mut workspace = Workspace::of(texts);
        workspace.paths.extend(others);
        Ok(workspace)
    }

    /// Creates a workspace of these files.
    pub(crate) fn of(mut texts: Vec<TextFile>) -> Workspace {
        texts.sort_by(|a, b| a.path.cmp(&b.path));
        let is_manifest = |file: &&TextFile| {
            file.path.ends_with("/Cargo.toml") && file.text.contains("[package]")
        };
        let manifests = texts.iter().filter(is_manifest).map(Manifest::parse).collect();
        let paths = texts.iter().map(|file| file.path.clone()).collect();
        Workspace { rust: rust_files(&texts), manifests, paths, texts }
    }

    /// Returns whether there is a file or a folder at this path.
    pub(crate) fn has(&self, path: &str) -> bool {
        let mut from = self.paths.range::<str, _>((Bound::Included(path), Bound::Unbounded));
        let is_at = |other: &String| {
            let rest = other.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || path.is_empty() || rest.starts_with('/'))
        };
        // Between `a` and `a/b` there can be `a-b`.
        from.by_ref().take_while(|other| other.starts_with(path)).any(is_at)
    }

    /// Returns the file at this path.
    pub(crate) fn text(&self, path: &str) -> Option<&TextFile> {
        self.texts.iter().find(|file| file.path == path)
    }

    /// Returns the Rust files that are part of a library or program.
    pub(crate) fn production(&self) -> impl Iterator<Item = &RustFile> {
        self.rust.iter().filter(|file| file.role == Role::Production)
    }

    #[cfg(test)]
    pub(crate) fn sample(files: &[(&str, &str)]) -> Workspace {
        let file = |(path, text): &(&str, &str)| TextFile {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        Workspace::of(files.iter().map(file).collect())
    }
}

impl RustFile {
    /// Returns whether the code at an offset is compiled only for tests.
    pub(crate) fn is_test(&self, offset: usize) -> bool {
        self.role == Role::Test || self.test_spans.iter().any(|span| span.contains(&offset))
    }

    /// Returns whether the file is in this folder of the workspace, such as `crates/store`.
    pub(crate) fn is_in(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }
}

fn rust_files(texts: &[TextFile]) -> Vec<RustFile> {
    let parse = |file: &TextFile| {
        let source = RustSource::new(&file.text);
        let test_spans = source.test_spans();
        RustFile { path: file.path.clone(), role: role_of_path(&file.path), source, test_spans }
    };
    let is_rust = |file: &&TextFile| file.path.ends_with(".rs");
    let mut files: Vec<RustFile> = texts.iter().filter(is_rust).map(parse).collect();
    let test_modules: BTreeSet<String> = files.iter().flat_map(test_modules).collect();
    for file in &mut files {
        let is_test = |module: &String| {
            let rest = file.path.strip_prefix(module.as_str());
            rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        };
        if test_modules.iter().any(is_test) {
            file.role = Role::Test;
        }
    }
    files
}

fn role_of_path(path: &str) -> Role {
    let mut parts = path.split('/');
    if path.ends_with("/tests.rs") || parts.clone().any(|part| matches!(part, "tests" | "benches"))
    {
        Role::Test
    } else if parts.any(|part| part == "examples") {
        Role::Example
    } else {
        Role::Production
    }
}

/// Returns the paths, without `.rs`, of the modules that a file declares with
/// `#[cfg(test)] mod name;`.
fn test_modules(file: &RustFile) -> Vec<String> {
    let stem = file.path.trim_end_matches(".rs");
    let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    let home = if matches!(name, "lib" | "main" | "mod") { folder } else { stem };
    let declarations = file.source.items().into_iter().filter(|item| {
        item.attributes.iter().any(|attribute| attribute.starts_with("#[cfg(test)"))
    });
    let modules = declarations
        .filter_map(|item| Some(item.code.strip_prefix("mod ")?.strip_suffix(';')?.to_owned()));
    modules.map(|module| format!("{home}/{module}")).collect()
}

/// Adds every file below a directory. `prefix` is its path in the workspace.
fn read_directory(
    directory: &Path,
    prefix: &str,
    texts: &mut Vec<TextFile>,
    others: &mut BTreeSet<String>,
) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
        if entry.file_type()?.is_dir() {
            if !is_foreign(&entry.path(), &name) {
                read_directory(&entry.path(), &path, texts, others)?;
            }
        } else if name != ".git" {
            match String::from_utf8(fs::read(entry.path())?) {
                Ok(text) => texts.push(TextFile { path, text }),
                Err(_) => drop(others.insert(path)),
            }
        }
    }
    Ok(())
}

/// Returns whether a folder belongs to git or npm, or is marked by cargo as its own.
fn is_foreign(directory: &Path, name: &str) -> bool {
    matches!(name, ".git" | "target" | "node_modules") || directory.join("CACHEDIR.TAG").exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_role_of_a_file_follows_from_its_path_or_declaration() {
        let workspace = Workspace::sample(&[
            ("crates/a/src/lib.rs", "mod log;\n#[cfg(test)]\nmod laws;\n"),
            ("crates/a/src/log.rs", "#[cfg(test)]\nmod torn;\n"),
            ("crates/a/src/log/torn.rs", ""),
            ("crates/a/src/laws/one.rs", ""),
            ("crates/a/src/tests.rs", ""),
            ("crates/a/tests/it/main.rs", ""),
            ("crates/a/examples/tour.rs", ""),
        ]);
        let roles: Vec<_> =
            workspace.rust.iter().map(|file| (file.path.as_str(), file.role)).collect();
        assert_eq!(
            roles,
            [
                ("crates/a/examples/tour.rs", Role::Example),
                ("crates/a/src/laws/one.rs", Role::Test),
                ("crates/a/src/lib.rs", Role::Production),
                ("crates/a/src/log.rs", Role::Production),
                ("crates/a/src/log/torn.rs", Role::Test),
                ("crates/a/src/tests.rs", Role::Test),
                ("crates/a/tests/it/main.rs", Role::Test),
            ]
        );
    }
}
