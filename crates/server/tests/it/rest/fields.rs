//! `fields`: only some fields of the entities of a response.

use serde_json::{Value, json};

use super::ask::Ask;
use super::served::Served;

const SHOP: &str = r#"
[entity.seller]
id = "given"
fields.name  = "text"
fields.since = "time = now"

[entity.product]
id = "given"
fields.name   = "text"
fields.price  = "number"
fields.note   = "text?"
fields.color  = "text? = 'red'"
fields.seller = "ref seller cascade"
unique = ["name"]
list.all = { path = "/products", order = "price" }

[entity.review]
parent = "product"
fields.text  = "text"
fields.stars = "int"

[entity.form]
id = "given"
fields.fields = "text"
fields.title  = "text"
list.all = { path = "/forms", by = "fields" }
"#;

fn served() -> Served {
    let served = Served::open(SHOP);
    let make = |path: &str, document: Value| {
        served.ask(&Ask::post(path, &document)).expect_json(201);
    };
    make("/sellers", json!({"id": "ann", "name": "Ann", "since": "2024-01-01T00:00:00Z"}));
    let tea = json!({"id": "tea", "name": "Tea", "price": 4.5, "color": null, "seller": "ann"});
    make("/products", tea);
    make("/reviews", json!({"product": "tea", "text": "Good.", "stars": 5}));
    make("/forms", json!({"id": "f", "fields": "a", "title": "A"}));
    served
}

/// The members of an entity, without the version, which must be among them.
#[track_caller]
fn members(entity: &Value) -> Value {
    let mut entity = entity.clone();
    let version = entity.as_object_mut().expect("an entity").remove("version");
    assert!(version.is_some_and(|version| version.is_string()), "{entity}");
    entity
}

#[test]
fn only_the_named_fields_are_returned_everywhere() {
    let served = served();
    let get = |path: &str| served.ask(&Ask::get(path)).expect_json(200);
    let expected = json!({"id": "tea", "name": "Tea", "price": 4.5});
    assert_eq!(members(&get("/products/tea?fields=name,price")), expected);
    assert_eq!(members(&get("/products/tea?$fields=price,name,price")), expected);
    for path in ["/products?fields=name,price", "/products?name=Tea&fields=price,name,id"] {
        assert_eq!(members(&get(path)["items"][0]), expected, "{path}");
    }
    let only_id = json!({"id": "tea"});
    for names in ["id", "version", "id,version", "note"] {
        assert_eq!(members(&get(&format!("/products/tea?fields={names}"))), only_id, "{names}");
    }
    // An absent field with a default is null, if it is requested.
    let colored = json!({"id": "tea", "color": null});
    assert_eq!(members(&get("/products/tea?fields=color")), colored);
    let children = get("/products/tea/with/reviews?fields=stars");
    assert_eq!(children["items"][0]["stars"], 5);
    assert_eq!(children["items"][0].get("text"), None);
    // The whole page is as it was.
    let page = get("/products?fields=name&limit=1&explain=true");
    assert!(page["explain"].is_object());
}

#[test]
fn fields_of_related_entities_are_named_by_their_path() {
    let served = served();
    let get = |path: &str| served.ask(&Ask::get(path)).expect_json(200);
    let tree = get("/products/tea?with=seller,reviews&fields=name,seller.name,reviews.stars");
    assert_eq!(tree.get("price"), None);
    assert_eq!(members(&tree["with"]["seller"]), json!({"id": "ann", "name": "Ann"}));
    let review = &tree["with"]["reviews"]["items"][0];
    assert_eq!((&review["stars"], review.get("text")), (&json!(5), None));
    // An entity that no field is named of is whole.
    let tree = get("/products?with=seller,reviews.product&fields=reviews.product.name");
    let product = &tree["items"][0];
    assert_eq!(
        (&product["price"], &product["with"]["seller"]["name"]),
        (&json!(4.5), &json!("Ann"))
    );
    let review = &product["with"]["reviews"]["items"][0];
    assert_eq!(review["text"], "Good.");
    assert_eq!(members(&review["with"]["product"]), json!({"id": "tea", "name": "Tea"}));
    // The reference itself is a field too.
    let tree = get("/products/tea?with=seller&fields=seller,seller.id");
    assert_eq!((&tree["seller"], tree.get("name")), (&json!("ann"), None));
    assert_eq!(members(&tree["with"]["seller"]), json!({"id": "ann"}));
}

