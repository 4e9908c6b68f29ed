//! The change feed: a view of the log.

use std::io::ErrorKind;
use std::sync::Arc;

use crate::slice::Interrupt;
use crate::{
    Cause, Change, ChangePage, Error, Feed, FeedStart, Invalid, ReadChanges, SeqNo, Shard, ShardId,
    TableName,
};

use super::directory::StoreIds;
use super::format::{Commit, CommitNo, Effect, Malformed, NameCache, RowEffect, TableRecord};
use super::log::{LogDirectory, LogWalk, Segment};
use super::view::View;

/// The low bits of a sequence number count the changes of one commit.
const CHANGE_BITS: u32 = 8;
/// Bytes of log that one call reads, at most.
const READ_BYTES_MAX: usize = 16 << 20;

/// Returns the one shard of a feed. It is named after the store's history: in a restored store,
/// earlier sequence numbers refer to other changes, or to none yet.
pub(crate) fn shards(view: &View, ids: StoreIds, name: &TableName) -> Result<Vec<Shard>, Error> {
    match view.catalog.table(name)?.spec.feed {
        Feed::Images => {
            let id = ShardId(format!("all-{:016x}", ids.history));
            Ok(vec![Shard { id, parent: None }])
        }
        Feed::Off => Err(Error::NoFeed { table: name.clone() }),
    }
}

/// Whether there are durable changes after this one.
pub(crate) fn has_after(after: SeqNo, applied: CommitNo, synced: CommitNo) -> bool {
    end_of(applied.min(synced)) > after
}

/// Returns durable changes: up to `synced`, which a relaxed store reaches a little later than its
/// readers do. Changes that a crash could still take back must not be delivered.
pub(crate) fn changes(
    view: &View,
    ids: StoreIds,
    (log, synced): (&LogDirectory, CommitNo),
    read: &ReadChanges,
    interrupt: &Interrupt,
) -> Result<ChangePage, Error> {
    if shards(view, ids, &read.table)?.iter().all(|shard| shard.id != read.shard) {
        return Err(Invalid::Shard { shard: read.shard.clone() }.into());
    }
    if read.limit == 0 {
        return Err(Invalid::LimitZero.into());
    }
    let newest = view.applied.min(synced);
    let attempt = || changes_of(view, log, newest, read, interrupt);
    match attempt() {
        // The segment was trimmed since it was looked up: the oldest change is another one now.
        Err(Error::Io(failure)) if failure.cause.kind() == ErrorKind::NotFound => attempt(),
        page => page,
    }
}

fn changes_of(
    view: &View,
    log: &LogDirectory,
    newest: CommitNo,
    read: &ReadChanges,
    interrupt: &Interrupt,
) -> Result<ChangePage, Error> {
    let table = view.catalog.table(&read.table)?;
    // Read once: the log may be trimmed meanwhile.
    let segments = log.segments();
    let oldest = segments.first().map_or(newest.next(), |segment| segment.first);
    let after = match read.start {
        FeedStart::Oldest => end_of(CommitNo(oldest.0.saturating_sub(1))),
        FeedStart::After(seq) if is_gone(seq, oldest) => {
            return Err(Error::ChangesGone { oldest: seq_no(oldest, 0) });
        }
        FeedStart::After(seq) if commit_of(seq) > view.applied => {
            return Err(Error::ChangesAhead { newest: end_of(newest) });
        }
        FeedStart::After(seq) => seq,
        FeedStart::Now => end_of(newest),
    };
    let after = after.max(end_of(table.feed_since));
    let page = ChangePage { changes: Vec::new(), next: after, is_ended: false };
    let mut reading = Reading { view, table, after, newest, limit: read.limit, interrupt, page };
    reading.run(&segments)?;
    Ok(reading.page)
}

struct Reading<'a> {
    view: &'a View,
    table: &'a TableRecord,
    after: SeqNo,
    newest: CommitNo,
    limit: usize,
    interrupt: &'a Interrupt,
    page: ChangePage,
}

impl Reading<'_> {
    fn run(&mut self, segments: &[Arc<Segment>]) -> Result<(), Error> {
        let first = commit_of(self.after);
        // The commit itself may be trimmed when all of its changes were read.
        let first = first.max(segments.first().map_or(first, |segment| segment.first));
        if first > self.newest {
            return Ok(());
        }
        let Some(mut walk) = LogWalk::from_commit(segments, first)? else { return Ok(()) };
        let mut bytes = 0;
        while bytes < READ_BYTES_MAX && walk.position().expected() <= self.newest {
            let Some(frame) = walk.next()? else { return Err(walk.position().hole()) };
            if frame.header.last() < first {
                continue;
            }
            bytes += frame.payload.len();
            for (number, commit) in frame.commits()? {
                if self.interrupt.fires() || !self.commit(number, &commit)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Adds a commit's changes of the table; returns false when the page is full.
    fn commit(&mut self, number: CommitNo, commit: &Commit) -> Result<bool, Error> {
        if number > self.newest {
            return Ok(false);
        }
        let rows = commit.effects.iter().filter_map(|effect| match effect {
            Effect::Row(row) if row.table == self.table.id => Some(row),
            _ => None,
        });
        let mut names = NameCache::default();
        for (index, row) in rows.enumerate() {
            let seq = seq_no(number, index);
            if seq <= self.after || row.feed.is_none() {
                continue;
            }
            if self.page.changes.len() == self.limit {
                return Ok(false);
            }
            let change = self.change(seq, commit, row, &mut names)?;
            self.page.changes.push(change);
            self.page.next = seq;
        }
        self.page.next = self.page.next.max(end_of(number));
        Ok(true)
    }

    fn change(
        &self,
        seq: SeqNo,
        commit: &Commit,
        row: &RowEffect,
        names: &mut NameCache,
    ) -> Result<Change, Error> {
        let mut image =
            |bytes: Option<&Vec<u8>>| bytes.map(|bytes| self.view.decode(bytes, names)).transpose();
        let old = image(row.feed.as_ref().and_then(Option::as_ref))?;
        let new = image(row.new.as_ref())?;
        let either = new.as_ref().or(old.as_ref());
        let lost = || self.view.malformed(Malformed("a change has neither an old nor a new image"));
        let key = self.table.spec.key.of(either.ok_or_else(lost)?);
        let cause: Cause = row.cause;
        Ok(Change { seq, at: commit.at, key, old, new, cause })
    }
}

fn seq_no(commit: CommitNo, index: usize) -> SeqNo {
    SeqNo(u128::from(commit.0) << CHANGE_BITS | index as u128)
}

/// Returns the sequence number after every change of a commit.
pub(crate) fn end_of(commit: CommitNo) -> SeqNo {
    seq_no(commit, (1 << CHANGE_BITS) - 1)
}

fn commit_of(seq: SeqNo) -> CommitNo {
    CommitNo(u64::try_from(seq.0 >> CHANGE_BITS).unwrap_or(u64::MAX))
}

/// Whether changes after this one may have been trimmed.
fn is_gone(seq: SeqNo, oldest: CommitNo) -> bool {
    let whole = CommitNo(oldest.0.saturating_sub(1));
    whole != CommitNo::NONE && seq < end_of(whole)
}
