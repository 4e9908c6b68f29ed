//! The tokens of a database, in a table of their own.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keyloom::{Clock, Entropy, Error, Item};
use keyloom_store::{
    Delete, Error as StoreError, Get, KeySchema, KeyType, OnFailure, Put, Scan, Store, TableName,
    TableSpec, Time,
};
use keyloom_value::Condition;
use tokio::sync::watch;

use super::issuers::{Identity, Issuers, Unidentified};
use super::token::{ID, Token, TokenRequest, is_id, parts};

/// What the name of the table of a database becomes for its tokens. In a data directory, whose table
/// is `keyloom`, that is `keyloom.tokens`.
const SUFFIX: &str = ".tokens";

/// The tokens that clients authenticate with.
///
/// As long as there are none, no authentication is required: a server without tokens accepts loopback
/// requests only. From the first token on every request needs one, even after the last one is revoked.
pub struct Tokens {
    pub(super) store: Arc<dyn Store>,
    pub(super) table: TableName,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    pub(super) is_open: AtomicBool,
    /// Changes whenever this revokes one.
    revoked: watch::Sender<()>,
    /// Whose tokens are accepted besides.
    issuers: Option<Issuers>,
}

/// Who sends a token.
#[derive(Debug)]
pub(super) enum Bearer {
    /// A token of this database.
    Token(Token),
    /// A user of an identity provider.
    User(Identity),
    /// Nobody known.
    Unknown(Unidentified),
}

impl Tokens {
    /// Opens the tokens of the database in a table, and creates their own table if it does not exist.
    ///
    /// # Errors
    ///
    /// If the store fails, or the name of the table is too long to have tokens.
    pub async fn open(
        store: Arc<dyn Store>,
        table: &str,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Tokens, Error> {
        let spec = Tokens::table_spec(table)?;
        let table = spec.name.clone();
        match store.create_table(spec).await {
            Ok(_) | Err(StoreError::TableExists { .. }) => {}
            // A directory that cannot be written may have the table; otherwise there are no tokens.
            Err(StoreError::WritesRefused(_)) => {}
            Err(error) => drop(store.describe_table(table.clone()).await.map_err(|_| error)?),
        }
        let (is_open, revoked) = (AtomicBool::new(false), watch::Sender::default());
        let tokens = Tokens { store, table, clock, entropy, is_open, revoked, issuers: None };
        // A damaged token admits nobody, but counts as one.
        let is_open = tokens.rows().await?.is_empty();
        tokens.is_open.store(is_open, Ordering::SeqCst);
        Ok(tokens)
    }

    /// Accepts tokens of these issuers, too. From then on every request needs a token.
    #[must_use]
    pub fn trusting(self, issuers: Issuers) -> Tokens {
        Tokens { issuers: Some(issuers), ..self }
    }

    /// Returns the table with the tokens of the database in a table.
    ///
    /// # Errors
    ///
    /// If the name of the table is too long to have tokens.
    pub fn table_spec(table: &str) -> Result<TableSpec, Error> {
        Ok(TableSpec::new(table_of(table)?, KeySchema::partition(ID, KeyType::S)))
    }

    /// Checks again whether there are tokens: another process may have created the first one.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn reload(&self) -> Result<(), Error> {
        // Never opens the server: it stays closed after the last token is revoked.
        if !self.rows().await?.is_empty() {
            self.is_open.store(false, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Whether requests need no token.
    pub fn is_open(&self) -> bool {
        self.issuers.is_none() && self.is_open.load(Ordering::SeqCst)
    }

    /// Creates a token. Also returns its text, which has the secret and is not stored.
    ///
    /// # Errors
    ///
    /// If the store fails, or the system provides no random bytes.
    pub async fn create(&self, request: TokenRequest) -> Result<(Token, String), Error> {
        let made = Token::make(request, self.clock.now(), &*self.entropy);
        let (token, text) = made.map_err(|error| Error::Entropy { reason: error.to_string() })?;
        self.store.put(Put::new(&self.table, token.to_item())).await?;
        self.is_open.store(false, Ordering::SeqCst);
        Ok((token, text))
    }

    /// Writes a token, unless one with its id exists. Returns the row of the existing one.
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
        rows(&*self.store, &self.table).await
    }

    /// Revokes a token. Returns false if none has this id. Streams of a server that shares this value end at
    /// once, those of others within a minute.
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
        let deleted = self.store.delete(Delete::new(&self.table, key)).await;
        // Also if it failed: it may have been deleted.
        self.revoked.send_replace(());
        deleted?;
        Ok(true)
    }

    /// Changes whenever this revokes a token.
    pub(super) fn revocations(&self) -> watch::Receiver<()> {
        self.revoked.subscribe()
    }

    /// Whether the token with this id is valid now.
    pub(crate) async fn is_valid(&self, id: &str) -> Result<bool, Error> {
        let item = self.store.get(Get::new(&self.table, Item::from([(ID, id)]))).await?;
        let token = item.as_ref().and_then(Token::from_item);
        Ok(token.is_some_and(|token| !token.has_expired(self.clock.now())))
    }

    /// Finds out who sends a token.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub(super) async fn identify(&self, text: &str) -> Result<Bearer, Error> {
        if let Some(token) = self.find(text).await? {
            return Ok(Bearer::Token(token));
        }
        if let Some(issuers) = self.issuers.as_ref().filter(|_| parts(text).is_none()) {
            let identified = issuers.identify(text).await;
            return Ok(identified.map_or_else(Bearer::Unknown, Bearer::User));
        }
        let why =
            "It is unknown, expired or revoked: ask the operator of the server for a new one.";
        Ok(Bearer::Unknown(Unidentified::Invalid(why.to_owned())))
    }

    /// The token with a text, if it is valid now.
    async fn find(&self, text: &str) -> Result<Option<Token>, Error> {
        let Some((id, secret)) = parts(text) else { return Ok(None) };
        let key = Item::from([(ID, id)]);
        let item = self.store.get(Get::new(&self.table, key)).await?;
        let token = item.as_ref().and_then(Token::from_item);
        Ok(token.filter(|token| token.admits(secret, self.clock.now())))
    }
}

/// Returns the name of the table with the tokens of the database in a table.
pub(super) fn table_of(table: &str) -> Result<TableName, Error> {
    Ok(TableName::new(&format!("{table}{SUFFIX}")).map_err(StoreError::from)?)
}

/// Returns all rows of a table; none if it does not exist.
pub(super) async fn rows(store: &dyn Store, table: &TableName) -> Result<Vec<Item>, Error> {
    let mut scan = Scan::new(table);
    let mut rows = vec![];
    loop {
        let page = match store.scan(scan.clone()).await {
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

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("is_open", &self.is_open()).finish_non_exhaustive()
    }
}
