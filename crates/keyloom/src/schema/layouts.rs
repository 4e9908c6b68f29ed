//! The current layout, and the earlier ones that rows may still be written under.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use keyloom_model::attribute::{DELETION, REVISION, VERSION};
use keyloom_model::{
    Addend, Entity, EntityId, EntityKey, ExpiryDefault, Field, FieldId, Image, Layout, Matching,
    OwnRow, Pending, Reason, Row, UniqueId,
};
use keyloom_store::SetName;
use keyloom_value::{Item, KeyBytes, Name, Number, Value};

use super::stored::Revision;
use crate::error::Error;

/// The current layout and the earlier ones. A row names the revision it was written under, so what it
/// implied is known until it is rewritten.
#[derive(Debug)]
pub(crate) struct Layouts {
    pub(crate) current: Layout,
    /// When the current revision was created, in milliseconds.
    pub(crate) since_ms: i64,
    pub(crate) before: BTreeMap<u32, Former>,
}

/// An earlier revision.
#[derive(Debug)]
pub(crate) struct Former {
    pub(crate) layout: Layout,
    /// When it was created, in milliseconds.
    pub(crate) since_ms: i64,
}

impl Layouts {
    /// Creates the layouts of a revision and of the earlier ones that rows may still have.
    pub(super) fn new(
        current: Layout,
        revision: &Revision,
        before: BTreeMap<u32, Former>,
    ) -> Layouts {
        let layouts = Layouts { current, since_ms: revision.since_ms, before };
        let layouts = layouts.with_expiry_defaults().with_earlier_references();
        layouts.with_earlier_filters(&revision.pending.entities)
    }

    /// Filters read what all revisions that rows may have declare alike.
    fn with_earlier_filters(mut self, rewritten: &BTreeSet<String>) -> Layouts {
        let model = self.current.model().clone();
        for (id, _) in model.entities().filter(|(_, entity)| rewritten.contains(&entity.stored)) {
            for former in self.before.values() {
                self.current = self.current.with_earlier_filters(id, &former.layout);
            }
        }
        self
    }

    /// Readers find links by the key of their target, also those that are written under earlier
    /// revisions.
    fn with_earlier_references(mut self) -> Layouts {
        for (id, _) in self.current.model().clone().entities() {
            for former in self.before.values() {
                self.current = self.current.with_earlier_references(id, &former.layout);
            }
        }
        self
    }

    /// Readers determine expiry from own rows, which lack fields that are newer than they are.
    fn with_expiry_defaults(mut self) -> Layouts {
        for (id, entity) in self.current.model().clone().entities() {
            let Some(expires) = entity.expires else { continue };
            if let Some(default) =
                self.expiry_default(&entity.stored, &entity.field(expires).stored)
            {
                self.current = self.current.with_expiry_default(id, default);
            }
        }
        self
    }

    /// Returns the expiry of rows that are older than the `expires` field, if there can be any.
    fn expiry_default(&self, entity: &str, stored: &str) -> Option<ExpiryDefault> {
        let revisions: Vec<(u32, &Entity, i64)> = self.declarations(entity, 0).collect();
        let steps = revisions.iter().zip(revisions.iter().skip(1));
        let mut added = steps.filter_map(|((revision, before, _), (_, after, since_ms))| {
            let added = after.field(after.find_stored(stored)?);
            let is_new = before.find_stored(stored).is_none();
            let default = added.default.as_ref().filter(|_| is_new)?.value(*since_ms);
            let time_ms = default.as_n().and_then(Number::to_i64)?;
            Some(ExpiryDefault { revision: *revision, time_ms })
        });
        added.next_back()
    }

