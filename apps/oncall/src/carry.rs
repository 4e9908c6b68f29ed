//! What brings messages to people, as the hunt sees it. How is said in `outside`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use keyloom::events::Failure;

use crate::rows::Kind;

/// A message to somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The same however often it is sent: whoever has seen it before does nothing.
    pub key: String,
    /// How it is sent.
    pub kind: Kind,
    /// Where to.
    pub to: String,
    /// A line that says what it is about.
    pub subject: String,
    /// All of it, as its kind has it.
    pub text: String,
    /// The page on which it is answered.
    pub answer_url: String,
    /// Where the provider posts what somebody replies.
    pub reply_url: String,
    /// The search that it belongs to.
    pub search: String,
    /// The domain whose search that is.
    pub domain: String,
}

/// What became of a message that was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// What whoever took it calls it.
    pub reference: Option<String>,
}

/// A message on its way.
pub type Carrying<'c> = Pin<Box<dyn Future<Output = Result<Carried, Failure>> + Send + 'c>>;

/// Brings messages to people. A failure that is not final is tried again.
pub trait Carry: fmt::Debug + Send + Sync + 'static {
    /// Takes a message to where it goes.
    fn carry(&self, message: Message) -> Carrying<'_>;
}
