//! Futures taking turns, on a pool whose slices are over at once: every yield point yields.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use keyloom_store::yield_point;
use pollster::block_on;
use tokio::sync::oneshot;

use super::pool::{Pool, PoolOptions, Weight};
use super::queue::Queue;

fn pool(threads: usize) -> Pool {
    Pool::new(PoolOptions { threads, first_slice: Duration::ZERO, slice: Duration::ZERO })
}

/// Occupies the thread for some time.
fn spin(time: Duration) {
    let started = Instant::now();
    while started.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Polls a future once, so that it is queued in the pool.
fn begun<'p, T: Send + 'static>(
    pool: &'p Pool,
    future: impl Future<Output = T> + Send + 'static,
) -> Begun<'p, T> {
    let mut outer: Begun<'p, T> = Box::pin(pool.run(Weight::Light, future));
    let context = &mut Context::from_waker(Waker::noop());
    // The pool may have finished it already.
    match catch_unwind(AssertUnwindSafe(|| outer.as_mut().poll(context))) {
        Ok(Poll::Pending) => outer,
        Ok(Poll::Ready(output)) => Box::pin(std::future::ready(output)),
        Err(panic) => Box::pin(async { resume_unwind(panic) }),
    }
}

type Begun<'p, T> = Pin<Box<dyn Future<Output = T> + 'p>>;

/// Blocks a thread of the pool until it is opened.
struct Gate {
    is_reached: mpsc::Receiver<()>,
    open: mpsc::Sender<()>,
}

impl Gate {
    fn new() -> (Gate, impl Future<Output = ()> + Send + 'static) {
        let ((reach, is_reached), (open, opened)) = (mpsc::channel(), mpsc::channel());
        let future = async move {
            yield_point().await;
            reach.send(()).unwrap();
            opened.recv().unwrap();
        };
        (Gate { is_reached, open }, future)
    }
}

/// What happened, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<&'static str>>>);

impl Log {
    fn add(&self, what: &'static str) {
        self.0.lock().unwrap().push(what);
    }

    fn taken(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

async fn heavy(log: Log, steps: usize) {
    for _ in 0..steps {
        yield_point().await;
        spin(Duration::from_micros(20));
        log.add("heavy step");
    }
    log.add("heavy");
}

async fn light(log: Log) {
    yield_point().await;
    log.add("light");
}

#[test]
fn a_light_task_passes_a_hundred_heavy_ones() {
    let (pool, log) = (pool(1), Log::default());
    let (first, future) = Gate::new();
    let mut waiting: Vec<_> = vec![begun(&pool, future)];
    first.is_reached.recv().unwrap();
    waiting.extend((0..100).map(|_| begun(&pool, heavy(log.clone(), 20))));
    let (second, future) = Gate::new();
    waiting.push(begun(&pool, future));
    first.open.send(()).unwrap();
    second.is_reached.recv().unwrap();
    // The gate came last and had run as little as the others: every other task has had one turn.
    assert_eq!(log.taken().len(), 100);
    let light = begun(&pool, light(log.clone()));
    second.open.send(()).unwrap();
    block_on(light);
    waiting.into_iter().for_each(block_on);
    let happened = log.taken();
    let position = happened.iter().position(|what| *what == "light").unwrap();
    assert!(position <= 1, "at most one turn goes by age: {:?}", &happened[..=position]);
    assert_eq!(happened.iter().filter(|what| **what == "heavy").count(), 100);
}

#[test]
fn the_task_that_has_run_least_is_next_and_one_turn_in_eight_goes_by_age() {
    let mut queue = Queue::new();
    let times = [50, 40, 30, 20, 10, 20, 30, 40, 50, 60];
    for (name, time) in times.into_iter().enumerate() {
        queue.push(Duration::from_micros(time), name);
    }
    let order: Vec<usize> = std::iter::from_fn(|| queue.pop()).collect();
    // The eighth turn goes to the first arrival among those left, which has run the longest.
    assert_eq!(order, [4, 3, 5, 2, 6, 1, 7, 0, 8, 9]);
}

#[test]
fn new_tasks_do_not_starve_older_ones() {
    let mut queue = Queue::new();
    queue.push(Duration::from_secs(1), "old");
    let turns = (0..100).take_while(|_| {
        queue.push(Duration::ZERO, "new");
        queue.pop() == Some("new")
    });
    assert_eq!(turns.count(), 7);
}

#[test]
fn a_removed_task_has_no_turn() {
    let mut queue = Queue::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| queue.push(Duration::ZERO, name));
    assert_eq!(queue.remove(b), Some("b"));
    assert_eq!((queue.pop(), queue.remove(a)), (Some("a"), None));
    assert_eq!((queue.clear(), queue.pop(), queue.remove(c)), (vec!["c"], None, None));
}

#[test]
fn short_futures_stay_on_their_thread() {
    let (first_slice, slice) = (Duration::from_secs(3600), Duration::ZERO);
    let pool = Pool::new(PoolOptions { threads: 1, first_slice, slice });
    let here = thread::current().id();
    let ran_on = || async {
        yield_point().await;
        thread::current().id()
    };
    assert_eq!(block_on(pool.run(Weight::Light, ran_on())), here);
    assert_ne!(block_on(pool.run(Weight::Heavy, ran_on())), here);
}

#[test]
fn long_futures_continue_in_the_pool() {
    let pool = pool(2);
    let ran_on = async {
        let before = thread::current().id();
        yield_point().await;
        (before, thread::current().name().map(str::to_owned))
    };
    let (before, after) = block_on(pool.run(Weight::Light, ran_on));
    assert_eq!(before, thread::current().id());
    assert!(after.is_some_and(|name| name.starts_with("keyloom-read-")));
}

#[test]
fn a_future_that_waits_stays_where_it_is_awaited() {
    let pool = pool(1);
    let (sender, receiver) = oneshot::channel();
    let mut outer = pin!(pool.run(Weight::Light, receiver));
    assert!(outer.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    sender.send(5).unwrap();
    let polled = outer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Ready(Ok(5))));
}

