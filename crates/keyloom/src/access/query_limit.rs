//! What part of a list, a count or a board a user may read. A part is never found by reading all of it: it
//! is one value of a field that the query is by, or can be filtered by.

use std::borrow::Cow;

use keyloom_model::{Entity, EntityId, FieldId, FieldType, Grantees};
use keyloom_value::Value;

use super::rules::{Deed, Rules};
use crate::db::Db;
use crate::error::Error;
use crate::schema::Schema;

/// A query of a list, a count or a board.
#[derive(Clone, Copy)]
pub(crate) struct Queried<'q> {
    /// `list`, `count` or `board`.
    pub(crate) what: &'static str,
    pub(crate) name: &'q str,
    pub(crate) entity: EntityId,
    pub(crate) readers: &'q Grantees,
    pub(crate) by: &'q [FieldId],
    /// The values of `by` that the caller gave.
    pub(crate) given: &'q [(String, Value)],
}

/// The part of a query that a user may read.
pub(crate) struct Limited<'q> {
    /// The values of `by`, with that of the owner if the query is by the owner.
    pub(crate) by: Cow<'q, [(String, Value)]>,
    /// The owner whose entities alone are to be read, unless `by` says so.
    pub(crate) owner: Option<OwnerLimit>,
}

/// Only entities of this owner.
pub(crate) struct OwnerLimit {
    pub(crate) field: FieldId,
    pub(crate) subject: String,
}

impl Db {
    /// Limits a query to what the user may read.
    ///
    /// # Errors
    ///
    /// [`Error::Forbidden`] if the user may read nothing of it, or asks for the part of another.
    pub(crate) async fn limited<'q>(
        &self,
        schema: &Schema,
        query: Queried<'q>,
    ) -> Result<Limited<'q>, Error> {
        let mut by = Cow::Borrowed(query.given);
        let Some(user) = self.user.as_deref() else { return Ok(Limited { by, owner: None }) };
        let grant = user.reads(query.readers);
        if grant.all || grant.of_parent && self.is_of_visible_parent(schema, query).await? {
            return Ok(Limited { by, owner: None });
        }
        let entity = schema.model().entity(query.entity);
        let Some(field) = entity.access.owner.filter(|_| grant.own) else {
            return Err(refused(query, "the access rules do not let this user read"));
        };
        let limit = OwnerLimit { field, subject: user.subject.clone() };
        if !query.by.contains(&field) {
            return Ok(Limited { by, owner: Some(limit) });
        }
        limit.add_to(entity, query, by.to_mut())?;
        Ok(Limited { by, owner: None })
    }

    /// Whether a query is of the children of an entity that the user may read.
    async fn is_of_visible_parent(
        &self,
        schema: &Schema,
        query: Queried<'_>,
    ) -> Result<bool, Error> {
        let entity = schema.model().entity(query.entity);
        let Some(field) = entity.parent.filter(|parent| query.by.contains(parent)) else {
            return Ok(false);
        };
        let FieldType::Ref(parent, _) = entity.field(field).of else { return Ok(false) };
        let (Some(id), Some(rules)) =
            (given(entity, field, query.given).and_then(Value::as_s), self.rules(schema))
        else {
            return Ok(false);
        };
        rules.admits_key(Deed::Read, &self.scope(schema).key(parent, id)?).await
    }

    /// The rules for the user of this database, if it has one.
    pub(crate) fn rules<'a>(&'a self, schema: &'a Schema) -> Option<Rules<'a>> {
        let user = self.user.as_deref()?;
        Some(Rules { user, layouts: &schema.layouts, reader: self.reader(schema) })
    }
}

impl OwnerLimit {
    /// Adds the owner to the values of fields that a query is limited to.
    ///
    /// # Errors
    ///
    /// [`Error::Forbidden`] if it is limited to another one.
    pub(crate) fn add_to(
        &self,
        entity: &Entity,
        query: Queried<'_>,
        values: &mut Vec<(String, Value)>,
    ) -> Result<(), Error> {
        let own = Value::from(self.subject.as_str());
        match given(entity, self.field, values) {
            None => values.push((entity.field(self.field).name.clone(), own)),
            Some(given) if *given == own => {}
            Some(_) => return Err(refused(query, "this user may read only their own part of")),
        }
        Ok(())
    }
}

fn given<'g>(entity: &Entity, field: FieldId, given: &'g [(String, Value)]) -> Option<&'g Value> {
    let name = &entity.field(field).name;
    given.iter().find(|(field, _)| field == name).map(|(_, value)| value)
}

fn refused(query: Queried<'_>, why: &str) -> Error {
    Error::Forbidden { what: format!("{why} the {} `{}`", query.what, query.name) }
}
