//! `Query`.

use keyloom_store::{Direction, Query, Select};

use crate::wire::Fault;

use super::Endpoint;
use super::expressions::Expressions;
use super::page::{PageParams, PageSource};
use super::params::{Params, refuse_legacy};
use super::refusal::{self, RequestKind};
use super::scalar_keys::NestedPaths;

const LEGACY: &[(&str, &str)] = &[
    ("KeyConditions", "KeyConditionExpression"),
    ("QueryFilter", "FilterExpression"),
    ("ConditionalOperator", "FilterExpression"),
    ("AttributesToGet", "ProjectionExpression"),
];

pub(super) async fn run(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let (source, query) = read(params)?;
    let index = source.check(endpoint).await?;
    let paths = NestedPaths::default().add_condition(query.filter.as_ref());
    let paths = match &query.select {
        Select::Parts(projection) => paths.add_projection(Some(projection)),
        Select::All | Select::AllOfTable | Select::Count => paths,
    };
    endpoint.check_scalar_keys(&source.table, &paths).await?;
    let requested = query.clone();
    match endpoint.store.query(query).await {
        Ok(page) => Ok(source.response(index.as_ref(), &page)),
        Err(error) => {
            let kind = RequestKind::Query(&requested);
            Err(refusal::item_fault(endpoint, &source.table, kind, error).await)
        }
    }
}

fn read(params: Params<'_>) -> Result<(PageSource, Query), Fault> {
    let mut page = PageParams::read(&params)?;
    let parameters = ["ProjectionExpression", "FilterExpression", "KeyConditionExpression"];
    let expressions = Expressions::read(&params, &parameters)?;
    let direction = match params.boolean("ScanIndexForward")? {
        Some(false) => Direction::Backward,
        _ => Direction::Forward,
    };
    page.violations(&params)?.finish()?;
    refuse_legacy(&params, LEGACY)?;
    expressions.check()?;
    let start = page.start_key()?;
    let mut parsing = expressions.parse()?;
    let key = parsing.key_condition()?.ok_or_else(|| {
        Fault::validation(
            "Either the KeyConditions or KeyConditionExpression parameter must be specified in \
             the request.",
        )
    })?;
    let filter = parsing.condition("FilterExpression")?;
    let projection = parsing.projection()?;
    parsing.finish()?;
    let source = page.source(page.select(projection)?)?;
    let query = Query {
        table: source.table.clone(),
        index: source.index.clone(),
        key,
        filter,
        select: source.select.clone(),
        direction,
        limit: page.limit(),
        start,
        consistency: source.consistency,
    };
    Ok((source, query))
}
