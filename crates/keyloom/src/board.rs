//! Leaderboards: a page from the top, one item, or the items around it.

use std::sync::Arc;

use keyloom_model::{Board, BoardId, EntityId};
use keyloom_query::{BoardRequest, Ranked, ReadCost, Reader};
use keyloom_value::Value;

use crate::access::Queried;
use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;
use crate::read::{Given, by_values};
use crate::schema::Schema;
use crate::tree::{Fields, Tree, TreeQuery};
use crate::unknown::unknown;

/// The default limit of a page.
const LIMIT: u32 = 10;

/// A query of a leaderboard, made by [`Db::board`].
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::Db;
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// let model = r#"
///     [entity.player]
///     fields.name  = "text"
///     fields.score = "int"
///     board.best = { rank = "score" }
/// "#;
/// let db = Db::open(model, store).await?;
/// for (name, score) in [("ann", 7), ("bo", 9), ("cy", 3)] {
///     db.create("player", &json!({ "name": name, "score": score })).await?;
/// }
/// let top = db.board("best").limit(2).read().await?;
/// let scores: Vec<String> = top.items.iter().map(|entry| entry.score.to_string()).collect();
/// assert_eq!(scores, ["9", "7"]);
/// assert!(top.next.is_some());
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct BoardQuery {
    db: Db,
    board: String,
    by: Vec<(String, Value)>,
    limit: u32,
    after: Option<String>,
}

/// A page of a leaderboard.
///
/// [`BoardQuery`] has an example.
#[derive(Clone, Debug)]
pub struct BoardPage {
    /// The greatest score first. Equal scores have equal ranks, and are ordered by what has them.
    pub items: Vec<Ranked>,
    /// The cursor of the next page; absent on the last page.
    pub next: Option<String>,
    /// Whether scores of the board have changed since its places were settled; they follow in seconds.
    /// Only on a board with `shards`.
    pub is_settling: bool,
    /// What was read for it.
    pub read: ReadCost,
}

/// A query that is ready to run, on a snapshot if the store has them.
struct Prepared {
    /// As of one moment.
    db: Db,
    schema: Arc<Schema>,
    request: BoardRequest,
}

impl Db {
    /// Starts a query of a leaderboard: refine it with its methods, then read it.
    ///
    /// [`BoardQuery`] has an example.
    pub fn board(&self, board: &str) -> BoardQuery {
        let board = board.to_owned();
        BoardQuery { db: self.clone(), board, by: vec![], limit: LIMIT, after: None }
    }
}

