//! Salvaging: builds a new tree from the readable parts of a damaged one, for a store whose log and
//! backups do not suffice to rebuild it. Rows in damaged pages are lost, and reported. No part of a
//! damaged page is used.
//!
//! Items are kept. What derives from items (indexes, columns, time-to-live lists, counts) is
//! rebuilt by `Apply`, so that it matches the remaining items. The rows of a set depend on each
//! other: sets are kept if no row of their table's sets was lost, and dropped otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crate::{Cause, DirectoryError, Error, OpenMode, TableName, Time};

use super::apply::Apply;
use super::backup::{COPY_BYTES, COPY_ROWS, CopyProgress, OnProgress};
use super::catalog::Catalog;
use super::directory::{Contents, DataDirectory};
use super::format::{
    Applied, Commit, CommitNo, Effect, Malformed, NameCache, NextId, RowEffect, RowKind, SpaceId,
    Stats, SystemKey, TableId, TableRecord, decode_item,
};
use super::log::LogDirectory;
use super::open::open_to_salvage;
use super::options::Options;
use super::rebuild::explain_full_disk;
use super::replay::Replay;
use super::tree::{Tree, TreeView, failed};
use super::tree_file::is_lost_page;
use super::{check_continue, damaged};

/// What was kept and lost when salvaging a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Salvaged {
    /// Items kept, before the log was replayed.
    pub items: u64,
    /// Key ranges that could not be read.
    pub lost_ranges: u64,
    /// How many items each table has lost; `None` if that is unknown. Tables that lost none are
    /// absent.
    pub lost_items: BTreeMap<TableName, Option<u64>>,
    /// Tables whose sets were dropped: fill them again from the items.
    pub without_sets: Vec<TableName>,
    /// The last replayed commit.
    pub commit: u64,
}

/// Replaces a damaged tree with everything that can be read of it. No process has the directory
/// open.
pub(crate) fn salvage(
    path: &Path,
    options: &Options,
    on_progress: OnProgress<'_>,
) -> Result<Salvaged, Error> {
    let directory = DataDirectory::new(Arc::clone(&options.disk), path);
    let Contents::Store(store) = directory.contents()? else {
        return Err(DirectoryError::NoStore { directory: path.to_owned() }.into());
    };
    let (_lock, _) = directory.lock()?;
    let disk = Arc::clone(&directory.disk);
    let log = LogDirectory::open(disk, directory.log(), store, OpenMode::ReadWrite)?;
    let old = open_to_salvage(&directory, store, options)?;
    let view = old.view()?;
    let survey = Survey::of(&view)?;
    let salvaged = directory.replace_tree(store, |tree| {
        let mut salvaged = Copying::new(&survey, tree).run(&view, on_progress)?;
        let mut catalog = Arc::clone(&survey.catalog);
        let (applied, last_at) = (survey.applied, survey.at);
        let replay = Replay { tree, catalog: &mut catalog, applied, last_at };
        let end = replay.run(&log, applied, &mut |_, _| tree.check_written())?;
        // The tree must not have what a crash could still take from the log.
        log.rewrite_last(&end.segment, end.offset)?;
        log.note_synced(end.applied);
        salvaged.commit = end.applied.0;
        Ok(salvaged)
    });
    salvaged.map_err(|error| explain_full_disk(error, &directory))
}

/// The result of a first pass over all rows: the catalog, and where rows are lost.
struct Survey {
    catalog: Arc<Catalog>,
    applied: CommitNo,
    at: Time,
    /// Recorded item counts of each space.
    counted: BTreeMap<SpaceId, u64>,
    /// The first and last space that a lost range can have contained rows of.
    lost: Vec<(SpaceId, SpaceId)>,
}

