//! Creates SDK clients from options.

use std::sync::Arc;

use aws_config::meta::credentials::CredentialsProviderChain;
use aws_config::profile::ProfileFileCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{Credentials, Region, SharedCredentialsProvider};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_types::service_config::ServiceConfigKey;
use keyloom_store::{Error, Refusal};

use super::RemoteOptions;

/// The region in signatures for a custom endpoint, which has no regions.
const REGION_OF_ENDPOINT: &str = "us-east-1";
/// The service's name in setting names.
const SERVICE_ID: &str = "DynamoDB";

/// SDK clients with a shared connection pool. They send every request once: `retry.rs` decides what
/// is retried.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) tables: aws_sdk_dynamodb::Client,
    pub(super) streams: aws_sdk_dynamodbstreams::Client,
}

impl Connection {
    /// Resolves how to reach the service. Sends nothing yet.
    pub(super) async fn open(options: &RemoteOptions) -> Result<Connection, Error> {
        let config = load(options).await;
        if config.region().is_none() {
            return Err(no_region());
        }
        Ok(Connection {
            tables: aws_sdk_dynamodb::Client::new(&config),
            streams: aws_sdk_dynamodbstreams::Client::new(&config),
        })
    }
}

/// Checked up front: the SDK reports it only on the first request, and not whether that was sent.
fn no_region() -> Error {
    let message =
        "set AWS_REGION, a region in the profile, or the region or endpoint options".to_owned();
    let operation = "requests without a region";
    Error::Refused(Arc::new(Refusal {
        operation,
        code: None,
        message,
        resource: None,
        may_pass: false,
    }))
}

async fn load(options: &RemoteOptions) -> SdkConfig {
    let http = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
    let timeouts =
        TimeoutConfig::builder().operation_attempt_timeout(options.attempt_timeout).build();
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
    let mut config = loader.load().await;
    if config.region().is_none() && has_endpoint(&config) {
        let region = Some(Region::from_static(REGION_OF_ENDPOINT));
        config = config.into_builder().region(region).build();
    }
    match &options.profile {
        Some(profile) if options.keys.is_none() => with_keys_of(profile, config),
        Some(_) | None => config,
    }
}

/// Uses the keys of an explicitly selected profile. They take precedence over the environment, as
/// in the AWS CLI; the SDK does the reverse.
fn with_keys_of(profile: &str, config: SdkConfig) -> SdkConfig {
    let (Some(http), Some(rest)) = (config.http_client(), config.credentials_provider()) else {
        return config;
    };
    // A profile may name a role, which other AWS services resolve.
    let provider = ProviderConfig::without_region()
        .with_http_client(http)
        .with_region(config.region().cloned());
    let own = ProfileFileCredentialsProvider::builder().configure(&provider).profile_name(profile);
    let keys = CredentialsProviderChain::first_try("Profile", own.build()).or_else("Rest", rest);
    config.into_builder().credentials_provider(SharedCredentialsProvider::new(keys)).build()
}

/// Returns whether an endpoint is configured, for all services or for this one.
fn has_endpoint(config: &SdkConfig) -> bool {
    let own = || {
        let key = ServiceConfigKey::builder()
            .service_id(SERVICE_ID)
            .env("AWS_ENDPOINT_URL")
            .profile("endpoint_url");
        config.service_config()?.load_config(key.build().ok()?)
    };
    config.endpoint_url().is_some() || own().is_some()
}
