//! Checks the links of a built site.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::markdown::resolve;

/// The page with all pages, for printing; mdBook adjusts its links by script.
const ALL_IN_ONE: [&str; 2] = ["print.html", "toc.html"];

/// Returns the number of pages, and every link that leads nowhere.
pub(super) fn dead_links(site: &Path) -> Result<(usize, Vec<String>), String> {
    let mut pages = BTreeMap::new();
    let mut paths = BTreeSet::new();
    read(site, "", &mut pages, &mut paths)
        .map_err(|error| format!("{}: {error}", site.display()))?;
    let dead = pages
        .iter()
        .filter(|(path, _)| !ALL_IN_ONE.contains(&path.as_str()) && *path != "404.html")
        .flat_map(|(path, page)| {
            let is_dead = |target: &&str| !leads_somewhere(path, target, &pages, &paths);
            let dead = targets(page).into_iter().filter(is_dead);
            dead.map(move |target| format!("{path}: {target}")).collect::<Vec<_>>()
        });
    Ok((pages.len(), dead.collect()))
}

fn leads_somewhere(
    from: &str,
    target: &str,
    pages: &BTreeMap<String, String>,
    paths: &BTreeSet<String>,
) -> bool {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    if path.contains(':') {
        return true;
    }
    let Some(path) = resolve(from, path) else { return false };
    let has_anchor =
        |page: &String| anchor.is_empty() || page.contains(&format!("id=\"{anchor}\""));
    match pages.get(&path) {
        Some(page) => has_anchor(page),
        None => paths.contains(&path),
    }
}

/// The values of `href` and `src` of all elements. Code that a page shows has no tags: its `<` is escaped.
fn targets(page: &str) -> Vec<&str> {
    let tags = page.split('<').skip(1).filter_map(|rest| Some(rest.split_once('>')?.0));
    let of_tag = |tag| [value(tag, " href=\""), value(tag, " src=\"")];
    tags.flat_map(of_tag).flatten().filter(|target| !target.is_empty()).collect()
}

fn value<'p>(tag: &'p str, attribute: &str) -> Option<&'p str> {
    let (_, rest) = tag.split_once(attribute)?;
    Some(rest.split_once('"')?.0)
}

fn read(
    folder: &Path,
    prefix: &str,
    pages: &mut BTreeMap<String, String>,
    paths: &mut BTreeSet<String>,
) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let place: PathBuf = entry.path();
        if entry.file_type()?.is_dir() {
            read(&place, &format!("{path}/"), pages, paths)?;
        } else if path.ends_with(".html") {
            pages.insert(path, fs::read_to_string(place)?);
        } else {
            paths.insert(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_a_page_an_anchor_or_a_file() {
        let page = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let b = "<h2 id=\"c\">C</h2>";
        let pages = BTreeMap::from([page("a.html", ""), page("x/b.html", b)]);
        let paths = BTreeSet::from(["p.svg".to_owned()]);
        for (from, target, expected) in [
            ("a.html", "x/b.html#c", true),
            ("a.html", "x/b.html#d", false),
            ("x/b.html", "../a.html", true),
            ("x/b.html", "a.html", false),
            ("x/b.html", "#c", true),
            ("x/b.html", "../p.svg", true),
            ("a.html", "https://example.com", true),
        ] {
            assert_eq!(leads_somewhere(from, target, &pages, &paths), expected, "{from} {target}");
        }
        let page = "<a class=\"x\" href=\"u\"><img src=\"v\">&lt;img src=\"w\"&gt;";
        assert_eq!(targets(page), ["u", "v"]);
    }
}
