//! A page of a list that was read, kept to be brought up to date from the images of changes. It reads nothing:
//! where only a read can tell what is on the page now, it says so.
//!
//! Of a page it is known which entities are within a part of the list, the one that was looked at. A change is
//! of two images of one entity, whose positions say what it does to the page:
//!
//! - who leaves the page makes room for one that may not be known: that takes a read, unless the whole list
//!   was looked at, or the entity has another position on the page;
//! - who enters it pushes out the last entity of a full page, because of which more follow from then on;
//! - what happens between a full page and the end of what was looked at decides whether more follow: that
//!   takes a read if somebody leaves.

use keyloom_model::{Image, Layout, OwnRow, Pending};
use keyloom_store::Direction;
use keyloom_value::Item;

use crate::entity_change::{EntityChange, Placed};
use crate::listed::Listed;
use crate::span::Span;
use crate::{Budget, End, ListRequest};

/// How many bytes of rows a page can have that is kept.
const BYTES_MAX: usize = 64 << 10;

/// A page of a list, in the order of reading.
#[derive(Clone, Debug)]
pub(crate) struct KeptPage {
    pub(crate) rows: Vec<KeptRow>,
    /// The list ends with the page, or the page is full and more follow.
    pub(crate) end: End,
    /// The positions that the page is read from.
    span: Span,
    /// Those of them that were not looked at.
    pub(crate) left: Span,
    direction: Direction,
    limit: usize,
}

/// An entity on a page.
#[derive(Clone, Debug)]
pub(crate) struct KeptRow {
    pub(crate) row: OwnRow,
    /// Its position, once it is known.
    position: Option<Vec<u8>>,
}

/// A page that was read.
pub(crate) struct ReadPage<'p> {
    pub(crate) rows: &'p [OwnRow],
    pub(crate) end: End,
    pub(crate) span: &'p Span,
    pub(crate) left: &'p Span,
    pub(crate) direction: Direction,
}

/// The page cannot be brought up to date without a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NeedsRead;

impl KeptPage {
    /// Keeps a page; none if it is too large, or if what its entities show can change without a change of
    /// them.
    pub(crate) fn of(
        layout: &Layout,
        request: &ListRequest,
        page: &ReadPage<'_>,
    ) -> Option<KeptPage> {
        let is_known = page.end != End::Budget && request.budget == Budget::STANDARD;
        let bytes: usize = page.rows.iter().map(|row| row.image.fields.size()).sum();
        let is_kept = |row: &OwnRow| {
            row.revision == layout.revision() && row.retired.is_empty() && is_lasting(layout, row)
        };
        if !is_known || bytes > BYTES_MAX || !page.rows.iter().all(is_kept) {
            return None;
        }
        let rows = page.rows.iter().map(|row| KeptRow { row: row.clone(), position: None });
        Some(KeptPage {
            rows: rows.collect(),
            end: page.end,
            span: page.span.clone(),
            left: page.left.clone(),
            direction: page.direction,
            limit: request.limit as usize,
        })
    }

    /// Whether it is the page that a read returns from these positions.
    pub(crate) fn is_from(&self, span: &Span, direction: Direction) -> bool {
        self.span == *span && self.direction == direction
    }

    /// Brings the page up to date with a change that is the next one of those that affect it.
    pub(crate) fn apply(
        &mut self,
        listed: &Listed<'_>,
        change: &EntityChange,
    ) -> Result<(), NeedsRead> {
        if !change.is_lasting {
            return Err(NeedsRead);
        }
        self.locate(listed)?;
        let position = |side: &Option<Placed>| self.position(listed, side.as_ref());
        let (old, new) = (position(&change.old)?, position(&change.new)?);
        let gone = match (&old, &change.old) {
            (Some(position), Some(side)) => Some(self.find(position, &side.image)?),
            _ => None,
        };
        let row = change.new.as_ref().map(|side| as_read(listed.layout, &side.image));
        match (gone, new.zip(row)) {
            (None, None) => Ok(()),
            (None, Some((position, row))) => self.enter(position, row),
            (Some(at), Some((position, row))) if self.is_at(at, &position) => {
                self.rows[at].row = row;
                Ok(())
            }
            (Some(at), Some((position, row))) => {
                self.rows.remove(at);
                self.enter_again(position, row)
            }
            (Some(at), None) if self.end == End::Exhausted => {
                self.rows.remove(at);
                Ok(())
            }
            (Some(_), None) => Err(NeedsRead),
        }
    }

