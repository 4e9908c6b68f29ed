//! A model over HTTP: REST, tokens, documentation, measurements.

mod access;
mod bulk;
mod call;
mod changes;
mod docs;
mod entity;
mod example;
mod greeting;
mod jobs;
mod list;
mod log;
mod metrics;
mod openapi;
mod operation;
mod own_route;
mod pages;
mod problem;
mod question;
mod refusal;
mod route;
mod router;
mod service;
mod token;
mod token_routes;
mod tokens;
mod uri;

pub use access::Role;
pub use log::{Log, LogLevel};
pub use own_route::{OwnAnswer, OwnHandler, OwnRequest, OwnRoute};
pub use pages::OwnPage;
pub use problem::{Kind, Problem};
pub use route::Route;
pub use service::{Rest, RestOptions};
pub use token::{Token, TokenRequest};
pub use tokens::Tokens;
