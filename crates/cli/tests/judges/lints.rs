//! Linters have no errors and no warnings about the OpenAPI documents of the applications and of the gallery.
//! `clients/redocly.yaml` and `clients/spectral.yaml` say which rules do not apply, and why. The linters come
//! from npm.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::clients::{installed, succeed, suite};
use crate::documents;
use crate::process::{fresh, scratch};

/// The folder with the linters.
fn tools() -> PathBuf {
    let folder = scratch("openapi-lint");
    installed(&folder, || {
        fs::copy(suite("lint.package.json"), folder.join("package.json")).unwrap();
        let install = ["install", "--loglevel=error", "--no-audit", "--no-fund"];
        succeed(
            "The linters come from npm",
            Command::new("npm").args(install).current_dir(&folder),
        );
    });
    folder
}

fn paths(name: &str) -> impl Iterator<Item = PathBuf> {
    documents::all(&fresh(name)).into_iter().map(|(_, path)| path)
}

#[test]
fn redocly_has_no_findings() {
    let mut redocly = Command::new(tools().join("node_modules/.bin/redocly"));
    redocly
        .env("REDOCLY_TELEMETRY", "off")
        .env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true")
        .arg("lint")
        .arg(format!("--config={}", suite("redocly.yaml").display()));
    succeed("Redocly has no findings", redocly.args(paths("lint-redocly")));
}

#[test]
fn spectral_has_no_findings() {
    let mut spectral = Command::new(tools().join("node_modules/.bin/spectral"));
    spectral.args(["lint", "--fail-severity", "hint", "--ruleset"]).arg(suite("spectral.yaml"));
    succeed("Spectral has no findings", spectral.args(paths("lint-spectral")));
}
