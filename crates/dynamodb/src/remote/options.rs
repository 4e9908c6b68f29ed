//! Connection options.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use keyloom_store::{Clock, SystemClock};

/// How to connect to the service. Unset options are resolved as AWS's own tools do: from the
/// environment (`AWS_REGION`, `AWS_PROFILE`, `AWS_ENDPOINT_URL`, `AWS_ACCESS_KEY_ID`, …), from
/// `~/.aws`, or from the role of the container or instance. `AWS_ENDPOINT_URL_DYNAMODB` is the
/// endpoint of tables, `AWS_ENDPOINT_URL_DYNAMODB_STREAMS` that of the feed.
#[derive(Clone, Debug)]
pub struct RemoteOptions {
    /// The region.
    pub region: Option<String>,
    /// The profile in `~/.aws/config` and `~/.aws/credentials`. Its keys take precedence over the
    /// environment.
    pub profile: Option<String>,
    /// The URL of the service, such as `http://127.0.0.1:8000`. With it, the region is optional.
    pub endpoint: Option<String>,
    /// The keys to sign with.
    pub keys: Option<Keys>,
    /// The most attempts at a request before its error is returned, because the service throttles. A
    /// transaction, which others conflict with, has twelve times as many.
    pub attempts_max: u32,
    /// The longest wait before the second attempt. Waits double, up to a hundred times as long, and
    /// each is shortened at random. Those of a transaction begin with a tenth, and double up to twenty
    /// times as long.
    pub delay: Duration,
    /// The timeout of one attempt. A write that times out may still be applied.
    pub attempt_timeout: Duration,
    /// Tells how old what is known of a stream is, and when somebody began to read at its end.
    pub clock: Arc<dyn Clock>,
}

impl Default for RemoteOptions {
    fn default() -> RemoteOptions {
        RemoteOptions {
            region: None,
            profile: None,
            endpoint: None,
            keys: None,
            // Waits add up to 16 seconds at most.
            attempts_max: 10,
            delay: Duration::from_millis(50),
            // Longer than the service takes in any known case.
            attempt_timeout: Duration::from_secs(30),
            clock: Arc::new(SystemClock),
        }
    }
}

/// Access keys.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    /// The access key id.
    pub id: String,
    /// The secret access key.
    pub secret: String,
}

impl fmt::Debug for Keys {
    /// Omits the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("id", &self.id).finish_non_exhaustive()
    }
}
