//! Whether a user may see or change an entity.

use keyloom_model::{
    Entity, EntityId, EntityKey, FieldOrigin, FieldType, Grantees, IdSource, Image, Model,
};
use keyloom_query::Reader;
use keyloom_value::Value;

use super::user::{Grant, User};
use crate::answer::Answer;
use crate::error::Error;
use crate::schema::Layouts;
use crate::write::{Decision, Intent};

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Read,
    Create,
    Update,
    Delete,
}

/// The rules of a model, for one user.
#[derive(Clone, Copy)]
pub(crate) struct Rules<'a> {
    pub(crate) user: &'a User,
    pub(crate) layouts: &'a Layouts,
    /// Reads parents, if a rule is about them.
    pub(crate) reader: Reader<'a>,
}

impl Deed {
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Deed::Read => "read",
            Deed::Create => "create",
            Deed::Update => "change",
            Deed::Delete => "delete",
        }
    }

    fn rule(self, entity: &Entity) -> &Grantees {
        match self {
            Deed::Read => &entity.access.read,
            Deed::Create => &entity.access.create,
            Deed::Update => &entity.access.update,
            Deed::Delete => &entity.access.delete,
        }
    }

    /// What users must be allowed to do with the parent, where a rule is about it.
    fn on_parent(self) -> Deed {
        match self {
            Deed::Read => Deed::Read,
            Deed::Create | Deed::Update | Deed::Delete => Deed::Update,
        }
    }

    fn grant(self, user: &User, entity: &Entity) -> Grant {
        match self {
            Deed::Read => user.reads(self.rule(entity)),
            Deed::Create | Deed::Update | Deed::Delete => user.writes(self.rule(entity)),
        }
    }
}

/// Fails if a user can read no entity of this kind.
pub(crate) fn check_readable(
    user: Option<&User>,
    model: &Model,
    entity: EntityId,
) -> Result<(), Error> {
    let (entity, deed) = (model.entity(entity), Deed::Read);
    match user {
        Some(user) if deed.grant(user, entity).is_none() => Err(forbidden(deed, entity)),
        Some(_) | None => Ok(()),
    }
}

/// Fails if a user can not read all children of this kind of a parent that they can read: a page of
/// children cannot be limited to an owner.
pub(crate) fn check_children(user: Option<&User>, children: &Entity) -> Result<(), Error> {
    let Some(user) = user else { return Ok(()) };
    let grant = Deed::Read.grant(user, children);
    match grant.all || grant.of_parent {
        true => Ok(()),
        false => Err(Error::Forbidden {
            what: format!(
                "the access rules do not let this user read all `{}` of a parent",
                children.name
            ),
        }),
    }
}

/// The rules do not allow any user like this one to do so.
fn forbidden(deed: Deed, entity: &Entity) -> Error {
    let what = format!("the access rules do not let this user {} `{}`", deed.verb(), entity.name);
    Error::Forbidden { what }
}

