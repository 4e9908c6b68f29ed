//! The shards of a stream, each after its parent.

use aws_sdk_dynamodbstreams::types::Shard as SdkShard;
use keyloom_store::{Error, Feed, Shard, ShardId, TableName};

use super::codes::NOT_FOUND;
use super::refusal::{failed, has_code, incomplete};
use super::service::Service;
use super::stream_cache::Stream;
use super::table_shape::table;

impl Service {
    pub(super) async fn shards(&self, name: &TableName) -> Result<Vec<Shard>, Error> {
        Ok(parents_first(&self.stream(name).await?.shards))
    }

    /// Returns the stream of a table, as it was a short time ago.
    pub(super) async fn stream(&self, name: &TableName) -> Result<Stream, Error> {
        let listed = self.clock.now();
        if let Some(stream) = self.streams.stream(name, listed) {
            return Ok(stream);
        }
        let arn = self.stream_arn(name).await?;
        let shards = self.sdk_shards(name, &arn).await?.into();
        let stream = Stream { arn, shards, listed };
        self.streams.insert(name, stream.clone());
        Ok(stream)
    }

    async fn sdk_shards(&self, name: &TableName, arn: &str) -> Result<Vec<SdkShard>, Error> {
        let mut shards: Vec<SdkShard> = Vec::new();
        let mut last = None;
        loop {
            let request = self.connection.streams.describe_stream().stream_arn(arn);
            let request = request.set_exclusive_start_shard_id(last);
            let sent = self.send_read(|| request.clone().send()).await;
            let output = sent.map_err(|error| no_feed(name, failed("DescribeStream", &error)))?;
            let description = output.stream_description;
            let description =
                description.ok_or_else(|| incomplete("DescribeStream", "the stream"))?;
            last = description.last_evaluated_shard_id;
            if last.is_some() && shards.iter().any(|shard| shard.shard_id == last) {
                return Err(incomplete("DescribeStream", "an end"));
            }
            shards.extend(description.shards.unwrap_or_default());
            if last.is_none() {
                return Ok(shards);
            }
        }
    }

    /// Returns the ARN of the table's stream. A stream without both images does not count as a feed.
    async fn stream_arn(&self, name: &TableName) -> Result<String, Error> {
        let described = self.sdk_table(name).await?;
        match table(&described)?.spec.feed {
            Feed::Off => Err(Error::NoFeed { table: name.clone() }),
            Feed::Images => {
                let arn = described.latest_stream_arn;
                arn.ok_or_else(|| incomplete("DescribeTable", "the name of the stream"))
            }
        }
    }
}

fn no_feed(table: &TableName, error: Error) -> Error {
    match has_code(&error, NOT_FOUND) {
        true => Error::NoFeed { table: table.clone() },
        false => error,
    }
}

/// Orders shards so that none comes before its parent. A parent that is not listed has been
/// trimmed.
fn parents_first(shards: &[SdkShard]) -> Vec<Shard> {
    let is_listed = |id: &&str| shards.iter().any(|shard| shard.shard_id() == Some(*id));
    let mut waiting: Vec<Shard> = shards
        .iter()
        .filter_map(|shard| {
            let parent = shard.parent_shard_id().filter(is_listed);
            Some(Shard {
                id: ShardId(shard.shard_id()?.to_owned()),
                parent: parent.map(|parent| ShardId(parent.to_owned())),
            })
        })
        .collect();
    let mut ordered: Vec<Shard> = Vec::new();
    while !waiting.is_empty() {
        let has_waiting_parent =
            |shard: &Shard| waiting.iter().any(|other| shard.parent.as_ref() == Some(&other.id));
        let (later, mut ready): (Vec<Shard>, Vec<Shard>) =
            waiting.iter().cloned().partition(has_waiting_parent);
        waiting = later;
        if ready.is_empty() {
            // A cycle of parents has no order: take what is left as it is.
            ready = std::mem::take(&mut waiting);
            ready.iter_mut().for_each(|shard| shard.parent = None);
        }
        ordered.append(&mut ready);
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(listed: &[(&str, Option<&str>)], expected: &[(&str, Option<&str>)]) {
        let shard = |(id, parent): &(&str, Option<&str>)| {
            SdkShard::builder().shard_id(*id).set_parent_shard_id(parent.map(str::to_owned)).build()
        };
        let ordered = parents_first(&listed.iter().map(shard).collect::<Vec<_>>());
        let plain: Vec<(&str, Option<&str>)> = ordered
            .iter()
            .map(|shard| (shard.id.0.as_str(), shard.parent.as_ref().map(|id| id.0.as_str())))
            .collect();
        assert_eq!(plain, expected);
    }

    #[test]
    fn shards_come_after_their_parents_whatever_the_order_of_the_list() {
        check(
            &[("c", Some("b")), ("b", Some("a")), ("d", Some("trimmed")), ("a", None)],
            &[("d", None), ("a", None), ("b", Some("a")), ("c", Some("b"))],
        );
        // The service sends no cycles; whoever does must not stop the feed.
        check(&[("a", Some("b")), ("b", Some("a"))], &[("a", None), ("b", None)]);
    }
}
