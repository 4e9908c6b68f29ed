//! `DescribeLimits` and `DescribeEndpoints`.

use crate::json::Writer;

use super::Endpoint;

/// The service's limits for a new account, as documented in 2025. None is enforced.
const LIMITS: &[(&str, u64)] = &[
    ("AccountMaxReadCapacityUnits", 80_000),
    ("AccountMaxWriteCapacityUnits", 80_000),
    ("TableMaxReadCapacityUnits", 40_000),
    ("TableMaxWriteCapacityUnits", 40_000),
];

pub(super) fn describe_limits() -> String {
    let mut writer = Writer::new();
    writer.object(|w| LIMITS.iter().for_each(|(name, units)| w.name(name).number(units)));
    writer.finish()
}

/// Returns the service's own address. Clients do not use it: an endpoint set explicitly turns
/// discovery off.
pub(super) fn describe_endpoints(endpoint: &Endpoint) -> String {
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name("Endpoints").list(|w| {
            w.object(|w| {
                w.name("Address").text(&endpoint.host());
                w.name("CachePeriodInMinutes").number(1440);
            });
        });
    });
    writer.finish()
}
