//! The application: the model, the route of the shopping list, and the page.

use keyloom_app::{Application, Parts};

use crate::{page, shopping_list};

/// The application, with its page at `/`.
pub fn application() -> Application {
    Application {
        name: "kitchen",
        about: "Menus, recipes and shopping lists over HTTP.",
        model: include_str!("../model.toml"),
        settings: &[],
        parts: |_| {
            let (routes, pages) = (vec![shopping_list::route()], page::files()?);
            Ok(Parts { routes, pages, ..Parts::default() })
        },
    }
}
