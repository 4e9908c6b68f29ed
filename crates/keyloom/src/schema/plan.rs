//! What a change of the model would do to the data, without doing it. Only reads.

use std::collections::BTreeMap;

use keyloom_model::{Entity, EntityId, FieldId, FilterIndex, Model};
use keyloom_store::{Scan, Store, TableName};

use super::open::{Opening, Prepared};
use super::precheck::precheck;
use super::{Pending, Stored};
use crate::Options;
use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;

/// What a change of the model would do to the data.
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::Db;
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// let model = r#"
///     [entity.task]
///     fields.name = "text"
/// "#;
/// let db = Db::open(model, store).await?;
/// let plan = db.compare_model("[entity.task]\nfields.name = \"text ..5\"\nfields.done = \"bool = false\"").await?;
/// assert!(plan.refusals.is_empty() && !plan.changes.is_empty());
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MigrationPlan {
    /// A sentence for each change.
    pub changes: Vec<String>,
    /// Why the change is refused, each with a way out. Empty if it is not.
    pub refusals: Vec<String>,
    /// The names of entities whose rows would be rewritten by [`Db::backfill`], with how many there are.
    pub rewritten: BTreeMap<String, u64>,
    /// The most rows that rewriting them can touch.
    pub rows_max: u64,
    /// Fields whose values would be lost, as `entity.field`, with how many entities have one.
    pub lost: BTreeMap<String, u64>,
    /// Queries that would be unavailable until everything is rewritten.
    pub unavailable: Vec<String>,
    /// How many rows the table has.
    pub rows: u64,
}

impl Db {
    /// Returns what opening a store with a model would do to its data, without doing it. Reads the whole
    /// table, if the model differs from the one in force.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Options};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # pollster::block_on(async {
    /// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    /// let db = Db::open("[entity.task]\nfields.name = \"text\"", store.clone()).await?;
    /// db.create("task", &json!({ "name": "cook" })).await?;
    /// let model = "[entity.task]\nfields.name = \"text\"\nlist.by_name = { order = \"name\" }";
    /// let plan = Db::plan_migration(model, &*store, &Options::default()).await?;
    /// assert!(plan.refusals.is_empty());
    /// assert_eq!(plan.rewritten["task"], 1);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// If the model has errors, or the store fails. That a change is refused is part of the plan.
    pub fn plan_migration<'a>(
        model: &'a str,
        store: &'a dyn Store,
        options: &'a Options,
    ) -> Answer<'a, MigrationPlan> {
        Box::pin(plan(model, store, options, Extent::Data))
    }

    /// Returns what opening the store of this database with another model would do, without doing it and
    /// without reading entities: all numbers are 0, and what depends on values is not known.
    ///
    /// [`MigrationPlan`] has an example.
    ///
    /// # Errors
    ///
    /// As [`Db::plan_migration`].
    pub fn compare_model<'a>(&'a self, model: &'a str) -> Answer<'a, MigrationPlan> {
        Box::pin(plan(model, &*self.shared.store, &self.shared.options, Extent::Models))
    }

    /// Returns the text of the model in force.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # pollster::block_on(async {
    /// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    /// let text = "[entity.task]\nfields.name = \"text\"";
    /// let db = Db::open(text, store).await?;
    /// assert_eq!(db.model_text().await?, text);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn model_text(&self) -> Answer<'_, String> {
        Box::pin(async move {
            let stored = Stored::load(&*self.shared.store, &self.shared.table).await?;
            let text = stored.as_ref().and_then(Stored::current).map(|now| now.text.clone());
            Ok(text.unwrap_or_default())
        })
    }
}

/// What a plan is made from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// The models alone.
    Models,
    /// Also everything in the table.
    Data,
}

async fn plan(
    text: &str,
    store: &dyn Store,
    options: &Options,
    extent: Extent,
) -> Result<MigrationPlan, Error> {
    let model = keyloom_model::check(text).map_err(Error::Model)?;
    let table = TableName::new(&options.table).map_err(keyloom_store::Error::from)?;
    let stored = match Stored::load(store, &table).await {
        Err(Error::Store(keyloom_store::Error::TableNotFound { .. })) => None,
        stored => stored?,
    };
    let mut plan = MigrationPlan::default();
    let Some(stored) = stored else {
        plan.changes.push("there is no data yet".to_owned());
        return Ok(plan);
    };
    let former = stored.current().and_then(|revision| {
        let model = keyloom_model::check(&revision.text).ok()?;
        Some(model.with_stored_names(&revision.names))
    });
    let opening = Opening { text, store, table: &table, options };
    match opening.prepare(model, &stored) {
        Ok(None) => {
            let unfinished = stored.current().map(|revision| &revision.pending.entities);
            let unfinished = unfinished.zip(former.as_ref()).into_iter();
            plan.rewritten = unfinished
                .flat_map(|(unfinished, model)| {
                    unfinished.iter().map(|stored| (name_of(model, stored), 0))
                })
                .collect();
            Ok(plan)
        }
        Ok(Some(prepared)) => {
            plan.changes = prepared.evolution.changes().iter().map(ToString::to_string).collect();
            plan.unavailable = unavailable(&prepared);
            let (model, rewritten) = (prepared.layouts.current.model(), &prepared.next.pending);
            let rewritten = rewritten.entities.iter();
            plan.rewritten = rewritten.map(|stored| (name_of(model, stored), 0)).collect();
            if extent == Extent::Models {
                return Ok(plan);
            }
            Survey { store, table: &table, prepared: &prepared, former }.read(&mut plan).await?;
            Ok(plan)
        }
        Err(error) => {
            plan.refuse(error)?;
            Ok(plan)
        }
    }
}

