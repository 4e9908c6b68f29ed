//! Laws of the format: what is written is read back, and no bytes at all make a decoder panic.

use std::collections::BTreeSet;
use std::sync::Arc;

use keyloom_value::{Item, Name, Number, Value};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use super::version::FORMAT_VERSION;
use super::{
    Acknowledged, Applied, BLOCK, Block, BlockMut, BuildState, Chunk, ChunkNo, Commit, CommitNo,
    Delta, Derived, DerivedKind, Effect, Frame, FrameHeader, History, Identity, Increment,
    LiveBytes, NameCache, NextId, RowEffect, Seal, SegmentHeader, SetEffect, SetRecord, SetRows,
    SpaceId, Stats, SystemKey, TableId, TableRecord, TokenRecord, Unfinished, Writer,
    block_position, decode_item, encode_item, file_blocks, item_size, tree_blocks,
};
use crate::{
    Cause, ColumnSpec, ColumnValue, Direction, Feed, IndexProjection, IndexScope, IndexSpec,
    KeySchema, KeyType, Membership, TableName, TableSpec, Time,
};

fn number() -> impl Strategy<Value = Number> {
    (any::<i64>(), -100i16..100).prop_filter_map("in range", |(coefficient, exponent)| {
        Number::from_parts(i128::from(coefficient), exponent).ok()
    })
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        ".{0,8}".prop_map(Value::S),
        number().prop_map(Value::N),
        vec(any::<u8>(), 0..8).prop_map(Value::B),
        any::<bool>().prop_map(Value::Bool),
        Just(Value::Null),
        btree_set(".{0,4}", 1..4).prop_map(Value::Ss),
        btree_set(number(), 1..4).prop_map(Value::Ns),
        btree_set(vec(any::<u8>(), 0..4), 1..4).prop_map(Value::Bs),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let members = vec((".{0,4}", inner.clone()), 0..4);
        prop_oneof![
            vec(inner, 0..4).prop_map(Value::L),
            members.prop_map(|members| {
                Value::M(
                    members.into_iter().map(|(name, value)| (Name::from(name), value)).collect(),
                )
            }),
        ]
    })
}

fn item() -> impl Strategy<Value = Item> {
    vec((".{1,6}", value()), 0..6).prop_map(|attributes| {
        attributes.into_iter().map(|(name, value)| (Name::from(name), value)).collect()
    })
}

fn record() -> impl Strategy<Value = TableRecord> {
    let name = "[a-z]{3,9}".prop_map(|name| TableName::new(&name).unwrap());
    (any::<u32>(), any::<u64>(), vec(name, 1..4), vec(any::<u8>(), 0..9), any::<bool>()).prop_map(
        |(id, created, names, key, flag)| {
            let key_schema = KeySchema::partition("p", KeyType::B).and_sort("s", KeyType::N);
            let mut spec = TableSpec::new(names[0].clone(), key_schema.clone());
            spec.feed = if flag { Feed::Images } else { Feed::Off };
            spec.ttl = flag.then(|| Name::from("t"));
            let projection = IndexProjection::Include(vec![Name::from("x")]);
            spec.indexes.push(IndexSpec {
                name: names[0].clone(),
                scope: if flag { IndexScope::Local } else { IndexScope::Global },
                key: key_schema.and_sort("q", KeyType::S),
                projection,
            });
            let build = BuildState::Building { after: flag.then_some(key), done: created };
            let kind = DerivedKind::Index(names[0].clone());
            let column = ColumnSpec {
                name: names[0].clone(),
                partition: Name::from("of"),
                prefix: vec![0, 1],
                ordinal: Name::from("n"),
                value: Name::from("v"),
                parts: vec![Direction::Forward, Direction::Backward],
            };
            spec.columns.push(column.clone());
            let derived = vec![
                Derived {
                    kind: DerivedKind::Column(column),
                    space: SpaceId(9),
                    build: BuildState::Complete,
                },
                Derived { kind, space: SpaceId(id), build },
                Derived { kind: DerivedKind::Sets, space: SpaceId(8), build: BuildState::Complete },
                Derived {
                    kind: DerivedKind::Expiry,
                    space: SpaceId(7),
                    build: BuildState::Complete,
                },
            ];
            let (id, space) = (TableId(id), SpaceId(id));
            TableRecord {
                id,
                spec: Arc::new(spec),
                created: Time(created),
                feed_since: CommitNo(created / 2),
                space,
                derived,
            }
        },
    )
}

