//! From changes to intents: names become ids, ids become keys, and new entities get an id.

use keyloom_model::{EntityId, IdSource, check_id};
use keyloom_value::{Item, Value};

use super::{Change, Kind};
use crate::error::{Error, IdProblem};
use crate::scope::Scope;
use crate::stamp::Stamps;
use crate::write::{ACTIONS_MAX, Intent};

/// Resolves the changes of one transaction.
///
/// # Errors
///
/// If there are more than fit into one; if an entity, an id or the tenant is wrong.
pub(crate) fn resolve(
    changes: Vec<Change>,
    scope: Scope<'_>,
    stamps: &Stamps,
) -> Result<Vec<Intent>, Error> {
    let (rows, rows_max) = (changes.len(), ACTIONS_MAX);
    if rows > rows_max {
        return Err(Error::TooLarge { rows, rows_max });
    }
    let resolver = Resolver { scope, stamps };
    changes.into_iter().map(|change| resolver.intent(change)).collect()
}

/// Fails unless an id is one that callers can choose.
pub(crate) fn check_chosen_id(scope: Scope<'_>, entity: EntityId, id: &str) -> Result<(), Error> {
    let entity = &scope.schema.model().entity(entity).name;
    check_id(id).map_err(|error| Error::Fields { entity: entity.clone(), errors: vec![error] })
}

struct Resolver<'r> {
    scope: Scope<'r>,
    stamps: &'r Stamps,
}

impl Resolver<'_> {
    fn intent(&self, change: Change) -> Result<Intent, Error> {
        let (entity, _) = self.scope.entity(&change.entity)?;
        let key = |id: String| self.scope.key(entity, id);
        let Change { id, kind, expected, author, .. } = change;
        match (kind, id) {
            (Kind::Create(mut document), id) => {
                let id = id.map_or_else(|| self.new_id(entity, &mut document), Ok)?;
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
