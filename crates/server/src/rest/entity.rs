//! One entity: made, read, replaced, changed, deleted.

use hyper::StatusCode;
use hyper::header::{ETAG, HeaderName};
use keyloom::{Change, Error, Record};
use keyloom_model::{Entity, IdSource};

use super::call::{Call, Reply, Tags, tag};
use super::problem::{Kind, Problem};
use super::uri::encode;

/// Says that an answer is that of an earlier request with the same key.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

pub(super) async fn create(call: &Call, entity: &Entity) -> Result<Reply, Problem> {
    call.check_parameters(&[])?;
    let change = Change::create_item(&entity.name, call.document()?);
    let (record, is_replayed) = make(call, change).await?;
    let record = record.ok_or_else(gone)?;
    let reply = Reply::record(StatusCode::CREATED, &record).at(location(entity, record.id()));
    Ok(replayed(reply, is_replayed))
}

pub(super) async fn read(call: &Call, entity: &Entity) -> Result<Reply, Problem> {
    call.check_parameters(&[])?;
    let id = call.value(0);
    let record = call.db.get(&entity.name, id).await?.ok_or_else(|| not_found(entity, id))?;
    let is_known = match call.if_none_match()? {
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
    // Whether it was there is known for certain only if the request says that it must not be.
    let was_there = call.db.get(&entity.name, id).await?.is_some();
    let change = match call.if_none_match()? {
        Tags::Any if was_there => return Err(there_already(entity, id)),
        Tags::Any if entity.id_source == IdSource::Given => {
            document.insert("id", id);
            Change::create_item(&entity.name, document)
        }
        Tags::Any | Tags::Absent | Tags::Of(_) => {
            expecting(call, entity, Change::put_item(&entity.name, id, document)).await?
        }
    };
    let (record, is_replayed) = make(call, change).await?;
    let record = record.ok_or_else(gone)?;
    let reply = match was_there {
        true => Reply::record(StatusCode::OK, &record),
        false => Reply::record(StatusCode::CREATED, &record).at(location(entity, id)),
    };
    Ok(replayed(reply, is_replayed))
}

pub(super) async fn change(call: &Call, entity: &Entity) -> Result<Reply, Problem> {
    call.check_parameters(&[])?;
    let change = Change::update_item(&entity.name, call.value(0), call.document()?);
    let (record, is_replayed) = make(call, expecting(call, entity, change).await?).await?;
    Ok(replayed(Reply::record(StatusCode::OK, &record.ok_or_else(gone)?), is_replayed))
}

pub(super) async fn delete(call: &Call, entity: &Entity) -> Result<Reply, Problem> {
    call.check_parameters(&[])?;
    let change = Change::delete(&entity.name, call.value(0));
    let (_, is_replayed) = make(call, expecting(call, entity, change).await?).await?;
    Ok(replayed(Reply::empty(StatusCode::NO_CONTENT), is_replayed))
}

/// Whether a request had been made before, with the same key.
pub(super) type IsReplayed = bool;

/// Makes changes, once if the request has a key.
pub(super) async fn transact(
    call: &Call,
    changes: Vec<Change>,
) -> Result<(Vec<Option<Record>>, IsReplayed), Error> {
    Ok((call.db.transact(changes).await?, false))
}

pub(super) fn replayed(reply: Reply, is_replayed: IsReplayed) -> Reply {
    if is_replayed { reply.with(REPLAYED, "true") } else { reply }
}

async fn make(call: &Call, change: Change) -> Result<(Option<Record>, IsReplayed), Problem> {
    let made = transact(call, vec![change]).await;
    let (mut records, is_replayed) = made.map_err(|error| match (&error, call.if_match()) {
        (Error::VersionMismatch { .. }, Ok(Tags::Of(_))) => {
            Problem::new(Kind::VersionMismatch, error.to_string())
        }
        _ => Problem::from(error),
    })?;
    Ok((records.pop().flatten(), is_replayed))
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
    let detail = format!("There is a `{}` with the id `{id}` already.", entity.name);
    Problem::new(Kind::VersionMismatch, detail)
}

/// A change that answers with no entity although it was not a deletion.
fn gone() -> Problem {
    Error::Contended.into()
}
