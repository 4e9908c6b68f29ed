//! The messages that the built-in receiver has taken. They are kept in memory, and bounded in number
//! and bytes: the oldest are dropped first.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::rows::Kind;

/// The largest message that is taken.
pub(super) const MESSAGE_BYTES_MAX: usize = 64 * 1024;
const MESSAGES_MAX: usize = 500;
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// A message as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Incoming {
    /// The sender's name for the message, the same for every delivery of it. Empty if it has none.
    pub(super) key: String,
    pub(super) kind: Kind,
    pub(super) to: String,
    /// Only mail has one.
    pub(super) subject: Option<String>,
    /// The text, or the body of a webhook.
    pub(super) text: String,
    /// The page that answers the message.
    pub(super) answer_url: Option<String>,
    /// Where a provider posts what people reply.
    pub(super) reply_url: Option<String>,
}

/// A message that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Received {
    /// Counts up from 1.
    pub(super) number: u64,
    pub(super) time_ms: i64,
    pub(super) message: Incoming,
}

/// The message is larger than [`MESSAGE_BYTES_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

/// The messages, oldest first.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    messages: VecDeque<Arc<Received>>,
    bytes: usize,
    last: u64,
}

impl Inbox {
    /// Takes a message; returns its number. A message that is delivered again is taken once.
    pub(super) fn add(&self, message: Incoming, time_ms: i64) -> Result<u64, TooLarge> {
        let bytes = message.bytes();
        if bytes > MESSAGE_BYTES_MAX {
            return Err(TooLarge);
        }
        let mut kept = self.kept();
        let is_known = |other: &&Arc<Received>| other.message.key == message.key;
        if !message.key.is_empty()
            && let Some(known) = kept.messages.iter().find(is_known)
        {
            return Ok(known.number);
        }
        kept.last += 1;
        kept.bytes += bytes;
        let number = kept.last;
        kept.messages.push_back(Arc::new(Received { number, time_ms, message }));
        while kept.messages.len() > MESSAGES_MAX || kept.bytes > BYTES_MAX {
            let Some(oldest) = kept.messages.pop_front() else { break };
            kept.bytes -= oldest.message.bytes();
        }
        Ok(number)
    }

    /// The messages after a number, newest first.
    pub(super) fn after(&self, number: u64) -> Vec<Arc<Received>> {
        let kept = self.kept();
        let newer = kept.messages.iter().rev().take_while(|received| received.number > number);
        newer.cloned().collect()
    }

    /// The message of a number, as long as it is kept.
    pub(super) fn find(&self, number: u64) -> Option<Arc<Received>> {
        self.kept().messages.iter().find(|received| received.number == number).cloned()
    }

    /// Every change of the list is whole, so one that a panic left behind can be used.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Incoming {
    fn bytes(&self) -> usize {
        let Incoming { key, kind: _, to, subject, text, answer_url, reply_url } = self;
        let optional = [subject, answer_url, reply_url].into_iter().flatten();
        [key, to, text].into_iter().chain(optional).map(String::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(key: &str, text: String) -> Incoming {
        let (key, kind, to) = (key.to_owned(), Kind::Text, String::new());
        Incoming { key, kind, to, subject: None, text, answer_url: None, reply_url: None }
    }

    #[test]
    fn the_oldest_are_dropped_when_there_are_too_many() {
        let inbox = Inbox::default();
        for count in 1..=600 {
            assert_eq!(
                inbox.add(message(&count.to_string(), String::new()), count),
                Ok(count as u64)
            );
        }
        let numbers: Vec<u64> = inbox.after(0).iter().map(|one| one.number).collect();
        assert_eq!(numbers, (101..=600).rev().collect::<Vec<u64>>());
        assert_eq!(inbox.after(598).len(), 2);
        assert!(inbox.find(100).is_none() && inbox.find(101).is_some());
    }

    #[test]
    fn the_oldest_are_dropped_when_they_are_too_large_together() {
        let inbox = Inbox::default();
        for count in 0..100 {
            let text = "x".repeat(MESSAGE_BYTES_MAX - 3);
            inbox.add(message(&format!("{count:03}"), text), 0).unwrap();
        }
        assert_eq!(inbox.after(0).len(), BYTES_MAX / MESSAGE_BYTES_MAX);
        let bytes: usize = inbox.after(0).iter().map(|one| one.message.bytes()).sum();
        assert_eq!(inbox.kept().bytes, bytes);
        let large = message("", "x".repeat(MESSAGE_BYTES_MAX + 1));
        assert_eq!(inbox.add(large, 0), Err(TooLarge));
    }

    #[test]
    fn a_message_that_is_delivered_again_is_taken_once() {
        let inbox = Inbox::default();
        assert_eq!(inbox.add(message("a", "1".to_owned()), 0), Ok(1));
        assert_eq!(inbox.add(message("b", String::new()), 0), Ok(2));
        assert_eq!(inbox.add(message("a", "2".to_owned()), 0), Ok(1));
        assert_eq!(inbox.after(0).len(), 2);
        assert_eq!(inbox.find(1).unwrap().message.text, "1");
        // Without a key nobody can tell whether it is the same.
        assert_eq!(inbox.add(message("", String::new()), 0), Ok(3));
        assert_eq!(inbox.add(message("", String::new()), 0), Ok(4));
    }
}
