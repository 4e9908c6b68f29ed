//! Contacts, how to reach them, and the searches for them, served by their model.

use std::process::ExitCode;

use keyloom_cli::{Application, Parts};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let application = Application {
        name: "oncall",
        about: "Finds whoever is on call: contacts, searches and attempts over HTTP.",
        model: include_str!("../model.toml"),
        settings: &[],
        parts: |_| Ok(Parts::default()),
    };
    application.run()
}
