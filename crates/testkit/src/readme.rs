//! Runs what a README tells its readers to type, and compares what they are told they will see.
//!
//! Every fenced block marked `sh` is run, one after the other, in one shell: what one sets the next
//! ones have. If a block marked `json` follows, its values are the last that were answered. In them,
//! `"…"` stands for any value, and a member `"…": "…"` for any other members. Blocks of
//! `cargo` are left out: what they would start, the test has started.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// The address under which a README reaches its server.
const ADDRESS: &str = "http://127.0.0.1:8080";
/// Stands for what cannot be known before.
const ANYTHING: &str = "…";
/// Ends what one block printed.
const END: char = '\u{1e}';

/// A server as a process. It is killed when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// Where it listens.
    pub url: String,
}

impl Process {
    /// Starts a program that serves, on a free port, and waits until it says where.
    ///
    /// # Panics
    ///
    /// If it cannot be started, or ends before it says where it listens.
    pub fn serve(mut command: Command) -> Process {
        command.args(["--listen", "127.0.0.1:0", "--log", "failures"]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let stdout = child.stdout.take().expect("its output is taken");
        let mut lines = BufReader::new(stdout).lines();
        let first = lines.next().expect("it says something").expect("it says it in UTF-8");
        let (_, url) = first.rsplit_once(" on ").expect("it says where it listens");
        let url = url.to_owned();
        // It must not find its output closed.
        std::thread::spawn(move || lines.for_each(drop));
        Process { child, url }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A block to run, and what it answers.
#[derive(Debug)]
struct Step {
    script: String,
    expected: Option<String>,
}

/// Runs all of a README against a server, and says how many blocks were run.
///
/// # Panics
///
/// If a command fails, or answers something else than the README says.
pub fn run(readme: &str, server: &Process) -> usize {
    let steps = steps(readme);
    let mut script = String::from("set -euo pipefail\n");
    for step in &steps {
        let commands = step.script.replace(ADDRESS, &server.url);
        script.push_str(&format!("{commands}\nprintf '{END}'\n"));
    }
    // Readers see how far curl is; a test does not want to.
    let home = std::env::temp_dir().join(format!("keyloom-readme-{}", std::process::id()));
    std::fs::create_dir_all(&home).expect("a directory is made");
    std::fs::write(home.join(".curlrc"), "silent\nshow-error\n").expect("a file is written");
    let output = Command::new("bash").arg("-c").arg(&script).env("CURL_HOME", &home).output();
    let output = output.expect("bash runs");
    let _ = std::fs::remove_dir_all(&home);
    let printed = String::from_utf8(output.stdout).expect("answers are UTF-8");
    let errors = String::from_utf8_lossy(&output.stderr);
    let answers: Vec<&str> = printed.split_terminator(END).collect();
    for (step, answer) in steps.iter().zip(&answers) {
        if let Some(expected) = &step.expected {
            compare(&step.script, expected, answer);
        }
    }
    let failed = steps.get(answers.len()).map_or("", |step| step.script.as_str());
    assert!(output.status.success(), "This fails:\n{failed}\n{errors}");
    steps.len()
}

fn steps(readme: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = vec![];
    let mut lines = readme.lines();
    while let Some(line) = lines.next() {
        let kind = match line.trim() {
            "```sh" => "sh",
            "```json" => "json",
            _ => continue,
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != "```").collect();
        let block = block.join("\n");
        match (kind, steps.last_mut()) {
            ("json", Some(step)) if step.expected.is_none() => step.expected = Some(block),
            ("json", _) => panic!("This answer follows no request:\n{block}"),
            _ if block.starts_with("cargo ") => {}
            _ => steps.push(Step { script: block, expected: None }),
        }
    }
    steps
}

fn compare(script: &str, expected: &str, answer: &str) {
    let parse = |text: &str| -> Vec<Value> {
        let values = serde_json::Deserializer::from_str(text).into_iter();
        let values: Result<Vec<Value>, _> = values.collect();
        values.unwrap_or_else(|error| {
            panic!("The answer to\n{script}\nis not JSON ({error}):\n{text}")
        })
    };
    let (expected, found) = (parse(expected), parse(answer));
    let last = &found[found.len().saturating_sub(expected.len())..];
    let all_fit = expected.len() == last.len()
        && expected.iter().zip(last).all(|(expected, found)| fits(expected, found));
    assert!(
        all_fit,
        "The README says that\n{script}\nanswers\n{expected:#?}\nbut it answers\n{last:#?}"
    );
}

fn fits(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::String(text), _) if text == ANYTHING => true,
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len() && expected.iter().zip(found).all(|(e, f)| fits(e, f))
        }
        (Value::Object(expected), Value::Object(found)) => {
            let may_have_more = expected.contains_key(ANYTHING);
            let named = expected.iter().filter(|(name, _)| *name != ANYTHING);
            let mut matched = 0;
            for (name, expected) in named {
                match found.get(name) {
                    Some(found) if fits(expected, found) => matched += 1,
                    _ => return false,
                }
            }
            may_have_more || matched == found.len()
        }
        (expected, found) => expected == found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_noticed() {
        let fits = |expected: &str, found: &str| {
            fits(&serde_json::from_str(expected).unwrap(), &serde_json::from_str(found).unwrap())
        };
        assert!(fits(r#"{"a":1,"b":"…"}"#, r#"{"b":[2],"a":1}"#));
        assert!(fits(r#"{"a":1,"…":"…"}"#, r#"{"a":1,"b":2}"#));
        assert!(fits(r#"[{"a":"…"}]"#, r#"[{"a":null}]"#));
        for (expected, found) in [
            (r#"{"a":1}"#, r#"{"a":1,"b":2}"#),
            (r#"{"a":1,"b":"…"}"#, r#"{"a":1}"#),
            (r#"{"a":1}"#, r#"{"a":2}"#),
            ("[1]", "[1,2]"),
            (r#""x""#, r#""y""#),
        ] {
            assert!(!fits(expected, found), "{expected} {found}");
        }
    }

    #[test]
    fn blocks_are_found_with_their_answers() {
        let readme =
            "```sh\ncargo run\n```\n```sh\na\nb\n```\ntext\n```json\n{}\n```\n```sh\nc\n```\n";
        let steps = steps(readme);
        assert_eq!(steps.len(), 2);
        assert_eq!((steps[0].script.as_str(), steps[0].expected.as_deref()), ("a\nb", Some("{}")));
        assert_eq!((steps[1].script.as_str(), steps[1].expected.as_deref()), ("c", None));
    }
}
