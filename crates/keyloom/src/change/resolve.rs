//! From changes to intents: names become ids, ids become keys, and new entities get an id.

use std::collections::HashMap;

use keyloom_model::{EntityId, EntityKey, IdSource, check_id};
use keyloom_value::{Item, Value};

use super::{Change, GivenId, Kind};
use crate::error::{Error, IdProblem};
use crate::scope::Scope;
use crate::stamp::Stamps;
use crate::write::{ACTIONS_MAX, Intent};

/// Resolves the changes of one transaction.
///
/// # Errors
///
/// If there are more than fit into one; if an entity, an id, a name or the tenant is wrong.
pub(crate) fn resolve(
    changes: Vec<Change>,
    scope: Scope<'_>,
    stamps: &Stamps,
) -> Result<Vec<Intent>, Error> {
    let (rows, rows_max) = (changes.len(), ACTIONS_MAX);
    if rows > rows_max {
        return Err(Error::TooLarge { rows, rows_max });
    }
    let mut resolver = Resolver { scope, stamps, named: HashMap::new() };
    changes.into_iter().map(|change| resolver.resolve(change)).collect()
}

/// Fails unless an id is one that callers can choose.
pub(crate) fn check_chosen_id(scope: Scope<'_>, entity: EntityId, id: &str) -> Result<(), Error> {
    let entity = &scope.schema.model().entity(entity).name;
    check_id(id).map_err(|error| Error::Fields { entity: entity.clone(), errors: vec![error] })
}

struct Resolver<'r> {
    scope: Scope<'r>,
    stamps: &'r Stamps,
    /// The entities of the changes so far that have a name.
    named: HashMap<String, EntityKey>,
}

impl Resolver<'_> {
    fn resolve(&mut self, mut change: Change) -> Result<Intent, Error> {
        let name = change.name.take();
        let intent = self.intent(change)?;
        let Some(name) = name else { return Ok(intent) };
        if self.named.contains_key(&name) {
            return Err(Error::NameTwice { name });
        }
        self.named.insert(name, intent.key().clone());
        Ok(intent)
    }

    fn intent(&self, change: Change) -> Result<Intent, Error> {
        let (entity, _) = self.scope.entity(&change.entity)?;
        let key = |id: String| self.scope.key(entity, id);
        let Change { id, kind, expected, author, .. } = change;
        let id = id.map(|id| self.id(entity, id)).transpose()?;
        let mut kind = self.without_names(entity, kind)?;
        self.add_owner(entity, &mut kind);
        match (kind, id) {
            (Kind::Create(mut document), id) => {
                if let Some(id) = id {
                    self.check_same_id(entity, &id, &mut document)?;
                    document.insert("id", id);
                }
                let id = self.new_id(entity, &mut document)?;
                Ok(Intent::Create { key: key(id)?, document, author })
            }
            (Kind::Update(mut patch), Some(id)) => {
                self.check_same_id(entity, &id, &mut patch)?;
                Ok(Intent::Update { key: key(id)?, patch, expected, author })
            }
            (Kind::Put(mut document), Some(id)) => {
                self.check_same_id(entity, &id, &mut document)?;
                check_chosen_id(self.scope, entity, &id)?;
                Ok(Intent::Put { key: key(id)?, document, expected, author })
            }
            (Kind::Delete, Some(id)) => Ok(Intent::Delete { key: key(id)?, expected }),
            (Kind::Update(_) | Kind::Put(_) | Kind::Delete, None) => {
                Err(self.id_problem(entity, IdProblem::Missing))
            }
        }
    }

    /// What a user creates is theirs, unless the document says something else.
    fn add_owner(&self, entity: EntityId, kind: &mut Kind) {
        let entity = self.scope.schema.model().entity(entity);
        let (Some(user), Some(owner)) = (self.scope.user, entity.access.owner) else { return };
        let name = &entity.field(owner).name;
        let document = match kind {
            Kind::Create(document) => document,
            // Whoever may change all of them does not take one by replacing it.
            Kind::Put(document) if !user.updates_all(entity) => document,
            Kind::Put(_) | Kind::Update(_) | Kind::Delete => return,
        };
        if !document.contains(name) {
            document.insert(name.as_str(), user.subject.as_str());
        }
    }

    /// The change with ids in place of names.
    fn without_names(&self, entity: EntityId, mut kind: Kind) -> Result<Kind, Error> {
        match &mut kind {
            Kind::Create(document) | Kind::Update(document) | Kind::Put(document) => {
                self.replace_names(entity, document)?;
            }
            Kind::Delete => {}
        }
        Ok(kind)
    }

    fn replace_names(&self, entity: EntityId, document: &mut Item) -> Result<(), Error> {
        let model = self.scope.schema.model();
        let replaced = model.replace_names(entity, document, &|name| self.named.get(name));
        replaced.map_err(|errors| {
            let entity = model.entity(entity).name.clone();
            Error::Fields { entity, errors }
        })
    }

    /// The id of the entity to change.
    fn id(&self, entity: EntityId, id: GivenId) -> Result<String, Error> {
        let name = match id {
            GivenId::Text(id) => return Ok(id),
            GivenId::Of(name) => name,
        };
        // As in a document, so that errors are the same.
        let mut document = Item::from([("id", Value::M(Item::from([("$ref", name)])))]);
        self.replace_names(entity, &mut document)?;
        match document.remove("id") {
            Some(Value::S(id)) => Ok(id),
            _ => Err(self.id_problem(entity, IdProblem::Missing)),
        }
    }

    /// The id of a new entity: generated, or taken from its document.
    fn new_id(&self, entity: EntityId, document: &mut Item) -> Result<String, Error> {
        let given = document.remove("id");
        match (self.scope.schema.model().entity(entity).id_source, given) {
            (IdSource::Given, Some(Value::S(id))) => {
                check_chosen_id(self.scope, entity, &id)?;
                Ok(id)
            }
            (IdSource::Given, _) => Err(self.id_problem(entity, IdProblem::Missing)),
            (IdSource::Generated, None | Some(Value::Null)) => self.stamps.next(),
            (IdSource::Generated, Some(_)) => Err(self.id_problem(entity, IdProblem::Given)),
        }
    }

    /// A document may repeat the id of its entity, and no other.
    fn check_same_id(&self, entity: EntityId, id: &str, document: &mut Item) -> Result<(), Error> {
        match document.remove("id") {
            None => Ok(()),
            Some(Value::S(other)) if other == id => Ok(()),
            Some(_) => Err(self.id_problem(entity, IdProblem::Other)),
        }
    }

    fn id_problem(&self, entity: EntityId, problem: IdProblem) -> Error {
        Error::Id { entity: self.scope.schema.model().entity(entity).name.clone(), problem }
    }
}