impl Survey {
    fn of(view: &TreeView) -> Result<Survey, Error> {
        let malformed = |why: Malformed| damaged(view.path(), 0, why.0);
        let mut seen = Seen::default();
        for entry in view.all()? {
            let (row, value) = entry?;
            seen.add(row.value(), value.value()).map_err(malformed)?;
        }
        seen.end();
        let Seen { system, counted, lost, is_catalog_lost, spaces, .. } = seen;
        let (applied, at, next_id) = match (system.applied, system.next_id) {
            (Some((applied, at)), Some(next_id)) => (applied, at, next_id),
            (None, _) | (_, None) if is_catalog_lost => return Err(no_catalog(view.path())),
            (applied, next_id) => {
                let (applied, at) = applied.unwrap_or((CommitNo::NONE, Time(0)));
                (applied, at, next_id.unwrap_or(1))
            }
        };
        let catalog = Catalog::new(next_id, system.tables);
        let known = owned_spaces(&catalog);
        // Rows or counts without an owner belong to a table whose record is lost, or wait to be
        // purged.
        let seen: BTreeSet<SpaceId> =
            spaces.union(&counted.keys().copied().collect()).copied().collect();
        let mut unknown = seen.difference(&known).filter(|space| !system.dead.contains(space));
        if is_catalog_lost && unknown.next().is_some() {
            return Err(no_catalog(view.path()));
        }
        Ok(Survey { catalog: Arc::new(catalog), applied, at, counted, lost })
    }

    /// Whether rows of a space may be lost.
    fn may_have_lost(&self, space: SpaceId) -> bool {
        self.lost.iter().any(|(first, last)| (*first..=*last).contains(&space))
    }
}

/// Without the records of the tables, the rows cannot be interpreted.
fn no_catalog(tree: &Path) -> Error {
    let what =
        "the table records cannot be read, so nothing can be salvaged: restore from a backup";
    damaged(tree, 0, what)
}

fn owned_spaces(catalog: &Catalog) -> BTreeSet<SpaceId> {
    let spaces = catalog
        .tables()
        .flat_map(|table| table.derived.iter().map(|derived| derived.space).chain([table.space]));
    spaces.chain([SpaceId::SYSTEM]).collect()
}

/// The relevant rows of the engine itself.
#[derive(Default)]
struct System {
    applied: Option<(CommitNo, Time)>,
    next_id: Option<u32>,
    tables: Vec<TableRecord>,
    dead: BTreeSet<SpaceId>,
}

#[derive(Default)]
struct Seen {
    system: System,
    counted: BTreeMap<SpaceId, u64>,
    lost: Vec<(SpaceId, SpaceId)>,
    /// Whether a lost range can have contained table records.
    is_catalog_lost: bool,
    spaces: BTreeSet<SpaceId>,
    /// The last row that was read.
    last: Vec<u8>,
    is_in_lost_range: bool,
}

impl Seen {
    fn add(&mut self, row: &[u8], value: &[u8]) -> Result<(), Malformed> {
        if is_lost_page(row) {
            self.is_in_lost_range = true;
            self.is_catalog_lost |= self.last < SystemKey::tables().1;
            return Ok(());
        }
        let (space, _) = SpaceId::split(row)?;
        self.close_range(space);
        self.spaces.insert(space);
        if space == SpaceId::SYSTEM {
            self.system_row(row, value)?;
        }
        self.last = row.to_vec();
        Ok(())
    }

    fn close_range(&mut self, next: SpaceId) {
        if std::mem::take(&mut self.is_in_lost_range) {
            let first = SpaceId::split(&self.last).map_or(SpaceId::SYSTEM, |(space, _)| space);
            self.lost.push((first, next));
        }
    }

    fn end(&mut self) {
        self.close_range(SpaceId(u32::MAX));
    }

    fn system_row(&mut self, row: &[u8], value: &[u8]) -> Result<(), Malformed> {
        let tables = SystemKey::tables();
        if row == SystemKey::Applied.row() {
            let Applied { commit, at } = Applied::decode(value)?;
            self.system.applied = Some((commit, at));
        } else if row == SystemKey::NextId.row() {
            self.system.next_id = Some(NextId::decode(value)?.0);
        } else if row >= tables.0.as_slice() && row < tables.1.as_slice() {
            self.system.tables.push(TableRecord::decode(value)?);
        } else if SystemKey::kind(row) == Some(RowKind::Dead) {
            self.system.dead.insert(SystemKey::dead_space(row)?);
        } else if let Some(RowKind::Stats(space)) = SystemKey::kind(row) {
            self.counted.insert(space, Stats::decode(value)?.items);
        }
        Ok(())
    }
}

/// How the rows of a space are salvaged.
#[derive(Clone, Copy)]
enum Fate {
    /// They are items.
    Items(TableId),
    /// They are copied unchanged.
    Copied,
}

/// Copies what is left into a new tree.
struct Copying<'a> {
    survey: &'a Survey,
    tree: &'a Tree,
    fates: BTreeMap<SpaceId, Fate>,
    catalog: Arc<Catalog>,
    kept: BTreeMap<SpaceId, u64>,
    /// Rows that are not items.
    copied: Vec<(Vec<u8>, Vec<u8>)>,
    effects: Vec<Effect>,
    bytes: usize,
}

