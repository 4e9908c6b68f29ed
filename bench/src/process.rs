//! Servers as processes, and where they are put.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server that runs; stopped when dropped, and its data removed.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// Where it listens.
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
        let asked = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if asked.elapsed() > Duration::from_secs(60) {
                return Err("it did not listen within a minute".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Asked first: a server with helpers of its own takes them along.
        let asked = Command::new("kill").arg(self.child.id().to_string()).status();
        let asked_at = Instant::now();
        while asked.is_ok() && asked_at.elapsed() < Duration::from_secs(5) {
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

/// The folder of this program: that of the binaries of one profile.
///
/// # Errors
///
/// If the system does not say.
pub fn folder() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    program.parent().map(Path::to_owned).ok_or_else(|| "this program is nowhere".to_owned())
}

/// A port that nobody has.
///
/// # Errors
///
/// If there is none.
pub fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Runs a program to its end.
///
/// # Errors
///
/// If it cannot be run, or fails.
pub fn run(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?} ended with {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}
