//! The embedded engine: a write-ahead log for durability, a redb tree for reading.
//!
//! A write is decided, logged together with its neighbours under one sync, applied to the tree, and
//! then acknowledged (`committer`). The tree on disk lags behind (`tree_file`); opening replays
//! what it lacks (`open`). Readers use a snapshot of the tree (`view`) and never wait for writers.

mod alter;
mod api;
mod apply;
mod background_scrub;
mod backup;
mod candidate;
mod catalog;
mod checked_file;
mod column_apply;
mod column_read;
mod commit_batch;
mod committer;
mod compact;
mod compactions;
mod compare;
mod derive;
mod directory;
mod feed;
mod files;
mod fingerprint;
mod format;
mod found_damage;
mod increment;
mod indexed_read;
mod key_range;
mod log;
mod log_pins;
mod maintenance;
mod metrics;
mod open;
mod options;
mod prepared;
mod queue;
mod read;
mod rebuild;
mod replay;
mod reply;
mod report;
mod restore;
mod resume;
mod rows_mut;
mod salvage;
mod scrub;
mod scrub_report;
mod set_apply;
mod set_read;
mod shared;
mod source;
mod stop;
mod tree;
mod tree_damage;
mod tree_file;
mod view;
mod walk;

pub use api::{Engine, Status};
pub use backup::CopyProgress;
pub use compactions::Compaction;
pub use options::{Background, Durability, Options};
pub use restore::{Moment, Restore};
pub use salvage::Salvaged;
pub use scrub::Scrub;
pub use scrub_report::Scrubbed;

use report::{check_continue, check_in_place, damaged, io_error, malformed_row};
