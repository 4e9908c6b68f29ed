//! A temporary directory for a run's data.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Outcome;

/// A new directory that is removed on drop, with everything in it.
#[derive(Debug)]
pub(crate) struct DataDirectory {
    path: PathBuf,
}

impl DataDirectory {
    /// Creates a directory in another, which is created if it does not exist, and stays.
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

    /// Creates a directory in this one.
    pub(crate) fn subdirectory(&self, name: &str) -> Outcome<PathBuf> {
        let path = self.path.join(name);
        fs::create_dir(&path)?;
        Ok(path)
    }
}

impl Drop for DataDirectory {
    fn drop(&mut self) {
        // Leftover files do not affect the results.
        let _ = fs::remove_dir_all(&self.path);
    }
}
