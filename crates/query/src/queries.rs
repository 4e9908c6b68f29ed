//! All queries, one method for each kind. A method delegates to the type that runs its query, in the
//! file of that name; nothing is read or decided here.

use std::collections::BTreeMap;

use keyloom_model::{EntityId, EntityKey, Image, OwnRow, RowKey};
use keyloom_value::{Item, Value};

use crate::board::BoardQuery;
use crate::chunks::ChunkView;
use crate::count::CountQuery;
use crate::deletion::deletion_state;
use crate::dependency::Dependency;
use crate::expired::Expired;
use crate::explain::explain;
use crate::family::ChildrenQuery;
use crate::fetch::RawKey;
use crate::find::UniqueQuery;
use crate::get::Entities;
use crate::links::Links;
use crate::list::ListQuery;
use crate::listed::Listed;
use crate::ordinal::Ordinals;
use crate::reader::Reader;
use crate::total::TotalQuery;
use crate::values::ValuesQuery;
use crate::visible::has_expired;
use crate::{
    BoardPage, BoardRequest, ChildrenPage, CountPage, CountRequest, Counted, CursorKey,
    DeletionState, Error, ExpiredPage, Explanation, Family, FamilyRequest, LinksPage,
    LinksPosition, ListPage, ListRequest, Ran, Ranked, ReadCost, Resume, Total, UniqueRequest,
    ValuePage,
};

