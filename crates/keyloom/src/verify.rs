//! Verification: reads every row, recomputes what it implies, and compares. Works while the service
//! runs: what looks wrong is read again, in one transaction, before it is reported. What a page of rows
//! is compared with is read in batches (`page.rs`).

mod chunks;
mod counters;
mod derived;
mod finding;
mod number;
mod own;
mod page;
mod position;
mod recount;
mod replay;
mod sequence;
mod sets;

use futures_util::future::try_join_all;
use keyloom_model::attribute::{DELETION, OWNER, PARTITION, SORT, VERSION};
use keyloom_model::{EntityKey, RowName};
use keyloom_query::{DeletionState, deletion_key};
use keyloom_store::{Get, Scan, TransactGet};
use keyloom_value::{Item, KeyBytes, Value};

pub use finding::{Finding, Problem, Remedy};

use crate::answer::Answer;
use crate::background::Progress;
use crate::bulk::BulkRecord;
use crate::db::{Db, Shared};
use crate::error::Error;
use crate::events::{Checkpoint, Lane, Worker, overflow};
use crate::schema::Schema;
use crate::system_rows::key_of;
use crate::write::{IdempotencyRecord, WriteContext};
use page::{PageRow, Seen};
use position::{At, Position};

/// The number of rows to read in one step.
const PAGE_ROWS: u32 = 500;

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

impl VerifyPage {
    fn new(findings: Vec<Finding>, next: Option<Position>, progress: Progress) -> VerifyPage {
        let next = next.map(|next| next.write());
        VerifyPage { findings, next, progress, leaves_counters: false }
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

async fn verify_page(
    shared: &Shared,
    repair: Repair,
    from: Option<&str>,
) -> Result<VerifyPage, Error> {
    // Valid rows would look wrong under a model that is no longer in force.
    shared.refresh().await?;
    let schema = shared.schema();
    let verifier = Verifier { shared, schema: &schema, repair };
    let position = from.map_or(Some(Position::default()), Position::read);
    let Position { at, rows } = position.ok_or_else(unknown_position)?;
    match at {
        At::Rows(start) => verifier.rows_page(start, rows).await,
        At::Sets(place) => verifier.sets_page(place, rows).await,
        At::Counters(from) => verifier.counters_page(from, rows).await,
    }
}

struct Verifier<'a> {
    shared: &'a Shared,
    schema: &'a Schema,
    repair: Repair,
}

impl Verifier<'_> {
    /// Verifies a page of rows; `before` were verified already.
    async fn rows_page(&self, start: Option<Item>, before: u64) -> Result<VerifyPage, Error> {
        let (store, table) = (&self.shared.store, &self.shared.table);
        let mut scan = Scan::new(table);
        scan.limit = Some(PAGE_ROWS);
        scan.start = start;
        let page = store.scan(scan).await?;
        let page_rows: Vec<PageRow<'_>> =
            page.items.iter().map(|item| self.page_row(item)).collect();
        let mut findings = vec![];
        let seen = self.look(&page_rows, &mut findings).await?;
        for together in page_rows.chunks(self.together()) {
            let found = together.iter().map(|row| self.row(row, &seen));
            findings.extend(try_join_all(found).await?.into_iter().flatten());
        }
        let rows = before.saturating_add(page.scanned);
        let described = store.describe_table(table.clone()).await?;
        let progress = Progress { rows, rows_total: described.items.max(rows) };
        let at = match page.last_key {
            Some(key) => Some(At::Rows(Some(key))),
            None => self.first_set().or_else(|| self.first_counter()),
        };
        let next = at.map(|at| Position { at, rows });
        Ok(VerifyPage::new(findings, next, progress))
    }

