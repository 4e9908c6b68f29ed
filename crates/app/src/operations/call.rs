//! Running an operation on the data that a command names.

use std::path::PathBuf;

use clap::ArgMatches;

use super::{Channel, Data, Input, Operation, Report};
use crate::source::{self, Opened};
use crate::{directory, socket};

/// Runs an operation on the data that the arguments select: in the server that has it open, or here.
///
/// # Errors
///
/// Those of the operation and of `tell`, or if the data cannot be opened.
pub fn call<O: Operation>(
    arguments: &ArgMatches,
    operation: O,
    input: Option<Input>,
    report: &mut dyn FnMut(Report) -> Result<(), String>,
) -> Result<O::Answer, String> {
    // An operation missing there would fail only while a server has the data open.
    debug_assert!(socket::is_known(O::NAME), "`{}` is not in the socket's list", O::NAME);
    let directory = arguments.get_one::<PathBuf>("data");
    if let Some(server) = directory.map(|path| socket::connect(path)).transpose()?.flatten() {
        return socket::ask(&server, &operation, input, report);
    }
    block_on(async {
        let Opened { source, engine, .. } = source::open(arguments, operation.open_mode()).await?;
        let data = Data::Opened { source, engine: engine.clone() };
        let answer = operation.run(&data, &mut Channel::new(input, report)).await;
        drop(data);
        let closed = engine.map_or(Ok(()), directory::close);
        answer.and_then(|answer| closed.map(|()| answer))
    })
}

/// Runs a future on the current thread.
///
/// # Errors
///
/// Those of `work`, or if no runtime can be started.
pub fn block_on<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("cannot start a runtime: {error}."))?.block_on(work)
}
