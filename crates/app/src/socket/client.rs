//! Asking a server to run an operation.

use std::io::{self, BufReader, ErrorKind, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;

use super::address::address;
use super::message::{self, Message, Request};
use crate::operations::{Input, Operation, Told};

/// The server that has a data directory open, if there is one.
///
/// # Errors
///
/// If there is one, and this user may not ask it.
pub(crate) fn connect(directory: &Path) -> Result<Option<UnixStream>, String> {
    let stream = address(directory).and_then(|address| UnixStream::connect(&address.path));
    match stream {
        Ok(stream) => Ok(Some(stream)),
        // Nobody listens, or never has. What else is wrong with the directory is told by whoever opens it.
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

/// Has a server run an operation.
///
/// # Errors
///
/// Those of the operation and of `tell`, or if the server does not answer.
pub(crate) fn ask<O: Operation>(
    stream: &UnixStream,
    operation: &O,
    input: Option<Input>,
    tell: &mut dyn FnMut(Told) -> Result<(), String>,
) -> Result<O::Answer, String> {
    send(stream, operation, input).map_err(|error| failed(&error))?;
    let mut messages = BufReader::new(stream);
    loop {
        match message::read(&mut messages).map_err(|error| failed(&error))? {
            Some(Message::Told(told)) => tell(told)?,
            Some(Message::Answer(answer)) => {
                return serde_json::from_value(answer).map_err(|error| failed(&error.into()));
            }
            Some(Message::Error(error)) => return Err(error),
            None => return Err("the server has stopped before the end. Try again.".to_owned()),
        }
    }
}

fn send(stream: &UnixStream, operation: &impl Operation, input: Option<Input>) -> io::Result<()> {
    let request = request(operation)?;
    let mut stream = stream.try_clone()?;
    message::write(&mut stream, &request)?;
    let Some(mut input) = input else { return stream.shutdown(Shutdown::Write) };
    // Beside what the server tells meanwhile. It may have heard enough before the end.
    let sending = move || {
        let _ = io::copy(&mut input, &mut stream).and_then(|_| stream.flush());
        let _ = stream.shutdown(Shutdown::Write);
    };
    thread::Builder::new().name("send-input".to_owned()).spawn(sending).map(drop)
}

fn request<O: Operation>(operation: &O) -> io::Result<Request> {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let operation = serde_json::to_value(operation)?;
    Ok(Request { version, name: O::NAME.to_owned(), operation })
}

fn failed(error: &io::Error) -> String {
    format!("the server that has the data open does not answer: {error}.")
}
