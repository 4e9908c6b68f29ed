//! Building requests, and checking responses.

use serde_json::Value;

use crate::rig::Answer;

/// A request under construction.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
}

impl Ask {
    pub(crate) fn new(method: &str, path: &str) -> Ask {
        Ask { method: method.to_owned(), path: path.to_owned(), headers: vec![], body: None }
    }

    pub(crate) fn get(path: &str) -> Ask {
        Ask::new("GET", path)
    }

    pub(crate) fn post(path: &str, body: &Value) -> Ask {
        Ask::new("POST", path).json(body)
    }

    pub(crate) fn put(path: &str, body: &Value) -> Ask {
        Ask::new("PUT", path).json(body)
    }

    pub(crate) fn patch(path: &str, body: &Value) -> Ask {
        Ask::new("PATCH", path).json(body)
    }

    pub(crate) fn delete(path: &str) -> Ask {
        Ask::new("DELETE", path)
    }

    pub(crate) fn json(self, body: &Value) -> Ask {
        self.body(body.to_string()).header("Content-Type", "application/json")
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Ask {
        self.body = Some(body.into());
        self
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Ask {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn bearer(self, token: &str) -> Ask {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn tenant(self, tenant: &str) -> Ask {
        self.header("Keyloom-Tenant", tenant)
    }

    /// The request as bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\nHost: localhost\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = &self.body {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        [head.as_bytes(), b"\r\n", self.body.as_deref().unwrap_or_default()].concat()
    }
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {text:?}"))
    }

    /// The status, with the code of a problem: `404 not-found`, or `200`.
    #[track_caller]
    pub(crate) fn outcome(&self) -> String {
        match self.header("content-type") {
            Some("application/problem+json") => {
                let problem = self.json();
                assert_eq!(problem["status"], self.status, "{problem}");
                format!("{} {}", self.status, problem["code"].as_str().unwrap())
            }
            _ => self.status.to_string(),
        }
    }

    /// The JSON of the response, which must have this status.
    #[track_caller]
    pub(crate) fn expect_json(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self.json()
    }

    /// The `ETag` of the response, with its quotes.
    #[track_caller]
    pub(crate) fn tag(&self) -> String {
        self.header("etag").expect("a tag").to_owned()
    }
}
