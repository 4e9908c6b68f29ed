//! Sample contacts with methods and past searches. The hunt's own state machine generates the searches, so
//! they are what it would have written. Everything is derived from the number of the contact: the same
//! number yields the same entities.

use keyloom::{Entry, Item, Value};

use super::receiver::WEBHOOKS;
use crate::hunt::{self, Leg, Messages, MethodKey, Move, Stage};
use crate::jobs::attempt_id;
use crate::rows::{Kind, Status};
use crate::time::time_text;

/// The tenant of all samples.
const DOMAIN: &str = "acme";
/// All searches were opened in the weeks before the beginning of 2026.
const LAST_MS: i64 = 1_767_225_600_000;
const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;
const PATIENCE_SECONDS: i64 = 8;
/// The time until an answer: shorter than the wait for the next message.
const ANSWER_MS: i64 = 2_300;

const FIRST_NAMES: [&str; 24] = [
    "Ada", "Bruno", "Chiara", "Dev", "Elif", "Farah", "Goran", "Hana", "Ivo", "June", "Kofi",
    "Lena", "Mateo", "Nadia", "Omar", "Priya", "Quinn", "Rosa", "Sven", "Tomas", "Uma", "Viktor",
    "Wanda", "Yuki",
];
const LAST_NAMES: [&str; 19] = [
    "Okafor", "Silva", "Moretti", "Patel", "Kaya", "Haddad", "Novak", "Sato", "Marek", "Park",
    "Mensah", "Fischer", "Ruiz", "Ivanova", "Nasser", "Rao", "Murphy", "Delgado", "Lund",
];

/// A method without its contact.
#[derive(Clone, Copy)]
struct Way {
    kind: Kind,
    wait_seconds: i64,
    is_enabled: bool,
}

const fn way(kind: Kind, wait_seconds: i64) -> Way {
    Way { kind, wait_seconds, is_enabled: true }
}

/// The methods of contacts, used in rotation.
const WAYS: [&[Way]; 6] = [
    &[way(Kind::Email, 0), way(Kind::Text, 4), way(Kind::Webhook, 4), way(Kind::Call, 5)],
    &[way(Kind::Text, 0), way(Kind::Call, 5)],
    &[way(Kind::Webhook, 0), way(Kind::Email, 3), way(Kind::Call, 5)],
    &[
        way(Kind::Email, 0),
        way(Kind::Text, 0),
        Way { is_enabled: false, ..way(Kind::Webhook, 4) },
        way(Kind::Call, 6),
    ],
    &[way(Kind::Call, 0), way(Kind::Text, 4)],
    &[way(Kind::Text, 0), way(Kind::Email, 4), way(Kind::Webhook, 4)],
];

/// The templates and subjects of searches.
const INCIDENTS: [(&str, &[(&str, &str)]); 6] = [
    ("{service} has {error}", &[("service", "checkout"), ("error", "timeouts")]),
    ("{host} is down", &[("host", "db-3")]),
    ("Disk on {host} is {used} full", &[("host", "files-1"), ("used", "97 %")]),
    ("Backup of {database} failed", &[("database", "orders")]),
    ("{service}: latency is {latency}", &[("service", "search"), ("latency", "2.4 s")]),
    ("Certificate of {host} expires in {days} days", &[("host", "www"), ("days", "3")]),
];

/// How a search ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The message with this index is answered.
    Answered(usize),
    /// The first contact does not answer; the second answers the first message.
    AnsweredBySecond,
    /// Somebody cancels it after the first message.
    Canceled,
    /// Nobody answers.
    Failed,
}

/// The searches of contacts, oldest first, used in rotation.
const OUTCOMES: [&[Outcome]; 4] = [
    &[Outcome::Answered(0), Outcome::Failed, Outcome::AnsweredBySecond, Outcome::Answered(1)],
    &[Outcome::Answered(1), Outcome::Canceled],
    &[Outcome::AnsweredBySecond, Outcome::Answered(0), Outcome::Canceled],
    &[Outcome::Failed, Outcome::Answered(0)],
];

