//! Entities by their keys.

use keyloom_model::{EntityKey, OwnRow};

use crate::fetch::{RawKey, unreadable};
use crate::visible::{ATTEMPTS_MAX, Deletions};
use crate::{DeletionState, Error, ReadCost, Reader, deletion_key};

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
        match self.get_any(key).await? {
            Some(row) => self.seen(row).await,
            None => Ok(None),
        }
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
        let mut cost = ReadCost::default();
        let own_keys = keys.iter().map(|key| self.layout.own_key(key));
        let fitting = own_keys.map(|key| key.fits().then(|| RawKey::from(&key)));
        let fitting: Vec<Option<RawKey>> = fitting.collect();
        let asked: Vec<RawKey> = fitting.iter().flatten().cloned().collect();
        let mut answers = self.seen_at(&asked, &mut cost).await?.into_iter();
        Ok(fitting.iter().map(|key| key.as_ref().and_then(|_| answers.next().flatten())).collect())
    }

    /// What is seen of the entities whose own rows have these keys.
    async fn seen_at(
        &self,
        keys: &[RawKey],
        cost: &mut ReadCost,
    ) -> Result<Vec<Option<OwnRow>>, Error> {
        let mut deletions = Deletions::default();
        for _ in 0..ATTEMPTS_MAX {
            let rows = self.rows(keys, cost).await?;
            let rows = self.read_owns(rows).await?;
            let is_there: Vec<bool> = rows.iter().map(Option::is_some).collect();
            let rows = rows.into_iter().flatten().collect();
            let Some(seen) = self.settle(rows, &mut deletions, cost).await? else { continue };
            let mut seen = seen.into_iter();
            let answer = |is_there| if is_there { seen.next().flatten() } else { None };
            return Ok(is_there.into_iter().map(answer).collect());
        }
        Err(Error::Unanswered { rows: keys.len() })
    }
}
