//! The OpenAPI documents of the apps are valid, true to what the server does, and good for
//! generating a client. The tools come from PyPI and npm.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::clients::{installed, python_with, succeed, suite};
use crate::process::{Served, fresh, keyloom, scratch};
use crate::size::{Size, seed, size};

const APPS: [&str; 4] = ["tasks", "comments", "kitchen", "oncall"];
const SCHEMATHESIS: &str = "schemathesis==4.32.5";
const VALIDATOR: &str = "openapi-spec-validator==0.9.0";

fn written(app: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/openapi/{app}.json"))
}

#[test]
fn the_documents_of_the_apps_are_valid() {
    let python = python_with(VALIDATOR);
    for app in APPS {
        let validate = ["-m", "openapi_spec_validator"];
        succeed("A valid document", Command::new(&python).args(validate).arg(written(app)));
    }
}

/// Requests that the document allows and such that it does not, to every operation: no answer is
/// one that the document does not know, nothing valid is refused, and nothing else is taken.
fn conforms(app: &str) {
    let directory = fresh(&format!("schemathesis-{app}"));
    let mut create = keyloom();
    let create = create.args(["token", "create", "--role", "admin", "--data"]).arg(&directory);
    let created = String::from_utf8(create.output().unwrap().stdout).unwrap();
    let token = created.lines().next().unwrap().to_owned();
    let served = Served::app(app, directory);
    let mut command = Command::new(python_with(SCHEMATHESIS).with_file_name("schemathesis"));
    // Random requests to each operation.
    let examples = match size() {
        Size::Reduced => "5",
        Size::Full => "100",
    };
    let clients = suite("");
    command
        .env("PYTHONPATH", &clients)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("SCHEMATHESIS_HOOKS", "keyloom_checks")
        .arg("--config-file")
        .arg(clients.join("schemathesis.toml"))
        .args(["run", &format!("{}/openapi.json", served.url)])
        // An answer that never ends is not for a tool that waits for the end.
        .args(["--exclude-path", "/changes"])
        .args(["--header", &format!("Authorization: Bearer {token}")])
        .args(["--header", "Keyloom-Tenant: acme"])
        .args(["--seed", &seed().to_string(), "--generation-database", "none", "--warnings", "off"])
        .args(["--no-color", "--max-examples", examples]);
    succeed("The server does what its document says", &mut command);
}

#[test]
fn tasks_do_what_their_document_says() {
    conforms("tasks");
}

#[test]
fn comments_do_what_their_document_says() {
    conforms("comments");
}

#[test]
fn the_kitchen_does_what_its_document_says() {
    conforms("kitchen");
}

#[test]
fn oncall_does_what_its_document_says() {
    conforms("oncall");
}

#[test]
fn a_client_made_from_the_document_compiles_and_works() {
    let folder = scratch("openapi-client");
    installed(&folder, || {
        std::fs::copy(suite("openapi.package.json"), folder.join("package.json")).unwrap();
        let install = ["install", "--loglevel=error", "--no-audit", "--no-fund"];
        succeed("The tools come from npm", Command::new("npm").args(install).current_dir(&folder));
    });
    std::fs::copy(suite("api_suite.ts"), folder.join("api_suite.ts")).unwrap();
    let tool = |name: &str| {
        let mut command = Command::new(folder.join("node_modules/.bin").join(name));
        command.current_dir(&folder);
        command
    };
    let make = &mut tool("openapi-typescript");
    succeed("Types are made", make.arg(written("kitchen")).args(["--output", "kitchen.ts"]));
    let strict = ["--strict", "--target", "es2022", "--module", "nodenext", "--outDir", "out"];
    succeed("It compiles", tool("tsc").args(strict).arg("api_suite.ts"));
    let served = Served::app("kitchen", fresh("openapi-client-data"));
    let mut node = Command::new("node");
    succeed("It works", node.arg(folder.join("out/api_suite.js")).arg(&served.url));
}
