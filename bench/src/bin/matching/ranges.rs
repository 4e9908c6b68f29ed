//! Products filtered by ranges, in Keyloom and elsewhere; and what `filters` cost writers.

use std::time::Instant;

use keyloom::{Db, Entry, Filter, Item, Value};
use keyloom_value::Number;
use pollster::block_on;

use crate::kept::Kept;
use crate::measured::{Measured, median};
use crate::products::{BRANDS, Order, ProductQuery, QUERIES, Wanted, product};
use crate::tasks::PAGE;
use crate::{compare, peers};

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

/// Importing threads.
const SENDERS: u32 = 16;

/// Compares the queries with those of other databases, and prints what declaring filters costs.
pub(crate) fn report(products: u32, is_alone: bool) {
    let mut measured = vec![("Keyloom", measure(products))];
    for (name, peer) in peers::OF_PRODUCTS.into_iter().filter(|_| !is_alone) {
        eprintln!("{name}: {products} products are loaded");
        match peer(products) {
            Ok(outcome) => measured.push((name, outcome)),
            Err(why) => eprintln!("{name} could not be measured: {why}"),
        }
    }
    println!("{products} products:\n");
    compare(products, &measured, &QUERIES.map(|query| query.text));
    written(products / 10);
}

fn measure(products: u32) -> Measured {
    let (kept, load) = load(products, FILTERS);
    let bytes = kept.settle();
    let queries = QUERIES.iter().map(|query| {
        let found = run(&kept.db, query);
        (found, median(|| run(&kept.db, query)))
    });
    let queries = queries.collect();
    Measured { load, bytes, queries }
}

fn load(products: u32, filters: &str) -> (Kept, std::time::Duration) {
    let kept = Kept::open(&MODEL.replace("fields.name", &format!("{filters}fields.name")));
    let began = Instant::now();
    kept.import(products, SENDERS, entry);
    let load = began.elapsed();
    (kept, load)
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

/// Prints the speed of imports and the size of the data with more and more filters.
fn written(products: u32) {
    println!("| filters | products/s | bytes a product |\n|---|---:|---:|");
    for (name, filters) in [
        ("none", ""),
        ("`price`, `seller`", FILTERS),
        ("`price`, `seller` and `added`", FILTERS_AND_TIME),
    ] {
        let (kept, load) = load(products, filters);
        let rate = f64::from(products) / load.as_secs_f64();
        println!("| {name} | {rate:.0} | {} |", kept.settle() / u64::from(products));
    }
    println!();
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
