//! Comments in generated code. Their text comes from a model, so it must not end them.

/// The longest line of a comment.
const WIDTH: usize = 96;

/// Paragraphs of a comment.
pub(super) struct Comment<'c>(pub(super) &'c [&'c str]);

impl Comment<'_> {
    /// The comment before a declaration of TypeScript; empty if there is nothing to say.
    pub(super) fn typescript(&self, indent: &str) -> String {
        let lines = self.lines(WIDTH - indent.len());
        let lines: Vec<String> = lines.into_iter().map(|line| line.replace("*/", "*\\/")).collect();
        match &lines[..] {
            [] => String::new(),
            [line] => format!("{indent}/** {line} */\n"),
            lines => {
                let line = |line: &String| match line.is_empty() {
                    true => format!("{indent} *\n"),
                    false => format!("{indent} * {line}\n"),
                };
                let lines: String = lines.iter().map(line).collect();
                format!("{indent}/**\n{lines}{indent} */\n")
            }
        }
    }

    /// The docstring of a declaration of Python.
    pub(super) fn docstring(&self, indent: &str) -> String {
        let lines = self.lines(WIDTH - indent.len());
        let escaped = |line: &String| line.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\"");
        let lines: Vec<String> = lines.iter().map(escaped).collect();
        match &lines[..] {
            [] => String::new(),
            [line] if !line.ends_with('"') => format!("{indent}\"\"\"{line}\"\"\"\n"),
            lines => {
                let line = |line: &String| match line.is_empty() {
                    true => "\n".to_owned(),
                    false => format!("{indent}{line}\n"),
                };
                let lines: String = lines.iter().map(line).collect();
                let lines = lines.trim_start();
                format!("{indent}\"\"\"{lines}{indent}\"\"\"\n")
            }
        }
    }

    /// The comment before a member of a type of Python.
    pub(super) fn python(&self, indent: &str) -> String {
        let lines = self.lines(WIDTH - indent.len());
        lines.into_iter().map(|line| format!("{indent}# {line}\n")).collect()
    }

    /// Lines of at most this many characters where words allow, with an empty one between paragraphs.
    fn lines(&self, width: usize) -> Vec<String> {
        let mut lines: Vec<String> = vec![];
        for paragraph in self.0.iter().filter(|paragraph| !paragraph.trim().is_empty()) {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            lines.push(String::new());
            for word in paragraph.split(|c: char| c.is_whitespace() || c.is_control()) {
                let Some(line) = lines.last_mut() else { break };
                match line.is_empty() {
                    true => line.push_str(word),
                    false if line.chars().count() + word.chars().count() < width => {
                        line.push(' ');
                        line.push_str(word);
                    }
                    false => lines.push(word.to_owned()),
                }
            }
        }
        lines
    }
}
