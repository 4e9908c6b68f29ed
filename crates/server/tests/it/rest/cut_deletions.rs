//! Large deletions over HTTP that are interrupted at a random point: by a client that sends a part of its
//! request or disconnects, by the time limit, by `kill -9`. Concurrent readers see the state before or
//! after the deletion, and never the state before once they have seen the one after. The rest of the
//! deletion runs in the background and ends in the same state, with every row correct.
//!
//! The point is a random call of the store. A deletion can be held there and examined; one that runs on is
//! interrupted a little later. No assertion depends on timing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use proptest::prelude::*;

use super::ask::Ask;
use super::cut_stage::{Addresses, Event, Pace, Side, Size, Stage, in_memory, on_files};
use super::cut_watcher::{Expected, Watcher};
use crate::cases::for_all;
use crate::rig::Answer;

/// Set for the process that is killed: its directory, the call of the store, and its pace.
const VICTIM: &str = "KEYLOOM_CUT_DIRECTORY";
const VICTIM_AT: &str = "KEYLOOM_CUT_AT";
const VICTIM_IS_HELD: &str = "KEYLOOM_CUT_IS_HELD";
/// Longer than any deletion takes.
const LONG: Duration = Duration::from_secs(60);

/// How a deletion is interrupted.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// The client sends a part of its request and disconnects.
    Part,
    /// The client disconnects when the deletion has reached the call.
    Gone(Pace),
    /// The request times out after this many milliseconds.
    Late(Pace, u64),
}

#[derive(Clone, Debug)]
struct Case {
    size: Size,
    cut: Cut,
    /// Where, in thousandths of the deletion or of the request.
    at: u64,
    seed: u64,
}

impl Case {
    fn call_of(&self, expected: &Expected) -> u64 {
        1 + self.at * expected.calls / 1_000
    }
}

fn sizes() -> impl Strategy<Value = Size> {
    let numbers = (26..44_usize, 2..6_usize, 3..9_usize, 0..1_000_usize);
    numbers.prop_map(|(files, others, pins, shift)| Size { files, others, pins, shift })
}

fn paces() -> impl Strategy<Value = Pace> {
    prop_oneof![Just(Pace::Held), Just(Pace::Running)]
}

fn cases(cuts: impl Strategy<Value = Cut>) -> impl Strategy<Value = Case> {
    let drawn = (sizes(), cuts, 0..=1_000_u64, any::<u64>());
    drawn.prop_map(|(size, cut, at, seed)| Case { size, cut, at, seed })
}

/// Ends other threads on drop, also when the test fails.
struct Over<'o>(&'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Requests the deletion, and reports the response. The connection can be closed meanwhile.
fn delete(address: SocketAddr, tell: &Sender<Event>) -> TcpStream {
    let mut client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(LONG)).unwrap();
    client.write_all(&Ask::delete("/folders/f0").bytes()).unwrap();
    let (mut answering, tell) = (client.try_clone().unwrap(), tell.clone());
    std::thread::spawn(move || {
        // The receiver may be gone.
        let _ = tell.send(Event::Answered(Answer::read(&mut answering).status));
    });
    client
}

fn next(events: &Receiver<Event>) -> Event {
    events.recv_timeout(LONG).expect("something happens")
}

/// Interrupts a deletion. Returns whether it was acknowledged.
fn cut(case: &Case, stage: &Stage, (tell, events): (&Sender<Event>, &Receiver<Event>)) -> bool {
    let address = stage.deleting.address;
    match case.cut {
        Cut::Part => {
            let request = Ask::delete("/folders/f0").bytes();
            let bytes = request.len() * case.at as usize / 1_000;
            let mut client = TcpStream::connect(address).unwrap();
            client.write_all(&request[..bytes]).unwrap();
            client.shutdown(Shutdown::Both).unwrap();
            false
        }
        Cut::Gone(pace) => {
            let client = delete(address, tell);
            let first = next(events);
            client.shutdown(Shutdown::Both).unwrap();
            if (first, pace) == (Event::Reached, Pace::Held) {
                // The server notices that the client is gone.
                while next(events) != Event::Dropped {}
            }
            first == Event::Answered(204)
        }
        Cut::Late(pace, _) => {
            let _client = delete(address, tell);
            let mut seen = vec![next(events)];
            let is_answered = |event: &Event| matches!(event, Event::Answered(_));
            while !seen.iter().any(is_answered) {
                seen.push(next(events));
            }
            if pace == Pace::Held && seen.contains(&Event::Reached) {
                assert!(seen.contains(&Event::Answered(503)), "{seen:?}");
                while !seen.contains(&Event::Dropped) {
                    seen.push(next(events));
                }
            }
            seen.contains(&Event::Answered(204))
        }
    }
}

/// Reads while the rest of the deletion runs in the background; it must end in the state it was in.
fn settle(stage: &Stage, watcher: &mut Watcher<'_>) -> Side {
    let side = watcher.look_around();
    // Verifying does not resume deletions.
    stage.assert_clean();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _over = Over(&is_over);
        scope.spawn(|| watcher.watch_until(&is_over));
        stage.go_on();
    });
    assert_eq!(watcher.look_around(), side, "it is decided");
    stage.assert_settled();
    stage.assert_clean();
    side
}

