//! Menus, recipes, ingredients and categories, served by their model, and the shopping list of a
//! menu, which only code can make.

mod amount;
mod shopping_list;

use std::process::ExitCode;

use keyloom_app::{Application, Parts};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let application = Application {
        name: "kitchen",
        about: "Menus, recipes and shopping lists over HTTP.",
        model: include_str!("../model.toml"),
        settings: &[],
        parts: |_| Ok(Parts { routes: vec![shopping_list::route()], ..Parts::default() }),
    };
    application.run()
}
