//! Entities by their keys.

use keyloom_model::{EntityKey, OwnRow};

use crate::fetch::{RawKey, unreadable};
use crate::visible::{ATTEMPTS_MAX, ReadState};
use crate::{DeletionState, Error, Reader, deletion_key};

impl Reader<'_> {
    /// Returns the state of a deletion; none if it has no record any more. One read.
    ///
    /// # Errors
    ///
    /// If the store fails, or the row is damaged.
    pub async fn deletion_state(&self, task: &str) -> Result<Option<DeletionState>, Error> {
        let Some(row) = self.row(&deletion_key(task)).await? else { return Ok(None) };
        DeletionState::read(&row).map(Some).map_err(|reason| unreadable(&row, reason))
    }

    /// Returns an entity, if it exists and is visible. One read, and another one if a deletion has
    /// marked it.
    ///
    /// # Errors
    ///
    /// If the store fails, or the row is damaged.
    pub async fn get(&self, key: &EntityKey) -> Result<Option<OwnRow>, Error> {
        match self.get_any(key).await? {
            Some(row) => self.seen(row).await,
            None => Ok(None),
        }
    }

    /// Returns an entity, if it exists, visible or not. One read.
    ///
    /// # Errors
    ///
    /// If the store fails, or the row is damaged.
    pub async fn get_any(&self, key: &EntityKey) -> Result<Option<OwnRow>, Error> {
        let row = self.row(&self.layout.own_key(key)).await?;
        row.map(|row| self.read_own(row)).transpose()
    }

    /// Returns the entities that exist and are visible, in the order of their keys, one result for
    /// each key. One read for every 100.
    ///
    /// # Errors
    ///
    /// If the store fails, or a row is damaged.
    pub async fn get_many(&self, keys: &[EntityKey]) -> Result<Vec<Option<OwnRow>>, Error> {
        let own_keys = keys.iter().map(|key| self.layout.own_key(key));
        let fitting = own_keys.map(|key| key.fits().then(|| RawKey::from(&key)));
        let fitting: Vec<Option<RawKey>> = fitting.collect();
        let asked: Vec<RawKey> = fitting.iter().flatten().cloned().collect();
        let mut answers = self.seen_at(&asked).await?.into_iter();
        Ok(fitting.iter().map(|key| key.as_ref().and_then(|_| answers.next().flatten())).collect())
    }

    /// Returns what is visible of the entities whose own rows have these keys.
    async fn seen_at(&self, keys: &[RawKey]) -> Result<Vec<Option<OwnRow>>, Error> {
        let mut state = ReadState::default();
        for _ in 0..ATTEMPTS_MAX {
            let rows = self.rows(keys, &mut state.cost).await?;
            let rows = self.read_owns(rows).await?;
            let is_there: Vec<bool> = rows.iter().map(Option::is_some).collect();
            let rows = rows.into_iter().flatten().collect();
            let Some(seen) = state.settle(self, rows).await? else { continue };
            let mut seen = seen.into_iter();
            let answer = |is_there| if is_there { seen.next().flatten() } else { None };
            return Ok(is_there.into_iter().map(answer).collect());
        }
        Err(Error::Unanswered { rows: keys.len() })
    }
}
