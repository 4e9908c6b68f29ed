//! Why a server could not start.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The address cannot be listened on.
    #[error("Cannot listen on {address}: {}. Choose another address or port.", reason(.cause))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// The app takes anybody's requests, and the address is not of this machine alone.
    #[error(
        "Refusing to listen on {address} without authentication. Configure credentials, or \
         listen on 127.0.0.1 or [::1]."
    )]
    Open {
        /// The address.
        address: SocketAddr,
    },
    /// What should be an origin of pages is none.
    #[error(
        "`{origin}` is not an origin: write a scheme and a host without a path, such as \
         https://app.example.com, or `*`."
    )]
    Origin {
        /// What was given.
        origin: String,
    },
    /// A certificate or key cannot be used.
    #[error("Cannot use {} for TLS: {why}.", .file.display())]
    Tls {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

fn reason(cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::AddrInUse => "another process is using this port".to_owned(),
        _ => cause.to_string(),
    }
}