impl<'a> Copying<'a> {
    fn new(survey: &'a Survey, tree: &'a Tree) -> Copying<'a> {
        let mut fates = BTreeMap::new();
        for table in survey.catalog.tables() {
            fates.insert(table.space, Fate::Items(table.id));
            if let Some(sets) = table.set_rows().filter(|sets| !survey.may_have_lost(sets.0)) {
                fates.insert(sets.0, Fate::Copied);
            }
        }
        let records = survey.catalog.tables().map(|table| Effect::SetTable((**table).clone()));
        Copying {
            survey,
            tree,
            fates,
            catalog: Arc::new(Catalog::new(survey.catalog.next_id(), [])),
            kept: BTreeMap::new(),
            copied: vec![],
            effects: records.collect(),
            bytes: 0,
        }
    }

    fn run(mut self, view: &TreeView, on_progress: OnProgress<'_>) -> Result<Salvaged, Error> {
        self.write()?;
        let (commit, at) = (self.survey.applied.0, self.survey.at);
        let mut progress = CopyProgress { rows: 0, commit, at };
        for entry in view.all()? {
            let (row, value) = entry?;
            self.add(row.value(), value.value());
            if self.copied.len() + self.effects.len() >= COPY_ROWS || self.bytes >= COPY_BYTES {
                self.write()?;
                progress.rows = self.kept.values().sum();
                check_continue(on_progress(progress))?;
            }
        }
        self.write()?;
        Ok(self.salvaged())
    }

    fn add(&mut self, row: &[u8], value: &[u8]) {
        let Ok((space, key)) = SpaceId::split(row) else { return };
        let is_token =
            matches!(SystemKey::kind(row), Some(RowKind::Token | RowKind::TokenExpiry(_)));
        match self.fates.get(&space) {
            // The block matches its checksum; an undecodable item in it is of no use.
            Some(Fate::Items(table)) if decode_item(value, &mut NameCache::default()).is_ok() => {
                let (key, new) = (key.to_vec(), Some(value.to_vec()));
                let (table, cause) = (*table, Cause::Request);
                self.effects.push(Effect::Row(RowEffect { table, key, new, cause, feed: None }));
                *self.kept.entry(space).or_default() += 1;
            }
            Some(Fate::Copied) => self.copied.push((row.to_vec(), value.to_vec())),
            None if is_token => self.copied.push((row.to_vec(), value.to_vec())),
            Some(Fate::Items(_)) | None => return,
        }
        self.bytes += row.len() + value.len();
    }

    fn write(&mut self) -> Result<(), Error> {
        let path = self.tree.path();
        let commit = Commit { at: self.survey.at, effects: std::mem::take(&mut self.effects) };
        let copied = std::mem::take(&mut self.copied);
        let (catalog, survey) = (&mut self.catalog, self.survey);
        self.tree.write(|rows| {
            for (row, value) in &copied {
                rows.insert(row, value).map_err(|error| failed(path, error))?;
            }
            let mut apply = Apply::new(rows, catalog, path);
            apply.commit(&commit, &[])?;
            apply.finish(survey.applied, survey.at)
        })?;
        self.bytes = 0;
        // What cannot be written stays in memory; do not add more to it.
        self.tree.check_written()
    }

    fn salvaged(self) -> Salvaged {
        let survey = self.survey;
        let mut salvaged =
            Salvaged { lost_ranges: survey.lost.len() as u64, ..Salvaged::default() };
        for table in survey.catalog.tables() {
            let kept = self.kept.get(&table.space).copied().unwrap_or(0);
            salvaged.items += kept;
            let counted = survey.counted.get(&table.space).copied();
            let lost = counted.map(|counted| counted.saturating_sub(kept));
            // If the count is lost too, the number is unknown.
            let may_have_lost = survey.may_have_lost(table.space) && lost != Some(0);
            if may_have_lost || lost.is_some_and(|lost| lost > 0) {
                salvaged.lost_items.insert(table.spec.name.clone(), lost);
            }
            if table.set_rows().is_some_and(|sets| survey.may_have_lost(sets.0)) {
                salvaged.without_sets.push(table.spec.name.clone());
            }
        }
        salvaged
    }
}
