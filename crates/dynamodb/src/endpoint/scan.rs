//! `Scan`.

use keyloom_store::{Scan, Segment, Select};

use crate::wire::Fault;

use super::Endpoint;
use super::expressions::Expressions;
use super::legacy::{self, AttributesToGet, Filter};
use super::page::{PageParams, PageSource};
use super::params::Params;
use super::refusal::{self, RequestKind};
use super::scalar_keys::NestedPaths;

/// The parameters that expressions replaced, in the service's order.
const LEGACY: &[&str] = &[AttributesToGet::PARAMETER, "ScanFilter", "ConditionalOperator"];

/// No page of a table with this many items ends because it has skipped too many.
const ITEMS_WITHOUT_SKIPS: u64 = 50_000;

pub(super) async fn run(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let (source, scan) = read(params)?;
    let index = source.check(endpoint).await?;
    let paths = NestedPaths::default().add_condition(scan.filter.as_ref());
    let paths = match &scan.select {
        Select::Parts(projection) => paths.add_projection(Some(projection)),
        Select::All | Select::AllOfTable | Select::Count => paths,
    };
    endpoint.check_scalar_keys(&source.table, &paths).await?;
    let requested = scan.clone();
    match endpoint.store.scan(scan).await {
        Ok(page) => {
            check_start(endpoint, &requested).await?;
            Ok(source.response(index.as_ref(), &page))
        }
        Err(error) => {
            let kind = RequestKind::Scan(&requested);
            Err(refusal::item_fault(endpoint, &source.table, kind, error).await)
        }
    }
}

/// Rejects a start key of another segment. A page of a large table can end at one, after it has
/// skipped many rows of other segments, so there every key is accepted.
async fn check_start(endpoint: &Endpoint, scan: &Scan) -> Result<(), Fault> {
    let (Some(start), Some(segment)) = (&scan.start, scan.segment) else { return Ok(()) };
    let table = refusal::describe(endpoint, &scan.table).await?;
    let index = scan.index.as_ref();
    let index = index.and_then(|name| table.spec.indexes.iter().find(|index| index.name == *name));
    let schema = index.map_or(&table.spec.key, |index| &index.key);
    if table.items > ITEMS_WITHOUT_SKIPS || segment.holds(schema, start) {
        return Ok(());
    }
    let Segment { number, of } = segment;
    Err(Fault::validation(format!(
        "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use \
         ExclusiveStartKey with correct Segment. TotalSegments: {of} Segment: {number}"
    )))
}

fn read(params: Params<'_>) -> Result<(PageSource, Scan), Fault> {
    let mut page = PageParams::read(&params)?;
    let expressions = Expressions::read(&params, &["ProjectionExpression", "FilterExpression"])?;
    let (attributes, legacy_filter) = (AttributesToGet::read(&params)?, Filter::of_scan(&params)?);
    let number = params.integer("Segment")?;
    let of = params.integer("TotalSegments")?;
    let mut violations = page.violations(&params)?.together();
    violations.at_least("totalSegments", of, 1);
    violations.at_most("totalSegments", of, 1_000_000);
    violations.at_least("segment", number, 0);
    violations.at_most("segment", number, 999_999);
    attributes.violations("attributesToGet", &mut violations);
    legacy_filter.violations(&mut violations);
    violations.finish()?;
    legacy::refuse_mixed(&params, LEGACY, &expressions.given())?;
    expressions.check()?;
    legacy_filter.check_operator()?;
    let attributes = attributes.projection()?;
    let legacy_filter = legacy_filter.condition()?;
    let start = page.start_key()?;
    let segment = segment(number, of)?;
    let mut parsing = expressions.parse()?;
    let filter = parsing.condition("FilterExpression")?.or(legacy_filter);
    let projection = parsing.projection()?;
    parsing.finish()?;
    let source = page.source(page.select(projection, attributes)?)?;
    let scan = Scan {
        table: source.table.clone(),
        index: source.index.clone(),
        filter,
        select: source.select.clone(),
        limit: page.limit(),
        start,
        segment,
        consistency: source.consistency,
    };
    Ok((source, scan))
}

fn segment(number: Option<i64>, of: Option<i64>) -> Result<Option<Segment>, Fault> {
    let narrow = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
    match (number, of) {
        (None, None) => Ok(None),
        (Some(_), None) => Err(Fault::validation(
            "The TotalSegments parameter is required but was not present in the request when \
             Segment parameter is present",
        )),
        (None, Some(_)) => Err(Fault::validation(
            "The Segment parameter is required but was not present in the request when parameter \
             TotalSegments is present",
        )),
        (Some(number), Some(of)) if number >= of => Err(Fault::validation(format!(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: \
             Segment: {number} is not less than TotalSegments: {of}"
        ))),
        (Some(number), Some(of)) => Ok(Some(Segment { number: narrow(number), of: narrow(of) })),
    }
}
