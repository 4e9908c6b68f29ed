//! What commands do with data. An operation is plain data, and so is what it answers with, so that
//! the process that asks and the one that has the data open need not be the same.

mod backup;
mod call;
mod compact;
mod data;
mod explain;
mod export;
mod import;
mod jobs;
mod scrub;
mod status;
mod talk;
mod tokens;
mod verify;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::directory::Use;

pub use backup::{Backup, Copied, create};
pub use call::{block_on, call};
pub use compact::{Compact, Compacted};
pub use data::{About, Data};
pub use explain::{Asked, Explain};
pub use export::Export;
pub use import::{
    Import, NobodyListens, OnProblem, Problem, Produce, Produced, Producer, Summary, take_in,
};
pub use jobs::{JobAction, Jobs};
pub use scrub::{CompareRows, Found, Scrub, Scrubbed};
pub use status::{Status, StatusAnswer, Work};
pub use talk::{Input, Progress, Talk, Told};
pub use tokens::{CreateToken, ListTokens, RevokeToken};
pub use verify::{Verified, Verify};

/// Something that is done with data, on behalf of a command.
pub trait Operation: Serialize + DeserializeOwned {
    /// What it is called.
    const NAME: &'static str;
    /// What it ends with.
    type Answer: Serialize + DeserializeOwned;

    /// How the data must be open.
    fn used(&self) -> Use;

    /// Does it. An error is a sentence that says what to do.
    ///
    /// # Errors
    ///
    /// If it cannot be done, or nobody listens any more.
    fn run(
        self,
        data: &Data,
        talk: &mut Talk<'_>,
    ) -> impl Future<Output = Result<Self::Answer, String>>;
}
