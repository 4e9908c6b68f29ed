//! Threads that serve connections, each with an event loop of its own.
//!
//! A runtime that shares its work among threads wakes another thread for nearly every request, in case there is
//! more to do: for requests of 15 µs, that costs more than it gains. Work that takes longer is shared in the
//! [fair pool](crate::fair).

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::cores::cores;

/// Shorter than the default time limits, and rare. With a shorter limit for answers it has no effect.
const TICK: Duration = Duration::from_secs(10);
/// How long the end waits for connections that are not at an await point.
const END_TIME: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests;

/// The threads. Dropping them ends the connections that they serve.
#[derive(Debug)]
pub(crate) struct Threads(Vec<Thread>);

#[derive(Debug)]
struct Thread {
    runtime: Handle,
    /// Has one reference more than the thread has connections.
    connections: Arc<()>,
    /// Ends the thread when it is dropped.
    running: Option<oneshot::Sender<Infallible>>,
    /// Owns the runtime.
    owner: Option<JoinHandle<()>>,
}

impl Threads {
    /// Starts one for each core. If there can be none, connections are served where the server runs.
    pub(crate) fn start() -> Threads {
        Threads((0..cores()).filter_map(|number| Thread::start(number).ok()).collect())
    }

    /// Has the thread with the fewest connections serve one more.
    pub(crate) fn serve(
        &self,
        serving: &mut JoinSet<()>,
        connection: impl Future<Output = ()> + Send + 'static,
    ) {
        let Some(thread) = self.0.iter().min_by_key(|thread| thread.connection_count()) else {
            serving.spawn(connection);
            return;
        };
        let counted = thread.connections.clone();
        let connection = async move {
            let _counted = counted;
            connection.await;
        };
        serving.spawn_on(connection, &thread.runtime);
    }
}

impl Thread {
    fn start(number: usize) -> io::Result<Thread> {
        let name = format!("keyloom-http-{number}");
        let (running, ended) = oneshot::channel::<Infallible>();
        let (started, starting) = mpsc::sync_channel(1);
        let own = {
            let name = name.clone();
            move || {
                // Of its two kinds of runtimes, tokio wakes the one for a single thread with a system call for each
                // response of a commit batch, and this one with a single call for all of them.
                let mut runtime = Builder::new_multi_thread();
                // It panics if the system has no thread for it: then `started` is dropped.
                let runtime = runtime.worker_threads(1).thread_name(name).enable_all().build();
                let Ok(runtime) = runtime else { return };
                runtime.spawn(tick());
                let _ = started.send(runtime.handle().clone());
                // It ends when its sender is dropped: nothing can be sent.
                let _ = runtime.block_on(ended);
                // Here, because a runtime must not be dropped where the server runs.
                runtime.shutdown_timeout(END_TIME);
            }
        };
        let owner = thread::Builder::new().name(format!("{name}-owner")).spawn(own)?;
        let runtime = starting.recv().map_err(io::Error::other)?;
        let (running, owner) = (Some(running), Some(owner));
        Ok(Thread { runtime, connections: Arc::default(), running, owner })
    }

    fn connection_count(&self) -> usize {
        Arc::strong_count(&self.connections) - 1
    }
}

/// Keeps a timer that is due before the time limits of requests. Setting one that is due before all others interrupts the
/// thread that waits for the next: two system calls for every write.
async fn tick() {
    loop {
        sleep(TICK).await;
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // All of them end at the same time.
        for thread in &mut self.0 {
            thread.running = None;
        }
        for thread in &mut self.0 {
            if let Some(owner) = thread.owner.take() {
                // It does not panic once it has started, and there is nothing to do if it does.
                let _ = owner.join();
            }
        }
    }
}
