//! One entity: made, read, replaced, changed, deleted.

use hyper::StatusCode;
use hyper::header::{ETAG, HeaderName};
use keyloom::{Change, Error, IdProblem, Once, Record};
use keyloom_model::{Entity, IdSource};

use super::call::{Call, Reply, Tags, tag};
use super::problem::{Kind, Problem};
use super::uri::encode;

/// Says that an answer is that of an earlier request with the same key.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

pub(super) async fn create(call: &Call, entity: &Entity) -> Result<Reply, Problem> {
    call.check_parameters(&[])?;
    let change = Change::create_item(&entity.name, call.document()?);
    let done = transact(call, vec![change]).await?;
    let record = done.record()?;
    let reply = Reply::record(StatusCode::CREATED, record).at(location(entity, record.id()));
    Ok(done.reply(reply))
}

pub(super) async fn read(call: &Call, entity: &Entity) -> Result<Reply, Problem> {
    let (id, known) = (call.value(0), call.if_none_match()?);
    if let Some(with) = call.parameter("with")? {
        call.check_parameters(&["with", "limit"])?;
        let tree = call.db.tree(&entity.name, id, with, call.limit()?).await?;
        let tree = tree.ok_or_else(|| not_found(entity, id))?;
        // The version is that of the entity alone: it says nothing about what comes with it.
        return Ok(Reply::json(StatusCode::OK, tree.to_json()).with(ETAG, tag(&tree.record)));
    }
    call.check_parameters(&["with"])?;
    let record = call.db.get(&entity.name, id).await?.ok_or_else(|| not_found(entity, id))?;
    let is_known = match known {
        Tags::Absent => false,
        Tags::Any => true,
        Tags::Of(versions) => versions.iter().any(|version| version == record.version()),
    };
    Ok(match is_known {
        true => Reply::empty(StatusCode::NOT_MODIFIED).with(ETAG, tag(&record)),
        false => Reply::record(StatusCode::OK, &record),
    })
}

pub(super) async fn replace(call: &Call, entity: &Entity) -> Result<Reply, Problem> {
    call.check_parameters(&[])?;
    let (id, mut document) = (call.value(0), call.document()?);
    let must_be_new = call.if_none_match()? == Tags::Any && entity.id_source == IdSource::Given;
    // One that must be new is looked for by the change itself: a repeat finds what it has made.
    let before = match must_be_new {
        true => None,
        false => call.db.get(&entity.name, id).await?,
    };
    check_put(call, entity, before.as_ref())?;
    let was_there = before.is_some();
    let change = match must_be_new {
        true => {
            let named = document.insert("id", id);
            if named.is_some_and(|named| named.as_s() != Some(id)) {
                let (entity, problem) = (entity.name.clone(), IdProblem::Other);
                return Err(Error::Id { entity, problem }.into());
            }
            Change::create_item(&entity.name, document)
        }
        false => expecting(call, entity, Change::put_item(&entity.name, id, document)).await?,
    };
    let done = transact(call, vec![change]).await?;
    let reply = match was_there {
        true => Reply::record(StatusCode::OK, done.record()?),
        false => Reply::record(StatusCode::CREATED, done.record()?).at(location(entity, id)),
    };
    Ok(done.reply(reply))
}

/// The conditions that only a `PUT` can break, as it makes what is not there.
fn check_put(call: &Call, entity: &Entity, before: Option<&Record>) -> Result<(), Problem> {
    let id = call.value(0);
    let is_excluded = match (call.if_none_match()?, before) {
        (Tags::Absent, _) | (_, None) => false,
        (Tags::Any, Some(_)) => true,
        (Tags::Of(versions), Some(before)) => versions.iter().any(|v| v == before.version()),
    };
    if is_excluded {
        return Err(there_already(entity, id));
    }
    let is_made = before.is_none() && entity.id_source == IdSource::Given;
    if is_made && call.if_match()? != Tags::Absent {
        let detail = format!(
            "There is no `{}` with the id `{id}`: leave `If-Match` out to make it.",
            entity.name
        );
        return Err(Problem::new(Kind::VersionMismatch, detail));
    }
    Ok(())
}

