//! Runs the commands on a page of documentation, and compares their output with what the page shows.
//!
//! Fenced blocks are steps that a reader takes, in order. A word after the language says more about a block;
//! readers do not see it.
//!
//! | block | step |
//! |---|---|
//! | `sh` | is run, all in one shell: variables carry over, and a server started with `&` stays |
//! | `json` after it | must match the last JSON values in its output: `"…"` matches any value, and a member `"…": "…"` any other members |
//! | `text output` after it | must match its output line by line: `…` matches any text within a line. After the start of a server, `text` is enough |
//! | `sh follow` | is run in a terminal of its own until the page ends |
//! | `text follow` | must match what that terminal has printed; waits for its last line |
//! | any language, `file=PATH` | is saved as this file |
//! | `sh needs-…` | is not run, because it needs what tests do not have, such as `docker` |
//!
//! [`run`] uses one server for all requests and skips blocks that begin with `cargo`. [`walk`] skips nothing: it also
//! starts and stops servers as the page says, in a folder with the project's applications.

mod compare;
mod page;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use compare::{compare, compare_text};
pub use page::{Block, blocks};
use page::{Shows, Step, starts_server, steps};

/// The address of the server in a README.
pub(crate) const ADDRESS: &str = "http://127.0.0.1:8080";
/// The ports that pages use, each replaced by a free one.
const PORTS: [&str; 3] = [":8080", ":8000", ":8081"];
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

/// Runs all requests of a README against a server; returns how many blocks were run.
///
/// # Panics
///
/// If a command fails, or its output differs from what the README shows.
pub fn run(readme: &str, server: &Process) -> usize {
    let mut steps = steps(readme);
    steps.retain(|step| !step.script().starts_with("cargo "));
    let mut script = String::from("set -euo pipefail\n");
    for step in &steps {
        script.push_str(&commands(step).replace(ADDRESS, &server.url));
    }
    // A folder of its own: other tests of this process run READMEs at the same time.
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    let folder = format!("keyloom-readme-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(folder);
    std::fs::create_dir_all(&folder).expect("a directory is made");
    check(&steps, &script, &folder);
    let _ = std::fs::remove_dir_all(&folder);
    steps.len()
}

/// Runs everything on a page, top to bottom, in one shell, in an empty folder with a link to the applications of the
/// project at `root`. `keyloom`, and what builds or installs it with cargo, is replaced by `binary`. Returns how many
/// blocks were run.
///
/// # Panics
///
/// If a command fails, or its output differs from what the page shows.
pub fn walk(page: &str, binary: &Path, root: &Path, folder: &Path) -> usize {
    let steps = steps(page);
    let ports = PORTS.map(|_| free_port().to_string());
    std::fs::create_dir_all(folder.join("bin")).expect("a directory is made");
    std::os::unix::fs::symlink(root.join("apps"), folder.join("apps")).expect("a link is made");
    let binary = binary.to_str().expect("a path in UTF-8");
    for (name, program) in [("keyloom", KEYLOOM), ("cargo", CARGO)] {
        let program = program.replace("BINARY", binary).replace("WALK", &folder.to_string_lossy());
        let path = folder.join("bin").join(name);
        std::fs::write(&path, with_ports(&program, &ports)).expect("a file is written");
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, executable).expect("a file is made executable");
    }
    // What a failed step leaves running must not outlive the test.
    let mut script = String::from(
        "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\nset -euo pipefail\n\
         WALK=$PWD PATH=\"$PWD/bin:$PATH\"\nexport PATH\n",
    );
    for step in &steps {
        script.push_str(&with_ports(&commands(step), &ports));
    }
    check(&steps, &script, folder);
    steps.len()
}

/// The stand-in for an installed `keyloom` while a page is run. A server listens on the test's port, and its output
/// goes to a file.
const KEYLOOM: &str = r#"#!/usr/bin/env bash
set -euo pipefail
serve() { echo "$1" > WALK/server.port; shift; exec BINARY "$@" > WALK/server.txt; }
case "$1 $*" in
  serve*--help* | demo*--help* | dynamodb*--help*) exec BINARY "$@" ;;
  mcp*--listen* | serve*--listen* | demo*--listen* | dynamodb*--listen*)
    all="$*"; address=${all##*--listen }; address=${address%% *}; serve "${address##*:}" "$@" ;;
  serve* | demo*) port=:8080; serve "${port#:}" "$@" --listen 127.0.0.1:8080 ;;
  dynamodb*) port=:8000; serve "${port#:}" "$@" --listen 127.0.0.1:8000 ;;
  *) exec BINARY "$@" ;;
