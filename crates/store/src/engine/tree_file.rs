//! The tree's file with write-behind: redb's writes and syncs return at once, and a flusher writes
//! them to disk in order.
//!
//! When redb syncs, it believes that its commit is durable. Here a sync only closes an epoch; the
//! flusher writes a whole epoch and syncs it before it starts the next. So the disk always has a
//! state that redb itself prepared for a crash, only an older one, and the log has everything
//! since. That keeps checkpoints out of the writers' way: only the flusher waits for the disk.
//!
//! After a failure nothing more is written to disk. What redb writes stays in memory, so reads
//! continue; the engine sees the failure and refuses writes.
//!
//! A damaged block must not reach a reader. redb caches what it has read, and after a read error it
//! refuses everything until it is reopened; so instead of an error it gets an invalid page, on
//! which it panics when it uses it. `Tree` catches that and reports the damage recorded here.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crate::{DiskFile, Error, Failure};

use super::checked_file::{CheckedFile, Unreadable, write_runs};
use super::format::BLOCK;
use super::tree_damage::TreeDamage;
use super::{check_in_place, io_error};

/// A redb page begins with 1 or 2: a page of these bytes is invalid.
const INVALID_PAGE_BYTE: u8 = 0xff;
/// The only row of a page that replaces a lost one. No space has this id.
const LOST_ROW: &[u8] = b"\xff\xff\xff\xffa page of the tree is lost";
/// How many times a read is tried.
const READS_MAX: usize = 3;

/// Bytes after which the flusher syncs within an epoch. A sync of the log waits behind whatever the
/// disk has been given, so it is given little at a time: that halves the p99 of writes during a
/// checkpoint.
const SYNC_EVERY_BYTES: usize = 1 << 20;

/// What writes epochs to disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlushBy {
    /// A separate thread.
    Thread,
    /// The caller of sync, before it returns: deterministic, for simulations.
    Caller,
}

/// The engine's handle to the tree's file.
#[derive(Debug)]
pub(crate) struct TreeFile {
    inner: Arc<Inner>,
    flusher: Mutex<Option<JoinHandle<()>>>,
}

/// redb's handle to the tree's file.
#[derive(Debug)]
pub(crate) struct TreeBackend(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: CheckedFile,
    path: PathBuf,
    damage: Arc<TreeDamage>,
    /// Whether unreadable pages are replaced by marker pages.
    replaces_lost: AtomicBool,
    flush_by: FlushBy,
    /// Unwritten bytes above which writers wait.
    limit_bytes: usize,
    reads: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The length that redb sees.
    len: u64,
    /// The length of the file.
    file_len: u64,
    /// The newest content of every block that is not in the file yet.
    newest: HashMap<u64, Block>,
    /// Unwritten epochs, oldest first. The last one is open: writes go there.
    epochs: VecDeque<Epoch>,
    waiting_bytes: usize,
    /// The shortest and the final length that the file is being set to right now.
    flushing: Option<(u64, u64)>,
    /// Epochs closed so far, and how many of them are on disk.
    closed: u64,
    flushed: u64,
    failure: Option<Arc<Failure>>,
    stop: bool,
}

type Block = Arc<[u8]>;

#[derive(Debug, Default)]
struct Epoch {
    blocks: BTreeMap<u64, Block>,
    /// The shortest and the final length that the file was set to in this epoch.
    lengths: Option<(u64, u64)>,
    closed: bool,
}

