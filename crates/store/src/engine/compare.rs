//! Compares a store, row by row, with a tree built from the log, or from a backup and the log. It
//! does not decide which of the two is right: the log is the source of truth, and every difference
//! is reported.
//!
//! Not every difference is an error. Background work removes unreachable rows and expired tokens
//! without logging it. How the members of a set are split into rows depends on how writes were
//! batched, so sets are compared by their members.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::{
    Damage, Direction, DirectoryError, Error, ListSets, Members, ReadSet, SetName, TableName, Time,
};

use super::backup::{CopyProgress, OnProgress};
use super::commit_batch::token_expired;
use super::directory::DataDirectory;
use super::format::{CommitNo, DerivedKind, RowKind, SpaceId, SystemKey, TableRecord};
use super::log_pins::LogPin;
use super::rebuild::Sources;
use super::replay::{Replay, load};
use super::restore::{Moment, replay_until};
use super::scrub_report::{OnScrub, Scrubbed};
use super::shared::Shared;
use super::tree::{Rows, Tree};
use super::view::View;
use super::{check_continue, io_error};

/// The file of the tree to compare with.
const SCRATCH: &str = "scrub.redb";
/// Rows between two progress reports.
const REPORT_ROWS: u64 = 1000;
/// Set names read at once, and chunks of one set.
const SETS: u32 = 1000;
const CHUNKS: u32 = 64;
/// Bytes of a key that a finding shows.
const KEY_BYTES_SHOWN: usize = 48;

/// What the tree to compare with is built from, and where.
pub(crate) struct Rebuild<'a> {
    pub(crate) backup: Option<&'a Path>,
    /// A directory for the tree.
    pub(crate) scratch: &'a Path,
    /// Retains the log.
    pub(crate) pin: LogPin<'a>,
}

/// Compares every row of an open store with what the log says.
pub(crate) fn compare(
    shared: &Shared,
    with: &Rebuild<'_>,
    found: &mut Scrubbed,
    on_progress: OnScrub<'_>,
) -> Result<(), Error> {
    let (disk, scratch) = (&shared.options.disk, with.scratch);
    let directory = DataDirectory::new(Arc::clone(disk), scratch);
    disk.create_directory(scratch).map_err(io_error("creating a directory", scratch))?;
    let names = disk.list(scratch).map_err(io_error("listing a directory", scratch))?;
    if let Some(found) = names.into_iter().next() {
        return Err(DirectoryError::Foreign { directory: scratch.to_owned(), found }.into());
    }
    let path = scratch.join(SCRATCH);
    let compared = directory.write_tree(&path, shared.ids.store, |tree| {
        let built = build(shared, with, tree, &mut |_| on_progress(found));
        let (store, built) = built.map_err(|error| match (&error, with.pin.has_lapsed()) {
            (Error::Stopped, _) | (_, false) => error,
            (_, true) => trimmed(shared),
        })?;
        Comparison::new(shared, &store, &built).run(found, on_progress)
    });
    let removed = disk.remove(&path).map_err(io_error("removing a file", &path));
    compared.and(removed)
}

/// Builds a tree of the current store, and returns the views of both. The store's view is taken
/// last, because holding it is costly for writers.
fn build(
    shared: &Shared,
    with: &Rebuild<'_>,
    tree: &Tree,
    on_progress: OnProgress<'_>,
) -> Result<(Arc<View>, View), Error> {
    let files = shared.files();
    let log = &files.log;
    let sources = Sources::find(&shared.options.disk, log, with.backup)?;
    let mut progress = CopyProgress::default();
    let mut on_progress = |progress: CopyProgress| {
        // The log is no longer needed up to what the new tree has.
        with.pin.advance(CommitNo(progress.commit));
        on_progress(progress)
    };
    sources.copy(sources.first(), tree, &mut progress, &mut on_progress)?;
    let mut replay_to = |commit| {
        let (mut catalog, applied, last_at) = load(tree)?;
        let replay = Replay { tree, catalog: &mut catalog, applied, last_at };
        let to = Moment::Commit(commit);
        replay_until(replay, log, to, &mut progress, &mut on_progress)
    };
    replay_to(shared.view().applied.0)?;
    let view = shared.view();
    replay_to(view.applied.0)?;
    let (catalog, applied, applied_at) = load(tree)?;
    Ok((view, View { tree: tree.view()?, catalog, applied, applied_at }))
}

/// Returns the error for a log that was trimmed during the comparison.
fn trimmed(shared: &Shared) -> Error {
    let cause = "the log was trimmed during the comparison because it grew to twice its retention size or \
       the disk was nearly full; retry with a newer backup, or while fewer writes run";
    io_error("comparing rows with the log", &shared.data_directory().log())(std::io::Error::other(
        cause,
    ))
}

struct Comparison<'a> {
    store: &'a View,
    built: &'a View,
    path: &'a Path,
    now: Time,
    /// Spaces whose rows are compared one by one.
    spaces: BTreeSet<SpaceId>,
}

