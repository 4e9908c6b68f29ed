//! Hashes of requests, by which they are recognized.

use sha2::{Digest, Sha256};

/// Hashes a sequence of pieces. Lengths delimit the pieces, and a missing piece differs from an
/// empty one.
pub(crate) struct Pieces(Sha256);

impl Pieces {
    pub(crate) fn new() -> Pieces {
        Pieces(Sha256::new())
    }

    pub(crate) fn hash(self) -> [u8; 32] {
        self.0.finalize().into()
    }

    pub(crate) fn add(&mut self, piece: &str) {
        self.0.update((piece.len() as u64).to_be_bytes());
        self.0.update(piece);
    }

    /// Adds a piece that no other can be confused with.
    pub(crate) fn add_marked(&mut self, mark: u8, piece: &str) {
        self.0.update([mark]);
        self.add(piece);
    }

    /// Different items or values have different texts.
    pub(crate) fn add_some(&mut self, piece: Option<impl ToString>) {
        self.0.update([u8::from(piece.is_some())]);
        if let Some(piece) = piece {
            self.add(&piece.to_string());
        }
    }
}
