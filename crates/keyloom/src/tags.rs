//! Which tags there are, and how many entities have each.

use keyloom_model::{Group, Matching};
use keyloom_store::{ListSets, SetName};
use keyloom_value::KeyBytes;

use crate::db::{Db, find_entity};
use crate::error::Error;
use crate::filter::tag_field;

/// Which tags to look for, with [`Db::tags`]: keys, if nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindTags {
    /// The field that holds the tags, if the entity has several such.
    pub field: Option<String>,
    /// Values of this key; without it, keys.
    pub key: Option<String>,
    /// What they begin with.
    pub prefix: String,
    /// Only those after this one, in the order of their bytes.
    pub after: Option<String>,
}

/// A key or a value of tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagCount {
    /// The key or value.
    pub text: String,
    /// How many entities have it.
    pub count: u64,
}

impl Db {
    /// Keys of tags, or values of a key, that entities have, in the order of their bytes, at most
    /// `limit` of them: for lists to choose from, and to complete what is typed.
    ///
    /// # Errors
    ///
    /// If there is no such kind of entity or it has no such tags, if tags are kept as rows, or if
    /// the store fails.
    pub async fn tags(
        &self,
        entity: &str,
        find: &FindTags,
        limit: u32,
    ) -> Result<Vec<TagCount>, Error> {
        let schema =
            self.schema_for(|schema| Ok(schema.is_matching_ready(find_entity(schema, entity)?.0)));
        let building = || Error::Building { what: format!("The tags of `{entity}`") };
        let schema = schema.await?.ok_or_else(building)?;
        let (id, declared) = find_entity(&schema, entity)?;
        let field = tag_field(declared, find.field.as_deref())?;
        let tenant = self.tenant_of(&schema, id)?;
        let layout = &schema.layouts.current;
        let sets = self.shared.store.sets().filter(|_| layout.matching() == Matching::Sets);
        let sets = sets.ok_or_else(|| Error::Unknown {
            what: format!("Which tags `{entity}` has is not known: they are kept as rows"),
            help: Some("use a store that has sets".to_owned()),
        })?;
        let group = |text: &str| {
            let group = match &find.key {
                Some(key) => Group::Tag(field, key, text),
                None => Group::TagKey(field, text),
            };
            layout.group_name(id, tenant.as_ref(), &group)
        };
        let after = find.after.as_deref().map(group).transpose()?;
        let after = after.map(|name| SetName::new(name.into_vec())).transpose();
        let list = ListSets {
            table: self.shared.table.clone(),
            // A text ends with bytes of its own, which what only begins with it lacks.
            prefix: KeyBytes::before(KeyBytes::before(group(&find.prefix)?.as_bytes())).to_vec(),
            after: after.map_err(keyloom_store::Error::from)?,
            limit: limit.max(1),
        };
        let found = sets.list_sets(list).await?.into_iter();
        let count = |size: keyloom_store::SetSize| {
            let parts = KeyBytes::decode(size.set.as_bytes()).ok()?;
            let text = parts.last()?.as_s()?.to_owned();
            Some(TagCount { text, count: size.members })
        };
        Ok(found.filter_map(count).collect())
    }
}
