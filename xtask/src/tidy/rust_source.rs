//! Rust text with comments and literals blanked, and the few structures that the rules need.
//!
//! This is not a parser: it knows brackets, attributes, items and functions, and expects code that
//! compiles and is formatted by rustfmt.

use std::ops::Range;

/// A Rust file's text, and a copy that contains only code.
///
/// In the copy every byte of a comment is a space and every byte inside a literal is `_`; line
/// breaks stay. So offsets and lines are the same in both, brackets balance, and a word found in
/// the copy is a word of the program.
#[derive(Debug)]
pub(crate) struct RustSource {
    text: String,
    code: String,
    line_starts: Vec<usize>,
}

/// A function with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// Its name without its type's.
    pub(crate) name: String,
    /// From the `fn` to after the closing brace, as offsets.
    pub(crate) span: Range<usize>,
    /// The line of the `fn`, from 1.
    pub(crate) line: usize,
    /// Lines from the `fn` to the closing brace.
    pub(crate) lines: usize,
}

/// A top-level item, with its attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeclaredItem<'a> {
    /// The attributes, without white space.
    pub(crate) attributes: Vec<String>,
    /// Its code, comments blanked, without the attributes.
    pub(crate) code: &'a str,
    /// From the first attribute to the end, as offsets.
    pub(crate) span: Range<usize>,
    /// The line where its code begins, from 1.
    pub(crate) line: usize,
}

impl RustSource {
    pub(crate) fn new(text: &str) -> RustSource {
        let breaks = text.match_indices('\n').map(|(offset, _)| offset + 1);
        RustSource {
            text: text.to_owned(),
            code: blank(text),
            line_starts: std::iter::once(0).chain(breaks).collect(),
        }
    }

    /// Returns the original text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text with comments and literals blanked.
    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// Returns the line of an offset, from 1.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    /// Returns the offsets of all occurrences in the code.
    pub(crate) fn find<'a>(&'a self, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.code.match_indices(needle).map(|(offset, _)| offset)
    }

    /// Returns every function with a body, in file order.
    pub(crate) fn functions(&self) -> Vec<Function> {
        let starts = self.find("fn ").filter(|start| self.is_word_start(*start));
        starts.filter_map(|start| self.function(start)).collect()
    }

    fn function(&self, start: usize) -> Option<Function> {
        let name: String =
            self.code[start + "fn ".len()..].chars().take_while(|c| is_identifier(*c)).collect();
        if name.is_empty() {
            return None;
        }
        let end = self.end_of(start, Ending::BraceOrSemicolon);
        let has_body = self.code[..end].ends_with('}');
        let line = self.line(start);
        let lines = self.line(end - 1) - line + 1;
        has_body.then_some(Function { name, span: start..end, line, lines })
    }

    fn is_word_start(&self, offset: usize) -> bool {
        !self.code[..offset].chars().next_back().is_some_and(is_identifier)
    }

    /// Returns all top-level items, in order, without inner attributes.
    pub(crate) fn items(&self) -> Vec<DeclaredItem<'_>> {
        let mut items = vec![];
        let mut offset = 0;
        while let Some(item) = self.item_at(offset) {
            offset = item.span.end;
            items.push(item);
        }
        items
    }

    /// Returns the spans of all code, at any depth, that is compiled only for tests.
    pub(crate) fn test_spans(&self) -> Vec<Range<usize>> {
        let attributes = self.find("#[cfg(test)]").chain(self.find("#[cfg(all(test,"));
        attributes.filter_map(|offset| Some(self.item_at(offset)?.span)).collect()
    }

    /// Returns the item that starts at the offset or after it.
    fn item_at(&self, offset: usize) -> Option<DeclaredItem<'_>> {
        let mut attributes = vec![];
        let mut at = self.skip_blanks(offset)?;
        let mut start = at;
        while self.code[at..].starts_with('#') {
            let end = self.end_of(at, Ending::Bracket);
            if self.code[at..].starts_with("#!") {
                // An inner attribute belongs to the file, not to the item below it.
                attributes.clear();
                start = self.skip_blanks(end)?;
            } else {
                attributes.push(self.code[at..end].split_whitespace().collect());
            }
            at = self.skip_blanks(end)?;
        }
        let end = self.end_of(at, Ending::of_item(&self.code[at..]));
        let line = self.line(at);
        Some(DeclaredItem { attributes, code: &self.code[at..end], span: start..end, line })
    }

    fn skip_blanks(&self, offset: usize) -> Option<usize> {
        let rest = &self.code[offset..];
        rest.find(|c: char| !c.is_whitespace()).map(|blanks| offset + blanks)
    }

    /// Returns the offset after the first ending outside brackets, from `start` on.
    fn end_of(&self, start: usize, ending: Ending) -> usize {
        let mut depth = 0_usize;
        for (distance, byte) in self.code[start..].bytes().enumerate() {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && ending.is_met_by(byte) {
                return start + distance + 1;
            }
        }
        self.code.len()
    }
}

/// The end of a piece of code.
#[derive(Clone, Copy)]
enum Ending {
    Bracket,
    Semicolon,
    BraceOrSemicolon,
}

impl Ending {
    /// A `use` or a constant can contain braces and continues after them.
    fn of_item(code: &str) -> Ending {
        let mut words = code.split_whitespace().skip_while(|word| word.starts_with("pub"));
        match (words.next(), words.next()) {
            (Some("const"), Some("fn" | "unsafe" | "async")) => Ending::BraceOrSemicolon,
            (Some("use" | "const" | "static" | "type" | "let"), _) => Ending::Semicolon,
            _ => Ending::BraceOrSemicolon,
        }
    }

