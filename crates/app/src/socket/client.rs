//! Requesting a server to run an operation.

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread;

use super::address::address;
use super::message::{self, Message, Request};
use crate::operations::{Input, Operation, Report};

/// Connects to the server that has a data directory open, if there is one.
///
/// # Errors
///
/// If this user may not connect to it.
pub(crate) fn connect(directory: &Path) -> Result<Option<UnixStream>, String> {
    let stream = address(directory).and_then(|address| UnixStream::connect(&address.path));
    match stream {
        Ok(stream) => Ok(Some(stream)),
        // No server. Other problems with the directory are reported when it is opened.
        Err(error) if error.kind() != ErrorKind::PermissionDenied => Ok(None),
        Err(_) if directory.read_dir().is_err() => Ok(None),
        Err(error) => Err(format!(
            "a server of another user has {} open: {error}. Run the command as that user.",
            directory.display()
        )),
    }
}

/// Whether a server has a data directory open.
pub fn is_served(directory: &Path) -> bool {
    connect(directory).is_ok_and(|server| server.is_some())
}

/// Runs an operation on a server.
///
/// # Errors
///
/// Those of the operation and of `tell`, or if the server does not answer.
pub(crate) fn ask<O: Operation>(
    stream: &UnixStream,
    operation: &O,
    input: Option<Input>,
    report: &mut dyn FnMut(Report) -> Result<(), String>,
) -> Result<O::Answer, String> {
    let unread = Arc::new(OnceLock::new());
    send(stream, operation, input, unread.clone()).map_err(|error| failed(&error))?;
    let mut messages = BufReader::new(stream);
    loop {
        let message = message::read(&mut messages);
        // The server's answer to a part of the input is meaningless.
        if let Some(error) = unread.get() {
            return Err(format!("the input cannot be read: {error}."));
        }
        match message.map_err(|error| failed(&error))? {
            Some(Message::Report(received)) => report(received)?,
            Some(Message::Answer(answer)) => {
                return serde_json::from_value(answer).map_err(|error| failed(&error.into()));
            }
            Some(Message::Error(error)) => return Err(error),
            None => {
                return Err("the server stopped before the command ended. Try again.".to_owned());
            }
        }
    }
}

/// Sends an operation. A thread of its own sends the input while the server reports, and may stop reading
/// early. If the input cannot be read, the connection is closed.
fn send(
    stream: &UnixStream,
    operation: &impl Operation,
    input: Option<Input>,
    unread: Arc<OnceLock<io::Error>>,
) -> io::Result<()> {
    let request = request(operation)?;
    let mut stream = stream.try_clone()?;
    message::write(&mut stream, &request)?;
    let Some(mut input) = input else { return stream.shutdown(Shutdown::Write) };
    let sending = move || {
        let how = match copy(&mut *input, &mut stream) {
            Copied::Whole => Shutdown::Write,
            Copied::Unread(error) => {
                let _ = unread.set(error);
                Shutdown::Both
            }
        };
        let _ = stream.shutdown(how);
    };
    thread::Builder::new().name("send-input".to_owned()).spawn(sending).map(drop)
}

enum Copied {
    /// All of it, or as much as the server reads.
    Whole,
    Unread(io::Error),
}

fn copy(input: &mut dyn BufRead, stream: &mut UnixStream) -> Copied {
    loop {
        let bytes = match input.fill_buf() {
            Ok([]) => return Copied::Whole,
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Copied::Unread(error),
        };
        let len = bytes.len();
        if stream.write_all(bytes).is_err() {
            return Copied::Whole;
        }
        input.consume(len);
    }
}

fn request<O: Operation>(operation: &O) -> io::Result<Request> {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let operation = serde_json::to_value(operation)?;
    Ok(Request { version, name: O::NAME.to_owned(), operation })
}

fn failed(error: &io::Error) -> String {
    format!("the server that has the data open does not answer: {error}.")
}