impl<'a> Comparison<'a> {
    fn new(shared: &Shared, store: &'a View, built: &'a View) -> Comparison<'a> {
        let mut spaces = BTreeSet::from([SpaceId::SYSTEM]);
        for table in store.catalog.tables().chain(built.catalog.tables()) {
            spaces.insert(table.space);
            let derived = table.derived.iter().filter(|derived| derived.kind != DerivedKind::Sets);
            spaces.extend(derived.map(|derived| derived.space));
        }
        let now = shared.options.clock.now().max(store.applied_at);
        Comparison { store, built, path: store.tree.path(), now, spaces }
    }

    fn run(&self, found: &mut Scrubbed, on_progress: OnScrub<'_>) -> Result<(), Error> {
        for space in &self.spaces {
            self.space(*space, found, on_progress)?;
        }
        for table in self.store.catalog.names() {
            // A table that only one of them has is reported as a differing row.
            if self.built.catalog.table(table).is_ok() {
                self.sets(table, found, on_progress)?;
            }
        }
        Ok(())
    }

    fn space(
        &self,
        space: SpaceId,
        found: &mut Scrubbed,
        on_progress: OnScrub<'_>,
    ) -> Result<(), Error> {
        let range = (space.start(), space.end());
        let (mut store, mut built) =
            (self.store.tree.range(&range)?, self.built.tree.range(&range)?);
        let (mut left, mut right) = (next(&mut store)?, next(&mut built)?);
        loop {
            let order = match (&left, &right) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((left, _)), Some((right, _))) => left.cmp(right),
            };
            let differs = match order {
                Ordering::Less => left.as_ref().map(|row| (row, "is not in the log")),
                Ordering::Greater => right.as_ref().map(|row| (row, "is missing")),
                Ordering::Equal => left
                    .as_ref()
                    .filter(|_| left != right)
                    .map(|row| (row, "has a different value")),
            };
            if let Some(((key, value), what)) = differs
                && !self.may_differ(key, value)
            {
                found.add(self.finding(space, key, what));
            }
            if order != Ordering::Greater {
                left = next(&mut store)?;
                found.rows += 1;
                if found.rows.is_multiple_of(REPORT_ROWS) {
                    check_continue(on_progress(found))?;
                }
            }
            if order != Ordering::Less {
                right = next(&mut built)?;
            }
        }
    }

    /// Whether background work removes such rows without logging it, or it is a sum over such rows.
    fn may_differ(&self, key: &[u8], value: &[u8]) -> bool {
        match SystemKey::kind(key) {
            Some(RowKind::Dead | RowKind::LiveBytes) => true,
            Some(RowKind::Stats(space)) => !self.spaces.contains(&space),
            Some(RowKind::Token) => token_expired(value, self.now),
            Some(RowKind::TokenExpiry(at)) => at <= self.now.0,
            Some(RowKind::Other) | None => false,
        }
    }

    /// Compares the sets of a table by their members.
    fn sets(
        &self,
        table: &TableName,
        found: &mut Scrubbed,
        on_progress: OnScrub<'_>,
    ) -> Result<(), Error> {
        let space =
            self.store.catalog.table(table)?.set_rows().map_or(SpaceId::SYSTEM, |rows| rows.0);
        let mut after = None;
        loop {
            // From both, to find sets that only one of them has.
            let mut names = set_names(self.store, table, after.clone())?;
            names.extend(set_names(self.built, table, after)?);
            // Beyond the last name of a full page, the other may have names that were not read.
            let names: Vec<SetName> = names.into_iter().take(SETS as usize).collect();
            for name in &names {
                found.rows += 1;
                if members(self.store, table, name)? != members(self.built, table, name)? {
                    found.add(self.finding(space, name.as_bytes(), "has different members"));
                }
            }
            check_continue(on_progress(found))?;
            after = names.into_iter().next_back();
            if after.is_none() {
                return Ok(());
            }
        }
    }

    fn finding(&self, space: SpaceId, key: &[u8], what: &str) -> Damage {
        let owner = |table: &&Arc<TableRecord>| {
            let mut derived = table.derived.iter();
            table.space == space || derived.any(|derived| derived.space == space)
        };
        let tables = self.store.catalog.tables().chain(self.built.catalog.tables());
        let table = tables.into_iter().find(owner).map(|table| table.spec.name.clone());
        let of =
            table.map_or("the engine's own rows".to_owned(), |table| format!("table `{table}`"));
        let shown: String =
            key.iter().take(KEY_BYTES_SHOWN).map(|byte| format!("{byte:02x}")).collect();
        let what = format!("a row of {of} {what}: key {shown} in space {}", space.0);
        Damage { file: self.path.to_owned(), offset: 0, what }
    }
}

type OwnedRow = (Vec<u8>, Vec<u8>);

fn next(rows: &mut Rows<'_>) -> Result<Option<OwnedRow>, Error> {
    let row = rows.next().transpose()?;
    Ok(row.map(|(key, value)| (key.value().to_vec(), value.value().to_vec())))
}

fn set_names(
    view: &View,
    table: &TableName,
    after: Option<SetName>,
) -> Result<BTreeSet<SetName>, Error> {
    let list = ListSets { table: table.clone(), prefix: vec![], after, limit: SETS };
    Ok(view.find_sets(&list)?.into_iter().map(|set| set.set).collect())
}

/// Returns all members of a set.
fn members(view: &View, table: &TableName, set: &SetName) -> Result<Members, Error> {
    let (mut all, mut from) = (Members::default(), Some(0));
    while let Some(start) = from {
        let part = view.part_of_set(&ReadSet {
            table: table.clone(),
            set: set.clone(),
            from: start,
            direction: Direction::Forward,
            chunks: CHUNKS,
        })?;
        all.or(&part.members);
        from = part.through.and_then(|through| through.checked_add(1));
    }
    Ok(all)
}
