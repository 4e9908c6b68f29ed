//! The servers: how each is installed and started.

use std::path::PathBuf;
use std::process::Command;

use keyloom_bench::{Running, folder, free_port, run};

/// A server that can be measured.
pub(crate) struct Contestant {
    pub(crate) name: &'static str,
    /// Whether an answered write is on disk, in words.
    pub(crate) durable: &'static str,
    start: fn(&Place) -> Result<Command, String>,
}

/// Where it is installed, keeps its data and listens.
struct Place {
    installed: PathBuf,
    data: PathBuf,
    port: u16,
}

/// All of them, in the order of the table.
#[rustfmt::skip] // A table: one server, one line.
pub(crate) fn all() -> [Contestant; 7] {
    [
        Contestant { name: "keyloom", durable: "yes", start: |place| keyloom(place, "sync") },
        Contestant { name: "keyloom relaxed", durable: "within 0.1 s", start: |place| keyloom(place, "relaxed") },
        Contestant { name: "dynoxide on disk", durable: "yes", start: |place| dynoxide(place, true) },
        Contestant { name: "dynoxide", durable: "no, memory", start: |place| dynoxide(place, false) },
        Contestant { name: "dynalite on disk", durable: "no sync", start: |place| dynalite(place, true) },
        Contestant { name: "dynalite", durable: "no, memory", start: |place| dynalite(place, false) },
        Contestant { name: "ministack", durable: "no, memory", start: ministack },
    ]
}

impl Contestant {
    pub(crate) fn start(&self) -> Result<Running, String> {
        let folder = folder()?;
        let data = folder.join("endpoint-data");
        let _ = std::fs::remove_dir_all(&data);
        std::fs::create_dir_all(&data).map_err(|error| error.to_string())?;
        let port = free_port().map_err(|error| error.to_string())?;
        let place = Place { installed: folder.join("endpoint-servers"), data: data.clone(), port };
        Running::start((self.start)(&place)?, port, data)
    }
}

fn keyloom(place: &Place, durability: &str) -> Result<Command, String> {
    let binary = folder()?.join("keyloom");
    if !binary.exists() {
        return Err("build it first: cargo build --release -p keyloom-cli".to_owned());
    }
    let mut command = Command::new(binary);
    command.args(["dynamodb", "--durability", durability, "--data"]).arg(place.data.join("store"));
    command.args(["--listen", &format!("127.0.0.1:{}", place.port)]);
    Ok(command)
}

fn dynoxide(place: &Place, on_disk: bool) -> Result<Command, String> {
    let package = place.npm("@dynoxide/linux-x64@1.2.1", "@dynoxide/linux-x64")?;
    let mut command = Command::new(package.join("dynoxide"));
    command.args(["--port", &place.port.to_string()]);
    if on_disk {
        command.arg("--db-path").arg(place.data.join("dynoxide.db"));
    }
    Ok(command)
}

fn dynalite(place: &Place, on_disk: bool) -> Result<Command, String> {
    let package = place.npm("dynalite@4.0.0", "dynalite")?;
    let mut command = Command::new("node");
    command.arg(package.join("cli.js")).args(["--createTableMs", "0"]);
    command.args(["--port", &place.port.to_string()]);
    if on_disk {
        command.arg("--path").arg(place.data.join("dynalite"));
    }
    Ok(command)
}

fn ministack(place: &Place) -> Result<Command, String> {
    let folder = place.installed.join("python");
    let python = folder.join("bin/python");
    if !folder.join("bin/ministack").exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        run(Command::new(python).args(["-m", "pip", "install", "--quiet", "ministack==1.5.33"]))?;
    }
    let mut command = Command::new(folder.join("bin/ministack"));
    command.env("SERVICES", "dynamodb").env("GATEWAY_PORT", place.port.to_string());
    command.env("LOG_LEVEL", "ERROR");
    Ok(command)
}

impl Place {
    /// The folder of a package from npm, installed unless it is there.
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
