//! Data that is open in this process.

use std::sync::Arc;

use keyloom::{Clock, Db, SystemClock};
use keyloom_server::Tokens;
use keyloom_store::Engine;
use serde::{Deserialize, Serialize};

use crate::place::Place;

/// Data that is open in this process, and what was made of it.
pub enum Data {
    /// A command has opened it, for one operation.
    Opened {
        /// Where it is.
        place: Place,
        /// The engine, if that is a directory.
        engine: Option<Arc<Engine>>,
    },
    /// A server serves it by a model. There must be one database and one set of tokens in a process:
    /// they know what they have done.
    Served {
        /// The database.
        db: Db,
        /// Who is let in.
        tokens: Arc<Tokens>,
        /// What keeps it.
        engine: Arc<Engine>,
        /// Which server.
        about: About,
    },
    /// A server serves its tables, by no model.
    Tables {
        /// What keeps them.
        engine: Arc<Engine>,
        /// Which server.
        about: About,
    },
}

/// What a server says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// What it serves.
    pub name: String,
    /// Where.
    pub url: String,
    /// Since when, in milliseconds since 1970.
    pub since: u64,
    /// The number of its process.
    pub process: u32,
}

impl About {
    /// A server of this process that starts now.
    pub fn new(name: &str, url: &str) -> About {
        let (name, url) = (name.to_owned(), url.to_owned());
        About { name, url, since: SystemClock.now().0, process: std::process::id() }
    }
}

impl Data {
    /// The database of a model.
    pub(super) async fn db(&self, model: &str) -> Result<Db, String> {
        match self {
            Data::Opened { place, .. } => place.database(model).await,
            Data::Served { db, .. } => match keyloom_model::check(model) {
                Ok(model) if model == db.model() => Ok(db.clone()),
                Ok(_) | Err(_) => Err("the server that has the data open serves another model: \
                                       name the one that it serves, or restart it with this one."
                    .to_owned()),
            },
            Data::Tables { .. } => Err(NO_MODEL.to_owned()),
        }
    }

    /// The access tokens.
    pub(super) async fn tokens(&self) -> Result<Arc<Tokens>, String> {
        match self {
            Data::Opened { place, .. } => place.tokens().await.map(Arc::new),
            Data::Served { tokens, .. } => Ok(tokens.clone()),
            Data::Tables { .. } => Err(NO_MODEL.to_owned()),
        }
    }

    /// The database that is served.
    pub(super) fn served(&self) -> Option<&Db> {
        match self {
            Data::Served { db, .. } => Some(db),
            Data::Opened { .. } | Data::Tables { .. } => None,
        }
    }

    /// The server that has it open.
    pub(super) fn about(&self) -> Option<&About> {
        match self {
            Data::Opened { .. } => None,
            Data::Served { about, .. } | Data::Tables { about, .. } => Some(about),
        }
    }

    /// The engine of a directory.
    pub(super) fn engine(&self) -> Result<&Arc<Engine>, String> {
        match self {
            Data::Opened { engine, .. } => {
                engine.as_ref().ok_or_else(|| "this works on data directories only.".to_owned())
            }
            Data::Served { engine, .. } | Data::Tables { engine, .. } => Ok(engine),
        }
    }
}

const NO_MODEL: &str =
    "the server that has the data open serves tables, and no model: stop it first.";
