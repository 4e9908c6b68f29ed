//! The layout of today, and those of before under which rows may still be written.

use std::borrow::Cow;
use std::collections::BTreeMap;

use keyloom_model::attribute::REVISION;
use keyloom_model::{
    Counter, Entity, EntityId, EntityKey, ExpiryDefault, FieldId, Image, Layout, Matching, OwnRow,
    Pending, Row, UniqueId,
};
use keyloom_store::SetName;
use keyloom_value::Number;

use super::stored::Revision;
use crate::error::Error;

/// The layout of today and those of before. A row says under which revision it was written, so
/// what it implied then is known until it has been written anew.
#[derive(Debug)]
pub(crate) struct Layouts {
    pub(crate) current: Layout,
    /// When the revision of today came to be, in milliseconds.
    pub(crate) since_ms: i64,
    pub(crate) before: BTreeMap<u32, Former>,
}

/// A revision of before.
#[derive(Debug)]
pub(crate) struct Former {
    pub(crate) layout: Layout,
    /// When it came to be, in milliseconds.
    pub(crate) since_ms: i64,
}

impl Layouts {
    /// The layout of a revision, and those of earlier ones that rows may still have.
    pub(super) fn new(
        current: Layout,
        revision: &Revision,
        before: BTreeMap<u32, Former>,
    ) -> Layouts {
        Layouts { current, since_ms: revision.since_ms, before }.with_expiry_defaults()
    }

    /// Readers judge expiry by own rows, which lack fields that are newer than they are.
    fn with_expiry_defaults(mut self) -> Layouts {
        for (id, entity) in self.current.model().clone().entities() {
            let Some(expires) = entity.expires else { continue };
            if let Some(default) = self.expiry_default(&entity.name, &entity.field(expires).name) {
                self.current = self.current.with_expiry_default(id, default);
            }
        }
        self
    }

    /// When rows expire that are older than the field that says so; none if there are none.
    fn expiry_default(&self, entity: &str, field: &str) -> Option<ExpiryDefault> {
        let revisions: Vec<(u32, &Entity, i64)> = self.declarations(entity, 0).collect();
        let steps = revisions.iter().zip(revisions.iter().skip(1));
        let added = steps.filter_map(|((revision, before, _), (_, after, since_ms))| {
            let added = after.fields.iter().find(|added| added.name == field)?;
            let is_new = before.find_field(field).is_none();
            let default = added.default.as_ref().filter(|_| is_new)?.value(*since_ms);
            let time_ms = default.as_n().and_then(Number::to_i64)?;
            Some(ExpiryDefault { revision: *revision, time_ms })
        });
        added.last()
    }

    /// An entity as each revision declares it, from a revision on, and when that one came to be.
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
            Some((layout.revision(), model.entity(model.find(entity)?), since_ms))
        })
    }

    /// Every row that an entity implies that was read, under the revision it was written.
    pub(crate) fn rows_before(&self, row: &OwnRow) -> Result<Vec<Row>, Error> {
        let (layout, image) = self.written(row)?;
        let (mut rows, revision) = (layout.rows_with(&image, &row.pending)?, layout.revision());
        // It may have been written under a revision that is not kept any more, and still says so.
        if row.revision != revision {
            for implied in rows.iter_mut().filter(|row| row.item.contains(REVISION)) {
                implied.item.insert(REVISION, u64::from(row.revision));
            }
        }
        Ok(rows)
    }

    /// The sets that an entity is in that was read, under the revision it was written, with its
    /// number.
    pub(crate) fn sets_before(&self, row: &OwnRow) -> Result<Vec<(SetName, u64)>, Error> {
        let (layout, image) = self.written(row)?;
        sets(layout, &image, &row.pending)
    }

    /// The numbers to which an entity adds that was read, under the revision it was written.
    pub(crate) fn counters_before(&self, row: &OwnRow) -> Result<Vec<Counter>, Error> {
        let (layout, image) = self.written(row)?;
        counters(layout, &image, &row.pending)
    }

    /// The numbers to which an entity adds under the model of today.
    pub(crate) fn counters_after(
        &self,
        image: &Image,
        pending: &Pending,
    ) -> Result<Vec<Counter>, Error> {
        counters(&self.current, image, pending)
    }

    /// The layout that a row was written under, and the image as that one has it.
    fn written<'l>(&'l self, row: &'l OwnRow) -> Result<(&'l Layout, Cow<'l, Image>), Error> {
        let Some(former) = self.former(row)? else {
            return Ok((&self.current, Cow::Borrowed(&row.image)));
        };
        let name = &self.current.model().entity(row.image.key.entity).name;
        let mut image = row.image.clone();
        image.key.entity = former.model().find(name).unwrap_or(image.key.entity);
        Ok((former, Cow::Owned(image)))
    }

    /// The sets that an entity is in under the model of today, with its number.
    pub(crate) fn sets_after(
        &self,
        image: &Image,
        pending: &Pending,
    ) -> Result<Vec<(SetName, u64)>, Error> {
        sets(&self.current, image, pending)
    }

    /// An entity as the model of today has it: fields that came with a default since have it, each
    /// the one that it came with. What is `now` for one that is being created is, for one that was
    /// there, the time at which the field came to be.
    pub(crate) fn upgraded(&self, row: OwnRow) -> Image {
        let OwnRow { mut image, revision, .. } = row;
        if self.before.range(revision..).next().is_none() {
            return image;
        }
        let entity = &self.current.model().entity(image.key.entity).name;
        let revisions: Vec<(u32, &Entity, i64)> = self.declarations(entity, revision).collect();
        for ((_, before, _), (_, after, since_ms)) in revisions.iter().zip(revisions.iter().skip(1))
        {
            for field in &after.fields {
                let is_new = before.find_field(&field.name).is_none();
                if let Some(default) = field.default.as_ref().filter(|_| is_new) {
                    image.fields.insert(field.name.as_str(), default.value(*since_ms));
                }
            }
        }
        image
    }

    /// The layout that a row was written under, if it is not that of today. A revision is forgotten
    /// when every entity was written anew that must be: the others imply under the next one what
    /// they implied under it.
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

    /// The error that says that a unique value is taken.
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

    /// The error that says that something refers to what is not there.
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

fn counters(layout: &Layout, image: &Image, pending: &Pending) -> Result<Vec<Counter>, Error> {
    let mut counters = layout.counters(image)?;
    counters.extend(layout.pending_counters(image, pending)?);
    Ok(counters)
}

fn sets(layout: &Layout, image: &Image, pending: &Pending) -> Result<Vec<(SetName, u64)>, Error> {
    let Some(number) = image.number.filter(|_| layout.matching() == Matching::Sets) else {
        return Ok(vec![]);
    };
    let name = |name: keyloom_value::KeyBytes| {
        let name = SetName::new(name.into_vec()).map_err(keyloom_store::Error::from)?;
        Ok((name, number))
    };
    let taken = layout.pending_groups(&image.key, pending);
    layout.groups(image)?.into_iter().chain(taken).map(name).collect()
}
