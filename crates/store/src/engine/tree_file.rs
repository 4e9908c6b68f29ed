//! The tree's file, written behind: redb's writes and syncs return at once, a flusher brings them
//! to the disk in order.
//!
//! redb asks for a sync and believes its commit durable. Here a sync only closes an epoch; the
//! flusher writes an epoch whole and syncs it before it touches the next. What is on disk is
//! therefore always some moment that redb itself prepared for a crash, only an older one, and the
//! log has everything since. That keeps checkpoints out of the writers' way: nobody waits for the
//! disk but the flusher.
//!
//! After a failure nothing more reaches the disk. What redb writes stays in memory, so reads go
//! on; the engine sees the failure and takes no more writes.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crate::{DiskFile, Failure};

const BLOCK: u64 = 4096;

/// Longest run of blocks written with one call.
const RUN_BYTES_MAX: usize = 1 << 20;

/// Bytes after which the flusher syncs in the middle of an epoch. A sync of the log waits behind
/// whatever the disk has been given, so it is not given much at a time: that halves the p99 of
/// writes while a checkpoint runs.
const SYNC_EVERY_BYTES: usize = 1 << 20;

/// Who brings epochs to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlushBy {
    /// A thread of its own.
    Thread,
    /// The caller of sync, before it returns: repeatable, for simulations.
    Caller,
}

/// The engine's handle on the tree's file.
#[derive(Debug)]
pub(crate) struct TreeFile {
    inner: Arc<Inner>,
    flusher: Option<JoinHandle<()>>,
}

/// What redb sees of it.
#[derive(Debug)]
pub(crate) struct TreeBackend(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: Arc<dyn DiskFile>,
    path: PathBuf,
    flush_by: FlushBy,
    /// Bytes that may wait before writers wait too.
    limit_bytes: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The length that redb sees.
    len: u64,
    /// The length that the file has.
    file_len: u64,
    /// The newest content of every block that is not in the file yet.
    newest: HashMap<u64, Block>,
    /// What waits, oldest first. The last one is open: writes go there.
    epochs: VecDeque<Epoch>,
    waiting_bytes: usize,
    /// The shortest and the last length that the file is being given right now.
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
    /// The shortest and the last length that the file was given in this epoch.
    lengths: Option<(u64, u64)>,
    closed: bool,
}

impl TreeFile {
    /// A file that is written behind. `failure` set means: never write to it at all.
    pub(crate) fn new(
        file: Arc<dyn DiskFile>,
        path: &Path,
        flush_by: FlushBy,
        limit_bytes: usize,
        failure: Option<Arc<Failure>>,
    ) -> io::Result<TreeFile> {
        let len = file.len()?;
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
            flush_by,
            limit_bytes,
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        let flusher = match flush_by {
            FlushBy::Caller => None,
            FlushBy::Thread => {
                let inner = Arc::clone(&inner);
                let run = move || inner.flush_until_stopped();
                Some(thread::Builder::new().name("keyloom-flush".to_owned()).spawn(run)?)
            }
        };
        Ok(TreeFile { inner, flusher })
    }

    pub(crate) fn backend(&self) -> TreeBackend {
        TreeBackend(Arc::clone(&self.inner))
    }

    /// How many syncs redb asked for so far.
    pub(crate) fn syncs_asked(&self) -> u64 {
        self.inner.lock().closed
    }

    /// How many of them are on disk.
    pub(crate) fn syncs_done(&self) -> u64 {
        self.inner.lock().flushed
    }

    /// Bytes of the file once all of it is written.
    pub(crate) fn bytes(&self) -> u64 {
        self.inner.lock().len
    }

    /// Bytes that wait for the flusher.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.inner.lock().waiting_bytes
    }

    /// Writes nothing more.
    pub(crate) fn refuse(&self, failure: &Arc<Failure>) {
        self.inner.lock().failure.get_or_insert_with(|| Arc::clone(failure));
        self.inner.changed.notify_all();
    }

    pub(crate) fn failure(&self) -> Option<Arc<Failure>> {
        self.inner.lock().failure.clone()
    }

    /// Waits until every sync asked for is on disk, or something has failed.
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
        if let Some(flusher) = self.flusher.take() {
            // A flusher that panicked has left its failure behind; there is nothing to add.
            let _ = flusher.join();
        }
    }
}

