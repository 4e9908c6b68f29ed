//! The remote store over third-party servers.

mod conformance;
mod differences;
mod subjects;
