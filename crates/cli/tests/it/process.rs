//! Running the binary: as a command, and as a server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A server on a free port with a directory of its own. Killed, and the directory removed, when dropped.
pub(crate) struct Served {
    child: Child,
    pub(crate) url: String,
    directory: PathBuf,
}

impl Served {
    /// `keyloom dynamodb` on a new directory.
    pub(crate) fn start(name: &str) -> Served {
        Served::on(&fresh(name))
    }

    /// `keyloom dynamodb` on a directory that may have data; removed with the server.
    pub(crate) fn on(directory: &Path) -> Served {
        let (served, mut lines) = Served::run(&["dynamodb"], directory.to_owned(), "Listening on ");
        assert!(lines.next().unwrap().unwrap().starts_with("No --credentials"));
        served
    }

    /// `keyloom dynamodb` on a new directory, with the access keys in this file.
    pub(crate) fn signed(name: &str, credentials: &str) -> Served {
        let arguments = ["dynamodb", "--credentials", credentials];
        Served::run(&arguments, fresh(name), "Listening on ").0
    }

    /// `keyloom serve` of an application, in a directory that may have tokens.
    pub(crate) fn app(app: &str, directory: PathBuf) -> Served {
        let arguments = ["serve", &crate::process::app(app), "--log", "nothing"];
        let start = format!("Serving {app} from ");
        let (served, mut lines) = Served::run(&arguments, directory, &start);
        lines.next().unwrap().unwrap();
        served
    }

    /// Starts a server. Its first line is `start`, then its URL; also returns the lines that follow.
    fn run(
        arguments: &[&str],
        directory: PathBuf,
        start: &str,
    ) -> (Served, impl Iterator<Item = std::io::Result<String>> + use<>) {
        let mut child = keyloom()
            .args(arguments)
            .args(["--listen", "127.0.0.1:0", "--data"])
            .arg(&directory)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        assert!(line.starts_with(start), "{line}");
        let url = line.rsplit(' ').next().unwrap().to_owned();
        (Served { child, url, directory }, lines)
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The head and the body of the response to a GET request.
    pub(crate) fn get(&self, path: &str, headers: &str) -> (String, String) {
        get(&self.url, path, headers)
    }

    /// Sends SIGTERM and waits; whether it exits with 0.
    pub(crate) fn stop(&mut self) -> bool {
        stop(&mut self.child)
    }
}

/// The head and the body of the response to a GET request.
pub(crate) fn get(url: &str, path: &str, headers: &str) -> (String, String) {
    let host = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let close = "Connection: close";
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n{close}\r\n{headers}\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// The body of the response to a GET request that must succeed.
#[track_caller]
pub(crate) fn fetch(url: &str, path: &str) -> String {
    let (head, body) = get(url, path, "");
    assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}\n{body}");
    body
}

fn stop(child: &mut Child) -> bool {
    let sent = Command::new("kill").arg(child.id().to_string()).status().unwrap();
    sent.success() && child.wait().unwrap().success()
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// `keyloom serve` on a free port, unless the arguments name one. Killed when dropped.
pub(crate) struct Serving {
    child: Child,
    pub(crate) url: String,
    pub(crate) greeting: String,
}

impl Serving {
    pub(crate) fn start(model: &str, arguments: &[&str]) -> Serving {
        let mut command = keyloom();
        command.args(["serve", model, "--log", "nothing"]).args(arguments);
        if !arguments.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        Serving::spawn(command)
    }

    /// Starts a command that serves, and reads its greeting.
    pub(crate) fn spawn(mut command: Command) -> Serving {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut greeting = String::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            greeting.push_str(&line.unwrap());
            greeting.push('\n');
            // The last line of the greeting: of a model, of tables.
            if greeting.contains("/docs") || greeting.contains("No --credentials") {
                break;
            }
        }
        let url = greeting.lines().next().and_then(|line| line.split(" on ").last());
        let url = url.expect("the greeting has the URL").to_owned();
        Serving { child, url, greeting }
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGKILL and waits.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM and waits; whether it exits with 0.
    pub(crate) fn stop(&mut self) -> bool {
        stop(&mut self.child)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn keyloom() -> Command {
    Command::new(env!("CARGO_BIN_EXE_keyloom"))
}

/// Runs the binary, with made-up AWS access keys.
pub(crate) fn run(arguments: &[&str]) -> Output {
    let keys = [("AWS_ACCESS_KEY_ID", "made"), ("AWS_SECRET_ACCESS_KEY", "up")];
    keyloom().args(arguments).envs(keys).output().unwrap()
}

/// A path at which nothing exists.
pub(crate) fn fresh(name: &str) -> PathBuf {
    let directory = scratch(name);
    let _ = std::fs::remove_dir_all(&directory);
    directory
}

/// A path for files of these tests.
pub(crate) fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Runs the binary: whether it succeeds, its stdout and its stderr.
pub(crate) fn output(arguments: &[&str]) -> (bool, String, String) {
    let output = run(arguments);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

/// The model file of an application.
pub(crate) fn app(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(format!("apps/{name}/model.toml")).to_str().unwrap().to_owned()
}

/// An empty folder for files of one test, removed when dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let path = scratch(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// Writes a file into the folder.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Compares a text with a file of the project; writes the file if `KEYLOOM_BLESS` is set.
#[track_caller]
pub(crate) fn assert_written(path: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("KEYLOOM_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{} differs; KEYLOOM_BLESS=1 rewrites it:\n{text}", path.display());
}
