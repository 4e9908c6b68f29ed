//! Names and dependencies of packages, from `Cargo.toml`.
//!
//! A line parser, not a TOML parser: it understands the manifests of this workspace, with one
//! dependency per line or table.

use super::TextFile;

/// A package of the workspace.
#[derive(Debug)]
pub(crate) struct Manifest {
    /// The path of the `Cargo.toml`.
    pub(crate) path: String,
    /// The package's name.
    pub(crate) package: String,
    pub(crate) dependencies: Vec<Dependency>,
}

/// A dependency of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// The name of the package, before renaming.
    pub(crate) package: String,
    pub(crate) kind: DependencyKind,
    /// The line in the manifest, from 1.
    pub(crate) line: usize,
}

/// When a dependency is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DependencyKind {
    /// In the product, or to build it.
    Product,
    /// In tests, examples and benchmarks.
    Development,
}

impl Manifest {
    pub(crate) fn parse(file: &TextFile) -> Manifest {
        let mut manifest =
            Manifest { path: file.path.clone(), package: String::new(), dependencies: vec![] };
        let mut table = String::new();
        for (index, line) in file.text.lines().enumerate() {
            let line = line.trim();
            if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                table = header.to_owned();
                manifest.dependencies.extend(table_dependency(&table, index + 1));
            } else if let Some((key, value)) = line.split_once('=') {
                manifest.read_line(&table, key.trim(), value.trim(), index + 1);
            }
        }
        manifest
    }

    /// Returns the folder of the package.
    pub(crate) fn folder(&self) -> &str {
        self.path.trim_end_matches("/Cargo.toml")
    }

    fn read_line(&mut self, table: &str, key: &str, value: &str, line: usize) {
        if table == "package" && key == "name" {
            self.package = unquote(value);
        } else if let Some((kind, "")) = dependency_table(table) {
            let name = key.split('.').next().unwrap_or(key);
            let package = renamed_from(value).unwrap_or_else(|| unquote(name));
            self.dependencies.push(Dependency { package, kind, line });
        }
    }
}

/// Returns the dependency that a table declares, such as `[dependencies.redb]`.
fn table_dependency(table: &str, line: usize) -> Option<Dependency> {
    let (kind, name) = dependency_table(table)?;
    (!name.is_empty()).then(|| Dependency { package: unquote(name), kind, line })
}

/// Returns the kind of dependencies in a table, and the name if it declares only one.
fn dependency_table(table: &str) -> Option<(DependencyKind, &str)> {
    let kinds = [
        ("dev-dependencies", DependencyKind::Development),
        ("build-dependencies", DependencyKind::Product),
        ("dependencies", DependencyKind::Product),
    ];
    kinds.into_iter().find_map(|(word, kind)| {
        let (before, after) = table.rsplit_once(word)?;
        let is_table = before.is_empty() || before.ends_with('.');
        is_table.then_some((kind, after.trim_start_matches('.')))
    })
}

/// Returns the package in `{ package = "redb", … }`.
fn renamed_from(value: &str) -> Option<String> {
    let (_, rest) = value.split_once("package")?;
    let rest = rest.trim_start().strip_prefix('=')?;
    Some(rest.split('"').nth(1)?.to_owned())
}

fn unquote(text: &str) -> String {
    text.trim_matches(['"', '\'']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_dependency_is_parsed() {
        let text = "[package]\nname = \"keyloom-a\"\n\n[dependencies]\nredb.workspace = true\n\
            tree = { package = \"sled\", version = \"1\" }\n[dependencies.rand]\nversion = \"1\"\n\
            [target.'cfg(unix)'.dependencies]\nlibc = \"0.2\"\n\
            [build-dependencies]\ncc = \"1\"\n[dev-dependencies]\nproptest.workspace = true\n";
        let file = TextFile { path: "crates/a/Cargo.toml".to_owned(), text: text.to_owned() };
        let manifest = Manifest::parse(&file);
        assert_eq!(manifest.package, "keyloom-a");
        assert_eq!(manifest.folder(), "crates/a");
        let seen: Vec<_> =
            manifest.dependencies.iter().map(|d| (d.package.as_str(), d.kind, d.line)).collect();
        assert_eq!(
            seen,
            [
                ("redb", DependencyKind::Product, 5),
                ("sled", DependencyKind::Product, 6),
                ("rand", DependencyKind::Product, 7),
                ("libc", DependencyKind::Product, 10),
                ("cc", DependencyKind::Product, 12),
                ("proptest", DependencyKind::Development, 14),
            ]
        );
    }
}
