//! Consumers: who is called after changes, and how far each has come in the feed.
//!
//! ```text
//! ("m", "consumer") / name, part   after: a number of the feed, time of that change, moved
//! ```
//!
//! A position is written if it is as it was read, in the same transaction as the effects of what
//! comes before it. So of two processes with one consumer one works in vain, and nothing happens
//! twice.

use keyloom_model::attribute::PARTITION;
use keyloom_model::{EntityId, Model, RowKey, Target, TriggeringChange};
use keyloom_store::{Error as StoreError, FeedStart, Get, Put, SeqNo, ShardId, TableName};
use keyloom_store::{Query, TransactAction};
use keyloom_value::{Condition, Item, KeyBytes, KeyCondition, Number, Path, Value};

use super::{Event, Handlers};
use crate::answer::Answer;
use crate::db::{Db, unknown};
use crate::error::Error;
use crate::write::PlannedAction;

const NAME: &str = "consumer";
const AFTER: &str = "after";
const TIME: &str = "time";
const MOVED: &str = "moved";

/// One that is called after changes.
#[derive(Clone, Debug)]
pub(crate) struct Consumer {
    /// The name of the handler; of a webhook or a job, the change that it is for.
    pub(crate) name: String,
    pub(crate) target: Target,
    bound: Vec<(EntityId, TriggeringChange)>,
}

/// How far a consumer has come in a part of the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) consumer: String,
    pub(crate) shard: ShardId,
    /// It has seen everything up to here; none if nothing.
    pub(crate) after: Option<SeqNo>,
    /// When that happened, in milliseconds.
    pub(crate) time_ms: i64,
    /// When the checkpoint was written, in milliseconds.
    pub(crate) moved_ms: i64,
}

impl Consumer {
    /// Everyone that a model calls.
    pub(crate) fn all(model: &Model) -> Vec<Consumer> {
        let mut all: Vec<Consumer> = vec![];
        for handler in model.handlers() {
            let bound = (handler.entity, handler.change);
            let name = match &handler.target {
                Target::Handler(name) => name.clone(),
                Target::Webhook(_) | Target::Job(_) => {
                    let entity = &model.entity(handler.entity).name;
                    format!("{entity}.{}", handler.change.as_str())
                }
            };
            match all.iter_mut().find(|consumer| consumer.name == name) {
                Some(consumer) => consumer.bound.push(bound),
                None => {
                    let target = handler.target.clone();
                    all.push(Consumer { name, target, bound: vec![bound] });
                }
            }
        }
        all
    }

    pub(crate) fn is_bound(&self, entity: EntityId, change: TriggeringChange) -> bool {
        self.bound.contains(&(entity, change))
    }

    /// Whether it is called for an entity at all.
    pub(crate) fn is_about(&self, entity: EntityId) -> bool {
        self.bound.iter().any(|(other, _)| *other == entity)
    }

    /// The lane of events of one entity that wait to be handled again, or of jobs made of them.
    pub(crate) fn lane(&self, event: &Event) -> String {
        let tenant = event.tenant.as_ref().map(|tenant| format!("{tenant}/")).unwrap_or_default();
        format!("{}/{}/{tenant}{}", self.name, event.entity, event.id)
    }
}

impl Checkpoint {
    /// Whether a row of Keyloom's own is one.
    pub(crate) fn is_at(partition: &[u8]) -> bool {
        partition == RowKey::system(NAME, &[]).partition.as_bytes()
    }

    fn key(consumer: &str, shard: &ShardId) -> RowKey {
        RowKey::system(NAME, &[consumer.into(), shard.0.as_str().into()])
    }

    pub(crate) fn read(row: &Item) -> Option<Checkpoint> {
        let sort = KeyBytes::decode(row.get(keyloom_model::attribute::SORT)?.as_b()?).ok()?;
        let [consumer, shard] = &sort[..] else { return None };
        let ms = |name| row.get(name)?.as_n().and_then(Number::to_i64);
        Some(Checkpoint {
            consumer: consumer.as_s()?.to_owned(),
            shard: ShardId(shard.as_s()?.to_owned()),
            after: Some(SeqNo(row.get(AFTER)?.as_s()?.parse().ok()?)),
            time_ms: ms(TIME)?,
            moved_ms: ms(MOVED)?,
        })
    }

    /// Where to read on.
    pub(crate) fn start(&self) -> FeedStart {
        self.after.map_or(FeedStart::Oldest, FeedStart::After)
    }

    /// Writes the next checkpoint in place of this one, if this is what is there.
    pub(crate) fn moves_to(&self, next: &Checkpoint, table: &TableName) -> PlannedAction {
        let as_read = match self.after {
            None => Condition::missing(PARTITION),
            Some(after) => Condition::equal(Path::from(AFTER), Value::from(after.to_string())),
        };
        PlannedAction::piggybacked(TransactAction::Put(next.put(table).when(as_read)))
    }

    fn put(&self, table: &TableName) -> Put {
        let mut item = Checkpoint::key(&self.consumer, &self.shard).to_item();
        item.insert(AFTER, self.after.unwrap_or(SeqNo(0)).to_string());
        item.insert(TIME, self.time_ms);
        item.insert(MOVED, self.moved_ms);
        Put::new(table, item)
    }
}

