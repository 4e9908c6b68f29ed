//! Verifying the files of a data directory, or every row.

use std::path::PathBuf;

use keyloom_store::{Damage, Scrub as What};
use serde::{Deserialize, Serialize};

use super::{Channel, Data, Operation, Progress};
use crate::directory::OpenMode;

/// Verifies the checksums of a data directory. Nothing is repaired.
#[derive(Debug, Serialize, Deserialize)]
pub struct Scrub {
    /// Whether to compare every row, too.
    pub rows: Option<CompareRows>,
}

/// Compares every row with a rebuilt tree.
#[derive(Debug, Serialize, Deserialize)]
pub struct CompareRows {
    /// The backup to rebuild from, together with the log; from the log alone if `None`.
    pub backup: Option<PathBuf>,
    /// The directory to rebuild the tree in.
    pub scratch: PathBuf,
}

/// What was verified, and what was found.
#[derive(Debug, Serialize, Deserialize)]
pub struct Scrubbed {
    /// Verified blocks of the tree.
    pub blocks: u64,
    /// Verified frames of the log.
    pub frames: u64,
    /// Verified rows.
    pub rows: u64,
    /// Number of blocks, frames or rows that differ from what was written.
    pub findings: u64,
    /// Number of them in the tree's file.
    pub tree_damages: u64,
    /// The first of them.
    pub damages: Vec<Found>,
}

/// A block, frame or row that differs from what was written.
#[derive(Debug, Serialize, Deserialize)]
pub struct Found {
    /// The file.
    pub file: PathBuf,
    /// The offset in the file.
    pub offset: u64,
    /// What is wrong there.
    pub what: String,
}

impl Scrub {
    /// The request to the engine.
    pub fn level(&self) -> What {
        match &self.rows {
            None => What::Files,
            Some(CompareRows { backup, scratch }) => {
                What::Rows { backup: backup.clone(), scratch: scratch.clone() }
            }
        }
    }
}

impl From<keyloom_store::Scrubbed> for Scrubbed {
    fn from(found: keyloom_store::Scrubbed) -> Scrubbed {
        let damage = |Damage { file, offset, what }| Found { file, offset, what };
        let damages = found.damages.into_iter().map(damage).collect();
        let (blocks, frames, rows) = (found.blocks, found.frames, found.rows);
        let (findings, tree_damages) = (found.findings, found.tree_damages);
        Scrubbed { blocks, frames, rows, findings, tree_damages, damages }
    }
}

/// The progress of a scrub.
impl From<&keyloom_store::Scrubbed> for Progress {
    fn from(found: &keyloom_store::Scrubbed) -> Progress {
        let (blocks, total) = (found.blocks, found.blocks_total);
        let total = (blocks < total).then_some(total);
        Progress { count: blocks + found.rows, done: blocks, total }
    }
}

impl Operation for Scrub {
    const NAME: &'static str = "scrub";
    type Answer = Scrubbed;

    fn open_mode(&self) -> OpenMode {
        OpenMode::Read
    }

    async fn run(self, data: &Data, channel: &mut Channel<'_>) -> Result<Scrubbed, String> {
        let engine = data.engine()?;
        let scrubbed = channel.watch(|report| {
            let scrubbed = engine.scrub(&self.level(), &mut |found| report(found.into()));
            scrubbed.map_err(|error| error.to_string())
        })?;
        Ok(scrubbed.into())
    }
}