pub(super) async fn change(call: &Call, entity: &Entity) -> Result<Reply, Problem> {
    call.check_parameters(&[])?;
    let change = Change::update_item(&entity.name, call.value(0), call.document()?);
    let done = transact(call, vec![expecting(call, entity, change).await?]).await?;
    Ok(done.reply(Reply::record(StatusCode::OK, done.record()?)))
}

pub(super) async fn delete(call: &Call, entity: &Entity) -> Result<Reply, Problem> {
    call.check_parameters(&[])?;
    let change = Change::delete(&entity.name, call.value(0));
    let done = transact(call, vec![expecting(call, entity, change).await?]).await?;
    Ok(done.reply(Reply::empty(StatusCode::NO_CONTENT)))
}

/// What a change left, one record for each.
pub(super) struct Done {
    pub(super) records: Vec<Option<Record>>,
    /// Whether it had happened before, with the same key.
    is_replayed: bool,
}

impl Done {
    /// The answer, which says if it is that of an earlier request.
    pub(super) fn reply(&self, reply: Reply) -> Reply {
        if self.is_replayed { reply.with(REPLAYED, "true") } else { reply }
    }

    /// The entity of a change that was not a deletion.
    fn record(&self) -> Result<&Record, Problem> {
        let record = self.records.first().and_then(Option::as_ref);
        record.ok_or_else(|| Error::Contended.into())
    }
}

/// Makes changes for a client; once, if the request has a key.
pub(super) async fn transact(call: &Call, changes: Vec<Change>) -> Result<Done, Problem> {
    let changes = changes.into_iter().map(Change::from_client).collect();
    let done = match call.idempotency_key()? {
        None => call.db.transact(changes).await.map(Once::Now),
        // Each token has keys of its own, as each tenant has.
        Some(key) => {
            let token = call.caller.token.as_deref().unwrap_or_default();
            call.db.transact_once(&format!("{token} {key}"), changes).await
        }
    };
    let done = done.map_err(|error| match (&error, call.if_match()) {
        (Error::VersionMismatch { .. }, Ok(Tags::Of(_))) => {
            Problem::new(Kind::VersionMismatch, error.to_string())
        }
        // Made by somebody else since `check_put` looked.
        (Error::Exists { .. }, _) if call.if_none_match().is_ok_and(|tags| tags == Tags::Any) => {
            Problem::new(Kind::VersionMismatch, error.to_string())
        }
        _ => Problem::from(error),
    })?;
    let is_replayed = matches!(done, Once::Before(_));
    Ok(Done { records: done.records(), is_replayed })
}

/// The change, if the entity has a version that the request names.
async fn expecting(call: &Call, entity: &Entity, change: Change) -> Result<Change, Problem> {
    let versions = match call.if_match()? {
        Tags::Absent | Tags::Any => return Ok(change),
        Tags::Of(versions) => versions,
    };
    if let [version] = &versions[..] {
        return Ok(change.expecting(version));
    }
    let record = call.db.get(&entity.name, call.value(0)).await?;
    let record = record.ok_or_else(|| not_found(entity, call.value(0)))?;
    // One that is in the list, or one that it cannot have.
    let named = versions.iter().find(|version| *version == record.version());
    Ok(change.expecting(named.map_or("", String::as_str)))
}

fn location(entity: &Entity, id: &str) -> String {
    format!("{}/{}", entity.path, encode(id))
}

pub(super) fn not_found(entity: &Entity, id: &str) -> Problem {
    Error::NotFound { entity: entity.name.clone(), id: id.to_owned() }.into()
}

fn there_already(entity: &Entity, id: &str) -> Problem {
    let detail = format!(
        "There is a `{}` with the id `{id}`, and `If-None-Match` says that there must not be.",
        entity.name
    );
    Problem::new(Kind::VersionMismatch, detail)
}
