//! A commit: the effects of one write, batch or transaction.

use crate::{Cause, Membership, Time};

use super::{Malformed, Reader, SpaceId, TableId, TableRecord, Writer};

/// The effects of one write, batch or transaction, as the log stores them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) at: Time,
    pub(crate) effects: Vec<Effect>,
}

/// One effect of a commit. Applying an effect to the tree that the previous effects produced always
/// gives the same tree: recovery relies on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// An item was written or deleted.
    Row(RowEffect),
    /// A table was created or altered; this is its new record.
    SetTable(TableRecord),
    /// A table was dropped.
    DropTable(TableId),
    /// The next items of a table were read to build derived rows in a space: up to this many items
    /// or bytes.
    Fill { table: TableId, space: SpaceId, items: u32, bytes: u32 },
    /// A transaction with a token was committed.
    Token { token: String, fingerprint: u128, expires: Time },
    /// Ordinals joined or left a set.
    Set(SetEffect),
}

/// Ordinals joined or left a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SetEffect {
    pub(crate) table: TableId,
    pub(crate) set: Vec<u8>,
    pub(crate) ordinals: Vec<u64>,
    pub(crate) becomes: Membership,
}

/// An item was written or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowEffect {
    pub(crate) table: TableId,
    /// The item's key, encoded.
    pub(crate) key: Vec<u8>,
    /// The item, encoded; `None` if it was deleted.
    pub(crate) new: Option<Vec<u8>>,
    pub(crate) cause: Cause,
    /// The old image for the feed; `None` if the change is not in a feed.
    pub(crate) feed: Option<FeedImage>,
}

/// The old image, encoded; `None` if there was no item.
pub(crate) type FeedImage = Option<Vec<u8>>;

const EFFECT_ROW: u8 = 1;
const EFFECT_SET_TABLE: u8 = 2;
const EFFECT_DROP_TABLE: u8 = 3;
const EFFECT_FILL: u8 = 4;
const EFFECT_TOKEN: u8 = 5;
const EFFECT_JOIN: u8 = 8;
const EFFECT_LEAVE: u8 = 9;

const ROW_HAS_NEW: u8 = 1;
const ROW_EXPIRED: u8 = 2;
const ROW_IN_FEED: u8 = 4;
const ROW_HAS_OLD: u8 = 8;

impl Commit {
    pub(crate) fn write(&self, out: &mut Writer) {
        out.varint(self.at.0);
        out.size(self.effects.len());
        for effect in &self.effects {
            write_effect(out, effect);
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Commit, Malformed> {
        let at = Time(reader.varint()?);
        let count = reader.count()?;
        let effects = (0..count).map(|_| read_effect(reader)).collect::<Result<_, _>>()?;
        Ok(Commit { at, effects })
    }
}

fn write_effect(out: &mut Writer, effect: &Effect) {
    match effect {
        Effect::Row(row) => {
            out.u8(EFFECT_ROW);
            write_row(out, row);
        }
        Effect::SetTable(record) => {
            out.u8(EFFECT_SET_TABLE);
            record.write(out);
        }
        Effect::DropTable(id) => {
            out.u8(EFFECT_DROP_TABLE);
            out.varint(id.0.into());
        }
        Effect::Fill { table, space, items, bytes } => {
            out.u8(EFFECT_FILL);
            out.varint(table.0.into());
            out.varint(space.0.into());
            out.varint((*items).into());
            out.varint((*bytes).into());
        }
        Effect::Token { token, fingerprint, expires } => {
            out.u8(EFFECT_TOKEN);
            out.text(token);
            out.raw(&fingerprint.to_be_bytes());
            out.varint(expires.0);
        }
        Effect::Set(SetEffect { table, set, ordinals, becomes }) => {
            out.u8(match becomes {
                Membership::In => EFFECT_JOIN,
                Membership::Out => EFFECT_LEAVE,
            });
            out.varint(table.0.into());
            out.bytes(set);
            out.size(ordinals.len());
            for ordinal in ordinals {
                out.varint(*ordinal);
            }
        }
    }
}

fn read_effect(reader: &mut Reader<'_>) -> Result<Effect, Malformed> {
    Ok(match reader.u8()? {
        EFFECT_ROW => Effect::Row(read_row(reader)?),
        EFFECT_SET_TABLE => Effect::SetTable(TableRecord::read(reader)?),
        EFFECT_DROP_TABLE => Effect::DropTable(TableId(reader.varint_u32()?)),
        EFFECT_FILL => Effect::Fill {
            table: TableId(reader.varint_u32()?),
            space: SpaceId(reader.varint_u32()?),
            items: reader.varint_u32()?,
            bytes: reader.varint_u32()?,
        },
        EFFECT_TOKEN => Effect::Token {
            token: reader.text()?.to_owned(),
            fingerprint: u128::from_be_bytes(reader.array()?),
            expires: Time(reader.varint()?),
        },
        EFFECT_JOIN => Effect::Set(read_set(reader, Membership::In)?),
        EFFECT_LEAVE => Effect::Set(read_set(reader, Membership::Out)?),
        _ => return Err(Malformed("a commit has an unknown effect")),
    })
}

fn read_set(reader: &mut Reader<'_>, becomes: Membership) -> Result<SetEffect, Malformed> {
    let table = TableId(reader.varint_u32()?);
    let set = reader.bytes()?.to_vec();
    let count = reader.count()?;
    let ordinals = (0..count).map(|_| reader.varint()).collect::<Result<_, _>>()?;
    Ok(SetEffect { table, set, ordinals, becomes })
}

fn write_row(out: &mut Writer, row: &RowEffect) {
    let mut flags = 0;
    if row.new.is_some() {
        flags |= ROW_HAS_NEW;
    }
    if row.cause == Cause::Expiry {
        flags |= ROW_EXPIRED;
    }
    if let Some(old) = &row.feed {
        flags |= ROW_IN_FEED;
        if old.is_some() {
            flags |= ROW_HAS_OLD;
        }
    }
    out.u8(flags);
    out.varint(row.table.0.into());
    out.bytes(&row.key);
    for image in
        [row.new.as_ref(), row.feed.as_ref().and_then(Option::as_ref)].into_iter().flatten()
    {
        out.bytes(image);
    }
}

fn read_row(reader: &mut Reader<'_>) -> Result<RowEffect, Malformed> {
    let flags = reader.u8()?;
    if flags & !(ROW_HAS_NEW | ROW_EXPIRED | ROW_IN_FEED | ROW_HAS_OLD) != 0 {
        return Err(Malformed("a row has unknown flags"));
    }
    let table = TableId(reader.varint_u32()?);
    let key = reader.bytes()?.to_vec();
    let mut image = |flag| match flags & flag {
        0 => Ok(None),
        _ => reader.bytes().map(|bytes| Some(bytes.to_vec())),
    };
    let new = image(ROW_HAS_NEW)?;
    let old = image(ROW_HAS_OLD)?;
    let feed = if flags & ROW_IN_FEED != 0 { Some(old) } else { None };
    let cause = if flags & ROW_EXPIRED != 0 { Cause::Expiry } else { Cause::Request };
    Ok(RowEffect { table, key, new, cause, feed })
}
