//! Code that the server benchmarks share: an HTTP client, and server processes.

mod http_client;
pub mod pocketbase;
pub mod postgres;
mod process;

pub use http_client::HttpClient;
pub use process::{Running, build_keyloom, folder, free_port, other_build, run};
