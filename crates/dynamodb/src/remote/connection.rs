//! From options to clients of the service.

use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{Credentials, Region};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;

use super::RemoteOptions;

/// An endpoint of one's own has no regions; signatures name one all the same.
const REGION_OF_ENDPOINT: &str = "us-east-1";

/// Clients that share their connections. They send everything once: `retry.rs` says what is repeated.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) tables: aws_sdk_dynamodb::Client,
    pub(super) streams: aws_sdk_dynamodbstreams::Client,
}

impl Connection {
    /// Finds out how to reach the service. Nothing is sent to it yet.
    pub(super) async fn open(options: &RemoteOptions) -> Connection {
        let config = load(options).await;
        Connection {
            tables: aws_sdk_dynamodb::Client::new(&config),
            streams: aws_sdk_dynamodbstreams::Client::new(&config),
        }
    }
}

async fn load(options: &RemoteOptions) -> SdkConfig {
    let http = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
    let timeouts =
        TimeoutConfig::builder().operation_attempt_timeout(options.answer_time_max).build();
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .http_client(http)
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts);
    if let Some(profile) = &options.profile {
        loader = loader.profile_name(profile);
    }
    if let Some(endpoint) = &options.endpoint {
        loader = loader.endpoint_url(endpoint);
    }
    if let Some(region) = &options.region {
        loader = loader.region(Region::new(region.clone()));
    }
    if let Some(keys) = &options.keys {
        loader = loader.credentials_provider(Credentials::new(
            &keys.id,
            &keys.secret,
            None,
            None,
            "given in the options",
        ));
    }
    let config = loader.load().await;
    if config.region().is_none() && config.endpoint_url().is_some() {
        let region = Some(Region::from_static(REGION_OF_ENDPOINT));
        return config.into_builder().region(region).build();
    }
    config
}
