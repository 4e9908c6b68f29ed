//! Tests of the program with real requests, and of its sample data.

mod page;
mod readme;
mod samples;
mod services;
