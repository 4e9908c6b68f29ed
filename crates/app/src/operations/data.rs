//! The data that an operation works on.

use std::sync::Arc;

use keyloom::{Clock, Db, MigrationPlan, SystemClock};
use keyloom_model::Model;
use keyloom_server::Tokens;
use keyloom_store::Engine;
use serde::{Deserialize, Serialize};

use crate::model_reload::ServedModel;
use crate::source::DataSource;

/// Data that is open in this process.
pub enum Data {
    /// Opened by a command, for one operation.
    Opened {
        /// Where it is.
        source: DataSource,
        /// The engine, if that is a directory.
        engine: Option<Arc<Engine>>,
    },
    /// Served with a model. A process must have only one `Db` and one `Tokens` for it: both cache what
    /// they have written.
    Served {
        /// The database.
        db: Db,
        /// Its access tokens.
        tokens: Arc<Tokens>,
        /// Its engine.
        engine: Arc<Engine>,
        /// Its model.
        model: ServedModel,
        /// The server.
        about: About,
    },
    /// Served as tables, without a model.
    Tables {
        /// Their engine.
        engine: Arc<Engine>,
        /// The server.
        about: About,
    },
}

/// Describes a running server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// What it serves.
    pub name: String,
    /// Its URL.
    pub url: String,
    /// When it started, in milliseconds since 1970.
    pub since: u64,
    /// Its process id.
    pub process: u32,
}

impl About {
    /// A server that this process starts now.
    pub fn new(name: &str, url: &str) -> About {
        let (name, url) = (name.to_owned(), url.to_owned());
        About { name, url, since: SystemClock.now().0, process: std::process::id() }
    }
}

impl Data {
    /// The database of a model.
    pub(super) async fn db(&self, model: &str) -> Result<Db, String> {
        match self {
            Data::Opened { source, .. } => source.database(model).await,
            Data::Served { db, .. } => match keyloom_model::check(model) {
                Ok(model) if is_same(&model, &db.model()) => Ok(db.clone()),
                Ok(_) | Err(_) => Err("the server that has the data open serves another model: \
                                       give that model, or change it with `keyloom migrate`."
                    .to_owned()),
            },
            Data::Tables { .. } => Err(NO_MODEL.to_owned()),
        }
    }

    /// The database of a model, which its own is changed to if it is another one.
    pub(super) async fn migrated_db(&self, model: &str) -> Result<Db, String> {
        match self {
            Data::Served { db, model: served, .. } => {
                if self.db(model).await.is_err() {
                    served.replace(model).await?;
                }
                Ok(db.clone())
            }
            Data::Opened { .. } | Data::Tables { .. } => self.db(model).await,
        }
    }

    /// What a change of its model would do.
    pub(super) async fn plan_migration(&self, model: &str) -> Result<MigrationPlan, String> {
        let plan = match self {
            Data::Opened { source, .. } => return source.plan_migration(model).await,
            Data::Served { engine, .. } => {
                Db::plan_migration(model, &**engine, &keyloom::Options::default()).await
            }
            Data::Tables { .. } => return Err(NO_MODEL.to_owned()),
        };
        plan.map_err(|error| error.to_string())
    }

    /// The access tokens.
    pub(super) async fn tokens(&self) -> Result<Arc<Tokens>, String> {
        match self {
            Data::Opened { source, .. } => source.tokens().await.map(Arc::new),
            Data::Served { tokens, .. } => Ok(tokens.clone()),
            Data::Tables { .. } => Err(NO_MODEL.to_owned()),
        }
    }

    /// The access tokens, to add to them: there need not be any yet.
    pub(super) async fn own_tokens(&self) -> Result<Arc<Tokens>, String> {
        match self {
            Data::Opened { source, .. } => source.own_tokens().await.map(Arc::new),
            Data::Served { .. } | Data::Tables { .. } => self.tokens().await,
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

/// Whether a model is the one in force, in which fields may have other names in rows.
fn is_same(model: &Model, in_force: &Model) -> bool {
    model.clone().with_stored_names(&in_force.stored_names()) == *in_force
}

const NO_MODEL: &str =
    "the server that has the data open serves tables without a model: stop it first.";
