//! The OpenAPI documents of the applications are valid, match what the server does, and work with client
//! generators, as do those of the gallery. The tools come from PyPI and npm.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::clients::{installed, python_with, succeed, suite};
use crate::documents::{self, APPS};
use crate::process::{Served, fresh, keyloom, scratch};
use crate::size::{Size, seed, size};

const SCHEMATHESIS: &str = "schemathesis==4.32.5";
const GENERATOR: &str = "openapi-python-client==0.29.1";
const VALIDATOR: &str = "openapi-spec-validator==0.9.0";

#[test]
fn the_documents_are_valid() {
    let python = python_with(VALIDATOR);
    let paths = documents::all(&fresh("openapi-valid")).into_iter().map(|(_, path)| path);
    let validate = ["-m", "openapi_spec_validator"];
    succeed("Valid documents", Command::new(&python).args(validate).args(paths));
}

/// Sends valid and invalid requests to every operation: every response is documented, valid requests are
/// accepted, and invalid ones refused.
fn conforms(app: &str) {
    let (served, token) = with_admin(app, &format!("schemathesis-{app}"));
    let mut command = Command::new(python_with(SCHEMATHESIS).with_file_name("schemathesis"));
    // Random requests to each operation.
    let examples = match size() {
        Size::Reduced => "5",
        Size::Full => "100",
    };
    let clients = suite("");
    command
        // It writes files to its working directory.
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .env("PYTHONPATH", &clients)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("SCHEMATHESIS_HOOKS", "keyloom_checks")
        .arg("--config-file")
        .arg(clients.join("schemathesis.toml"))
        .args(["run", &format!("{}/openapi.json", served.url)])
        // An endless response.
        .args(["--exclude-path", "/changes"])
        .args(["--header", &format!("Authorization: Bearer {token}")])
        .args(["--header", "Keyloom-Tenant: acme"])
        .args(["--seed", &seed().to_string(), "--generation-database", "none", "--warnings", "off"])
        .args(["--no-color", "--max-examples", examples]);
    succeed("The server does what its document says", &mut command);
}

#[test]
fn tasks_conform_to_their_openapi_document() {
    conforms("tasks");
}

#[test]
fn comments_conform_to_their_openapi_document() {
    conforms("comments");
}

#[test]
fn the_kitchen_conforms_to_its_openapi_document() {
    conforms("kitchen");
}

#[test]
fn oncall_conforms_to_its_openapi_document() {
    conforms("oncall");
}

#[test]
fn clients_that_openapi_typescript_generates_compile_and_work() {
    let folder = scratch("openapi-client");
    installed(&folder, || {
        std::fs::copy(suite("openapi.package.json"), folder.join("package.json")).unwrap();
        let install = ["install", "--loglevel=error", "--no-audit", "--no-fund"];
        succeed("The tools come from npm", Command::new("npm").args(install).current_dir(&folder));
    });
    let tool = |name: &str| {
        let mut command = Command::new(folder.join("node_modules/.bin").join(name));
        command.current_dir(&folder);
        command
    };
    let mut sources = vec!["api_suite.ts".to_owned(), "api_apps.ts".to_owned()];
    for suite_name in &sources {
        std::fs::copy(suite(suite_name), folder.join(suite_name)).unwrap();
    }
    for (name, document) in documents::all(&fresh("openapi-typescript-documents")) {
        let make = &mut tool("openapi-typescript");
        let output = format!("{name}.ts");
        succeed("Types are made", make.arg(document).args(["--output", &output]));
        sources.push(output);
    }
    let strict = ["--strict", "--target", "es2022", "--module", "nodenext", "--outDir", "out"];
    succeed("It compiles", tool("tsc").args(strict).args(sources));
    let compiled = |name: &str| folder.join("out").join(name);
    for app in APPS {
        let served = Served::app(app, fresh(&format!("openapi-typescript-{app}")));
        let mut node = Command::new("node");
        match app {
            "kitchen" => node.arg(compiled("api_suite.js")),
            _ => node.arg(compiled("api_apps.js")).arg(app),
        };
        succeed("It works", node.arg(&served.url));
    }
}

#[test]
fn clients_that_openapi_python_client_generates_work() {
    let python = python_with(GENERATOR);
    for app in APPS {
        let folder = generated(&python, app, &documents::of_app(app));
        let (served, token) = with_admin(app, &format!("openapi-python-data-{app}"));
        let mut client = Command::new(&python);
        client.arg(suite("api_client.py")).args([app, &served.url, &token]);
        client.env("PYTHONPATH", &folder).env("PYTHONDONTWRITEBYTECODE", "1");
        succeed("It works", &mut client);
    }
}

#[test]
fn openapi_python_client_generates_clients_of_the_gallery() {
    let python = python_with(GENERATOR);
    for (name, document) in documents::of_gallery(&fresh("openapi-python-documents")) {
        let folder = generated(&python, &name, &document);
        let mut import = Command::new(&python);
        import.args(["-c", &format!("import {name}_client.models")]);
        succeed("It can be imported", import.env("PYTHONPATH", &folder));
    }
}

/// Generates a client with default options. The generator warns about what it cannot express: that may be the
/// type of a response that is not JSON, but not an operation.
fn generated(python: &Path, name: &str, document: &Path) -> PathBuf {
    let folder = fresh(&format!("openapi-python-{name}"));
    let binaries = python.parent().unwrap().to_str().unwrap();
    // It formats its output with a tool of its venv.
    let path = format!("{binaries}:{}", std::env::var("PATH").unwrap_or_default());
    let mut generate = Command::new(python.with_file_name("openapi-python-client"));
    generate.args(["generate", "--path"]).arg(document).env("PATH", &path);
    let output = generate.arg("--output-path").arg(&folder).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let warnings = said.matches("WARNING").count();
    let is_known = said.matches("WARNING parsing GET /metrics").count() == warnings;
    let is_whole = output.status.success() && !said.contains("will not be generated");
    assert!(is_whole && is_known, "{name}: {said}");
    folder
}

/// An application in a new directory, and the token of an admin.
fn with_admin(app: &str, name: &str) -> (Served, String) {
    let directory = fresh(name);
    let mut create = keyloom();
    let create = create.args(["token", "create", "--role", "admin", "--data"]).arg(&directory);
    let created = String::from_utf8(create.output().unwrap().stdout).unwrap();
    (Served::app(app, directory), created.lines().next().unwrap().to_owned())
}
