//! Sending messages, as the hunt sees it. The implementations are in `outbound`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use keyloom::events::Failure;

use crate::rows::Kind;

/// A message to a contact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The idempotency key: the same however often the message is sent.
    pub key: String,
    /// The channel.
    pub kind: Kind,
    /// The destination.
    pub to: String,
    /// A one-line summary.
    pub subject: String,
    /// The full text, for its channel.
    pub text: String,
    /// The page on which it is answered.
    pub answer_url: String,
    /// Where the provider posts replies.
    pub reply_url: String,
    /// The id of its search.
    pub search: String,
    /// The domain of the search.
    pub domain: String,
}

/// The result of a message that was accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// The receiver's id of the message.
    pub reference: Option<String>,
}

/// The future of [`Transport::send`].
pub type SendFuture<'t> = Pin<Box<dyn Future<Output = Result<Accepted, Failure>> + Send + 't>>;

/// Sends messages. Failures that are not fatal are retried.
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Sends a message to its destination.
    fn send(&self, message: Message) -> SendFuture<'_>;
}
