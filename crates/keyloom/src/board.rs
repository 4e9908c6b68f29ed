//! Boards: what is ranked, from the start, around one, or one alone.

use std::sync::Arc;

use keyloom_model::{BoardId, EntityId};
use keyloom_query::{BoardRequest, Ranked, ReadCost, Reader};
use keyloom_value::Value;

use crate::answer::Answer;
use crate::db::{Db, unknown};
use crate::error::Error;
use crate::read::{Given, by_values};
use crate::schema::Schema;

/// How many are on a page if nothing is said.
const LIMIT: u32 = 10;

/// A question to a board, made by [`Db::board`].
#[derive(Clone, Debug)]
#[must_use]
pub struct BoardQuery {
    db: Db,
    board: String,
    by: Vec<(String, Value)>,
    limit: u32,
    after: Option<String>,
}

/// A page of a board.
#[derive(Clone, Debug)]
pub struct BoardPage {
    /// The greatest score first. Equal scores have equal ranks, and are in order of what has them.
    pub items: Vec<Ranked>,
    /// Where the next page begins; absent if nothing follows.
    pub next: Option<String>,
    /// What was read for it.
    pub read: ReadCost,
}

/// What a question is answered with: the store at one moment, if it holds one.
struct Prepared {
    /// At one moment.
    db: Db,
    schema: Arc<Schema>,
    request: BoardRequest,
}

impl Db {
    /// A question to a board: say more with its methods, then read it.
    pub fn board(&self, board: &str) -> BoardQuery {
        let board = board.to_owned();
        BoardQuery { db: self.clone(), board, by: vec![], limit: LIMIT, after: None }
    }
}

impl BoardQuery {
    /// The value of a field of the board's `by`.
    pub fn by(mut self, field: &str, value: impl Into<Value>) -> BoardQuery {
        self.by.push((field.to_owned(), value.into()));
        self
    }

    /// How many, at most; 10 if nothing is said. Around one, as many before it and after it.
    pub fn limit(mut self, limit: u32) -> BoardQuery {
        self.limit = limit;
        self
    }

    /// The page after this cursor, which a page before had as `next`.
    pub fn after(mut self, cursor: impl Into<String>) -> BoardQuery {
        self.after = Some(cursor.into());
        self
    }

    /// Reads a page, the greatest first. Entities that have expired are on it until
    /// [`Db::expire`] has put them away.
    ///
    /// # Errors
    ///
    /// If there is no such board, a value is missing or none of its field, the cursor is not one of
    /// this question, or the store fails.
    pub fn read(&self) -> Answer<'_, BoardPage> {
        Box::pin(async move {
            let prepared = self.prepare().await?;
            let (reader, cursor) = (prepared.reader(), self.after.as_deref());
            let page = reader.board(&prepared.request, &self.db.shared.cursor_key, cursor).await?;
            Ok(BoardPage { items: page.ranked, next: page.next, read: page.read })
        })
    }

    /// One on the board: a value that it ranks, or the id of an entity. None if it is not on it.
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

    /// One on the board, with those before and after it. None if it is not on it.
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

    async fn prepare(&self) -> Result<Prepared, Error> {
        let schema = self.db.schema_for(|schema| {
            let (entity, board) = self.find(schema)?;
            Ok(schema.is_board_ready(entity, board))
        });
        let what = || format!("The board `{}`", self.board);
        let schema = schema.await?.ok_or_else(|| Error::Building { what: what() })?;
        let request = self.request(&schema)?;
        // A rank is added up from several rows.
        Ok(Prepared { db: self.db.at_one_moment().await?, schema, request })
    }

    fn find(&self, schema: &Schema) -> Result<(EntityId, BoardId), Error> {
        schema.model().find_board(&self.board).ok_or_else(|| {
            let boards = schema.model().entities().flat_map(|(_, entity)| &entity.boards);
            let what = format!("The model has no board `{}`", self.board);
            unknown(what, &self.board, boards.map(|board| board.name.as_str()))
        })
    }

    fn request(&self, schema: &Schema) -> Result<BoardRequest, Error> {
        let (id, board) = self.find(schema)?;
        let entity = schema.model().entity(id);
        let given = Given { what: "board", name: &self.board, values: &self.by };
        Ok(BoardRequest {
            entity: id,
            board,
            tenant: self.db.tenant_of(schema, id)?,
            by: by_values(entity, &entity.board(board).by, &given)?,
            limit: self.limit,
        })
    }
}

impl Prepared {
    fn reader(&self) -> Reader<'_> {
        self.db.reader(&self.schema)
    }

    /// A value as the field that is ranked has it.
    fn taken(&self, of: Value) -> Value {
        let entity = self.schema.model().entity(self.request.entity);
        match entity.board(self.request.board).ranking {
            keyloom_model::Ranking::Count(field) => entity.field(field).of.to_stored(&of),
            keyloom_model::Ranking::Field(_) => of,
        }
    }
}