    /// Returns the declarations of an entity, from a revision on, each with the time of its revision.
    fn declarations<'l>(
        &'l self,
        entity: &'l str,
        from: u32,
    ) -> impl Iterator<Item = (u32, &'l Entity, i64)> {
        let formers =
            self.before.range(from..).map(|(_, former)| (&former.layout, former.since_ms));
        let all = formers.chain([(&self.current, self.since_ms)]);
        all.filter_map(move |(layout, since_ms)| {
            let model = layout.model();
            Some((layout.revision(), model.entity(model.find_stored(entity)?), since_ms))
        })
    }

    /// Returns every row that an entity implies under the revision it was written under.
    pub(crate) fn rows_before(&self, row: &OwnRow) -> Result<Vec<Row>, Error> {
        let (layout, image) = self.written(row)?;
        let (mut rows, revision) = (layout.rows_with(&image, &row.pending)?, layout.revision());
        // The row may name a revision that is no longer stored.
        if row.revision != revision {
            for implied in rows.iter_mut().filter(|row| row.item.contains(REVISION)) {
                implied.item.insert(REVISION, u64::from(row.revision));
            }
        }
        Ok(without_presence(rows, row.deletion.is_some()))
    }

    /// Returns every row that an entity implies under the current layout, with these tombstones.
    pub(crate) fn rows_after(
        &self,
        image: &Image,
        deletion: Option<&str>,
        pending: &Pending,
    ) -> Result<Vec<Row>, Error> {
        let mut rows =
            without_presence(self.current.rows_with(image, pending)?, deletion.is_some());
        // Only the own row and its copy carry tombstones.
        for row in rows.iter_mut().filter(|row| row.item.contains(VERSION)) {
            if let Some(deletion) = deletion {
                row.item.insert(DELETION, deletion);
            }
        }
        Ok(rows)
    }

    /// Returns the sets that an entity is in under the revision it was written under, with its ordinal.
    pub(crate) fn sets_before(&self, row: &OwnRow) -> Result<Vec<(SetName, u64)>, Error> {
        let (layout, image) = self.written(row)?;
        sets(layout, &image, &row.pending)
    }

    /// Whether posting lists are kept as chunks, under any revision that rows may have.
    pub(crate) fn has_chunks(&self) -> bool {
        let formers = self.before.values().map(|former| &former.layout);
        formers.chain([&self.current]).any(|layout| layout.matching() == Matching::Chunks)
    }

    /// Whether writes leave changes of scores to be settled, under any revision that rows may have.
    pub(crate) fn has_settled_boards(&self) -> bool {
        let formers = self.before.values().map(|former| &former.layout);
        formers.chain([&self.current]).any(|layout| layout.leaderboards().are_settled())
    }

    /// Returns the names of the posting lists that an entity is in under the revision it was written
    /// under, where these are kept as chunks.
    pub(crate) fn chunked_before(&self, row: &OwnRow) -> Result<BTreeSet<Vec<u8>>, Error> {
        let (layout, image) = self.written(row)?;
        chunked(layout, &image, &row.pending)
    }

    /// The same under the current model.
    pub(crate) fn chunked_after(
        &self,
        image: &Image,
        pending: &Pending,
    ) -> Result<BTreeSet<Vec<u8>>, Error> {
        chunked(&self.current, image, pending)
    }

    /// Returns what an entity adds to counters under the revision it was written under.
    pub(crate) fn counters_before(&self, row: &OwnRow) -> Result<Vec<Addend>, Error> {
        let (layout, image) = self.written(row)?;
        counters(layout, &image, &row.pending)
    }

    /// Returns what an entity adds to counters under the current model.
    pub(crate) fn counters_after(
        &self,
        image: &Image,
        pending: &Pending,
    ) -> Result<Vec<Addend>, Error> {
        counters(&self.current, image, pending)
    }

    /// Returns the layout that a row was written under, and the image in its terms.
    pub(crate) fn written<'l>(
        &'l self,
        row: &'l OwnRow,
    ) -> Result<(&'l Layout, Cow<'l, Image>), Error> {
        let Some(former) = self.former(row)? else {
            return Ok((&self.current, Cow::Borrowed(&row.image)));
        };
        let current = self.current.model().entity(row.image.key.entity);
        let mut image = row.image.clone();
        if let Some(id) = former.model().find_stored(&current.stored) {
            image.key.entity = id;
            image.fields = fields_before(row, current, former.model().entity(id));
        }
        Ok((former, Cow::Owned(image)))
    }

    /// Returns the sets that an entity is in under the current model, with its ordinal.
    pub(crate) fn sets_after(
        &self,
        image: &Image,
        pending: &Pending,
    ) -> Result<Vec<(SetName, u64)>, Error> {
        sets(&self.current, image, pending)
    }

    /// Returns an entity under the current model: fields that were added since have the default that
    /// they were added with, and values of those whose type has changed are converted. For an entity
    /// that existed before, `now` is the time of the revision that added the field.
    pub(crate) fn upgraded(&self, row: OwnRow) -> Image {
        if self.before.range(row.revision..).next().is_none() {
            return row.image;
        }
        self.upgrade(row).0
    }

    /// Returns the fields of a row whose values cannot be converted to their type under the current
    /// model.
    pub(crate) fn unconverted(&self, row: OwnRow) -> Vec<String> {
        self.upgrade(row).1
    }

    fn upgrade(&self, row: OwnRow) -> (Image, Vec<String>) {
        let OwnRow { mut image, revision, retired, .. } = row;
        let current = self.current.model().entity(image.key.entity);
        let revisions: Vec<(u32, &Entity, i64)> =
            self.declarations(&current.stored, revision).collect();
        let mut upgrade = Upgrade { values: retired, unconverted: vec![] };
        let stored = |name: &str| Some(&current.field(current.find_field(name)?).stored);
        for (name, value) in std::mem::take(&mut image.fields) {
            let stored = stored(name.as_str()).map_or_else(|| name.clone(), Name::from);
            upgrade.values.insert(stored, value);
        }
        for ((_, before, _), (_, after, since_ms)) in revisions.iter().zip(revisions.iter().skip(1))
        {
            upgrade.step(before, after, *since_ms);
        }
        let Upgrade { mut values, unconverted } = upgrade;
        for field in &current.fields {
            if let Some(value) = values.remove(&field.stored) {
                image.fields.insert(field.name.as_str(), value);
            }
        }
        // What no model declares is damage, for verification to see.
        for (name, value) in values.into_iter().filter(|_| !current.has_other_names()) {
            image.fields.insert(name, value);
        }
        (image, unconverted)
    }

    /// Returns the layout that a row was written under, if it is not the current one. A revision is
    /// removed when every entity that must be was rewritten: the others imply the same under the next.
    fn former(&self, row: &OwnRow) -> Result<Option<&Layout>, Error> {
        if row.revision > self.current.revision() {
            let what = format!(
                "The entity `{}` was written under revision {} of the model, which is not stored.",
                row.image.key.id, row.revision
            );
            return Err(Error::damaged(what));
        }
        let former = self.before.range(row.revision..).next();
        Ok(former.map(|(_, former)| &former.layout))
    }

    /// The error for a unique value that another entity has.
    pub(crate) fn taken(
        &self,
        entity: EntityId,
        unique: UniqueId,
        owner: Option<&EntityKey>,
    ) -> Error {
        let entity = self.current.model().entity(entity);
        let fields = entity.unique(unique).fields.iter();
        Error::UniqueViolation {
            entity: entity.name.clone(),
            fields: fields.map(|field| entity.field(*field).name.clone()).collect(),
            id: None,
            owner: owner.map(|owner| owner.id.clone()),
        }
    }

    /// The error for a reference to an entity that does not exist.
    pub(crate) fn target_gone(
        &self,
        owner: &EntityKey,
        field: FieldId,
        target: &EntityKey,
    ) -> Error {
        let model = self.current.model();
        let entity = model.entity(owner.entity);
        Error::TargetGone {
            entity: entity.name.clone(),
            field: entity.field(field).name.clone(),
            target: model.entity(target.entity).name.clone(),
            id: target.id.clone(),
        }
    }
}

