//! Sales of shops, and what is asked about them, the same for every database. Amounts are in cents, and
//! a million sales take two years.

/// A sale.
pub(crate) struct Sale {
    pub(crate) shop: String,
    pub(crate) channel: &'static str,
    pub(crate) cents: u64,
    /// When it was paid, in milliseconds.
    pub(crate) paid: u64,
}

const SHOPS: u64 = 100;
const CHANNELS: [&str; 4] = ["web", "app", "shop", "phone"];
/// 2023-01-01, in UTC.
const BEGIN_MS: u64 = 1_672_531_200_000;
const STEP_MS: u64 = 63_072;
/// The shop that is asked about.
pub(crate) const SHOP: &str = "shop 42";

/// Returns a sale.
pub(crate) fn sale(number: u32) -> Sale {
    let mixed = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    Sale {
        shop: format!("shop {}", mixed % SHOPS),
        channel: CHANNELS[(mixed / SHOPS) as usize % CHANNELS.len()],
        cents: 100 + mixed / 1_000 % 50_000,
        paid: BEGIN_MS + u64::from(number) * STEP_MS,
    }
}

/// What is asked.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Asked {
    /// What one shop took.
    Shop,
    /// What it took in each channel.
    Channels,
    /// The least and the greatest amount that it took.
    Extremes,
    /// What it took on each day of March 2023.
    Days,
    /// What all shops took in each month.
    Months,
}

/// A query.
#[derive(Clone, Copy)]
pub(crate) struct SaleQuery {
    pub(crate) text: &'static str,
    pub(crate) asked: Asked,
}

pub(crate) const QUERIES: [SaleQuery; 5] = [
    SaleQuery { text: "number and sum of a shop's sales", asked: Asked::Shop },
    SaleQuery { text: "the same for each of its channels", asked: Asked::Channels },
    SaleQuery { text: "their least and greatest amounts", asked: Asked::Extremes },
    SaleQuery { text: "sum of each day of a month, one shop", asked: Asked::Days },
    SaleQuery { text: "sum of each month, all shops", asked: Asked::Months },
];
