//! One entity: by its id, or by a unique value.

use keyloom::{Db, Value};

use crate::{Entity, Error, Id};

/// Returns the entity with this id, if it exists.
///
/// # Errors
///
/// As [`Db::get`].
pub async fn get<E: Entity>(db: &Db, id: &Id<E>) -> Result<Option<E>, Error> {
    let record = db.get(E::NAME, id.as_str()).await?;
    Ok(record.as_ref().map(E::from_record).transpose()?)
}

/// Returns the entity with these values of a unique, if it exists.
///
/// # Errors
///
/// As [`Db::find`].
pub async fn find<E: Entity>(db: &Db, values: &[(&str, Value)]) -> Result<Option<E>, Error> {
    let record = db.find(E::NAME, values).await?;
    Ok(record.as_ref().map(E::from_record).transpose()?)
}
