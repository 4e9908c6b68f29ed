//! A client of the protocol: JSON-RPC over the pipes of a process, or over HTTP.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::http::Http;
use crate::process::keyloom;

const VERSION: &str = "2025-06-18";
const HEADERS: &str =
    "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n";

/// What a client can do, whatever it speaks over.
pub(super) trait Client {
    /// Sends a request, and returns its response.
    fn request(&mut self, method: &str, params: Value) -> Value;

    /// Calls a tool, and returns its whole result.
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let response = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert!(response["error"].is_null(), "{tool}: {response}");
        response["result"].clone()
    }

    /// Calls a tool that must succeed, and returns its structured result.
    #[track_caller]
    fn ask(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments.clone());
        assert_eq!(result["isError"], json!(false), "{tool} {arguments}: {result}");
        result["structuredContent"].clone()
    }

    /// Calls a tool that must fail, and returns the error with its text as `text`.
    #[track_caller]
    fn fail(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments.clone());
        assert_eq!(result["isError"], json!(true), "{tool} {arguments}: {result}");
        let mut error = result["structuredContent"]["error"].clone();
        error["text"] = result["content"][0]["text"].clone();
        error
    }
}

/// `keyloom mcp` over stdio.
pub(super) struct Piped {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl Piped {
    /// Starts it for a server, with a token if it needs one.
    pub(super) fn start(url: &str, token: Option<&str>, arguments: &[&str]) -> Piped {
        let mut command = keyloom();
        command.args(["mcp", "--url", url]).args(arguments).env_remove("KEYLOOM_TOKEN");
        command.envs(token.map(|token| ("KEYLOOM_TOKEN", token)));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let mut piped = Piped { child, input, output: BufReader::new(output), id: 0 };
        let client = json!({ "name": "test", "version": "1" });
        let hello = json!({ "protocolVersion": VERSION, "capabilities": {}, "clientInfo": client });
        let answer = piped.request("initialize", hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], json!("keyloom"), "{answer}");
        piped.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        piped
    }

    pub(super) fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    }

    /// Closes stdin; whether the process then exits with 0.
    pub(super) fn end(mut self) -> bool {
        self.input = None;
        self.child.wait().unwrap().success()
    }
}

impl Client for Piped {
    fn request(&mut self, method: &str, params: Value) -> Value {
        self.id += 1;
        let id = self.id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).expect("a line of JSON");
        assert_eq!(answer["id"], json!(id), "{answer}");
        answer
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `keyloom mcp --listen`.
pub(super) struct Listening {
    child: Child,
    /// The URL of the protocol.
    pub(super) url: String,
}

impl Listening {
    pub(super) fn start(url: &str, token: Option<&str>, address: &str) -> Listening {
        let mut command = keyloom();
        command.args(["mcp", "--url", url, "--listen", address]).env_remove("KEYLOOM_TOKEN");
        command.envs(token.map(|token| ("KEYLOOM_TOKEN", token)));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("Listening on ").expect("the URL").to_owned();
        Listening { child, url }
    }

    /// A client that sends these headers too.
    pub(super) fn client(&self, headers: &str) -> Posted {
        let base = self.url.strip_suffix("/mcp").unwrap().replace("0.0.0.0", "127.0.0.1");
        Posted { http: Http::connect(&base, &format!("{HEADERS}{headers}")), id: 0 }
    }

    /// Sends SIGTERM; whether the process exits with 0.
    pub(super) fn stop(mut self) -> bool {
        let mut kill = std::process::Command::new("kill");
        let sent = kill.arg(self.child.id().to_string()).status().unwrap();
        sent.success() && self.child.wait().unwrap().success()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client over HTTP.
pub(super) struct Posted {
    http: Http,
    id: u64,
}

impl Posted {
    /// The status and the body of the response to a message.
    pub(super) fn post(&mut self, path: &str, message: &Value) -> (u16, Value) {
        self.http.ask("POST", path, message).unwrap()
    }

    /// The message of a request.
    pub(super) fn message(method: &str, params: &Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
    }
}

impl Client for Posted {
    fn request(&mut self, method: &str, params: Value) -> Value {
        self.id += 1;
        let id = self.id;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let (status, answer) = self.post("/mcp", &message);
        assert_eq!((status, &answer["id"]), (200, &json!(id)), "{answer}");
        answer
    }
}
