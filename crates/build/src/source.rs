//! Writing code: lines, documentation, and functions whose parameters are on lines of their own if they are
//! too long for one.

/// The longest line.
const WIDTH: usize = 100;

/// Code that is being written.
#[derive(Debug, Default)]
pub(crate) struct Source {
    text: String,
    depth: usize,
}

/// A function.
#[derive(Debug)]
pub(crate) struct Function<'f> {
    /// Everything before the parameters: `pub async fn find`.
    pub(crate) head: &'f str,
    /// `&self`, and names with types.
    pub(crate) parameters: Vec<String>,
    /// The type that it returns.
    pub(crate) output: &'f str,
    /// The lines of its body.
    pub(crate) body: Vec<String>,
}

impl Source {
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    pub(crate) fn line(&mut self, line: &str) {
        if !line.is_empty() {
            self.text.push_str(&"    ".repeat(self.depth));
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    pub(crate) fn blank(&mut self) {
        self.line("");
    }

    /// Text that stays as it is.
    pub(crate) fn verbatim(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Documentation of what follows, wrapped.
    pub(crate) fn doc(&mut self, text: &str) {
        let width = WIDTH - 4 * self.depth - "/// ".len();
        let mut line = String::new();
        for word in text.split(' ') {
            let length = line.chars().count() + 1 + word.chars().count();
            if !line.is_empty() && length > width {
                self.line(&format!("/// {line}"));
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.line(&format!("/// {line}"));
    }

    /// A block in braces. Without content, it is on one line.
    pub(crate) fn block(&mut self, head: &str, content: impl FnOnce(&mut Source)) {
        let start = self.text.len();
        if !self.has_block(head, content) {
            self.text.truncate(start);
            self.line(&format!("{head} {{}}"));
        }
    }

    /// A block in braces after a blank line; nothing without content.
    pub(crate) fn block_if_any(&mut self, head: &str, content: impl FnOnce(&mut Source)) {
        let start = self.text.len();
        self.separate();
        if !self.has_block(head, content) {
            self.text.truncate(start);
        }
    }

    /// Writes a block, and returns whether it has content.
    fn has_block(&mut self, head: &str, content: impl FnOnce(&mut Source)) -> bool {
        self.line(&format!("{head} {{"));
        let inside = self.text.len();
        self.depth += 1;
        content(self);
        self.depth -= 1;
        let has_content = self.text.len() > inside;
        self.line("}");
        has_content
    }

    /// A function, after a blank line if it is not the first thing in its block.
    pub(crate) fn function(&mut self, doc: &str, function: &Function<'_>) {
        self.separate();
        if !doc.is_empty() {
            self.doc(doc);
        }
        self.undocumented(function);
    }

    /// A function whose documentation was written before, if it has any.
    pub(crate) fn undocumented(&mut self, function: &Function<'_>) {
        let Function { head, parameters, output, body } = function;
        let output = if output.is_empty() { String::new() } else { format!(" -> {output}") };
        let short = format!("{head}({}){output} {{", parameters.join(", "));
        if 4 * self.depth + short.chars().count() <= WIDTH {
            self.line(&short);
        } else {
            self.line(&format!("{head}("));
            parameters.iter().for_each(|parameter| self.line(&format!("    {parameter},")));
            self.line(&format!("){output} {{"));
        }
        body.iter().for_each(|line| self.line(&format!("    {line}")));
        self.line("}");
    }

    /// Elements between two brackets, on lines of their own if they are too long for one.
    pub(crate) fn list(&mut self, head: &str, elements: &[String], end: &str) {
        let short = format!("{head}{}{end}", elements.join(", "));
        if 4 * self.depth + short.chars().count() <= WIDTH {
            return self.line(&short);
        }
        self.line(head);
        elements.iter().for_each(|element| self.line(&format!("    {element},")));
        self.line(end);
    }

    /// A blank line, unless a block begins here.
    pub(crate) fn separate(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("{\n") {
            self.blank();
        }
    }
}

/// A call with a chain of calls, in one line if it fits.
pub(crate) fn chain(first: &str, calls: &[String], depth: usize) -> Vec<String> {
    let short = format!("{first}{}", calls.concat());
    if 4 * depth + short.chars().count() <= WIDTH || calls.is_empty() {
        return vec![short];
    }
    let rest = calls.iter().map(|call| format!("    {call}"));
    std::iter::once(first.to_owned()).chain(rest).collect()
}

/// A text as a literal.
pub(crate) fn literal(text: &str) -> String {
    format!("{text:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_parameters_are_on_lines_of_their_own() {
        let mut source = Source::default();
        source.block("impl A", |source| {
            let parameters = (0..8).map(|n| format!("parameter_{n}: String")).collect();
            let body = vec!["body".to_owned()];
            source.function("Doc.", &Function { head: "fn f", parameters, output: "A", body });
        });
        source.block("impl B", |_| {});
        let text = source.into_text();
        assert!(
            text.starts_with("impl A {\n    /// Doc.\n    fn f(\n        parameter_0: String,\n")
        );
        assert!(text.ends_with("    ) -> A {\n        body\n    }\n}\nimpl B {}\n"), "{text}");
    }

    #[test]
    fn documentation_is_wrapped() {
        let mut source = Source::default();
        source.doc(&"word ".repeat(30));
        assert!(source.into_text().lines().all(|line| line.len() <= WIDTH));
    }
}
