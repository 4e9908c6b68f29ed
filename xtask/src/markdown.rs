//! What tasks need to know of a Markdown document: its links and headings.
//!
//! It reads the CommonMark that the documents of this workspace use. Indented code is not known, because nothing
//! here uses it.

use std::collections::BTreeMap;
use std::ops::Range;

/// A document, taken apart.
#[derive(Debug)]
pub(crate) struct Document<'t> {
    pub(crate) links: Vec<Link<'t>>,
    pub(crate) headings: Vec<Heading>,
}

/// A link or an image.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Link<'t> {
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) target: &'t str,
    /// Where the target is in the text.
    pub(crate) span: Range<usize>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    pub(crate) text: String,
    /// What links to it end with after `#`.
    pub(crate) anchor: String,
}

impl<'t> Document<'t> {
    pub(crate) fn parse(text: &'t str) -> Document<'t> {
        let mut prose = text.as_bytes().to_vec();
        blank_fenced_blocks(text, &mut prose);
        blank_code_spans(&mut prose);
        // Only whole characters were blanked, so it is UTF-8 still.
        let prose = String::from_utf8(prose).unwrap_or_default();
        Document { links: links(text, &prose), headings: headings(text, &prose) }
    }
}

impl Link<'_> {
    /// Returns the path and the anchor of a link within the workspace; `None` for an address elsewhere.
    pub(crate) fn parts(&self) -> Option<(&str, Option<&str>)> {
        let (path, anchor) = match self.target.split_once('#') {
            Some((path, anchor)) => (path, Some(anchor)),
            None => (self.target, None),
        };
        let is_elsewhere = path.contains("://") || path.starts_with("mailto:");
        (!is_elsewhere).then_some((path, anchor))
    }
}

/// Returns the path that a link in the document at `from` leads to, relative to the root of the workspace; `None`
/// if it leaves the workspace.
pub(crate) fn resolve(from: &str, path: &str) -> Option<String> {
    if path.is_empty() {
        return Some(from.to_owned());
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn blank_fenced_blocks(text: &str, prose: &mut [u8]) {
    let mut is_open = false;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let end = offset + line.len();
        let info = line.trim().strip_prefix("```");
        if is_open || info.is_some() {
            blank(&mut prose[offset..end]);
        }
        is_open = if is_open { info != Some("") } else { info.is_some() };
        offset = end;
    }
}

/// Blanks what is between backticks, which no link begins in.
fn blank_code_spans(prose: &mut [u8]) {
    let mut place = 0;
    while place < prose.len() {
        let ticks = run_of_ticks(prose, place);
        if ticks == 0 {
            place += 1;
            continue;
        }
        let start = place + ticks;
        place = match end_of_span(prose, start, ticks) {
            Some(end) => {
                blank(&mut prose[start - ticks..end]);
                end
            }
            None => start,
        };
    }
}

/// Finds the end of the code span whose text begins at `start`; a span ends with its paragraph.
fn end_of_span(prose: &[u8], start: usize, ticks: usize) -> Option<usize> {
    let mut place = start;
    while place < prose.len() {
        match run_of_ticks(prose, place) {
            0 if prose[place..].starts_with(b"\n\n") => return None,
            0 => place += 1,
            run if run == ticks => return Some(place + run),
            run => place += run,
        }
    }
    None
}

fn run_of_ticks(prose: &[u8], place: usize) -> usize {
    prose[place..].iter().take_while(|byte| **byte == b'`').count()
}

fn blank(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| **byte != b'\n') {
        *byte = b' ';
    }
}

/// Finds `](target)`, `src="target"` and `href="target"`.
fn links<'t>(text: &'t str, prose: &str) -> Vec<Link<'t>> {
    let mut links = vec![];
    for (opening, closing) in [("](", ')'), ("src=\"", '"'), ("href=\"", '"')] {
        for (place, _) in prose.match_indices(opening) {
            let start = place + opening.len();
            let Some(length) = prose[start..].find(closing) else { continue };
            let line = prose[..place].matches('\n').count() + 1;
            let span = start..start + length;
            links.push(Link { line, target: &text[span.clone()], span });
        }
    }
    links.sort_by_key(|link| link.span.start);
    links
}

fn headings(text: &str, prose: &str) -> Vec<Heading> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut headings = vec![];
    for (line, prose) in text.lines().zip(prose.lines()) {
        let level = prose.bytes().take_while(|byte| *byte == b'#').count();
        if !(1..=6).contains(&level) || prose.as_bytes().get(level) != Some(&b' ') {
            continue;
        }
        let text = without_targets(line[level..].trim());
        let slug = slug(&text);
        let count = seen.entry(slug.clone()).or_default();
        let anchor = if *count == 0 { slug } else { format!("{slug}-{count}") };
        *count += 1;
        headings.push(Heading { text, anchor });
    }
    headings
}

/// Reduces links to their texts.
fn without_targets(heading: &str) -> String {
    let mut parts = heading.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
    }
    text.replace('[', "")
}

/// The anchor that GitHub and mdBook give to a heading.
fn slug(heading: &str) -> String {
    let keep = |c: char| match c {
        c if c.is_whitespace() => Some('-'),
        c if c.is_alphanumeric() || matches!(c, '-' | '_') => Some(c),
        _ => None,
    };
    heading.chars().filter_map(keep).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_of_code() {
        let text = "See [a](b.md#c), ![d](e.svg) and `[no](link)`, ``also ` [no](link)``.\n\n\
                    ```sh\n[no](link)\n```\n<img src=\"f.png\"> [`g`](h_(i))\n";
        let document = Document::parse(text);
        let targets: Vec<(usize, &str)> =
            document.links.iter().map(|link| (link.line, link.target)).collect();
        assert_eq!(targets, [(1, "b.md#c"), (1, "e.svg"), (6, "f.png"), (6, "h_(i")]);
        assert_eq!(document.links[0].parts(), Some(("b.md", Some("c"))));
        for link in &document.links {
            assert_eq!(&text[link.span.clone()], link.target);
        }
    }

    #[test]
    fn an_unclosed_backtick_hides_no_link_of_the_next_paragraph() {
        let document = Document::parse("a ` b\n\n[c](d)\n");
        assert_eq!(document.links.len(), 1);
    }

    #[test]
    fn headings_have_the_anchors_that_readers_link_to() {
        let text = "# How to `run` it: a guide\n## The [first](x.md) token\n## K01 – K02\n## The first token\n\
                    ```sh\n# no heading\n```\n#none\n";
        let anchors: Vec<String> =
            Document::parse(text).headings.into_iter().map(|heading| heading.anchor).collect();
        let expected =
            ["how-to-run-it-a-guide", "the-first-token", "k01--k02", "the-first-token-1"];
        assert_eq!(anchors, expected);
    }

    #[test]
    fn paths_are_relative_to_their_document() {
        let cases = [
            ("docs/a.md", "b.md", Some("docs/b.md")),
            ("docs/a.md", "../COMPAT.md", Some("COMPAT.md")),
            ("README.md", "docs/./a.md", Some("docs/a.md")),
            ("docs/a.md", "", Some("docs/a.md")),
            ("README.md", "../a.md", None),
        ];
        for (from, path, expected) in cases {
            assert_eq!(resolve(from, path).as_deref(), expected, "{from} {path}");
        }
    }
}
