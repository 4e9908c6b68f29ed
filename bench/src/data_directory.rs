//! A directory for a run's data, gone when the run ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Outcome;

/// A fresh directory that is removed when this is dropped, with everything in it.
#[derive(Debug)]
pub(crate) struct DataDirectory {
    path: PathBuf,
}

impl DataDirectory {
    /// Makes a directory inside another, which is made too if it does not exist, and stays.
    pub(crate) fn create(parent: &Path) -> Outcome<DataDirectory> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("keyloom-bench-{}-{count}", process::id()));
        fs::create_dir_all(parent)?;
        fs::create_dir(&path)?;
        Ok(DataDirectory { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a directory in this one.
    pub(crate) fn subdirectory(&self, name: &str) -> Outcome<PathBuf> {
        let path = self.path.join(name);
        fs::create_dir(&path)?;
        Ok(path)
    }
}

impl Drop for DataDirectory {
    fn drop(&mut self) {
        // What cannot be removed is only rubbish; the figures are right all the same.
        let _ = fs::remove_dir_all(&self.path);
    }
}
