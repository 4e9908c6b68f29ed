//! Menus, recipes, ingredients and categories, served by their model, with the shopping list of a
//! menu, which only code can make.

mod amount;
mod application;
mod shopping_list;

pub use application::application;
