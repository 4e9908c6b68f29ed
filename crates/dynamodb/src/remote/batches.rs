//! Batches. Items that the service leaves unprocessed are sent again, with backoff.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{
    DeleteRequest, KeysAndAttributes, PutRequest, ReturnConsumedCapacity, WriteRequest,
};
use keyloom_store::{
    BatchAction, BatchGet, BatchGot, BatchWrite, Consistency, Error, Get, TableName,
};
use keyloom_value::Item;

use super::expressions::Expressions;
use super::refusal::{failed, incomplete, unreadable, write_failed};
use super::retry::{Backoff, Outcome};
use super::service::{Service, retry};
use super::specs::Rules;
use super::values::{attributes, item};

type Writes = HashMap<String, Vec<WriteRequest>>;

impl Service {
    /// A request has one projection and one consistency per table, so gets that differ in these
    /// are sent in separate requests. Keys left unprocessed because the response would be too large
    /// are returned, as the trait specifies; a response without any item is retried.
    pub(super) async fn batch_get(&self, batch: BatchGet) -> Result<BatchGot, Error> {
        let tables = batch.gets.iter().map(|get| &get.table).collect();
        let rules = Rules { tables, check: &|specs| batch.check(specs) };
        self.validate(&rules).await?;
        let mut got = BatchGot::default();
        for gets in compatible_groups(&batch.gets) {
            match self.batch_get_group(&gets).await {
                Ok(more) => {
                    got.items.extend(more.items);
                    got.unprocessed.extend(more.unprocessed);
                }
                Err(error) => return Err(self.explain(&rules, error).await),
            }
        }
        Ok(got)
    }

    async fn batch_get_group(&self, gets: &[&Get]) -> Result<BatchGot, Error> {
        let mut backoff = self.backoff();
        loop {
            let got = self.batch_get_once(gets, &mut backoff).await?;
            if !got.items.is_empty() || got.unprocessed.is_empty() || !backoff.wait().await {
                return Ok(got);
            }
        }
    }

    async fn batch_get_once(
        &self,
        gets: &[&Get],
        backoff: &mut Backoff,
    ) -> Result<BatchGot, Error> {
        const OPERATION: &str = "BatchGetItem";
        let mut request_items: HashMap<String, KeysAndAttributes> = HashMap::new();
        for table in tables(gets.iter().map(|get| &get.table)) {
            let of_table: Vec<&Get> =
                gets.iter().copied().filter(|get| get.table == *table).collect();
            request_items.insert(table.to_string(), keys(&of_table)?);
        }
        let request =
            self.connection.tables.batch_get_item().set_request_items(Some(request_items));
        let request = request.return_consumed_capacity(ReturnConsumedCapacity::Total);
        let is_retryable = |error: &_| Outcome::of(error).may_succeed_later();
        let sent = retry(backoff, || request.clone().send(), is_retryable).await;
        let output = sent.map_err(|error| failed(OPERATION, &error))?;
        self.note_read(output.consumed_capacity());
        let mut got = BatchGot::default();
        for (table, items) in output.responses.unwrap_or_default() {
            let table = TableName::new(&table)?;
            for found in items {
                let found = item(found).map_err(|why| unreadable(OPERATION, why))?;
                got.items.push((table.clone(), found));
            }
        }
        for (table, left) in output.unprocessed_keys.unwrap_or_default() {
            for key in left.keys {
                let key = item(key).map_err(|why| unreadable(OPERATION, why))?;
                let is_same = |get: &&&Get| get.table.as_str() == table && get.key == key;
                got.unprocessed.extend(gets.iter().find(is_same).map(|get| (*get).clone()));
            }
        }
        Ok(got)
    }