fn effect() -> impl Strategy<Value = Effect> {
    let bytes = || vec(any::<u8>(), 0..20);
    let row = (any::<u32>(), bytes(), proptest::option::of(bytes()), any::<bool>(), any::<u8>());
    prop_oneof![
        row.prop_map(|(table, key, new, expired, feed)| {
            let cause = if expired { Cause::Expiry } else { Cause::Request };
            let feed = match feed % 3 {
                0 => None,
                1 => Some(None),
                _ => Some(Some(vec![feed])),
            };
            Effect::Row(RowEffect { table: TableId(table), key, new, cause, feed })
        }),
        record().prop_map(Effect::SetTable),
        any::<u32>().prop_map(|id| Effect::DropTable(TableId(id))),
        (any::<u32>(), any::<u32>(), any::<u32>()).prop_map(|(table, space, items)| {
            Effect::Fill { table: TableId(table), space: SpaceId(space), items, bytes: items / 3 }
        }),
        (any::<u32>(), bytes(), vec(any::<u64>(), 0..9), any::<bool>()).prop_map(
            |(table, set, ordinals, is_in)| {
                let becomes = if is_in { Membership::In } else { Membership::Out };
                Effect::Set(SetEffect { table: TableId(table), set, ordinals, becomes })
            }
        ),
        (".{0,9}", any::<u128>(), any::<u64>()).prop_map(|(token, fingerprint, expires)| {
            Effect::Token { token, fingerprint, expires: Time(expires) }
        }),
    ]
}

/// Some of the lower 16 bits of ordinals, about so many at most.
fn lows(count_max: usize) -> impl Strategy<Value = BTreeSet<u16>> {
    vec(0..9_000u16, 0..count_max).prop_map(|lows| lows.into_iter().collect())
}

fn commit() -> impl Strategy<Value = Commit> {
    (any::<u64>(), vec(effect(), 0..4)).prop_map(|(at, effects)| Commit { at: Time(at), effects })
}

/// Bytes, some of them changed, cut or doubled: what a bad disk makes of them.
fn damaged(bytes: Vec<u8>, at: usize, flip: u8, cut: usize) -> Vec<u8> {
    let mut bytes = bytes;
    if !bytes.is_empty() {
        let at = at % bytes.len();
        bytes[at] ^= flip;
        let keep = bytes.len() - cut % (bytes.len() + 1) / 8;
        bytes.truncate(keep);
    }
    bytes
}

/// Every decoder, on the same bytes. Only that they return matters.
fn decode_all(bytes: &[u8]) {
    let _ = decode_item(bytes, &mut NameCache::default());
    let _ = item_size(bytes);
    let _ = TableRecord::decode(bytes);
    let _ = SpaceId::split(bytes);
    let _ = SystemKey::dead_space(bytes);
    let _ = SystemKey::expiring_token(bytes);
    let _ = SetRecord::decode(bytes).map(|record| record.len());
    let _ = SetRows::name_of(bytes);
    let _ = SetRows::chunk_of(bytes);
    let _ =
        Chunk::decode(bytes).map(|chunk| (chunk.contains(9), chunk.members(ChunkNo::of(3 << 16))));
    let _ = Delta::decode(bytes).map(|delta| delta.encode());
    let _ = BlockMut::decode(bytes).map(|block| block.encode());
    let _ = super::ColumnRows::block_in(bytes);
    let _ = Stats::decode(bytes);
    let _ = Applied::decode(bytes);
    let _ = TokenRecord::decode(bytes);
    let _ = NextId::decode(bytes);
    let _ = LiveBytes::decode(bytes);
    let text = String::from_utf8_lossy(bytes);
    let _ = (Identity::decode(&text), Unfinished::decode(&text), Increment::decode(&text));
    let _ = bytes.first_chunk().map(|bytes| Acknowledged::decode(bytes, 1));
    if let Some((content, seal)) = bytes.split_at_checked(BLOCK as usize) {
        let _ = Seal::decode(seal, content, 1);
    }
    if let Some(head) = bytes.first_chunk() {
        let _ = SegmentHeader::decode(head);
    }
    if let Some(head) = bytes.first_chunk()
        && let Ok(header) = FrameHeader::decode(head, 1)
    {
        let _ = header.last();
        let _ = Frame::commits(&header, &bytes[FrameHeader::LEN..]);
    }
}

