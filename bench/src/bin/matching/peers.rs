//! The same tasks, products, notes and sales in other databases (`bench/peers/tasks-elsewhere`), each in
//! a separate process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use keyloom_bench::{Running, folder, free_port, postgres, run};

use crate::measured::Measured;

pub(crate) type Measure = fn(u32) -> Result<Measured, String>;

pub(crate) const PEERS: [(&str, Measure); 5] = [
    ("PostgreSQL, jsonb", |tasks| on_postgres("postgres-jsonb", tasks)),
    ("PostgreSQL, joins", |tasks| on_postgres("postgres-join", tasks)),
    ("Redis", on_redis),
    ("SQLite", |tasks| in_folder("sqlite", tasks)),
    ("tantivy", |tasks| in_folder("tantivy", tasks)),
];

pub(crate) const OF_PRODUCTS: [(&str, Measure); 3] = [
    ("PostgreSQL", |products| on_postgres("products-postgres", products)),
    ("SQLite", |products| in_folder("products-sqlite", products)),
    ("tantivy", |products| in_folder("products-tantivy", products)),
];

pub(crate) const OF_NOTES: [(&str, Measure); 3] = [
    ("PostgreSQL", |notes| on_postgres("notes-postgres", notes)),
    ("SQLite, FTS5", |notes| in_folder("notes-sqlite", notes)),
    ("tantivy", |notes| in_folder("notes-tantivy", notes)),
];

pub(crate) const OF_SALES: [(&str, Measure); 2] = [
    ("PostgreSQL", |sales| on_postgres("sales-postgres", sales)),
    ("SQLite", |sales| in_folder("sales-sqlite", sales)),
];

fn on_postgres(name: &str, tasks: u32) -> Result<Measured, String> {
    // As its manual advises for a dedicated machine: a quarter of the memory of a small server.
    let settings = ["shared_buffers=2GB", "effective_cache_size=6GB", "max_wal_size=8GB"];
    let (_running, url) = postgres::start(&fresh(name)?, &settings)?;
    measure(name, tasks, &url)
}

fn on_redis(tasks: u32) -> Result<Measured, String> {
    if Command::new("redis-server").arg("--version").output().is_err() {
        run(Command::new("apt-get").args(["install", "--yes", "--quiet", "redis-server"]))?;
    }
    let port = free_port().map_err(|error| error.to_string())?;
    let mut command = Command::new("redis-server");
    command.args(["--port", &port.to_string(), "--save", "", "--appendonly", "no"]);
    let _running = Running::start(command, port, fresh("redis")?)?;
    measure("redis", tasks, &format!("redis://127.0.0.1:{port}"))
}

fn in_folder(name: &str, tasks: u32) -> Result<Measured, String> {
    let folder = fresh(name)?;
    let measured = measure(name, tasks, &folder.display().to_string());
    let _ = std::fs::remove_dir_all(folder);
    measured
}

fn fresh(name: &str) -> Result<PathBuf, String> {
    let folder = std::env::temp_dir().join(format!("keyloom-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    Ok(folder)
}

fn measure(name: &str, tasks: u32, place: &str) -> Result<Measured, String> {
    let mut command = Command::new(build()?);
    let output = command.args([name, &tasks.to_string(), place]).output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut measured = Measured { load: Duration::ZERO, bytes: 0, queries: vec![] };
    for line in printed.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok());
        match (words.first().copied(), number(1), number(2)) {
            (Some("load"), Some(micros), _) => measured.load = Duration::from_micros(micros),
            (Some("bytes"), Some(bytes), _) => measured.bytes = bytes,
            (Some("question"), Some(found), Some(nanos)) => {
                measured.queries.push((found, Duration::from_nanos(nanos)));
            }
            _ => return Err(format!("unexpected output: `{line}`")),
        }
    }
    Ok(measured)
}

/// Builds the program into a separate folder.
fn build() -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/tasks-elsewhere");
    let target = folder()?.join("tasks-elsewhere-build");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--quiet", "--locked", "--manifest-path"]);
    cargo.arg(source.join("Cargo.toml")).arg("--target-dir").arg(&target);
    run(&mut cargo)?;
    Ok(target.join("release/tasks-elsewhere"))
}
