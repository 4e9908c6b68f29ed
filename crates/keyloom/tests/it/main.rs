//! Documents as JSON and as people's own types; databases on every store.
// Tests panic to report, in their helper functions too, where the lint's exemption does not reach.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cascades;
mod cases;
mod contention;
mod contents;
mod counting;
mod crash;
mod crash_model;
mod create_reads;
mod damage;
mod damage_random;
mod dropped;
mod entries;
mod errors;
mod events;
mod evolution;
mod evolutions;
mod facet_bounds;
mod heartbeats;
mod histories;
mod hostile;
mod interleavings;
mod jobs;
mod json;
mod kitchen;
mod large_counts;
mod large_deletions;
mod large_openings;
mod large_random;
mod last_pages;
mod matching;
mod matching_kept;
mod once;
mod once_random;
mod operations;
mod pages;
mod parts;
mod power;
// The generators of the model's own tests: one set of entities and documents for both crates.
#[path = "../../../model/tests/it/random_entity.rs"]
mod random_entity;
mod reference_lists;
mod regressions;
mod rig;
mod round_trip;
mod tag_bounds;
mod tag_reads;
mod threads;
mod trees;
mod typed;
mod uniques;
mod verifying;
mod webhooks;
mod working;
mod world;