esac
"#;

/// The stand-in for `cargo`.
const CARGO: &str = r#"#!/usr/bin/env bash
set -euo pipefail
case "$*" in
  "run --release -p keyloom-cli -- "*) shift 5; exec WALK/bin/keyloom "$@" ;;
  "install --locked --path crates/cli") echo "Installed package \`keyloom-cli\`" ;;
  *) echo "unexpected: cargo $*" >&2; exit 64 ;;
esac
"#;

/// Waits until the server that was started last answers, then prints its output.
const WAIT: &str = r#"
for _ in $(seq 1200); do
  server=127.0.0.1:$(cat "$WALK/server.port" 2>/dev/null || true)
  curl -o /dev/null "http://$server/healthz" 2>/dev/null && break
  curl -k -o /dev/null "https://$server/healthz" 2>/dev/null && break
  kill -0 $! || break; sleep 0.05
done
cat "$WALK/server.txt""#;

/// Returns the script of a step, which ends its output with [`END`].
fn commands(step: &Step) -> String {
    let commands = match step {
        Step::Run { script, .. } if starts_server(script) => {
            format!("rm -f \"$WALK/server.port\"\n{script}{WAIT}")
        }
        Step::Run { script, .. } => script.clone(),
        // Not a job of this shell, so that `%1` and `wait` mean what they mean to a reader.
        Step::Follow { script } => format!(
            "(({script}) > \"$WALK/followed.txt\" 2>&1 &)\n\
             for _ in $(seq 600); do [ -s \"$WALK/followed.txt\" ] && break; sleep 0.05; done"
        ),
        Step::Look { expected } => format!(
            "for _ in $(seq 600); do\n\
             [ \"$(grep -c . \"$WALK/followed.txt\")\" -ge {} ] && break; sleep 0.05\ndone\n\
             cat \"$WALK/followed.txt\"",
            expected.lines().filter(|line| !line.is_empty()).count()
        ),
        Step::Save { path, content } => {
            format!(
                "mkdir -p \"$(dirname '{path}')\"\ncat > '{path}' <<'{HEREDOC}'\n{content}\n{HEREDOC}"
            )
        }
    };
    format!("{commands}\nprintf '{END}'\n")
}

/// Ends the content of a file.
const HEREDOC: &str = "END OF THE FILE";

fn with_ports(text: &str, ports: &[String]) -> String {
    let replace =
        |text: String, (port, free): (&&str, &String)| text.replace(*port, &format!(":{free}"));
    PORTS.iter().zip(ports).fold(text.to_owned(), replace)
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}

/// Runs a script whose steps end with [`END`], and compares the output of each.
fn check(steps: &[Step], script: &str, folder: &Path) {
    // Readers see curl's progress; tests do not want it. The timeout ends every request.
    let settings = "silent\nshow-error\nmax-time = 60\n";
    std::fs::write(folder.join(".curlrc"), settings).expect("a file is written");
    let mut bash = Command::new("bash");
    bash.arg("-c").arg(script).current_dir(folder).env("CURL_HOME", folder);
    let output = bash.output().expect("bash runs");
    let printed = String::from_utf8(output.stdout).expect("answers are UTF-8");
    let errors = String::from_utf8_lossy(&output.stderr);
    for (step, answer) in steps.iter().zip(printed.split_terminator(END)) {
        match step {
            Step::Run { script, shows: Shows { json, text } } => {
                if let Some(expected) = json {
                    compare(script, expected, answer);
                }
                if let Some(expected) = text {
                    compare_text(script, expected, answer);
                }
            }
            Step::Look { expected } => compare_text(step.script(), expected, answer),
            Step::Follow { .. } | Step::Save { .. } => {}
        }
    }
    let failed = steps.get(printed.matches(END).count());
    let failed = failed.map_or("", |step| step.script());
    assert!(output.status.success(), "Failed:\n{failed}\n{errors}");
}
