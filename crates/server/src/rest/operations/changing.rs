//! What operations that change an entity share.

use hyper::header::HeaderName;
use keyloom::{Change, Error, Idempotent, Record};
use keyloom_model::Entity;

use super::super::call::{Call, Reply, Tags};
use super::super::problem::{Kind, Problem};
use super::super::uri::encode;

/// Marks a response as that of an earlier request with the same key.
pub(super) const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The results of changes, one record for each.
pub(crate) struct Done {
    pub(crate) records: Vec<Option<Record>>,
    /// Whether an earlier request with the same key had applied them.
    is_replayed: bool,
}

impl Done {
    /// Marks a reply if it is that of an earlier request.
    pub(crate) fn reply(&self, reply: Reply) -> Reply {
        if self.is_replayed { reply.with(REPLAYED, "true") } else { reply }
    }

    /// The entity of a change that was not a deletion.
    pub(crate) fn record(&self) -> Result<&Record, Problem> {
        let record = self.records.first().and_then(Option::as_ref);
        record.ok_or_else(|| Error::Contended.into())
    }
}

/// Applies changes for a client; once, if the request has an idempotency key.
pub(crate) async fn transact(call: &Call, changes: Vec<Change>) -> Result<Done, Problem> {
    let changes = changes.into_iter().map(Change::from_client).collect();
    let done = match call.idempotency_key()? {
        None => call.db.transact(changes).await.map(Idempotent::Applied),
        Some(key) => call.db.transact_idempotent(&separate_key(call, &key), changes).await,
    };
    let done = done.map_err(|error| match (&error, call.if_match()) {
        (Error::VersionMismatch { .. }, Ok(Tags::Of(_))) => {
            Problem::new(Kind::VersionMismatch, error.to_string())
        }
        // Created concurrently, after `replace` read.
        (Error::Exists { .. }, _) if call.if_none_match().is_ok_and(|tags| tags == Tags::Any) => {
            Problem::new(Kind::VersionMismatch, error.to_string())
        }
        _ => Problem::from(error),
    })?;
    let is_replayed = matches!(done, Idempotent::Replayed(_));
    Ok(Done { records: done.records(), is_replayed })
}

/// An idempotency key as the library knows it: separate for each token, as keys are for each tenant.
pub(super) fn separate_key(call: &Call, key: &str) -> String {
    format!("{} {key}", call.caller.token.as_deref().unwrap_or_default())
}

/// Makes a change conditional on the versions in `If-Match`.
pub(crate) async fn expecting(
    call: &Call,
    entity: &Entity,
    change: Change,
) -> Result<Change, Problem> {
    let versions = match call.if_match()? {
        Tags::Absent | Tags::Any => return Ok(change),
        Tags::Of(versions) => versions,
    };
    if let [version] = &versions[..] {
        return Ok(change.expecting(version));
    }
    let record = call.db.get(&entity.name, call.value(0)).await?;
    let record = record.ok_or_else(|| not_found(entity, call.value(0)))?;
    // The current version if it is in the list, otherwise one that no entity has.
    let named = versions.iter().find(|version| *version == record.version());
    Ok(change.expecting(named.map_or("", String::as_str)))
}

/// The path of an entity.
pub(crate) fn location(entity: &Entity, id: &str) -> String {
    format!("{}/{}", entity.path, encode(id))
}

pub(crate) fn not_found(entity: &Entity, id: &str) -> Problem {
    Error::NotFound { entity: entity.name.clone(), id: id.to_owned() }.into()
}
