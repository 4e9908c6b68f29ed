//! Everything that readers see, page by page, in an order in which it can be imported.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{EntityId, Layout, RowName};
use keyloom_query::Reader;
use keyloom_store::{Read, Scan, yield_point};
use keyloom_value::{Item, Value};

use crate::answer::Answer;
use crate::background::Progress;
use crate::db::{Db, Shared, find_entity};
use crate::entry::Entry;
use crate::error::Error;
use crate::schema::Schema;

/// How many rows of the table are looked at for a page.
const PAGE_ROWS: u32 = 2000;

/// All entities of some kinds as they were at one moment, made by [`Db::export`].
///
/// What is referred to comes before what refers to it. Where kinds refer to each other in a circle,
/// or to themselves, their entities come together and in no such order.
pub struct Export {
    shared: Arc<Shared>,
    schema: Arc<Schema>,
    moment: Arc<dyn Read>,
    now_ms: i64,
    tenant: Option<Value>,
    /// Kinds that are exported together; the whole table is read for each of these.
    passes: Vec<BTreeSet<EntityId>>,
    /// How many passes are done, and where the next page of the one under way begins.
    done: usize,
    start: Option<Item>,
    progress: Progress,
}

impl Db {
    /// Begins an export of all entities of the kinds that are named, or of all kinds if none is.
    /// It is of this moment, whatever is written meanwhile. If the database is that of a tenant,
    /// nothing of others is in it.
    ///
    /// # Errors
    ///
    /// If there is no such kind, or the store fails or cannot hold a moment.
    pub fn export<'a>(&'a self, entities: &'a [&'a str]) -> Answer<'a, Export> {
        Box::pin(async move {
            let schema = self.shared.schema();
            let named: Result<BTreeSet<EntityId>, Error> =
                entities.iter().map(|name| Ok(find_entity(&schema, name)?.0)).collect();
            let mut passes = ranks(&schema.layouts.current);
            let named = named?;
            if !named.is_empty() {
                passes.iter_mut().for_each(|pass| pass.retain(|kind| named.contains(kind)));
                passes.retain(|pass| !pass.is_empty());
            }
            let store = &self.shared.store;
            let rows = store.describe_table(self.shared.table.clone()).await?.items;
            let progress = Progress { rows: 0, rows_total: rows * passes.len() as u64 };
            Ok(Export {
                moment: store.snapshot().await?,
                now_ms: self.shared.now_ms(),
                tenant: self.tenant.clone(),
                shared: self.shared.clone(),
                schema,
                passes,
                done: 0,
                start: None,
                progress,
            })
        })
    }
}

impl Export {
    /// The next entities, of which there may be none; nothing when all were there.
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
            // The moment is kept until the export ends, whoever else has a turn between.
            yield_point().await;
            let mut scan = Scan::new(&self.shared.table);
            scan.limit = Some(PAGE_ROWS);
            scan.start = self.start.take();
            let page = self.moment.scan(scan).await?;
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

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// The entity of an own row, if it is seen.
    async fn entry(&self, row: &Item) -> Result<Option<Entry>, Error> {
        let reader = Reader {
            store: &*self.moment,
            table: &self.shared.table,
            layout: &self.schema.layouts.current,
            now_ms: self.now_ms,
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
            // Left out, it would come back with its default.
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
            | RowName::Posting { .. }
            | RowName::Counter(_)
            | RowName::System,
        )
        | None => false,
    }
}

/// Kinds in an order in which those that are referred to come first. Those that cannot be put in
/// an order, because they refer to each other, are in one set.
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

/// The kinds among some to which references lead from a kind, in one step or several.
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
    fn what_is_referred_to_comes_first_and_circles_come_together() {
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
