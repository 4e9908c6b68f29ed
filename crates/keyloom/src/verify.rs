//! Verification: reads every row, recomputes what it implies, and compares. Works while the service
//! runs: what looks wrong is read again, in one transaction, before it is reported.
//!
//! It goes on in steps (`position.rs`), each of which verifies a page of one part: of all rows
//! (`rows.rs`), of the store's sets (`postings`), of counters (`counters.rs`). What a page of rows is
//! compared with is read in batches (`seen.rs`). What rows imply is decided by `expected.rs`, which
//! touches nothing; reading again and repairing go through `step.rs`.

mod counters;
mod derived;
mod entity;
mod expected;
mod finding;
mod findings;
mod position;
mod postings;
mod recount;
mod replay;
mod rows;
mod seen;
mod step;

pub use finding::{Finding, Problem, Remedy};

use crate::answer::Answer;
use crate::background::Progress;
use crate::db::Db;
use crate::error::Error;
use crate::shared::Shared;
use findings::Findings;
use position::{At, Position};
use step::Step;

/// Whether to repair what is found.
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Db, Repair};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// let model = r#"
///     [entity.task]
///     fields.name = "text"
///     fields.done = "bool = false"
///     fields.tags = "tags = {}"
///     list.all  = {}
///     list.open = { order = "-name", where = { done = false } }
/// "#;
/// let db = Db::open(model, store).await?;
/// db.create("task", &json!({ "name": "cook" })).await?;
/// // Every derived row is recomputed, and compared with what is stored.
/// let findings = db.verify(Repair::No, |_| {}).await?;
/// assert!(findings.is_empty());
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Only report.
    No,
    /// Repair whatever needs no human decision.
    Yes,
}

/// The result of one step of a verification.
///
/// [`Db::verify_page`] has an example.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VerifyPage {
    /// What is wrong in this part of the table.
    pub findings: Vec<Finding>,
    /// Where the next step starts; absent at the end.
    pub next: Option<String>,
    /// The progress.
    pub progress: Progress,
    /// Whether this is the end only because counters were left out.
    pub leaves_counters: bool,
}

impl Repair {
    /// The remedy of what only a person can repair.
    fn for_a_person(self) -> Remedy {
        match self {
            Repair::No => Remedy::NotRequested,
            Repair::Yes => Remedy::Unrepairable,
        }
    }
}

impl Db {
    /// Verifies everything, and repairs it if requested. Returns all findings.
    ///
    /// [`Repair`] and [`Finding`] have examples.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn verify(
        &self,
        repair: Repair,
        mut on_progress: impl FnMut(Progress),
    ) -> Result<Vec<Finding>, Error> {
        let (mut findings, mut from) = (vec![], None);
        loop {
            let page = self.verify_page(repair, from.as_deref()).await?;
            on_progress(page.progress);
            findings.extend(page.findings);
            match page.next {
                None => return Ok(findings),
                next => from = next,
            }
        }
    }

    /// Verifies a part of the table, from the start or from the `next` of the part before, which stays
    /// valid after a restart.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Repair};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfields.name = \"text\"\nlist.all = {}";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// db.create("task", &json!({ "name": "cook" })).await?;
    /// let mut from = None;
    /// loop {
    ///     let page = db.verify_page(Repair::No, from.as_deref()).await?;
    ///     assert!(page.findings.is_empty());
    ///     println!("{} of {} rows", page.progress.rows, page.progress.rows_total);
    ///     match page.next {
    ///         None => break,
    ///         next => from = next,
    ///     }
    /// }
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// If `from` is not the `next` of a part, or the store fails.
    pub fn verify_page<'a>(
        &'a self,
        repair: Repair,
        from: Option<&'a str>,
    ) -> Answer<'a, VerifyPage> {
        Box::pin(verify_page(&self.shared, repair, from))
    }

    /// Like [`Db::verify_page`], without repair and without counters: each step is bounded by the rows
    /// that it checks, while one step of counters reads every row of the table.
    ///
    /// [`Db::verify_page`] has an example.
    ///
    /// # Errors
    ///
    /// If `from` is not the `next` of such a part, or the store fails.
    pub fn verify_page_without_counters<'a>(
        &'a self,
        from: Option<&'a str>,
    ) -> Answer<'a, VerifyPage> {
        Box::pin(verify_without_counters(&self.shared, from))
    }
}

/// What one step has verified.
struct Checked<'a> {
    findings: Findings<'a>,
    /// How many rows of the table.
    rows: u64,
    /// Where this part of the verification continues; none at its end.
    next: Option<At>,
}

async fn verify_page(
    shared: &Shared,
    repair: Repair,
    from: Option<&str>,
) -> Result<VerifyPage, Error> {
    // Valid rows would look wrong under a model that is no longer in force.
    shared.refresh().await?;
    let schema = shared.schema();
    let step = Step { shared, schema: &schema, repair };
    let position = from.map_or(Some(Position::default()), Position::read);
    let Position { at, rows } = position.ok_or_else(unknown_position)?;
    let (checked, next_part) = match at {
        At::Rows(start) => {
            let next_part = postings::first(&step).or_else(|| counters::first(&step));
            (rows::check_page(&step, start).await?, next_part)
        }
        At::Sets(place) => (postings::check_page(&step, place).await?, counters::first(&step)),
        At::Counters(from) => (counters::check_part(&step, from).await?, None),
    };
    let rows = rows.saturating_add(checked.rows);
    let next = checked.next.or(next_part).map(|at| Position { at, rows }.write());
    let described = shared.store.describe_table(shared.table.clone()).await?;
    let progress = Progress { rows, rows_total: described.items.max(rows) };
    let findings = checked.findings.into_vec();
    Ok(VerifyPage { findings, next, progress, leaves_counters: false })
}

async fn verify_without_counters(shared: &Shared, from: Option<&str>) -> Result<VerifyPage, Error> {
    let is_of_counters =
        |text: &str| Position::read(text).is_some_and(|position| position.is_in_counters());
    if from.is_some_and(is_of_counters) {
        return Err(unknown_position());
    }
    let mut page = verify_page(shared, Repair::No, from).await?;
    if page.next.as_deref().is_some_and(is_of_counters) {
        page.next = None;
        page.leaves_counters = true;
    }
    Ok(page)
}

fn unknown_position() -> Error {
    Error::Unknown {
        what: "Invalid position of a verification".to_owned(),
        help: Some("start from the beginning".to_owned()),
    }
}
