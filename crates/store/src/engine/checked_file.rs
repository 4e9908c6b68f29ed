//! The tree's file on disk: blocks, each with a checksum. `format/tree_block.rs` shows the layout.
//!
//! redb writes a block only while nothing on disk refers to it, so a crash can tear only blocks
//! that nothing reads. Block 0 is the only one written in place. It therefore has two copies; the
//! one synced last is never overwritten, and the other one is updated after it.
//!
//! A torn block must not look damaged to a scrub, which reads every block. So each block is
//! announced before it is written: until it is on disk, a mark replaces its checksum.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::DiskFile;

use super::format::{
    BEING_WRITTEN, BLOCK, GROUP, NEVER_WRITTEN, Seal, block_checksum, block_position,
    decode_checksums, encode_checksums, file_blocks, group_position, tree_blocks,
};

/// Blocks read at once.
pub(crate) const RUN_BLOCKS: u64 = 64;
/// Maximum bytes of consecutive blocks written with one call.
const RUN_BYTES_MAX: usize = 1 << 20;

/// A file of blocks with checksums. Many threads can read it; one writes.
#[derive(Debug)]
pub(crate) struct CheckedFile {
    file: Arc<dyn DiskFile>,
    store: u64,
    state: Mutex<State>,
}

/// The checksums of a group. A block's checksum does not change while the block can be read, so
/// relaxed ordering is enough.
type Checksums = Arc<[AtomicU64]>;

#[derive(Debug, Default)]
struct State {
    /// Checksums of groups, loaded on demand: 0.2 % of the size of the blocks in use.
    groups: HashMap<u64, Checksums>,
    /// Groups whose checksums have changed and are not written yet.
    dirty: HashSet<u64>,
    header: Header,
}

#[derive(Debug, Default)]
struct Header {
    /// The content of block 0, once it was written.
    content: Option<Vec<u8>>,
    /// How often it was written.
    sequence: u64,
    /// Which copy was synced last.
    synced_copy: u64,
    /// Whether the other copy was written since.
    is_written: bool,
}

/// The result of verifying blocks.
#[derive(Debug)]
pub(crate) struct Verified {
    pub(crate) blocks: u64,
    /// Offsets in the file of damaged blocks.
    pub(crate) damaged: Vec<(u64, Unreadable)>,
}

/// Why a block cannot be read.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// The disk reported an error.
    Io(io::Error),
    /// It differs from what was written; `offset` is the block's offset in the file.
    Damaged { offset: u64 },
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Unreadable {
        Unreadable::Io(error)
    }
}

impl CheckedFile {
    /// Opens a file that is empty, or was written by this type for the same store.
    pub(crate) fn open(file: Arc<dyn DiskFile>, store: u64) -> Result<CheckedFile, Unreadable> {
        let mut state = State::default();
        if file.len()? > 0 {
            state.header = read_header(&*file, store)?;
        }
        Ok(CheckedFile { file, store, state: Mutex::new(state) })
    }

    /// Opens a file for verification only: its header may be damaged too.
    pub(crate) fn to_verify(file: Arc<dyn DiskFile>, store: u64) -> CheckedFile {
        CheckedFile { file, store, state: Mutex::default() }
    }

    pub(crate) fn disk_file(&self) -> &dyn DiskFile {
        &*self.file
    }

    /// Returns how many bytes of the tree the file has room for.
    pub(crate) fn len(&self) -> io::Result<u64> {
        Ok(tree_blocks(self.file.len()? / BLOCK) * BLOCK)
    }

    /// Gives the file room for this many bytes of the tree.
    pub(crate) fn set_len(&self, len: u64) -> io::Result<()> {
        let (blocks_before, blocks) = (self.len()? / BLOCK, len.div_ceil(BLOCK));
        self.forget_from(blocks_before.min(blocks));
        if blocks > blocks_before {
            self.clear_checksums(blocks_before)?;
        }
        self.file.set_len(file_blocks(blocks) * BLOCK)
    }

    /// Drops the cached checksums of groups that begin at or after a block: they are no longer in
    /// the file.
    fn forget_from(&self, number: u64) {
        let mut state = self.lock();
        state.groups.retain(|group, _| group * GROUP < number);
        state.dirty.retain(|group| group * GROUP < number);
    }

