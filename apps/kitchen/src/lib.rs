//! Menus, recipes, ingredients and categories, served from a model, with a route in code for the shopping
//! list of a menu, a web page, and sample data.

mod amount;
mod application;
mod page;
mod sample;
mod shopping_list;

pub use application::application;
pub use sample::sample;
