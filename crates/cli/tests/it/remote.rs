//! The remote store: the conformance suite, random histories of the library, and webhooks.

mod conformance;
mod differences;
mod endpoint;
mod histories;
mod subjects;
mod webhooks;
