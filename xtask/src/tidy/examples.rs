//! Every public name of the main crate shows how it is used: its documentation, or that of one of its
//! methods, has an example, or links to an item whose documentation has one.
//!
//! What an example shows is for a reviewer to judge; that it compiles and runs, for `cargo test --doc`.

use std::collections::BTreeMap;
use std::ops::Range;

use super::rust_source::is_identifier;
use super::{Finding, RustFile, Workspace};

/// The sources of the crate that users depend on.
const SOURCES: &str = "crates/keyloom/src";
/// What a public name can be.
const KEYWORDS: &[&str] = &["struct", "enum", "trait", "type", "fn", "const", "static"];

/// A public name and the module that defines it.
#[derive(Debug)]
struct PublicName {
    name: String,
    /// Its file without `.rs`, which is also the folder of its submodules.
    module: String,
}

/// The documentation of one item.
#[derive(Debug)]
struct Documented<'a> {
    file: &'a RustFile,
    line: usize,
    docs: Docs,
}

/// A documentation comment.
#[derive(Debug)]
struct Docs(String);

/// The documentation of a crate, by the names in it.
#[derive(Debug, Default)]
struct Index<'a> {
    /// Public items at the top level of files.
    items: BTreeMap<String, Vec<Documented<'a>>>,
    /// Methods, by the names of their types.
    methods: BTreeMap<String, BTreeMap<String, Vec<Documented<'a>>>>,
    /// Modules, by the paths of their files without `.rs`.
    modules: BTreeMap<&'a str, Docs>,
}

pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    let index = Index::of(workspace);
    public_names(workspace).iter().filter_map(|public| index.check(public)).collect()
}

impl<'a> Index<'a> {
    fn of(workspace: &'a Workspace) -> Index<'a> {
        let mut index = Index::default();
        workspace.production().filter(|file| file.is_in(SOURCES)).for_each(|file| index.add(file));
        index
    }

    fn add(&mut self, file: &'a RustFile) {
        self.modules.insert(file.path.trim_end_matches(".rs"), Docs::of_module(file));
        for item in file.source.items() {
            if let Some(name) = public_name(item.code) {
                let documented = Documented::at(file, item.span.start, item.line);
                self.items.entry(name).or_default().push(documented);
            }
            if let Some(of) = implemented(item.code) {
                self.add_methods(file, of, &item.span);
            }
        }
    }

    fn add_methods(&mut self, file: &'a RustFile, of: String, span: &Range<usize>) {
        let methods = self.methods.entry(of).or_default();
        let functions = file.source.functions().into_iter();
        for function in functions.filter(|function| span.contains(&function.span.start)) {
            let documented = Documented::at(file, function.span.start, function.line);
            methods.entry(function.name).or_default().push(documented);
        }
    }

    fn check(&self, public: &PublicName) -> Option<Finding> {
        let PublicName { name, module } = public;
        let all = self.items.get(name).into_iter().flatten();
        let Some(item) = all.into_iter().find(|item| is_in(item.file, module)) else {
            let message = format!(
                "`{name}` is public, and is defined in no file of `{module}`: define it there, so that \
                 its example can be checked."
            );
            return Some(Finding::new(&format!("{SOURCES}/lib.rs"), 1, message));
        };
        let mut methods = self.methods.get(name).into_iter().flat_map(BTreeMap::values).flatten();
        let is_shown = item.docs.has_example()
            || methods.any(|method| method.docs.has_example())
            || item.docs.links().iter().any(|path| self.leads_to_example(path));
        (!is_shown).then(|| {
            let message = format!(
                "`{name}` has no example: add one to its documentation or to that of one of its \
                 methods, or link to an item whose example shows it."
            );
            Finding::new(&item.file.path, item.line, message)
        })
    }

    /// Returns whether the target of a link has an example itself.
    fn leads_to_example(&self, path: &[&str]) -> bool {
        let module = [&[SOURCES], path].concat().join("/");
        let of_module = match path {
            [] => self.modules.get(format!("{SOURCES}/lib").as_str()),
            _ => self.modules.get(module.as_str()),
        };
        let of_item = path.last().and_then(|name| self.items.get(*name));
        let of_method = match path {
            [.., of, name] => self.methods.get(*of).and_then(|methods| methods.get(*name)),
            _ => None,
        };
        let items = of_item.into_iter().chain(of_method).flatten().map(|item| &item.docs);
        of_module.into_iter().chain(items).any(Docs::has_example)
    }
}

impl<'a> Documented<'a> {
    fn at(file: &'a RustFile, offset: usize, line: usize) -> Documented<'a> {
        Documented { file, line, docs: Docs::before(file, offset) }
    }
}

impl Docs {
    /// The comment above an item: after the code before it.
    fn before(file: &RustFile, offset: usize) -> Docs {
        let start = file.source.code()[..offset].rfind(['{', '}', ';']).unwrap_or(0);
        Docs::of_lines(&file.source.text()[start..offset], "///")
    }

