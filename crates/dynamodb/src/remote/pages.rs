//! Queries and scans.

use aws_sdk_dynamodb::types::{ConsumedCapacity, ReturnConsumedCapacity, Select as SdkSelect};
use keyloom_store::{
    Consistency, Direction, Error, IndexName, IndexScope, IndexState, Page, Query, Scan, Select,
    TableName,
};
use keyloom_value::{Condition, Item, Projection};

use super::codes::VALIDATION;
use super::expressions::Expressions;
use super::refusal::{failed, has_code, response_item, unreadable};
use super::service::Service;
use super::specs::Rules;
use super::values::{Attributes, attributes, item};

/// Bytes per read unit of a strongly consistent read; an eventually consistent one gets twice as
/// many.
const UNIT_BYTES: f64 = 4096.0;

/// A page as returned by the SDK.
struct SdkPage {
    operation: &'static str,
    items: Option<Vec<Attributes>>,
    count: i32,
    scanned: i32,
    last_key: Option<Attributes>,
    capacity: Option<ConsumedCapacity>,
    consistency: Consistency,
    /// Whether the page contains every scanned item in full.
    is_all: bool,
}

impl Service {
    pub(super) async fn query(&self, query: Query) -> Result<Page, Error> {
        let rules = Rules { tables: vec![&query.table], check: &|specs| query.check(specs) };
        self.validate(&rules).await?;
        let index = query.index.as_ref();
        let consistency = self.consistency(&query.table, index, query.consistency).await?;
        let mut expressions = Expressions::default();
        let request = self.connection.tables.query();
        let request = request
            .table_name(query.table.as_str())
            .set_index_name(index.map(ToString::to_string))
            .key_condition_expression(expressions.key_condition(&query.key))
            .set_filter_expression(expressions.condition(query.filter.as_ref()))
            .set_projection_expression(expressions.projection(parts(&query.select)))
            .set_expression_attribute_names(expressions.names())
            .set_expression_attribute_values(expressions.values())
            .set_select(select(&query.select))
            .scan_index_forward(query.direction == Direction::Forward)
            .set_limit(limit(query.limit))
            .set_exclusive_start_key(query.start.clone().map(attributes))
            .consistent_read(consistency == Consistency::Strong)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        match self.send_read(|| request.clone().send()).await {
            Ok(output) => self.page(SdkPage {
                operation: "Query",
                items: output.items,
                count: output.count,
                scanned: output.scanned_count,
                last_key: output.last_evaluated_key,
                capacity: output.consumed_capacity,
                consistency,
                is_all: is_all(&query.select, query.filter.as_ref()),
            }),
            Err(error) => {
                let error = self.explain(&rules, failed("Query", &error)).await;
                Err(self.if_building(&query.table, index, error).await)
            }
        }
    }

    pub(super) async fn scan(&self, scan: Scan) -> Result<Page, Error> {
        let rules = Rules { tables: vec![&scan.table], check: &|specs| scan.check(specs) };
        self.validate(&rules).await?;
        let index = scan.index.as_ref();
        let consistency = self.consistency(&scan.table, index, scan.consistency).await?;
        let mut expressions = Expressions::default();
        let request = self.connection.tables.scan();
        let request = request
            .table_name(scan.table.as_str())
            .set_index_name(index.map(ToString::to_string))
            .set_filter_expression(expressions.condition(scan.filter.as_ref()))
            .set_projection_expression(expressions.projection(parts(&scan.select)))
            .set_expression_attribute_names(expressions.names())
            .set_expression_attribute_values(expressions.values())
            .set_select(select(&scan.select))
            .set_limit(limit(scan.limit))
            .set_exclusive_start_key(scan.start.clone().map(attributes))
            .set_segment(scan.segment.and_then(|segment| i32::try_from(segment.number).ok()))
            .set_total_segments(scan.segment.and_then(|segment| i32::try_from(segment.of).ok()))
            .consistent_read(consistency == Consistency::Strong)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        match self.send_read(|| request.clone().send()).await {
            Ok(output) => self.page(SdkPage {
                operation: "Scan",
                items: output.items,
                count: output.count,
                scanned: output.scanned_count,
                last_key: output.last_evaluated_key,
                capacity: output.consumed_capacity,
                consistency,
                is_all: is_all(&scan.select, scan.filter.as_ref()),
            }),
            Err(error) => {
                let error = self.explain(&rules, failed("Scan", &error)).await;
                Err(self.if_building(&scan.table, index, error).await)
            }
        }
    }

