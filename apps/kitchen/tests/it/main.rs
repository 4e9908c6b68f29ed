//! Tests of the application as a program, with real requests.

mod readme;