impl TreeFile {
    /// Opens a file with write-behind. If `failure` is set, it is never written to.
    pub(crate) fn new(
        file: Arc<dyn DiskFile>,
        (path, store): (&Path, u64),
        flush_by: FlushBy,
        limit_bytes: usize,
        failure: Option<Arc<Failure>>,
    ) -> Result<TreeFile, Error> {
        let damage = Arc::new(TreeDamage::new(path));
        let opened = CheckedFile::open(file, store).and_then(|file| Ok((file.len()?, file)));
        let (len, file) = opened.map_err(|why| {
            damage.note(0, why);
            damage.error()
        })?;
        let state = State {
            len,
            file_len: len,
            epochs: VecDeque::from([Epoch::default()]),
            failure,
            ..State::default()
        };
        let inner = Arc::new(Inner {
            file,
            path: path.to_owned(),
            damage,
            replaces_lost: AtomicBool::new(false),
            flush_by,
            limit_bytes,
            reads: AtomicU64::new(0),
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        let flusher = match flush_by {
            FlushBy::Caller => None,
            FlushBy::Thread => {
                let inner = Arc::clone(&inner);
                let run = move || inner.flush_until_stopped();
                let thread = thread::Builder::new().name("keyloom-flush".to_owned());
                Some(thread.spawn(run).map_err(io_error("starting the flusher of", path))?)
            }
        };
        Ok(TreeFile { inner, flusher: Mutex::new(flusher) })
    }

    pub(crate) fn backend(&self) -> TreeBackend {
        TreeBackend(Arc::clone(&self.inner))
    }

    /// Returns how many syncs redb has requested.
    pub(crate) fn syncs_requested(&self) -> u64 {
        self.inner.lock().closed
    }

    /// Returns how many of these syncs are on disk.
    pub(crate) fn syncs_done(&self) -> u64 {
        self.inner.lock().flushed
    }

    /// Returns the disk space of the file. redb extends it ahead of time; what was never written
    /// takes no space.
    pub(crate) fn bytes(&self) -> u64 {
        let allocated = self.inner.file.disk_file().allocated_bytes();
        allocated.unwrap_or_else(|_| self.inner.lock().len)
    }

    /// Returns how many bytes wait for the flusher.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.inner.lock().waiting_bytes
    }

    /// Returns how often redb has read: what its cache lacked.
    pub(crate) fn reads(&self) -> u64 {
        self.inner.reads.load(Ordering::Relaxed)
    }

    /// Stops writing, and waits until a write in progress ends.
    pub(crate) fn freeze(&self, failure: &Arc<Failure>) {
        self.refuse(failure);
        self.join_flusher();
    }

    fn join_flusher(&self) {
        let flusher = self.flusher.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(flusher) = flusher {
            // A flusher that panicked has recorded its failure.
            let _ = flusher.join();
        }
    }

    /// Stops writing.
    pub(crate) fn refuse(&self, failure: &Arc<Failure>) {
        self.inner.lock().failure.get_or_insert_with(|| Arc::clone(failure));
        self.inner.changed.notify_all();
    }

    pub(crate) fn failure(&self) -> Option<Arc<Failure>> {
        self.inner.lock().failure.clone()
    }

    /// Fails if the file is no longer at its path, where the next process will look for it.
    pub(crate) fn check_in_place(&self) -> Result<(), Error> {
        check_in_place(self.inner.file.disk_file(), &self.inner.path)
    }

    /// Whether blocks are readable now that the disk could not read before. redb does not retry
    /// them.
    pub(crate) fn can_read_again(&self) -> bool {
        let mut block = [0; BLOCK as usize];
        let unread = self.inner.damage.unread();
        unread.into_iter().any(|number| self.inner.file.read(number, &mut block).is_ok())
    }

    /// Returns the file on disk, for verification.
    pub(crate) fn checked(&self) -> &CheckedFile {
        &self.inner.file
    }

    /// From now on, replaces every unreadable page with one that has a single row, recognized by
    /// [`is_lost_page`], so that a scan of all rows continues around it.
    pub(crate) fn replace_lost_pages(&self) {
        self.inner.replaces_lost.store(true, Ordering::Release);
    }

    /// Returns what could not be read.
    pub(crate) fn damage(&self) -> &Arc<TreeDamage> {
        &self.inner.damage
    }

    /// Waits until every requested sync is on disk, or something has failed.
    pub(crate) fn drain(&self) -> Result<(), Arc<Failure>> {
        let mut state = self.inner.lock();
        loop {
            if let Some(failure) = &state.failure {
                return Err(Arc::clone(failure));
            }
            if state.flushed == state.closed {
                return Ok(());
            }
            state = self.inner.wait(state);
        }
    }
}

impl Drop for TreeFile {
    fn drop(&mut self) {
        self.inner.lock().stop = true;
        self.inner.changed.notify_all();
        self.join_flusher();
    }
}

impl redb::StorageBackend for TreeBackend {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.reads.fetch_add(1, Ordering::Relaxed);
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.lock().set_len(len);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.close_epoch();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = offset + out.len() as u64;
        if end > self.lock().len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (first, last) = (offset / BLOCK, end.div_ceil(BLOCK));
        let is_whole = offset.is_multiple_of(BLOCK) && end.is_multiple_of(BLOCK);
        if is_whole {
            self.read_blocks(first, out);
        } else {
            let mut blocks = vec![0; ((last - first) * BLOCK) as usize];
            self.read_blocks(first, &mut blocks);
            copy_overlap(first * BLOCK, &blocks, offset, out);
        }
        Ok(())
    }

