//! Backups that administrators start over HTTP: copies of the data in a folder that the operator has chosen, one at a
//! time, on a thread of its own. No client names a path, and none is ever removed or overwritten here.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::{fs, io};

use keyloom::Value;
use keyloom_model::FieldType;
use keyloom_store::{Engine, Error, Time};
use tokio::sync::watch;

use super::problem::{Kind, Problem};

/// Begins the name of every backup.
const PREFIX: &str = "backup-";

/// The backups of an engine.
#[derive(Debug)]
pub(crate) struct Backups {
    /// Weak, so that the engine can be closed.
    engine: Weak<Engine>,
    folder: PathBuf,
    latest: Arc<Mutex<Option<Backup>>>,
}

/// A backup that was started since the server was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Backup {
    /// The name of its directory.
    pub(crate) name: String,
    pub(crate) started: Time,
    /// Rows copied so far.
    pub(crate) rows: u64,
    pub(crate) state: BackupState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BackupState {
    Running,
    Done,
    Failed(String),
}

/// A directory in the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptBackup {
    pub(crate) name: String,
    pub(crate) bytes: u64,
}

impl Backups {
    pub(crate) fn new(engine: &Arc<Engine>, folder: PathBuf) -> Backups {
        Backups { engine: Arc::downgrade(engine), folder, latest: Arc::default() }
    }

    /// The latest backup that was started.
    pub(crate) fn latest(&self) -> Option<Backup> {
        locked(&self.latest).clone()
    }

    /// The backups in the folder, the newest first, without the one that is running.
    pub(crate) fn kept(&self) -> io::Result<Vec<KeptBackup>> {
        let running = self.latest().filter(|latest| latest.state == BackupState::Running);
        let mut kept = vec![];
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(kept),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let is_running = running.as_ref().is_some_and(|running| running.name == name);
            if is_name(&name) && !is_running && entry.file_type()?.is_dir() {
                kept.push(KeptBackup { bytes: size(&entry.path())?, name });
            }
        }
        kept.sort_by(|a, b| b.name.cmp(&a.name));
        Ok(kept)
    }

    /// Starts a backup, which ends early when the server stops.
    ///
    /// # Errors
    ///
    /// If another one is running, or the engine is closed.
    pub(crate) fn start(
        &self,
        now: Time,
        is_stopped: watch::Receiver<bool>,
    ) -> Result<Backup, Problem> {
        let engine = self.engine.upgrade();
        let engine = engine.ok_or(keyloom::Error::Store(Error::Closed))?;
        let mut latest = locked(&self.latest);
        if let Some(running) = latest.iter().find(|one| one.state == BackupState::Running) {
            let detail = format!("The backup `{}` is still running: wait for it.", running.name);
            return Err(Problem::new(Kind::WrongState, detail));
        }
        let started =
            Backup { name: name(now), started: now, rows: 0, state: BackupState::Running };
        let (target, shared) = (self.folder.join(&started.name), self.latest.clone());
        let copy = move || {
            let copied = copy(&engine, &target, &shared, &is_stopped);
            if let Some(backup) = &mut *locked(&shared) {
                backup.state = match copied {
                    Ok(()) => BackupState::Done,
                    Err(problem) => BackupState::Failed(problem),
                };
            }
        };
        let thread = std::thread::Builder::new().name("backup".to_owned()).spawn(copy);
        thread.map_err(|error| Problem::new(Kind::Busy, "").with_cause(error.to_string()))?;
        *latest = Some(started.clone());
        Ok(started)
    }
}

/// Fills a directory, and removes what is left of it after a failure.
fn copy(
    engine: &Engine,
    target: &Path,
    latest: &Mutex<Option<Backup>>,
    is_stopped: &watch::Receiver<bool>,
) -> Result<(), String> {
    fs::create_dir_all(target.parent().unwrap_or(target))
        .map_err(|error| format!("The folder of backups cannot be created: {error}."))?;
    let note = |rows: u64| locked(latest).iter_mut().for_each(|backup| backup.rows = rows);
    let copied = engine.backup(target, &mut |progress| {
        note(progress.rows);
        if *is_stopped.borrow() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    match copied {
        Ok(progress) => note(progress.rows),
        Err(error) => {
            // The engine has removed its files; these fail if anything else is there.
            let _ = fs::remove_dir(target.join("log"));
            let _ = fs::remove_dir(target);
            return Err(error.to_string());
        }
    }
    Ok(())
}

/// The name of a backup: when it was started, to the millisecond, so that names are in order. Colons are no characters
/// of file names everywhere.
fn name(started: Time) -> String {
    let ms = i64::try_from(started.0).unwrap_or(i64::MAX);
    let text = match FieldType::Time.to_external(&Value::from(ms)) {
        Value::S(text) => text,
        _ => ms.to_string(),
    };
    format!("{PREFIX}{}", text.replace(':', "-"))
}

fn is_name(name: &str) -> bool {
    let is_of_time = |c: char| c.is_ascii_digit() || matches!(c, '-' | '.' | 'T' | 'Z');
    name.strip_prefix(PREFIX).is_some_and(|time| time.len() > 8 && time.chars().all(is_of_time))
}

/// The size of the files of a backup, which has one level of directories.
fn size(directory: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        bytes += match entry.file_type()?.is_dir() {
            true => size(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(bytes)
}

fn locked(latest: &Mutex<Option<Backup>>) -> MutexGuard<'_, Option<Backup>> {
    latest.lock().unwrap_or_else(PoisonError::into_inner)
}
