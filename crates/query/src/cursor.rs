//! Cursors: a position in a list as text that a client can keep but not forge.
//!
//! ```text
//! 01 | fingerprint of the query: 16 bytes | position | tag: 16 bytes      in base64url
//! 02 | fingerprint of the query: 16 bytes | hidden   | tag: 16 bytes
//! ```
//!
//! The position is where to continue: of lists, a direction and a bound next to a sort key (`bound.rs`).
//! The tag is the beginning of the HMAC-SHA256 of everything before it under a [`CursorKey`].
//!
//! A position can be that of a row that its reader may not see. A hidden one is the position XOR a keystream:
//! the HMACs of the tag, which is that of the plain position, and of the number of each block.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use keyloom_model::RowKey;
use sha2::Sha256;

use crate::CursorError;
use crate::fingerprint::Fingerprint;

const VERSION: u8 = 1;
const HIDDEN_VERSION: u8 = 2;
/// Begins what keystreams are made of; tags are of content that begins with a version.
const KEYSTREAM: u8 = 0xff;
const TAG_LEN: usize = 16;
const HEAD_LEN: usize = 1 + Fingerprint::LEN;
/// A sort key and one more byte, or a value as part of a key that is part of another: every byte can
/// become two each time.
const POSITION_LEN_MAX: usize = 5 * RowKey::SORT_BYTES_MAX;
/// The maximum length of a cursor's text.
const TEXT_LEN_MAX: usize = (HEAD_LEN + POSITION_LEN_MAX + TAG_LEN).div_ceil(3) * 4;

/// The secret that authenticates cursors. All processes that serve one store share it.
#[derive(Clone)]
pub struct CursorKey {
    secret: [u8; 32],
    /// Whether positions are hidden from those who keep cursors.
    hides: bool,
}

impl fmt::Debug for CursorKey {
    /// Does not print the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CursorKey")
    }
}

impl CursorKey {
    /// Creates a key from 32 random bytes.
    pub fn new(secret: [u8; 32]) -> CursorKey {
        CursorKey { secret, hides: false }
    }

    /// Returns the same key, whose cursors hide their position. Both open the cursors of each other.
    #[must_use]
    pub fn hiding(&self) -> CursorKey {
        CursorKey { hides: true, ..self.clone() }
    }

    /// Makes a cursor at a position in the results of the query with this fingerprint.
    pub(crate) fn seal(&self, fingerprint: &Fingerprint, position: &[u8]) -> String {
        let mut bytes = Vec::with_capacity(HEAD_LEN + position.len() + TAG_LEN);
        bytes.push(if self.hides { HIDDEN_VERSION } else { VERSION });
        bytes.extend_from_slice(fingerprint.as_bytes());
        bytes.extend_from_slice(position);
        let tag = self.mac(&bytes).finalize().into_bytes();
        if self.hides {
            self.hide(&tag[..TAG_LEN], &mut bytes[HEAD_LEN..]);
        }
        bytes.extend_from_slice(&tag[..TAG_LEN]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Returns the position of a cursor of the query with this fingerprint.
    pub(crate) fn open(
        &self,
        text: &str,
        fingerprint: &Fingerprint,
    ) -> Result<Vec<u8>, CursorError> {
        if text.len() > TEXT_LEN_MAX {
            return Err(CursorError::NotACursor);
        }
        let mut bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| CursorError::NotACursor)?;
        let split = bytes.len().checked_sub(TAG_LEN).filter(|len| *len >= HEAD_LEN);
        let (content, tag) = bytes.split_at_mut(split.ok_or(CursorError::NotACursor)?);
        match content[0] {
            VERSION => {}
            HIDDEN_VERSION => self.hide(tag, &mut content[HEAD_LEN..]),
            _ => return Err(CursorError::NotACursor),
        }
        let (content, tag) = (&*content, &*tag);
        let (head, position) = content.split_at(HEAD_LEN);
        // Compares in constant time.
        self.mac(content).verify_truncated_left(tag).map_err(|_| CursorError::Changed)?;
        if head[1..] != fingerprint.as_bytes()[..] {
            return Err(CursorError::OtherQuery);
        }
        Ok(position.to_vec())
    }

    /// Hides a position, or shows it again.
    fn hide(&self, tag: &[u8], position: &mut [u8]) {
        for (block, number) in position.chunks_mut(32).zip(0u32..) {
            let mac = self.mac(&[KEYSTREAM]).chain_update(tag).chain_update(number.to_be_bytes());
            let stream = mac.finalize().into_bytes();
            block.iter_mut().zip(stream).for_each(|(byte, key)| *byte ^= key);
        }
    }

    fn mac(&self, content: &[u8]) -> Hmac<Sha256> {
        // HMAC pads a key with zeros to a block of its hash.
        let mut block = [0; 64];
        block[..self.secret.len()].copy_from_slice(&self.secret);
        <Hmac<Sha256> as KeyInit>::new(&block.into()).chain_update(content)
    }
}
