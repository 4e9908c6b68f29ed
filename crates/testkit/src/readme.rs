//! Runs the commands in a README, and compares their output with what the README shows.
//!
//! Every fenced block marked `sh` is run, in order, in one shell: variables carry over. If a block
//! marked `json` follows, it must match the last JSON values in the output. There, `"…"` matches
//! any value, and a member `"…": "…"` any other members.
//!
//! [`run`] uses one server for all requests and skips blocks that begin with `cargo`. [`walk`]
//! skips nothing: it also starts and stops servers as the README says, in a folder with the
//! project's files, and compares what a server prints with the block marked `text` that follows.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

/// The address of the server in a README.
pub(crate) const ADDRESS: &str = "http://127.0.0.1:8080";
/// Matches anything.
const ANYTHING: &str = "…";
/// Ends the output of one block.
const END: char = '\u{1e}';
/// How many READMEs this process has run.
static RUNS: AtomicUsize = AtomicUsize::new(0);

/// A server process. It is killed when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// The address it listens on.
    pub url: String,
}

impl Process {
    /// Starts a server program on a free port, and waits until it prints its address.
    ///
    /// # Panics
    ///
    /// If it cannot be started, or exits before it prints its address.
    pub fn serve(mut command: Command) -> Process {
        command.args(["--listen", "127.0.0.1:0", "--log", "failures"]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let stdout = child.stdout.take().expect("its output is taken");
        let mut lines = BufReader::new(stdout).lines();
        let first = lines.next().expect("it says something").expect("it says it in UTF-8");
        let (_, url) = first.rsplit_once(" on ").expect("it says where it listens");
        let url = url.to_owned();
        // Keep its stdout open and drained.
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

/// A block to run, and its expected output.
#[derive(Debug)]
struct Step {
    script: String,
    expected: Option<String>,
    /// The expected output of a server that it starts.
    printed: Option<String>,
}

impl Step {
    fn starts_server(&self) -> bool {
        self.script.ends_with('&')
    }
}

/// Runs all requests of a README against a server; returns how many blocks were run.
///
/// # Panics
///
/// If a command fails, or its output differs from what the README shows.
pub fn run(readme: &str, server: &Process) -> usize {
    let mut steps = steps(readme);
    steps.retain(|step| !step.script.starts_with("cargo "));
    let mut script = String::from("set -euo pipefail\n");
    for step in &steps {
        let commands = step.script.replace(ADDRESS, &server.url);
        script.push_str(&format!("{commands}\nprintf '{END}'\n"));
    }
    // A folder of its own: other tests of this process run READMEs at the same time.
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    let folder = format!("keyloom-readme-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(folder);
    std::fs::create_dir_all(&folder).expect("a directory is made");
    check(&steps, &script, Command::new("bash"), &folder);
    let _ = std::fs::remove_dir_all(&folder);
    steps.len()
}

/// The stand-in for `cargo` while a whole README is run: the binary that the test has built. A
/// server listens on the test's port, and its output goes to a file.
const CARGO: &str = r#"#!/usr/bin/env bash
set -euo pipefail
[ "$1 $2 $3 $4 $5" = "run --release -p keyloom-cli --" ] || { echo "unexpected: cargo $*" >&2; exit 64; }
shift 5
case "$1 $*" in
  serve*--listen* | demo*--listen*) exec BINARY "$@" > server.txt ;;
  serve* | demo*) exec BINARY "$@" --listen 127.0.0.1:PORT > server.txt ;;
  *) exec BINARY "$@" ;;
esac
"#;

/// Runs everything in a README, top to bottom, in one shell, in an empty folder with a link to the
/// applications of the project at `root`. `cargo run --release -p keyloom-cli --` is replaced by
/// `binary`. Returns how many blocks were run.
///
/// # Panics
///
/// If a command fails, or its output differs from what the README shows.
pub fn walk(readme: &str, binary: &Path, root: &Path, folder: &Path) -> usize {
    let steps = steps(readme);
    let port = free_port().to_string();
    std::fs::create_dir_all(folder.join("bin")).expect("a directory is made");
    std::os::unix::fs::symlink(root.join("apps"), folder.join("apps")).expect("a link is made");
    let binary = binary.to_str().expect("a path in UTF-8");
    let cargo = CARGO.replace("BINARY", binary).replace("PORT", &port);
    let path = folder.join("bin/cargo");
    std::fs::write(&path, cargo).expect("a file is written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, executable).expect("a file is made executable");
    let mut script = String::from("set -euo pipefail\nexport PATH=\"$PWD/bin:$PATH\"\n");
    for step in &steps {
        script.push_str(&step.script.replace("8080", &port));
        if step.starts_server() {
            script.push_str(&WAIT.replace("PORT", &port));
        }
        script.push_str(&format!("\nprintf '{END}'\n"));
    }
    // A server that a failed step leaves running must not outlive the test.
    script.insert_str(0, "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n");
    check(&steps, &script, Command::new("bash"), folder);
    steps.len()
}

/// Waits until a server answers, then prints its output.
const WAIT: &str = r"
for _ in $(seq 1200); do curl -o /dev/null http://127.0.0.1:PORT/healthz 2>/dev/null && break; sleep 0.05; done
cat server.txt";

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}

/// Runs a script whose steps end with [`END`], and compares the output of each.
fn check(steps: &[Step], script: &str, mut bash: Command, folder: &Path) {
    // Readers see curl's progress; tests do not want it. The timeout ends every request.
    let settings = "silent\nshow-error\nmax-time = 60\n";
    std::fs::write(folder.join(".curlrc"), settings).expect("a file is written");
    bash.arg("-c").arg(script).current_dir(folder).env("CURL_HOME", folder);
    let output = bash.output().expect("bash runs");
    let printed = String::from_utf8(output.stdout).expect("answers are UTF-8");
    let errors = String::from_utf8_lossy(&output.stderr);
    for (step, answer) in steps.iter().zip(printed.split_terminator(END)) {
        if let Some(expected) = &step.expected {
            compare(&step.script, expected, answer);
        }
        if let Some(expected) = &step.printed {
            compare_text(&step.script, expected, answer);
        }
    }
    let failed = steps.get(printed.matches(END).count());
    let failed = failed.map_or("", |step| step.script.as_str());
    assert!(
        output.status.success(),
        "Failed:
    {failed}
    {errors}"
    );
}

fn steps(readme: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = vec![];
    for (kind, block) in fenced(readme) {
        match (kind, steps.last_mut()) {
            ("sh", _) => steps.push(Step { script: block, expected: None, printed: None }),
            ("json", Some(step)) if step.expected.is_none() => step.expected = Some(block),
            ("json", _) => panic!(
                "This answer has no request before it:
            {block}"
            ),
            ("text", Some(step)) if step.starts_server() && step.printed.is_none() => {
                step.printed = Some(block);
            }
            _ => {}
        }
    }
    steps
}

/// Returns the fenced blocks of one kind.
pub(crate) fn blocks(text: &str, kind: &str) -> Vec<String> {
    fenced(text).filter(|(other, _)| *other == kind).map(|(_, block)| block).collect()
}

/// Returns all fenced blocks, each with its kind.
fn fenced(text: &str) -> impl Iterator<Item = (&str, String)> {
    let mut lines = text.lines();
    std::iter::from_fn(move || {
        let kind = lines.find_map(|line| line.trim().strip_prefix("```"))?;
        let block: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != "```").collect();
        Some((kind, block.join("\n")))
    })
}

/// Compares the output of a server, ignoring its port.
fn compare_text(script: &str, expected: &str, found: &str) {
    let without_port = |text: &str| -> String {
        let mut parts = text.trim().split("127.0.0.1:");
        let first = parts.next().unwrap_or_default().to_owned();
        let rest = parts.map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()));
        rest.fold(first, |text, part| text + "127.0.0.1" + part)
    };
    let (expected, found) = (without_port(expected), without_port(found));
    assert!(expected == found, "{script}\nprints\n{found}\nand not\n{expected}");
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
    fn differences_are_detected() {
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
    fn blocks_are_found_with_their_responses() {
        let readme =
            "```sh\ncargo run\n```\n```sh\na\nb\n```\ntext\n```json\n{}\n```\n```sh\nc\n```\n";
        let steps = steps(readme);
        let found = steps.iter().map(|step| (step.script.as_str(), step.expected.as_deref()));
        let expected = [("cargo run", None), ("a\nb", Some("{}")), ("c", None)];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert_eq!(blocks(readme, "json"), ["{}"]);
    }
}