proptest! {
    #[test]
    fn an_item_is_read_back_as_it_was_written(item in item()) {
        let bytes = encode_item(&item);
        prop_assert_eq!(item_size(&bytes), Ok(item.size() as u64));
        // A cache of other names must not matter.
        let mut names = NameCache::default();
        decode_item(&encode_item(&Item::from([("other", 1)])), &mut names).unwrap();
        prop_assert_eq!(decode_item(&bytes, &mut names), Ok(item));
    }

    #[test]
    fn a_table_record_is_read_back_as_it_was_written(record in record()) {
        prop_assert_eq!(TableRecord::decode(&record.encode()), Ok(record));
    }

    #[test]
    fn a_small_set_is_read_back_as_it_was_written(members in btree_set(any::<u64>(), 0..70)) {
        let record = SetRecord::Small(members);
        prop_assert_eq!(SetRecord::decode(&record.encode()), Ok(record));
    }

    #[test]
    fn a_chunk_folds_like_a_set(
        members in prop_oneof![lows(200), lows(9_000)],
        joined in lows(300),
        left in prop_oneof![lows(300), lows(9_000)],
    ) {
        let joined: BTreeSet<u16> = joined.difference(&left).copied().collect();
        let delta = Delta { joined: joined.clone(), left: left.clone() };
        prop_assert_eq!(Delta::decode(&delta.encode()), Ok(delta.clone()));
        let of = |members: &BTreeSet<u16>| {
            let mut bits = Chunk::default().to_bits();
            bits.fold(&Delta { joined: members.clone(), ..Delta::default() });
            bits.into_chunk()
        };
        let chunk = of(&members).unwrap_or_default();
        prop_assert_eq!(Chunk::decode(chunk.as_bytes()), Ok(chunk.clone()));
        let is_right = |low| chunk.contains(low) == members.contains(&low);
        prop_assert!((0..9_100).all(is_right));
        let number = ChunkNo::of(2 << 40);
        let mut read = chunk.members(number);
        delta.apply(number, &mut read);
        let expected: BTreeSet<u16> =
            members.union(&joined).copied().filter(|low| !left.contains(low)).collect();
        prop_assert!(read.iter().eq(expected.iter().map(|low| 2 << 40 | u64::from(*low))));
        let mut bits = chunk.to_bits();
        bits.fold(&delta);
        let folded = bits.into_chunk();
        prop_assert_eq!(folded.is_none(), expected.is_empty());
        prop_assert_eq!(folded, of(&expected));
    }

    #[test]
    fn a_frame_is_read_back_as_it_was_written(
        commits in vec(commit(), 1..5),
        first in 1..u64::MAX / 2,
        store: u64,
    ) {
        let mut frame = Frame::new(CommitNo(first), vec![]);
        commits.iter().for_each(|commit| frame.push(commit));
        let bytes = frame.seal(CommitNo(first - 1), store).unwrap();
        let (head, payload) = bytes.split_first_chunk().unwrap();
        let header = FrameHeader::decode(head, store).unwrap();
        prop_assert!(header.fits(head, payload, store));
        prop_assert!(!header.fits(head, payload, store ^ 1));
        prop_assert_eq!(header.last(), CommitNo(first + commits.len() as u64 - 1));
        prop_assert_eq!(Frame::commits(&header, payload), Ok(commits));
    }

    #[test]
    fn a_changed_frame_is_never_accepted(
        commits in vec(commit(), 1..3),
        at: usize,
        flip in 1u8..,
    ) {
        let mut frame = Frame::new(CommitNo(1), vec![]);
        commits.iter().for_each(|commit| frame.push(commit));
        let mut bytes = frame.seal(CommitNo(0), 5).unwrap();
        let at = at % bytes.len();
        bytes[at] ^= flip;
        let (head, payload) = bytes.split_first_chunk().unwrap();
        if let Ok(header) = FrameHeader::decode(head, 5) {
            prop_assert!(!header.fits(head, payload, 5));
        }
    }

    #[test]
    fn a_block_of_a_column_is_read_back_as_it_was_written(
        values in proptest::collection::btree_map(any::<u8>(), vec(0u8..3, 0..30), 1..40),
        alike in vec(any::<u8>(), 0..30),
    ) {
        let value = |rest: Vec<u8>| ColumnValue::of(&[alike.clone(), rest].concat());
        let cells = values.into_iter().map(|(low, rest)| (low, value(rest)));
        let block = BlockMut(cells.collect());
        let bytes = block.encode().unwrap();
        prop_assert_eq!(BlockMut::decode(&bytes), Ok(block.clone()));
        let read = Block::decode(&bytes).unwrap();
        prop_assert_eq!(Some(&read.least()), block.0.values().min());
        prop_assert_eq!(Some(&read.greatest()), block.0.values().max());
    }

    #[test]
    fn random_bytes_never_make_a_decoder_panic(bytes in vec(any::<u8>(), 0..200)) {
        decode_all(&bytes);
    }

    #[test]
    fn damaged_bytes_never_make_a_decoder_panic(
        item in item(),
        record in record(),
        commits in vec(commit(), 1..3),
        at: usize,
        flip: u8,
        cut: usize,
    ) {
        let mut frame = Frame::new(CommitNo(9), vec![]);
        let mut alone = Writer::default();
        for commit in &commits {
            frame.push(commit);
            commit.write(&mut alone);
        }
        let frame = frame.seal(CommitNo(1), 1).unwrap();
        for bytes in [encode_item(&item), record.encode(), frame, alone.into_vec()] {
            decode_all(&damaged(bytes, at, flip, cut));
        }
    }
}

