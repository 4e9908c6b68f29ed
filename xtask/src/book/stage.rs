//! Copies the pages of the book to where mdBook reads them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use super::{CONTENTS, pages};
use crate::markdown::{Document, resolve};

/// Where files that are no pages are.
const FILES: &str = "files";

/// Copies the pages and everything that they refer to into a new folder.
pub(super) fn stage(root: &Path, folder: &Path) -> Result<(), String> {
    let fault = |path: &str, error: io::Error| format!("{path}: {error}");
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| fault("the old pages", error))?;
    }
    let read = |path: &str| fs::read_to_string(root.join(path)).map_err(|error| fault(path, error));
    let write = |path: &str, content: &[u8]| {
        let place = folder.join(path);
        let parent = place.parent().unwrap_or(folder);
        fs::create_dir_all(parent).and_then(|()| fs::write(&place, content))
    };
    let contents = read(CONTENTS)?;
    let pages: BTreeSet<String> = pages(&contents).into_iter().collect();
    let mut files = BTreeSet::new();
    for page in pages.iter().map(String::as_str).chain([CONTENTS]) {
        let text = with_links_of_the_book(page, &read(page)?, &pages, root, &mut files);
        write(&staged(page), text.as_bytes()).map_err(|error| fault(page, error))?;
    }
    for file in files {
        let copied =
            fs::read(root.join(&file)).and_then(|content| write(&staged_file(&file), &content));
        copied.map_err(|error| fault(&file, error))?;
    }
    Ok(())
}

/// Returns where the copy of a page is: the documents of the folder `docs` are at the top.
fn staged(page: &str) -> String {
    let path = page.strip_prefix("docs/").unwrap_or(page);
    match path {
        "SUMMARY.md" => path.to_owned(),
        "README.md" => "index.md".to_owned(),
        _ => path.replace("/README.md", ".md").to_lowercase(),
    }
}

/// Returns where the copy of another file is.
fn staged_file(file: &str) -> String {
    match file.strip_prefix("docs/") {
        Some(path) => path.to_owned(),
        None => format!("{FILES}/{file}"),
    }
}

/// Returns the text of a page with links that fit the copies; collects the files that it refers to.
fn with_links_of_the_book(
    page: &str,
    text: &str,
    pages: &BTreeSet<String>,
    root: &Path,
    files: &mut BTreeSet<String>,
) -> String {
    let depth = staged(page).matches('/').count();
    let mut result = String::with_capacity(text.len());
    let mut end = 0;
    for link in Document::parse(text).links {
        let Some((path, anchor)) = link.parts().filter(|(path, _)| !path.is_empty()) else {
            continue;
        };
        let Some(mut target) = resolve(page, path) else { continue };
        if root.join(&target).is_dir() {
            target.push_str("/README.md");
        }
        let place = if pages.contains(&target) {
            staged(&target)
        } else {
            files.insert(target.clone());
            staged_file(&target)
        };
        result.push_str(&text[end..link.span.start]);
        result.push_str(&"../".repeat(depth));
        result.push_str(&place);
        // Only pages have headings.
        if let Some(anchor) = anchor.filter(|_| pages.contains(&target)) {
            result.push('#');
            result.push_str(anchor);
        }
        end = link.span.end;
    }
    result.push_str(&text[end..]);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_the_copies() {
        let pages = ["README.md", "COMPAT.md", "docs/a.md", "apps/tasks/README.md"];
        let pages: BTreeSet<String> = pages.map(str::to_owned).into();
        let check = |page: &str, text: &str, expected: &str| {
            let mut files = BTreeSet::new();
            let found = with_links_of_the_book(page, text, &pages, Path::new("none"), &mut files);
            assert_eq!(found, expected);
            files.into_iter().collect::<Vec<_>>()
        };
        let text = "[a](docs/a.md#x) [m](apps/tasks/model.toml#L3) ![p](docs/pictures/p.png) `[c](d)` [e](#f)";
        let expected =
            "[a](a.md#x) [m](files/apps/tasks/model.toml) ![p](pictures/p.png) `[c](d)` [e](#f)";
        let files = check("README.md", text, expected);
        assert_eq!(files, ["apps/tasks/model.toml", "docs/pictures/p.png"]);
        check(
            "docs/a.md",
            "[b](../README.md) [c](../COMPAT.md#d)",
            "[b](index.md) [c](compat.md#d)",
        );
        check("apps/tasks/README.md", "[a](../../docs/a.md)", "[a](../a.md)");
        check(CONTENTS, "- [T](../apps/tasks/README.md)", "- [T](apps/tasks.md)");
    }
}
