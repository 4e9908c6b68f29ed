//! Cursors: a position in a list as a text that a client can keep and cannot make.
//!
//! ```text
//! 01 | fingerprint of the question: 16 bytes | place | tag: 16 bytes      in base64url
//! ```
//!
//! The place is where to go on: of lists, which way and on which side of which sort key (`bound.rs`).
//! The tag is the beginning of the HMAC-SHA256 of everything before it under a [`CursorKey`].

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use keyloom_model::RowKey;
use sha2::Sha256;

use crate::fingerprint::Fingerprint;

const VERSION: u8 = 1;
const TAG_LEN: usize = 16;
const HEAD_LEN: usize = 1 + Fingerprint::LEN;
/// A sort key with a byte more, or a value as part of a key, which again is part of one: every byte
/// can become two each time.
const PLACE_LEN_MAX: usize = 5 * RowKey::SORT_BYTES_MAX;
/// As long as a cursor's text can be.
const TEXT_LEN_MAX: usize = (HEAD_LEN + PLACE_LEN_MAX + TAG_LEN).div_ceil(3) * 4;

/// The secret with which cursors are authenticated. All who serve one store have the same.
#[derive(Clone)]
pub struct CursorKey([u8; 32]);

/// Why a cursor cannot be used. Without one, a list is read from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// The text is not a cursor at all.
    #[error(
        "This is not a cursor: give the text of `next` or `previous` as it was, or none for the start."
    )]
    NotACursor,
    /// The text looks like a cursor but was not made here as it is.
    #[error(
        "The cursor was changed, or made by another store: give the text of `next` or `previous` as it \
         was, or none for the start."
    )]
    Changed,
    /// It is a cursor of another list, tenant, range, direction or model.
    #[error(
        "The cursor is of another query, of another tenant, or from before the model changed: ask what \
         was asked when it was given, or start without a cursor."
    )]
    OtherQuery,
}

impl fmt::Debug for CursorKey {
    /// Does not tell the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CursorKey")
    }
}

impl CursorKey {
    /// A secret of 32 random bytes.
    pub fn new(secret: [u8; 32]) -> CursorKey {
        CursorKey(secret)
    }

    /// A cursor at a place of the answer that the fingerprint is of.
    pub(crate) fn seal(&self, fingerprint: &Fingerprint, place: &[u8]) -> String {
        let mut bytes = Vec::with_capacity(HEAD_LEN + place.len() + TAG_LEN);
        bytes.push(VERSION);
        bytes.extend_from_slice(fingerprint.as_bytes());
        bytes.extend_from_slice(place);
        let tag = self.mac(&bytes).finalize().into_bytes();
        bytes.extend_from_slice(&tag[..TAG_LEN]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The place of a cursor of this answer.
    pub(crate) fn open(
        &self,
        text: &str,
        fingerprint: &Fingerprint,
    ) -> Result<Vec<u8>, CursorError> {
        if text.len() > TEXT_LEN_MAX {
            return Err(CursorError::NotACursor);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| CursorError::NotACursor)?;
        let split = bytes.len().checked_sub(TAG_LEN).filter(|len| *len >= HEAD_LEN);
        let (content, tag) = bytes.split_at(split.ok_or(CursorError::NotACursor)?);
        let (head, place) = content.split_at(HEAD_LEN);
        if head[0] != VERSION {
            return Err(CursorError::NotACursor);
        }
        // Compares in constant time.
        self.mac(content).verify_truncated_left(tag).map_err(|_| CursorError::Changed)?;
        if head[1..] != fingerprint.as_bytes()[..] {
            return Err(CursorError::OtherQuery);
        }
        Ok(place.to_vec())
    }

    fn mac(&self, content: &[u8]) -> Hmac<Sha256> {
        // HMAC fills a key up with zeros to a block of its hash.
        let mut block = [0; 64];
        block[..self.0.len()].copy_from_slice(&self.0);
        <Hmac<Sha256> as KeyInit>::new(&block.into()).chain_update(content)
    }
}
