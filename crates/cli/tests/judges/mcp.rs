//! `keyloom mcp` conforms to the protocol: the protocol's conformance tests, and its own SDK as a client that
//! validates every result.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::clients::{installed, python_with, succeed, suite};
use crate::process::{Served, fresh, keyloom, scratch};

const SDK: &str = "mcp==2.3.0";
/// The others call tools that only their own example server has.
const SCENARIOS: [&str; 4] =
    ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"];

/// `keyloom mcp --listen`, killed when dropped.
struct Listening(Child, String);

impl Listening {
    fn start(url: &str) -> Listening {
        let mut command = keyloom();
        command.args(["mcp", "--url", url, "--listen", "127.0.0.1:0"]).env_remove("KEYLOOM_TOKEN");
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("Listening on ").expect("the URL").to_owned();
        Listening(child, url)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_conformance_tests_of_the_protocol_pass() {
    let folder = scratch("mcp-conformance");
    installed(&folder, || {
        std::fs::copy(suite("mcp.package.json"), folder.join("package.json")).unwrap();
        let install = ["install", "--loglevel=error", "--no-audit", "--no-fund"];
        succeed("The tests come from npm", Command::new("npm").args(install).current_dir(&folder));
    });
    let served = Served::app("tasks", fresh("mcp-conformance-data"));
    let listening = Listening::start(&served.url);
    for scenario in SCENARIOS {
        let mut command = Command::new(folder.join("node_modules/.bin/conformance"));
        command.args(["server", "--url", &listening.1, "--scenario", scenario]);
        // It writes its results to its working directory.
        succeed(scenario, command.current_dir(&folder));
    }
}

#[test]
fn the_sdk_of_the_protocol_calls_every_tool() {
    let python = python_with(SDK);
    let served = Served::app("tasks", fresh("mcp-sdk-data"));
    let mut command = Command::new(python);
    command.arg(suite("mcp_suite.py")).arg(env!("CARGO_BIN_EXE_keyloom")).arg(&served.url);
    succeed("The suite", command.env_remove("KEYLOOM_TOKEN"));
}
