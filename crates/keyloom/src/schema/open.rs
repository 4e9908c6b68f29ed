//! Opening: combines the caller's model with the models that the data was written under into one
//! schema, or returns why that is impossible.

use std::collections::BTreeMap;

use keyloom_model::{Evolution, Layout, Matching, Model, evolve};
use keyloom_query::CursorKey;
use keyloom_store::{Store, TableName};
use keyloom_value::Item;

use super::head::{Head, ModelChange};
use super::permits::{complete_switch, fence_all};
use super::precheck::precheck;
use super::stored::{Position, Revision, write_revision};
use super::table::ensure_table;
use super::{Former, Layouts, Pending, Schema, Stored};
use crate::Options;
use crate::error::Error;
use crate::options::MatchingUse;
use crate::stamp::Stamps;
use crate::write::Attempts;

/// A schema, and the secret of its cursors.
pub(crate) struct Opened {
    pub(crate) schema: Schema,
    pub(crate) cursor_key: CursorKey,
}

/// The parameters of opening.
pub(super) struct Opening<'a> {
    pub(super) text: &'a str,
    pub(super) store: &'a dyn Store,
    pub(super) table: &'a TableName,
    pub(super) options: &'a Options,
}

/// A change of the model that nothing is written of yet.
pub(super) struct Prepared {
    pub(super) evolution: Evolution,
    /// By the new model.
    pub(super) layouts: Layouts,
    pub(super) next: Revision,
}

/// Opens a model on a table.
pub(crate) async fn open_schema(
    text: &str,
    store: &dyn Store,
    table: &TableName,
    options: &Options,
) -> Result<Opened, Error> {
    let model = keyloom_model::check(text).map_err(Error::Model)?;
    let opening = Opening { text, store, table, options };
    // Another process may open the same table with another model.
    let stamps = Stamps::new(options.clock.clone(), options.entropy.clone());
    let mut attempts = Attempts::new(&stamps);
    loop {
        attempts.next().await?;
        let stored = opening.stored(&model).await?;
        let opened = match stored {
            None => opening.begin(model.clone()).await?,
            Some(stored) => opening.go_on(model.clone(), stored).await?,
        };
        if let Some(opened) = opened {
            return Ok(opened);
        }
    }
}

