//! The remote store when requests and responses are lost, refused or delayed.

mod faults;
mod faulty;
mod feed;
mod histories;
mod items;
mod stale_specs;
