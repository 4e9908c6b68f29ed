//! The binary as a process.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// `keyloom dynamodb` on a free port, in a directory of its own. It is stopped when dropped.
pub(crate) struct Served {
    child: Child,
    pub(crate) url: String,
    directory: PathBuf,
}

impl Served {
    pub(crate) fn start(name: &str) -> Served {
        let directory = scratch(name);
        let _ = std::fs::remove_dir_all(&directory);
        let mut child = keyloom()
            .args(["dynamodb", "--listen", "127.0.0.1:0", "--data"])
            .arg(&directory)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        let url = first.strip_prefix("Listening on ").expect(&first).to_owned();
        assert!(lines.next().unwrap().unwrap().starts_with("No --credentials"));
        Served { child, url, directory }
    }

    /// Asks it to stop, as an operator would, and waits for it.
    pub(crate) fn stop(&mut self) -> bool {
        let asked = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        asked.success() && self.child.wait().unwrap().success()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

pub(crate) fn keyloom() -> Command {
    Command::new(env!("CARGO_BIN_EXE_keyloom"))
}

/// What a run of the binary printed.
pub(crate) fn run(arguments: &[&str]) -> Output {
    keyloom().args(arguments).output().unwrap()
}

/// A place for files of these tests.
pub(crate) fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}
