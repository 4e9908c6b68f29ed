//! Counts and boards: how many there are, what is ranked, one on a board and who is around it.

use hyper::StatusCode;
use keyloom::{Item, Ranked, Value, item_to_json};
use keyloom_model::{Board, Count, Entity, FieldId, Model, Ranking};

use super::call::{Call, Reply, bad_parameter, cut};
use super::list::check_path;
use super::problem::{Kind, Problem};
use super::question::value;

/// Parameters of counts and boards that are no fields.
pub(crate) const OF_COUNTS: [&str; 3] = ["split", "limit", "cursor"];
pub(crate) const OF_BOARDS: [&str; 3] = ["limit", "cursor", "around"];

/// The fields of `by` that a path leaves open.
pub(crate) fn open_fields(in_path: &[FieldId], by: &[FieldId]) -> Vec<FieldId> {
    by.iter().copied().filter(|field| !in_path.contains(field)).collect()
}

/// `{"count": 3}`, or with `split` a page of `{"values": {"rating": 5}, "count": 3}`.
pub(super) async fn count(
    (call, model): (&Call, &Model),
    (entity, count): (&Entity, &Count),
    in_path: &[FieldId],
) -> Result<Reply, Problem> {
    let open = open_fields(in_path, &count.by);
    let names = |fields: &[FieldId]| -> Vec<String> {
        fields.iter().map(|field| entity.field(*field).name.clone()).collect()
    };
    let fields = [names(&open), names(&count.split)].concat();
    let known: Vec<&str> = fields.iter().map(String::as_str).chain(OF_COUNTS).collect();
    call.check_parameters(&known)?;
    let mut query = call.db.count(&entity.name, &count.name);
    for (name, value) in given(call, entity, (in_path, &open))? {
        query = query.by(&name, value);
    }
    for field in count.split.iter().map(|field| entity.field(*field)) {
        if let Some(text) = call.parameter(&field.name)? {
            query = query.only(&field.name, value(field, bare(text))?);
        }
    }
    // Also where there is one number, and no page of them, they must be what they should.
    let (limit, cursor) = (call.limit()?, call.parameter("cursor")?);
    let Some(split) = call.parameter("split")? else {
        let total = query.total().await?;
        if total == 0 {
            check_path(call, model, (entity, in_path)).await?;
        }
        return Ok(Reply::json(StatusCode::OK, format!("{{\"count\":{total}}}")));
    };
    for name in split.split(',') {
        if !names(&count.split).iter().any(|field| field == name) {
            let (name, names) = (cut(name), names(&count.split).join("`, `"));
            let detail = format!("It is not split by `{name}`: it takes `{names}`.");
            return Err(bad_parameter(detail));
        }
        query = query.split(name);
    }
    if let Some(limit) = limit {
        query = query.limit(limit);
    }
    if let Some(cursor) = cursor {
        query = query.after(cursor);
    }
    let counts = query.read().await?;
    if counts.items.is_empty() {
        check_path(call, model, (entity, in_path)).await?;
    }
    let items = counts.items.into_iter().map(|(values, count)| {
        Item::from([("values", Value::M(entity.show(&values))), ("count", Value::from(count))])
    });
    Ok(page(items, counts.next))
}

/// A page of a board, or the part around one.
pub(super) async fn board(
    call: &Call,
    (entity, board): (&Entity, &Board),
) -> Result<Reply, Problem> {
    let names = board.by.iter().map(|field| entity.field(*field).name.as_str());
    let known: Vec<&str> = names.chain(OF_BOARDS).collect();
    call.check_parameters(&known)?;
    let mut query = call.db.board(&board.name);
    for (name, value) in given(call, entity, (&[], &board.by))? {
        query = query.by(&name, value);
    }
    if let Some(limit) = call.limit()? {
        query = query.limit(limit);
    }
    let shown = |one: Ranked| shown((entity, board), one);
    if let Some(of) = call.parameter("around")? {
        if call.parameter("cursor")?.is_some() {
            let detail = "What is around one is one page: leave `cursor` or `around` out.";
            return Err(Problem::new(Kind::BadCursor, detail));
        }
        let around = query.around(ranked_value((entity, board), of)?).await?;
        let around = around.ok_or_else(|| not_on_it(board, of))?;
        return Ok(page(around.into_iter().map(shown), None));
    }
    if let Some(cursor) = call.parameter("cursor")? {
        query = query.after(cursor);
    }
    let found = query.read().await?;
    Ok(page(found.items.into_iter().map(shown), found.next))
}

/// One on a board: `{"of": "43", "rank": 1, "score": 150}`.
pub(super) async fn ranked(
    call: &Call,
    (entity, board): (&Entity, &Board),
) -> Result<Reply, Problem> {
    let names = board.by.iter().map(|field| entity.field(*field).name.as_str());
    call.check_parameters(&names.collect::<Vec<&str>>())?;
    let mut query = call.db.board(&board.name);
    for (name, value) in given(call, entity, (&[], &board.by))? {
        query = query.by(&name, value);
    }
    let of = call.value(0);
    let found = query.rank(ranked_value((entity, board), of)?).await?;
    let found = found.ok_or_else(|| not_on_it(board, of))?;
    Ok(Reply::json(StatusCode::OK, item_to_json(&shown((entity, board), found))))
}

/// The values of `by`, in the path and in the query.
fn given(
    call: &Call,
    entity: &Entity,
    (in_path, open): (&[FieldId], &[FieldId]),
) -> Result<Vec<(String, Value)>, Problem> {
    let mut given = vec![];
    for (field, text) in in_path.iter().zip(&call.values) {
        let field = entity.field(*field);
        given.push((field.name.clone(), value(field, text)?));
    }
    for field in open.iter().map(|field| entity.field(*field)) {
        let text = call.parameter(&field.name)?.ok_or_else(|| {
            bad_parameter(format!("`{}` is missing: give a value of it.", field.name))
        })?;
        given.push((field.name.clone(), value(field, bare(text))?));
    }
    Ok(given)
}

/// A value of a query as lists take it, where one that begins with a sign has `=` before it.
fn bare(text: &str) -> &str {
    text.strip_prefix('=').unwrap_or(text)
}

fn ranked_value((entity, board): (&Entity, &Board), text: &str) -> Result<Value, Problem> {
    match board.ranking {
        Ranking::Count(field) => value(entity.field(field), text),
        Ranking::Field(_) => Ok(Value::from(text)),
    }
}

fn shown((entity, board): (&Entity, &Board), one: Ranked) -> Item {
    let (of, score) = match board.ranking {
        Ranking::Count(field) => (entity.field(field).of.show(&one.of), Value::N(one.score)),
        Ranking::Field(field) => (one.of, entity.field(field).of.show(&Value::N(one.score))),
    };
    Item::from([("rank", Value::from(one.rank)), ("of", of), ("score", score)])
}

fn not_on_it(board: &Board, of: &str) -> Problem {
    let detail = format!("`{}` is not on the board `{}`.", cut(of), board.name);
    Problem::new(Kind::NotFound, detail)
}

fn page(items: impl Iterator<Item = Item>, next: Option<String>) -> Reply {
    let mut body = Item::from([("items", Value::L(items.map(Value::M).collect()))]);
    if let Some(next) = next {
        body.insert("next", next);
    }
    Reply::json(StatusCode::OK, item_to_json(&body))
}