impl Db {
    /// Gives each consumer that is new a position: whatever comes from now on is for it.
    pub(crate) async fn begin_consumers(&self) -> Result<(), Error> {
        let consumers = Consumer::all(self.shared.schema().model());
        if consumers.is_empty() {
            return Ok(());
        }
        let known = self.checkpoints().await?;
        let is_new = |consumer: &&Consumer| known.iter().all(|b| b.consumer != consumer.name);
        for consumer in consumers.iter().filter(is_new) {
            for shard in self.parts().await? {
                let begun = self.placed(&consumer.name, &shard, FeedStart::Now).await?;
                let put = begun.put(&self.shared.table).when(Condition::missing(PARTITION));
                match self.shared.store.put(put).await {
                    // Another process was as fast.
                    Ok(_) | Err(StoreError::ConditionFailed { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    /// Lets a consumer go on from the oldest change that is kept or from the newest, whatever it
    /// has seen. What is skipped is not handled; what is seen again is handled again.
    ///
    /// # Errors
    ///
    /// If the model calls no such consumer, or the store fails.
    pub fn resume<'a>(&'a self, consumer: &'a str, from: FeedStart) -> Answer<'a, ()> {
        Box::pin(async move {
            let all = Consumer::all(self.shared.schema().model());
            if all.iter().all(|other| other.name != consumer) {
                let what = format!("The model calls no `{consumer}`");
                return Err(unknown(what, consumer, all.iter().map(|other| other.name.as_str())));
            }
            for shard in self.parts().await? {
                let put = self.placed(consumer, &shard, from).await?.put(&self.shared.table);
                self.shared.store.put(put).await?;
            }
            Ok(())
        })
    }

    async fn placed(
        &self,
        consumer: &str,
        shard: &ShardId,
        from: FeedStart,
    ) -> Result<Checkpoint, Error> {
        let after = self.end_of_feed(shard, from).await?;
        let now_ms = self.shared.now_ms();
        let (consumer, shard) = (consumer.to_owned(), shard.clone());
        Ok(Checkpoint { consumer, shard, after: Some(after), time_ms: now_ms, moved_ms: now_ms })
    }

    /// The checkpoints of a consumer in all parts of the feed.
    ///
    /// # Errors
    ///
    /// [`Error::Behind`] if it has some, and none of them is in a part that there is: parts come and
    /// go, but not all at once while it reads. The store was restored, or the consumer away for longer
    /// than changes are kept.
    pub(crate) async fn checkpoints_of(&self, consumer: &str) -> Result<Vec<Checkpoint>, Error> {
        let mut checkpoints = vec![];
        for shard in self.parts().await? {
            checkpoints.push(self.checkpoint(consumer, &shard).await?);
        }
        if checkpoints.is_empty() || checkpoints.iter().any(|checkpoint| checkpoint.after.is_some())
        {
            return Ok(checkpoints);
        }
        let mut gone = self.checkpoints().await?;
        gone.retain(|checkpoint| checkpoint.consumer == consumer);
        let Some(seen_ms) = gone.iter().map(|checkpoint| checkpoint.time_ms).max() else {
            return Ok(checkpoints);
        };
        let oldest_ms = match checkpoints.first() {
            Some(first) => self.oldest_ms(&first.shard).await?,
            None => None,
        };
        Err(Error::Behind { consumer: consumer.to_owned(), seen_ms, oldest_ms })
    }

    /// The checkpoint of a consumer in a part. A part without one came to be after the consumer, so
    /// all of it is new.
    pub(crate) async fn checkpoint(
        &self,
        consumer: &str,
        shard: &ShardId,
    ) -> Result<Checkpoint, Error> {
        let get = Get::new(&self.shared.table, Checkpoint::key(consumer, shard).to_item());
        let Some(row) = self.shared.store.get(get).await? else {
            let (consumer, shard) = (consumer.to_owned(), shard.clone());
            return Ok(Checkpoint { consumer, shard, after: None, time_ms: 0, moved_ms: 0 });
        };
        let what = || format!("The position of the consumer `{consumer}` cannot be read.");
        Checkpoint::read(&row).ok_or_else(|| Error::damaged(what()))
    }

    async fn checkpoints(&self) -> Result<Vec<Checkpoint>, Error> {
        let partition = RowKey::system(NAME, &[]).partition.into_vec();
        let mut query = Query::new(&self.shared.table, KeyCondition::equal(PARTITION, partition));
        let mut checkpoints = vec![];
        loop {
            let page = self.shared.store.query(query.clone()).await?;
            checkpoints.extend(page.items.iter().filter_map(Checkpoint::read));
            match page.last_key {
                None => return Ok(checkpoints),
                start => query.start = start,
            }
        }
    }
}

impl Handlers {
    /// Checks that everything that the model calls is there, unless others are left to other programs
    /// ([`Handlers::leave_others`]).
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] with what is not.
    pub fn check(&self, db: &Db) -> Result<(), Error> {
        let consumers = Consumer::all(db.shared.schema().model());
        let lacks = |consumer: &&Consumer| !self.is_partial() && !self.has(&consumer.target);
        let Some(consumer) = consumers.iter().find(lacks) else { return Ok(()) };
        Err(match &consumer.target {
            Target::Handler(name) => {
                let what = format!("The model calls `{name}`, and no handler has this name");
                unknown(what, name, self.event_names())
            }
            Target::Job(kind) => {
                let what = format!("The model schedules jobs `{kind}`, and nothing runs them");
                unknown(what, kind, self.job_names())
            }
            Target::Webhook(address) => Error::Unknown {
                what: format!("The model calls the webhook `{address}`, and nothing posts"),
                help: Some("give `Handlers::webhooks` something that does".to_owned()),
            },
        })
    }
}