/// The sample contact with this number, from 0, among `size`, with its methods and past searches. Entries
/// refer only to earlier entries of the list.
pub fn sample(number: u64, size: u64) -> Vec<Entry> {
    let contact = Contact::of(number);
    let mut entries = vec![contact.entry()];
    entries.extend(contact.methods.iter().map(|method| method.entry(&contact.id)));
    let second = (size > 1).then(|| Contact::of((number + 1) % size));
    for (index, outcome) in picked(&OUTCOMES, number, OUTCOMES[0]).iter().enumerate() {
        let search = PastSearch { contact: &contact, second: second.as_ref(), number, index };
        entries.extend(search.entries(*outcome));
    }
    entries
}

fn picked<T: Copy>(among: &[T], number: u64, default: T) -> T {
    let index =
        number.checked_rem(among.len() as u64).and_then(|index| usize::try_from(index).ok());
    index.and_then(|index| among.get(index)).copied().unwrap_or(default)
}

fn entry<const N: usize>(entity: &str, id: &str, fields: [(&str, Value); N]) -> Entry {
    let (entity, tenant) = (entity.to_owned(), Some(Value::from(DOMAIN)));
    Entry { entity, tenant, id: id.to_owned(), fields: Item::from(fields) }
}

fn time(time_ms: i64) -> Value {
    Value::from(time_text(time_ms))
}

struct Contact {
    id: String,
    name: String,
    methods: Vec<Method>,
}

struct Method {
    id: String,
    way: Way,
    destination: String,
    position: i64,
}

impl Contact {
    fn of(number: u64) -> Contact {
        let id = format!("sample-{number:06}");
        let first = picked(&FIRST_NAMES, number, "Ada");
        // The lengths of the lists are coprime, so names repeat only after 24 * 19.
        let last = picked(&LAST_NAMES, number, "Okafor");
        let round = number / (FIRST_NAMES.len() * LAST_NAMES.len()) as u64;
        let (name, user) = match round {
            0 => (format!("{first} {last}"), format!("{first}.{last}")),
            _ => (format!("{first} {last} {}", round + 1), format!("{first}.{last}{}", round + 1)),
        };
        let user = user.to_lowercase();
        let phone = format!("+155501{:02}", number % 100);
        let ways = picked(&WAYS, number, WAYS[0]).iter().zip(1..);
        let methods = ways.map(|(way, position)| Method {
            id: format!("{id}-m{position}"),
            way: *way,
            destination: match way.kind {
                Kind::Email => format!("{user}@example.com"),
                Kind::Call | Kind::Text => phone.clone(),
                Kind::Webhook => format!("{WEBHOOKS}{user}"),
            },
            position,
        });
        let methods = methods.collect();
        Contact { id, name, methods }
    }

    fn entry(&self) -> Entry {
        let fields = [("domain", Value::from(DOMAIN)), ("name", Value::from(self.name.as_str()))];
        entry("contact", &self.id, fields)
    }

    /// The stage of a hunt for this contact.
    fn stage(&self, is_last: bool) -> Stage {
        let methods = self.methods.iter().map(|method| hunt::Method {
            key: MethodKey { position: method.position, method: method.id.clone() },
            wait_ms: method.way.wait_seconds * 1000,
            is_enabled: method.way.is_enabled,
            is_used: false,
        });
        let (methods, patience_ms) = (methods.collect(), PATIENCE_SECONDS * 1000);
        // Every message was delivered immediately.
        Stage { methods, patience_ms, is_last, messages: Messages::Tried { last_ms: i64::MIN } }
    }
}

impl Method {
    fn entry(&self, contact: &str) -> Entry {
        let fields = [
            ("contact", Value::from(contact)),
            ("kind", Value::from(self.way.kind.word())),
            ("destination", Value::from(self.destination.as_str())),
            ("wait_seconds", Value::from(self.way.wait_seconds)),
            ("enabled", Value::Bool(self.way.is_enabled)),
            ("position", Value::from(self.position)),
        ];
        entry("method", &self.id, fields)
    }
}