/// The values of an entity on the way from one model to the next, by their names in rows.
struct Upgrade {
    values: Item,
    /// The fields whose values could not be converted.
    unconverted: Vec<String>,
}

impl Upgrade {
    fn step(&mut self, before: &Entity, after: &Entity, since_ms: i64) {
        for (id, field) in after.fields() {
            if before.find_stored(&field.stored).is_some() {
                continue;
            }
            let value = match after.counterpart(id, before) {
                None => field.default.as_ref().map(|default| default.value(since_ms)),
                Some(was) => self.converted(before.field(was), field),
            };
            if let Some(value) = value {
                self.values.insert(field.stored.as_str(), value);
            }
        }
    }

    fn converted(&mut self, before: &Field, after: &Field) -> Option<Value> {
        let value = self.values.get(&before.stored)?;
        let converted = before.of.convert(&after.of, value);
        if converted.is_none() {
            self.unconverted.push(after.name.clone());
        }
        converted
    }
}

/// The fields of a row under the model that it was written under.
fn fields_before(row: &OwnRow, current: &Entity, before: &Entity) -> Item {
    if row.retired.is_empty() && !current.has_other_names() && !before.has_other_names() {
        return row.image.fields.clone();
    }
    let value = |field: &Field| {
        let value = match current.find_stored(&field.stored) {
            Some(now) => row.image.fields.get(&current.field(now).name),
            None => row.retired.get(&field.stored),
        };
        Some((Name::from(&field.name), value?.clone()))
    };
    before.fields.iter().filter_map(value).collect()
}

fn counters(layout: &Layout, image: &Image, pending: &Pending) -> Result<Vec<Addend>, Error> {
    let mut counters = layout.counters().of(image)?;
    counters.extend(layout.counters().of_pending(image, pending)?);
    Ok(counters)
}

fn chunked(layout: &Layout, image: &Image, pending: &Pending) -> Result<BTreeSet<Vec<u8>>, Error> {
    if image.ordinal.is_none() || layout.matching() != Matching::Chunks {
        return Ok(BTreeSet::new());
    }
    let taken = layout.postings().of_pending(&image.key, pending);
    let names = layout.postings().of(image)?.into_iter().chain(taken);
    Ok(names.map(KeyBytes::into_vec).collect())
}

fn sets(layout: &Layout, image: &Image, pending: &Pending) -> Result<Vec<(SetName, u64)>, Error> {
    let Some(number) = image.ordinal.filter(|_| layout.matching() == Matching::Sets) else {
        return Ok(vec![]);
    };
    let name = |name: KeyBytes| {
        let name = SetName::new(name.into_vec()).map_err(keyloom_store::Error::from)?;
        Ok((name, number))
    };
    let taken = layout.postings().of_pending(&image.key, pending);
    layout.postings().of(image)?.into_iter().chain(taken).map(name).collect()
}

/// The rows of an entity that cannot be referred to if it is marked.
fn without_presence(mut rows: Vec<Row>, is_marked: bool) -> Vec<Row> {
    rows.retain(|row| row.reason != Reason::Presence || !is_marked);
    rows
}
