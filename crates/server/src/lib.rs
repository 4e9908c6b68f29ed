//! HTTP in front of the library.
//!
//! A [`Server`] listens, with or without TLS, and passes requests to an [`App`]. It limits what a client
//! can use: connections, headers, body size, time. There are two apps:
//!
//! - [`Rest`] serves a database by its model: every declared entity, list and unique value. [`Tokens`]
//!   determine who may do what, and which tenant's data they see; [`Issuers`] are identity providers whose
//!   users may do what the access rules of the model allow.
//! - [`DynamoDb`] speaks the protocol of Amazon DynamoDB, for any of its clients. With [`Credentials`] it
//!   verifies signatures (SigV4) before it parses a request; without, it accepts any request, and the
//!   server refuses to listen on other than loopback addresses.
//!
//! [`HttpClient`] sends requests to other servers; [`Webhooks`] signs them with a [`WebhookSecret`].
//!
//! A server runs on the tokio runtime of its caller. Stopping is graceful: requests in progress are
//! answered, idle connections are closed.

mod app;
mod base64;
mod config;
mod console;
mod cores;
mod dynamodb;
mod error;
mod fair;
mod http;
mod http_client;
mod race;
mod reach;
mod readiness;
mod rest;
mod server;
mod tls;
mod webhook_secret;
mod webhooks;

pub use app::App;
pub use config::{Config, Limits, TlsFiles};
pub use dynamodb::{Credentials, CredentialsError, DynamoDb};
pub use error::ServerError;
pub use http::observe::REQUEST_TARGET;
pub use http_client::{HttpClient, HttpClientOptions, HttpError, HttpRequest, HttpResponse};
pub use reach::Reach;
pub use rest::{
    AdminToken, AdminTokenError, ClaimNames, IssuerOptions, Issuers, KeySource, Kind, OwnAnswer,
    OwnHandler, OwnPage, OwnReply, OwnRequest, OwnRoute, OwnShape, Problem, Rest, RestOptions,
    Role, Route, Token, TokenRequest, Tokens, escape_html,
};
pub use server::Server;
pub use webhook_secret::WebhookSecret;
pub use webhooks::Webhooks;
