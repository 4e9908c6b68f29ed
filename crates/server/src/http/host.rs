//! Whether a request was meant for this machine.
//!
//! An open server listens on loopback only, but a page in a browser here can reach it under a name
//! of its own that it lets point to loopback. The header `Host` gives such a name away.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hyper::header::{HOST, HeaderMap};

/// Whether the host that the client meant is this machine, by a name that nobody else can have.
/// A request without the header comes from no browser. Of two headers, a proxy may have gone by the
/// other one.
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
    let name = host.split(':').next().unwrap_or_default().to_ascii_lowercase();
    let is_address = name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    is_address || name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::is_loopback_name;

    #[test]
    fn only_names_of_this_machine_are_its_names() {
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
