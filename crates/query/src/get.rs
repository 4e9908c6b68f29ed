//! Entities by their keys.

use keyloom_model::{EntityKey, OwnRow};

use crate::fetch::{RawKey, unreadable};
use crate::visible::Seen;
use crate::{DeletionState, Effort, Error, Reader, deletion_key};

/// How often a row is read that others change all the time.
const ATTEMPTS_MAX: usize = 64;

impl Reader<'_> {
    /// How far a deletion has come; none if it is not there any more. One read.
    ///
    /// # Errors
    ///
    /// If the store fails, or the row is damaged.
    pub async fn deletion_state(&self, task: &str) -> Result<Option<DeletionState>, Error> {
        let Some(row) = self.row(&deletion_key(task)).await? else { return Ok(None) };
        DeletionState::read(&row).map(Some).map_err(|reason| unreadable(&row, reason))
    }

    /// An entity, if it is there and seen. One read, and another one if a deletion has marked it.
    ///
    /// # Errors
    ///
    /// If the store fails, or the row is damaged.
    pub async fn get(&self, key: &EntityKey) -> Result<Option<OwnRow>, Error> {
        let mut row = self.get_any(key).await?;
        for _ in 0..ATTEMPTS_MAX {
            let Some(read) = &row else { return Ok(None) };
            let is_visible = self.is_visible(read).await?;
            if read.deletion.is_none() {
                return Ok(row.filter(|_| is_visible));
            }
            // Whether a deletion has taken it was asked later than the row was read: an id that is
            // given anew meanwhile must not show what was there before.
            let again = self.get_any(key).await?;
            if again == row {
                return Ok(row.filter(|_| is_visible));
            }
            row = again;
        }
        Err(Error::Unanswered { rows: 1 })
    }

    /// An entity, if it is there, also one that is not seen any more. One read.
    ///
    /// # Errors
    ///
    /// If the store fails, or the row is damaged.
    pub async fn get_any(&self, key: &EntityKey) -> Result<Option<OwnRow>, Error> {
        let row = self.row(&self.layout.own_key(key)).await?;
        row.map(|row| self.read_own(row)).transpose()
    }

    /// The entities that are there and seen, in the order of their keys, one answer for each key.
    /// One read for every 100.
    ///
    /// # Errors
    ///
    /// If the store fails, or a row is damaged.
    pub async fn get_many(&self, keys: &[EntityKey]) -> Result<Vec<Option<OwnRow>>, Error> {
        let mut effort = Effort::default();
        let own_keys = keys.iter().map(|key| self.layout.own_key(key));
        let fitting = own_keys.map(|key| key.fits().then(|| RawKey::from(&key)));
        let fitting: Vec<Option<RawKey>> = fitting.collect();
        let asked: Vec<RawKey> = fitting.iter().flatten().cloned().collect();
        let rows = self.rows(&asked, &mut effort).await?;
        let rows = self.read_owns(rows).await?;

        let there = asked.iter().zip(&rows).filter_map(|(key, row)| Some((key, row.as_ref()?)));
        let seen = |(key, row)| {
            let OwnRow { image, deletion, .. }: &OwnRow = row;
            Seen { key, image, deletion: deletion.as_deref() }
        };
        let seen: Vec<Seen<'_>> = there.map(seen).collect();
        let mut visible = self.visible(&seen, &mut effort).await?.into_iter();
        let mut answers =
            rows.into_iter().map(|row| row.filter(|_| visible.next().is_some_and(|is| is)));
        Ok(fitting.iter().map(|key| key.as_ref().and_then(|_| answers.next().flatten())).collect())
    }
}
