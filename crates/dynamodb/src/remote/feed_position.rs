//! Positions in a shard of a stream.
//!
//! The service has no number for the end of a shard, only iterators that start there and end after
//! 15 minutes. So the end is a moment: whoever has the iterator continues from there, and whoever has
//! lost it reads the shard from its beginning, without the changes before that moment.

use keyloom_store::{Change, SeqNo, Time};

/// Marks a number as a moment. The service's sequence numbers are far smaller.
const MOMENT: u128 = 1 << 127;
/// How far this machine's clock may be ahead of the service's. The service's times are in seconds.
const SKEW_MS: u64 = 10_000;

/// Where a reader is in a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum FeedPosition {
    Beginning,
    After(SeqNo),
    /// At what was the end of the shard at this moment.
    End(Time),
}

impl FeedPosition {
    pub(super) fn to_seq(self) -> SeqNo {
        match self {
            FeedPosition::Beginning => SeqNo(0),
            FeedPosition::After(seq) => seq,
            FeedPosition::End(Time(ms)) => SeqNo(MOMENT | u128::from(ms)),
        }
    }

    /// Whether a change that was found by reading the shard from its beginning comes after it.
    pub(super) fn is_before(self, change: &Change) -> bool {
        match self {
            FeedPosition::Beginning => true,
            FeedPosition::After(seq) => change.seq > seq,
            FeedPosition::End(moment) => change.at.0.saturating_add(SKEW_MS) >= moment.0,
        }
    }
}

impl From<SeqNo> for FeedPosition {
    fn from(SeqNo(number): SeqNo) -> FeedPosition {
        match (number, u64::try_from(number & !MOMENT)) {
            (0, _) => FeedPosition::Beginning,
            (MOMENT.., Ok(ms)) => FeedPosition::End(Time(ms)),
            _ => FeedPosition::After(SeqNo(number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use keyloom_store::Cause;
    use keyloom_value::Item;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn positions_are_numbers_and_back(number in any::<u128>(), ms in any::<u64>()) {
            prop_assert_eq!(FeedPosition::from(SeqNo(number)).to_seq(), SeqNo(number));
            let end = FeedPosition::End(Time(ms));
            prop_assert_eq!(FeedPosition::from(end.to_seq()), end);
        }
    }

    /// A change of the second in which the moment is counts as after it, also if clocks differ.
    #[test]
    fn changes_near_a_moment_come_after_it() {
        let change = |at| {
            let (key, cause) = (Item::new(), Cause::Request);
            Change { seq: SeqNo(1), at: Time(at), key, old: None, new: None, cause }
        };
        let end = FeedPosition::End(Time(100_900));
        assert!(end.is_before(&change(100_000)));
        assert!(end.is_before(&change(91_000)));
        assert!(!end.is_before(&change(90_000)));
    }
}
