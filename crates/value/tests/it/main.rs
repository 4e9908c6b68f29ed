//! Tests of the public API, as properties over generated data where possible.

mod condition;
mod decimal;
mod display;
mod generators;
mod item;
mod key_bytes;
mod key_condition;
mod number;
mod path;
mod projection;
mod size;
mod update;
mod value;
