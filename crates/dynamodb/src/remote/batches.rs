//! Batches. What the service leaves over is sent again, after a while.

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
use super::retry::{Backoff, Fate};
use super::service::{Service, repeat};
use super::specs::Rules;
use super::values::{attributes, item};

type Writes = HashMap<String, Vec<WriteRequest>>;

impl Service {
    /// A request has one projection and one freshness for a table, so gets that differ in these
    /// are sent one after the other. What the service leaves over because it is too much for one
    /// answer is told, as the trait has it; nothing at all is asked for again.
    pub(super) async fn batch_get(&self, batch: BatchGet) -> Result<BatchGot, Error> {
        let tables = batch.gets.iter().map(|get| &get.table).collect();
        let rules = Rules { tables, check: &|specs| batch.check(specs) };
        self.admit(&rules).await?;
        let mut got = BatchGot::default();
        for gets in alike(&batch.gets) {
            match self.batch_get_alike(&gets).await {
                Ok(more) => {
                    got.items.extend(more.items);
                    got.unprocessed.extend(more.unprocessed);
                }
                Err(error) => return Err(self.explain(&rules, error).await),
            }
        }
        Ok(got)
    }

    async fn batch_get_alike(&self, gets: &[&Get]) -> Result<BatchGot, Error> {
        let mut backoff = self.backoff();
        loop {
            let got = self.batch_get_part(gets, &mut backoff).await?;
            if !got.items.is_empty() || got.unprocessed.is_empty() || !backoff.wait().await {
                return Ok(got);
            }
        }
    }

    async fn batch_get_part(
        &self,
        gets: &[&Get],
        backoff: &mut Backoff,
    ) -> Result<BatchGot, Error> {
        const OPERATION: &str = "BatchGetItem";
        let mut asked: HashMap<String, KeysAndAttributes> = HashMap::new();
        for table in tables(gets.iter().map(|get| &get.table)) {
            let of_table: Vec<&Get> =
                gets.iter().copied().filter(|get| get.table == *table).collect();
            asked.insert(table.to_string(), keys(&of_table)?);
        }
        let request = self.connection.tables.batch_get_item().set_request_items(Some(asked));
        let request = request.return_consumed_capacity(ReturnConsumedCapacity::Total);
        let is_again = |error: &_| Fate::of(error).passes();
        let sent = repeat(backoff, || request.clone().send(), is_again).await;
        let output = sent.map_err(|error| failed(OPERATION, &error))?;
        self.meter.read(output.consumed_capacity());
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
                let is_it = |get: &&&Get| get.table.as_str() == table && get.key == key;
                got.unprocessed.extend(gets.iter().find(is_it).map(|get| (*get).clone()));
            }
        }
        Ok(got)
    }

    pub(super) async fn batch_write(&self, batch: BatchWrite) -> Result<BatchWrite, Error> {
        let tables = batch.actions.iter().map(|action| place(action).0).collect();
        let rules = Rules { tables, check: &|specs| batch.check(specs) };
        self.admit(&rules).await?;
        let mut writes = Writes::new();
        for action in &batch.actions {
            let request = write_request(action)?;
            writes.entry(place(action).0.to_string()).or_default().push(request);
        }
        let mut backoff = self.backoff();
        let mut is_begun = false;
        loop {
            match self.batch_write_part(&writes, &mut backoff).await {
                Ok(left) if left.is_empty() => return Ok(BatchWrite::default()),
                Ok(left) => writes = left,
                // Some of the batch is written, so it was not refused: the rest is left.
                Err(Error::Refused(_)) if is_begun => return left_over(&batch, &writes),
                Err(error) => return Err(self.explain(&rules, error).await),
            }
            is_begun = true;
            if !backoff.wait().await {
                return left_over(&batch, &writes);
            }
        }
    }

    async fn batch_write_part(
        &self,
        writes: &Writes,
        backoff: &mut Backoff,
    ) -> Result<Writes, Error> {
        let request = self.connection.tables.batch_write_item();
        let request = request
            .set_request_items(Some(writes.clone()))
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let is_again = |error: &_| Fate::of(error) == Fate::Postponed;
        let sent = repeat(backoff, || request.clone().send(), is_again).await;
        let output = sent.map_err(|error| write_failed("BatchWriteItem", error))?;
        self.meter.written(output.consumed_capacity());
        Ok(output.unprocessed_items.unwrap_or_default())
    }
}

/// The gets in groups that one request can have.
fn alike(gets: &[Get]) -> Vec<Vec<&Get>> {
    let differ = |one: &Get, other: &Get| {
        one.table == other.table
            && (&one.projection, one.consistency) != (&other.projection, other.consistency)
    };
    let mut groups: Vec<Vec<&Get>> = Vec::new();
    for get in gets {
        let fitting = groups.iter_mut().find(|group| !group.iter().any(|other| differ(get, other)));
        match fitting {
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

/// The keys of one table, with the projection and the freshness that they share.
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

/// The table and the item, or its key.
fn place(action: &BatchAction) -> (&TableName, &Item) {
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

/// The actions of the batch that the service has not done.
fn left_over(batch: &BatchWrite, left: &Writes) -> Result<BatchWrite, Error> {
    let mut actions = Vec::new();
    for action in &batch.actions {
        let request = write_request(action)?;
        let of_table = left.get(place(action).0.as_str());
        if of_table.is_some_and(|requests| requests.contains(&request)) {
            actions.push(action.clone());
        }
    }
    Ok(BatchWrite { actions })
}
