//! Captures the log of all servers in this process.

use std::io::{self, Write};
use std::sync::{Mutex, Once};

use tracing_subscriber::fmt;

static WRITTEN: Mutex<Vec<u8>> = Mutex::new(vec![]);
static STARTED: Once = Once::new();

struct Sink;

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        WRITTEN.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Starts capturing the log.
pub(crate) fn start() {
    STARTED.call_once(|| {
        let log = fmt().json().flatten_event(true).with_writer(|| Sink).finish();
        tracing::subscriber::set_global_default(log).unwrap();
    });
}

/// All lines so far, of all servers.
pub(crate) fn lines() -> Vec<String> {
    let written = WRITTEN.lock().unwrap().clone();
    String::from_utf8(written).unwrap().lines().map(str::to_owned).collect()
}
