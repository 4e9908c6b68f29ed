//! A client that follows a query: what it shows must be what the query returned at the position that events
//! name.

use std::collections::VecDeque;

use pollster::block_on;
use serde_json::Value as Json;

use super::ask::Ask;
use super::changes::{Stream, Told};
use super::served::Served;
use super::stages::encoded;

/// A followed query, and what a client shows of it.
pub(super) struct Client {
    pub(super) path: String,
    token: String,
    stream: Stream,
    pub(super) body: Json,
    /// The id of the last event.
    id: String,
    /// The position of what is shown, as text.
    commit: String,
    /// The one of what was shown first.
    start: String,
    /// What the query has returned since, if that is noted.
    moments: VecDeque<Moment>,
    /// Whether the query is refused by now, so that nothing is followed any more.
    pub(super) is_over: bool,
}

/// What a query returns from a position on.
struct Moment {
    position: u128,
    returned: Returned,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Returned {
    Body(Json),
    /// A problem with this status.
    Refused(u16),
}

/// The request that follows a query.
pub(super) fn live(path: &str, token: &str) -> Ask {
    let sign = if path.contains('?') { '&' } else { '?' };
    Ask::get(&format!("{path}{sign}$live=true")).bearer(token)
}

/// What a query returns now; null if it is about an entity that does not exist.
pub(super) fn get(served: &Served, path: &str, token: &str) -> Json {
    match returned(served, path, token) {
        Returned::Body(body) => body,
        Returned::Refused(404) => Json::Null,
        Returned::Refused(status) => panic!("{path}: {status}"),
    }
}

fn returned(served: &Served, path: &str, token: &str) -> Returned {
    let answer = served.ask(&Ask::get(path).bearer(token));
    match answer.status {
        200 => Returned::Body(answer.json()),
        status => Returned::Refused(status),
    }
}

/// The number in a position of a feed that has one shard.
fn number(position: &str) -> u128 {
    let (_, number) = position.rsplit_once(':').expect("a position");
    number.parse().expect("a number")
}

/// Applies an event as the documentation says.
pub(super) fn apply(body: &mut Json, told: &Told) {
    let data = &told.data;
    let at = data["at"].as_u64().map_or(0, |at| usize::try_from(at).expect("small"));
    let is_one = body.get("items").is_none();
    match told.name.as_str() {
        "page" => *body = data["body"].clone(),
        "leave" if is_one => *body = Json::Null,
        "enter" | "change" if is_one => *body = data["item"].clone(),
        "leave" => drop(items(body).remove(at)),
        "enter" => items(body).insert(at, data["item"].clone()),
        "change" => items(body)[at] = data["item"].clone(),
        "move" => {
            let from = usize::try_from(data["from"].as_u64().expect("a place")).expect("small");
            items(body).remove(from);
            items(body).insert(at, data["item"].clone());
        }
        "total" | "count" | "rank" | "set" => {
            let member = data["member"].as_str().expect("a name").to_owned();
            let members = body.as_object_mut().expect("an object");
            match data.get("value") {
                Some(value) => drop(members.insert(member, value.clone())),
                None => drop(members.remove(&member)),
            }
        }
        other => panic!("an event `{other}`"),
    }
}

fn items(body: &mut Json) -> &mut Vec<Json> {
    body["items"].as_array_mut().expect("items")
}

impl Client {
    pub(super) fn open(served: &Served, path: &str, token: &str) -> Client {
        let mut stream = Stream::open(served, &live(path, token));
        let first = stream.next_or_end().expect("a page");
        assert_eq!(first.name, "page", "{path}");
        let commit = first.data["commit"].as_str().expect("a position").to_owned();
        Client {
            path: path.to_owned(),
            token: token.to_owned(),
            stream,
            body: first.data["body"].clone(),
            id: first.id,
            start: commit.clone(),
            commit,
            moments: VecDeque::new(),
            is_over: false,
        }
    }

    /// Notes what the query returns now, at the end of a feed that has one shard.
    pub(super) fn note(&mut self, served: &Served) {
        let position = block_on(served.db.newest_position()).expect("a position");
        let returned = returned(served, &self.path, &self.token);
        self.moments.push_back(Moment { position: number(&position.to_string()), returned });
    }