impl Opening<'_> {
    async fn stored(&self, model: &Model) -> Result<Option<Stored>, Error> {
        match Stored::load(self.store, self.table).await {
            Err(Error::Store(keyloom_store::Error::TableNotFound { .. })) => {
                let layout = Layout::new(model.clone(), 1, &Item::new());
                let layout = layout.keeping(self.matching());
                ensure_table(self.store, self.table, &layout).await?;
                Ok(None)
            }
            Ok(Some(Stored { copy: Some(_), .. })) => Err(Error::UnfinishedCopy),
            stored => stored,
        }
    }

    /// Stores the first model of a table.
    async fn begin(&self, model: Model) -> Result<Option<Opened>, Error> {
        let mut secret = [0; 32];
        let filled = self.options.entropy.fill(&mut secret);
        filled.map_err(|error| Error::Entropy { reason: error.to_string() })?;
        let layout = Layout::new(model, 1, &Item::new()).keeping(self.matching());
        ensure_table(self.store, self.table, &layout).await?;
        let revision = self.revision(&layout, Pending::default());
        let head = Head::first(secret);
        let written = write_revision(self.store, self.table, &head, None, &revision).await?;
        let layouts = Layouts::new(layout, &revision, BTreeMap::new());
        Ok(written.then(|| opened(layouts, &revision, &head)))
    }

    /// Opens a model on existing data. Returns none if the stored models must be read again.
    async fn go_on(&self, model: Model, mut stored: Stored) -> Result<Option<Opened>, Error> {
        // Nothing is written by a model while writes by an earlier one may still be applied.
        if !complete_switch(self.store, self.table, &mut stored).await? {
            return Ok(None);
        }
        let (head, revision) = (&stored.head, today(&stored)?);
        let Some(Prepared { evolution, layouts, next }) = self.prepare(model, &stored)? else {
            let (former, formers) = formers(&stored)?;
            ensure_table(self.store, self.table, &former.layout).await?;
            let layouts = Layouts::new(former.layout, revision, formers);
            return Ok(Some(opened(layouts, revision, head)));
        };
        let (number, tightened) = (layouts.current.revision(), evolution.tightened());
        if number != head.revision || !tightened.is_empty() {
            precheck(self.store, self.table, &layouts, &next.pending, &tightened).await?;
        }
        ensure_table(self.store, self.table, &layouts.current).await?;
        let texts = ModelChange { before: &revision.text, after: self.text };
        let is_shared = self.store.opening().is_none();
        let before = match is_shared && !tightened.is_empty() {
            false => head.clone(),
            true => {
                let Some(fenced) = fence_all(self.store, self.table, head).await? else {
                    return Ok(None);
                };
                // What was written since the first check. Whoever writes next completes the switch, and
                // this change begins again.
                precheck(self.store, self.table, &layouts, &next.pending, &tightened).await?;
                fenced
            }
        };
        let mut after = before.changed(number, texts);
        if !is_shared || before.is_switching() {
            // Nobody has permits.
            after.fenced = after.epoch;
        }
        let written = write_revision(self.store, self.table, &after, Some(&before), &next).await?;
        let is_in_force = written && !after.is_switching();
        Ok(is_in_force.then(|| opened(layouts, &next, &after)))
    }

    /// Compares a model with the stored one; returns none if that is the same.
    pub(super) fn prepare(&self, model: Model, stored: &Stored) -> Result<Option<Prepared>, Error> {
        let (former, mut formers) = formers(stored)?;
        let (head, revision) = (&stored.head, today(stored)?);
        // An older build beside a newer one must not count by its own rules.
        let model = model.with_newer_zones(&revision.zones);
        let is_zoned_so = former.layout.model().zones().has_rules_of(&model.zones());
        let is_kept_so = self.is_kept_so(&model, revision, &former);
        self.check_newer(head, revision)?;
        if revision.text == self.text && is_kept_so && is_zoned_so {
            return Ok(None);
        }
        let evolution = evolve(former.layout.model(), &model).map_err(Error::Evolution)?;
        let model = model.following(former.layout.model());
        // While a backfill is pending, every model is a revision of its own, because it determines
        // the defaults of the fields that it adds.
        let is_same = evolution.rewritten().is_empty() && revision.pending.is_empty() && is_kept_so;
        let number = head.revision + u32::from(!is_same);
        let layout = Layout::new(model, number, &former.layout.slots()).keeping(self.matching());
        let mut pending = pending(&layout, &evolution, &revision.pending);
        if !is_kept_so {
            pending.add_kept_otherwise(&layout);
        }
        let mut next = self.revision(&layout, pending);
        if is_same {
            next.since_ms = revision.since_ms;
        } else {
            formers.insert(head.revision, former);
        }
        let layouts = Layouts::new(layout, &next, formers);
        Ok(Some(Prepared { evolution, layouts, next }))
    }

    /// Whether posting lists and shards are stored as this process stores them.
    fn is_kept_so(&self, model: &Model, revision: &Revision, former: &Former) -> bool {
        // A model without filters stores no posting lists in either way.
        let is_numbered = model.entities().any(|(_, entity)| entity.has_ordinals());
        let is_matched_so = !is_numbered
            || revision.matching == Some(self.matching()) && former.layout.facets().has_all_slots();
        let has_shards = model.entities().any(|(_, entity)| entity.has_shards());
        is_matched_so && (!has_shards || former.layout.spreads_like(self.matching()))
    }

    /// Refuses a model that another one has replaced, if other processes may use that one.
    fn check_newer(&self, head: &Head, revision: &Revision) -> Result<(), Error> {
        let is_shared = self.store.opening().is_none();
        if is_shared && !self.options.allow_older_model && head.has_replaced(self.text) {
            return Err(Error::OlderModel { since_ms: revision.since_ms });
        }
        Ok(())
    }

    fn matching(&self) -> Matching {
        match self.options.matching {
            MatchingUse::Sets if self.store.sets().is_some() => Matching::Sets,
            MatchingUse::Sets | MatchingUse::Rows => Matching::Chunks,
        }
    }

    fn revision(&self, layout: &Layout, pending: Pending) -> Revision {
        Revision {
            text: self.text.to_owned(),
            slots: layout.slots(),
            matching: Some(layout.matching()),
            zones: layout.model().zones(),
            names: layout.model().stored_names(),
            since_ms: i64::try_from(self.options.clock.now().0).unwrap_or(i64::MAX),
            pending,
            progress: Position::default(),
        }
    }
}

