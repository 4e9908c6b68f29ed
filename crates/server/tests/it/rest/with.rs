//! Including related entities: references and children, nested.

use serde_json::{Value, json};

use super::ask::Ask;
use super::served::{Served, app};

/// Creates a menu with a dish whose recipe needs two things. Returns its path.
fn menu(served: &Served) -> String {
    let make = |path: &str, document: Value| {
        let made = served.ask(&Ask::post(path, &document)).expect_json(201);
        made["id"].as_str().unwrap().to_owned()
    };
    let shelf = make("/categories", json!({"name": "shelf", "shop_order": 1}));
    let recipe = make("/recipes", json!({"name": "soup"}));
    for (name, position) in [("salt", 1), ("water", 2)] {
        let thing = make("/ingredients", json!({"name": name, "category": shelf}));
        let need =
            json!({"recipe": recipe, "ingredient": thing, "amount": 1, "position": position});
        make("/recipe-ingredients", need);
    }
    let menu = make("/menus", json!({"name": "week"}));
    make("/menu-items", json!({"menu": menu, "recipe": recipe}));
    format!("/menus/{menu}")
}

#[test]
fn a_menu_includes_nested_relations_down_to_the_category() {
    let served = Served::open(&app("kitchen"));
    let menu = menu(&served);
    let with = "menu_items.recipe.recipe_ingredients.ingredient.category,menu_items.menu";
    let tree = served.ask(&Ask::get(&format!("{menu}?with={with}"))).expect_json(200);
    let dish = &tree["with"]["menu_items"]["items"][0];
    assert_eq!(dish["with"]["menu"]["id"], tree["id"]);
    let needs = &dish["with"]["recipe"]["with"]["recipe_ingredients"]["items"];
    let named = |need: &Value| {
        let thing = &need["with"]["ingredient"];
        (thing["name"].clone(), thing["with"]["category"]["name"].clone())
    };
    let named: Vec<_> = needs.as_array().unwrap().iter().map(named).collect();
    let shelf = json!("shelf");
    assert_eq!(named, [(json!("salt"), shelf.clone()), (json!("water"), shelf)]);
}

#[test]
fn lists_and_pages_of_children_include_relations_too() {
    let served = Served::open(&app("kitchen"));
    let menu = menu(&served);
    for path in [format!("{menu}/items"), format!("{menu}/with/menu_items")] {
        let page = served.ask(&Ask::get(&format!("{path}?with=recipe"))).expect_json(200);
        assert_eq!(page["items"][0]["with"]["recipe"]["name"], "soup", "{path}");
    }
    let found = served.ask(&Ask::get("/ingredients?name=salt&with=category")).expect_json(200);
    assert_eq!(found["items"][0]["with"]["category"]["name"], "shelf");
}

#[test]
fn included_children_can_be_paged() {
    let served = Served::open(&app("kitchen"));
    let menu = menu(&served);
    let recipe = served.ask(&Ask::get(&format!("{menu}?with=menu_items"))).expect_json(200);
    let recipe = recipe["with"]["menu_items"]["items"][0]["recipe"].as_str().unwrap().to_owned();
    let path = format!("/recipes/{recipe}?with=recipe_ingredients&limit=1");
    let first = served.ask(&Ask::get(&path)).expect_json(200);
    let branch = &first["with"]["recipe_ingredients"];
    assert_eq!(branch["items"][0]["position"], 1);
    let next = branch["next"].as_str().unwrap();
    let path = format!("/recipes/{recipe}/with/recipe_ingredients?cursor={next}&limit=1");
    let rest = served.ask(&Ask::get(&path)).expect_json(200);
    assert_eq!((&rest["items"][0]["position"], rest.get("next")), (&json!(2), None));
}

#[test]
fn the_limit_of_related_entities_is_described_where_there_are_some() {
    let served = Served::open(&app("kitchen"));
    let menu = menu(&served);
    // A client that always sends a limit need not know whether anything is included.
    served.ask(&Ask::get(&format!("{menu}?limit=5"))).expect_json(200);
    let asked = served.ask(&Ask::get(&format!("{menu}?limit=0")));
    assert_eq!(asked.outcome(), "400 bad-parameter");
    let names = |served: &Served, path: &str| {
        let document = served.ask(&Ask::get("/openapi.json")).expect_json(200);
        let parameters = document["paths"][path]["get"]["parameters"].clone();
        let names = parameters.as_array().unwrap().iter().map(|parameter| &parameter["name"]);
        names.map(|name| name.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let described = names(&served, "/menus/{id}");
    assert!(described.contains(&"limit".to_owned()), "{described:?}");
    let alone = Served::open(&app("tasks"));
    assert!(!names(&alone, "/tasks/{id}").contains(&"limit".to_owned()));
    let asked = alone.ask(&Ask::get("/tasks/none?limit=5"));
    assert_eq!(asked.outcome(), "400 bad-parameter");
}

#[test]
fn unknown_relations_are_rejected() {
    let served = Served::open(&app("kitchen"));
    let menu = menu(&served);
    for with in ["dishes", "menu_items.", "menu_items.recipes", "menu", ",", "name"] {
        let asked = served.ask(&Ask::get(&format!("{menu}?with={with}")));
        assert_eq!(asked.outcome(), "400 bad-parameter", "{with}");
    }
    let deep = "menu_items.menu.".repeat(5) + "menu_items";
    assert_eq!(served.ask(&Ask::get(&format!("{menu}?with={deep}"))).status, 400);
    for limit in ["0", "-1", "1001", "1000000000", "x"] {
        let path = format!("{menu}?with=menu_items&limit={limit}");
        assert_eq!(served.ask(&Ask::get(&path)).outcome(), "400 bad-parameter", "{limit}");
    }
    let nowhere = served.ask(&Ask::get("/menus/none?with=menu_items"));
    assert_eq!(nowhere.outcome(), "404 not-found");
}
