//! Reads which steps a page takes its reader through.

/// What a reader does at one place of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Types commands, and sees their output.
    Run { script: String, shows: Shows },
    /// Types a command that does not end, in a terminal of its own.
    Follow { script: String },
    /// Looks at that terminal.
    Look { expected: String },
    /// Saves a file.
    Save { path: String, content: String },
}

/// What a page shows of the output of commands.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Shows {
    /// The last JSON values.
    pub(super) json: Option<String>,
    /// All lines.
    pub(super) text: Option<String>,
}

/// The attribute of a block that is the content of a file.
const FILE: &str = "file=";
/// How attributes of blocks begin that tests cannot run; what follows says what they need.
const NEEDS: &str = "needs-";

impl Step {
    /// The text that failures show.
    pub(super) fn script(&self) -> &str {
        match self {
            Step::Run { script, .. } | Step::Follow { script } => script,
            Step::Look { .. } => "the terminal that follows",
            Step::Save { path, .. } => path,
        }
    }
}

/// Returns whether commands leave a server running.
pub(super) fn starts_server(script: &str) -> bool {
    script.ends_with('&')
}

/// Returns the steps of a page, in order.
pub(super) fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = vec![];
    for Block { language, attributes, text } in blocks(page) {
        if let Some(path) = attributes.split(' ').find_map(|word| word.strip_prefix(FILE)) {
            steps.push(Step::Save { path: path.to_owned(), content: text });
            continue;
        }
        match (language, attributes, steps.last_mut()) {
            ("sh", "", _) => steps.push(Step::Run { script: text, shows: Shows::default() }),
            ("sh", "follow", _) => steps.push(Step::Follow { script: text }),
            ("sh", needs, _) => assert!(needs.starts_with(NEEDS), "unknown attribute `{needs}`"),
            ("text", "follow", _) => steps.push(Step::Look { expected: text }),
            ("json", "", Some(Step::Run { shows, .. })) if shows.json.is_none() => {
                shows.json = Some(text);
            }
            ("json", "", _) => panic!("This answer has no request before it:\n{text}"),
            ("text", "output", Some(Step::Run { shows, .. })) => shows.text = Some(text),
            ("text", "", Some(Step::Run { script, shows }))
                if starts_server(script) && shows.text.is_none() =>
            {
                shows.text = Some(text);
            }
            _ => {}
        }
    }
    steps
}

/// A fenced block.
#[derive(Debug)]
pub struct Block<'p> {
    /// The first word after the fence.
    pub language: &'p str,
    /// The other words.
    pub attributes: &'p str,
    /// Its lines, without the last line break.
    pub text: String,
}

impl Block<'_> {
    /// What the commands of this block need that tests do not have, such as `docker`.
    pub fn needs(&self) -> Option<&str> {
        self.attributes.strip_prefix(NEEDS)
    }
}

/// Returns all fenced blocks of a page.
pub fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut lines = page.lines();
    let block = || {
        let info = lines.find_map(|line| line.trim().strip_prefix("```"))?;
        let text: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != "```").collect();
        let (language, attributes) = info.split_once(' ').unwrap_or((info, ""));
        Some(Block { language, attributes, text: text.join("\n") })
    };
    std::iter::from_fn(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, json: Option<&str>, text: Option<&str>) -> Step {
        let own = |text: Option<&str>| text.map(str::to_owned);
        Step::Run { script: script.to_owned(), shows: Shows { json: own(json), text: own(text) } }
    }

    #[test]
    fn blocks_are_steps_with_what_they_show() {
        let page = "```sh\nserve &\n```\nprints\n```text\nServing\n```\n```sh\na\nb\n```\ntext\n\
                    ```json\n{}\n```\n```sh\nc\n```\n```text output\nd\n```\n```text\nno output\n```\n";
        let expected = [
            run("serve &", None, Some("Serving")),
            run("a\nb", Some("{}"), None),
            run("c", None, Some("d")),
        ];
        assert_eq!(steps(page), expected);
    }

    #[test]
    fn files_streams_and_what_cannot_run_have_attributes() {
        let page = "```toml file=model.toml\n[entity.a]\n```\n```sh follow\ncurl -N x\n```\n\
                    ```sh needs-docker\ndocker run x\n```\n```text follow\nevent: page\n```\n";
        let expected = [
            Step::Save { path: "model.toml".to_owned(), content: "[entity.a]".to_owned() },
            Step::Follow { script: "curl -N x".to_owned() },
            Step::Look { expected: "event: page".to_owned() },
        ];
        assert_eq!(steps(page), expected);
        assert_eq!(blocks(page)[2].needs(), Some("docker"));
    }
}