/// Opens a table under its own model, which is in force already.
pub(crate) fn open_stored(stored: &Stored) -> Result<Opened, Error> {
    let schema = reopen_schema(stored)?;
    Ok(Opened { schema, cursor_key: CursorKey::new(stored.head.secret) })
}

/// Reloads the schema of the model in force.
///
/// # Errors
///
/// [`Error::ModelChanged`] if this version cannot read the model.
pub(crate) fn reopen_schema(stored: &Stored) -> Result<Schema, Error> {
    let revision = today(stored)?;
    if keyloom_model::check(&revision.text).is_err() {
        return Err(Error::ModelChanged);
    }
    let (former, formers) = formers(stored)?;
    let layouts = Layouts::new(former.layout, revision, formers);
    Ok(opened(layouts, revision, &stored.head).schema)
}

fn opened(layouts: Layouts, revision: &Revision, head: &Head) -> Opened {
    let (epoch, edit) = (head.epoch, head.edit);
    let schema = Schema { layouts, pending: revision.pending.clone(), epoch, edit };
    Opened { schema, cursor_key: CursorKey::new(head.secret) }
}

fn today(stored: &Stored) -> Result<&Revision, Error> {
    stored.current().ok_or_else(|| Error::damaged("The current model is missing from the table."))
}

/// Returns the stored current layout, and the earlier ones.
fn formers(stored: &Stored) -> Result<(Former, BTreeMap<u32, Former>), Error> {
    let mut formers = BTreeMap::new();
    for (number, revision) in &stored.revisions {
        let layout = layout_of(*number, revision)?;
        formers.insert(*number, Former { layout, since_ms: revision.since_ms });
    }
    let former = formers.remove(&stored.head.revision);
    let former =
        former.ok_or_else(|| Error::damaged("The current model is missing from the table."))?;
    Ok((former, formers))
}

fn layout_of(number: u32, revision: &Revision) -> Result<Layout, Error> {
    let model = keyloom_model::check(&revision.text).map_err(|_| {
        Error::damaged(format!("Revision {number} of the model is stored as an invalid model."))
    })?;
    let model = model.with_zones(&revision.zones).with_stored_names(&revision.names);
    let layout = Layout::reopen(model, number, &revision.slots);
    Ok(layout.keeping(revision.matching.unwrap_or(Matching::Sets)))
}

/// What is left to do after a change of the model: what is new in it, and what was left before.
fn pending(layout: &Layout, evolution: &Evolution, before: &Pending) -> Pending {
    let model = layout.model();
    let name = |id| model.entity(id).stored.clone();
    let mut pending = before.clone();
    pending.entities.extend(evolution.rewritten().into_keys().map(name));
    pending.lists.extend(
        evolution
            .pending_lists()
            .map(|(entity, list)| (name(entity), model.entity(entity).list(list).name.clone())),
    );
    pending.uniques.extend(
        evolution.pending_uniques().map(|(entity, unique)| {
            (name(entity), layout.uniques().name(entity, unique).to_owned())
        }),
    );
    pending.counts.extend(
        evolution
            .pending_counts()
            .map(|(entity, count)| (name(entity), model.entity(entity).count(count).name.clone())),
    );
    pending.boards.extend(
        evolution
            .pending_boards()
            .map(|(entity, board)| (name(entity), model.entity(entity).board(board).name.clone())),
    );
    pending
}