#[test]
fn an_excessively_nested_value_is_refused_without_recursion() {
    let mut bytes = vec![0, 1, 1, b'a'];
    bytes.extend([7, 1].repeat(100_000));
    assert!(decode_item(&bytes, &mut NameCache::default()).is_err());
}

#[test]
fn a_segment_of_another_version_is_refused() {
    let header = SegmentHeader { store: 77, previous: CommitNo(99), first: CommitNo(1234) };
    let of_version = |version: u32| {
        let mut bytes: [u8; SegmentHeader::LEN] = header.encode().try_into().unwrap();
        bytes[8..12].copy_from_slice(&version.to_be_bytes());
        let checksum = twox_hash::XxHash3_64::oneshot(&bytes[..40]);
        bytes[40..].copy_from_slice(&checksum.to_be_bytes());
        SegmentHeader::decode(&bytes)
    };
    assert_eq!(of_version(FORMAT_VERSION), Ok(header));
    assert!([0, 1, 2, 3, 4, 6].map(of_version).iter().all(Result::is_err));
}

#[test]
fn a_segment_header_is_read_back_as_it_was_written() {
    let header = SegmentHeader { store: 77, previous: CommitNo(99), first: CommitNo(1234) };
    let bytes: [u8; SegmentHeader::LEN] = header.encode().try_into().unwrap();
    assert_eq!(SegmentHeader::decode(&bytes), Ok(header));
    for at in 0..bytes.len() {
        let mut changed = bytes;
        changed[at] ^= 0x10;
        assert!(SegmentHeader::decode(&changed).is_err(), "byte {at} changed unnoticed");
    }
}