    fn of_module(file: &RustFile) -> Docs {
        Docs::of_lines(file.source.text(), "//!")
    }

    fn of_lines(text: &str, marker: &str) -> Docs {
        let lines = text.lines().filter_map(|line| line.trim_start().strip_prefix(marker));
        Docs(lines.map(str::trim_start).collect::<Vec<_>>().join("\n"))
    }

    /// Returns whether a block of code in it is compiled and run.
    fn has_example(&self) -> bool {
        let fences = self.0.lines().filter_map(|line| line.strip_prefix("```"));
        fences.step_by(2).any(|language| matches!(language, "" | "rust"))
    }

    /// Returns the paths of the items that it links to, without `crate`.
    fn links(&self) -> Vec<Vec<&str>> {
        let prose = self.0.split("```").step_by(2);
        let links = prose.flat_map(|prose| {
            let named = prose.split("[`").skip(1).filter_map(|rest| rest.split_once("`]"));
            let given = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
            named.chain(given).map(|(target, _)| target)
        });
        links
            .map(|target| target.split("::").filter(|segment| *segment != "crate").collect())
            .collect()
    }
}

fn is_in(file: &RustFile, module: &str) -> bool {
    file.path.trim_end_matches(".rs") == module || file.is_in(module)
}

/// Returns the names that the crate and its public modules define and export.
fn public_names(workspace: &Workspace) -> Vec<PublicName> {
    let root = exported_names(workspace, "lib", "");
    let modules = modules(workspace, "lib", "pub mod ").into_iter();
    let within =
        modules.flat_map(|module| exported_names(workspace, &module, &format!("{module}/")));
    root.into_iter().chain(within).collect()
}

/// Returns the public names in a file: those that it defines, and those of its submodules.
fn exported_names(workspace: &Workspace, file: &str, folder: &str) -> Vec<PublicName> {
    let own = modules(workspace, file, "mod ");
    let is_own = |path: &str| own.iter().any(|module| path.split("::").next() == Some(module));
    let mut names = vec![];
    for item in items(workspace, file) {
        if let Some(name) = public_name(&item) {
            names.push(PublicName { name, module: format!("{SOURCES}/{file}") });
        }
        let Some((path, leaves)) = item.strip_prefix("pub use ").and_then(split_use) else {
            continue;
        };
        if is_own(path) {
            let module = format!("{SOURCES}/{folder}{}", path.replace("::", "/"));
            let public = |name: &str| PublicName { name: name.to_owned(), module: module.clone() };
            names.extend(leaves.into_iter().map(public));
        }
    }
    names
}

/// Splits `a::{B, C};` into its path and its names.
fn split_use(tree: &str) -> Option<(&str, Vec<&str>)> {
    let tree = tree.strip_suffix(';')?;
    let (path, leaves) = tree.split_once("::{").or_else(|| tree.rsplit_once("::"))?;
    let leaves = leaves.trim_end_matches('}').split(',').map(str::trim);
    Some((path, leaves.filter(|leaf| !leaf.is_empty()).collect()))
}

/// Returns the modules that a file declares in this way.
fn modules(workspace: &Workspace, file: &str, declared: &str) -> Vec<String> {
    let items = items(workspace, file).into_iter();
    let modules =
        items.filter_map(|item| Some(item.strip_prefix(declared)?.strip_suffix(';')?.to_owned()));
    modules.collect()
}

/// Returns the code of the top-level items of a file of the crate.
fn items(workspace: &Workspace, file: &str) -> Vec<String> {
    let path = format!("{SOURCES}/{file}.rs");
    let found = workspace.rust.iter().find(|file| file.path == path);
    let items = found.into_iter().flat_map(|file| file.source.items());
    items.map(|item| item.code.to_owned()).collect()
}

/// Returns the name that a public item defines.
fn public_name(code: &str) -> Option<String> {
    let mut words = code.strip_prefix("pub ")?.split_whitespace();
    words.find(|word| KEYWORDS.contains(word))?;
    let name: String = words.next()?.chars().take_while(|c| is_identifier(*c)).collect();
    (!name.is_empty()).then_some(name)
}

/// Returns the name of the type or trait whose methods an item has.
fn implemented(code: &str) -> Option<String> {
    if code.starts_with("pub trait ") {
        return public_name(code);
    }
    let head = code.strip_prefix("impl")?.split('{').next()?;
    let of = head.rsplit_once(" for ").map_or(head, |(_, of)| of);
    let of = if of.starts_with('<') { of.split_once("> ")?.1 } else { of.trim_start() };
    let path: String = of.chars().take_while(|c| is_identifier(*c) || *c == ':').collect();
    path.rsplit("::").next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIB: (&str, &str) =
        ("crates/keyloom/src/lib.rs", "//! A.\nmod tree;\npub use tree::Tree;\n");

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        check(&Workspace::sample(files)).iter().map(ToString::to_string).collect()
    }

