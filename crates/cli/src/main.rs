//! The binary `keyloom`.

use std::process::ExitCode;

/// Responses make many small allocations, at which mimalloc is fast.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    keyloom_cli::run()
}
