//! The pages of the applications in a browser: Debian's chromium, driven by playwright.

use std::path::Path;
use std::process::Command;

use keyloom_testkit::readme::{self, Process};

use crate::clients::{installed, succeed, suite};
use crate::process::{Folder, keyloom, scratch};

const CHROMIUM: &str = "/usr/bin/chromium";

#[test]
fn tasks_are_narrowed_by_their_tags() {
    used("tasks", "300");
}

#[test]
fn comments_are_filtered_counted_and_written() {
    used("comments", "2000");
}

#[test]
fn a_menu_is_planned_and_its_shopping_list_follows() {
    used("kitchen", "2");
}

#[test]
fn a_search_escalates_and_is_answered() {
    used("oncall", "6");
}

/// The tutorial is walked until it says what the page does, and the page is used.
#[test]
fn the_page_of_the_tutorial_does_what_it_says() {
    let page = include_str!("../../../../docs/tutorial.md");
    let (until, after) = page.split_once("Open http://127.0.0.1:8080/ in two windows").unwrap();
    assert!(after.starts_with(": a tool that you add in one appears in the other."));
    let folder = Folder::new("browser-tutorial");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_keyloom"));
    assert!(readme::walk(until, binary, &root, Path::new(&folder.path(""))) > 20);
    let mut command = keyloom();
    command.args(["serve", "tools.toml"]).current_dir(folder.path("tools"));
    looked_at("tutorial", &Process::serve(command));
}

/// Serves an application with samples, and runs its page test.
fn used(app: &str, size: &str) {
    let data = Folder::new(&format!("browser-{app}"));
    let mut command = keyloom();
    command.args(["demo", app, "--size", size, "--data", &data.path("data")]);
    looked_at(app, &Process::serve(command));
}

/// Runs the test of a page.
fn looked_at(name: &str, served: &Process) {
    let folder = driver();
    let mut node = Command::new("node");
    node.arg(format!("{name}/browser.mjs")).args([name, &served.url]).current_dir(&folder);
    // A folder of its own because tests run in parallel; the modules find playwright above it.
    std::fs::create_dir_all(folder.join(name).join("pages")).unwrap();
    for script in ["axe.mjs".to_owned(), "browser.mjs".to_owned(), format!("pages/{name}.mjs")] {
        std::fs::copy(suite(&script), folder.join(name).join(&script)).unwrap();
    }
    succeed("The page in a browser", &mut node);
}

/// A folder with playwright.
pub(crate) fn driver() -> std::path::PathBuf {
    let folder = scratch("browser");
    installed(&folder, || {
        std::fs::copy(suite("browser.package.json"), folder.join("package.json")).unwrap();
        let install = ["install", "--loglevel=error", "--no-audit", "--no-fund"];
        succeed("playwright from npm", Command::new("npm").args(install).current_dir(&folder));
        if !Path::new(CHROMIUM).exists() {
            let apt = |arguments: &[&str]| {
                succeed("chromium from Debian", Command::new("apt-get").args(arguments));
            };
            apt(&["update", "--quiet"]);
            apt(&["install", "--yes", "--quiet", "--no-install-recommends", "chromium"]);
        }
    });
    folder
}
