//! Parameters and responses that queries and scans share.

use keyloom_store::{Consistency, IndexName, IndexScope, IndexSpec, Page, Select, TableName};
use keyloom_value::{Item, Projection};

use crate::json::Writer;
use crate::units;
use crate::wire::{Fault, write_item};

use super::Endpoint;
use super::capacity::{self, Consumed, Detail};
use super::legacy::AttributesToGet;
use super::params::{Checked, Params, consistency, table_name};
use super::violations::{CAPACITY, Violations};

const SELECTS: &[&str] =
    &["SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"];

/// The parameters of a page, as sent.
pub(super) struct PageParams<'a> {
    pub(super) table: Option<&'a str>,
    pub(super) index: Option<&'a str>,
    pub(super) limit: Option<i64>,
    pub(super) start: Option<Checked<Item>>,
    pub(super) consistency: Consistency,
    pub(super) detail: Detail,
    select: Option<&'a str>,
}

/// Where a page is read from, and what the response contains.
pub(super) struct PageSource {
    pub(super) table: TableName,
    pub(super) index: Option<IndexName>,
    pub(super) select: Select,
    pub(super) consistency: Consistency,
    pub(super) detail: Detail,
}

impl<'a> PageParams<'a> {
    pub(super) fn read(params: &Params<'a>) -> Result<PageParams<'a>, Fault> {
        Ok(PageParams {
            table: params.text("TableName")?,
            index: params.text("IndexName")?,
            limit: params.integer("Limit")?,
            start: params.item("ExclusiveStartKey")?,
            consistency: consistency(params)?,
            detail: Detail::read(params)?,
            select: params.text("Select")?,
        })
    }

    pub(super) fn violations(&self, params: &Params<'_>) -> Result<Violations, Fault> {
        let mut violations = Violations::default();
        violations.one_of("select", self.select, SELECTS);
        if let Some(index) = self.index {
            violations.name("indexName", index);
        }
        let capacity = params.text("ReturnConsumedCapacity")?;
        violations.one_of("returnConsumedCapacity", capacity, CAPACITY);
        violations.table_name(self.table);
        violations.limit(self.limit);
        Ok(violations)
    }

    /// Returns the start key. The service adds a prefix to some of its error messages.
    pub(super) fn start_key(&mut self) -> Result<Option<Item>, Fault> {
        self.start.take().transpose().map_err(|why| {
            let plain = ["duplicates", "number set", "numeric value", "significant", "magnitude"];
            let prefix = if plain.iter().any(|word| why.contains(word)) {
                ""
            } else {
                "The provided starting key is invalid: "
            };
            Fault::validation(format!("{prefix}{why}"))
        })
    }

    pub(super) fn limit(&self) -> Option<u32> {
        self.limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX))
    }

    /// Returns what the page selects. Errors name the parameter with the projection, of which
    /// there is at most one.
    pub(super) fn select(
        &self,
        expression: Option<Projection>,
        attributes_to_get: Option<Projection>,
    ) -> Result<Select, Fault> {
        let parameter = match &attributes_to_get {
            Some(_) => AttributesToGet::PARAMETER,
            None => "ProjectionExpression",
        };
        let projection = expression.or(attributes_to_get);
        let with_projection = |what: &str| {
            Err(Fault::validation(format!(
                "Cannot specify the {parameter} when choosing to get {what}"
            )))
        };
        match (self.select, projection) {
            (None | Some("SPECIFIC_ATTRIBUTES"), Some(projection)) => Ok(Select::Parts(projection)),
            (Some("SPECIFIC_ATTRIBUTES"), None) => Err(Fault::validation(
                "Must specify the AttributesToGet or ProjectionExpression when choosing to get \
                 SPECIFIC_ATTRIBUTES",
            )),
            (Some("COUNT"), None) => Ok(Select::Count),
            (Some("COUNT"), Some(_)) => with_projection("only the Count"),
            (Some(all), Some(_)) => with_projection(all),
            (Some("ALL_PROJECTED_ATTRIBUTES"), None) if self.index.is_none() => {
                Err(Fault::validation(
                    "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
                ))
            }
            (Some("ALL_ATTRIBUTES"), None) if self.index.is_some() => Ok(Select::AllOfTable),
            (_, None) => Ok(Select::All),
        }
    }

    pub(super) fn source(&self, select: Select) -> Result<PageSource, Fault> {
        let index = self.index.map(TableName::new).transpose();
        let index = index.map_err(|invalid| Fault::validation(invalid.to_string()))?;
        Ok(PageSource {
            table: table_name(self.table.unwrap_or_default())?,
            index,
            select,
            consistency: self.consistency,
            detail: self.detail,
        })
    }
}

impl PageSource {
    /// Rejects strong reads of global indexes and reads of the settings table. Returns the index
    /// if the response needs it.
    pub(super) async fn check(&self, endpoint: &Endpoint) -> Result<Option<IndexSpec>, Fault> {
        endpoint.check_visible(&self.table)?;
        let Some(name) = &self.index else { return Ok(None) };
        if self.consistency == Consistency::Eventual && !self.detail.is_requested() {
            return Ok(None);
        }
        let table = super::refusal::describe(endpoint, &self.table).await?;
        let index = table.spec.indexes.into_iter().find(|index| index.name == *name);
        if self.consistency == Consistency::Strong
            && index.as_ref().is_some_and(|index| index.scope == IndexScope::Global)
        {
            return Err(Fault::validation(
                "Consistent reads are not supported on global secondary indexes",
            ));
        }
        Ok(index)
    }

    pub(super) fn response(&self, index: Option<&IndexSpec>, page: &Page) -> String {
        let mut writer = Writer::new();
        writer.object(|w| {
            if self.select != Select::Count {
                w.name("Items").list(|w| page.items.iter().for_each(|item| write_item(w, item)));
            }
            w.name("Count").number(page.count);
            w.name("ScannedCount").number(page.scanned);
            if let Some(key) = &page.last_key {
                write_item(w.name("LastEvaluatedKey"), key);
            }
            capacity::write_one(w, self.detail, &self.consumed(index, page));
        });
        writer.finish()
    }

    pub(super) fn consumed(&self, index: Option<&IndexSpec>, page: &Page) -> Consumed {
        let bytes = usize::try_from(page.scanned_bytes).unwrap_or(usize::MAX);
        let units = units::read_units(bytes, self.consistency);
        match index {
            None => Consumed::of_table(self.table.clone(), units),
            Some(index) => Consumed {
                table: self.table.clone(),
                table_units: 0.0,
                indexes: vec![(index.name.clone(), index.scope, units)],
            },
        }
    }
}