    pub(super) async fn batch_write(&self, batch: BatchWrite) -> Result<BatchWrite, Error> {
        let tables = batch.actions.iter().map(|action| target(action).0).collect();
        let rules = Rules { tables, check: &|specs| batch.check(specs) };
        self.validate(&rules).await?;
        let mut writes = Writes::new();
        for action in &batch.actions {
            let request = write_request(action)?;
            writes.entry(target(action).0.to_string()).or_default().push(request);
        }
        let mut backoff = self.backoff();
        let mut is_started = false;
        loop {
            match self.batch_write_once(&writes, &mut backoff).await {
                Ok(left) if left.is_empty() => return Ok(BatchWrite::default()),
                Ok(left) => writes = left,
                // Part of the batch is written, so this is not a refusal: the rest is unprocessed.
                Err(Error::Refused(_)) if is_started => return unprocessed(&batch, &writes),
                Err(error) => return Err(self.explain(&rules, error).await),
            }
            is_started = true;
            if !backoff.wait().await {
                return unprocessed(&batch, &writes);
            }
        }
    }

    async fn batch_write_once(
        &self,
        writes: &Writes,
        backoff: &mut Backoff,
    ) -> Result<Writes, Error> {
        let request = self.connection.tables.batch_write_item();
        let request = request
            .set_request_items(Some(writes.clone()))
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let is_retryable = |error: &_| Outcome::of(error) == Outcome::Transient;
        let sent = retry(backoff, || request.clone().send(), is_retryable).await;
        let output = sent.map_err(|error| write_failed("BatchWriteItem", error))?;
        self.note_written(output.consumed_capacity());
        Ok(output.unprocessed_items.unwrap_or_default())
    }
}

/// Splits the gets into groups that fit one request each.
fn compatible_groups(gets: &[Get]) -> Vec<Vec<&Get>> {
    let conflict = |get: &Get, other: &Get| {
        get.table == other.table
            && (&get.projection, get.consistency) != (&other.projection, other.consistency)
    };
    let mut groups: Vec<Vec<&Get>> = Vec::new();
    for get in gets {
        let compatible =
            groups.iter_mut().find(|group| !group.iter().any(|other| conflict(get, other)));
        match compatible {
            Some(group) => group.push(get),
            None => groups.push(vec![get]),
        }
    }
    groups
}

fn tables<'a>(names: impl Iterator<Item = &'a TableName>) -> Vec<&'a TableName> {
    let mut tables: Vec<&TableName> = names.collect();
    tables.sort_unstable();
    tables.dedup();
    tables
}

/// Builds the keys of one table, with their common projection and consistency.
fn keys(gets: &[&Get]) -> Result<KeysAndAttributes, Error> {
    let mut expressions = Expressions::default();
    let projection = gets.first().and_then(|get| get.projection.as_ref());
    let is_strong = gets.iter().any(|get| get.consistency == Consistency::Strong);
    KeysAndAttributes::builder()
        .set_keys(Some(gets.iter().map(|get| attributes(get.key.clone())).collect()))
        .set_projection_expression(expressions.projection(projection))
        .set_expression_attribute_names(expressions.names())
        .consistent_read(is_strong)
        .build()
        .map_err(|error| incomplete("BatchGetItem", &error.to_string()))
}

/// Returns the table, and the item or key.
fn target(action: &BatchAction) -> (&TableName, &Item) {
    match action {
        BatchAction::Put(table, item) | BatchAction::Delete(table, item) => (table, item),
    }
}

fn write_request(action: &BatchAction) -> Result<WriteRequest, Error> {
    let request = WriteRequest::builder();
    let request = match action {
        BatchAction::Put(_, item) => {
            let put = PutRequest::builder().set_item(Some(attributes(item.clone()))).build();
            put.map(|put| request.put_request(put))
        }
        BatchAction::Delete(_, key) => {
            let delete = DeleteRequest::builder().set_key(Some(attributes(key.clone()))).build();
            delete.map(|delete| request.delete_request(delete))
        }
    };
    let request = request.map_err(|error| incomplete("BatchWriteItem", &error.to_string()))?;
    Ok(request.build())
}

/// Returns the actions of the batch that the service has not processed.
fn unprocessed(batch: &BatchWrite, left: &Writes) -> Result<BatchWrite, Error> {
    let mut actions = Vec::new();
    for action in &batch.actions {
        let request = write_request(action)?;
        let of_table = left.get(target(action).0.as_str());
        if of_table.is_some_and(|requests| requests.contains(&request)) {
            actions.push(action.clone());
        }
    }
    Ok(BatchWrite { actions })
}
