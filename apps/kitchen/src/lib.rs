//! Menus, recipes, ingredients and categories, served by their model, with the shopping list of a
//! menu, which only code can make, and sample data.

mod amount;
mod application;
mod sample;
mod shopping_list;

pub use application::application;
pub use sample::sample;
