//! What the measurements of servers share: a client, and how programs are started.

mod http_client;
pub mod postgres;
mod process;

pub use http_client::HttpClient;
pub use process::{Running, folder, free_port, run};