impl redb::StorageBackend for TreeBackend {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
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
        let (pending, file_end) = {
            let state = self.lock();
            if end > state.len {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let blocks = offset / BLOCK..end.div_ceil(BLOCK);
            let pending: Vec<(u64, Block)> = blocks
                .filter_map(|number| Some((number, Arc::clone(state.newest.get(&number)?))))
                .collect();
            (pending, state.file_end())
        };
        // What was not pending a moment ago is in the file, and stays as it is there: redb never
        // rewrites a page that it may still read.
        let in_file = usize::try_from(file_end.saturating_sub(offset)).unwrap_or(usize::MAX);
        let (in_file, beyond) = out.split_at_mut(in_file.min(out.len()));
        if (pending.len() as u64) < (end.div_ceil(BLOCK) - offset / BLOCK) && !in_file.is_empty() {
            self.file.read_at(offset, in_file)?;
        }
        beyond.fill(0);
        for (number, block) in pending {
            copy_overlap(number * BLOCK, &block, offset, out);
        }
        Ok(())
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

    /// A block with a part of it replaced.
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

    /// Waits, or works, until what waits is within its limit.
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

    /// Brings the oldest epoch to the disk, as far as it goes; false if there is nothing to do.
    fn flush_one(&self) -> bool {
        let (blocks, lengths, closed) = {
            let mut state = self.lock();
            if !state.has_work(self.limit_bytes) {
                return false;
            }
            let Some(oldest) = state.epochs.front_mut() else { return false };
            let blocks: Vec<(u64, Block)> =
                oldest.blocks.iter().map(|(number, block)| (*number, Arc::clone(block))).collect();
            // Lengths given from now on are for the next time.
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
        let mut run: Vec<u8> = Vec::new();
        let mut unsynced = 0;
        let mut start = 0;
        for (number, block) in blocks {
            let follows = start + run.len() as u64 == number * BLOCK;
            if !follows || run.len() >= RUN_BYTES_MAX {
                self.write_run(start, &run)?;
                unsynced += run.len();
                if unsynced >= SYNC_EVERY_BYTES {
                    self.file.sync().map_err(fail("syncing the tree"))?;
                    unsynced = 0;
                }
                run.clear();
                start = number * BLOCK;
            }
            run.extend_from_slice(block);
        }
        self.write_run(start, &run)?;
        if sync {
            self.file.sync().map_err(fail("syncing the tree"))?;
        }
        self.file.len().map_err(fail("measuring the tree"))
    }

    fn write_run(&self, start: u64, run: &[u8]) -> Result<(), Failure> {
        if run.is_empty() {
            return Ok(());
        }
        let fail = |cause| Failure { doing: "writing the tree", path: self.path.clone(), cause };
        self.file.write_at(start, run).map_err(fail)
    }
}

impl State {
    /// Up to here, what is not pending is in the file; beyond it reads as zeros.
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

    /// Forgets what is on disk now.
    fn flushed(&mut self, blocks: &[(u64, Block)], closed: bool, file_len: u64) {
        self.file_len = file_len;
        self.flushing = None;
        let Some(oldest) = self.epochs.front_mut() else { return };
        for (number, block) in blocks {
            // Written again meanwhile: that content still waits.
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

/// Tells everybody who waits for the flusher that it is gone.
struct ReportPanic<'a>(&'a Inner);

impl Drop for ReportPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let cause = io::Error::other("the flusher has panicked");
            let failure = Failure { doing: "writing the tree", path: self.0.path.clone(), cause };
            self.0.lock().failure.get_or_insert(Arc::new(failure));
            self.0.changed.notify_all();
        }
    }
}

/// Copies what a block at `start` and a buffer at `offset` have in common into the buffer.
fn copy_overlap(start: u64, block: &[u8], offset: u64, out: &mut [u8]) {
    let from = start.max(offset);
    let to = (start + block.len() as u64).min(offset + out.len() as u64);
    if from < to {
        let len = (to - from) as usize;
        let (at, skip) = ((from - offset) as usize, (from - start) as usize);
        out[at..at + len].copy_from_slice(&block[skip..skip + len]);
    }
}
