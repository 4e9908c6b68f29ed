//! `docs/access.md` works as it is written: its model, its key, its configuration and its tokens; and tokens
//! that PyJWT signs are accepted.

use std::fs;
use std::process::Command;

use crate::clients::{python_with, succeed, suite};
use crate::process::{Serving, fresh};

const GUIDE: &str = include_str!("../../../../docs/access.md");
const PYJWT: &str = "pyjwt==2.10.1";

/// The first example in a language that contains a text.
fn example(language: &str, text: &str) -> &'static str {
    let fence = format!("```{language}");
    let blocks = GUIDE.split(&fence).skip(1);
    // What stands behind the language is for the test that walks the page.
    let mut blocks = blocks.filter_map(|rest| rest.split_once('\n')?.1.split("```").next());
    blocks.find(|block| block.contains(text)).expect("the guide has it")
}

#[test]
fn a_key_of_ones_own_signs_tokens_of_users() {
    let folder = fresh("access-guide");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("notes.toml"), example("toml", "[entity.note]")).unwrap();
    fs::write(folder.join("tokens.py"), example("python", "def token")).unwrap();
    let (set_up, serve) = example("sh", "issuers.toml").split_once("keyloom serve").unwrap();
    succeed("The set-up", Command::new("sh").args(["-e", "-c", set_up]).current_dir(&folder));
    assert_eq!(serve.trim(), "notes.toml --issuers issuers.toml --log failures &");
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (data, issuers) = (path("data"), path("issuers.toml"));
    let served = Serving::start(
        &path("notes.toml"),
        &["--data", &data, "--listen", "127.0.0.1:0", "--issuers", &issuers],
    );
    let mut check = Command::new(python_with(PYJWT));
    check.arg(suite("access_suite.py")).arg(&served.url).current_dir(&folder);
    succeed("The suite", check.env("PYTHONPATH", &folder));
}
