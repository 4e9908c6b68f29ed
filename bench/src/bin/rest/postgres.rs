//! A hand-written service on PostgreSQL (`bench/peers/comments-on-postgres`), with a database of its
//! own as Debian sets it up: every commit is synced before it is answered.

use std::path::{Path, PathBuf};
use std::process::Command;

use keyloom_bench::{Running, folder, free_port, run};

use crate::http::Served;
use crate::rounds::{Client, Contender};

/// The service, and the database behind it, which is stopped after it.
struct OnPostgres {
    service: Served,
    _database: Running,
}

impl Contender for OnPostgres {
    fn name(&self) -> &'static str {
        self.service.name()
    }

    fn client(&self) -> Box<dyn Client> {
        self.service.client()
    }
}

pub(crate) fn open() -> Result<Box<dyn Contender>, String> {
    let programs = installed()?;
    let data = folder()?.join("rest-postgres-data");
    let (database, url) = start(&programs, &data)?;
    let service = build()?;
    let port = free_port().map_err(|error| error.to_string())?;
    let mut command = Command::new(service);
    command.arg(port.to_string()).arg(url);
    let place = folder()?.join("rest-postgres-service");
    std::fs::create_dir_all(&place).map_err(|error| error.to_string())?;
    let running = Running::start(command, port, place)?;
    let service = Served { name: "axum, sqlx, PostgreSQL", running };
    Ok(Box::new(OnPostgres { service, _database: database }))
}

/// The folder of PostgreSQL's programs.
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

/// A database in a folder of its own. PostgreSQL refuses to run as root, so root asks for somebody
/// else.
fn start(programs: &Path, data: &Path) -> Result<(Running, String), String> {
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
    run(make.arg(&cluster).stdout(std::process::Stdio::null()))?;
    let port = free_port().map_err(failed)?;
    let mut command = as_user("postgres");
    command.arg("-D").arg(&cluster).args(["-p", &port.to_string(), "-h", "127.0.0.1"]);
    command.arg("-k").arg(data);
    let running = Running::start(command, port, data.to_owned())?;
    Ok((running, format!("postgres://bench@127.0.0.1:{port}/postgres")))
}

/// Builds the service into a folder of its own.
fn build() -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/comments-on-postgres");
    let target = folder()?.join("rest-postgres-build");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--quiet", "--locked", "--manifest-path"]);
    cargo.arg(source.join("Cargo.toml")).arg("--target-dir").arg(&target);
    run(&mut cargo)?;
    Ok(target.join("release/comments-on-postgres"))
}
