//! The library as the project's README shows it, with the model that the README begins with.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use keyloom::Db;
use keyloom_store::Engine;
use keyloom_testkit::readme::blocks;
use serde::Serialize;
use serde_json::json;

use crate::process::Folder;

const README: &str = include_str!("../../../../../README.md");

/// What the example calls "any serde type".
#[derive(Serialize)]
struct Ingredient {
    category: String,
    name: String,
}

async fn program(directory: &Path) -> Result<(), Box<dyn Error>> {
    // The example.
    let store = Arc::new(Engine::open(directory, keyloom_store::Options::default())?);
    let db = Db::open(include_str!("model.toml"), store).await?;

    let pasta = db.create("category", &json!({ "name": "pasta", "shop_order": 2 })).await?;
    let noodles = Ingredient { category: pasta.id().into(), name: "noodles".into() };
    let noodles = db.create("ingredient", &noodles).await?; // any serde type

    let both = db.with_children("category", pasta.id(), Some("ingredient"), 20).await?;
    let page = db.list("category", "by_shop_order").limit(20).read().await?; // page.next: a cursor
    let found = db.find("ingredient", &[("name", "noodles".into())]).await?; // by a unique value
    db.update("ingredient", noodles.id(), &json!({ "name": "spaghetti" })).await?;
    db.delete("category", pasta.id()).await.unwrap_err(); // it has ingredients
    // Its end.
    assert_eq!(both.expect("the category").children, std::slice::from_ref(&noodles));
    assert_eq!((page.items, page.next), (vec![pasta], None));
    assert_eq!(found, Some(noodles));
    Ok(())
}

#[test]
fn the_library_works_as_the_readme_shows() {
    let folder = Folder::new("guide-program");
    super::run(async { program(Path::new(&folder.path("data"))).await.unwrap() });
}

#[test]
fn the_model_of_the_program_is_that_of_the_readme() {
    let shown = blocks(README).into_iter().find(|block| block.language == "toml").unwrap();
    assert_eq!(shown.text.trim(), include_str!("model.toml").trim());
}