#[test]
fn an_interrupted_deletion_is_visible_completely_or_not_at_all() {
    let cuts = prop_oneof![
        1 => Just(Cut::Part),
        4 => paces().prop_map(Cut::Gone),
        2 => (1..250_u64).prop_map(|ms| Cut::Late(Pace::Running, ms)),
        1 => Just(Cut::Late(Pace::Held, 400)),
    ];
    for_all(10, cases(cuts), |case| {
        let expected = Expected::of(&case.size);
        let answer_time = match case.cut {
            Cut::Part | Cut::Gone(_) => LONG,
            Cut::Late(_, ms) => Duration::from_millis(ms),
        };
        let mut stage = Stage::open(in_memory(), answer_time);
        stage.fill(&case.size, Side::Before);
        let (tell, events) = channel();
        let pace = match case.cut {
            Cut::Part => Pace::Running,
            Cut::Gone(pace) | Cut::Late(pace, _) => pace,
        };
        stage.cut_at((case.call_of(&expected), pace), &tell);
        let mut watcher = Watcher::new(&expected, stage.reading.address, case.seed);
        let is_over = AtomicBool::new(false);
        let is_acknowledged = std::thread::scope(|scope| {
            let _over = Over(&is_over);
            scope.spawn(|| watcher.watch_until(&is_over));
            cut(&case, &stage, (&tell, &events))
        });
        stage.stop_deleting();
        let side = settle(&stage, &mut watcher);
        assert!(side == Side::After || !is_acknowledged, "it was acknowledged");
        let is_whole = case.at == 1_000 || !matches!(case.cut, Cut::Part);
        assert!(side == Side::Before || is_whole, "half a request deletes nothing");
    });
}

/// A directory that is removed on drop.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Directory {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::SeqCst);
        let name = format!("keyloom-cut-{}-{number}", std::process::id());
        Directory(std::env::temp_dir().join(name))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Serves until it is killed. Does nothing in an ordinary run.
#[test]
fn victim() {
    let Some(directory) = std::env::var_os(VICTIM) else { return };
    let at = std::env::var(VICTIM_AT).unwrap().parse().unwrap();
    let is_held = std::env::var(VICTIM_IS_HELD).unwrap() == "true";
    let stage = Stage::open(on_files(Path::new(&directory)), LONG);
    let (tell, events) = channel();
    stage.cut_at((at, if is_held { Pace::Held } else { Pace::Running }), &tell);
    // The test harness has started a line.
    println!("\nserving {} {}", stage.deleting.address, stage.reading.address);
    std::thread::spawn(move || {
        while let Ok(event) = events.recv() {
            println!("\n{event:?}");
        }
    });
    // Ends with its parent, if it is not killed.
    let _ = std::io::stdin().read(&mut [0]);
}

/// A server process.
struct Victim {
    process: Child,
    addresses: Addresses,
}

impl Victim {
    fn start(directory: &Path, (at, pace): (u64, Pace), tell: &Sender<Event>) -> Victim {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["rest::cut_deletions::victim", "--exact", "--nocapture", "--test-threads=1"])
            .env(VICTIM, directory)
            .env(VICTIM_AT, at.to_string())
            .env(VICTIM_IS_HELD, (pace == Pace::Held).to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let serving = lines.find_map(|line| line.strip_prefix("serving ").map(str::to_owned));
        let serving = serving.expect("it serves");
        let (deleting, reading) = serving.split_once(' ').unwrap();
        let addresses = (deleting.parse().unwrap(), reading.parse().unwrap());
        let tell = tell.clone();
        std::thread::spawn(move || {
            for _ in lines.filter(|line| line == "Reached") {
                let _ = tell.send(Event::Reached);
            }
        });
        Victim { process, addresses }
    }

    /// As `kill -9` does.
    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_deletion_whose_server_is_killed_is_visible_completely_or_not_at_all() {
    for_all(6, cases(paces().prop_map(Cut::Gone)), |case| {
        let Cut::Gone(pace) = case.cut else { return };
        let expected = Expected::of(&case.size);
        let directory = Directory::new();
        Stage::open(on_files(&directory.0), LONG).fill(&case.size, Side::Before);
        let (tell, events) = channel();
        let at = case.call_of(&expected);
        let mut victim = Victim::start(&directory.0, (at, pace), &tell);
        let (deleting, reading) = victim.addresses;
        let mut watcher = Watcher::new(&expected, reading, case.seed);
        let is_over = AtomicBool::new(false);
        let is_acknowledged = std::thread::scope(|scope| {
            let _over = Over(&is_over);
            scope.spawn(|| watcher.watch_until(&is_over));
            let _client = delete(deleting, &tell);
            let first = next(&events);
            victim.kill();
            first == Event::Answered(204)
        });
        // What a reader has seen was on disk already.
        let stage = Stage::open(on_files(&directory.0), LONG);
        watcher.move_to(stage.reading.address);
        let side = settle(&stage, &mut watcher);
        assert!(side == Side::After || !is_acknowledged, "it was acknowledged");
    });
}
