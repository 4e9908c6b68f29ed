//! HTTP in front of the library.
//!
//! A [`Server`] listens, with or without TLS, and hands requests to an [`App`]. It bounds what a
//! client can take: connections, headers, bytes of a body, time. There are two apps:
//!
//! - [`Rest`] serves a database by its model: every entity, list and unique that is declared, with
//!   [`Tokens`] that decide who may do what, and whose data is seen.
//! - [`DynamoDb`] answers as Amazon DynamoDB does, to any of its clients. With [`Credentials`] it
//!   verifies signatures (SigV4) before it looks into a request; without, it takes any, and the
//!   server refuses to listen anywhere but on the machine itself.
//!
//! [`HttpClient`] sends requests to other servers, signed with a [`WebhookSecret`].
//!
//! It runs on a tokio runtime that its caller made. Stopping is graceful: requests under way are
//! answered, idle connections are closed.

mod app;
mod base64;
mod config;
mod dynamodb;
mod error;
mod fair;
mod http;
mod http_client;
mod race;
mod reach;
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
    AdminToken, AdminTokenError, Kind, OwnAnswer, OwnHandler, OwnPage, OwnReply, OwnRequest,
    OwnRoute, OwnShape, Problem, Rest, RestOptions, Role, Route, Token, TokenRequest, Tokens,
    escape_html,
};
pub use server::Server;
pub use webhook_secret::WebhookSecret;
pub use webhooks::Webhooks;
