//! Running an operation on the data that a command names.

use std::path::PathBuf;

use clap::ArgMatches;

use super::{Data, Input, Operation, Talk, Told};
use crate::place::{self, Opened};
use crate::{directory, socket};

/// Runs an operation on the data that the arguments select: by the server that has it open, or here.
///
/// # Errors
///
/// Those of the operation and of `tell`, or if the data cannot be opened.
pub fn call<O: Operation>(
    arguments: &ArgMatches,
    operation: O,
    input: Option<Input>,
    tell: &mut dyn FnMut(Told) -> Result<(), String>,
) -> Result<O::Answer, String> {
    // Otherwise the command would fail only where a server has the data open.
    debug_assert!(socket::is_known(O::NAME), "`{}` is not in the socket's list", O::NAME);
    let directory = arguments.get_one::<PathBuf>("data");
    if let Some(server) = directory.map(|path| socket::connect(path)).transpose()?.flatten() {
        return socket::ask(&server, &operation, input, tell);
    }
    block_on(async {
        let Opened { place, engine, .. } = place::open(arguments, operation.used()).await?;
        let data = Data::Opened { place, engine: engine.clone() };
        let answer = operation.run(&data, &mut Talk::new(input, tell)).await;
        drop(data);
        let closed = engine.map_or(Ok(()), directory::close);
        answer.and_then(|answer| closed.map(|()| answer))
    })
}

/// Runs what needs no more than this thread.
///
/// # Errors
///
/// Those of `work`, or if no runtime can be started.
pub fn block_on<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("cannot start a runtime: {error}."))?.block_on(work)
}