proptest! {
    #[test]
    fn the_files_that_identify_a_directory_round_trip_and_nothing_else_decodes(
        store in any::<u64>(),
        number in any::<u64>(),
        frame in proptest::option::of(any::<u64>()),
        (at, flip) in (any::<usize>(), 1..=255_u8),
    ) {
        for history in [History::Ended, History::Id(store), History::Id(number)] {
            let identity = Identity { store, history };
            let text = identity.encode();
            prop_assert_eq!(Identity::decode(&text), Some(identity));
            prop_assert_eq!(Identity::decode(&format!("{text}\n")), None);
            prop_assert_eq!(Unfinished::decode(&text), None);
        }
        let unfinished = Unfinished { store };
        prop_assert_eq!(Unfinished::decode(&unfinished.encode()), Some(unfinished));
        let (after, last) = (CommitNo(number / 2), CommitNo(number));
        let increment = Increment { store, after, last, frame };
        let text = increment.encode();
        prop_assert_eq!(Increment::decode(&text), Some(increment));
        let changed = damaged(text.into_bytes(), at, flip, 0);
        let changed = Increment::decode(&String::from_utf8_lossy(&changed));
        prop_assert_ne!(changed, Some(increment));
    }

    #[test]
    fn a_changed_byte_of_an_end_mark_or_a_seal_is_detected(
        (store, number) in any::<(u64, u64)>(),
        (at, flip) in (any::<usize>(), 1..=255_u8),
    ) {
        let acknowledged = Acknowledged(CommitNo(number));
        let bytes = acknowledged.encode(store);
        prop_assert_eq!(Acknowledged::decode(&bytes, store), Some(acknowledged));
        prop_assert_eq!(Acknowledged::decode(&bytes, store ^ 1), None);
        let changed = damaged(bytes.to_vec(), at, flip, 0);
        prop_assert_eq!(Acknowledged::decode(changed.first_chunk().unwrap(), store), None);
        let content = [flip; BLOCK as usize];
        let (seal, sealed) = (Seal { sequence: number }, Seal { sequence: number }.encode(&content, store));
        prop_assert_eq!(Seal::decode(&sealed, &content, store), Some(seal));
        let changed = damaged(sealed.to_vec(), at, flip, 0);
        prop_assert_eq!(Seal::decode(&changed, &content, store), None);
        let changed = damaged(content.to_vec(), at, flip, 0);
        prop_assert_eq!(Seal::decode(&sealed, &changed, store), None);
    }

    #[test]
    fn the_engines_own_rows_are_read_back_as_they_were_written(
        (first, second) in any::<(u64, u64)>(),
        (fingerprint, next) in any::<(u128, u32)>(),
    ) {
        let applied = Applied { commit: CommitNo(first), at: Time(second) };
        prop_assert_eq!(Applied::decode(&applied.encode()), Ok(applied));
        let stats = Stats { items: first, bytes: second };
        prop_assert_eq!(Stats::decode(&stats.encode()), Ok(stats));
        let token = TokenRecord { fingerprint, expires: Time(first) };
        prop_assert_eq!(TokenRecord::decode(&token.encode()), Ok(token));
        prop_assert_eq!(NextId::decode(&NextId(next).encode()), Ok(NextId(next)));
        prop_assert_eq!(LiveBytes::decode(&LiveBytes(first).encode()), Ok(LiveBytes(first)));
    }

    #[test]
    fn a_file_has_room_for_its_number_of_blocks(blocks in 0..1_u64 << 40) {
        prop_assert_eq!(tree_blocks(file_blocks(blocks)), blocks);
        let last = blocks.saturating_sub(1);
        prop_assert!(block_position(last) < file_blocks(blocks.max(1)));
    }
}
