//! `keyloom serve` with the model of the comments service.

use std::path::Path;
use std::process::Command;

use keyloom_bench::{Running, build_keyloom, folder, free_port};

use crate::contender::{Contender, Target, Work};

pub(crate) fn start() -> Result<Contender, String> {
    let failed = |error: std::io::Error| error.to_string();
    let program = build_keyloom()?;
    let data = folder()?.join("comments-keyloom");
    let _ = std::fs::remove_dir_all(&data);
    std::fs::create_dir_all(&data).map_err(failed)?;
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apps/comments/model.toml");
    let port = free_port().map_err(failed)?;
    let mut command = Command::new(program);
    command.arg("serve").arg(model).arg("--data").arg(data.join("store"));
    command.args(["--log", "failures", "--listen", &format!("127.0.0.1:{port}")]);
    let files = vec![data.join("store/tree.redb")];
    let running = Running::start(command, port, data)?;
    let (ids, created) = (vec![], 0.into());
    Ok(Contender { name: "Keyloom", running, request, files, ids, created })
}

fn request(work: Work, target: &Target<'_>) -> (String, Option<String>) {
    let Target { id, product, language, .. } = target;
    let comments = format!("GET /products/p{product}/comments");
    match work {
        Work::Get => (format!("GET /comments/{id}"), None),
        Work::Page => (format!("{comments}?limit=20"), None),
        Work::Filtered => (format!("{comments}?limit=20&language={language}&rating=1,3,5"), None),
        Work::FilteredWithTotal => {
            (format!("{comments}?limit=20&language={language}&rating=1,3,5&total=true"), None)
        }
        Work::Count => (format!("{comments}/count?language={language}"), None),
        Work::Create => {
            let times = target.comment().replace(
                &format!(r#""created":{},"#, target.number),
                &format!(r#""created":"{}","#, time(target.number)),
            );
            ("POST /comments".to_owned(), Some(times))
        }
    }
}

/// Returns a time that increases with the number, in seconds.
fn time(number: u64) -> String {
    let (day, second) = (number / 86_400 % 28 + 1, number % 86_400);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("2026-01-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}