/// A past search for a contact.
struct PastSearch<'c> {
    contact: &'c Contact,
    second: Option<&'c Contact>,
    number: u64,
    /// Its index among the searches of the contact.
    index: usize,
}

/// The result of a simulated hunt.
struct Played<'c> {
    attempts: Vec<Sent<'c>>,
    step: i64,
    escalated: Vec<i64>,
    ended_ms: i64,
}

/// A message of a search.
struct Sent<'c> {
    stage: u32,
    contact: &'c Contact,
    method: &'c Method,
    created_ms: i64,
}

impl<'c> PastSearch<'c> {
    fn id(&self) -> String {
        format!("{}-s{}", self.contact.id, self.index + 1)
    }

    fn created_ms(&self) -> i64 {
        let index = i64::try_from(self.index).unwrap_or_default();
        let number = i64::try_from(self.number % 100).unwrap_or_default();
        let before_ms = (28 - 6 * index) * DAY_MS - (number * 37 + index * 211) * MINUTE_MS;
        LAST_MS - before_ms - (number % 60) * 1000
    }

    /// The contacts in order of escalation.
    fn contacts(&self, outcome: Outcome) -> Vec<&'c Contact> {
        let is_escalated = matches!(outcome, Outcome::AnsweredBySecond | Outcome::Failed);
        std::iter::once(self.contact).chain(self.second.filter(|_| is_escalated)).collect()
    }

    fn entries(&self, outcome: Outcome) -> Vec<Entry> {
        let contacts = self.contacts(outcome);
        // A single contact has no second one to answer.
        let outcome = match outcome {
            Outcome::AnsweredBySecond if contacts.len() == 1 => Outcome::Answered(0),
            other => other,
        };
        let played = self.play(&contacts, outcome);
        let answered = match outcome {
            Outcome::Answered(index) => played.attempts.get(index),
            Outcome::AnsweredBySecond => played.attempts.iter().find(|sent| sent.stage == 1),
            Outcome::Canceled | Outcome::Failed => None,
        };
        let mut entries = vec![self.entry(&contacts, outcome, (&played, answered))];
        for sent in &played.attempts {
            let is_answered = answered.is_some_and(|answered| std::ptr::eq(answered, sent));
            entries.push(sent.entry(&self.id(), is_answered.then_some(played.ended_ms)));
        }
        entries
    }

    /// Simulates the hunt until the outcome.
    fn play(&self, contacts: &[&'c Contact], outcome: Outcome) -> Played<'c> {
        let mut now_ms = self.created_ms();
        let mut leg = Leg { stage: 0, since_ms: now_ms, after: None };
        let mut played = Played { attempts: vec![], step: 0, escalated: vec![], ended_ms: now_ms };
        loop {
            let index = usize::try_from(leg.stage).unwrap_or_default();
            let Some(contact) = contacts.get(index).copied() else { return played };
            let stage = contact.stage(index + 1 == contacts.len());
            played.step += 1;
            match hunt::next(&leg, &stage, now_ms) {
                Move::Wait { until_ms } => now_ms = until_ms,
                Move::Use { methods, next } => {
                    let (stage_number, created_ms) = (leg.stage, now_ms);
                    let used = |method: &&Method| methods.iter().any(|p| p.method == method.id);
                    played.attempts.extend(
                        contact.methods.iter().filter(used).map(|method| Sent {
                            stage: stage_number,
                            contact,
                            method,
                            created_ms,
                        }),
                    );
                    if outcome.is_reached(leg.stage, played.attempts.len()) {
                        played.ended_ms = now_ms + ANSWER_MS;
                        return played;
                    }
                    leg = next;
                    if let Move::Wait { until_ms } = hunt::next(&leg, &stage, now_ms) {
                        now_ms = until_ms;
                    }
                }
                Move::Escalate { next } => {
                    played.escalated.push(now_ms);
                    leg = next;
                }
                Move::Fail => {
                    played.ended_ms = now_ms;
                    return played;
                }
            }
        }
    }

    fn entry(
        &self,
        contacts: &[&Contact],
        outcome: Outcome,
        (played, answered): (&Played<'_>, Option<&Sent<'_>>),
    ) -> Entry {
        let (message, gaps) = picked(&INCIDENTS, self.number + self.index as u64 * 5, INCIDENTS[0]);
        let mut subject = Item::new();
        for (name, value) in gaps {
            subject.insert(*name, Value::from(*value));
        }
        let then = contacts.iter().skip(1).map(|contact| Value::from(contact.id.as_str()));
        let escalated = played.escalated.iter().map(|time_ms| time(*time_ms));
        let fields = [
            ("domain", Value::from(DOMAIN)),
            ("contact", Value::from(self.contact.id.as_str())),
            ("then", Value::L(then.collect())),
            ("status", Value::from(outcome.status().word())),
            ("created", time(self.created_ms())),
            ("subject", Value::M(subject)),
            ("message", Value::from(message)),
            ("patience_seconds", Value::from(PATIENCE_SECONDS)),
            ("stage", Value::from(played.escalated.len() as i64)),
            ("step", Value::from(played.step)),
            ("escalated", Value::L(escalated.collect())),
            ("ended", time(played.ended_ms)),
            ("resolution", Value::M(self.resolution(outcome, answered))),
        ];
        entry("search", &self.id(), fields)
    }

    fn resolution(&self, outcome: Outcome, answered: Option<&Sent<'_>>) -> Item {
        match (outcome, answered) {
            (Outcome::Canceled, _) => {
                Item::from([("by", "Operations"), ("reason", "It recovered by itself.")])
            }
            (_, Some(sent)) => {
                let mut resolution = sent.answer();
                resolution.insert("attempt", sent.id(&self.id()));
                resolution
            }
            (_, None) => Item::from([("by", "the hunt"), ("reason", "Nobody answered.")]),
        }
    }
}

impl Outcome {
    fn status(self) -> Status {
        match self {
            Outcome::Answered(_) | Outcome::AnsweredBySecond => Status::Successful,
            Outcome::Canceled => Status::Canceled,
            Outcome::Failed => Status::Failed,
        }
    }

    /// Whether the search ends after this many messages.
    fn is_reached(self, stage: u32, messages: usize) -> bool {
        match self {
            Outcome::Answered(index) => messages > index,
            Outcome::AnsweredBySecond => stage == 1,
            Outcome::Canceled => true,
            Outcome::Failed => false,
        }
    }
}

impl Sent<'_> {
    fn id(&self, search: &str) -> String {
        attempt_id(search, self.stage, &self.method.id)
    }

    /// The answer to a message of its kind.
    fn answer(&self) -> Item {
        match self.method.way.kind {
            Kind::Call => Item::from([("by", "digits"), ("note", "1")]),
            Kind::Text => Item::from([("by", "text"), ("note", "OK")]),
            Kind::Email | Kind::Webhook => Item::from([("by", "link")]),
        }
    }

    fn entry(&self, search: &str, answered_ms: Option<i64>) -> Entry {
        let id = self.id(search);
        let mut attempt = entry(
            "attempt",
            &id,
            [
                ("search", Value::from(search)),
                ("stage", Value::from(i64::from(self.stage))),
                ("contact", Value::from(self.contact.id.as_str())),
                ("name", Value::from(self.contact.name.as_str())),
                ("method", Value::from(self.method.id.as_str())),
                ("kind", Value::from(self.method.way.kind.word())),
                ("destination", Value::from(self.method.destination.as_str())),
                ("position", Value::from(self.method.position)),
                ("created", time(self.created_ms)),
                ("status", Value::from("delivered")),
                ("delivered", time(self.created_ms)),
            ],
        );
        if let Some(time_ms) = answered_ms {
            let mut answer = self.answer();
            answer.insert("time_ms", Value::from(time_ms));
            attempt.fields.insert("answer", Value::M(answer));
        }
        attempt
    }
}
