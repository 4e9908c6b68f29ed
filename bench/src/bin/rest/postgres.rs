//! A hand-written service on PostgreSQL (`bench/peers/comments-on-postgres`), with Debian's default
//! configuration: every commit is synced before it is acknowledged.

use std::path::{Path, PathBuf};
use std::process::Command;

use keyloom_bench::{Running, folder, free_port, postgres, run};

use crate::http::Served;
use crate::rounds::{Client, Contender};

/// The service and its database, which is stopped after it.
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
    let data = folder()?.join("rest-postgres-data");
    let (database, url) = postgres::start(&data, &[])?;
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

/// Builds the service into a separate folder.
fn build() -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/comments-on-postgres");
    let target = folder()?.join("rest-postgres-build");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--quiet", "--locked", "--manifest-path"]);
    cargo.arg(source.join("Cargo.toml")).arg("--target-dir").arg(&target);
    run(&mut cargo)?;
    Ok(target.join("release/comments-on-postgres"))
}
