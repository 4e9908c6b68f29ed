//! The files of the web page, embedded in the program.

use keyloom_app::pages;
use keyloom_server::OwnPage;

const FILES: [(&str, &str); 16] = [
    ("index.html", include_str!("page/index.html")),
    ("base.css", include_str!("../../page/base.css")),
    ("page.css", include_str!("page/page.css")),
    ("api.js", include_str!("../../page/api.js")),
    ("client.js", include_str!("page/client.js")),
    ("address.js", include_str!("page/address.js")),
    ("amounts.js", include_str!("page/amounts.js")),
    ("elements.js", include_str!("page/elements.js")),
    ("first_steps.js", include_str!("page/first_steps.js")),
    ("ingredients.js", include_str!("page/ingredients.js")),
    ("menu.js", include_str!("page/menu.js")),
    ("menus.js", include_str!("page/menus.js")),
    ("page.js", include_str!("page/page.js")),
    ("recipe_form.js", include_str!("page/recipe_form.js")),
    ("recipes.js", include_str!("page/recipes.js")),
    ("shopping_list.js", include_str!("page/shopping_list.js")),
];

/// The files, served without authentication.
pub(crate) fn files() -> Result<Vec<OwnPage>, String> {
    pages::embedded(&FILES)
}
