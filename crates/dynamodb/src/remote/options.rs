//! How to reach the service.

use std::fmt;
use std::time::Duration;

/// How to reach the service. What is not said here is found as AWS's own tools find it: in the
/// environment (`AWS_REGION`, `AWS_PROFILE`, `AWS_ENDPOINT_URL`, `AWS_ACCESS_KEY_ID`, …), in
/// `~/.aws`, or from the role of the container or machine. `AWS_ENDPOINT_URL_DYNAMODB` is where
/// the tables are; the feed asks `AWS_ENDPOINT_URL_DYNAMODB_STREAMS`.
#[derive(Clone, Debug)]
pub struct RemoteOptions {
    /// The region.
    pub region: Option<String>,
    /// The profile of `~/.aws/config` and `~/.aws/credentials`. Its keys come before those of the
    /// environment.
    pub profile: Option<String>,
    /// Where the service is, as in `http://127.0.0.1:8000`. With one, no region need be said.
    pub endpoint: Option<String>,
    /// The keys to sign with.
    pub keys: Option<Keys>,
    /// How often a request is sent, at most, before its refusal is told: the service throttles,
    /// and transactions get into each other's way.
    pub attempts_max: u32,
    /// The longest wait before the second attempt. Waits double, up to a hundred times as long, and
    /// each is cut at random.
    pub delay: Duration,
    /// How long an answer may take. Then there is none: what was asked may still be done.
    pub answer_time_max: Duration,
}

impl Default for RemoteOptions {
    fn default() -> RemoteOptions {
        RemoteOptions {
            region: None,
            profile: None,
            endpoint: None,
            keys: None,
            // They wait for up to 16 seconds together.
            attempts_max: 10,
            delay: Duration::from_millis(50),
            // Longer than the service ever takes.
            answer_time_max: Duration::from_secs(30),
        }
    }
}

/// Keys to sign requests with.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    /// The access key id.
    pub id: String,
    /// The secret access key.
    pub secret: String,
}

impl fmt::Debug for Keys {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("id", &self.id).finish_non_exhaustive()
    }
}
