//! The messages of the built-in receiver. They are in memory, limited in number and bytes: the oldest are
//! dropped first.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::rows::Kind;

/// The maximum size of a message.
pub(super) const MESSAGE_BYTES_MAX: usize = 64 * 1024;
const MESSAGES_MAX: usize = 500;
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// A message on arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Incoming {
    /// The idempotency key of the sender; empty if it has none.
    pub(super) key: String,
    pub(super) kind: Kind,
    pub(super) to: String,
    /// For mail only.
    pub(super) subject: Option<String>,
    /// The text, or the body of a webhook.
    pub(super) text: String,
    /// The page that answers the message.
    pub(super) answer_url: Option<String>,
    /// Where a provider posts replies.
    pub(super) reply_url: Option<String>,
}

/// A stored message.
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
    contents: Mutex<Contents>,
}

#[derive(Debug, Default)]
struct Contents {
    messages: VecDeque<Arc<Received>>,
    bytes: usize,
    last: u64,
}

impl Inbox {
    /// Stores a message and returns its number. A repeated delivery is stored once.
    pub(super) fn add(&self, message: Incoming, time_ms: i64) -> Result<u64, TooLarge> {
        let bytes = message.bytes();
        if bytes > MESSAGE_BYTES_MAX {
            return Err(TooLarge);
        }
        let mut contents = self.contents();
        let is_known = |other: &&Arc<Received>| other.message.key == message.key;
        if !message.key.is_empty()
            && let Some(known) = contents.messages.iter().find(is_known)
        {
            return Ok(known.number);
        }
        contents.last += 1;
        contents.bytes += bytes;
        let number = contents.last;
        contents.messages.push_back(Arc::new(Received { number, time_ms, message }));
        while contents.messages.len() > MESSAGES_MAX || contents.bytes > BYTES_MAX {
            let Some(oldest) = contents.messages.pop_front() else { break };
            contents.bytes -= oldest.message.bytes();
        }
        Ok(number)
    }

    /// The messages after a number, newest first.
    pub(super) fn after(&self, number: u64) -> Vec<Arc<Received>> {
        let contents = self.contents();
        let newer = contents.messages.iter().rev().take_while(|received| received.number > number);
        newer.cloned().collect()
    }

    /// The message with a number, unless it was dropped.
    pub(super) fn find(&self, number: u64) -> Option<Arc<Received>> {
        self.contents().messages.iter().find(|received| received.number == number).cloned()
    }

    /// Ignores poisoning: no panic can interrupt a change of the list.
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn the_oldest_messages_are_dropped_beyond_the_count_limit() {
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
    fn the_oldest_messages_are_dropped_beyond_the_size_limit() {
        let inbox = Inbox::default();
        for count in 0..100 {
            let text = "x".repeat(MESSAGE_BYTES_MAX - 3);
            inbox.add(message(&format!("{count:03}"), text), 0).unwrap();
        }
        assert_eq!(inbox.after(0).len(), BYTES_MAX / MESSAGE_BYTES_MAX);
        let bytes: usize = inbox.after(0).iter().map(|one| one.message.bytes()).sum();
        assert_eq!(inbox.contents().bytes, bytes);
        let large = message("", "x".repeat(MESSAGE_BYTES_MAX + 1));
        assert_eq!(inbox.add(large, 0), Err(TooLarge));
    }

    #[test]
    fn a_repeated_delivery_is_stored_once() {
        let inbox = Inbox::default();
        assert_eq!(inbox.add(message("a", "1".to_owned()), 0), Ok(1));
        assert_eq!(inbox.add(message("b", String::new()), 0), Ok(2));
        assert_eq!(inbox.add(message("a", "2".to_owned()), 0), Ok(1));
        assert_eq!(inbox.after(0).len(), 2);
        assert_eq!(inbox.find(1).unwrap().message.text, "1");
        // Without a key, duplicates cannot be detected.
        assert_eq!(inbox.add(message("", String::new()), 0), Ok(3));
        assert_eq!(inbox.add(message("", String::new()), 0), Ok(4));
    }
}
