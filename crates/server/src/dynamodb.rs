//! Amazon DynamoDB's protocol over HTTP: headers, signatures, checksums.

mod cors;
mod credentials;
mod reply;
mod service;
mod sigv4;
mod timestamp;

pub use credentials::{Credentials, CredentialsError};
pub use service::DynamoDb;
