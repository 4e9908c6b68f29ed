//! The two ends of a copy, opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyloom::copy::{CopyFrom, StoreSource};
use keyloom::{Item, Options};
use keyloom_dynamodb::{Remote, RemoteOptions};
use keyloom_server::Tokens;
use keyloom_store::{Engine, TableName};

use super::file_source::FileSource;
use super::place::Place;
use crate::directory::{self, OpenMode};
use crate::socket;
use crate::source::DataSource;

/// A store that is open.
pub(super) struct OpenStore {
    pub(super) data: DataSource,
    engine: Option<Arc<Engine>>,
}

/// Where a copy reads.
pub(super) enum Source {
    Store { rows: Box<StoreSource>, open: OpenStore, tokens: Vec<Item> },
    File(Box<FileSource>),
}

/// Where a copy writes.
pub(super) enum Target {
    Store(OpenStore),
    File(PathBuf),
}

impl OpenStore {
    fn in_directory(path: &Path, mode: OpenMode) -> Result<OpenStore, String> {
        let engine = directory::open(path, mode)?;
        let table = Options::default().table;
        let data = DataSource { store: engine.clone(), table, allow_older_model: false };
        Ok(OpenStore { data, engine: Some(engine) })
    }

    async fn in_dynamodb(table: &str, options: &RemoteOptions) -> Result<OpenStore, String> {
        let remote = Remote::connect(options.clone()).await.map_err(|error| error.to_string())?;
        let (store, table) = (Arc::new(remote), table.to_owned());
        let data = DataSource { store, table, allow_older_model: false };
        Ok(OpenStore { data, engine: None })
    }

    pub(super) fn options(&self) -> Options {
        Options { table: self.data.table.clone(), ..Options::default() }
    }

    /// Writes tokens, and checks that there are no others.
    pub(super) async fn put_tokens(&self, rows: &[Item]) -> Result<(), String> {
        if rows.is_empty() {
            return Ok(());
        }
        let tokens = self.data.own_tokens().await?;
        tokens.put_rows(rows).await.map_err(|error| error.to_string())?;
        let stored = Tokens::stored_rows(&*self.data.store, &self.data.table).await;
        let mut stored = stored.map_err(|error| error.to_string())?;
        stored.retain(|row| !rows.contains(row));
        match stored.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "the target has {} access tokens of its own: remove its table of tokens first.",
                stored.len()
            )),
        }
    }

    /// Closes it; the caller has dropped everything that uses it.
    pub(super) fn close(self) -> Result<(), String> {
        let OpenStore { data, engine } = self;
        drop(data);
        engine.map_or(Ok(()), directory::close)
    }
}

impl Source {
    pub(super) async fn open(place: &Place, remote: &RemoteOptions) -> Result<Source, String> {
        let open = match place {
            Place::File(path) => return Ok(Source::File(Box::new(FileSource::open(path).await?))),
            Place::Directory(path) => {
                if socket::is_served(path) {
                    let path = path.display();
                    return Err(format!(
                        "a server has {path} open: stop it, or copy a backup of it, which `keyloom \
                         backup --data {path} --to BACKUP` makes while it runs."
                    ));
                }
                OpenStore::in_directory(path, OpenMode::Read)?
            }
            Place::DynamoDb(table) => OpenStore::in_dynamodb(table, remote).await?,
        };
        let moment = match &open.engine {
            None => None,
            Some(engine) => Some(engine.status().map_err(|error| error.to_string())?.commit),
        };
        let rows = StoreSource::open(open.data.store.clone(), open.options(), moment).await;
        let rows = Box::new(rows.map_err(|error| error.to_string())?);
        // Fails if tokens are where nobody knows whose they are.
        if open.engine.is_none() {
            open.data.check_tokens().await?;
        }
        let tokens = Tokens::stored_rows(&*open.data.store, &open.data.table).await;
        let tokens = tokens.map_err(|error| error.to_string())?;
        Ok(Source::Store { rows, open, tokens })
    }

    pub(super) fn rows(&self) -> &dyn CopyFrom {
        match self {
            Source::Store { rows, .. } => &**rows,
            Source::File(file) => &**file,
        }
    }

    pub(super) fn tokens(&self) -> &[Item] {
        match self {
            Source::Store { tokens, .. } => tokens,
            Source::File(file) => file.tokens(),
        }
    }

    /// What the user should know before the copy is used.
    pub(super) async fn warnings(&self) -> Result<Vec<String>, String> {
        let Source::Store { rows, open, .. } = self else { return Ok(vec![]) };
        let mut warnings = vec![];
        if open.engine.is_none() {
            warnings.push(
                "DynamoDB has no snapshots: stop all writers. If the table is written while it is \
                 copied, the copy fails in the end."
                    .to_owned(),
            );
        }
        let behind = rows.consumers_behind().await.map_err(|error| error.to_string())?;
        if !behind.is_empty() {
            warnings.push(format!(
                "events that `{}` has not handled yet are not delivered in the copy: to deliver them, \
                 serve the source until `keyloom status` reports none.",
                behind.join("`, `")
            ));
        }
        Ok(warnings)
    }

    pub(super) fn close(self) -> Result<(), String> {
        match self {
            Source::Store { rows, open, .. } => {
                drop(rows);
                open.close()
            }
            Source::File(_) => Ok(()),
        }
    }
}

impl Target {
    pub(super) async fn open(place: &Place, remote: &RemoteOptions) -> Result<Target, String> {
        match place {
            Place::File(path) => Ok(Target::File(path.clone())),
            Place::DynamoDb(table) => {
                Ok(Target::Store(OpenStore::in_dynamodb(table, remote).await?))
            }
            Place::Directory(path) => {
                if socket::is_served(path) {
                    let path = path.display();
                    return Err(format!(
                        "a server has {path} open: stop it, or name another target."
                    ));
                }
                let open = OpenStore::in_directory(path, OpenMode::Create)?;
                open.refuse_other_tables(path).await?;
                Ok(Target::Store(open))
            }
        }
    }
}

impl OpenStore {
    /// A directory is one database.
    async fn refuse_other_tables(&self, path: &Path) -> Result<(), String> {
        let tables = self.data.store.list_tables().await.map_err(|error| error.to_string())?;
        let table = self.data.table.as_str();
        let is_other = |name: &&TableName| !name.as_str().starts_with(table);
        match tables.iter().find(is_other) {
            None => Ok(()),
            Some(other) => Err(format!(
                "{} contains the table `{other}`: name an empty directory, or one that does not exist.",
                path.display()
            )),
        }
    }
}
