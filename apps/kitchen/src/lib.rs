//! Menus, recipes, ingredients and categories, served by their model, with the shopping list of a
//! menu, which only code can make, a page for a browser, and sample data.

mod amount;
mod application;
mod page;
mod sample;
mod shopping_list;

pub use application::application;
pub use sample::sample;
