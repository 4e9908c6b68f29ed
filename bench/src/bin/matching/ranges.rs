//! Products filtered by ranges, in Keyloom and elsewhere; and what `filters` cost writers.

use keyloom::{Db, Entry, Filter, Item, Value};
use keyloom_value::Number;
use pollster::block_on;

use crate::peers;
use crate::products::{BRANDS, Order, ProductQuery, QUERIES, Wanted, product};
use crate::study::{Study, Variant};
use crate::tasks::PAGE;

const MODEL: &str = r#"
[entity.product]
fields.name   = "text"
fields.price  = "number"
fields.added  = "time"
fields.brand  = "text"
fields.seller = "text?"
list.newest   = { order = "-added", facets = ["brand"] }
list.by_name  = { order = "name" }
"#;

const FILTERS: &str = "filters = [\"price\", \"seller\"]\n";
const FILTERS_AND_TIME: &str = "filters = [\"price\", \"seller\", \"added\"]\n";

/// Compares the queries with those of other databases, and prints what declaring filters costs.
pub(crate) fn report(products: u32, is_alone: bool) {
    let study = Study {
        what: "products",
        model: model(FILTERS),
        entry,
        queries: &QUERIES,
        text: |query| query.text,
        run,
        peers: &peers::OF_PRODUCTS,
    };
    study.compare(products, is_alone);
    let variants = [
        ("no filters", ""),
        ("`price`, `seller`", FILTERS),
        ("`price`, `seller` and `added`", FILTERS_AND_TIME),
    ];
    let variants = variants.map(|(name, filters)| Variant { name, model: model(filters) });
    study.written(products / 10, &variants);
}

fn model(filters: &str) -> String {
    MODEL.replace("fields.name", &format!("{filters}fields.name"))
}

fn run(db: &Db, query: &ProductQuery) -> u64 {
    let list = match query.order {
        Order::Newest => "newest",
        Order::Name => "by_name",
    };
    let mut list = db.list("product", list).limit(PAGE as u32);
    if let Some((least, greatest)) = query.cents {
        list = list.at_least("price", price(least)).at_most("price", price(greatest));
    }
    if let Some(brand) = query.brand {
        list = list.facet("brand", [brand]);
    }
    if query.is_unsold {
        list = list.filter(Filter::present("seller").not());
    }
    match query.result {
        Wanted::Page => block_on(list.read()).expect("a page is read").items.len() as u64,
        Wanted::Total => block_on(list.total()).expect("it is counted").count,
        Wanted::Brands => {
            let list = list.limit(BRANDS.len() as u32);
            let page = block_on(list.facet_values("brand")).expect("they are counted");
            page.counts.iter().map(|of| of.count).sum()
        }
    }
}

fn price(cents: u64) -> Value {
    Value::N(Number::from_parts(i128::from(cents), -2).expect("a price is short"))
}

fn entry(number: u32) -> Entry {
    let product = product(number);
    let mut fields = Item::from([
        ("name", Value::from(product.name)),
        ("price", price(product.cents)),
        ("added", Value::from(product.added)),
        ("brand", Value::from(product.brand)),
    ]);
    if let Some(seller) = product.seller {
        fields.insert("seller", seller);
    }
    let id = format!("{number:010}");
    Entry { entity: "product".to_owned(), tenant: None, id, fields }
}
