//! Server processes.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running server; stopped on drop, and its data removed.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// The port it listens on.
    pub port: u16,
    data: PathBuf,
}

impl Running {
    /// Starts a server and waits until it listens.
    ///
    /// # Errors
    ///
    /// If it cannot be started, or does not listen within a minute.
    pub fn start(mut command: Command, port: u16, data: PathBuf) -> Result<Running, String> {
        command.stdout(Stdio::null()).stderr(Stdio::null()).current_dir(&data);
        let child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let running = Running { child, port, data };
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if start.elapsed() > Duration::from_secs(60) {
                return Err("it did not listen within a minute".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(running)
    }

    /// The id of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // SIGTERM first, so that a server can stop its child processes.
        let sent = Command::new("kill").arg(self.child.id().to_string()).status();
        let sent_at = Instant::now();
        while sent.is_ok() && sent_at.elapsed() < Duration::from_secs(5) {
            if let Ok(Some(_)) = self.child.try_wait() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.data);
    }
}

/// Returns the folder of this program, which has the binaries of one profile.
///
/// # Errors
///
/// If the system does not report it.
pub fn folder() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    program.parent().map(Path::to_owned).ok_or_else(|| "this program has no folder".to_owned())
}

/// Builds this version of `keyloom`, and returns its path.
///
/// # Errors
///
/// If it cannot be built.
pub fn build_keyloom() -> Result<PathBuf, String> {
    // Of one package, cargo would resolve other features than of the workspace, and rebuild all dependencies.
    let build = ["build", "--release", "--quiet", "--workspace", "--bin", "keyloom"];
    run(Command::new("cargo").args(build))?;
    Ok(folder()?.join("keyloom"))
}

/// Returns the path after `--beside` on the command line: another build of `keyloom`, to be measured
/// in turns with this one.
pub fn other_build() -> Option<PathBuf> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--beside");
    arguments.nth(1).map(PathBuf::from)
}

/// Returns an unused port.
///
/// # Errors
///
/// If there is none.
pub fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Runs a program to completion.
///
/// # Errors
///
/// If it cannot be run, or fails.
pub fn run(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?} exited with {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}
