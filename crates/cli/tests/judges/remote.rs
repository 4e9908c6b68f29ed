//! The remote store over servers of others.

mod conformance;
mod differences;
mod subjects;
