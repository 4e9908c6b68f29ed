//! What can go wrong: an error of the database, or a stored value that the generated type does not have.

/// An error of a typed call.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The database refused the call, or failed.
    #[error(transparent)]
    Db(#[from] keyloom::Error),
    /// A stored value does not fit the generated type.
    #[error(transparent)]
    Unfit(#[from] Unfit),
}

/// A value that does not fit the generated type: the model in force is not the one that the module was
/// generated from. Generate it again, from that model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{field}` of {} does not fit its generated type, which expects {expected}: generate the module from \
     the model in force.", whose(.entity, .id.as_deref())
)]
pub struct Unfit {
    /// The kind of entity.
    pub entity: String,
    /// The id of the entity, if it is a field of one.
    pub id: Option<String>,
    /// The field.
    pub field: String,
    /// What the generated type expects.
    pub expected: &'static str,
}

fn whose(entity: &str, id: Option<&str>) -> String {
    match id {
        Some(id) => format!("the `{entity}` `{id}`"),
        None => format!("`{entity}`"),
    }
}
