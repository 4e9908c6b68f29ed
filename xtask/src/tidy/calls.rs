//! Forbidden calls, attributes and re-exports in Rust code.

use super::{Finding, RustFile, Workspace};

/// Packages that may panic, because they do not handle user data.
const MAY_PANIC: &[&str] = &["crates/testkit", "xtask", "bench", "fuzz"];

/// Forbidden code.
struct Ban {
    code: &'static str,
    reach: Reach,
    message: &'static str,
}

/// Where a ban applies.
#[derive(Clone, Copy)]
enum Reach {
    Everywhere,
    /// Tests and the testkit.
    Tests,
    /// Product code, which handles user data.
    Product,
}

const BANS: &[Ban] = &[
    Ban {
        code: "todo!(",
        reach: Reach::Everywhere,
        message: "implement it, or return an error that reports it as unsupported.",
    },
    Ban {
        code: "unimplemented!(",
        reach: Reach::Everywhere,
        message: "implement it, or return an error that reports it as unsupported.",
    },
    Ban {
        code: "#[ignore",
        reach: Reach::Everywhere,
        message: "a test that does not run proves nothing: assert today's behaviour with a note, \
                  or delete the test.",
    },
    Ban {
        code: "#[should_panic",
        reach: Reach::Everywhere,
        message: "any panic would pass: return an error and assert its message.",
    },
    Ban {
        code: "thread::sleep",
        reach: Reach::Tests,
        message: "a test that sleeps is slow or flaky: take a clock, or wait for the event itself.",
    },
    Ban {
        code: ".unwrap()",
        reach: Reach::Product,
        message: "return an error, or use `expect` under `#[expect(clippy::expect_used, reason = \
                  ...)]` where it cannot fail.",
    },
    Ban {
        code: ".expect(",
        reach: Reach::Product,
        message: "return an error, or explain above the function or statement why it cannot fail: \
                  `#[expect(clippy::expect_used, reason = ...)]`.",
    },
];

pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    let files = workspace.rust.iter();
    files.flat_map(|file| [banned(file), glob_exports(file)].concat()).collect()
}

fn banned(file: &RustFile) -> Vec<Finding> {
    let places = BANS.iter().flat_map(|ban| file.source.find(ban.code).map(move |at| (ban, at)));
    let refused = places.filter(|(ban, offset)| ban.applies_at(file, *offset));
    refused
        .map(|(ban, offset)| {
            let message = format!("`{}`: {}", ban.code, ban.message);
            Finding::new(&file.path, file.source.line(offset), message)
        })
        .collect()
}

impl Ban {
    fn applies_at(&self, file: &RustFile, offset: usize) -> bool {
        let is_test = file.is_test(offset);
        match self.reach {
            Reach::Everywhere => true,
            Reach::Tests => is_test || file.is_in("crates/testkit"),
            Reach::Product => {
                file.role == super::Role::Production
                    && !is_test
                    && !MAY_PANIC.iter().any(|folder| file.is_in(folder))
                    && !is_excused(file, offset)
            }
        }
    }
}

/// Returns whether the function or statement of an `expect` explains why it cannot fail.
fn is_excused(file: &RustFile, offset: usize) -> bool {
    let code = file.source.code();
    if code[offset..].starts_with(".unwrap()") {
        return false;
    }
    let functions = file.source.functions();
    let around = functions.iter().rev().find(|function| function.span.contains(&offset));
    let from = around.map_or(0, |function| attributes_start(code, function.span.start));
    let squeezed: String = code[from..offset].split_whitespace().collect();
    squeezed.contains("#[expect(clippy::expect_used")
}

/// Returns where a function's attributes start: after the last `}`, `;` or `{` before it.
fn attributes_start(code: &str, function: usize) -> usize {
    code[..function].rfind(['}', ';', '{']).map_or(0, |offset| offset + 1)
}

