//! Accepting commands.

use std::fs::{self, Permissions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use keyloom_store::Engine;
use tokio::net::UnixListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::address::{address, file};
use super::message::{self, Message};
use super::run::{not_understood, run};
use crate::operations::{Channel, Data, Report};

/// Maximum number of concurrent operations, each of which takes a thread.
const OPERATIONS_MAX: usize = 32;
/// How long a command may take to send its request.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// How long a command may leave reports unread: a snapshot is kept meanwhile.
const UNREAD_TIME: Duration = Duration::from_secs(60);
/// How long operations may take to end when the server stops.
const STOP_TIME: Duration = Duration::from_secs(10);
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Accepts commands until it is stopped.
pub struct Listener {
    file: PathBuf,
    commands: Arc<Mutex<Commands>>,
    accepting: JoinHandle<()>,
}

/// Running commands.
#[derive(Default)]
struct Commands {
    tasks: JoinSet<()>,
    streams: Vec<Weak<UnixStream>>,
}

/// Listens in the directory of an engine. A server works without it, so a failure is only logged.
pub fn listen(engine: &Engine, data: Data) -> Option<Listener> {
    let directory = engine.directory();
    match bind(directory) {
        Ok((listener, owner)) => {
            let commands = Arc::<Mutex<Commands>>::default();
            let accepting = tokio::spawn(accept(listener, owner, Arc::new(data), commands.clone()));
            Some(Listener { file: file(directory), commands, accepting })
        }
        Err(error) => {
            tracing::warn!(
                %error,
                "cannot listen in the data directory: commands work only while the server is stopped"
            );
            None
        }
    }
}

impl Listener {
    /// Stops listening, and ends running commands.
    pub async fn stop(self) {
        // It may be gone already.
        let _ = fs::remove_file(&self.file);
        self.accepting.abort();
        let _ = self.accepting.await;
        let mut commands = std::mem::take(&mut *locked(&self.commands));
        for stream in commands.streams.iter().filter_map(Weak::upgrade) {
            // Ends their input now, and the commands with their next report.
            let _ = stream.shutdown(Shutdown::Both);
        }
        let ended = async { while commands.tasks.join_next().await.is_some() {} };
        if timeout(STOP_TIME, ended).await.is_err() {
            tracing::warn!("stopping while a command is still running");
        }
    }
}

/// Binds the socket. Also returns the user who may connect.
fn bind(directory: &Path) -> io::Result<(UnixListener, u32)> {
    let file = file(directory);
    match fs::symlink_metadata(&file) {
        // Left by a server that was killed: the directory is locked, so no other server uses it.
        Ok(found) if found.file_type().is_socket() => fs::remove_file(&file)?,
        Ok(_) => {
            let what = format!("{} is not a socket: remove it", file.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = UnixListener::bind(address(directory)?.path)?;
    fs::set_permissions(&file, Permissions::from_mode(0o600))?;
    Ok((listener, fs::metadata(&file)?.uid()))
}

async fn accept(
    listener: UnixListener,
    owner: u32,
    data: Arc<Data>,
    commands: Arc<Mutex<Commands>>,
) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let is_owner = stream.peer_cred().is_ok_and(|peer| [0, owner].contains(&peer.uid()));
        let stream = stream.into_std().and_then(|stream| {
            stream.set_nonblocking(false)?;
            stream.set_write_timeout(Some(UNREAD_TIME))?;
            Ok(Arc::new(stream))
        });
        let Ok(stream) = stream else { continue };
        let mut commands = locked(&commands);
        while commands.tasks.try_join_next().is_some() {}
        commands.streams.retain(|stream| stream.strong_count() > 0);
        // Closes the connection of a client that is not accepted.
        if is_owner && commands.tasks.len() < OPERATIONS_MAX {
            commands.streams.push(Arc::downgrade(&stream));
            let data = data.clone();
            // Fails only if the command is gone.
            commands.tasks.spawn_blocking(move || drop(answer(&stream, &data)));
        }
    }
}

fn answer(stream: &Arc<UnixStream>, data: &Data) -> io::Result<()> {
    stream.set_read_timeout(Some(REQUEST_TIME))?;
    let mut input = BufReader::new(Shared(stream.clone()));
    let request = message::read(&mut input);
    stream.set_read_timeout(None)?;
    let mut output = BufWriter::new(&**stream);
    let mut report = |report: Report| {
        let is_line = matches!(report, Report::Line(_));
        let written = message::write(&mut output, &Message::Report(report));
        // Lines come in large numbers, with progress between them: only that is flushed.
        let written = written.and_then(|()| if is_line { Ok(()) } else { output.flush() });
        written.map_err(|error| format!("the command disconnected: {error}."))
    };
    let answer = match request {
        Ok(Some(request)) => {
            run(request, data, &mut Channel::new(Some(Box::new(input)), &mut report))
        }
        Ok(None) => return Ok(()),
        Err(error) => Err(not_understood(&error)),
    };
    let message = answer.map_or_else(Message::Error, Message::Answer);
    message::write(&mut output, &message)?;
    output.flush()
}

/// A stream that is read by the operation while reports are written to it.
struct Shared(Arc<UnixStream>);

impl Read for Shared {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(bytes)
    }
}

fn locked(commands: &Mutex<Commands>) -> MutexGuard<'_, Commands> {
    commands.lock().unwrap_or_else(PoisonError::into_inner)
}
