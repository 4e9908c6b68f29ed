//! The application: its model with the route of the shopping list.

use keyloom_app::{Application, Parts};

use crate::shopping_list;

/// The application.
pub fn application() -> Application {
    Application {
        name: "kitchen",
        about: "Menus, recipes and shopping lists over HTTP.",
        model: include_str!("../model.toml"),
        settings: &[],
        parts: |_| Ok(Parts { routes: vec![shopping_list::route()], ..Parts::default() }),
    }
}
