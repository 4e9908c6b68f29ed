//! One line of JSON for each request.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use keyloom::{Clock, Value};
use keyloom_model::FieldType;
use serde_json::{Map, json};

/// Where lines go to, and which are written.
#[derive(Clone)]
pub struct Log {
    /// What is written.
    pub level: LogLevel,
    /// Takes a line, without its end.
    pub write: Arc<dyn Fn(&str) + Send + Sync>,
}

/// Which requests are written to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// All of them.
    All,
    /// Those that the server could not answer: statuses from 500.
    Failures,
    /// None.
    Nothing,
}

/// What is told about a request.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) request_id: &'a str,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) operation: Option<&'a str>,
    pub(crate) token: Option<&'a str>,
    pub(crate) tenant: Option<&'a str>,
    pub(crate) status: u16,
    pub(crate) code: Option<&'a str>,
    /// What is wrong inside.
    pub(crate) cause: Option<&'a str>,
    pub(crate) bytes_in: usize,
    pub(crate) bytes_out: usize,
    pub(crate) took: Duration,
}

impl Log {
    pub(crate) fn tell(&self, clock: &dyn Clock, entry: &Entry) {
        let is_failure = entry.status >= 500;
        let is_told = match self.level {
            LogLevel::All => true,
            LogLevel::Failures => is_failure,
            LogLevel::Nothing => false,
        };
        if !is_told {
            return;
        }
        let mut line = Map::new();
        let now = FieldType::Time.show(&Value::from(clock.now().0));
        line.insert("time".to_owned(), json!(now.as_s()));
        line.insert("level".to_owned(), json!(if is_failure { "error" } else { "info" }));
        line.insert("request_id".to_owned(), json!(entry.request_id));
        line.insert("method".to_owned(), json!(entry.method));
        line.insert("path".to_owned(), json!(entry.path));
        line.insert("status".to_owned(), json!(entry.status));
        let took_ms = entry.took.as_secs_f64() * 1000.0;
        line.insert("ms".to_owned(), json!((took_ms * 1000.0).round() / 1000.0));
        line.insert("bytes_in".to_owned(), json!(entry.bytes_in));
        line.insert("bytes_out".to_owned(), json!(entry.bytes_out));
        let texts = [
            ("operation", entry.operation),
            ("token", entry.token),
            ("tenant", entry.tenant),
            ("code", entry.code),
            ("cause", entry.cause),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                line.insert(name.to_owned(), json!(text));
            }
        }
        (self.write)(&serde_json::Value::Object(line).to_string());
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("level", &self.level).finish_non_exhaustive()
    }
}
