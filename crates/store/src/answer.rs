//! The result type of stores.

use std::future::Future;
use std::pin::Pin;

use crate::Error;

/// The result of a store's methods: a future, boxed so that `dyn Store` works.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;
