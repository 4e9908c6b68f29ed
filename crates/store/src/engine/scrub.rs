//! Verifies what is on disk: every block of the tree, every frame of the log, and at the deepest
//! level every row against a tree built from a backup and the log. The store can be open and
//! written to meanwhile. Repairs nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Damage, DirectoryError, Error, OpenMode};

use super::checked_file::{CheckedFile, RUN_BLOCKS, Verified};
use super::compare::{self, Rebuild};
use super::directory::{Contents, DataDirectory};
use super::format::{BLOCK, CommitNo};
use super::log::{FrameScan, LogDirectory, Segment};
use super::open::open_tree;
use super::options::Options;
use super::replay::load;
use super::scrub_report::{OnScrub, Scrubbed};
use super::shared::Shared;
use super::tree_damage::damage_of;
use super::{check_continue, io_error};

/// How many times the tree is read again because its file was replaced.
const ATTEMPTS: usize = 5;

/// What to verify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scrub {
    /// The checksum of every block of the tree.
    Tree,
    /// Like [`Scrub::Tree`], and every frame of the log.
    Files,
    /// Like [`Scrub::Files`], and every row, compared with a tree built from the log, or from a
    /// backup and the log.
    Rows {
        /// A backup of the store. Required if the log does not reach back to the first commit.
        backup: Option<PathBuf>,
        /// A directory to build the tree in. It must be empty or not exist, and needs as much space
        /// as the tree.
        scratch: PathBuf,
    },
}

/// Verifies an open store.
pub(crate) fn scrub_open(
    shared: &Shared,
    scrub: &Scrub,
    on_progress: OnScrub<'_>,
) -> Result<Scrubbed, Error> {
    let tree = shared.data_directory().tree();
    // Verifying the files takes time, and rows are compared with what the log has now.
    let pin = matches!(scrub, Scrub::Rows { .. }).then(|| shared.pin_log());
    let (mut found, mut files) = (Scrubbed::default(), shared.files());
    for _ in 0..ATTEMPTS {
        scrub_tree(files.tree.file().checked(), &tree, &mut found, on_progress)?;
        let now = shared.files();
        if Arc::ptr_eq(&files, &now) {
            break;
        }
        // The file was reopened and written to, or replaced: the findings mean nothing.
        (found, files) = (Scrubbed::default(), now);
    }
    if *scrub != Scrub::Tree {
        let synced = CommitNo(files.synced.load(std::sync::atomic::Ordering::Acquire));
        scrub_log(&files.log, End::AtLeast(synced), &mut found, on_progress)?;
    }
    // Damaged files cannot be compared, and the damage is already reported.
    if let (Scrub::Rows { backup, scratch }, Some(pin), 0) = (scrub, pin, found.findings) {
        let with = Rebuild { backup: backup.as_deref(), scratch, pin };
        compare::compare(shared, &with, &mut found, on_progress)?;
    }
    Ok(found)
}

