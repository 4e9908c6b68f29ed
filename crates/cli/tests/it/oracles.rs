//! Random requests to our endpoint and to two foreign servers beside it: where they agree against
//! us, somebody looks up who is right. The servers are installed from npm and PyPI.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use crate::clients::{installed, python_with, succeed, suite};
use crate::process::{Served, scratch};

/// The binary of dynoxide, as npm ships it for this machine.
const DYNOXIDE: &str = "@dynoxide/linux-x64@1.2.1";
const MINISTACK: &str = "ministack==1.5.33";
const REQUESTS: &str = "2000";

/// A foreign server, stopped when dropped.
struct Foreign {
    child: Child,
    url: String,
}

impl Foreign {
    /// Starts it on a port that was free a moment ago.
    fn start(command: &mut Command, listen: impl FnOnce(&mut Command, u16)) -> Foreign {
        let free = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        listen(command, port);
        let shown = format!("{command:?}");
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.unwrap_or_else(|error| panic!("{shown} did not start: {error}"));
        Foreign { child, url: format!("http://127.0.0.1:{port}") }
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn where_foreign_servers_agree_ours_does_too() {
    let folder = scratch("oracle-dynoxide");
    installed(&folder, || {
        let install = ["install", "--no-audit", "--no-fund", "--loglevel=error", DYNOXIDE];
        std::fs::write(folder.join("package.json"), "{\"private\": true}").unwrap();
        succeed("Installing from npm", Command::new("npm").args(install).current_dir(&folder));
    });
    let python = python_with(MINISTACK);
    let mut binary = Command::new(folder.join("node_modules/@dynoxide/linux-x64/dynoxide"));
    let dynoxide = Foreign::start(&mut binary, |command, port| {
        command.args(["--port", &port.to_string()]);
    });
    let mut ministack = Command::new(python.with_file_name("ministack"));
    let ministack = Foreign::start(&mut ministack, |command, port| {
        command.env("SERVICES", "dynamodb").env("GATEWAY_PORT", port.to_string());
    });
    let ours = Served::start("oracles");
    let mut script = Command::new("python3");
    script.arg(suite("oracles.py")).args([REQUESTS, &ours.url]);
    script.arg(format!("dynoxide={}", dynoxide.url));
    script.arg(format!("ministack={}", ministack.url));
    succeed("Differences from foreign servers", &mut script);
}
