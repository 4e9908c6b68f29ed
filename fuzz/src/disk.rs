//! The on-disk format: headers of segments and frames, commits, and every row of the tree.

#[path = "../../crates/store/src/engine/format/mod.rs"]
#[allow(dead_code, unused_imports, unreachable_pub, reason = "only parts of it are used here")]
mod format;

use format::{
    BlockMut, Chunk, ChunkNo, Commit, Delta, Frame, FrameHeader, NameCache, Reader, SegmentHeader,
    SetRecord, SpaceId, SystemKey, TableRecord, Writer, decode_item, encode_item, item_size,
};

use crate::choice::chosen;

const STORE: u64 = 7;

/// Decoded bytes encode and decode to the same value; all other bytes are rejected.
pub fn disk(input: &[u8]) {
    let Some((choice, bytes)) = chosen(input) else { return };
    match choice % 8 {
        0 => item(bytes),
        1 => commit(bytes),
        2 => frame(bytes),
        3 => segment(bytes),
        4 => table(bytes),
        5 => set(bytes),
        6 => column(bytes),
        _ => keys(bytes),
    }
}

fn item(bytes: &[u8]) {
    let _ = item_size(bytes);
    let mut names = NameCache::default();
    if let Ok(item) = decode_item(bytes, &mut names) {
        assert_eq!(decode_item(&encode_item(&item), &mut names).as_ref(), Ok(&item));
    }
}

fn commit(bytes: &[u8]) {
    if let Ok(commit) = Commit::read(&mut Reader::new(bytes)) {
        let mut out = Writer::with_capacity(bytes.len());
        commit.write(&mut out);
        let again = Commit::read(&mut Reader::new(&out.into_vec()));
        assert_eq!(again.as_ref(), Ok(&commit));
    }
}

fn frame(bytes: &[u8]) {
    let Some((head, payload)) = bytes.split_first_chunk::<{ FrameHeader::LEN }>() else { return };
    let Ok(header) = FrameHeader::decode(head, STORE) else { return };
    let _ = (header.fits(head, payload, STORE), header.last());
    let Ok(commits) = Frame::commits(&header, payload) else { return };
    let mut frame = Frame::new(header.first, vec![]);
    commits.iter().for_each(|commit| frame.push(commit));
    let Some(sealed) = frame.seal(header.synced, STORE) else { return };
    let (head, payload) = sealed.split_first_chunk().expect("a frame has a header");
    let again = FrameHeader::decode(head, STORE).expect("an encoded header");
    // It may be padded with zeros.
    let payload = &payload[..again.payload_len as usize];
    assert!(again.fits(head, payload, STORE));
    assert_eq!(Frame::commits(&again, payload), Ok(commits));
}

fn segment(bytes: &[u8]) {
    let Some((head, _)) = bytes.split_first_chunk::<{ SegmentHeader::LEN }>() else { return };
    if let Ok(header) = SegmentHeader::decode(head) {
        let again = header.encode();
        let (head, _) = again.split_first_chunk().expect("an encoded header");
        assert_eq!(SegmentHeader::decode(head), Ok(header));
    }
}

fn table(bytes: &[u8]) {
    if let Ok(table) = TableRecord::decode(bytes) {
        assert_eq!(TableRecord::decode(&table.encode()).as_ref(), Ok(&table));
    }
}

fn set(bytes: &[u8]) {
    if let Ok(record) = SetRecord::decode(bytes) {
        assert_eq!(SetRecord::decode(&record.encode()).as_ref(), Ok(&record));
        let _ = record.len();
    }
    let delta = Delta::decode(bytes);
    if let Ok(delta) = &delta {
        assert_eq!(Delta::decode(&delta.encode()).as_ref(), Ok(delta));
    }
    if let Ok(chunk) = Chunk::decode(bytes) {
        let mut bits = chunk.to_bits();
        // An empty chunk is never written, but can be read.
        if let Some(again) = bits.clone().into_chunk() {
            assert_eq!(again.to_bits(), bits);
            assert_eq!(chunk.members(ChunkNo::of(0)), again.members(ChunkNo::of(0)));
        }
        if let Ok(delta) = &delta {
            bits.fold(delta);
        }
    }
}

fn column(bytes: &[u8]) {
    if let Ok(block) = BlockMut::decode(bytes)
        && let Some(written) = block.encode()
    {
        assert_eq!(BlockMut::decode(&written), Ok(block));
    }
}

fn keys(bytes: &[u8]) {
    if let Ok((space, key)) = SpaceId::split(bytes) {
        assert_eq!(space.row(key), bytes);
    }
    let _ = (SystemKey::dead_space(bytes), SystemKey::expiring_token(bytes));
    let _ = (format::SetRows::name_of(bytes), format::SetRows::chunk_of(bytes));
    let _ = format::ColumnRows::block_in(bytes);
}
