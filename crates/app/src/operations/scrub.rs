//! Verifying the files of a data directory, or every row.

use std::path::PathBuf;

use keyloom_store::{Damage, Scrub as What};
use serde::{Deserialize, Serialize};

use super::{Data, Operation, Progress, Talk};
use crate::directory::Use;

/// Verifies the checksums of a data directory. Nothing is repaired.
#[derive(Debug, Serialize, Deserialize)]
pub struct Scrub {
    /// Also every row.
    pub rows: Option<CompareRows>,
}

/// Compares every row with a tree that is built anew.
#[derive(Debug, Serialize, Deserialize)]
pub struct CompareRows {
    /// From this backup and the log, instead of from the log alone.
    pub backup: Option<PathBuf>,
    /// In this directory.
    pub scratch: PathBuf,
}

/// What was verified, and found.
#[derive(Debug, Serialize, Deserialize)]
pub struct Scrubbed {
    /// Blocks of the tree.
    pub blocks: u64,
    /// Frames of the log.
    pub frames: u64,
    /// Rows.
    pub rows: u64,
    /// How many places or rows are not what was written.
    pub findings: u64,
    /// How many of them are in the tree's file.
    pub tree_damages: u64,
    /// The first of them.
    pub damages: Vec<Found>,
}

/// A place or row that is not what was written.
#[derive(Debug, Serialize, Deserialize)]
pub struct Found {
    /// The file.
    pub file: PathBuf,
    /// Where in it.
    pub offset: u64,
    /// What is wrong there.
    pub what: String,
}

impl Scrub {
    /// What the engine is asked to do.
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

/// How far a scrub has come.
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

    fn used(&self) -> Use {
        Use::Read
    }

    async fn run(self, data: &Data, talk: &mut Talk<'_>) -> Result<Scrubbed, String> {
        let engine = data.engine()?;
        let scrubbed = talk.watch(|tell| {
            let scrubbed = engine.scrub(&self.level(), &mut |found| tell(found.into()));
            scrubbed.map_err(|error| error.to_string())
        })?;
        Ok(scrubbed.into())
    }
}