    /// Clears the checksums from a block to the end of its group: these blocks were cut off and
    /// come back as zeros.
    fn clear_checksums(&self, from: u64) -> io::Result<()> {
        if from.is_multiple_of(GROUP) {
            return Ok(());
        }
        let cut = (from..(from / GROUP + 1) * GROUP).map(|number| (number, NEVER_WRITTEN));
        self.mark(cut)
    }

    /// Durably marks the blocks that are about to be written.
    pub(crate) fn announce(&self, blocks: impl Iterator<Item = u64>) -> io::Result<()> {
        self.mark(blocks.filter(|number| *number > 0).map(|number| (number, BEING_WRITTEN)))
    }

    /// Durably replaces checksums with marks.
    fn mark(&self, marks: impl Iterator<Item = (u64, u64)>) -> io::Result<()> {
        let (mut changed, is_synced) = (false, self.lock().dirty.is_empty());
        for (number, mark) in marks {
            let checksums = self.group(number / GROUP)?;
            let checksum = &checksums[(number % GROUP) as usize];
            if checksum.load(Ordering::Relaxed) != mark {
                self.lock().dirty.insert(number / GROUP);
                checksum.store(mark, Ordering::Relaxed);
                changed = true;
            }
        }
        match (changed, is_synced) {
            (false, _) => Ok(()),
            (true, false) => self.sync_checksums(),
            (true, true) => {
                self.write_checksums()?;
                self.file.sync()
            }
        }
    }

    /// Reads consecutive whole blocks.
    pub(crate) fn read(&self, first: u64, out: &mut [u8]) -> Result<(), Unreadable> {
        let mut number = first;
        let mut rest = out;
        while !rest.is_empty() {
            let (run, tail) = rest.split_at_mut(run_bytes(number, rest.len()));
            self.read_in_group(number, run)?;
            number += run.len() as u64 / BLOCK;
            rest = tail;
        }
        Ok(())
    }

    fn read_in_group(&self, first: u64, run: &mut [u8]) -> Result<(), Unreadable> {
        if first == 0 {
            // Before its first write, redb reads it to see whether the file is new.
            let state = self.lock();
            run.copy_from_slice(state.header.content.as_deref().unwrap_or(&[0; BLOCK as usize]));
            return Ok(());
        }
        debug_assert!(is_run(first, run.len()), "{} bytes from block {first}", run.len());
        self.file.read_at(block_position(first) * BLOCK, run)?;
        let checksums = self.group(first / GROUP)?;
        for (number, block) in (first..).zip(run.chunks(BLOCK as usize)) {
            let expected = checksums[(number % GROUP) as usize].load(Ordering::Relaxed);
            if block_checksum(self.store, number, block) != expected {
                return Err(Unreadable::Damaged { offset: block_position(number) * BLOCK });
            }
        }
        Ok(())
    }

    /// Fails if the disk has no intact copy of the header.
    pub(crate) fn verify_header(&self) -> Result<(), Unreadable> {
        read_header(&*self.file, self.store).map(drop)
    }

    /// Reads blocks from the disk, up to the end of their group at most, while others may be
    /// written. Returns how many it read, and the offsets of damaged ones.
    pub(crate) fn verify(&self, first: u64, count: u64) -> io::Result<Verified> {
        let end = (first + count).min((first / GROUP + 1) * GROUP).min(self.len()? / BLOCK);
        let mut verified = Verified { blocks: end.saturating_sub(first), damaged: vec![] };
        if verified.blocks == 0 {
            return Ok(verified);
        }
        let group = first / GROUP;
        // Once per group, however it is divided.
        if first.is_multiple_of(GROUP)
            && let Err(why) = with_retries(|| self.verify_checksums(group))
        {
            verified.damaged.push((group_position(group) * BLOCK, why));
        }
        let Ok(checksums) = self.checksums_now(group) else { return Ok(verified) };
        let mut run = vec![0; (verified.blocks * BLOCK) as usize];
        let is_read = self.file.read_at(block_position(first) * BLOCK, &mut run).is_ok();
        for (number, block) in (first..end).zip(run.chunks(BLOCK as usize)) {
            // The header is stored elsewhere.
            if number == 0 || is_read && self.is_as_written(number, block, &checksums) {
                continue;
            }
            if let Err(why) = with_retries(|| self.verify_block(number)) {
                verified.damaged.push((block_position(number) * BLOCK, why));
            }
        }
        Ok(verified)
    }

