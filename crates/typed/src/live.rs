//! Live reads: a result now, and again whenever what was read for it has changed.

use futures_util::stream::{Stream, try_unfold};
use keyloom::Db;

use crate::Error;

/// Returns what `read` returns of the database now, and again as soon as something that it has read has
/// changed. The stream ends after an error.
pub fn live<T, F, R>(db: &Db, read: R) -> impl Stream<Item = Result<T, Error>> + Send + use<T, F, R>
where
    T: Send,
    F: Future<Output = Result<T, Error>> + Send,
    R: FnMut(Db) -> F + Send,
{
    try_unfold((db.live(), read), |(mut live, mut read)| async move {
        let moment = live.next().await?;
        let result = read(moment.db).await?;
        Ok(Some((result, (live, read))))
    })
}