    /// Finds the positions of the entities.
    fn locate(&mut self, listed: &Listed<'_>) -> Result<(), NeedsRead> {
        for kept in self.rows.iter_mut().filter(|kept| kept.position.is_none()) {
            let position = position_of_row(listed, &kept.row.image);
            kept.position = Some(position.ok_or(NeedsRead)?);
        }
        Ok(())
    }

    /// The position of an entity, if it is where the list was looked at.
    fn position(
        &self,
        listed: &Listed<'_>,
        side: Option<&Placed>,
    ) -> Result<Option<Vec<u8>>, NeedsRead> {
        let Some(side) = side.filter(|side| side.image.key.entity == listed.request.entity) else {
            return Ok(None);
        };
        let own = side.own().ok_or(NeedsRead)?;
        let position = position_of(listed, &side.image, own);
        Ok(position.filter(|at| self.span.has(at) && !self.left.has(at)))
    }

    /// Where an entity is that is to go. One that is not on the page was looked at beyond it.
    fn find(&self, position: &[u8], image: &Image) -> Result<usize, NeedsRead> {
        let at = self.place(position).map_err(|_| NeedsRead)?;
        let is_same = self.rows[at].row.image.version == image.version;
        if is_same { Ok(at) } else { Err(NeedsRead) }
    }

    /// The place of a position on the page, or where it would be.
    fn place(&self, position: &[u8]) -> Result<usize, usize> {
        self.rows.binary_search_by(|kept| {
            let other = kept.position.as_deref().unwrap_or_default();
            match self.direction {
                Direction::Forward => other.cmp(position),
                Direction::Backward => position.cmp(other),
            }
        })
    }

    fn enter(&mut self, position: Vec<u8>, row: OwnRow) -> Result<(), NeedsRead> {
        let Err(at) = self.place(&position) else { return Err(NeedsRead) };
        if at == self.rows.len() && self.end == End::Limit {
            // Beyond the page, of which it was known before that more follow.
            return Ok(());
        }
        self.rows.insert(at, KeptRow { row, position: Some(position) });
        if self.rows.len() <= self.limit {
            return Ok(());
        }
        let follower = self.rows.pop().and_then(|kept| kept.position).ok_or(NeedsRead)?;
        self.end = End::Limit;
        self.left = self.span.clone().after(&follower, self.direction);
        Ok(())
    }

    /// Puts an entity to another place on the page, from which it was just removed.
    fn enter_again(&mut self, position: Vec<u8>, row: OwnRow) -> Result<(), NeedsRead> {
        let Err(at) = self.place(&position) else { return Err(NeedsRead) };
        if at == self.rows.len() && self.end == End::Limit {
            // Behind the last entity that is known: one that is not can come first.
            return Err(NeedsRead);
        }
        self.rows.insert(at, KeptRow { row, position: Some(position) });
        Ok(())
    }

    fn is_at(&self, at: usize, position: &[u8]) -> bool {
        self.rows[at].position.as_deref() == Some(position)
    }

    /// The position of the last entity on the page.
    pub(crate) fn last(&self, listed: &Listed<'_>) -> Option<Vec<u8>> {
        let KeptRow { row, position } = self.rows.last()?;
        position.clone().or_else(|| position_of_row(listed, &row.image))
    }
}

/// Whether an entity shows the same as long as it does not change: it does not expire, and no deletion is
/// about to take anything from it.
pub fn is_lasting(layout: &Layout, row: &OwnRow) -> bool {
    row.deletion.is_none() && row.pending.is_empty() && layout.expiry().time(row).is_none()
}

fn position_of_row(listed: &Listed<'_>, image: &Image) -> Option<Vec<u8>> {
    let rows = listed.layout.rows(image).ok()?;
    position_of(listed, image, &rows.first()?.item)
}

/// A request that was answered is valid.
fn position_of(listed: &Listed<'_>, image: &Image, own: &Item) -> Option<Vec<u8>> {
    listed.position(image, own).ok()?
}

/// An entity as it is read that is in terms of the current model.
fn as_read(layout: &Layout, image: &Image) -> OwnRow {
    OwnRow {
        image: image.clone(),
        revision: layout.revision(),
        deletion: None,
        pending: Pending::NONE,
        retired: Item::default(),
    }
}
