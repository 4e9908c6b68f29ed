//! Why a server could not start.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The address cannot be bound.
    #[error("Cannot listen on {address}: {}. Choose another address or port.", reason(.cause))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        #[source]
        cause: io::Error,
    },
    /// The app needs no authentication, and the address is not a loopback address.
    #[error(
        "Refusing to listen on {address} without authentication. Configure credentials, or \
         listen on 127.0.0.1 or [::1]."
    )]
    Open {
        /// The address.
        address: SocketAddr,
    },
    /// A CORS origin is invalid.
    #[error(
        "Invalid origin `{origin}`: write a scheme and a host without a path, such as \
         https://app.example.com, or `*`."
    )]
    Origin {
        /// The invalid value.
        origin: String,
    },
    /// A certificate or key cannot be used.
    #[error("Cannot use {} for TLS: {why}.", .file.display())]
    Tls {
        /// The file.
        file: PathBuf,
        /// The reason.
        why: String,
    },
}

fn reason(cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::AddrInUse => "another process is using this port".to_owned(),
        _ => cause.to_string(),
    }
}
