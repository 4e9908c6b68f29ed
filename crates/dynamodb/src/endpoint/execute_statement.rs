//! `ExecuteStatement`.

use keyloom_store::{OnFailure, TableSpec};
use keyloom_value::Item;

use crate::json::Writer;
use crate::partiql::{Resolved, Select};
use crate::wire::{Fault, write_item};

use super::Endpoint;
use super::capacity::{self, Consumed, Detail};
use super::next_token::{Fingerprint, Position};
use super::params::Params;
use super::statement::{StatementParams, statement_fault};
use super::statement_read::{SelectedPage, Selection};
use super::statement_write::{self, KeyRule};
use super::violations::{CAPACITY, Violations};

/// The longest `NextToken`.
const TOKEN_CHARS_MAX: usize = 32_768;

pub(super) async fn run(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let statement = StatementParams::read(&params)?;
    let request = read(&params, &statement)?;
    let values = statement.values()?;
    let resolved = statement.resolve(values).map_err(statement_fault)?;
    let spec = endpoint.statement_table(resolved.table()).await?;
    let Resolved::Select(select) = resolved else {
        return write(endpoint, resolved, spec, statement.on_failure, request.detail).await;
    };
    let fingerprint = Fingerprint::of(statement.text(), values);
    let from = request.token.map(|token| Position::from_token(token, fingerprint)).transpose()?;
    let page = select_page(endpoint, &select, spec, &statement, &request, from).await?;
    Ok(response(&page.items, request.detail, Some(&page.consumed), |w| {
        if let Some(next) = &page.next {
            w.name("NextToken").text(&next.token(fingerprint));
            if let Some(key) = &next.start {
                write_item(w.name("LastEvaluatedKey"), key);
            }
        }
    }))
}

/// The members of a request beside its statement.
struct Request<'a> {
    limit: Option<u32>,
    token: Option<&'a str>,
    detail: Detail,
}

fn read<'a>(params: &Params<'a>, statement: &StatementParams<'a>) -> Result<Request<'a>, Fault> {
    let limit = params.integer("Limit")?;
    let token = params.text("NextToken")?;
    let mut violations = Violations::default();
    let capacity = params.text("ReturnConsumedCapacity")?;
    violations.one_of("returnConsumedCapacity", capacity, CAPACITY);
    statement.violations(&mut violations, str::to_owned);
    violations.at_least("limit", limit, 1);
    if let Some(token) = token {
        let length = token.chars().count();
        violations.length("nextToken", "'…'", length, 1..=TOKEN_CHARS_MAX);
    }
    violations.finish()?;
    let limit = limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX));
    Ok(Request { limit, token, detail: Detail::read(params)? })
}

async fn select_page(
    endpoint: &Endpoint,
    select: &Select,
    spec: TableSpec,
    statement: &StatementParams<'_>,
    request: &Request<'_>,
    from: Option<Position>,
) -> Result<SelectedPage, Fault> {
    let selection = Selection::new(select, spec, statement.consistency, request.detail)?;
    selection.page(endpoint, request.limit, from.unwrap_or_default()).await
}

async fn write(
    endpoint: &Endpoint,
    resolved: Resolved,
    spec: TableSpec,
    on_failure: OnFailure,
    detail: Detail,
) -> Result<String, Fault> {
    let action = statement_write::action(resolved, &spec, KeyRule::Statement, on_failure);
    let action = action.map_err(statement_fault)?;
    let written = statement_write::write(endpoint, &spec, action, detail).await?;
    let items: Vec<Item> = written.image.into_iter().collect();
    Ok(response(&items, detail, written.consumed.as_ref(), |_| {}))
}

fn response(
    items: &[Item],
    detail: Detail,
    consumed: Option<&Consumed>,
    more: impl FnOnce(&mut Writer),
) -> String {
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name("Items").list(|w| items.iter().for_each(|item| write_item(w, item)));
        more(w);
        if let Some(consumed) = consumed {
            capacity::write_one(w, detail, consumed);
        }
    });
    writer.finish()
}
