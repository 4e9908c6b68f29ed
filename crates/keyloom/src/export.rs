//! Exports all visible entities, page by page, in an order in which they can be imported.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{EntityId, Layout, RowName};
use keyloom_query::Reader;
use keyloom_store::{Error as StoreError, Read, Scan, yield_point};
use keyloom_value::{Item, Value};

use crate::answer::Answer;
use crate::background::Progress;
use crate::db::Db;
use crate::entry::Entry;
use crate::error::Error;
use crate::schema::Schema;
use crate::shared::Shared;
use crate::unknown::find_entity;

/// The number of rows to read for a page.
const PAGE_ROWS: u32 = 2000;

/// All entities of some kinds as of one moment, made by [`Db::export`].
///
/// Targets of references come before the entities that refer to them. Entities of kinds that refer to
/// each other in a cycle, or to themselves, come together in any order.
///
/// [`Entry`] has an example.
pub struct Export {
    shared: Arc<Shared>,
    schema: Arc<Schema>,
    /// A snapshot, or the store itself if it has none.
    snapshot: Arc<dyn Read>,
    now_ms: i64,
    tenant: Option<Value>,
    /// The kinds of each pass over the table.
    passes: Vec<BTreeSet<EntityId>>,
    /// How many passes are done, and where the next page starts.
    done: usize,
    start: Option<Item>,
    progress: Progress,
}

impl Db {
    /// Starts an export of all entities of the named kinds, or of all kinds if none is named, as of this
    /// moment. In the database of a tenant, it does not contain entities of other tenants. On a store
    /// without snapshots, such as DynamoDB, each page is of its own moment: what is written meanwhile may
    /// be missing, also an entity that others refer to.
    ///
    /// [`Entry`] has an example.
    ///
    /// # Errors
    ///
    /// If a kind does not exist, or the store fails.
    pub fn export<'a>(&'a self, entities: &'a [&'a str]) -> Answer<'a, Export> {
        Box::pin(Export::begin(self, entities))
    }
}

impl Export {
    async fn begin(db: &Db, entities: &[&str]) -> Result<Export, Error> {
        let schema = db.shared.schema();
        let named = entities.iter().map(|name| Ok(find_entity(&schema, name)?.0));
        let named = named.collect::<Result<BTreeSet<EntityId>, Error>>()?;
        let mut passes = ranks(&schema.layouts.current);
        if !named.is_empty() {
            passes.iter_mut().for_each(|pass| pass.retain(|kind| named.contains(kind)));
            passes.retain(|pass| !pass.is_empty());
        }
        let store = &db.shared.store;
        let rows = store.describe_table(db.shared.table.clone()).await?.items;
        let progress = Progress { rows: 0, rows_total: rows * passes.len() as u64 };
        let snapshot = match store.snapshot().await {
            Err(StoreError::Unsupported { .. }) => store.clone() as Arc<dyn Read>,
            snapshot => snapshot?,
        };
        Ok(Export {
            snapshot,
            now_ms: db.shared.now_ms(),
            tenant: db.tenant.clone(),
            shared: db.shared.clone(),
            schema,
            passes,
            done: 0,
            start: None,
            progress,
        })
    }

    /// Returns the next entities, possibly none; `None` at the end.
    ///
    /// # Errors
    ///
    /// If the store fails, or a row is damaged.
    pub async fn next(&mut self) -> Result<Option<Vec<Entry>>, Error> {
        self.page().await
    }