impl Reader<'_> {
    /// Returns an entity, if it exists and is visible. One read, and another one if a deletion has
    /// marked it.
    ///
    /// # Errors
    ///
    /// If the store fails, or the row is damaged.
    pub async fn get(&self, key: &EntityKey) -> Result<Option<OwnRow>, Error> {
        self.note(|| Dependency::Entity(key.clone()));
        Entities { reader: self }.get(key).await
    }

    /// Returns an entity, if it exists, visible or not. One read.
    ///
    /// # Errors
    ///
    /// If the store fails, or the row is damaged.
    pub async fn get_any(&self, key: &EntityKey) -> Result<Option<OwnRow>, Error> {
        Entities { reader: self }.get_any(key).await
    }

    /// Returns the entities that exist and are visible, in the order of their keys, one result for
    /// each key. One read for every 100.
    ///
    /// # Errors
    ///
    /// If the store fails, or a row is damaged.
    pub async fn get_many(&self, keys: &[EntityKey]) -> Result<Vec<Option<OwnRow>>, Error> {
        keys.iter().for_each(|key| self.note(|| Dependency::Entity(key.clone())));
        Entities { reader: self }.get_many(keys).await
    }

    /// Returns what is visible of an entity whose own row was read; none if it is invisible. May read
    /// the row again.
    ///
    /// # Errors
    ///
    /// If the store fails, or a row is damaged.
    pub async fn seen(&self, row: OwnRow) -> Result<Option<OwnRow>, Error> {
        Entities { reader: self }.seen(row).await
    }

    /// Whether an entity has expired.
    pub fn has_expired(&self, row: &OwnRow) -> bool {
        has_expired(self, row)
    }

    /// Whether a list request selects an entity that was read, whose fields are those of the current
    /// model. Reads nothing.
    ///
    /// # Errors
    ///
    /// If the request is invalid.
    pub fn is_listed(&self, request: &ListRequest, image: &Image) -> Result<bool, Error> {
        Listed { layout: self.layout, request }.has(image)
    }

    /// Returns the entity that has these values of a unique, if it exists and is visible. Two reads.
    ///
    /// # Errors
    ///
    /// If the values do not fit the fields, the store fails, or a row is damaged.
    pub async fn find(&self, request: &UniqueRequest) -> Result<Option<OwnRow>, Error> {
        self.note(|| Dependency::Unique(request.clone()));
        let found = UniqueQuery::new(self, request)?.find().await?;
        found.iter().for_each(|row| self.note(|| Dependency::Entity(row.image.key.clone())));
        Ok(found)
    }

    /// Returns the entities that have an ordinal, visible or not: one or none; more only by damage.
    ///
    /// # Errors
    ///
    /// If the store fails, or a row is damaged.
    pub async fn numbered(
        &self,
        entity: EntityId,
        tenant: Option<&Value>,
        ordinal: u64,
    ) -> Result<Vec<OwnRow>, Error> {
        Ordinals { reader: self, entity, tenant }.entities(ordinal).await
    }

    /// Returns the entities that have these ascending ordinals, visible or not, by ordinal: of several
    /// with the same one, by damage, the one with the least id.
    ///
    /// # Errors
    ///
    /// If the store fails, or a row is damaged.
    pub async fn numbered_all(
        &self,
        entity: EntityId,
        tenant: Option<&Value>,
        ordinals: &[u64],
    ) -> Result<BTreeMap<u64, OwnRow>, Error> {
        Ordinals { reader: self, entity, tenant }.entities_with(ordinals).await
    }

    /// Returns rows by their keys, in that order, whatever they are. One read for every 100.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn rows_at(&self, keys: &[RowKey]) -> Result<Vec<Option<Item>>, Error> {
        let keys: Vec<RawKey> = keys.iter().map(RawKey::from).collect();
        self.rows().get_many(&keys, &mut ReadCost::default()).await
    }

    /// Whether ordinals are in posting lists that are kept as chunks, all as of one moment: one result
    /// for each list and ordinal. Two reads, and one for every 100 chunks.
    ///
    /// # Errors
    ///
    /// If the store fails, or a row is damaged.
    pub async fn are_members(
        &self,
        entity: EntityId,
        tenant: Option<&Value>,
        memberships: &[(Vec<u8>, u64)],
    ) -> Result<Vec<bool>, Error> {
        ChunkView::new(entity, tenant).are_members(self, memberships).await
    }

    /// Returns entities of a kind that have expired and still exist: those that expired first come
    /// first, at most `limit`, after a position that came with the ones before. One read. An index can
    /// lag: check each again before deleting it.
    ///
    /// # Errors
    ///
    /// If the store fails, or a row is damaged.
    pub async fn expired(
        &self,
        entity: EntityId,
        after: Option<&[u8]>,
        limit: u32,
    ) -> Result<ExpiredPage, Error> {
        Expired { reader: self, entity }.page(after, limit).await
    }

    /// Returns the references to an entity, of visible entities or not; after the row `after`, if it is
    /// given. At most `limit`, and at least one if there is one. One read.
    ///
    /// # Errors
    ///
    /// If the store fails, or a row is damaged.
    pub async fn links(
        &self,
        target: &EntityKey,
        after: Option<&LinksPosition>,
        limit: u32,
    ) -> Result<LinksPage, Error> {
        Links { reader: self, target }.page(after, limit).await
    }

    /// Returns the state of a deletion; none if it has no record any more. One read.
    ///
    /// # Errors
    ///
    /// If the store fails, or the row is damaged.
    pub async fn deletion_state(&self, deletion: &str) -> Result<Option<DeletionState>, Error> {
        deletion_state(self.rows(), deletion).await
    }

    /// Returns a page of a list: the first one, or the one that a cursor of the same query leads to. An
    /// entity that is in the list throughout is on exactly one page of a walk, whatever is written in
    /// between.
    ///
    /// # Errors
    ///
    /// If the request is invalid, the cursor is of another query, the store fails, or a row is
    /// damaged.
    pub async fn list(
        &self,
        request: &ListRequest,
        cursors: &CursorKey,
        cursor: Option<&str>,
    ) -> Result<ListPage, Error> {
        Ok(self.list_recorded(request, cursors, cursor).await?.0)
    }

    /// As [`Reader::list`], with a record of what ran for it, for [`Reader::explain`].
    ///
    /// # Errors
    ///
    /// As [`Reader::list`].
    pub async fn list_recorded(
        &self,
        request: &ListRequest,
        cursors: &CursorKey,
        cursor: Option<&str>,
    ) -> Result<(ListPage, Ran), Error> {
        ListQuery { reader: self, request }.read(cursors, cursor).await
    }

    /// Explains how a page of a list was found, from the record of what ran.
    ///
    /// # Errors
    ///
    /// As [`Reader::list`].
    pub async fn explain(&self, request: &ListRequest, ran: &Ran) -> Result<Explanation, Error> {
        explain(self, request, ran).await
    }

    /// Returns how many entities of a list pass a filter. Expired entities count until they are
    /// removed.
    ///
    /// # Errors
    ///
    /// If the kind of entity has no tags and no facets, or a range is given; and as
    /// [`Reader::list`].
    pub async fn total(&self, request: &ListRequest) -> Result<Total, Error> {
        self.note(|| Dependency::Total(request.clone()));
        TotalQuery { reader: self, request }.count().await
    }

    /// Returns how many entities of a list that pass a filter have each value, at most
    /// `request.limit` values. Expired entities count until they are removed.
    ///
    /// # Errors
    ///
    /// If there is no such facet or no tags, a range is given, the cursor is of another query, the
    /// store fails, or a row is damaged.
    pub async fn count_values(
        &self,
        request: &ListRequest,
        counted: &Counted,
        resume: Resume<'_>,
    ) -> Result<ValuePage, Error> {
        self.note(|| Dependency::Values(request.clone()));
        ValuesQuery { reader: self, request, counted }.read(resume).await
    }

    /// Returns a parent with its first children, if it exists and is visible. One read if children of
    /// all kinds are requested, or of the only kind that there is; otherwise two. A page has at most
    /// 1 MiB of rows: it can have fewer children than requested.
    ///
    /// # Errors
    ///
    /// If the request is invalid, the store fails, or a row is damaged.
    pub async fn family(
        &self,
        request: &FamilyRequest,
        cursors: &CursorKey,
    ) -> Result<Option<Family>, Error> {
        self.note_family(request);
        ChildrenQuery::new(self, request)?.with_parent(cursors).await
    }

    /// Returns more children of a parent, after a cursor that came with the ones before, or the first
    /// ones; none if the parent does not exist or is invisible. Two reads.
    ///
    /// # Errors
    ///
    /// If the request is invalid, the cursor is of another query, the store fails, or a row is
    /// damaged.
    pub async fn children(
        &self,
        request: &FamilyRequest,
        cursors: &CursorKey,
        cursor: Option<&str>,
    ) -> Result<Option<ChildrenPage>, Error> {
        self.note_family(request);
        ChildrenQuery::new(self, request)?.page(cursors, cursor).await
    }

    /// Returns the first children of a parent that was just read and is visible. One read.
    ///
    /// # Errors
    ///
    /// As [`Reader::children`].
    pub async fn first_children(
        &self,
        request: &FamilyRequest,
        cursors: &CursorKey,
    ) -> Result<ChildrenPage, Error> {
        self.note(|| Dependency::Children(request.clone()));
        ChildrenQuery::new(self, request)?.first_page(cursors).await
    }

    /// Returns numbers of a count. Expired entities count until they are removed.
    ///
    /// # Errors
    ///
    /// If the request is invalid, the cursor is of another query, the store fails, or a row is
    /// damaged.
    pub async fn count(
        &self,
        request: &CountRequest,
        cursors: &CursorKey,
        cursor: Option<&str>,
    ) -> Result<CountPage, Error> {
        self.note(|| Dependency::Count(request.clone()));
        CountQuery::new(self, request)?.read(cursors, cursor).await
    }

    /// Returns a page of a leaderboard: the first one, or that after a cursor.
    ///
    /// # Errors
    ///
    /// If the request is invalid, the cursor is of another query, the store fails, or a row is
    /// damaged.
    pub async fn board(
        &self,
        request: &BoardRequest,
        cursors: &CursorKey,
        cursor: Option<&str>,
    ) -> Result<BoardPage, Error> {
        self.note(|| Dependency::Board(request.clone()));
        BoardQuery { reader: self, request }.page(cursors, cursor).await
    }

    /// Returns one entry of a leaderboard: that of a value, or of an entity by its id. None if it is
    /// not on the board.
    ///
    /// # Errors
    ///
    /// As [`Reader::board`].
    pub async fn ranked(
        &self,
        request: &BoardRequest,
        of: &Value,
    ) -> Result<Option<Ranked>, Error> {
        self.note(|| Dependency::Board(request.clone()));
        BoardQuery { reader: self, request }.one(of).await
    }

    /// Returns one entry of a leaderboard with those before and after it. None if it is not on the
    /// board.
    ///
    /// # Errors
    ///
    /// As [`Reader::board`].
    pub async fn around(
        &self,
        request: &BoardRequest,
        of: &Value,
    ) -> Result<Option<Vec<Ranked>>, Error> {
        self.note(|| Dependency::Board(request.clone()));
        BoardQuery { reader: self, request }.around(of).await
    }

    fn note_family(&self, request: &FamilyRequest) {
        self.note(|| Dependency::Entity(request.parent.clone()));
        self.note(|| Dependency::Children(request.clone()));
    }
}
