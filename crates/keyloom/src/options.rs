//! Options with which a database is opened.

use std::sync::Arc;

use keyloom_store::{Clock, SystemClock};

use crate::stamp::{Entropy, SystemEntropy};

/// Options of [`Db::open_with`](crate::Db::open_with).
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Db, MatchingUse, Options};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # let model = "[entity.shop]\nfields.name = \"text\"\nlist.all = {}";
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// // Each table of a store is a database of its own.
/// for table in ["north", "south"] {
///     let options = Options {
///         table: table.to_owned(),
///         matching: MatchingUse::Rows,
///         ..Options::default()
///     };
///     let db = Db::open_with(model, store.clone(), options).await?;
///     db.create("shop", &json!({ "name": table })).await?;
///     assert_eq!(db.list("shop", "all").read().await?.items.len(), 1);
/// }
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the table that contains everything.
    pub table: String,
    /// The clock for defaults, expiry, ids and waits between attempts.
    pub clock: Arc<dyn Clock>,
    /// The source of randomness for ids, waits and the secret of cursors.
    pub entropy: Arc<dyn Entropy>,
    /// How tags and facets are stored. Changing it for existing data takes a backfill.
    pub matching: MatchingUse,
    /// Whether a model may replace the one that has replaced it ([`crate::Error::OlderModel`]). Matters only
    /// if processes share the store: otherwise it may in any case.
    pub allow_older_model: bool,
}

/// How the posting lists of tags and facets are stored.
///
/// [`Options`] has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatchingUse {
    /// As sets, if the store has them: small and fast. Otherwise as rows.
    #[default]
    Sets,
    /// As rows of the table, even if the store has sets.
    Rows,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            table: "keyloom".to_owned(),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            matching: MatchingUse::Sets,
            allow_older_model: false,
        }
    }
}
