//! Readers of data that a large deletion affects: each response is exactly the one before or the one after
//! it, and never the one before once one was the one after.

use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keyloom_testkit::Random;
use serde_json::Value;

use super::ask::Ask;
use super::cut_stage::{Side, Size, Stage, in_memory};
use crate::rig::Answer;

/// Requests, and their responses before and after the deletion.
pub(crate) struct Expected {
    asked: Vec<Look>,
    /// How many calls of the store the deletion makes.
    pub(crate) calls: u64,
}

struct Look {
    path: String,
    before: String,
    after: String,
}

impl Expected {
    /// The responses after it are those of a database that never had the deleted data, and those after an
    /// uninterrupted deletion.
    pub(crate) fn of(size: &Size) -> Expected {
        let answers = |side: Side, rehearse: bool| {
            let stage = Stage::open(in_memory(), Duration::from_secs(30));
            stage.fill(size, side);
            let calls = if rehearse { stage.rehearse() } else { 0 };
            let mut connection = Connection::open(stage.reading.address);
            let answer = |path: &String| connection.ask(path).unwrap();
            (paths(size).iter().map(answer).collect::<Vec<String>>(), calls)
        };
        let ((before, _), (after, _)) = (answers(Side::Before, false), answers(Side::After, false));
        let (deleted, calls) = answers(Side::Before, true);
        let asked = paths(size).into_iter().zip(before.into_iter().zip(after));
        let asked = asked.map(|(path, (before, after))| Look { path, before, after });
        let asked: Vec<Look> = asked.collect();
        for (look, deleted) in asked.iter().zip(deleted) {
            assert_eq!(look.after, deleted, "{}", look.path);
        }
        assert!(asked.iter().filter(|look| look.before != look.after).count() > 12);
        Expected { asked, calls }
    }
}

/// Entities, references, lists, totals, facets, counts and boards.
fn paths(size: &Size) -> Vec<String> {
    let mut paths: Vec<String> = [
        "/files/lists/by_size?limit=1000&total=true",
        "/files/lists/by_size?limit=1000&kind=text&total=true",
        "/files/lists/by_size?limit=1000&tag=team:t1&total=true",
        "/pins/lists/all?limit=1000&total=true",
        "/pins/lists/all?limit=1000&folder=f1&total=true",
        "/files/counts/files",
        "/files/counts/files?split=author,kind",
        "/files/counts/files?kind=image",
        "/pins/counts/pins?split=folder",
        "/boards/authors?limit=100",
        "/boards/largest?limit=1000",
        "/boards/largest?limit=3",
        "/boards/folders",
    ]
    .map(str::to_owned)
    .to_vec();
    for folder in ["f0", "f1", "kept"] {
        paths.push(format!("/folders/{folder}"));
        paths.push(format!("/folders/{folder}?with=files"));
        paths.push(format!("/pins/lists/in_folder?limit=1000&folder={folder}"));
        paths.push(format!("/boards/folders/{folder}"));
        paths.push(format!("/boards/best?folder={folder}"));
    }
    for author in ["a0", "a1", "a2", "a3"] {
        paths.push(format!("/files/lists/of_author?limit=1000&author={author}"));
        paths.push(format!("/boards/authors/{author}"));
        paths.push(format!("/boards/authors?around={author}&limit=1"));
    }
    for file in [0, 1, size.files - 1, size.files, size.files + 1] {
        paths.push(format!("/files/{file}"));
        paths.push(format!("/boards/largest/{file}"));
    }
    paths.extend((0..size.pins).map(|pin| format!("/pins/{pin}")));
    paths
}

/// A reader.
pub(crate) struct Watcher<'w> {
    expected: &'w Expected,
    connection: Connection,
    random: Random,
    /// Whether a response was the one after.
    pub(crate) has_happened: bool,
}

impl Watcher<'_> {
    pub(crate) fn new(expected: &Expected, address: SocketAddr, seed: u64) -> Watcher<'_> {
        let (connection, random) = (Connection::open(address), Random::new(seed));
        Watcher { expected, connection, random, has_happened: false }
    }

    /// Continues on another address.
    pub(crate) fn move_to(&mut self, address: SocketAddr) {
        self.connection = Connection::open(address);
    }

    /// Sends one request after the other until the end, or until the server is gone.
    pub(crate) fn watch_until(&mut self, is_over: &AtomicBool) {
        while !is_over.load(Ordering::SeqCst) {
            let number = self.random.index(self.expected.asked.len());
            if self.look(number) == Seen::Nothing {
                return;
            }
        }
    }

    /// Sends all requests while nothing changes: all responses must be of one state, which is returned.
    pub(crate) fn look_around(&mut self) -> Side {
        let looks = (0..self.expected.asked.len()).map(|number| self.look(number));
        let looks: Vec<Seen> = looks.collect();
        let side = if self.has_happened { Side::After } else { Side::Before };
        for (look, asked) in looks.into_iter().zip(&self.expected.asked) {
            let is_of_it = look == Seen::Either || look == Seen::Only(side);
            assert!(is_of_it, "{look:?} and not {side:?}: {}", asked.path);
        }
        side
    }

    fn look(&mut self, number: usize) -> Seen {
        let Look { path, before, after } = &self.expected.asked[number];
        let Some(found) = self.connection.ask(path) else { return Seen::Nothing };
        let seen = match (found == *before, found == *after) {
            (true, true) => Seen::Either,
            (true, false) => Seen::Only(Side::Before),
            (false, true) => Seen::Only(Side::After),
            (false, false) => panic!("{path}: {found}\nbefore: {before}\nafter:  {after}"),
        };
        let is_back = self.has_happened && seen == Seen::Only(Side::Before);
        assert!(!is_back, "{path} is as before again: {found}\nafter: {after}");
        self.has_happened |= seen == Seen::Only(Side::After);
        seen
    }
}

/// The result of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// The response is the same before and after.
    Either,
    Only(Side),
    /// The server is gone.
    Nothing,
}

/// Replaces versions and cursors, which differ between databases.
fn comparable(answer: Value) -> Value {
    match answer {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(name, _)| name != "version");
            let field = |(name, value): (String, Value)| match name.as_str() {
                "next" | "previous" => (name, true.into()),
                _ => (name, comparable(value)),
            };
            Value::Object(fields.map(field).collect())
        }
        Value::Array(items) => items.into_iter().map(comparable).collect(),
        other => other,
    }
}

/// A connection that may end at any time.
struct Connection(BufReader<TcpStream>);

impl Connection {
    fn open(address: SocketAddr) -> Connection {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Connection(BufReader::new(stream))
    }

    /// The body of an answer, or the status of a problem; none if the connection ends.
    fn ask(&mut self, path: &str) -> Option<String> {
        self.0.get_mut().write_all(&Ask::get(path).bytes()).ok()?;
        let head = Answer::read_head(&mut self.0);
        let length = head.header("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).ok()?;
        match head.status {
            0 => None,
            200 => Some(comparable(serde_json::from_slice(&body).unwrap()).to_string()),
            // The detail of a problem depends on the request.
            status => Some(status.to_string()),
        }
    }
}
