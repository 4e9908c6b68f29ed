//! How a model is served.

use std::path::PathBuf;
use std::sync::Arc;

use keyloom_dynamodb::Consumption;
use keyloom_store::Engine;

use super::pages::OwnPage;

/// How a model is served.
#[derive(Clone, Debug)]
pub struct RestOptions {
    /// The name of the service in its documentation.
    pub name: String,
    /// Pages that are served without authentication.
    pub pages: Vec<OwnPage>,
    /// Operations on entities that are not served, by name, such as `change_search`: the application's
    /// own routes and handlers do what they would do, by its own rules.
    pub closed: &'static [&'static str],
    /// The engine under the database, whose figures are added to the metrics.
    pub engine: Option<Arc<Engine>>,
    /// The folder into which administrators may back up the engine; they cannot without one. Clients never name
    /// a path.
    pub backup_folder: Option<PathBuf>,
    /// What the database consumes of DynamoDB, if it is there: added to the metrics, by operation.
    pub consumption: Option<Arc<Consumption>>,
}

impl Default for RestOptions {
    fn default() -> RestOptions {
        RestOptions {
            name: "keyloom".to_owned(),
            pages: vec![],
            closed: &[],
            engine: None,
            backup_folder: None,
            consumption: None,
        }
    }
}
