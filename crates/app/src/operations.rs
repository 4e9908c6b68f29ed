//! What commands do with data. An operation and its answer are plain data, so the process that requests
//! an operation and the one that has the data open can differ.

mod backup;
mod call;
mod channel;
mod compact;
mod copy;
mod data;
mod explain;
mod export;
mod import;
mod jobs;
mod migrate;
mod scrub;
mod service_backup;
mod status;
mod tokens;
mod verify;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::directory::OpenMode;

pub use backup::{Backup, Copied, create};
pub use call::{block_on, call};
pub use channel::{Channel, Input, Progress, Report};
pub use compact::{Compact, Compacted};
pub use copy::{CopyDatabase, CopyReport, CopySummary, Place, STREAMS};
pub use data::{About, Data};
pub use explain::{Explain, ExplainTarget};
pub use export::Export;
pub use import::{
    Import, OnProblem, Problem, Produce, Produced, Producer, ReceiverClosed, Summary,
    import_entries,
};
pub use jobs::{JobAction, Jobs};
pub use migrate::{Migrate, Migration};
pub use scrub::{CompareRows, Found, Scrub, Scrubbed};
pub use service_backup::ServiceBackup;
pub use status::{Status, StatusAnswer, Work};
pub use tokens::{AdoptTokens, CreateToken, ListTokens, RevokeToken};
pub use verify::{Verified, Verify};

/// Something that a command does with data.
pub trait Operation: Serialize + DeserializeOwned {
    /// Its name.
    const NAME: &'static str;
    /// Its result.
    type Answer: Serialize + DeserializeOwned;

    /// How the data must be opened.
    fn open_mode(&self) -> OpenMode;

    /// Runs it. An error is a sentence that says what is wrong and how to fix it.
    ///
    /// # Errors
    ///
    /// If it fails, or the receiver of its reports is gone.
    fn run(
        self,
        data: &Data,
        channel: &mut Channel<'_>,
    ) -> impl Future<Output = Result<Self::Answer, String>>;
}