    fn page(&mut self) -> Answer<'_, Option<Vec<Entry>>> {
        Box::pin(async move {
            let Some(kinds) = self.passes.get(self.done) else { return Ok(None) };
            // The snapshot stays open until the export ends; let others run in between.
            yield_point().await;
            let mut scan = Scan::new(&self.shared.table);
            scan.limit = Some(PAGE_ROWS);
            scan.start = self.start.take();
            let page = self.snapshot.scan(scan).await?;
            let mut entries = vec![];
            for row in &page.items {
                if is_of(&self.schema.layouts.current, row, kinds) {
                    entries.extend(self.entry(row).await?);
                }
            }
            self.progress.rows += page.scanned;
            self.progress.rows_total = self.progress.rows_total.max(self.progress.rows);
            self.start = page.last_key;
            self.done += usize::from(self.start.is_none());
            Ok(Some(entries))
        })
    }

    /// Returns the progress.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Returns the entity of an own row, if it is visible.
    async fn entry(&self, row: &Item) -> Result<Option<Entry>, Error> {
        let reader = Reader {
            store: &*self.snapshot,
            table: &self.shared.table,
            layout: &self.schema.layouts.current,
            now_ms: self.now_ms,
            noted: None,
        };
        let own = self.schema.layouts.current.read_own(row).map_err(Error::damaged)?;
        let key = &own.image.key;
        let is_others = self.tenant.is_some() && key.tenant.is_some() && key.tenant != self.tenant;
        if is_others {
            return Ok(None);
        }
        let Some(own) = reader.seen(own).await? else { return Ok(None) };
        let image = self.schema.layouts.upgraded(own);
        let declared = self.schema.model().entity(image.key.entity);
        let mut fields = declared.to_external(&image.fields);
        for field in &declared.fields {
            // If omitted, an import would set its default.
            if field.default.is_some() && !fields.contains(&field.name) {
                fields.insert(field.name.as_str(), Value::Null);
            }
        }
        let (entity, key) = (declared.name.clone(), image.key);
        Ok(Some(Entry { entity, tenant: key.tenant, id: key.id, fields }))
    }
}

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Export").field("progress", &self.progress).finish_non_exhaustive()
    }
}

/// Whether a row is the own row of an entity of one of these kinds.
fn is_of(layout: &Layout, row: &Item, kinds: &BTreeSet<EntityId>) -> bool {
    let key = |name| row.get(name).and_then(Value::as_b).unwrap_or_default();
    match layout.row_name(key(PARTITION), key(SORT)) {
        Some(RowName::Own(key)) => kinds.contains(&key.entity),
        Some(
            RowName::Link { .. }
            | RowName::Guard { .. }
            | RowName::Presence { .. }
            | RowName::Posting { .. }
            | RowName::Counter(_)
            | RowName::System,
        )
        | None => false,
    }
}

/// Orders kinds so that targets of references come first. Kinds that refer to each other are in one
/// set.
fn ranks(layout: &Layout) -> Vec<BTreeSet<EntityId>> {
    let mut left: BTreeSet<EntityId> = layout.model().entities().map(|(id, _)| id).collect();
    let mut ranks = vec![];
    while let Some(first) = left.first().copied() {
        let ready = left.iter().copied().filter(|kind| {
            let reached = reach(layout, *kind, &left);
            reached.iter().all(|other| reach(layout, *other, &left).contains(kind))
        });
        let mut rank: BTreeSet<EntityId> = ready.collect();
        debug_assert!(!rank.is_empty(), "some circle refers to nothing outside of it");
        if rank.is_empty() {
            rank.insert(first);
        }
        left.retain(|kind| !rank.contains(kind));
        ranks.push(rank);
    }
    ranks
}

/// Returns the kinds, among some, that references lead to from a kind, in any number of steps.
fn reach(layout: &Layout, from: EntityId, among: &BTreeSet<EntityId>) -> BTreeSet<EntityId> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(kind) = next.pop() {
        let targets = layout.references().of(kind).iter().map(|link| link.target);
        next.extend(targets.filter(|target| among.contains(target) && reached.insert(*target)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(model: &str) -> Vec<Vec<String>> {
        let model = keyloom_model::check(model).expect("the model is right");
        let layout = Layout::new(model, 1, &Item::new());
        let name = |kind: &EntityId| layout.model().entity(*kind).name.clone();
        let rank = |rank: &BTreeSet<EntityId>| rank.iter().map(name).collect();
        ranks(&layout).iter().map(rank).collect()
    }

    #[test]
    fn targets_come_first_and_cycles_stay_together() {
        let model = "
            [entity.a]
            fields.b = 'ref b clear?'
            [entity.b]
            fields.a = 'ref a clear?'
            fields.c = 'ref c refuse'
            [entity.c]
            fields.up = 'ref c clear?'
            [entity.d]
            parent = 'a'
            [entity.e]
            fields.c = 'ref c refuse'
        ";
        assert_eq!(names(model), [vec!["c"], vec!["a", "b", "e"], vec!["d"]]);
    }
}
