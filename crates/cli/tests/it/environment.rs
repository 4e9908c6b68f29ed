//! Options and the first token from the environment, and `keyloom health`.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::json;

use crate::http::Http;
use crate::process::{Folder, Serving, app, keyloom, output};

/// `keyloom` with these arguments and variables.
fn with(arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = keyloom();
    command.args(arguments).envs(variables.iter().copied());
    command
}

fn text_of(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// The output of a command that must fail.
fn refusal(arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let output = with(arguments, variables).output().unwrap();
    assert!(!output.status.success(), "{arguments:?}: {}", text_of(&output));
    text_of(&output)
}

fn generate() -> String {
    let (success, out, err) = output(&["token", "generate"]);
    assert!(success && out.lines().count() == 1, "{err}");
    out.trim().to_owned()
}

fn status(url: &str, token: &str) -> u16 {
    let url = url.replace("0.0.0.0", "127.0.0.1");
    let mut http = Http::connect(&url, &format!("Authorization: Bearer {token}\r\n"));
    http.ask("GET", "/tokens", &json!(null)).unwrap().0
}

#[test]
fn a_server_takes_its_options_from_the_environment_and_the_command_line_wins() {
    let folder = Folder::new("environment");
    let (there, here) = (folder.path("there"), folder.path("here"));
    let variables = [
        ("KEYLOOM_DATA", there.as_str()),
        ("KEYLOOM_LISTEN", "127.0.0.1:0"),
        ("KEYLOOM_LOG", "nothing"),
        ("KEYLOOM_MAX_BODY", "1"),
        ("KEYLOOM_MEMORY", ""),
    ];
    let serving = Serving::spawn(with(&["serve", &app("tasks")], &variables));
    assert!(serving.greeting.contains(&there), "{}", serving.greeting);
    let mut http = Http::connect(&serving.url, "");
    let large = json!({ "name": "n", "description": "d".repeat(1 << 20) });
    assert_eq!(http.ask("POST", "/tasks", &large).unwrap().0, 413);
    drop(serving);
    let serving = Serving::spawn(with(&["serve", &app("tasks"), "--data", &here], &variables));
    assert!(serving.greeting.contains(&here), "{}", serving.greeting);
    drop(serving);
    let wrong = refusal(&["serve", &app("tasks")], &[("KEYLOOM_MAX_BODY", "much")]);
    assert!(wrong.contains("much") && wrong.contains("--max-body"), "{wrong}");
}

#[test]
fn other_commands_read_only_the_data_location_from_the_environment() {
    let folder = Folder::new("environment-data");
    let data = folder.path("data");
    let (success, _, err) = output(&["token", "create", "--data", &data, "--role", "reader"]);
    assert!(success, "{err}");
    let list = with(&["token", "list"], &[("KEYLOOM_DATA", &data)]).output().unwrap();
    assert!(list.status.success() && text_of(&list).contains("reader"), "{}", text_of(&list));
    // The command line names the data, so the table in the environment is ignored.
    let elsewhere = [("KEYLOOM_DYNAMODB", "tasks"), ("KEYLOOM_REGION", "mars")];
    let list = with(&["token", "list", "--data", &data], &elsewhere).output().unwrap();
    assert!(list.status.success() && text_of(&list).contains("reader"), "{}", text_of(&list));
    // `--log` of `restore` is a directory.
    let (copy, again) = (folder.path("copy"), folder.path("again"));
    assert!(output(&["backup", "--data", &data, "--to", &copy]).0);
    let restore = ["restore", "--from", &copy, "--to", &again];
    let restored = with(&restore, &[("KEYLOOM_LOG", "failures")]).output().unwrap();
    assert!(restored.status.success(), "{}", text_of(&restored));
}

#[test]
fn the_first_token_lets_a_new_server_accept_remote_connections() {
    let folder = Folder::new("first-token");
    let (data, token) = (folder.path("data"), generate());
    let (model, file) = (app("tasks"), folder.write("token", format!("{token}\n")));
    let serve = ["serve", &model, "--listen", "0.0.0.0:0", "--data", &data];
    let err = refusal(&serve, &[("KEYLOOM_ADMIN_TOKEN", "")]);
    assert!(err.contains("without authentication") && err.contains("KEYLOOM_ADMIN_TOKEN"), "{err}");
    // The second start finds the token, the third one reads it from a file.
    let by_file = [&serve[..], &["--admin-token-file", &file]].concat();
    let variable = [("KEYLOOM_ADMIN_TOKEN", token.as_str())];
    let starts = [with(&serve, &variable), with(&serve, &variable), with(&by_file, &[])];
    for command in starts {
        let mut serving = Serving::spawn(command);
        assert_eq!(status(&serving.url, &token), 200);
        assert_eq!(status(&serving.url, &generate()), 401);
        assert!(!serving.greeting.contains(&token), "{}", serving.greeting);
        assert!(serving.stop());
    }
    let (_, out, _) = output(&["token", "list", "--data", &data, "--json"]);
    assert!(out.lines().count() == 1 && out.contains("\"admin\""), "{out}");
}

#[test]
fn an_invalid_first_token_is_refused_and_never_printed() {
    let folder = Folder::new("no-first-token");
    let (data, model) = (folder.path("data"), app("tasks"));
    let serve = ["serve", &model, "--listen", "127.0.0.1:0", "--data", &data];
    let token = generate();
    let (head, secret) = token.rsplit_once('_').unwrap();
    let malformed = [
        "secret".to_owned(),
        head.to_owned(),
        format!("{head}_{}", &secret[1..]),
        format!("{head}_{}A", &secret[1..]),
        format!("{token}x"),
        token.replace("kl_", "KL_"),
    ];
    for text in malformed {
        let err = refusal(&serve, &[("KEYLOOM_ADMIN_TOKEN", &text)]);
        assert!(err.contains("keyloom token generate") && !err.contains(&secret[1..]), "{err}");
        assert!(!Path::new(&data).exists(), "{text}");
    }
    let empty = folder.write("empty", "");
    let err = refusal(&[&serve[..], &["--admin-token-file", &empty]].concat(), &[]);
    assert!(err.contains("malformed"), "{err}");
    let mut serving = Serving::spawn(with(&serve, &[("KEYLOOM_ADMIN_TOKEN", &token)]));
    assert!(serving.stop());
    let (_, other) =
        generate().rsplit_once('_').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let err = refusal(&serve, &[("KEYLOOM_ADMIN_TOKEN", &format!("{head}_{other}"))]);
    assert!(err.contains("another secret") && !err.contains(&other), "{err}");
    let (_, out, _) = output(&["token", "create", "--data", &data, "--role", "reader"]);
    let reader = out.lines().next().unwrap();
    let err = refusal(&serve, &[("KEYLOOM_ADMIN_TOKEN", reader)]);
    assert!(err.contains("lacks the role admin") && !err.contains(reader), "{err}");
}

#[test]
fn health_checks_whether_a_server_responds() {
    let folder = Folder::new("health");
    let mut serving = Serving::start(&app("tasks"), &["--data", &folder.path("data")]);
    let (success, out, err) = output(&["health", &serving.url]);
    assert!(success && out == "OK\n", "{out}{err}");
    let (success, out, err) = output(&["health", "--ready", &serving.url]);
    assert!(success && out == "OK\n", "{out}{err}");
    let (success, _, err) = output(&["health", &format!("{}/tasks", serving.url)]);
    assert!(!success && err.contains("404"), "{err}");
    assert!(serving.stop());
    let (success, _, err) = output(&["health", &serving.url]);
    assert!(!success && err.contains("cannot be reached"), "{err}");
    assert!(!output(&["health", "localhost"]).0);
}
