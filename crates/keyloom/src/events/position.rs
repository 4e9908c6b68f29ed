//! Where a reader of the feed is: one number for each of its parts.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use keyloom_store::{SeqNo, ShardId};

/// Where a reader of the feed is. As a text, such as `all-0123456789abcdef:4711`, it can be given to
/// others and taken back.
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
            what: format!("`{text}` is no position of the feed"),
            help: Some("give back one that came with an event, as it was".to_owned()),
        })
    }
}
