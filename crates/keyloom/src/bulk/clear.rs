//! Removes the work rows that an operation has left when it was canceled or has failed, then its marker.

use super::Marker;
use super::work_row::WorkRows;
use crate::error::Error;
use crate::shared::Shared;
use crate::write::ACTIONS_MAX;

/// Removes some work rows of an operation that has ended, or its marker if there are none. Nobody adds
/// any: every transaction that does writes the record too, and only as long as the operation runs.
pub(super) async fn clear(shared: &Shared, marker: &Marker) -> Result<(), Error> {
    let schema = shared.schema();
    let ctx = shared.write_context(&schema);
    let rows = WorkRows::new(shared, &marker.id);
    let limit = ACTIONS_MAX - ctx.reserved();
    let ids = rows.first(u32::try_from(limit).unwrap_or(1)).await?;
    let mut actions: Vec<_> = ids.iter().map(|id| rows.removal(id)).collect();
    if actions.is_empty() {
        actions.push(marker.removal(&shared.table));
    }
    ctx.commit_difference(actions).await.map(drop)
}
