//! The end mark: the last acknowledged commit, in a file beside the log.
//!
//! ```text
//! 0   commit number, big-endian
//! 8   checksum of these eight bytes, seeded with the store's id
//! ```

use twox_hash::XxHash3_64;

use super::CommitNo;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledged(pub(crate) CommitNo);

impl Acknowledged {
    pub(crate) const LEN: usize = 16;

    pub(crate) fn encode(self, store: u64) -> [u8; Acknowledged::LEN] {
        let mut bytes = [0; Acknowledged::LEN];
        bytes[..8].copy_from_slice(&self.0.0.to_be_bytes());
        let checksum = XxHash3_64::oneshot_with_seed(store, &bytes[..8]);
        bytes[8..].copy_from_slice(&checksum.to_be_bytes());
        bytes
    }

    /// Returns `None` if the bytes are blank, damaged or of another store.
    pub(crate) fn decode(bytes: &[u8; Acknowledged::LEN], store: u64) -> Option<Acknowledged> {
        let (commit, _) = bytes.split_first_chunk()?;
        let acknowledged = Acknowledged(CommitNo(u64::from_be_bytes(*commit)));
        (*bytes == acknowledged.encode(store)).then_some(acknowledged)
    }
}
