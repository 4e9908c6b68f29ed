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
                write!(f, "Cannot listen on {address}: {cause}. Choose another address or port.")
            }
            ServerError::Open { address } => write!(
                f,
                "Without credentials any client is let in, so the server listens on this machine \
                 alone (127.0.0.1 or [::1]) and not on {address}. Give credentials, or choose such \
                 an address."
            ),
            ServerError::Tls { file, why } => {
                write!(f, "The file {} cannot be used for TLS: {why}.", file.display())
            }
        }
    }
}

impl std::error::Error for ServerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ServerError::Listen { cause, .. } => Some(cause),
            ServerError::Open { .. } | ServerError::Tls { .. } => None,
        }
    }
}
