//! The servers: how each is installed and started.

use std::path::{Path, PathBuf};
use std::process::Command;

use keyloom_bench::{Running, build_keyloom, folder, free_port, run};

/// A server that can be measured.
pub(crate) struct Contestant {
    pub(crate) name: &'static str,
    /// Whether an acknowledged write is durable, for the table.
    pub(crate) durable: &'static str,
    start: Start,
}

/// Prepares the command that starts a server.
type Start = Box<dyn Fn(&Location) -> Result<Command, String>>;

/// Where it is installed, stores its data and listens.
struct Location {
    installed: PathBuf,
    data: PathBuf,
    port: u16,
}

/// Returns all servers, in the order of the table.
#[rustfmt::skip] // A table: one server, one line.
pub(crate) fn all() -> Result<Vec<Contestant>, String> {
    let program = build_keyloom()?;
    let relaxed = program.clone();
    Ok(vec![
        Contestant::new("keyloom", "yes", move |location| keyloom(location, &program, "sync")),
        Contestant::new("keyloom relaxed", "within 0.1 s", move |location| keyloom(location, &relaxed, "relaxed")),
        Contestant::new("dynoxide on disk", "yes", |location| dynoxide(location, true)),
        Contestant::new("dynoxide", "no, memory", |location| dynoxide(location, false)),
        Contestant::new("dynalite on disk", "no sync", |location| dynalite(location, true)),
        Contestant::new("dynalite", "no, memory", |location| dynalite(location, false)),
        Contestant::new("ministack", "no, memory", ministack),
    ])
}

/// Returns another build of Keyloom, and this one.
pub(crate) fn builds(other: PathBuf) -> Result<Vec<Contestant>, String> {
    let program = build_keyloom()?;
    let start = |program: PathBuf| move |location: &Location| keyloom(location, &program, "sync");
    Ok(vec![
        Contestant::new("the other build", "yes", start(other)),
        Contestant::new("this build", "yes", start(program)),
    ])
}

impl Contestant {
    fn new(
        name: &'static str,
        durable: &'static str,
        start: impl Fn(&Location) -> Result<Command, String> + 'static,
    ) -> Contestant {
        Contestant { name, durable, start: Box::new(start) }
    }

    pub(crate) fn start(&self) -> Result<Running, String> {
        let folder = folder()?;
        let data = folder.join(format!("endpoint-data-{}", self.name.replace(' ', "-")));
        let _ = std::fs::remove_dir_all(&data);
        std::fs::create_dir_all(&data).map_err(|error| error.to_string())?;
        let port = free_port().map_err(|error| error.to_string())?;
        let location =
            Location { installed: folder.join("endpoint-servers"), data: data.clone(), port };
        Running::start((self.start)(&location)?, port, data)
    }
}

fn keyloom(location: &Location, program: &Path, durability: &str) -> Result<Command, String> {
    let mut command = Command::new(program);
    command
        .args(["dynamodb", "--durability", durability, "--data"])
        .arg(location.data.join("store"));
    command.args(["--listen", &format!("127.0.0.1:{}", location.port)]);
    Ok(command)
}

fn dynoxide(location: &Location, on_disk: bool) -> Result<Command, String> {
    let package = location.npm("@dynoxide/linux-x64@1.2.1", "@dynoxide/linux-x64")?;
    let mut command = Command::new(package.join("dynoxide"));
    command.args(["--port", &location.port.to_string()]);
    if on_disk {
        command.arg("--db-path").arg(location.data.join("dynoxide.db"));
    }
    Ok(command)
}

fn dynalite(location: &Location, on_disk: bool) -> Result<Command, String> {
    let package = location.npm("dynalite@4.0.0", "dynalite")?;
    let mut command = Command::new("node");
    command.arg(package.join("cli.js")).args(["--createTableMs", "0"]);
    command.args(["--port", &location.port.to_string()]);
    if on_disk {
        command.arg("--path").arg(location.data.join("dynalite"));
    }
    Ok(command)
}

fn ministack(location: &Location) -> Result<Command, String> {
    let folder = location.installed.join("python");
    let python = folder.join("bin/python");
    if !folder.join("bin/ministack").exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        run(Command::new(python).args(["-m", "pip", "install", "--quiet", "ministack==1.5.33"]))?;
    }
    let mut command = Command::new(folder.join("bin/ministack"));
    command.env("SERVICES", "dynamodb,dynamodbstreams");
    command.env("GATEWAY_PORT", location.port.to_string());
    command.env("LOG_LEVEL", "ERROR");
    Ok(command)
}

impl Location {
    /// Returns the folder of a package from npm; installs it if it is missing.
    fn npm(&self, package: &str, name: &str) -> Result<PathBuf, String> {
        let folder = self.installed.join("npm");
        let installed = folder.join("node_modules").join(name);
        if !installed.exists() {
            std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
            let install = ["install", "--no-audit", "--no-fund", "--loglevel=error", package];
            run(Command::new("npm").arg("--prefix").arg(&folder).args(install))?;
        }
        Ok(installed)
    }
}
