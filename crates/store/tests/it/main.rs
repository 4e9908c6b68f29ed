//! Tests of the store through what it exports, and of what it rests on.
// Tests panic to report, in their helper functions too, where the lint's exemption does not reach.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod background_scrub;
mod backup;
mod canary;
mod columns;
mod compaction;
mod conformance;
mod copies;
mod crash;
mod damage;
mod directories;
mod equal_keys;
mod faults;
mod fill;
mod histories;
mod increments;
mod kill;
mod linearizability;
mod memory;
mod messages;
mod moments;
mod reach;
mod readers;
mod rebuild;
mod redb_crash;
mod regressions;
mod retention;
mod rich;
mod rig;
mod salvage;
mod scrub;
mod sets;
mod slices;
mod subjects;
mod tree_damage;
