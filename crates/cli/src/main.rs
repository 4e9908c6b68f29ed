//! The one binary: `keyloom`.

use std::process::ExitCode;

/// Answers are made of many small pieces of memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    keyloom_cli::run()
}
