//! Entities by the keys of their own rows. What of them is visible is decided in `visible.rs`.

use keyloom_model::{EntityKey, OwnRow};
use keyloom_store::yield_point;

use crate::fetch::{RawKey, read_own};
use crate::visible::{ATTEMPTS_MAX, ReadState};
use crate::{Error, Reader};

/// The entities of a table.
#[derive(Clone, Copy)]
pub(crate) struct Entities<'e> {
    pub(crate) reader: &'e Reader<'e>,
}

impl Entities<'_> {
    /// Returns an entity, if it exists and is visible.
    pub(crate) async fn get(&self, key: &EntityKey) -> Result<Option<OwnRow>, Error> {
        match self.get_any(key).await? {
            Some(row) => self.seen(row).await,
            None => Ok(None),
        }
    }

    /// Returns an entity, if it exists, visible or not.
    pub(crate) async fn get_any(&self, key: &EntityKey) -> Result<Option<OwnRow>, Error> {
        let layout = self.reader.layout;
        let row = self.reader.rows().get(&layout.own_key(key)).await?;
        row.map(|row| read_own(layout, row)).transpose()
    }

    /// Returns the entities that exist and are visible, one result for each key.
    pub(crate) async fn get_many(&self, keys: &[EntityKey]) -> Result<Vec<Option<OwnRow>>, Error> {
        let own_keys = keys.iter().map(|key| self.reader.layout.own_key(key));
        let fitting = own_keys.map(|key| key.fits().then(|| RawKey::from(&key)));
        let fitting: Vec<Option<RawKey>> = fitting.collect();
        let asked: Vec<RawKey> = fitting.iter().flatten().cloned().collect();
        let mut answers = self.seen_at(&asked).await?.into_iter();
        Ok(fitting.iter().map(|key| key.as_ref().and_then(|_| answers.next().flatten())).collect())
    }

    /// Returns what is visible of an entity whose own row was read. May read the row again.
    pub(crate) async fn seen(&self, row: OwnRow) -> Result<Option<OwnRow>, Error> {
        let (mut state, mut row) = (ReadState::default(), row);
        for _ in 0..ATTEMPTS_MAX {
            let key = row.image.key.clone();
            if let Some(seen) = state.settle(self.reader, vec![row]).await? {
                return Ok(seen.into_iter().next().flatten());
            }
            match self.get_any(&key).await? {
                Some(again) => row = again,
                None => return Ok(None),
            }
        }
        Err(Error::Unanswered { rows: 1 })
    }

    /// Returns what is visible of the entities whose own rows have these keys.
    async fn seen_at(&self, keys: &[RawKey]) -> Result<Vec<Option<OwnRow>>, Error> {
        let mut state = ReadState::default();
        for _ in 0..ATTEMPTS_MAX {
            let rows = self.own_rows(keys, &mut state).await?;
            let is_there: Vec<bool> = rows.iter().map(Option::is_some).collect();
            let rows = rows.into_iter().flatten().collect();
            let Some(seen) = state.settle(self.reader, rows).await? else { continue };
            let mut seen = seen.into_iter();
            let answer = |is_there| if is_there { seen.next().flatten() } else { None };
            return Ok(is_there.into_iter().map(answer).collect());
        }
        Err(Error::Unanswered { rows: keys.len() })
    }

    /// Reads the own rows with these keys, in their order.
    async fn own_rows(
        &self,
        keys: &[RawKey],
        state: &mut ReadState,
    ) -> Result<Vec<Option<OwnRow>>, Error> {
        let rows = self.reader.rows().get_many(keys, &mut state.cost).await?;
        let mut own_rows = Vec::with_capacity(rows.len());
        for row in rows {
            yield_point().await;
            own_rows.push(row.map(|row| read_own(self.reader.layout, row)).transpose()?);
        }
        Ok(own_rows)
    }
}
