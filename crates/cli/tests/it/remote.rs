//! The remote store: the suite of all stores, and random histories of the library.

mod conformance;
mod differences;
mod endpoint;
mod histories;
mod subjects;
mod webhooks;
