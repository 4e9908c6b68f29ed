//! The embedded engine: a write-ahead log for durability, a redb tree for reading.
//!
//! A write is decided, logged with its neighbours by one sync, brought into the tree, and then
//! answered (`committer`). The tree on disk follows behind (`tree_file`); opening replays what it
//! lacks (`open`). Readers look at one moment of the tree (`view`) and never wait for writers.

mod alter;
mod apply;
mod background_scrub;
mod backup;
mod catalog;
mod checked_file;
mod chores;
mod column_apply;
mod column_read;
mod committer;
mod compact;
mod compare;
mod damages;
mod derive;
mod directory;
mod face;
mod feed;
mod files;
mod fingerprint;
mod format;
mod found_damages;
mod group;
mod increment;
mod key_range;
mod log;
mod log_pins;
mod meters;
mod open;
mod options;
mod prepared;
mod queue;
mod read;
mod rebuild;
mod reply;
mod report;
mod resume;
mod rows_mut;
mod salvage;
mod scrub;
mod set_apply;
mod set_read;
mod shared;
mod tree;
mod tree_file;
mod view;
mod walk;

pub use backup::{CopyProgress, Moment, Restore};
pub use compact::Compaction;
pub use face::{Engine, Status};
pub use options::{Background, Durability, Options};
pub use salvage::Salvaged;
pub use scrub::{Scrub, Scrubbed};

use report::{check_in_place, damaged, go_on, io_error, malformed_row};
