//! What is served: a model over REST, or tables over the DynamoDB API.

/// An API of `keyloom`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Rest,
    DynamoDb,
}

impl Api {
    pub(crate) const ALL: [Api; 2] = [Api::Rest, Api::DynamoDb];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Api::Rest => "REST",
            Api::DynamoDb => "DynamoDB",
        }
    }

    /// The command that serves it.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Api::Rest => "serve",
            Api::DynamoDb => "dynamodb",
        }
    }

    /// Where bodies are sent.
    pub(crate) fn written_path(self) -> &'static str {
        match self {
            Api::Rest => "/tasks",
            Api::DynamoDb => "/",
        }
    }

    /// A public page with a long response.
    pub(crate) fn long_page(self) -> &'static str {
        match self {
            Api::Rest => "/openapi.json",
            Api::DynamoDb => "/console",
        }
    }
}

/// A request of the DynamoDB API, without a signature.
pub(crate) fn call(operation: &str, body: &str) -> Vec<u8> {
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0";
    let target = format!("X-Amz-Target: DynamoDB_20120810.{operation}");
    format!("{head}\r\n{target}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
