//! The layout of today, and those of before under which rows may still be written.

use std::borrow::Cow;
use std::collections::BTreeMap;

use keyloom_model::attribute::REVISION;
use keyloom_model::{
    Counter, Entity, EntityId, EntityKey, FieldId, Image, Layout, Matching, OwnRow, Pending, Row,
    UniqueId,
};
use keyloom_store::SetName;

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
        let formers = self.before.range(revision..);
        let formers = formers.map(|(_, former)| (&former.layout, former.since_ms));
        let all = formers.chain([(&self.current, self.since_ms)]);
        let entities = all.filter_map(|(layout, since_ms)| {
            let model = layout.model();
            Some((model.entity(model.find(entity)?), since_ms))
        });
        let entities: Vec<(&Entity, i64)> = entities.collect();
        for (before, after) in entities.iter().zip(entities.iter().skip(1)) {
            let (after, since_ms) = after;
            for field in &after.fields {
                let is_new = before.0.find_field(&field.name).is_none();
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
                "The entity `{}` was written under revision {} of the model, which is not known.",
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
    let mut counters = layout.counters().of(image)?;
    counters.extend(layout.counters().of_pending(image, pending)?);
    Ok(counters)
}

fn sets(layout: &Layout, image: &Image, pending: &Pending) -> Result<Vec<(SetName, u64)>, Error> {
    let Some(number) = image.ordinal.filter(|_| layout.matching() == Matching::Sets) else {
        return Ok(vec![]);
    };
    let name = |name: keyloom_value::KeyBytes| {
        let name = SetName::new(name.into_vec()).map_err(keyloom_store::Error::from)?;
        Ok((name, number))
    };
    let taken = layout.postings().of_pending(&image.key, pending);
    layout.postings().of(image)?.into_iter().chain(taken).map(name).collect()
}
