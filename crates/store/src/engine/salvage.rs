//! Salvaging: a new tree out of what can still be read of a damaged one, for a store whose log and
//! backups do not suffice to rebuild it. Rows in damaged pages are lost, and told. Nothing of a damaged
//! page is used.
//!
//! Items are kept. What follows from items (indexes, columns, time-to-live lists, counts) is written
//! anew by `Apply`, so that it fits the items that are left. The rows of a set depend on each other: sets
//! are kept if nothing of their table's sets was lost, and dropped otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crate::{Cause, DirectoryError, Error, OpenMode, TableName, Time};

use super::apply::Apply;
use super::backup::{COPY_BYTES, COPY_ROWS, CopyProgress, OnProgress};
use super::catalog::Catalog;
use super::directory::{Contents, DataDirectory};
use super::format::{
    Applied, Commit, CommitNo, Effect, Malformed, NameCache, NextNumber, RowEffect, RowKind,
    SpaceId, Stats, SystemKey, TableId, TableRecord, decode_item,
};
use super::log::LogDirectory;
use super::open::{Replay, open_to_salvage};
use super::options::Options;
use super::rebuild::say_space;
use super::tree::{Tree, TreeView, failed};
use super::tree_file::is_lost_page;
use super::{damaged, go_on};

/// What salvaging a store has kept and lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Salvaged {
    /// Items kept, before the log was replayed.
    pub items: u64,
    /// Key ranges that could not be read.
    pub lost_ranges: u64,
    /// How many items each table has lost; none where that is unknown. Tables that have lost none are
    /// not there.
    pub lost_items: BTreeMap<TableName, Option<u64>>,
    /// Tables whose sets were dropped: they must be filled again from the items.
    pub without_sets: Vec<TableName>,
    /// The last commit that was replayed.
    pub commit: u64,
}

/// Puts a tree with everything that can be read in the place of a damaged one. Nobody has the directory
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
    salvaged.map_err(|error| say_space(error, &directory))
}

/// What a look at all rows tells: the catalog, and where rows are lost.
struct Survey {
    catalog: Arc<Catalog>,
    applied: CommitNo,
    at: Time,
    /// Items that each space had, as it was counted.
    counted: BTreeMap<SpaceId, u64>,
    /// The first and the last space that a lost range can have had rows of.
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
        // Rows or counts that nobody owns were those of a table whose record is lost, or wait to be purged.
        let seen: BTreeSet<SpaceId> =
            spaces.union(&counted.keys().copied().collect()).copied().collect();
        let mut unknown = seen.difference(&known).filter(|space| !system.dead.contains(space));
        if is_catalog_lost && unknown.next().is_some() {
            return Err(no_catalog(view.path()));
        }
        Ok(Survey { catalog: Arc::new(catalog), applied, at, counted, lost })
    }

    /// Whether rows of a space may be lost.
    fn may_lack(&self, space: SpaceId) -> bool {
        self.lost.iter().any(|(first, last)| (*first..=*last).contains(&space))
    }
}

/// Without the records of the tables, nobody knows what the rows are.
fn no_catalog(tree: &Path) -> Error {
    let what = "the records of the tables cannot be read, so nothing can be salvaged: restore from a \
                backup";
    damaged(tree, 0, what)
}

fn owned_spaces(catalog: &Catalog) -> BTreeSet<SpaceId> {
    let spaces = catalog
        .tables()
        .flat_map(|table| table.derived.iter().map(|derived| derived.space).chain([table.space]));
    spaces.chain([SpaceId::SYSTEM]).collect()
}

/// The rows of the engine itself that count.
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
    /// Whether a lost range can have had records of tables.
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
            self.system.next_id = Some(NextNumber::decode(value)?.0);
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

/// What becomes of the rows of a space.
#[derive(Clone, Copy)]
enum Fate {
    /// They are items.
    Items(TableId),
    /// They are kept as they are.
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
            if let Some(sets) = table.set_rows().filter(|sets| !survey.may_lack(sets.0)) {
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
                go_on(on_progress(progress))?;
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
            // The block is as it was written; if the item is not one, it is of no use.
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
        // What cannot be written stays in memory; there is no point in more of it.
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
            // Where the count is lost too, nobody knows.
            let may_lack = survey.may_lack(table.space) && lost != Some(0);
            if may_lack || lost.is_some_and(|lost| lost > 0) {
                salvaged.lost_items.insert(table.spec.name.clone(), lost);
            }
            if table.set_rows().is_some_and(|sets| survey.may_lack(sets.0)) {
                salvaged.without_sets.push(table.spec.name.clone());
            }
        }
        salvaged
    }
}
