//! `Query`.

use keyloom_store::{Direction, Error, Invalid, Query, Select};

use crate::wire::Fault;

use super::Endpoint;
use super::expressions::Expressions;
use super::legacy::{self, AttributesToGet, Filter, KeyConditions, QueryKey};
use super::page::{PageParams, PageSource};
use super::params::Params;
use super::refusal::{self, RequestKind};
use super::scalar_keys::NestedPaths;
use super::violations::Violations;

/// The parameters that expressions replaced, in the service's order.
const LEGACY: &[&str] =
    &[AttributesToGet::PARAMETER, "QueryFilter", "ConditionalOperator", "KeyConditions"];
/// Those that are allowed beside no expression at all. A key condition can be of either kind,
/// whatever the rest of the request is.
const NEVER_MIXED: &[&str] = &[AttributesToGet::PARAMETER, "QueryFilter", "ConditionalOperator"];

/// A query to answer.
struct Request {
    source: PageSource,
    query: Query,
    messages: Messages,
}

/// What the service words differently without expressions.
struct Messages {
    has_query_filter: bool,
    is_unindexable: bool,
}

/// The parameters that expressions replaced, as sent.
struct Legacy<'a> {
    attributes: AttributesToGet<'a>,
    filter: Filter<'a>,
    key: KeyConditions<'a>,
}

pub(super) async fn run(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let Request { source, query, messages } = read(params)?;
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
        Err(error) => match messages.fault(&error) {
            Some(fault) => Err(fault),
            None => {
                let kind = RequestKind::Query(&requested);
                Err(refusal::item_fault(endpoint, &source.table, kind, error).await)
            }
        },
    }
}

impl<'a> Legacy<'a> {
    fn read(params: &Params<'a>) -> Result<Legacy<'a>, Fault> {
        Ok(Legacy {
            attributes: AttributesToGet::read(params)?,
            filter: Filter::of_query(params)?,
            key: KeyConditions::read(params)?,
        })
    }

    fn violations(&self, violations: &mut Violations) {
        self.filter.violations(violations);
        self.attributes.violations("attributesToGet", violations);
        self.key.violations(violations);
    }
}

impl Messages {
    fn fault(&self, error: &Error) -> Option<Fault> {
        match error {
            Error::Invalid(Invalid::FilterOnKey { attribute }) if self.has_query_filter => {
                Some(Fault::validation(format!(
                    "QueryFilter can only contain non-primary key attributes: Primary key \
                     attribute: {attribute}"
                )))
            }
            Error::Invalid(Invalid::KeyType { .. }) if self.is_unindexable => Some(
                Fault::validation("Attempted conditional constraint is not an indexable operation"),
            ),
            _ => None,
        }
    }
}

fn refuse_mixed(params: &Params<'_>, expressions: &Expressions<'_>) -> Result<(), Fault> {
    let given = expressions.given();
    let has_key = given.contains(&"KeyConditionExpression");
    legacy::refuse_mixed(params, if has_key { LEGACY } else { NEVER_MIXED }, &given)
}

fn read(params: Params<'_>) -> Result<Request, Fault> {
    let mut page = PageParams::read(&params)?;
    let parameters = ["ProjectionExpression", "FilterExpression", "KeyConditionExpression"];
    let expressions = Expressions::read(&params, &parameters)?;
    let legacy = Legacy::read(&params)?;
    let direction = match params.boolean("ScanIndexForward")? {
        Some(false) => Direction::Backward,
        _ => Direction::Forward,
    };
    let mut violations = page.violations(&params)?;
    legacy.violations(&mut violations);
    violations.finish()?;
    refuse_mixed(&params, &expressions)?;
    expressions.check()?;
    legacy.filter.check_operator()?;
    let has_query_filter = legacy.filter.is_present();
    let query_filter = legacy.filter.condition()?;
    let attributes = legacy.attributes.projection()?;
    let start = page.start_key()?;
    let mut parsing = expressions.parse()?;
    let key = match parsing.key_condition()? {
        Some(condition) => QueryKey { condition, is_unindexable: false },
        None => legacy.key.range(page.index.is_some())?.ok_or_else(no_key_condition)?,
    };
    let filter = parsing.condition("FilterExpression")?.or(query_filter);
    let projection = parsing.projection()?;
    parsing.finish()?;
    let source = page.source(page.select(projection, attributes)?)?;
    let query = Query {
        table: source.table.clone(),
        index: source.index.clone(),
        key: key.condition,
        filter,
        select: source.select.clone(),
        direction,
        limit: page.limit(),
        start,
        consistency: source.consistency,
    };
    let messages = Messages { has_query_filter, is_unindexable: key.is_unindexable };
    Ok(Request { source, query, messages })
}

fn no_key_condition() -> Fault {
    Fault::validation(
        "Either the KeyConditions or KeyConditionExpression parameter must be specified in the \
         request.",
    )
}
