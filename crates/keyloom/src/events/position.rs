//! Positions in the feed: one sequence number for each shard.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use keyloom_store::{SeqNo, ShardId};

/// A position in the feed. It converts to text, such as `all-0123456789abcdef:4711`, and back.
///
/// [`Db::events`](crate::Db::events) has an example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position(pub(crate) BTreeMap<ShardId, SeqNo>);

impl Position {
    pub(crate) fn of(shard: &ShardId, seq: SeqNo) -> Position {
        Position(BTreeMap::from([(shard.clone(), seq)]))
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (shard, seq)) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{shard}:{seq}")?;
        }
        Ok(())
    }
}

impl FromStr for Position {
    type Err = crate::Error;

    fn from_str(text: &str) -> Result<Position, crate::Error> {
        let part = |part: &str| {
            let (shard, seq) = part.rsplit_once(':')?;
            Some((ShardId(shard.to_owned()), SeqNo(seq.parse().ok()?)))
        };
        let parts: Option<BTreeMap<_, _>> = text.split(',').map(part).collect();
        parts.map(Position).ok_or_else(|| crate::Error::Unknown {
            what: format!("`{text}` is not a position in the feed"),
            help: Some("pass the position of an event unchanged".to_owned()),
        })
    }
}
