//! Protection against DNS rebinding: whether a request was meant for this machine.
//!
//! A server without authentication listens on loopback only, but a page in a local browser can reach it
//! under a name of its own that resolves to loopback. The header `Host` reveals such a name.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hyper::header::{HOST, HeaderMap};

/// Whether `Host` names this machine, by a name that nobody else can have. A request without the header
/// does not come from a browser. Two headers are refused: a proxy may have used the other one.
pub(crate) fn is_loopback(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) => true,
        (Some(host), None) => host.to_str().is_ok_and(is_loopback_name),
        (Some(_), Some(_)) => false,
    }
}

fn is_loopback_name(host: &str) -> bool {
    if let Some(rest) = host.strip_prefix('[') {
        let address = rest.split(']').next().unwrap_or_default();
        return address
            .parse::<Ipv6Addr>()
            .is_ok_and(|address| IpAddr::from(address).is_loopback());
    }
    let name = host.split(':').next().unwrap_or_default();
    if let Ok(address) = name.parse::<Ipv4Addr>() {
        return address.is_loopback();
    }
    let name = name.to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::is_loopback_name;

    #[test]
    fn only_loopback_names_and_addresses_are_accepted() {
        for host in [
            "localhost",
            "LOCALHOST:8000",
            "db.localhost",
            "127.0.0.1:80",
            "127.9.9.9",
            "[::1]:8000",
        ] {
            assert!(is_loopback_name(host), "{host}");
        }
        for host in [
            "",
            "example.com",
            "localhost.example.com",
            "127.0.0.1.example.com",
            "10.0.0.1:8000",
            "[::2]:8000",
        ] {
            assert!(!is_loopback_name(host), "{host}");
        }
    }
}