    fn check_tree(text: &str) -> Vec<String> {
        messages(&[LIB, ("crates/keyloom/src/tree.rs", text)])
    }

    #[test]
    fn a_name_without_an_example_is_found_where_it_is_defined() {
        for docs in
            ["/// A tree.", "/// A tree:\n/// ```text\n/// /\\\n/// ```", "/// See [`Leaf`]."]
        {
            let text = format!(
                "//! Trees.\n\n{docs}\n#[derive(Debug)]\npub struct Tree;\n\npub struct Leaf;\n"
            );
            let found = check_tree(&text);
            assert_eq!(found.len(), 1, "{docs}: {found:?}");
            let line = 4 + docs.lines().count();
            let expected = format!("crates/keyloom/src/tree.rs:{line}: `Tree` has no example");
            assert!(found[0].starts_with(&expected), "{found:?}");
        }
    }

    #[test]
    fn an_example_of_the_item_of_a_method_or_of_a_linked_item_is_enough() {
        let example = "/// It.\n///\n/// ```\n/// f();\n/// ```\n";
        let cases = [
            format!("{example}#[derive(Debug)]\npub struct Tree;\n"),
            format!(
                "/// A tree.\npub struct Tree<'t>(&'t u8);\nimpl<'t> Tree<'t> {{\n{example}    pub fn grow(&self) {{}}\n}}\n"
            ),
            format!(
                "/// See [`Db::tree`].\npub struct Tree;\npub struct Db;\nimpl Db {{\n{example}    pub async fn tree(&self) {{}}\n}}\n"
            ),
            format!(
                "/// See [the plan](crate::tree::Plan).\npub struct Tree;\n{example}pub enum Plan {{ A }}\n"
            ),
            "//! ```\n//! f();\n//! ```\n\n/// See the [module](crate::tree).\npub struct Tree;\n"
                .to_owned(),
        ];
        for text in cases {
            assert!(check_tree(&text).is_empty(), "{text}: {:?}", check_tree(&text));
        }
    }

    #[test]
    fn names_of_public_modules_are_checked_and_those_of_other_crates_are_not() {
        let lib = "//! A.\npub mod live;\npub use other::{Item, Value};\n";
        let live = "//! B.\nmod follow;\npub use follow::{Live, Moment};\npub use other::Key;\n/// C.\npub fn wait() {}\n";
        let follow = "//! D.\n/// E.\npub struct Live;\n/// F.\npub struct Moment;\n";
        let found = messages(&[
            ("crates/keyloom/src/lib.rs", lib),
            ("crates/keyloom/src/live.rs", live),
            ("crates/keyloom/src/live/follow.rs", follow),
        ]);
        let names: Vec<&str> = found.iter().filter_map(|found| found.split('`').nth(1)).collect();
        assert_eq!(names, ["Live", "Moment", "wait"]);
    }

    #[test]
    fn a_name_that_is_defined_elsewhere_is_reported() {
        let found = check_tree("//! Trees.\npub use other::Tree;\n");
        assert_eq!(found.len(), 1);
        assert!(
            found[0].contains("is defined in no file of `crates/keyloom/src/tree`"),
            "{found:?}"
        );
    }
}
