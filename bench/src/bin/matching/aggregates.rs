//! Sums, extremes and windows of sales, in Keyloom and elsewhere; and what they cost writers.

use keyloom::{Counted, Counts, Db, Entry, Item, Value};
use pollster::block_on;

use crate::peers;
use crate::sales::{Asked, QUERIES, SHOP, SaleQuery, sale};
use crate::study::{Study, Variant};

const MARCH: &str = "2023-03-01..2023-04-01";

const SALES: &str = r#"
[entity.sale]
fields.shop    = "text"
fields.channel = "text"
fields.cents   = "int"
fields.paid    = "time"
list.of_shop   = { by = "shop", order = "-paid" }
"#;
const COUNT: &str = "count.of_shop = { by = \"shop\", split = \"channel\" }\n";
const SUM: &str = "count.of_shop = { by = \"shop\", split = \"channel\", sum = \"cents\" }\n";
const EXTREMES: &str = "count.of_shop = { by = \"shop\", split = \"channel\", sum = \"cents\", \
                        min = \"cents\", max = \"cents\" }\n";
const DAYS: &str =
    "count.by_day = { by = \"shop\", window = \"day\", of = \"paid\", sum = \"cents\" }\n";
const MONTHS: &str = "count.by_month = { window = \"month\", of = \"paid\", sum = \"cents\" }\n";

pub(crate) fn report(sales: u32, is_alone: bool) {
    let study = Study {
        what: "sales",
        model: [SALES, EXTREMES, DAYS, MONTHS].concat(),
        entry,
        queries: &QUERIES,
        text: |query| query.text,
        run,
        peers: &peers::OF_SALES,
    };
    study.compare(sales, is_alone);
    let variants = [
        ("none", SALES.to_owned()),
        ("a count by channel", [SALES, COUNT].concat()),
        ("with its sum", [SALES, SUM].concat()),
        ("with `min` and `max`", [SALES, EXTREMES].concat()),
        ("with days and months", [SALES, EXTREMES, DAYS, MONTHS].concat()),
    ];
    study.written(sales / 10, &variants.map(|(name, model)| Variant { name, model }));
}

fn run(db: &Db, query: &SaleQuery) -> u64 {
    let of_shop = || db.count("sale", "of_shop").by("shop", SHOP);
    match query.asked {
        Asked::Shop => cents(&block_on(of_shop().whole()).expect("it is read").sums),
        Asked::Channels => sum(&block_on(of_shop().split("channel").read()).expect("it is read")),
        Asked::Extremes => {
            let Counted { min, max, .. } = block_on(of_shop().whole()).expect("it is read");
            cents(&min) + cents(&max)
        }
        Asked::Days => {
            let days = db.count("sale", "by_day").by("shop", SHOP).windows(MARCH);
            sum(&block_on(days.read()).expect("it is read"))
        }
        Asked::Months => {
            let months = db.count("sale", "by_month").windows("..");
            sum(&block_on(months.read()).expect("it is read"))
        }
    }
}

fn sum(page: &Counts) -> u64 {
    page.items.iter().map(|of| cents(&of.sums)).sum()
}

fn cents(values: &Item) -> u64 {
    let cents = values.get("cents").and_then(Value::as_n).and_then(|cents| cents.to_i64());
    cents.and_then(|cents| u64::try_from(cents).ok()).unwrap_or_default()
}

fn entry(number: u32) -> Entry {
    let sale = sale(number);
    let fields = Item::from([
        ("shop", Value::from(sale.shop)),
        ("channel", Value::from(sale.channel)),
        ("cents", Value::from(sale.cents)),
        ("paid", Value::from(sale.paid)),
    ]);
    Entry { entity: "sale".to_owned(), tenant: None, id: format!("{number:010}"), fields }
}