    /// Fails if the checksums on disk differ from those in memory, unless they are about to be
    /// written.
    fn verify_checksums(&self, group: u64) -> Result<(), Unreadable> {
        let on_disk = self.read_checksums(group)?;
        let state = self.lock();
        let Some(known) = state.groups.get(&group) else { return Ok(()) };
        match state.dirty.contains(&group) || encode(known) == on_disk {
            true => Ok(()),
            false => Err(Unreadable::Damaged { offset: group_position(group) * BLOCK }),
        }
    }

    fn verify_block(&self, number: u64) -> Result<(), Unreadable> {
        let mut block = [0; BLOCK as usize];
        match self.file.read_at(block_position(number) * BLOCK, &mut block) {
            // It was cut off meanwhile.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        match self.is_as_written(number, &block, &self.checksums_now(number / GROUP)?) {
            true => Ok(()),
            false => Err(Unreadable::Damaged { offset: block_position(number) * BLOCK }),
        }
    }

    /// Whether a block matches its checksum, or has none.
    fn is_as_written(&self, number: u64, block: &[u8], checksums: &Checksums) -> bool {
        match checksums[(number % GROUP) as usize].load(Ordering::Relaxed) {
            BEING_WRITTEN => true,
            NEVER_WRITTEN => block.iter().all(|byte| *byte == 0),
            expected => block_checksum(self.store, number, block) == expected,
        }
    }

    /// Returns the checksums of a group without caching them: a scrub reads those of the whole
    /// file.
    fn checksums_now(&self, group: u64) -> io::Result<Checksums> {
        let known = self.lock().groups.get(&group).cloned();
        known.map_or_else(|| Ok(decode(&self.read_checksums(group)?)), Ok)
    }