    /// Reads whole blocks: pending ones from memory, the rest from the file.
    fn read_blocks(&self, first: u64, out: &mut [u8]) {
        let (pending, file_end) = {
            let state = self.lock();
            let pending: Vec<Option<Block>> = (first..)
                .take(out.len() / BLOCK as usize)
                .map(|number| state.newest.get(&number).cloned())
                .collect();
            (pending, state.file_end())
        };
        // What was not pending is in the file, and does not change there: redb never rewrites a
        // page that it may still read.
        let in_file =
            |index: usize| pending[index].is_none() && (first + index as u64) * BLOCK < file_end;
        let mut index = 0;
        while index < pending.len() {
            let run = (index..pending.len()).take_while(|index| in_file(*index)).count();
            let start = index * BLOCK as usize;
            if run > 0 {
                let blocks = &mut out[start..start + run * BLOCK as usize];
                if let Err(why) = self.read_file(first + index as u64, blocks) {
                    self.damage.note(first + index as u64, why);
                    match self.replaces_lost.load(Ordering::Acquire) {
                        true => fill_lost_page(out),
                        false => out.fill(INVALID_PAGE_BYTE),
                    }
                    return;
                }
                index += run;
                continue;
            }
            let block = &mut out[start..start + BLOCK as usize];
            match &pending[index] {
                Some(content) => block.copy_from_slice(content),
                None => block.fill(0),
            }
            index += 1;
        }
    }

    fn read_file(&self, first: u64, out: &mut [u8]) -> Result<(), Unreadable> {
        let mut outcome = self.file.read(first, out);
        for _ in 1..READS_MAX {
            if outcome.is_ok() {
                break;
            }
            // Read errors of a disk or a cable can be transient.
            outcome = self.file.read(first, out);
        }
        outcome
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut at = offset;
        let mut rest = data;
        while !rest.is_empty() {
            let number = at / BLOCK;
            let skip = (at % BLOCK) as usize;
            let (part, tail) = rest.split_at(rest.len().min(BLOCK as usize - skip));
            let block = if part.len() == BLOCK as usize {
                Block::from(part)
            } else {
                self.patched(number, skip, part)?
            };
            self.lock().put(number, block);
            at += part.len() as u64;
            rest = tail;
        }
        self.make_room();
        Ok(())
    }

    /// Returns a block with a part of it replaced.
    fn patched(&self, number: u64, skip: usize, part: &[u8]) -> io::Result<Block> {
        let mut block = vec![0; BLOCK as usize];
        let start = number * BLOCK;
        let len = self.lock().len;
        let known = usize::try_from(len.saturating_sub(start)).unwrap_or(usize::MAX);
        let known = known.min(BLOCK as usize);
        self.read(start, &mut block[..known])?;
        block[skip..skip + part.len()].copy_from_slice(part);
        Ok(block.into())
    }