    fn is_met_by(self, byte: u8) -> bool {
        match self {
            Ending::Bracket => byte == b']',
            Ending::Semicolon => byte == b';',
            Ending::BraceOrSemicolon => matches!(byte, b'}' | b';'),
        }
    }
}

pub(crate) fn is_identifier(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A span of text and its replacement in the copy.
struct Blanked {
    len: usize,
    filler: u8,
}

/// Replaces comments with spaces and the inside of literals with `_`.
fn blank(text: &str) -> String {
    let mut code = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let after_word = text[..at].chars().next_back().is_some_and(is_identifier);
        if let Some(Blanked { len, filler }) = comment(rest).or_else(|| literal(rest, after_word)) {
            let bytes = rest.as_bytes()[..len].iter();
            code.extend(bytes.map(|byte| if *byte == b'\n' { b'\n' } else { filler }));
            at += len;
        } else {
            let len = rest.chars().next().map_or(1, char::len_utf8);
            code.extend_from_slice(&rest.as_bytes()[..len]);
            at += len;
        }
    }
    String::from_utf8_lossy(&code).into_owned()
}

fn comment(rest: &str) -> Option<Blanked> {
    let len = if rest.starts_with("//") {
        rest.find('\n').unwrap_or(rest.len())
    } else if rest.starts_with("/*") {
        block_comment_len(rest)
    } else {
        return None;
    };
    Some(Blanked { len, filler: b' ' })
}

/// Block comments nest.
fn block_comment_len(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest.as_bytes()[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.as_bytes()[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
        } else {
            at += 1;
        }
        if depth == 0 {
            break;
        }
    }
    at.min(rest.len())
}

fn literal(rest: &str, after_word: bool) -> Option<Blanked> {
    let len = match rest.as_bytes()[0] {
        b'"' => quoted_len(rest, '"'),
        b'\'' => char_len(rest)?,
        b'r' | b'b' | b'c' if !after_word => raw_len(rest)?,
        _ => return None,
    };
    Some(Blanked { len, filler: b'_' })
}

/// Returns the length of a quoted literal, in which a backslash escapes the next character.
fn quoted_len(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (offset, c) in rest.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return offset + 1;
        }
    }
    rest.len()
}

/// Returns the length of a character literal; `None` if the quote starts a lifetime.
fn char_len(rest: &str) -> Option<usize> {
    let mut characters = rest.chars().skip(1);
    let (first, second) = (characters.next()?, characters.next()?);
    (first == '\\' || second == '\'').then(|| quoted_len(rest, '\''))
}

/// Returns the length of a raw string: `r"…"`, `r#"…"#`, `br"…"`, `cr"…"`; `None` for anything else.
fn raw_len(rest: &str) -> Option<usize> {
    let marked = rest.trim_start_matches(['b', 'c']).strip_prefix('r')?;
    let quoted = marked.trim_start_matches('#');
    let hashes = marked.len() - quoted.len();
    let body = quoted.strip_prefix('"')?;
    let closing = format!("\"{}", "#".repeat(hashes));
    let body_len = body.find(&closing).map_or(body.len(), |offset| offset + closing.len());
    Some(rest.len() - body.len() + body_len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blanked(text: &str) -> String {
        let code = RustSource::new(text).code().to_owned();
        assert_eq!(code.len(), text.len(), "offsets stay");
        code
    }

    #[test]
    fn comments_become_spaces_and_literals_underscores() {
        let cases = [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ d */ e", "a                   e"),
            (r#"f("x\"y", '}', '\'')"#, "f(______, ___, ____)"),
            (r##"f(r#"a"b"#, br"c")"##, "f(________, _____)"),
            ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
            ("let r#fn = bar;", "let r#fn = bar;"),
            ("\"a\nb\"", "__\n__"),
            ("'é'; x", "____; x"),
        ];
        for (text, code) in cases {
            assert_eq!(blanked(text), code, "{text}");
        }
    }

    #[test]
    fn functions_are_found_with_their_length() {
        let text = "trait T {\n    fn declared(&self);\n}\nconst fn one(f: fn(u8) -> [u8; 2]) -> u8 {\n    1\n}\nfn two() {}\n";
        let functions = RustSource::new(text).functions();
        let seen: Vec<_> = functions.iter().map(|f| (f.name.as_str(), f.line, f.lines)).collect();
        assert_eq!(seen, [("one", 4, 3), ("two", 7, 1)]);
    }

    #[test]
    fn items_have_their_attributes_and_span() {
        let text = "//! Doc.\n#![warn(x)]\n\n#[cfg(test)]\nmod tests;\npub use a::{b, c};\nconst X: [u8; 1] = { [1] };\nstruct S {\n    a: u8,\n}\n";
        let source = RustSource::new(text);
        let items = source.items();
        let codes: Vec<_> = items.iter().map(|item| item.code).collect();
        let expected = [
            "mod tests;",
            "pub use a::{b, c};",
            "const X: [u8; 1] = { [1] };",
            "struct S {\n    a: u8,\n}",
        ];
        assert_eq!(codes, expected);
        assert_eq!(items[0].attributes, ["#[cfg(test)]"]);
        assert_eq!(items[0].line, 5);
    }

    #[test]
    fn test_spans_cover_exactly_the_item_below_the_attribute() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
        let source = RustSource::new(text);
        let spans = source.test_spans();
        assert_eq!(spans.len(), 1);
        assert!(text[spans[0].clone()].starts_with("#[cfg(test)]"));
        assert!(text[spans[0].clone()].ends_with("    fn b() {}\n}"));
    }
}