#[test]
fn a_parked_task_comes_back_when_another_thread_wakes_it() {
    let pool = pool(1);
    let (sender, receiver) = oneshot::channel();
    let outer = begun(&pool, async {
        yield_point().await;
        let woken_by = receiver.await.unwrap();
        yield_point().await;
        woken_by
    });
    // The one thread is free for others meanwhile.
    block_on(pool.run(Weight::Light, async { yield_point().await }));
    let waker = thread::spawn(move || sender.send("another").unwrap());
    assert_eq!(block_on(outer), "another");
    waker.join().unwrap();
}

#[test]
fn a_wake_while_it_runs_is_not_lost() {
    let pool = pool(1);
    let polls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&polls);
    let mut is_first = true;
    let outer = begun(&pool, async move {
        yield_point().await;
        std::future::poll_fn(move |context| {
            counted.fetch_add(1, Ordering::Relaxed);
            if std::mem::take(&mut is_first) {
                let waker = context.waker().clone();
                thread::spawn(move || waker.wake()).join().unwrap();
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    });
    block_on(outer);
    assert_eq!(polls.load(Ordering::Relaxed), 2);
}

/// Reports when it is dropped.
struct Dropped(mpsc::Sender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[test]
fn a_cancelled_running_task_ends_at_its_next_yield_point() {
    let long = Duration::from_secs(3600);
    let options = PoolOptions { threads: 1, first_slice: Duration::ZERO, slice: long };
    let pool = Pool::new(options);
    let ((dropped, is_dropped), (step, stepped)) = (mpsc::channel(), mpsc::channel());
    let outer = begun(&pool, async move {
        let _dropped = Dropped(dropped);
        loop {
            yield_point().await;
            // Fails once the test has ended.
            let _ = step.send(());
        }
    });
    stepped.recv().unwrap();
    // Its slice would be over in an hour.
    drop(outer);
    is_dropped.recv().unwrap();
    block_on(pool.run(Weight::Light, async { yield_point().await }));
}

#[test]
fn a_cancelled_task_is_dropped_at_once_in_the_queue_and_while_it_waits() {
    let pool = pool(1);
    let (gate, future) = Gate::new();
    let gate_task = begun(&pool, future);
    gate.is_reached.recv().unwrap();
    let (dropped, is_dropped) = mpsc::channel();
    let held = Dropped(dropped.clone());
    drop(begun(&pool, async move {
        let _held = held;
        yield_point().await;
    }));
    is_dropped.try_recv().expect("dropped in the queue, at once");

    let held = Dropped(dropped);
    let (wait, waits) = mpsc::channel();
    let outer = begun(&pool, async move {
        let _held = held;
        yield_point().await;
        wait.send(()).unwrap();
        std::future::pending::<()>().await;
    });
    gate.open.send(()).unwrap();
    block_on(gate_task);
    waits.recv().unwrap();
    // Once another task has had its turn, this one has ended its own.
    block_on(pool.run(Weight::Light, async { yield_point().await }));
    drop(outer);
    is_dropped.try_recv().expect("dropped while it waited, at once");
}

#[test]
fn a_panic_reaches_the_caller_and_the_thread_survives() {
    let pool = pool(1);
    for _ in 0..3 {
        let panics = async {
            yield_point().await;
            panic!("on purpose");
        };
        let caught = catch_unwind(AssertUnwindSafe(|| block_on(pool.run(Weight::Light, panics))));
        let panic = caught.map(|(): ()| "nothing").unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
    }
    let after = async {
        yield_point().await;
        7
    };
    assert_eq!(block_on(pool.run(Weight::Light, after)), 7);
}

/// Panics when it is dropped, once.
struct Bomb(Arc<AtomicBool>);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0.swap(false, Ordering::Relaxed) {
            panic!("in a destructor, on purpose");
        }
    }
}

#[test]
fn a_panic_in_a_destructor_reaches_the_caller_too() {
    let pool = pool(1);
    let bomb = Bomb(Arc::new(AtomicBool::new(true)));
    let panics = async {
        yield_point().await;
        drop(bomb);
    };
    let caught = catch_unwind(AssertUnwindSafe(|| block_on(pool.run(Weight::Light, panics))));
    assert!(caught.is_err());
    block_on(pool.run(Weight::Light, async { yield_point().await }));
}

#[test]
fn the_future_is_dropped_before_its_result_arrives() {
    let pool = pool(1);
    for _ in 0..100 {
        let held = Arc::new(());
        let seen = Arc::downgrade(&held);
        block_on(pool.run(Weight::Light, async move {
            yield_point().await;
            let _held = held;
        }));
        assert_eq!(seen.strong_count(), 0);
    }
}

#[test]
fn a_pool_that_is_dropped_ends_its_threads() {
    let pool = pool(3);
    block_on(pool.run(Weight::Light, async { yield_point().await }));
    let queue = pool.queue();
    assert!(queue.strong_count() >= 4, "the pool and its threads");
    drop(pool);
    assert_eq!(queue.strong_count(), 0);
}

#[test]
fn a_task_can_hold_the_last_reference_to_its_pool() {
    let pool = Arc::new(pool(1));
    let queue = pool.queue();
    let (gate, future) = Gate::new();
    let holder = Arc::clone(&pool);
    let mut outer = Box::pin(async move {
        let inner = Arc::clone(&holder);
        holder
            .run(Weight::Light, async move {
                let _inner = inner;
                future.await;
            })
            .await;
    });
    assert!(outer.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    gate.is_reached.recv().unwrap();
    drop(outer);
    drop(pool);
    gate.open.send(()).unwrap();
    // Its thread drops the pool and ends by itself.
    while queue.strong_count() > 0 {
        thread::yield_now();
    }
}

/// A pseudorandom number generator (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// What a random task does at one of its steps.
#[derive(Clone, Copy, Debug)]
enum Step {
    Yield,
    Spin,
    /// Waits until a thread outside the pool wakes it.
    Wait,
    Panic,
}

async fn play(steps: Vec<Step>, bell: mpsc::Sender<oneshot::Sender<()>>, alive: Arc<()>) -> usize {
    yield_point().await;
    for step in &steps {
        match step {
            Step::Yield => yield_point().await,
            Step::Spin => spin(Duration::from_micros(5)),
            Step::Wait => {
                let (ring, rung) = oneshot::channel();
                bell.send(ring).unwrap();
                rung.await.unwrap();
            }
            Step::Panic => resume_unwind(Box::new("on purpose")),
        }
    }
    drop(alive);
    steps.len()
}

#[test]
fn random_tasks_return_their_results_and_are_all_dropped() {
    for seed in [2026, 7, 0xDEAD_BEEF] {
        let (pool, mut random) = (pool(3), Random(seed));
        let (bell, rings) = mpsc::channel::<oneshot::Sender<()>>();
        // A task that was cancelled hears nothing.
        let ringer = thread::spawn(move || {
            for ring in rings {
                let _ = ring.send(());
            }
        });
        let alive = Arc::new(());
        let mut waiting = VecDeque::new();
        for number in 0..3000 {
            let steps: Vec<Step> = (0..random.below(20))
                .map(|_| match random.below(60) {
                    0 => Step::Panic,
                    1..10 => Step::Wait,
                    10..30 => Step::Spin,
                    _ => Step::Yield,
                })
                .collect();
            let panics = steps.iter().any(|step| matches!(step, Step::Panic));
            let expected = (!panics).then_some(steps.len());
            let outer = begun(&pool, play(steps, bell.clone(), Arc::clone(&alive)));
            waiting.push_back((number, expected, outer));
            while waiting.len() > random.below(100) as usize {
                let (number, expected, outer) = waiting.pop_front().unwrap();
                if random.below(4) == 0 {
                    drop(outer);
                    continue;
                }
                let ended = catch_unwind(AssertUnwindSafe(|| block_on(outer))).ok();
                assert_eq!(ended, expected, "task {number} of seed {seed}");
            }
        }
        drop(waiting);
        drop(pool);
        assert_eq!(Arc::strong_count(&alive), 1, "every future was dropped, seed {seed}");
        drop(bell);
        ringer.join().unwrap();
    }
}