    /// Returns the strongest consistency that the service supports: global indexes are eventually
    /// consistent.
    async fn consistency(
        &self,
        table: &TableName,
        index: Option<&IndexName>,
        requested: Consistency,
    ) -> Result<Consistency, Error> {
        let Some(name) = index else { return Ok(requested) };
        let spec = self.spec(table).await?;
        let index = spec.indexes.iter().find(|index| index.name == *name);
        match index.map(|index| index.scope) {
            Some(IndexScope::Local) => Ok(requested),
            Some(IndexScope::Global) | None => Ok(Consistency::Eventual),
        }
    }

    /// Returns `IndexBuilding` if the service rejected the request because of a backfill.
    async fn if_building(
        &self,
        table: &TableName,
        index: Option<&IndexName>,
        error: Error,
    ) -> Error {
        let Some(name) = index.filter(|_| has_code(&error, VALIDATION)) else { return error };
        let Ok(describe_without_ttl) = self.describe_without_ttl(table).await else { return error };
        let is_building = describe_without_ttl.indexes.iter().any(|index| match index.state {
            IndexState::Building { .. } => index.name == *name,
            IndexState::Active => false,
        });
        match is_building {
            true => Error::IndexBuilding { table: table.clone(), index: name.clone() },
            false => error,
        }
    }

    fn page(&self, page: SdkPage) -> Result<Page, Error> {
        self.note_read(&page.capacity);
        let items = page.items.unwrap_or_default().into_iter().map(item);
        let items: Vec<Item> =
            items.collect::<Result<_, _>>().map_err(|why| unreadable(page.operation, why))?;
        let scanned_bytes = match page.is_all {
            true => items.iter().map(|item| item.size() as u64).sum(),
            false => charged_bytes(page.capacity.as_ref(), page.consistency),
        };
        Ok(Page {
            items,
            count: u64::try_from(page.count).unwrap_or_default(),
            scanned: u64::try_from(page.scanned).unwrap_or_default(),
            scanned_bytes,
            last_key: response_item(page.operation, page.last_key.filter(|key| !key.is_empty()))?,
        })
    }
}

/// Returns the scanned bytes, rounded up to the next unit.
fn charged_bytes(capacity: Option<&ConsumedCapacity>, consistency: Consistency) -> u64 {
    let units = capacity.and_then(ConsumedCapacity::capacity_units).unwrap_or_default();
    let unit_bytes = match consistency {
        Consistency::Strong => UNIT_BYTES,
        Consistency::Eventual => 2.0 * UNIT_BYTES,
    };
    (units * unit_bytes).round() as u64
}

fn is_all(select: &Select, filter: Option<&Condition>) -> bool {
    *select == Select::All && filter.is_none()
}

fn parts(select: &Select) -> Option<&Projection> {
    match select {
        Select::Parts(projection) => Some(projection),
        Select::All | Select::AllOfTable | Select::Count => None,
    }
}

fn select(select: &Select) -> Option<SdkSelect> {
    match select {
        Select::AllOfTable => Some(SdkSelect::AllAttributes),
        Select::Count => Some(SdkSelect::Count),
        Select::All | Select::Parts(_) => None,
    }
}

fn limit(limit: Option<u32>) -> Option<i32> {
    limit.map(|limit| i32::try_from(limit).unwrap_or(i32::MAX))
}