/// Rejects `pub use x::*`, which hides what is public.
fn glob_exports(file: &RustFile) -> Vec<Finding> {
    let starts = file.source.find("use ").filter(|start| is_public(file.source.code(), *start));
    let globs = starts.filter(|start| {
        let statement = &file.source.code()[*start..];
        statement.split(';').next().is_some_and(|path| path.contains('*'))
    });
    let message = "name the re-exported items: a glob makes items public by accident.";
    globs.map(|start| Finding::new(&file.path, file.source.line(start), message)).collect()
}

/// Returns whether a `use` at the offset has `pub` or `pub(…)` before it.
fn is_public(code: &str, start: usize) -> bool {
    let before = code[..start].trim_end();
    before.ends_with("pub")
        || before.ends_with(')')
            && before.rfind("pub(").is_some_and(|at| !before[at..].contains('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(path: &str, text: &str) -> Vec<String> {
        check(&Workspace::sample(&[(path, text)])).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_ban_fires_at_its_line() {
        let product = "crates/store/src/a.rs";
        let test = "crates/store/tests/it/main.rs";
        let cases = [
            (product, "fn f() {\n    todo!()\n}"),
            (product, "fn f() {\n    unimplemented!()\n}"),
            (product, "fn f() {\n    a.unwrap();\n}"),
            (product, "fn f() {\n    a.expect(\"b\");\n}"),
            (test, "\n#[ignore]\nfn f() {}"),
            (test, "\n#[ignore = \"slow\"]\nfn f() {}"),
            (test, "\n#[should_panic(expected = \"x\")]\nfn f() {}"),
            (test, "fn f() {\n    std::thread::sleep(d);\n}"),
            (product, "#[cfg(test)]\nmod tests { fn f() { thread::sleep(d) } }"),
            ("crates/testkit/src/a.rs", "fn f() {\n    thread::sleep(d);\n}"),
            (product, "\npub use a::*;"),
            (product, "\npub(crate) use a::{b, c::*};"),
        ];
        for (path, text) in cases {
            let found = check_text(path, text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].starts_with(&format!("{path}:2: ")), "{found:?}");
        }
    }

    #[test]
    fn allowed_code_passes() {
        let product = "crates/store/src/a.rs";
        let cases = [
            (product, "// A todo!() in a comment.\nfn f() { g(\"a.unwrap()\") }"),
            (product, "#[cfg(test)]\nmod tests {\n    fn f() { a.unwrap() }\n}"),
            (product, "fn f() { a.unwrap_or(b).expect_err(c); thread::sleep(d) }"),
            ("crates/store/tests/it/main.rs", "fn f() { a.unwrap() }"),
            ("xtask/src/a.rs", "fn f() { a.expect(b) }"),
            (product, "use a::*;"),
            (product, "pub use a::{b, c};\nfn f() -> u8 { 2 * 3 }"),
        ];
        for (path, text) in cases {
            assert!(check_text(path, text).is_empty(), "{text}: {:?}", check_text(path, text));
        }
    }

    #[test]
    fn an_expect_with_a_reason_is_excused_and_the_next_function_is_not() {
        let excuse = "#[expect(clippy::expect_used, reason = \"it was checked\")]\n";
        let broken = excuse.replace("clippy", "\n    clippy");
        let broken = format!("{broken}fn f() {{\n    a.expect(\"b\");\n}}\n");
        assert!(check_text("crates/store/src/a.rs", &broken).is_empty());
        let excused = format!("{excuse}pub fn f() {{\n    a.expect(\"b\");\n}}\n");
        assert!(check_text("crates/store/src/a.rs", &excused).is_empty());
        let statement = format!("fn f() {{\n    {excuse}    let a = b.expect(\"b\");\n}}\n");
        assert!(check_text("crates/store/src/a.rs", &statement).is_empty());
        let next = format!("{excused}fn g() {{\n    a.expect(\"b\");\n}}\n");
        assert_eq!(check_text("crates/store/src/a.rs", &next).len(), 1);
        let unwrapped = format!("{excuse}fn f() {{\n    a.unwrap();\n}}\n");
        assert_eq!(check_text("crates/store/src/a.rs", &unwrapped).len(), 1);
    }
}
