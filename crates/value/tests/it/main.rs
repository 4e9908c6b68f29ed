//! What the crate promises, as laws over generated data where there is a law.

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
