//! Clients that `keyloom client` generates pass the strictest checks of their languages, and work. The
//! tools come from npm and PyPI.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use keyloom_testkit::Random;
use keyloom_testkit::model::draft;
use keyloom_testkit::readme;

use crate::clients::{installed, python_with, succeed, suite};
use crate::process::{Served, app, fresh, output, scratch};
use crate::size::{Size, seed, size};

/// The applications that the suites use; the client of the last one is only checked.
const APPS: [&str; 4] = ["tasks", "comments", "kitchen", "oncall"];
/// The guide, whose examples are checked, too.
const GUIDE: &str = include_str!("../../../../docs/clients.md");
const MYPY: &str = "mypy==2.4.1";
/// Everything that makes TypeScript stricter, and what lets Node.js run the files without a compiler.
const STRICT: [&str; 12] = [
    "--strict",
    "--noUncheckedIndexedAccess",
    "--exactOptionalPropertyTypes",
    "--noImplicitOverride",
    "--noUnusedLocals",
    "--erasableSyntaxOnly",
    "--target",
    "es2022",
    "--module",
    "nodenext",
    "--lib",
    "es2022,dom,dom.iterable",
];

/// Generates the client of a model file in a folder of this name.
fn generate(folder: &Path, language: &str, name: &str, model: &str) {
    let out = folder.join(name);
    let (success, _, err) = output(&["client", language, model, "--out", out.to_str().unwrap()]);
    assert!(success, "{model}: {err}");
}

/// Generates clients of the applications, of a model with difficult names, and of random ones.
fn generate_all(folder: &Path, language: &str) {
    for name in APPS {
        generate(folder, language, name, &app(name));
    }
    generate(folder, language, "hostile", suite("hostile.toml").to_str().unwrap());
    let count = match size() {
        Size::Reduced => 8,
        Size::Full => 100,
    };
    for index in 0..count {
        let model = draft(&mut Random::new(seed() + index)).text();
        let path = folder.join(format!("random{index}.toml"));
        fs::write(&path, model).unwrap();
        generate(folder, language, &format!("random{index}"), path.to_str().unwrap());
    }
}

/// Runs a suite against servers of the applications that it uses.
fn run_suite(language: &str, command: &mut Command) {
    let served: Vec<Served> = APPS[..3]
        .iter()
        .map(|name| Served::app(name, fresh(&format!("generated-{language}-{name}"))))
        .collect();
    succeed("The suite", command.args(served.iter().map(|served| &served.url)));
}

/// The examples of the guide in a language, as functions: `head` begins one, with `NAME` and `APP` to fill in, and
/// `indent` each of its lines. An example is of the tasks unless it says whose.
fn examples(language: &str, head: &str, indent: &str, end: &str) -> String {
    let blocks = readme::blocks(GUIDE).into_iter().filter(|block| block.language == language);
    let function = |(n, block): (usize, readme::Block<'_>)| {
        let app = if block.attributes.is_empty() { "tasks" } else { block.attributes };
        let head = head.replace("NAME", &format!("example{n}")).replace("APP", app);
        let lines: String = block.text.lines().map(|line| format!("{indent}{line}\n")).collect();
        format!("{head}{lines}{end}")
    };
    let examples: Vec<String> = blocks.enumerate().map(function).collect();
    assert!(examples.len() > 3);
    examples.concat()
}

const TYPESCRIPT_IMPORTS: &str = "\
import type * as kitchen from \"./kitchen/client.js\";
import type * as tasks from \"./tasks/client.js\";
";
const TYPESCRIPT_EXAMPLE: &str = "\
export async function NAME(client: APP.Client, id: string, render: (items: tasks.Task[]) => void): Promise<void> {
";
const PYTHON_IMPORTS: &str = "\
from collections.abc import Callable
import kitchen.client
import tasks.client
";
const PYTHON_EXAMPLE: &str = "
def NAME(client: APP.client.Client, id: str, render: Callable[[list[tasks.client.Task]], None]) -> None:
";

/// The clients of all models in this folder.
fn clients(folder: &Path, file: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path().join(file));
    let found: Vec<PathBuf> = entries.filter(|path| path.exists()).collect();
    assert!(found.len() > APPS.len() + 1);
    found
}

#[test]
fn typescript_clients_are_strictly_typed_and_work() {
    let tools = scratch("openapi-client");
    installed(&tools, || {
        fs::copy(suite("openapi.package.json"), tools.join("package.json")).unwrap();
        let install = ["install", "--loglevel=error", "--no-audit", "--no-fund"];
        succeed("The tools come from npm", Command::new("npm").args(install).current_dir(&tools));
    });
    // Below the tools, where the compiler finds the types of Node.js.
    let folder = tools.join("generated");
    let _ = fs::remove_dir_all(&folder);
    generate_all(&folder, "typescript");
    fs::copy(suite("generated_suite.ts"), folder.join("generated_suite.ts")).unwrap();
    let examples = examples("ts", TYPESCRIPT_EXAMPLE, "  ", "}\n");
    fs::write(folder.join("guide.ts"), format!("{TYPESCRIPT_IMPORTS}{examples}")).unwrap();
    let mut tsc = Command::new(tools.join("node_modules/.bin/tsc"));
    tsc.current_dir(&folder).args(STRICT).args([
        "--outDir",
        "out",
        "generated_suite.ts",
        "guide.ts",
    ]);
    succeed("Types are right", tsc.args(clients(&folder, "client.ts")));
    run_suite("typescript", Command::new("node").arg(folder.join("out/generated_suite.js")));
}

#[test]
fn python_clients_are_strictly_typed_and_work() {
    let python = python_with(MYPY);
    let folder = fresh("generated-python");
    generate_all(&folder, "python");
    fs::copy(suite("generated_suite.py"), folder.join("generated_suite.py")).unwrap();
    let examples = examples("py", PYTHON_EXAMPLE, "    ", "");
    fs::write(folder.join("guide.py"), format!("{PYTHON_IMPORTS}{examples}")).unwrap();
    let mut mypy = Command::new(&python);
    mypy.current_dir(&folder)
        .args(["-m", "mypy", "--strict", "--python-version", "3.10", "--explicit-package-bases"])
        .args(["--namespace-packages", "generated_suite.py", "guide.py"]);
    let clients = clients(&folder, "client.py");
    succeed("Types are right", mypy.args(&clients));
    for client in &clients {
        succeed("It can be imported", Command::new(&python).arg(client));
    }
    run_suite("python", Command::new(&python).arg(folder.join("generated_suite.py")));
}