    fn close_epoch(&self) {
        {
            let mut state = self.lock();
            if let Some(open) = state.epochs.back_mut() {
                open.closed = true;
            }
            state.epochs.push_back(Epoch::default());
            state.closed += 1;
        }
        self.changed.notify_all();
        if self.flush_by == FlushBy::Caller {
            while self.flush_one() {}
        }
    }

    /// Waits, or flushes, until the unwritten bytes are within the limit.
    fn make_room(&self) {
        let mut state = self.lock();
        while state.waiting_bytes > self.limit_bytes && state.failure.is_none() && !state.stop {
            match self.flush_by {
                FlushBy::Thread => {
                    self.changed.notify_all();
                    state = self.wait(state);
                }
                FlushBy::Caller => {
                    drop(state);
                    self.flush_one();
                    state = self.lock();
                }
            }
        }
    }

    fn flush_until_stopped(&self) {
        let _report = ReportPanic(self);
        loop {
            while self.flush_one() {}
            let state = self.lock();
            if state.has_work(self.limit_bytes) {
                continue;
            }
            if state.stop || state.failure.is_some() {
                return;
            }
            drop(self.wait(state));
        }
    }

    /// Writes the oldest epoch to disk, as far as it goes; returns false if there is nothing to do.
    fn flush_one(&self) -> bool {
        let (blocks, lengths, closed) = {
            let mut state = self.lock();
            if !state.has_work(self.limit_bytes) {
                return false;
            }
            let Some(oldest) = state.epochs.front_mut() else { return false };
            let blocks: Vec<(u64, Block)> =
                oldest.blocks.iter().map(|(number, block)| (*number, Arc::clone(block))).collect();
            // Lengths set from now on are for the next time.
            let (lengths, closed) = (oldest.lengths.take(), oldest.closed);
            state.flushing = lengths;
            (blocks, lengths, closed)
        };
        let outcome = self.write_out(&blocks, lengths, closed);
        let mut state = self.lock();
        match outcome {
            Ok(file_len) => state.flushed(&blocks, closed, file_len),
            Err(failure) => state.failure = Some(Arc::new(failure)),
        }
        self.changed.notify_all();
        true
    }

    fn write_out(
        &self,
        blocks: &[(u64, Block)],
        lengths: Option<(u64, u64)>,
        sync: bool,
    ) -> Result<u64, Failure> {
        let fail = |doing| move |cause| Failure { doing, path: self.path.clone(), cause };
        if let Some((shortest, last)) = lengths {
            for len in [shortest, last] {
                self.file.set_len(len).map_err(fail("changing the length of the tree"))?;
            }
        }
        let runs = blocks.iter().map(|(number, block)| (*number, &**block));
        let (header, others): (Vec<_>, Vec<_>) = runs.partition(|(number, _)| *number == 0);
        self.write_blocks(&others).map_err(fail("writing the tree"))?;
        let has_header = !header.is_empty();
        // The header may refer to blocks only once they are durable.
        if !others.is_empty() && (sync || has_header) {
            self.file.sync().map_err(fail("syncing the tree"))?;
        }
        write_runs(&self.file, header.into_iter(), |_| Ok(())).map_err(fail("writing the tree"))?;
        if sync && (has_header || others.is_empty()) {
            self.file.sync().map_err(fail("syncing the tree"))?;
        }
        self.file.len().map_err(fail("measuring the tree"))
    }

    fn write_blocks(&self, blocks: &[(u64, &[u8])]) -> io::Result<()> {
        self.file.announce(blocks.iter().map(|(number, _)| *number))?;
        let mut unsynced = 0;
        write_runs(&self.file, blocks.iter().copied(), |bytes| {
            unsynced += bytes;
            if unsynced >= SYNC_EVERY_BYTES {
                unsynced = 0;
                self.file.sync_blocks()?;
            }
            Ok(())
        })
    }
}

