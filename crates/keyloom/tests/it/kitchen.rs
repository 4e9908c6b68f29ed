//! The model of the kitchen, used through the library as an application would.

use keyloom::{Change, Error};
use keyloom_value::Value;
use pollster::block_on;
use serde_json::json;

use crate::rig::{each_store, open};

const MODEL: &str = include_str!("../../../../apps/kitchen/model.toml");

#[test]
fn the_library_maintains_the_model_of_the_kitchen() {
    each_store(|store| {
        block_on(async {
            let db = open(MODEL, store).await;
            let pasta =
                db.create("category", &json!({"name": "pasta", "shop_order": 2})).await.unwrap();
            let veg = db
                .create("category", &json!({"name": "vegetables", "shop_order": 1}))
                .await
                .unwrap();
            let tomato = db
                .create("ingredient", &json!({"name": "tomato", "category": pasta.id()}))
                .await
                .unwrap();
            let taken =
                db.create("ingredient", &json!({"name": "tomato", "category": veg.id()})).await;
            assert!(matches!(taken, Err(Error::UniqueViolation { .. })), "{taken:?}");
            let moved =
                db.update("ingredient", tomato.id(), &json!({"category": veg.id()})).await.unwrap();
            assert_ne!(moved.version(), tomato.version());
            let found = db
                .with_children("category", veg.id(), Some("ingredient"), 10)
                .await
                .unwrap()
                .unwrap();
            assert_eq!(found.children, std::slice::from_ref(&moved));
            let page = db.list("category", "by_shop_order").read().await.unwrap();
            assert_eq!(page.items, [veg.clone(), pasta.clone()]);
            let page =
                db.list("ingredient", "by_category").by("category", veg.id()).read().await.unwrap();
            assert_eq!(page.items, std::slice::from_ref(&moved));
            let found = db.find("ingredient", &[("name", Value::from("tomato"))]).await.unwrap();
            assert_eq!(found, Some(moved.clone()));
            let refused = db.delete("category", veg.id()).await;
            assert!(matches!(refused, Err(Error::InUse { .. })), "{refused:?}");
            db.delete("category", pasta.id()).await.unwrap();
            let recipe = db.create("recipe", &json!({"name": "sauce"})).await.unwrap();
            for position in 0..60 {
                let need = json!({"recipe": recipe.id(), "ingredient": tomato.id(), "position": position, "amount": 2.5});
                db.create("recipe_ingredient", &need).await.unwrap();
            }
            let refused = db.delete("ingredient", tomato.id()).await;
            assert!(matches!(refused, Err(Error::InUse { .. })), "{refused:?}");
            db.delete("recipe", recipe.id()).await.unwrap();
            let uses = db.list("recipe_ingredient", "by_ingredient").by("ingredient", tomato.id());
            assert!(uses.read().await.unwrap().items.is_empty());
            db.transact(vec![
                Change::delete("ingredient", tomato.id()),
                Change::delete("category", veg.id()),
            ])
            .await
            .unwrap();
            assert_eq!(db.get("category", veg.id()).await.unwrap(), None);
        });
    });
}