#[test]
fn versions_work_as_without_it() {
    let served = served();
    let part = served.ask(&Ask::get("/products/tea?fields=name"));
    let tag = part.tag();
    assert_eq!(tag, served.ask(&Ask::get("/products/tea")).tag());
    let again = Ask::get("/products/tea?fields=name").header("If-None-Match", &tag);
    assert_eq!(served.ask(&again).status, 304);
    let change = Ask::patch("/products/tea", &json!({"price": 5})).header("If-Match", &tag);
    served.ask(&change).expect_json(200);
    assert_eq!(served.ask(&change).status, 412);
    assert_eq!(served.ask(&again).status, 200);
}

#[test]
fn other_names_are_refused_with_the_nearest() {
    let served = served();
    let many = vec!["name"; 200].join(",");
    served.ask(&Ask::get(&format!("/products/tea?fields={many}"))).expect_json(200);
    let too_many = format!("fields={many},name");
    let long = format!("fields={}", "x".repeat(3000));
    for (query, expected) in [
        ("fields=", "`fields` is empty"),
        ("fields=,", "has no field ``"),
        ("fields=name,", "has no field ``"),
        ("fields=nam", "did you mean `name`?"),
        ("fields=Name", "has no field `Name`"),
        ("fields=name%20", "did you mean `name`?"),
        ("fields=*", "has no field `*`"),
        ("fields=seller.name", "`seller` in `fields` is not in `with`"),
        ("fields=name.", "`name` in `fields` is not in `with`"),
        ("fields=seller.&with=seller", "`seller` in `fields` is not in `with`"),
        ("fields=seller.nme&with=seller", "did you mean `name`?"),
        ("fields=seller.seller.name&with=seller", "`seller` in `fields` is not in `with`"),
        ("fields=name&fields=price", "`fields` is given twice"),
        ("fields=name&$fields=price", "`fields` is given twice"),
        ("field=name", "did you mean `fields`?"),
        (&too_many, "request at most 200"),
        (&long, "has no field `xxx"),
    ] {
        for path in ["/products/tea", "/products"] {
            let asked = served.ask(&Ask::get(&format!("{path}?{query}")));
            assert_eq!(asked.outcome(), "400 bad-parameter", "{path}?{query}");
            let detail = asked.json()["detail"].as_str().expect("a detail").to_owned();
            assert!(detail.contains(expected), "{path}?{query}: {detail}");
            assert!(detail.len() < 500, "{detail}");
        }
    }
    let deletion = served.ask(&Ask::delete("/products/tea?fields=name"));
    assert_eq!(deletion.outcome(), "400 bad-parameter");
}

#[test]
fn a_field_of_this_name_hides_the_parameter() {
    let served = served();
    let get = |path: &str| served.ask(&Ask::get(path)).expect_json(200);
    assert_eq!(get("/forms?fields=b")["items"], json!([]));
    assert_eq!(get("/forms?fields=a")["items"][0]["title"], "A");
    let part = get("/forms?fields=a&$fields=fields");
    assert_eq!(members(&part["items"][0]), json!({"id": "f", "fields": "a"}));
    assert_eq!(members(&get("/forms/f?$fields=title")), json!({"id": "f", "title": "A"}));
    let asked = served.ask(&Ask::get("/forms/f?fields=title"));
    assert_eq!(asked.outcome(), "400 bad-parameter");
}

#[test]
fn the_parameter_and_its_responses_are_described() {
    let served = served();
    let described = served.ask(&Ask::get("/openapi.json")).expect_json(200);
    let parameter = |path: &str, name: &str| {
        let parameters = described["paths"][path]["get"]["parameters"].as_array().cloned();
        parameters.expect("parameters").into_iter().find(|parameter| parameter["name"] == name)
    };
    for path in ["/products", "/products/{id}", "/products/{id}/with/reviews"] {
        let fields = parameter(path, "fields").expect("the parameter");
        assert_eq!(fields["explode"], false, "{path}");
    }
    assert!(parameter("/forms", "$fields").is_some());
    let part = &described["components"]["schemas"]["product.part"];
    assert_eq!(part["required"], json!(["id", "version"]));
    assert!(part["properties"]["price"].is_object());
}