    /// Connects again, as somebody who was interrupted at any event.
    pub(super) fn reconnect(&mut self, served: &Served) {
        let again = live(&self.path, &self.token).header("Last-Event-ID", &self.id);
        match returned(served, &self.path, &self.token) {
            Returned::Body(_) => self.stream = Stream::open(served, &again),
            Returned::Refused(status) => {
                assert_eq!(served.ask(&again).status, status, "{}", self.path);
                self.is_over = true;
            }
        }
    }

    /// Reads events until what was noted last is shown.
    pub(super) fn follow(&mut self, served: &Served) {
        let last = self.moments.back().expect("something is noted").returned.clone();
        while !self.is_over && !self.shows(&last) {
            let told = self.stream.next_or_end().unwrap_or_else(|| {
                panic!("{}: {} is shown instead of {last:?}", self.path, self.body)
            });
            match told.name.as_str() {
                "error" => self.end(served, &told),
                _ => self.take(&told),
            }
        }
    }

    /// Reads events until what the query returns now is shown. Returns how many.
    pub(super) fn settle(&mut self, served: &Served) -> usize {
        let (last, mut count) = (get(served, &self.path, &self.token), 0);
        while self.body != last {
            let told = self.stream.next_or_end().unwrap_or_else(|| {
                panic!("{}: {} is shown instead of {last}", self.path, self.body)
            });
            self.take(&told);
            count += 1;
        }
        count
    }

    fn shows(&self, returned: &Returned) -> bool {
        match returned {
            Returned::Body(body) => self.body == *body,
            Returned::Refused(status) => *status == 404 && self.body.is_null(),
        }
    }

    /// The stream has ended because the query was refused at a moment.
    fn end(&mut self, served: &Served, told: &Told) {
        let is_it = |moment: &Moment| match moment.returned {
            Returned::Body(_) => false,
            Returned::Refused(status) => told.data["status"] == status,
        };
        let (path, data) = (&self.path, &told.data);
        assert!(self.moments.iter().any(is_it), "{path} was never refused: {data}");
        assert_eq!(self.stream.next_or_end(), None, "{path}");
        self.reconnect(served);
    }

    /// Applies an event. The last one of a group leads to what the query returned at the position that it
    /// names.
    fn take(&mut self, told: &Told) {
        apply(&mut self.body, told);
        self.id.clone_from(&told.id);
        let commit = told.data["commit"].as_str().expect("a position");
        if self.id.starts_with('~') {
            return;
        }
        let before = std::mem::replace(&mut self.commit, commit.to_owned());
        if self.moments.is_empty() {
            return;
        }
        let (path, body, commit) = (&self.path, &self.body, number(commit));
        assert!(number(&before) <= commit, "{path}: {commit} follows {before}");
        let is_later = |moment: &Moment| moment.position > commit;
        let count = self.moments.iter().position(is_later).unwrap_or(self.moments.len());
        let last = count.checked_sub(1).unwrap_or_else(|| panic!("{path}: {commit} is too early"));
        let returned = &self.moments[last].returned;
        assert!(
            self.shows(returned),
            "{path}: {body} is shown at {commit} instead of {returned:?}"
        );
        self.moments.drain(..last);
    }

    /// Checks that the position of what is shown can be used in the change feed: what follows there is exactly
    /// what happened after it.
    pub(super) fn check_commit(&self, served: &Served) {
        let is_later = |event: &Json| {
            number(event["position"].as_str().expect("a position")) > number(&self.commit)
        };
        let all = self.events(served, &self.start);
        let expected: Vec<Json> = all.into_iter().filter(is_later).collect();
        let after = self.events(served, &self.commit);
        assert_eq!(after, expected, "{} at {}", self.path, self.commit);
    }

    /// Checks that the feed can be read on from the position of what is shown, also if it has several shards.
    pub(super) fn check_commit_can_be_used(&self, served: &Served) {
        self.events(served, &self.commit);
    }

    fn events(&self, served: &Served, after: &str) -> Vec<Json> {
        let ask = Ask::get(&format!("/changes/page?limit=1000&after={}", encoded(after)));
        let page = served.ask(&ask.bearer(&self.token)).expect_json(200);
        assert_eq!(page["more"], false, "{}", self.path);
        page["items"].as_array().expect("events").clone()
    }
}
