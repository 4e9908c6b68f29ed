//! The page of a shop: ranges and presence beside facets and tags, with totals and counts under them.

use serde_json::{Value as Json, json};

use super::ask::Ask;
use super::served::Served;

const SHOP: &str = r#"
[entity.product]
id = "given"
filters = ["price", "added", "seller", "weight"]
fields.price  = "number 0.."
fields.brand  = "text?"
fields.seller = "text?"
fields.weight = "int?"
fields.added  = "time"
fields.tags   = "tags = {}"

[entity.product.list.all]
path   = "/products"
order  = "-added"
facets = ["brand", "seller"]

[entity.product.list.by_price]
path   = "/cheapest"
order  = "price"
facets = ["brand"]
"#;

/// Products 0 to 39: prices in steps of 0.5, every fourth without a brand, every fifth without a seller.
fn served() -> Served {
    let served = Served::open(SHOP);
    for number in 0..40 {
        let brand = ["acme", "bolt", "coil"][number as usize % 3];
        let mut product = json!({
            "id": format!("p{number:02}"),
            "price": f64::from(number) / 2.0,
            "brand": brand,
            "added": format!("2024-01-{:02}T00:00:00Z", 1 + number % 28),
            "tags": if number % 2 == 0 { json!({"sale": "yes"}) } else { json!({}) },
        });
        if number % 4 == 0 {
            product["brand"] = Json::Null;
        }
        if number % 5 != 0 {
            product["seller"] = json!(format!("s{}", number % 2));
            product["weight"] = json!(number * 100);
        }
        served.ask(&Ask::post("/products", &product)).expect_json(201);
    }
    served
}

fn get(served: &Served, path: &str) -> Json {
    served.ask(&Ask::get(path)).expect_json(200)
}

fn ids(page: &Json) -> Vec<usize> {
    let items = page["items"].as_array().expect("a page");
    let id = |item: &Json| item["id"].as_str().expect("an id")[1..].parse().expect("a number");
    items.iter().map(id).collect()
}

/// The ids that a naive filter finds, in ascending order.
fn numbers(passes: impl Fn(usize) -> bool) -> Vec<usize> {
    (0..40).filter(|number| passes(*number)).collect()
}

fn sorted(mut ids: Vec<usize>) -> Vec<usize> {
    ids.sort_unstable();
    ids
}

#[test]
fn a_page_of_a_shop_has_ranges_totals_and_counts() {
    let served = served();
    let cheap = |number: usize| (5.0..=10.0).contains(&(number as f64 / 2.0));
    let page = get(&served, "/products?price=%3E=5&price=%3C=10&total=true&limit=100");
    assert_eq!(sorted(ids(&page)), numbers(cheap));
    assert_eq!(page["total"], numbers(cheap).len());

    let page = get(&served, "/products?price=%3E5&price=%3C10&brand=bolt&tag=sale:yes&total=true");
    let fits =
        |n: usize| n > 10 && n < 20 && n % 3 == 1 && !n.is_multiple_of(4) && n.is_multiple_of(2);
    assert_eq!(sorted(ids(&page)), numbers(fits));
    assert_eq!(page["total"], numbers(fits).len());

    let counts = get(&served, "/products/lists/all/facets/brand?price=%3C=10&brand=bolt");
    let of = |brand: usize| numbers(|n| n <= 20 && n % 4 != 0 && n % 3 == brand).len();
    let expected = json!([
        {"count": of(0), "value": "acme"}, {"count": of(1), "value": "bolt"},
        {"count": of(2), "value": "coil"},
    ]);
    assert_eq!(counts["items"], expected);
    let keys = get(&served, "/products/lists/all/tags?price=%3C=10");
    assert_eq!(
        keys["items"],
        json!([{"count": numbers(|n| n <= 20 && n % 2 == 0).len(), "key": "sale"}])
    );
    let page = get(&served, "/products?price=12.5&total=true");
    assert_eq!((ids(&page), &page["total"]), (vec![25], &json!(1)));
    let page = get(&served, "/products?added=%3C2024-01-03T00:00:00Z&weight=%3E=2000&total=true");
    assert_eq!(sorted(ids(&page)), numbers(|n| n % 28 < 2 && n >= 20 && n % 5 != 0));
}

#[test]
fn a_list_in_the_order_of_the_range_has_a_total() {
    let served = served();
    let page = get(&served, "/cheapest?price=%3E=3&price=%3C7&total=true&limit=3");
    assert_eq!((ids(&page), &page["total"]), (vec![6, 7, 8], &json!(8)));
    let next = page["next"].as_str().expect("a cursor");
    let path = format!("/cheapest?price=%3E=3&price=%3C7&total=true&limit=3&cursor={next}");
    let page = get(&served, &path);
    assert_eq!((ids(&page), &page["total"]), (vec![9, 10, 11], &json!(8)));
    // Another field filters this order.
    let page = get(&served, "/cheapest?added=%3E=2024-01-27T00:00:00Z&total=true");
    assert_eq!((ids(&page), &page["total"]), (vec![26, 27], &json!(2)));
}

#[test]
fn entities_without_a_value_are_found() {
    let served = served();
    let page = get(&served, "/products?seller=!*&total=true&limit=100");
    assert_eq!(sorted(ids(&page)), numbers(|n| n % 5 == 0));
    assert_eq!(page["total"], 8);
    let page = get(&served, "/products?seller=*&weight=!*&total=true");
    assert_eq!((ids(&page), &page["total"]), (vec![], &json!(0)));
    let page = get(&served, "/products?seller=!*&price=%3E=10&limit=100");
    assert_eq!(sorted(ids(&page)), numbers(|n| n % 5 == 0 && n >= 20));
    let page = get(&served, "/products?seller=s1&seller=s0&limit=100&total=true");
    assert_eq!(page["total"], 32);
    // A value that happens to be a star.
    let star = json!({"id": "p40", "price": 1, "seller": "*", "added": "2024-02-01T00:00:00Z"});
    served.ask(&Ask::post("/products", &star)).expect_json(201);
    assert_eq!(ids(&get(&served, "/products?seller==*")), [40]);
}

#[test]
fn what_cannot_be_asked_is_said() {
    let served = served();
    let said = |path: &str| {
        let problem = served.ask(&Ask::get(path)).expect_json(400);
        problem["detail"].as_str().expect("a sentence").to_owned()
    };
    assert!(said("/products?brand=!*").contains("declare `brand` in `filters`"));
    assert!(said("/products?seller=").contains("`seller=!*` finds entities without one"));
    assert!(said("/products?brand=%3E=a").contains("Only `added`, `price` and `weight` take"));
    assert!(said("/products?seller=%3E=a").contains("not a range"));
    assert!(said("/products?price=cheap").contains("`price` is of the type number"));
}
