//! Which entities are seen. The one place that says so.
//!
//! An entity is not seen once the time in its `expires` field has come, nor once a deletion that
//! has marked it is sweeping.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_model::{Image, OwnRow};
use keyloom_value::Value;

use crate::fetch::{RawKey, unreadable};
use crate::{DeletionState, Effort, Error, Reader, deletion_key};

/// A row that says of an entity what it is: its own, or the copy that stands with its parent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'r> {
    pub(crate) key: &'r RawKey,
    pub(crate) image: &'r Image,
    pub(crate) deletion: Option<&'r str>,
}

impl Reader<'_> {
    /// Whether an entity has expired by now.
    pub fn has_expired(&self, image: &Image) -> bool {
        let entity = self.layout.model().entity(image.key.entity);
        let time = entity.expires.and_then(|field| image.fields.get(&entity.field(field).name));
        let order = time.and_then(|time| time.compare(&Value::from(self.now_ms)));
        order.is_some_and(std::cmp::Ordering::is_le)
    }

    /// Whether an entity is seen.
    ///
    /// # Errors
    ///
    /// If the store cannot tell, or a row is damaged.
    pub async fn is_visible(&self, row: &OwnRow) -> Result<bool, Error> {
        if row.deletion.is_none() {
            return Ok(!self.has_expired(&row.image));
        }
        let key = RawKey::from(&self.layout.own_key(&row.image.key));
        let seen = Seen { key: &key, image: &row.image, deletion: row.deletion.as_deref() };
        let visible = self.visible(&[seen], &mut Effort::default()).await?;
        Ok(visible.first().is_some_and(|visible| *visible))
    }

    /// Which of the entities are seen. Reads only if some are marked by a deletion, and of each
    /// deletion once.
    pub(crate) async fn visible(
        &self,
        rows: &[Seen<'_>],
        effort: &mut Effort,
    ) -> Result<Vec<bool>, Error> {
        let lives = |row: &&Seen<'_>| !self.has_expired(row.image);
        let marked = rows.iter().filter(lives).filter_map(|row| Some((row.key, row.deletion?)));
        let marked: Vec<(&RawKey, &str)> = marked.collect();
        let swept = self.swept(&marked, effort).await?;
        Ok(rows.iter().map(|row| lives(&row) && !swept.contains(row.key)).collect())
    }

    async fn swept(
        &self,
        marked: &[(&RawKey, &str)],
        effort: &mut Effort,
    ) -> Result<BTreeSet<RawKey>, Error> {
        let tasks: BTreeSet<&str> = marked.iter().map(|(_, task)| *task).collect();
        let keys: Vec<RawKey> = tasks.iter().map(|task| (&deletion_key(task)).into()).collect();
        let rows = self.rows(&keys, effort).await?;
        let mut states = BTreeMap::new();
        for (task, row) in tasks.into_iter().zip(&rows) {
            let Some(row) = row else { continue };
            let state = DeletionState::read(row).map_err(|reason| unreadable(row, reason))?;
            states.insert(task, state);
        }
        let mut swept = BTreeSet::new();
        let mut in_doubt = Vec::new();
        for (key, task) in marked {
            match states.get(task) {
                Some(DeletionState::Sweeping) => drop(swept.insert((*key).clone())),
                Some(
                    DeletionState::Marking | DeletionState::Clearing | DeletionState::CalledOff,
                ) => {}
                None => in_doubt.push((*key).clone()),
            }
        }
        // A deletion's row goes last: if it is gone, the deletion was given up and the marked row
        // is still there, or it was done after the marked row was read.
        let again = self.rows(&in_doubt, effort).await?;
        let gone = in_doubt.into_iter().zip(again).filter(|(_, row)| row.is_none());
        swept.extend(gone.map(|(key, _)| key));
        Ok(swept)
    }
}