    /// Writes consecutive blocks. They are durable after [`CheckedFile::sync`].
    pub(crate) fn write_run(&self, first: u64, bytes: &[u8]) -> io::Result<()> {
        let mut number = first;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (run, tail) = rest.split_at(run_bytes(number, rest.len()));
            match number {
                0 => self.write_header(run)?,
                _ => self.write_in_group(number, run)?,
            }
            number += run.len() as u64 / BLOCK;
            rest = tail;
        }
        Ok(())
    }

    fn write_in_group(&self, first: u64, run: &[u8]) -> io::Result<()> {
        debug_assert!(is_run(first, run.len()), "{} bytes from block {first}", run.len());
        self.file.write_at(block_position(first) * BLOCK, run)?;
        let checksums = self.group(first / GROUP)?;
        self.lock().dirty.insert(first / GROUP);
        for (number, block) in (first..).zip(run.chunks(BLOCK as usize)) {
            let checksum = block_checksum(self.store, number, block);
            checksums[(number % GROUP) as usize].store(checksum, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Writes block 0 over the copy that was not synced last.
    fn write_header(&self, content: &[u8]) -> io::Result<()> {
        let mut state = self.lock();
        let header = &mut state.header;
        header.sequence += 1;
        header.content = Some(content.to_vec());
        header.is_written = true;
        let (copy, bytes) = (1 - header.synced_copy, header.sealed(self.store));
        drop(state);
        self.file.write_at(copy * 2 * BLOCK, &bytes)
    }

    /// Makes everything written durable, except for its checksums.
    pub(crate) fn sync_blocks(&self) -> io::Result<()> {
        self.file.sync()
    }

    /// Syncs the blocks, then their checksums: a checksum on disk always has its block there.
    fn sync_checksums(&self) -> io::Result<()> {
        self.file.sync()?;
        self.write_checksums()?;
        self.file.sync()
    }

    /// Makes everything written durable, together with its checksums.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let has_checksums = !self.lock().dirty.is_empty();
        match has_checksums {
            true => self.sync_checksums()?,
            false => self.file.sync()?,
        }
        let mut state = self.lock();
        let header = &mut state.header;
        if !std::mem::take(&mut header.is_written) {
            return Ok(());
        }
        let older = header.synced_copy;
        header.synced_copy = 1 - older;
        let bytes = header.sealed(self.store);
        drop(state);
        // If one copy gets damaged from now on, the other must not be an older one: what that
        // refers to may be overwritten.
        self.file.write_at(older * 2 * BLOCK, &bytes)
    }

    /// Writes the checksums of all blocks written so far. Readers use those in memory; the file
    /// needs them only at a sync.
    fn write_checksums(&self) -> io::Result<()> {
        let dirty: Vec<u64> = self.lock().dirty.iter().copied().collect();
        for group in dirty {
            let bytes = encode(&self.group(group)?);
            self.file.write_at(group_position(group) * BLOCK, &bytes)?;
            self.lock().dirty.remove(&group);
        }
        Ok(())
    }

    /// Returns the checksums of a group.
    fn group(&self, group: u64) -> io::Result<Checksums> {
        if let Some(checksums) = self.lock().groups.get(&group) {
            return Ok(Arc::clone(checksums));
        }
        let bytes = self.read_checksums(group)?;
        // Another reader may have been faster, and the writer may have changed them since.
        Ok(Arc::clone(self.lock().groups.entry(group).or_insert_with(|| decode(&bytes))))
    }

    fn read_checksums(&self, group: u64) -> io::Result<[u8; BLOCK as usize]> {
        let mut bytes = [0; BLOCK as usize];
        match self.file.read_at(group_position(group) * BLOCK, &mut bytes) {
            // No block of this group was ever written.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            read => read?,
        }
        Ok(bytes)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Header {
    fn sealed(&self, store: u64) -> Vec<u8> {
        let mut bytes = self.content.clone().unwrap_or_default();
        let seal = Seal { sequence: self.sequence }.encode(&bytes, store);
        bytes.extend(seal);
        bytes.resize(2 * BLOCK as usize, 0);
        bytes
    }
}

/// Writes blocks, consecutive ones with one call. Calls `between` after each run with its length in
/// bytes.
pub(crate) fn write_runs<'a>(
    file: &CheckedFile,
    blocks: impl Iterator<Item = (u64, &'a [u8])>,
    mut between: impl FnMut(usize) -> io::Result<()>,
) -> io::Result<()> {
    let mut run: Vec<u8> = Vec::new();
    let mut first = 0;
    for (number, block) in blocks {
        let follows = first + run.len() as u64 / BLOCK == number;
        if !run.is_empty() && (!follows || run.len() >= RUN_BYTES_MAX) {
            file.write_run(first, &run)?;
            between(run.len())?;
            run.clear();
        }
        if run.is_empty() {
            first = number;
        }
        run.extend_from_slice(block);
    }
    file.write_run(first, &run)
}

/// Retries, because a block that is being written looks damaged for a short time, and read errors
/// can be transient.
fn with_retries(verify: impl Fn() -> Result<(), Unreadable>) -> Result<(), Unreadable> {
    verify().or_else(|_| verify()).or_else(|_| verify())
}

/// Returns how many bytes can be read or written at once: block 0 by itself, others up to the next
/// block of checksums.
fn run_bytes(first: u64, len: usize) -> usize {
    let until = if first == 0 { 1 } else { (first / GROUP + 1) * GROUP };
    len.min(((until - first) * BLOCK) as usize)
}

/// Whether these are whole blocks of one group, so that they are consecutive in the file too.
fn is_run(first: u64, len: usize) -> bool {
    let last = first + (len as u64).div_ceil(BLOCK).saturating_sub(1);
    (len as u64).is_multiple_of(BLOCK) && first / GROUP == last / GROUP
}

fn encode(checksums: &[AtomicU64]) -> Vec<u8> {
    encode_checksums(checksums.iter().map(|checksum| checksum.load(Ordering::Relaxed)))
}

fn decode(bytes: &[u8; BLOCK as usize]) -> Checksums {
    decode_checksums(bytes).map(AtomicU64::new).collect()
}

/// Returns the newer of the intact copies.
fn read_header(file: &dyn DiskFile, store: u64) -> Result<Header, Unreadable> {
    let first = read_copy(file, store, 0)?;
    let second = read_copy(file, store, 1)?;
    let newest = first.into_iter().chain(second).max_by_key(|header| header.sequence);
    newest.ok_or(Unreadable::Damaged { offset: 0 })
}

fn read_copy(file: &dyn DiskFile, store: u64, copy: u64) -> io::Result<Option<Header>> {
    let mut bytes = vec![0; BLOCK as usize + Seal::LEN];
    match file.read_at(copy * 2 * BLOCK, &mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let (content, found) = bytes.split_at(BLOCK as usize);
    let Some(Seal { sequence }) = Seal::decode(found, content, store) else { return Ok(None) };
    let content = Some(content.to_vec());
    Ok(Some(Header { content, sequence, synced_copy: copy, is_written: false }))
}
