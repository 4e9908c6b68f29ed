//! Prices, which change: kept here with their date, and nowhere else.

/// Prices of a service, in US dollars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Where they apply.
    pub region: &'static str,
    /// Since when.
    pub since: &'static str,
    /// A million write request units.
    pub million_write_units: f64,
    /// A million read request units.
    pub million_read_units: f64,
}

/// DynamoDB, on demand.
pub const DYNAMODB_PRICES: Prices = Prices {
    region: "us-east-1",
    since: "2024-11",
    million_write_units: 0.625,
    million_read_units: 0.125,
};

/// The seconds of a month of 30 days.
const MONTH_SECONDS: f64 = 30.0 * 24.0 * 60.0 * 60.0;

impl Prices {
    /// What units in a second cost in a month.
    pub fn dollars_a_month(&self, read_units: f64, write_units: f64) -> f64 {
        let dollars = read_units * self.million_read_units + write_units * self.million_write_units;
        dollars * MONTH_SECONDS / 1e6
    }
}