    /// Verifies a row of a page.
    async fn row(&self, row: &PageRow<'_>, seen: &Seen) -> Result<Vec<Finding>, Error> {
        let (PageRow { item, name, entity }, mut findings) = (row, vec![]);
        match name {
            Some(RowName::System) => {
                let partition = item.get(PARTITION).and_then(Value::as_b).unwrap_or_default();
                if is_damaged(partition, item) {
                    let problem = Problem::Stray { row: show_key(item) };
                    findings.push(self.finding(None, problem, self.for_a_person()));
                }
                self.chunks(item, seen, &mut findings).await?;
            }
            Some(RowName::Own(key)) => match entity {
                Some(Ok(implying)) => self.own(implying, item, seen, &mut findings).await?,
                Some(Err(problem)) => {
                    findings.push(self.finding(Some(key), problem.clone(), self.for_a_person()));
                }
                None => {}
            },
            Some(
                RowName::Guard { .. }
                | RowName::Link { .. }
                | RowName::Presence { .. }
                | RowName::Posting { .. },
            ) => self.derived(item, seen, &mut findings).await?,
            // Counters are verified together.
            Some(RowName::Counter(_)) => {}
            None if Self::is_zero(item) => self.forget_zero(item).await?,
            None => {
                let problem = Problem::Stray { row: show_key(item) };
                // Entities that the model does not know are still data.
                let remedy = match item.contains(VERSION) && !item.contains(OWNER) {
                    true => self.for_a_person(),
                    false => self.remove(item).await?,
                };
                findings.push(self.finding(None, problem, remedy));
            }
        }
        Ok(findings)
    }

    fn write_context(&self) -> WriteContext<'_> {
        self.shared.write_context(self.schema)
    }

    fn finding(&self, key: Option<&EntityKey>, problem: Problem, remedy: Remedy) -> Finding {
        let name = |key: &EntityKey| self.schema.model().entity(key.entity).name.clone();
        Finding {
            entity: key.map(name).unwrap_or_default(),
            id: key.map(|key| key.id.clone()).unwrap_or_default(),
            problem,
            remedy,
        }
    }

    /// Reads rows in one transaction.
    async fn at_once(&self, keys: Vec<Item>) -> Result<Vec<Option<Item>>, Error> {
        let gets = keys.into_iter().map(|key| Get::new(&self.shared.table, key)).collect();
        Ok(self.shared.store.transact_get(TransactGet { gets }).await?)
    }
}

/// Whether a system row is invalid. Removing it could cancel a deletion that was applied, or apply
/// idempotent changes twice.
fn is_damaged(partition: &[u8], row: &Item) -> bool {
    let is_deletion = partition == deletion_key("").partition.as_bytes();
    is_deletion && DeletionState::read(row).is_err()
        || IdempotencyRecord::is_at(partition) && IdempotencyRecord::read(row).is_none()
        || Checkpoint::is_at(partition) && Checkpoint::read(row).is_none()
        || Lane::is_at(partition) && Lane::read(row).is_none()
        || overflow::is_at(partition) && overflow::read(row).is_none()
        || Worker::is_at(partition) && Worker::read(row).is_none()
        || BulkRecord::is_at(partition) && BulkRecord::read(row).is_none()
}

/// Returns the row without its tombstone, which its entity does not imply.
fn unmarked(row: &Item) -> Item {
    let mut row = row.clone();
    row.remove(DELETION);
    row
}

/// Formats the values in the name of a posting list.
fn show_name(name: &[u8]) -> String {
    match KeyBytes::decode(name) {
        Ok(parts) => {
            let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
            format!("({})", parts.join(", "))
        }
        Err(_) => Value::B(name.to_vec()).to_string(),
    }
}

/// Formats the values in the key of a row.
fn show_key(row: &Item) -> String {
    let part = |name| match row.get(name).and_then(Value::as_b).map(KeyBytes::decode) {
        Some(Ok(parts)) => {
            let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
            format!("({})", parts.join(", "))
        }
        Some(Err(_)) | None => row.get(name).map(ToString::to_string).unwrap_or_default(),
    };
    format!("{} / {}", part(PARTITION), part(SORT))
}
