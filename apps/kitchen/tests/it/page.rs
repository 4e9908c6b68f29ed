//! The program serves every file that its page refers to.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use keyloom_testkit::readme::Process;

/// What precedes the path of a file in a page or module.
const REFERENCES: [&str; 3] = ["href=\"/", "src=\"/", "from \"/"];

#[test]
fn every_file_that_the_page_refers_to_is_served() {
    let data = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kitchen-page");
    let _ = std::fs::remove_dir_all(&data);
    let mut command = Command::new(env!("CARGO_BIN_EXE_kitchen"));
    command.arg("--data").arg(data);
    let server = Process::serve(command);
    let (mut found, mut next) = (BTreeMap::new(), vec!["/".to_owned()]);
    while let Some(path) = next.pop() {
        if found.contains_key(&path) || path == "/docs" {
            continue;
        }
        let answer = get(&server.url, &path).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        next.extend(references(&answer));
        found.insert(path, answer);
    }
    for (path, media_type) in
        [("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")]
    {
        let header = format!("content-type: {media_type}; charset=utf-8");
        assert!(found[path].contains(&header), "{path}: {}", found[path]);
    }
}

fn references(text: &str) -> Vec<String> {
    let paths = REFERENCES.iter().flat_map(|before| text.split(before).skip(1));
    paths.filter_map(|rest| Some(format!("/{}", rest.split_once('"')?.0))).collect()
}

fn get(url: &str, path: &str) -> std::io::Result<String> {
    let address = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