impl MigrationPlan {
    /// Adds the reasons for a refusal; other errors stay errors.
    fn refuse(&mut self, error: Error) -> Result<(), Error> {
        match error {
            Error::Evolution(refusals) => {
                self.refusals.extend(refusals.iter().map(ToString::to_string));
            }
            Error::UniqueViolation { .. } | Error::KeyTooLong(_) | Error::OlderModel { .. } => {
                self.refusals.push(error.to_string());
            }
            error => return Err(error),
        }
        Ok(())
    }
}

/// The name in a model of the entity that keys have under this name.
fn name_of(model: &Model, stored: &str) -> String {
    let entity = model.find_stored(stored).map(|id| model.entity(id));
    entity.map_or(stored, |entity| &entity.name).to_owned()
}

fn unavailable(prepared: &Prepared) -> Vec<String> {
    let (layout, pending) = (&prepared.layouts.current, &prepared.next.pending);
    let named = |what: &'static str| {
        move |(entity, name): &(String, String)| {
            format!("the {what} `{name}` of `{}`", name_of(layout.model(), entity))
        }
    };
    let lists = pending.lists.iter().map(named("list"));
    let counts = pending.counts.iter().map(named("count"));
    let boards = pending.boards.iter().map(named("board"));
    let entities = layout.model().entities();
    let filters = entities.flat_map(|(id, entity)| {
        let unbuilt = layout.unbuilt(id);
        unbuilt.filter_map(move |index| unavailable_filter(entity, index, pending))
    });
    let uniques = pending.uniques.iter().map(named("lookup by"));
    lists.chain(counts).chain(boards).chain(filters).chain(uniques).collect()
}

/// The filters that read an index; none if others can be read instead, or their list is unavailable as a whole.
fn unavailable_filter(entity: &Entity, index: FilterIndex, pending: &Pending) -> Option<String> {
    let (name, field) = (&entity.name, |field: FieldId| &entity.field(field).name);
    match index {
        FilterIndex::Facet(list, facet) => {
            let list = &entity.list(list).name;
            let is_new = pending.lists.contains(&(entity.stored.clone(), list.clone()));
            let facet = field(facet);
            (!is_new).then(|| format!("the facet `{facet}` of the list `{list}` of `{name}`"))
        }
        FilterIndex::Field(of) => Some(format!("the filter `{}` of `{name}`", field(of))),
        FilterIndex::Search(search) => {
            Some(format!("the search `{}` of `{name}`", entity.search(search).name))
        }
        FilterIndex::Tags(of) => Some(format!("filters by tags in `{}` of `{name}`", field(of))),
        FilterIndex::FacetKeys(_) | FilterIndex::Combination(_) => None,
    }
}

/// Reads all rows, to count what a change is about.
struct Survey<'s> {
    store: &'s dyn Store,
    table: &'s TableName,
    prepared: &'s Prepared,
    /// The model in force.
    former: Option<Model>,
}

impl Survey<'_> {
    async fn read(&self, plan: &mut MigrationPlan) -> Result<(), Error> {
        let Prepared { evolution, layouts, next } = self.prepared;
        let lost = self.lost();
        let mut scan = Scan::new(self.table);
        loop {
            let page = self.store.scan(scan.clone()).await?;
            plan.rows += page.scanned;
            for row in &page.items {
                let Ok(own) = layouts.current.read_own(row) else { continue };
                let id = own.image.key.entity;
                let name = &layouts.current.model().entity(id).name;
                if let Some(count) = plan.rewritten.get_mut(name) {
                    *count += 1;
                    plan.rows_max += layouts.current.rows_max(id) as u64;
                }
                let lost = lost.iter().filter(|lost| lost.entity == id);
                for lost in lost.filter(|lost| own.retired.contains(&lost.stored)) {
                    *plan.lost.entry(lost.name.clone()).or_default() += 1;
                }
            }
            match page.last_key {
                None => break,
                start => scan.start = start,
            }
        }
        let tightened = evolution.tightened();
        match precheck(self.store, self.table, layouts, &next.pending, &tightened).await {
            Ok(()) => Ok(()),
            Err(error) => plan.refuse(error),
        }
    }

    /// The fields that are removed.
    fn lost(&self) -> Vec<LostField> {
        let mut lost = vec![];
        let Some(former) = &self.former else { return lost };
        for (id, entity) in self.prepared.layouts.current.model().entities() {
            let Some(before) = former.find_stored(&entity.stored) else { continue };
            let before = former.entity(before);
            let kept: Vec<FieldId> =
                entity.fields().filter_map(|(id, _)| entity.counterpart(id, before)).collect();
            let gone = before.fields().filter(|(id, _)| !kept.contains(id));
            lost.extend(gone.map(|(_, field)| LostField {
                entity: id,
                name: format!("{}.{}", entity.name, field.name),
                stored: field.stored.clone(),
            }));
        }
        lost
    }
}

/// A field that is removed.
struct LostField {
    entity: EntityId,
    /// With the name of its entity.
    name: String,
    /// Its name in rows.
    stored: String,
}
