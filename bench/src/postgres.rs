//! PostgreSQL with Debian's defaults: every commit is synced before it is acknowledged.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::{Running, free_port, run};

/// Returns the folder of PostgreSQL's programs; installs them if they are missing.
fn installed() -> Result<PathBuf, String> {
    let newest = || {
        let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
        let folders = versions.flatten().map(|version| version.path().join("bin"));
        folders.filter(|folder| folder.join("initdb").exists()).max()
    };
    if newest().is_none() {
        run(Command::new("apt-get").args(["install", "--yes", "--quiet", "postgresql"]))?;
    }
    newest().ok_or_else(|| "PostgreSQL is not below /usr/lib/postgresql".to_owned())
}

/// Starts a database in a new folder; returns it and its URL. PostgreSQL refuses to run as root, so
/// root switches to another user.
///
/// # Errors
///
/// If it cannot be installed or started.
pub fn start(data: &Path, settings: &[&str]) -> Result<(Running, String), String> {
    let programs = installed()?;
    let failed = |error: std::io::Error| error.to_string();
    let _ = std::fs::remove_dir_all(data);
    std::fs::create_dir_all(data).map_err(failed)?;
    let is_root = std::env::var("USER").map_or(true, |user| user == "root");
    let as_user = |program: &str| match is_root {
        false => Command::new(programs.join(program)),
        true => {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--"]).arg(programs.join(program));
            command
        }
    };
    if is_root {
        run(Command::new("chown").arg("postgres").arg(data))?;
    }
    let cluster = data.join("cluster");
    let mut make = as_user("initdb");
    make.current_dir("/").args(["--auth=trust", "--username=bench", "--no-instructions", "-D"]);
    run(make.arg(&cluster).stdout(Stdio::null()))?;
    let port = free_port().map_err(failed)?;
    let mut command = as_user("postgres");
    command.arg("-D").arg(&cluster).args(["-p", &port.to_string(), "-h", "127.0.0.1"]);
    command.arg("-k").arg(data);
    command.args(settings.iter().flat_map(|setting| ["-c", setting]));
    let running = Running::start(command, port, data.to_owned())?;
    Ok((running, format!("postgres://bench@127.0.0.1:{port}/postgres")))
}