impl State {
    /// Returns the end of what is in the file if not pending; beyond it, reads return zeros.
    fn file_end(&self) -> u64 {
        let lengths = self.epochs.iter().filter_map(|epoch| epoch.lengths).chain(self.flushing);
        let shortest = lengths.map(|(shortest, _)| shortest).min();
        shortest.map_or(self.file_len, |shortest| shortest.min(self.file_len))
    }

    fn has_work(&self, limit_bytes: usize) -> bool {
        let closed = self.epochs.front().is_some_and(|epoch| epoch.closed);
        self.failure.is_none() && (closed || self.waiting_bytes > limit_bytes / 2)
    }

    fn open_epoch(&mut self) -> &mut Epoch {
        if self.epochs.back().is_none_or(|epoch| epoch.closed) {
            self.epochs.push_back(Epoch::default());
        }
        let last = self.epochs.len() - 1;
        &mut self.epochs[last]
    }

    fn put(&mut self, number: u64, block: Block) {
        self.newest.insert(number, Arc::clone(&block));
        let bytes = block.len();
        if self.open_epoch().blocks.insert(number, block).is_none() {
            self.waiting_bytes += bytes;
        }
    }

    fn set_len(&mut self, len: u64) {
        let keep = len.div_ceil(BLOCK);
        self.newest.retain(|number, _| *number < keep);
        let open = self.open_epoch();
        let cut = open.blocks.split_off(&keep);
        let shortest = open.lengths.map_or(len, |(shortest, _)| shortest.min(len));
        open.lengths = Some((shortest, len));
        self.waiting_bytes -= cut.len() * BLOCK as usize;
        self.len = len;
    }

    /// Drops what is on disk now.
    fn flushed(&mut self, blocks: &[(u64, Block)], closed: bool, file_len: u64) {
        self.file_len = file_len;
        self.flushing = None;
        let Some(oldest) = self.epochs.front_mut() else { return };
        for (number, block) in blocks {
            // If it was written again meanwhile, the new content still waits.
            if oldest.blocks.get(number).is_some_and(|now| Arc::ptr_eq(now, block)) {
                oldest.blocks.remove(number);
                self.waiting_bytes -= block.len();
            }
            if self.newest.get(number).is_some_and(|now| Arc::ptr_eq(now, block)) {
                self.newest.remove(number);
            }
        }
        if closed {
            self.epochs.pop_front();
            self.flushed += 1;
        }
    }
}

/// Whether a row marks a lost page.
pub(crate) fn is_lost_page(row: &[u8]) -> bool {
    row == LOST_ROW
}

/// Fills in a redb leaf with one row: its type, a byte of padding, the number of rows, the end of
/// each key, the end of each value, the keys and the values.
fn fill_lost_page(page: &mut [u8]) {
    const HEAD: usize = 12;
    let end = HEAD + LOST_ROW.len();
    page.fill(0);
    page[..4].copy_from_slice(&[1, 0, 1, 0]);
    for at in [4, 8] {
        page[at..at + 4].copy_from_slice(&(end as u32).to_le_bytes());
    }
    page[HEAD..end].copy_from_slice(LOST_ROW);
}

/// Fails everyone who waits for the flusher if it panics.
struct ReportPanic<'a>(&'a Inner);

impl Drop for ReportPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let cause = io::Error::new(io::ErrorKind::InvalidData, "the flusher thread panicked");
            let failure = Failure { doing: "writing the tree", path: self.0.path.clone(), cause };
            self.0.lock().failure.get_or_insert(Arc::new(failure));
            self.0.changed.notify_all();
        }
    }
}

/// Copies the overlap of a block at `start` and a buffer at `offset` into the buffer.
fn copy_overlap(start: u64, block: &[u8], offset: u64, out: &mut [u8]) {
    let from = start.max(offset);
    let to = (start + block.len() as u64).min(offset + out.len() as u64);
    if from < to {
        let len = (to - from) as usize;
        let (at, skip) = ((from - offset) as usize, (from - start) as usize);
        out[at..at + len].copy_from_slice(&block[skip..skip + len]);
    }
}
