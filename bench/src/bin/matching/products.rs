//! The products of a shop and the queries by ranges, the same for every database.
//!
//! Prices have nothing to do with when a product was added, except for the oldest, which are the only
//! expensive ones: the worst case for a list of the newest.

/// A product.
pub(crate) struct Product {
    /// Its name, which has nothing to do with when it was added.
    pub(crate) name: String,
    /// Its price.
    pub(crate) cents: u64,
    /// When it was added, in milliseconds.
    pub(crate) added: u64,
    pub(crate) brand: &'static str,
    /// One in a hundred has none.
    pub(crate) seller: Option<String>,
}

/// How many of the oldest products are expensive.
const EXPENSIVE: u32 = 20;

pub(crate) const BRANDS: [&str; 20] = [
    "acme", "bolt", "coil", "dune", "echo", "fern", "gale", "haze", "iris", "jade", "kite", "lark",
    "mint", "nova", "onyx", "pine", "quay", "reed", "sage", "tern",
];

/// Returns a product.
pub(crate) fn product(number: u32) -> Product {
    let mixed = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    Product {
        name: format!("{:08x}", mixed as u32),
        cents: if number < EXPENSIVE { 500_000 } else { mixed % 100_000 },
        added: 1_700_000_000_000 + u64::from(number) * 1_000,
        brand: BRANDS[(mixed / 100_000) as usize % BRANDS.len()],
        seller: (!(mixed / 7).is_multiple_of(100)).then(|| format!("seller {}", mixed % 1_000)),
    }
}

/// A query.
#[derive(Clone, Copy)]
pub(crate) struct ProductQuery {
    pub(crate) text: &'static str,
    /// The least and the greatest price.
    pub(crate) cents: Option<(u64, u64)>,
    pub(crate) brand: Option<&'static str>,
    /// Only products without a seller.
    pub(crate) is_unsold: bool,
    pub(crate) order: Order,
    pub(crate) result: Wanted,
}

/// The order of a page.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Order {
    /// The newest first.
    Newest,
    /// By name.
    Name,
}

/// What a query returns.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Wanted {
    /// The first 20.
    Page,
    /// How many match.
    Total,
    /// How many of each brand match; the sum is returned.
    Brands,
}

const fn query(text: &'static str, cents: (u64, u64), result: Wanted) -> ProductQuery {
    ProductQuery {
        text,
        cents: Some(cents),
        brand: None,
        is_unsold: false,
        order: Order::Newest,
        result,
    }
}

const TENTH: (u64, u64) = (10_000, 19_999);
const OLDEST: (u64, u64) = (400_000, 600_000);

pub(crate) const QUERIES: [ProductQuery; 11] = [
    query("a tenth of all prices: page", TENTH, Wanted::Page),
    ProductQuery { order: Order::Name, ..query("the same by name: page", TENTH, Wanted::Page) },
    query("a tenth of all prices: total", TENTH, Wanted::Total),
    query("a tenth of all prices: counts of each brand", TENTH, Wanted::Brands),
    query("prices of the oldest 20: page", OLDEST, Wanted::Page),
    ProductQuery { order: Order::Name, ..query("the same by name: page", OLDEST, Wanted::Page) },
    query("prices of the oldest 20: total", OLDEST, Wanted::Total),
    ProductQuery { brand: Some("kite"), ..query("a tenth, one brand: page", TENTH, Wanted::Page) },
    ProductQuery {
        brand: Some("kite"),
        ..query("a tenth, one brand: total", TENTH, Wanted::Total)
    },
    ProductQuery {
        text: "without a seller: page",
        cents: None,
        brand: None,
        is_unsold: true,
        order: Order::Newest,
        result: Wanted::Page,
    },
    ProductQuery {
        text: "without a seller: total",
        cents: None,
        brand: None,
        is_unsold: true,
        order: Order::Newest,
        result: Wanted::Total,
    },
];
