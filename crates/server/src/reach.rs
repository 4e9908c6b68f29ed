//! Which addresses requests may go to, and a connector that enforces it. The connector checks every
//! address that a name resolves to, and connects only to addresses that it has checked.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpStream, lookup_host};
use tower_service::Service;

/// Which addresses requests may go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Any address.
    Anywhere,
    /// Public internet addresses only, so that whoever can configure a webhook cannot reach services that
    /// trust this machine or its network.
    Public,
}

/// Why a connection failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("`{host}` has no public address, and only public addresses are allowed.")]
    Private { host: String },
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Connects to allowed addresses.
#[derive(Clone, Debug)]
pub(crate) struct Connector {
    pub(crate) reach: Reach,
}

impl Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<TcpStream>, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(connect(self.reach, uri))
    }
}

async fn connect(reach: Reach, uri: Uri) -> Result<TokioIo<TcpStream>, ConnectError> {
    let host = uri.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    let found = lookup_host((host, uri.port_u16().unwrap_or(usual))).await?;
    let allowed = |address: &SocketAddr| match reach {
        Reach::Anywhere => true,
        Reach::Public => is_public(address.ip()),
    };
    let addresses: Vec<SocketAddr> = found.filter(allowed).collect();
    if addresses.is_empty() {
        return Err(ConnectError::Private { host: host.to_owned() });
    }
    Ok(TokioIo::new(TcpStream::connect(&addresses[..]).await?))
}

/// Whether an address is a public internet address.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let [first, second, ..] = v4.octets();
            // 100.64.0.0/10 is shared address space (RFC 6598), 0.0.0.0/8 is this network, 240.0.0.0/4
            // is reserved.
            let is_shared = first == 100 && (64..128).contains(&second);
            let is_special = v4.is_loopback() || v4.is_private() || v4.is_link_local();
            !(is_special || is_shared || first == 0 || v4.is_multicast() || first >= 240)
        }
        IpAddr::V6(v6) => {
            let first = v6.segments()[0];
            // Global unicast is 2000::/3; 64:ff9b::/96 and 2002::/16 translate to IPv4 addresses.
            (0x2000..0x4000).contains(&first) && first != 0x2002
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_distinguished_from_public_ones() {
        for (address, expected) in [
            ("8.8.8.8", true),
            ("2606:4700::1111", true),
            ("127.0.0.1", false),
            ("10.1.2.3", false),
            ("172.16.0.1", false),
            ("192.168.1.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("100.128.0.1", true),
            ("0.0.0.0", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::1", false),
            ("::", false),
            ("fe80::1", false),
            ("fd00::1", false),
            ("::ffff:10.0.0.1", false),
            ("::ffff:8.8.8.8", true),
            ("64:ff9b::a00:1", false),
            ("2002:a00:1::", false),
        ] {
            assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
        }
    }
}
