//! Links between documents lead to files and headings that exist, and every page is part of the book.

use super::{Finding, TextFile, Workspace};
use crate::book;
use crate::markdown::{Document, resolve};

pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    let documents = workspace.texts.iter().filter(|file| file.path.ends_with(".md"));
    let mut findings: Vec<Finding> =
        documents.flat_map(|file| check_document(file, workspace)).collect();
    findings.extend(check_pages(workspace));
    findings
}

fn check_document(file: &TextFile, workspace: &Workspace) -> Vec<Finding> {
    let document = Document::parse(&file.text);
    let fault = |path: &str, anchor: Option<&str>| {
        let Some(target) = resolve(&file.path, path).filter(|target| workspace.has(target)) else {
            return Some(format!("the link to `{path}` is dead: no such file."));
        };
        let anchor = anchor?;
        // Lines of code have anchors of their own elsewhere.
        let text = workspace.text(&target).filter(|file| file.path.ends_with(".md"))?;
        let headings = Document::parse(&text.text).headings;
        let is_there = headings.iter().any(|heading| heading.anchor == anchor);
        let message = format!("the link to `{path}#{anchor}` is dead: no such heading.");
        (!is_there).then_some(message)
    };
    let finding = |(line, (path, anchor)): (usize, (&str, Option<&str>))| {
        Some(Finding::new(&file.path, line, fault(path, anchor)?))
    };
    let links = document.links.iter().filter_map(|link| Some((link.line, link.parts()?)));
    links.filter_map(finding).collect()
}

/// Every document of the folder `docs` must be in its table of contents.
fn check_pages(workspace: &Workspace) -> Vec<Finding> {
    let Some(contents) = workspace.text(book::CONTENTS) else { return vec![] };
    let pages = book::pages(&contents.text);
    let is_missing = |file: &&TextFile| {
        let is_page = file.path.starts_with("docs/") && file.path.ends_with(".md");
        is_page && file.path != book::CONTENTS && !pages.contains(&file.path)
    };
    let message = |file: &TextFile| format!("it lacks the page `{}`: add it.", file.path);
    let missing = workspace.texts.iter().filter(is_missing);
    missing.map(|file| Finding::new(book::CONTENTS, 1, message(file))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "# Title\n## A part\n[b](b.md) [here](#a-part) [x](https://example.com/nothing) [d](../docs)\n";

    #[test]
    fn live_links_pass() {
        let b = ("docs/b.md", "[a](a.md#a-part) ![p](p.svg) [code](../a.rs#L7)\n");
        let files = [("docs/a.md", A), b, ("docs/p.svg", "<svg/>"), ("a.rs", "")];
        assert_eq!(check(&Workspace::sample(&files)), []);
    }

    #[test]
    fn dead_links_are_reported() {
        let b = ("docs/b.md", "\n[c](c.md)\n[a](a.md#title-1) ![p](p.svg)\n[out](../../out.md)\n");
        let found = check(&Workspace::sample(&[("docs/a.md", A), b]));
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        let starts = ["docs/b.md:2: ", "docs/b.md:3: ", "docs/b.md:3: ", "docs/b.md:4: "];
        assert_eq!(found.len(), starts.len(), "{found:?}");
        for (found, start) in found.iter().zip(starts) {
            assert!(found.starts_with(start) && found.contains("is dead"), "{found}");
        }
    }

    #[test]
    fn a_page_outside_of_the_book_is_reported() {
        let contents = (book::CONTENTS, "- [A](a.md)\n");
        let files = [("docs/a.md", "# A\n"), ("docs/b.md", "# B\n"), contents];
        let found = check(&Workspace::sample(&files));
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().contains("docs/b.md"), "{found:?}");
    }
}
