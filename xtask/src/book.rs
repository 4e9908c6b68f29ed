//! `cargo xtask book`: builds the documentation site with mdBook.
//!
//! The pages are the documents of the repository, where they are: `docs/SUMMARY.md` is the table of contents. They are
//! copied into the target folder, with their links changed to where mdBook puts the pages; what they refer to beside
//! pages is copied too. Then every link of the site is checked.

mod site;
mod stage;

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::commands::{cargo, succeed};
use crate::markdown::{Document, resolve};
use crate::tools::{Tool, installed};

/// The table of contents.
pub(crate) const CONTENTS: &str = "docs/SUMMARY.md";
/// Without a web server of its own and without watching files.
const MDBOOK: Tool = Tool {
    package: "mdbook",
    version: "0.5.4",
    shown_version: "mdbook v0.5.4",
    options: &["--no-default-features", "--features", "search"],
};
/// Where the copies of the pages are; `book.toml` names it, too.
const SOURCES: &str = "target/book/src";
/// Where the site is; `book.toml` names it, too.
const SITE: &str = "target/book/html";

/// Builds the site.
pub(crate) fn run(root: &Path) -> ExitCode {
    match build(root) {
        Ok(pages) => {
            println!("{pages} pages: open {SITE}/index.html");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the command that runs this task.
pub(crate) fn command(root: &Path) -> Command {
    let mut command = cargo(root);
    command.args(["xtask", "book"]);
    command
}

/// Builds the site, and returns the number of its pages.
fn build(root: &Path) -> Result<usize, String> {
    let program = installed(root, &MDBOOK)?;
    stage::stage(root, &root.join(SOURCES))?;
    let build = succeed(Command::new(program).current_dir(root).arg("build"));
    build.map_err(|error| format!("mdBook failed: {error}"))?;
    let (pages, dead) = site::dead_links(&root.join(SITE))?;
    match dead.is_empty() {
        true => Ok(pages),
        false => Err(format!("Dead links in the site:\n{}", dead.join("\n"))),
    }
}

/// Returns the paths of the pages that a table of contents lists.
pub(crate) fn pages(contents: &str) -> Vec<String> {
    let links = Document::parse(contents).links;
    let paths = links.iter().filter_map(|link| resolve(CONTENTS, link.parts()?.0));
    paths.collect()
}