/// Verifies the files of a store that cannot be opened.
pub(crate) fn scrub_closed(
    path: &Path,
    scrub: &Scrub,
    options: &Options,
    on_progress: OnScrub<'_>,
) -> Result<Scrubbed, Error> {
    let directory = DataDirectory::new(Arc::clone(&options.disk), path);
    let Contents::Store(store) = directory.contents()? else {
        return Err(DirectoryError::NoStore { directory: path.to_owned() }.into());
    };
    let (_lock, _) = directory.lock()?;
    let mut found = Scrubbed::default();
    let tree = directory.tree();
    let mut in_tree = CommitNo::NONE;
    match directory.disk.open(&tree, OpenMode::Read) {
        Ok(file) => {
            scrub_tree(&CheckedFile::to_verify(file, store), &tree, &mut found, on_progress)?;
            if found.findings == 0 {
                in_tree = last_commit(&directory, store, options, &mut found)?;
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            found.tree_damages += 1;
            found.add(Damage { file: tree, offset: 0, what: "the tree is missing".to_owned() });
        }
        Err(error) => return Err(io_error("opening the tree", &tree)(error)),
    }
    if *scrub != Scrub::Tree {
        let disk = Arc::clone(&directory.disk);
        match LogDirectory::open(disk, directory.log(), store, OpenMode::Read) {
            Ok(log) => scrub_log(&log, End::After(in_tree), &mut found, on_progress)?,
            Err(Error::Damaged(damage)) => found.add((*damage).clone()),
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

fn scrub_tree(
    file: &CheckedFile,
    path: &Path,
    found: &mut Scrubbed,
    on_progress: OnScrub<'_>,
) -> Result<(), Error> {
    if let Err(why) = file.verify_header() {
        found.tree_damages += 1;
        found.add(damage_of(path, 0, &why));
    }
    loop {
        let len = file.len().map_err(io_error("measuring the tree", path))?;
        found.blocks_total = len / BLOCK;
        let verified = file.verify(found.blocks, RUN_BLOCKS);
        let Verified { blocks, damaged } =
            verified.map_err(io_error("verifying the tree", path))?;
        found.blocks += blocks;
        found.tree_damages += damaged.len() as u64;
        damaged.iter().for_each(|(offset, why)| found.add(damage_of(path, *offset, why)));
        check_continue(on_progress(found))?;
        if blocks == 0 {
            break;
        }
    }
    if found.blocks == 0 && found.findings == 0 {
        found.tree_damages += 1;
        let what = "the tree is cut off after its header".to_owned();
        found.add(Damage { file: path.to_owned(), offset: 4 * BLOCK, what });
    }
    Ok(())
}

/// Returns the last commit in a tree. Blocks that were cut off have no checksums either, but the
/// tree does not open without them.
fn last_commit(
    directory: &DataDirectory,
    store: u64,
    options: &Options,
    found: &mut Scrubbed,
) -> Result<CommitNo, Error> {
    let options = Options { read_only: true, ..options.clone() };
    match open_tree(directory, store, &options).and_then(|(tree, _)| load(&tree)) {
        Ok((_, applied, _)) => Ok(applied),
        Err(Error::Damaged(damage)) => {
            found.tree_damages += 1;
            found.add((*damage).clone());
            Ok(CommitNo::NONE)
        }
        Err(error) => Err(error),
    }
}

/// Where a log must end.
#[derive(Clone, Copy, Debug)]
enum End {
    /// At this commit or later: the log is being written.
    AtLeast(CommitNo),
    /// Like [`End::AtLeast`], and nothing after its end was ever synced.
    After(CommitNo),
}

fn scrub_log(
    log: &LogDirectory,
    end: End,
    found: &mut Scrubbed,
    on_progress: OnScrub<'_>,
) -> Result<(), Error> {
    let (End::AtLeast(last) | End::After(last)) = end;
    let segments = log.segments();
    if segments.is_empty() {
        let what = "the log has no segments".to_owned();
        found.add(Damage { file: log.path.clone(), offset: 0, what });
    }
    for (index, segment) in segments.iter().enumerate() {
        let next = segments.get(index + 1).map(|next| next.first);
        let outcome = scrub_segment(segment, next.unwrap_or(last.next()), &mut || {
            found.frames += 1;
            check_continue(on_progress(found))
        });
        let outcome = outcome.and_then(|scan| match (next, end) {
            (None, End::After(_)) => {
                scan.check_tail().and(log.check_end(CommitNo(scan.expected().0 - 1)))
            }
            (None, End::AtLeast(_)) | (Some(_), _) => Ok(()),
        });
        match outcome {
            Ok(()) => {}
            Err(Error::Stopped) => return Err(Error::Stopped),
            Err(_) if !log.has(segment) => {}
            Err(Error::Damaged(damage)) => found.add((*damage).clone()),
            Err(Error::Io(failure)) => {
                let what = format!("the log cannot be read: {}", failure.cause);
                found.add(Damage { file: failure.path.clone(), offset: 0, what });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads the frames of a segment. Fails if they end before a commit.
fn scrub_segment(
    segment: &Arc<Segment>,
    until: CommitNo,
    on_frame: &mut dyn FnMut() -> Result<(), Error>,
) -> Result<FrameScan, Error> {
    // The header was verified when the store was opened, and may be damaged since.
    segment.verify_header()?;
    let mut scan = FrameScan::new(segment)?;
    while let Some(frame) = scan.next()? {
        drop(frame.commits()?);
        on_frame()?;
    }
    if scan.expected() < until { Err(scan.hole()) } else { Ok(scan) }
}
