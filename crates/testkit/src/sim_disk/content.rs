//! The bytes of one simulated file: what readers see, what is on the medium, and what is on its way
//! there, sector by sector.

use crate::Random;

/// The medium writes a sector atomically; anything larger can tear.
pub(super) const SECTOR_BYTES: usize = 512;

/// Beyond this many unsynced bytes the oldest are written to the medium, as a kernel would do. It
/// bounds the memory of a run that never syncs.
const WRITEBACK_BYTES: usize = 64 << 20;

/// One file's bytes.
#[derive(Default)]
pub(super) struct Content {
    /// What readers see: the page cache.
    live: Vec<u8>,
    /// What is on the medium.
    durable: Vec<u8>,
    /// Changes since the last sync, oldest first.
    pending: Vec<Pending>,
    pending_bytes: usize,
}

/// A change to a file that a crash may undo.
enum Pending {
    /// Whole sectors as they were after a write: a medium knows no smaller unit, so neighbouring
    /// bytes are written too. The last sector ends where the file ended then.
    Write {
        start: usize,
        image: Vec<u8>,
    },
    SetLen(usize),
}

impl Content {
    /// Creates a file whose bytes are all on the medium.
    fn settled(bytes: Vec<u8>) -> Content {
        Content { live: bytes.clone(), durable: bytes, ..Content::default() }
    }

    pub(super) fn live(&self) -> &[u8] {
        &self.live
    }

    #[cfg(test)]
    pub(super) fn pending_bytes(&self) -> usize {
        self.pending_bytes
    }

    pub(super) fn is_dirty(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let end = offset + bytes.len();
        put(&mut self.live, offset, bytes);
        let start = offset - offset % SECTOR_BYTES;
        let image_end = end.next_multiple_of(SECTOR_BYTES).min(self.live.len());
        self.push(Pending::Write { start, image: self.live[start..image_end].to_vec() });
    }

    pub(super) fn set_len(&mut self, len: usize) {
        set_len(&mut self.live, len);
        self.push(Pending::SetLen(len));
    }

    /// Writes everything pending to the medium.
    pub(super) fn sync(&mut self) {
        for pending in self.pending.drain(..) {
            pending.apply(&mut self.durable);
        }
        self.pending_bytes = 0;
    }

    /// Simulates a failed fsync: some of what was pending is on the medium, the rest never will be,
    /// and the kernel forgets it. Readers still see all of it.
    pub(super) fn fail_sync(&mut self, random: &mut Random) {
        keep_some(&mut self.durable, &self.pending, random);
        self.pending.clear();
        self.pending_bytes = 0;
    }

    /// Corrupts the bytes, on the medium and for readers.
    pub(super) fn damage(&mut self, damage: impl FnOnce(&mut [u8]), offset: usize) {
        damage(&mut self.live[offset..]);
        self.durable.clone_from(&self.live);
        self.pending.clear();
        self.pending_bytes = 0;
    }

    /// Returns the file as a crash at this point leaves it.
    pub(super) fn after_crash(&self, random: &mut Random) -> Content {
        let mut bytes = self.durable.clone();
        keep_some(&mut bytes, &self.pending, random);
        Content::settled(bytes)
    }

    fn push(&mut self, pending: Pending) {
        self.pending_bytes += pending.bytes();
        self.pending.push(pending);
        if self.pending_bytes > WRITEBACK_BYTES {
            let oldest = self.pending.len().div_ceil(2);
            for pending in self.pending.drain(..oldest) {
                self.pending_bytes -= pending.bytes();
                pending.apply(&mut self.durable);
            }
        }
    }
}

impl Pending {
    fn bytes(&self) -> usize {
        match self {
            Pending::Write { image, .. } => image.len(),
            Pending::SetLen(_) => 0,
        }
    }

    fn apply(&self, medium: &mut Vec<u8>) {
        match self {
            Pending::Write { start, image } => put(medium, *start, image),
            Pending::SetLen(len) => set_len(medium, *len),
        }
    }

    /// Writes only a random number of leading sectors to the medium.
    fn apply_torn(&self, medium: &mut Vec<u8>, random: &mut Random) {
        match self {
            Pending::Write { start, image } => {
                let kept = random.index(image.len().div_ceil(SECTOR_BYTES) + 1) * SECTOR_BYTES;
                put(medium, *start, &image[..kept.min(image.len())]);
            }
            Pending::SetLen(len) => {
                if random.chance(1, 2) {
                    set_len(medium, *len);
                }
            }
        }
    }

    /// Writes each sector to the medium or not, independently of the others.
    fn apply_scattered(&self, medium: &mut Vec<u8>, random: &mut Random, eighths: u64) {
        match self {
            Pending::Write { start, image } => {
                for (index, sector) in image.chunks(SECTOR_BYTES).enumerate() {
                    if random.chance(eighths, 8) {
                        put(medium, start + index * SECTOR_BYTES, sector);
                    }
                }
                // A file system may keep the new length and lose the bytes: a tail of zeros.
                let end = start + image.len();
                if medium.len() < end && random.chance(1, 4) {
                    set_len(medium, end);
                }
            }
            Pending::SetLen(len) => {
                if random.chance(eighths, 8) {
                    set_len(medium, *len);
                }
            }
        }
    }
}

/// Writes to the medium what a crash leaves of the pending operations: nothing, all, the first ones
/// with the last of them torn, or any sectors of any of them.
fn keep_some(medium: &mut Vec<u8>, pending: &[Pending], random: &mut Random) {
    if pending.is_empty() {
        return;
    }
    match random.below(4) {
        0 => {}
        1 => pending.iter().for_each(|one| one.apply(medium)),
        2 => {
            let torn = random.index(pending.len());
            pending[..torn].iter().for_each(|one| one.apply(medium));
            pending[torn].apply_torn(medium, random);
        }
        _ => {
            let eighths = 1 + random.below(7);
            pending.iter().for_each(|one| one.apply_scattered(medium, random, eighths));
        }
    }
}

/// Copies bytes to the medium; a hole before them reads as zeros.
fn put(medium: &mut Vec<u8>, start: usize, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    if medium.len() < start {
        set_len(medium, start);
    }
    // Appending copies all at once, without filling with zeros first.
    let (over, beyond) = bytes.split_at(bytes.len().min(medium.len() - start));
    medium[start..start + over.len()].copy_from_slice(over);
    medium.extend_from_slice(beyond);
}

/// Cuts the medium, or fills it with zeros. `Vec::resize` goes byte by byte in test builds, which took more than a third
/// of the time of crash tests.
fn set_len(medium: &mut Vec<u8>, len: usize) {
    static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
    medium.truncate(len);
    medium.reserve_exact(len - medium.len());
    while medium.len() < len {
        medium.extend_from_slice(&ZEROS[..ZEROS.len().min(len - medium.len())]);
    }
}
