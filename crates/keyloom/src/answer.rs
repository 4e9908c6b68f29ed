//! What the methods of a database return.

use std::future::Future;
use std::pin::Pin;

use crate::Error;

/// A future. It is boxed so that a method is compiled once, in this crate, and not again in every
/// crate that awaits it.
///
/// [`Db::get`](crate::Db::get) returns one; its example awaits it.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;
