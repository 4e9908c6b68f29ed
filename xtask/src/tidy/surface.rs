//! The number of public names of each library.

use super::{Finding, Manifest, Workspace};

/// The most names that a crate may export. The store has the most: requests, answers and errors of
/// tables, sets, columns and the feed with its shards are plain data, each a name. So are those of the
/// model, whose layout has a name for each kind of key and of index, and which finds the lines that declare an entity;
/// workloads are a module there.
const NAMES_MAX: usize = 116;
/// The most names that the main crate may export. Events, plans of queries and copies are a module each.
const MAIN_NAMES_MAX: usize = 70;
/// The crate that users depend on.
const MAIN: &str = "keyloom";

/// The public names of one library.
#[derive(Debug)]
struct Surface<'a> {
    package: &'a str,
    path: String,
    names: usize,
    limit: usize,
}

pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    let over = surfaces(workspace).into_iter().filter(|surface| surface.names > surface.limit);
    over.map(|surface| {
        let message = format!(
            "`{}` exports {} names, the limit is {}: make names that users do not need `pub(crate)`.",
            surface.package, surface.names, surface.limit
        );
        Finding::new(&surface.path, 1, message)
    })
    .collect()
}

/// Returns a line with the number of public names of every library.
pub(crate) fn summary(workspace: &Workspace) -> String {
    let surfaces = surfaces(workspace);
    let sizes = surfaces
        .iter()
        .map(|Surface { package, names, limit, .. }| format!("{package} {names} of {limit}"));
    format!("public names: {}", sizes.collect::<Vec<_>>().join(", "))
}

fn surfaces(workspace: &Workspace) -> Vec<Surface<'_>> {
    workspace.manifests.iter().filter_map(|manifest| surface(workspace, manifest)).collect()
}

fn surface<'a>(workspace: &Workspace, manifest: &'a Manifest) -> Option<Surface<'a>> {
    let path = format!("{}/src/lib.rs", manifest.folder());
    let file = workspace.rust.iter().find(|file| file.path == path)?;
    let names = file.source.items().iter().map(|item| exported_names(item.code)).sum();
    let package = manifest.package.as_str();
    let limit = if package == MAIN { MAIN_NAMES_MAX } else { NAMES_MAX };
    Some(Surface { package, path, names, limit })
}

/// Returns how many names an item of `lib.rs` makes public; a public module counts as one.
fn exported_names(item: &str) -> usize {
    let Some(declaration) = item.strip_prefix("pub ") else { return 0 };
    let Some(tree) = declaration.strip_prefix("use ") else { return 1 };
    let mut names = 0;
    let mut path_is_open = false;
    for c in tree.chars() {
        match c {
            // The path before the brace was a prefix, not a name.
            '{' => path_is_open = false,
            ',' | '}' | ';' => {
                names += usize::from(path_is_open);
                path_is_open = false;
            }
            _ => path_is_open |= !c.is_whitespace(),
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_leaf_of_an_export_is_a_name() {
        let cases = [
            ("pub use a::B;", 1),
            ("pub use a::B as C;", 1),
            ("pub use a::{B, C, D};", 3),
            ("pub use a::{\n    B, C,\n    d::{E, F},\n};", 4),
            ("pub mod a;", 1),
            ("pub(crate) use a::B;", 0),
            ("mod a;", 0),
        ];
        for (item, names) in cases {
            assert_eq!(exported_names(item), names, "{item}");
        }
    }

    #[test]
    fn too_many_public_names_are_rejected() {
        let count_findings = |package: &str, names: usize| {
            let manifest = format!("[package]\nname = \"{package}\"\n");
            let lib = format!("//! A.\npub use a::{{{}}};\n", "B, ".repeat(names));
            let files = [("crates/a/Cargo.toml", manifest.as_str()), ("crates/a/src/lib.rs", &lib)];
            check(&Workspace::sample(&files)).len()
        };
        for (package, most) in [("keyloom-store", NAMES_MAX), (MAIN, MAIN_NAMES_MAX)] {
            assert_eq!(count_findings(package, most), 0);
            assert_eq!(count_findings(package, most + 1), 1);
        }
    }
}