impl BoardQuery {
    /// Sets the value of a `by` field of the board.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # pollster::block_on(async {
    /// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    /// let model = r#"
    ///     [entity.player]
    ///     fields.country = "text"
    ///     fields.score   = "int"
    ///     board.best = { rank = "score", by = "country" }
    /// "#;
    /// let db = Db::open(model, store).await?;
    /// for (country, score) in [("fr", 7), ("de", 9)] {
    ///     db.create("player", &json!({ "country": country, "score": score })).await?;
    /// }
    /// let french = db.board("best").by("country", "fr").read().await?;
    /// assert_eq!(french.items.len(), 1);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    pub fn by(mut self, field: &str, value: impl Into<Value>) -> BoardQuery {
        self.by.push((field.to_owned(), value.into()));
        self
    }

    /// The maximum number of items [default: 10]; around an item, before it and after it each.
    pub fn limit(mut self, limit: u32) -> BoardQuery {
        self.limit = limit;
        self
    }

    /// The next page, by the `next` of a page.
    pub fn after(mut self, cursor: impl Into<String>) -> BoardQuery {
        self.after = Some(cursor.into());
        self
    }

    /// Reads a page, the greatest score first. Expired entities are included until [`Db::expire`] has
    /// deleted them.
    ///
    /// # Errors
    ///
    /// If the board does not exist, a value is missing or not one of its field, the cursor belongs to
    /// another query, or the store fails.
    pub fn read(&self) -> Answer<'_, BoardPage> {
        Box::pin(async move {
            let prepared = self.prepare().await?;
            let (reader, cursor) = (prepared.reader(), self.after.as_deref());
            let page = reader.board(&prepared.request, &self.db.cursors(), cursor).await?;
            let keyloom_query::BoardPage { ranked: items, next, is_settling, read } = page;
            Ok(BoardPage { items, next, is_settling, read })
        })
    }

    /// Returns one item: a ranked value, or the id of an entity; none if it is not on the board.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.player]\nid = \"given\"\nfields.score = \"int\"\n\
    /// #     board.best = { rank = \"score\" }";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// for (id, score) in [("ann", 7), ("bo", 9)] {
    ///     db.create("player", &json!({ "id": id, "score": score })).await?;
    /// }
    /// let ann = db.board("best").rank("ann").await?;
    /// assert_eq!(ann.map(|entry| entry.rank), Some(2));
    /// assert_eq!(db.board("best").rank("cy").await?, None);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// As [`BoardQuery::read`].
    pub async fn rank(&self, of: impl Into<Value>) -> Result<Option<Ranked>, Error> {
        self.rank_of(of.into()).await
    }

    fn rank_of(&self, of: Value) -> Answer<'_, Option<Ranked>> {
        Box::pin(async move {
            let prepared = self.prepare().await?;
            let of = prepared.taken(of);
            Ok(prepared.reader().ranked(&prepared.request, &of).await?)
        })
    }

    /// Returns an item with those before and after it; none if it is not on the board.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Value};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.player]\nid = \"given\"\nfields.score = \"int\"\n\
    /// #     board.best = { rank = \"score\" }";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// for (id, score) in [("ann", 7), ("bo", 9), ("cy", 3), ("dee", 12)] {
    ///     db.create("player", &json!({ "id": id, "score": score })).await?;
    /// }
    /// let near = db.board("best").limit(1).around("ann").await?.expect("she is on the board");
    /// let players: Vec<Value> = near.into_iter().map(|entry| entry.of).collect();
    /// assert_eq!(players, ["bo", "ann", "cy"].map(Value::from));
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// As [`BoardQuery::read`].
    pub async fn around(&self, of: impl Into<Value>) -> Result<Option<Vec<Ranked>>, Error> {
        self.around_of(of.into()).await
    }

    fn around_of(&self, of: Value) -> Answer<'_, Option<Vec<Ranked>>> {
        Box::pin(async move {
            let prepared = self.prepare().await?;
            let of = prepared.taken(of);
            Ok(prepared.reader().around(&prepared.request, &of).await?)
        })
    }

    /// Returns the entity of each entry that was read before, with the related entities that `with` names
    /// ([`Db::tree`]); none if it is not visible. All of them are one batch of reads. An entry is of an entity
    /// if the board ranks entities, or the values of a reference.
    ///
    /// Entries and entities are of one moment if the query is of a database [at one
    /// moment](Db::at_one_moment).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Value};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.player]\nid = \"given\"\nfields.score = \"int\"\n\
    /// #     board.best = { rank = \"score\" }";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// db.create("player", &json!({ "id": "ann", "score": 7 })).await?;
    /// let board = db.board("best");
    /// let page = board.read().await?;
    /// for (entry, player) in page.items.iter().zip(board.entities(&page.items, "").await?) {
    ///     let player = player.expect("it is visible");
    ///     assert_eq!(entry.of, Value::from(player.record.id()));
    /// }
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// If the board ranks other values; as [`BoardQuery::read`] and [`Db::tree`].
    pub fn entities<'a>(
        &'a self,
        entries: &'a [Ranked],
        with: &'a str,
    ) -> Answer<'a, Vec<Option<Tree>>> {
        Box::pin(async move {
            let schema = self.db.shared.schema();
            let entity = self.ranked_entity(&schema)?;
            let ids = entries.iter().filter_map(|entry| entry.of.as_s());
            let ids: Vec<String> = ids.map(str::to_owned).collect();
            TreeQuery { db: &self.db, entity, with, limit: None }.of_ids(&ids).await
        })
    }

    /// The fields to show of the entities of entries, as [`Db::fields`].
    ///
    /// # Errors
    ///
    /// As [`BoardQuery::entities`] and [`Db::fields`].
    pub fn fields(&self, with: &str, fields: &str) -> Result<Fields, Error> {
        let schema = self.db.shared.schema();
        self.db.fields(self.ranked_entity(&schema)?, with, fields)
    }

    /// The name of the entities that are ranked.
    fn ranked_entity<'s>(&self, schema: &'s Schema) -> Result<&'s str, Error> {
        let (id, board) = self.find(schema)?;
        let ranked = schema.model().ranked(id, board).ok_or_else(|| Error::Unknown {
            what: format!("The board `{}` ranks values that are not entities", self.board),
            help: Some("read it without `with`".to_owned()),
        })?;
        Ok(&schema.model().entity(ranked).name)
    }

    async fn prepare(&self) -> Result<Prepared, Error> {
        let schema = self.db.schema_for(|schema| {
            let (entity, board) = self.find(schema)?;
            Ok(schema.is_board_ready(entity, board))
        });
        let what = || format!("The board `{}`", self.board);
        let schema = schema.await?.ok_or_else(|| Error::Building { what: what() })?;
        let request = self.request(&schema).await?;
        // A rank is the sum of several rows.
        Ok(Prepared { db: self.db.at_one_moment().await?, schema, request })
    }

    fn find(&self, schema: &Schema) -> Result<(EntityId, BoardId), Error> {
        schema.model().find_board(&self.board).ok_or_else(|| {
            let boards = schema.model().entities().flat_map(|(_, entity)| &entity.boards);
            let what = format!("The model has no board `{}`", self.board);
            unknown(what, &self.board, boards.map(|board| board.name.as_str()))
        })
    }

    /// The request of the part of the board that the user may read.
    async fn request(&self, schema: &Schema) -> Result<BoardRequest, Error> {
        let (id, board) = self.find(schema)?;
        let entity = schema.model().entity(id);
        let Board { by, readers, .. } = entity.board(board);
        let (what, name) = ("board", self.board.as_str());
        let queried = Queried { what, name, entity: id, readers, by, given: &self.by };
        let limited = self.db.limited(schema, queried).await?;
        // The model's check rules it out: a board that owners may read is by the owner.
        if limited.owner.is_some() {
            let what = format!("the access rules do not let this user read the board `{name}`");
            return Err(Error::Forbidden { what });
        }
        let given = Given { what, name, values: &limited.by };
        Ok(BoardRequest {
            entity: id,
            board,
            tenant: self.db.scope(schema).tenant_of(id)?,
            by: by_values(entity, by, &given)?,
            limit: self.limit,
        })
    }
}

impl Prepared {
    fn reader(&self) -> Reader<'_> {
        self.db.reader(&self.schema)
    }

    /// Converts a value to the type of the ranked field.
    fn taken(&self, of: Value) -> Value {
        let entity = self.schema.model().entity(self.request.entity);
        match entity.board(self.request.board).ranking {
            keyloom_model::Ranking::Count(field) => entity.field(field).of.to_stored(&of),
            keyloom_model::Ranking::Field(_) => of,
        }
    }
}
