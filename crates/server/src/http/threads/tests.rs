//! Connections are served whatever happens to threads, and end with them.

use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::*;

/// Runs where a server would run: on this thread.
fn run<T>(future: impl Future<Output = T>) -> T {
    Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn one() -> Threads {
    Threads(vec![Thread::start(0).unwrap()])
}

/// The name of the thread that serves a connection.
async fn server_of(threads: &Threads, serving: &mut JoinSet<()>) -> Option<String> {
    let (tell, told) = oneshot::channel();
    threads.serve(serving, async move {
        let _ = tell.send(thread::current().name().map(str::to_owned));
    });
    serving.join_next().await.unwrap().unwrap();
    told.await.unwrap()
}

#[test]
fn connections_are_served_where_the_server_runs_if_there_are_no_threads() {
    let here = thread::current().name().map(str::to_owned);
    run(async {
        let mut serving = JoinSet::new();
        assert_eq!(server_of(&Threads(vec![]), &mut serving).await, here);
        let (threads, there) = (one(), Some("keyloom-http-0".to_owned()));
        assert_eq!(server_of(&threads, &mut serving).await, there);
    });
}

#[test]
fn a_panic_ends_one_connection_and_not_its_thread() {
    run(async {
        let (threads, mut serving) = (one(), JoinSet::new());
        let (end, ended) = oneshot::channel::<()>();
        threads.serve(&mut serving, async { drop(ended.await) });
        threads.serve(&mut serving, async { resume_unwind(Box::new("a defect")) });
        assert!(serving.join_next().await.unwrap().unwrap_err().is_panic());
        assert_eq!(threads.0[0].connection_count(), 1, "the other one goes on");
        end.send(()).unwrap();
        assert!(serving.join_next().await.unwrap().is_ok());
        assert!(server_of(&threads, &mut serving).await.is_some());
        assert_eq!(threads.0[0].connection_count(), 0);
    });
}

/// In either order: whoever drops a server drops both.
#[test]
fn connections_end_with_the_server() {
    for are_threads_first in [false, true] {
        let held = Arc::new(());
        run(async {
            let (threads, mut serving) = (one(), JoinSet::new());
            let (tell, told) = oneshot::channel();
            let of_connection = held.clone();
            threads.serve(&mut serving, async move {
                let _held = of_connection;
                let _ = tell.send(());
                std::future::pending().await
            });
            told.await.unwrap();
            assert_eq!(Arc::strong_count(&held), 2);
            match are_threads_first {
                true => drop((threads, serving)),
                false => drop((serving, threads)),
            }
        });
        assert_eq!(Arc::strong_count(&held), 1, "threads first: {are_threads_first}");
    }
}