impl Rules<'_> {
    /// Whether the user may see an entity.
    pub(crate) async fn is_visible(&self, image: &Image) -> Result<bool, Error> {
        self.admits(Deed::Read, image).await
    }

    /// Whether the user may see the children of one kind of an entity: all of them, or none.
    pub(crate) async fn shows_children(
        &self,
        kind: EntityId,
        parent: &Image,
    ) -> Result<bool, Error> {
        let kind = self.layouts.current.model().entity(kind);
        let grant = Deed::Read.grant(self.user, kind);
        Ok(grant.all || grant.of_parent && self.is_visible(parent).await?)
    }

    /// Whether the user may do something with an entity.
    pub(crate) fn admits<'i>(&'i self, deed: Deed, image: &'i Image) -> Answer<'i, bool> {
        Box::pin(async move {
            let entity = self.entity(&image.key);
            let grant = deed.grant(self.user, entity);
            if grant.all || grant.own && self.is_own(entity, image) {
                return Ok(true);
            }
            match parent_of(entity, image).filter(|_| grant.of_parent) {
                Some(parent) => self.admits_key(deed.on_parent(), &parent).await,
                None => Ok(false),
            }
        })
    }

    /// Whether the user may do something with the entity that has this key.
    pub(crate) async fn admits_key(&self, deed: Deed, key: &EntityKey) -> Result<bool, Error> {
        match self.reader.get(key).await? {
            Some(row) => self.admits(deed, &self.layouts.upgraded(row)).await,
            None => Ok(false),
        }
    }

    /// Fails if no rule lets the user do such a thing to any entity of the kind, whether this one exists or
    /// not.
    pub(crate) fn check_granted(&self, intent: &Intent) -> Result<(), Error> {
        let entity = self.entity(intent.key());
        let lacks = |deed: Deed| deed.grant(self.user, entity).is_none();
        let deeds: &[Deed] = match intent {
            Intent::Create { .. } => &[Deed::Create],
            Intent::Update { .. } => &[Deed::Read, Deed::Update],
            // It may create the entity.
            Intent::Put { .. } if self.may_create(entity) => &[Deed::Create],
            Intent::Put { .. } => &[Deed::Read, Deed::Update],
            Intent::Delete { .. } => &[Deed::Read, Deed::Delete],
            Intent::Import { .. } | Intent::Expire { .. } => &[],
        };
        match deeds.iter().find(|deed| lacks(**deed)) {
            Some(deed) => Err(forbidden(*deed, entity)),
            None => Ok(()),
        }
    }

    /// Fails if the entity that an intent is about is not visible to the user: it does not exist for them.
    pub(crate) async fn check_visible(
        &self,
        intent: &Intent,
        before: Option<&Image>,
    ) -> Result<(), Error> {
        let entity = self.entity(intent.key());
        let is_seen = match (intent, before) {
            (Intent::Create { .. }, _) => true,
            // Without the right to create one, it does not matter whether there is one to replace.
            (Intent::Put { .. }, None) => self.may_create(entity),
            (_, None) => true,
            (_, Some(before)) => self.is_visible(before).await?,
        };
        match is_seen {
            true => Ok(()),
            false => {
                let id = intent.key().id.clone();
                Err(Error::NotFound { entity: entity.name.clone(), id })
            }
        }
    }

    /// Fails if the user may not do what was decided.
    pub(crate) async fn check_decision(
        &self,
        intent: &Intent,
        before: Option<&Image>,
        decision: &Decision,
    ) -> Result<(), Error> {
        let after = match decision {
            Decision::Change(transition) => transition.after.as_ref(),
            Decision::Unchanged(_) => before,
        };
        let deed = match (intent.is_deletion(), before) {
            (true, _) => Deed::Delete,
            (false, None) => Deed::Create,
            (false, Some(_)) => Deed::Update,
        };
        // An entity must be theirs before and after: nobody takes one, or gives it away.
        for image in before.into_iter().chain(after) {
            if !self.admits(deed, image).await? {
                return Err(forbidden(deed, self.entity(&image.key)));
            }
        }
        Ok(())
    }

    /// Whether the user may create some entities of a kind with an id of their choice.
    fn may_create(&self, entity: &Entity) -> bool {
        let is_given = entity.id_source == IdSource::Given;
        is_given && !Deed::Create.grant(self.user, entity).is_none()
    }

    fn is_own(&self, entity: &Entity, image: &Image) -> bool {
        let Some(owner) = entity.access.owner else { return false };
        let field = entity.field(owner);
        let owner = match field.origin {
            FieldOrigin::Id => Some(image.key.id.as_str()),
            FieldOrigin::Parent | FieldOrigin::Declared => {
                image.fields.get(&field.name).and_then(Value::as_s)
            }
        };
        owner == Some(self.user.subject.as_str())
    }

    fn entity(&self, key: &EntityKey) -> &Entity {
        self.layouts.current.model().entity(key.entity)
    }
}

/// The key of the parent of an entity.
fn parent_of(entity: &Entity, image: &Image) -> Option<EntityKey> {
    let field = entity.field(entity.parent?);
    let FieldType::Ref(parent, _) = field.of else { return None };
    let id = image.fields.get(&field.name).and_then(Value::as_s)?;
    Some(EntityKey { entity: parent, tenant: image.key.tenant.clone(), id: id.to_owned() })
}
