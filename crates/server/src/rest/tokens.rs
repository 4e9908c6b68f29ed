//! The tokens of a store: a table of their own, which nobody reads but this.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keyloom::{Clock, Entropy, Error, Item};
use keyloom_store::{
    Delete, Error as StoreError, Get, KeySchema, KeyType, OnFailure, Put, Scan, Store, TableName,
    TableSpec, Time,
};
use keyloom_value::Condition;

use super::token::{ID, Token, TokenRequest, is_id, parts};

const TABLE: &str = "keyloom.tokens";

/// The tokens with which clients are let in.
///
/// As long as there is none, everybody is: a server without tokens serves its own machine alone.
/// The first token closes the door at once, and revoking the last one does not open it again.
pub struct Tokens {
    store: Arc<dyn Store>,
    table: TableName,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    is_open: AtomicBool,
}

impl Tokens {
    /// The tokens of a store; its table is made if there is none.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn open(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Tokens, Error> {
        let table = TableName::new(TABLE).map_err(StoreError::from)?;
        let spec = TableSpec::new(table.clone(), KeySchema::partition(ID, KeyType::S));
        match store.create_table(spec).await {
            Ok(_) | Err(StoreError::TableExists { .. }) => {}
            // A directory that cannot be written may have the table all the same; if not, there are no
            // tokens.
            Err(StoreError::WritesRefused(_)) => {}
            Err(error) => drop(store.describe_table(table.clone()).await.map_err(|_| error)?),
        }
        let tokens = Tokens { store, table, clock, entropy, is_open: AtomicBool::new(false) };
        // A token that cannot be read lets nobody in, but somebody made it.
        let is_open = tokens.rows().await?.is_empty();
        tokens.is_open.store(is_open, Ordering::SeqCst);
        Ok(tokens)
    }

    /// Looks again whether there are tokens: another process may have made the first one.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn reload(&self) -> Result<(), Error> {
        // Never opens the door: what was revoked last leaves it closed, too.
        if !self.rows().await?.is_empty() {
            self.is_open.store(false, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Whether anybody is let in.
    pub fn is_open(&self) -> bool {
        self.is_open.load(Ordering::SeqCst)
    }

    /// Makes a token. The text is the one time that its secret is shown.
    ///
    /// # Errors
    ///
    /// If the store fails, or the system has no random bytes.
    pub async fn create(&self, request: TokenRequest) -> Result<(Token, String), Error> {
        let made = Token::make(request, self.clock.now(), &*self.entropy);
        let (token, text) = made.map_err(|error| Error::Entropy { reason: error.to_string() })?;
        self.store.put(Put::new(&self.table, token.to_item())).await?;
        self.is_open.store(false, Ordering::SeqCst);
        Ok((token, text))
    }

    /// Writes a token unless there is one with its id, in which case that one is returned.
    pub(super) async fn insert(&self, token: &Token) -> Result<Option<Item>, Error> {
        let mut put = Put::new(&self.table, token.to_item());
        put.condition = Some(Condition::missing(ID));
        put.on_failure = OnFailure::ReturnItem;
        match self.store.put(put).await {
            Ok(_) => {
                self.is_open.store(false, Ordering::SeqCst);
                Ok(None)
            }
            Err(StoreError::ConditionFailed { item }) => {
                Ok(Some(item.map_or_else(Item::new, |item| *item)))
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    /// All tokens, the oldest first.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn list(&self) -> Result<Vec<Token>, Error> {
        let rows = self.rows().await?;
        let mut tokens: Vec<Token> = rows.iter().filter_map(Token::from_item).collect();
        tokens.sort_by(|left, right| (left.created, &left.id).cmp(&(right.created, &right.id)));
        Ok(tokens)
    }

    async fn rows(&self) -> Result<Vec<Item>, Error> {
        let mut scan = Scan::new(&self.table);
        let mut rows = vec![];
        loop {
            let page = match self.store.scan(scan.clone()).await {
                Err(StoreError::TableNotFound { .. }) => return Ok(rows),
                page => page?,
            };
            rows.extend(page.items);
            match page.last_key {
                None => return Ok(rows),
                start => scan.start = start,
            }
        }
    }

    /// Makes a token worthless. False if there is none with this id.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn revoke(&self, id: &str) -> Result<bool, Error> {
        if !is_id(id) {
            return Ok(false);
        }
        let key = Item::from([(ID, id)]);
        if self.store.get(Get::new(&self.table, key.clone())).await?.is_none() {
            return Ok(false);
        }
        self.store.delete(Delete::new(&self.table, key)).await?;
        Ok(true)
    }

    /// The token that a client shows, if it is one that is valid now.
    pub(crate) async fn find(&self, text: &str) -> Result<Option<Token>, Error> {
        let Some((id, secret)) = parts(text) else { return Ok(None) };
        let key = Item::from([(ID, id)]);
        let item = self.store.get(Get::new(&self.table, key)).await?;
        let token = item.as_ref().and_then(Token::from_item);
        Ok(token.filter(|token| token.admits(secret, self.clock.now())))
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("is_open", &self.is_open()).finish_non_exhaustive()
    }
}
