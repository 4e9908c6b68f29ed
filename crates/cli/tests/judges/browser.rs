//! The pages of the applications in a browser: Debian's chromium, driven by playwright.

use std::path::Path;
use std::process::Command;

use keyloom_testkit::readme::Process;

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

/// Serves an application with samples, and runs its page test.
fn used(app: &str, size: &str) {
    let folder = driver();
    let data = Folder::new(&format!("browser-{app}"));
    let mut command = keyloom();
    command.args(["demo", app, "--size", size, "--data", &data.path("data")]);
    let served = Process::serve(command);
    let mut node = Command::new("node");
    node.arg(format!("{app}/browser.mjs")).args([app, &served.url]).current_dir(&folder);
    // A folder of its own because tests run in parallel; the modules find playwright above it.
    std::fs::create_dir_all(folder.join(app).join("pages")).unwrap();
    for script in ["browser.mjs".to_owned(), format!("pages/{app}.mjs")] {
        std::fs::copy(suite(&script), folder.join(app).join(&script)).unwrap();
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
