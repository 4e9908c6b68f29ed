//! Why a server could not start.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a server could not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServerError {
    /// The address cannot be listened on.
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        cause: io::Error,
    },
    /// The app takes anybody's requests, and the address is not of this machine alone.
    Open {
        /// The address.
        address: SocketAddr,
    },
    /// What should be an origin of pages is none.
    Origin {
        /// What was given.
        origin: String,
    },
    /// A certificate or key cannot be used.
    Tls {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerError::Listen { address, cause } => {
                let why = match cause.kind() {
                    io::ErrorKind::AddrInUse => "another process is using this port".to_owned(),
                    _ => cause.to_string(),
                };
                write!(f, "Cannot listen on {address}: {why}. Choose another address or port.")
            }
            ServerError::Open { address } => write!(
                f,
                "Refusing to listen on {address} without authentication. Configure credentials, or \
                 listen on 127.0.0.1 or [::1]."
            ),
            ServerError::Origin { origin } => write!(
                f,
                "`{origin}` is not an origin: write a scheme and a host without a path, such as \
                 https://app.example.com, or `*`."
            ),
            ServerError::Tls { file, why } => {
                write!(f, "Cannot use {} for TLS: {why}.", file.display())
            }
        }
    }
}

impl std::error::Error for ServerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ServerError::Listen { cause, .. } => Some(cause),
            ServerError::Open { .. } | ServerError::Origin { .. } | ServerError::Tls { .. } => None,
        }
    }
}
