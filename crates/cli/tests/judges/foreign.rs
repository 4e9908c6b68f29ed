//! Third-party DynamoDB servers, installed from npm and PyPI below the target folder.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use crate::clients::{installed, python_with, succeed};
use crate::process::scratch;

/// The npm package with the binary of dynoxide.
const DYNOXIDE: &str = "@dynoxide/linux-x64@1.2.1";
const MINISTACK: &str = "ministack==1.5.33";

/// A third-party server, killed when dropped.
pub(crate) struct Foreign {
    child: Child,
    pub(crate) url: String,
}

impl Foreign {
    pub(crate) fn dynoxide() -> Foreign {
        let folder = scratch("oracle-dynoxide");
        installed(&folder, || {
            let install = ["install", "--no-audit", "--no-fund", "--loglevel=error", DYNOXIDE];
            std::fs::write(folder.join("package.json"), "{\"private\": true}").unwrap();
            succeed("Installing from npm", Command::new("npm").args(install).current_dir(&folder));
        });
        let binary = folder.join("node_modules/@dynoxide/linux-x64/dynoxide");
        let start = || {
            Foreign::start(Command::new(&binary).stderr(Stdio::piped()), |command, port| {
                command.args(["--port", &port.to_string()]);
            })
        };
        loop {
            let mut server = start();
            if server.is_listening() {
                return server;
            }
        }
    }

    pub(crate) fn ministack() -> Foreign {
        let python = python_with(MINISTACK);
        let mut ministack = Command::new(python.with_file_name("ministack"));
        Foreign::start(ministack.stderr(Stdio::null()), |command, port| {
            command
                .env("SERVICES", "dynamodb,dynamodbstreams")
                .env("GATEWAY_PORT", port.to_string());
        })
    }

    /// Starts it on a port that was free just now. Clients wait until it listens.
    fn start(command: &mut Command, listen: impl FnOnce(&mut Command, u16)) -> Foreign {
        let free = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        listen(command, port);
        let shown = format!("{command:?}");
        let child = command.stdout(Stdio::null()).spawn();
        let child = child.unwrap_or_else(|error| panic!("{shown} did not start: {error}"));
        Foreign { child, url: format!("http://127.0.0.1:{port}") }
    }

    /// Reads its first line; false if another process has taken the port meanwhile.
    fn is_listening(&mut self) -> bool {
        let mut line = String::new();
        let errors = self.child.stderr.as_mut().expect("stderr is piped");
        BufReader::new(errors).read_line(&mut line).unwrap();
        assert!(line.contains("listening") || line.contains("in use"), "unexpected output: {line}");
        line.contains("listening")
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
