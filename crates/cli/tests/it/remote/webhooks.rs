//! Webhooks and events with a DynamoDB stream as the change feed.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use keyloom::events::{Deliver, Delivery, Failure, Handlers, Next};
use keyloom::{Clock, Db, Error, Options, Store};
use keyloom_store::Error as StoreError;
use keyloom_testkit::ManualClock;
use pollster::block_on;
use serde_json::{Value as Json, json};

use super::endpoint::{ATTEMPTS_MAX, OwnEndpoint, remote};

const MODEL: &str = r#"
[entity.page]
id = "given"
fields.text = "text?"
[on.page]
insert = "other"
update = { webhook = "https://example.com/pages" }
"#;

/// Fails every other time.
#[derive(Debug, Default)]
struct Receiver {
    came: Mutex<Vec<Json>>,
    attempts: Mutex<u32>,
}

impl Deliver for Receiver {
    fn deliver(
        &self,
        delivery: Delivery,
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>> {
        Box::pin(async move {
            let mut attempts = self.attempts.lock().unwrap();
            *attempts += 1;
            if *attempts % 2 == 1 {
                return Err(Failure::new("not now"));
            }
            self.came.lock().unwrap().push(serde_json::from_str(&delivery.body).unwrap());
            Ok(())
        })
    }
}

fn open(store: &Arc<dyn Store>, clock: &ManualClock) -> Db {
    let options = Options { clock: Arc::new(clock.clone()), ..Options::default() };
    block_on(Db::open_with(MODEL, store.clone(), options)).unwrap()
}

#[test]
fn the_largest_updates_are_posted_from_a_stream() {
    let clock = ManualClock::new();
    let endpoint = OwnEndpoint::start(&clock);
    let store: Arc<dyn Store> = Arc::new(remote(&endpoint.url, ATTEMPTS_MAX));
    let db = open(&store, &clock);
    let receiver = Arc::new(Receiver::default());
    let handlers = Handlers::new().webhooks(receiver.clone()).leave_others();
    // JSON writes each of these as six bytes.
    let text = |byte: char, bytes: usize| byte.to_string().repeat(bytes);
    let texts = [text('a', 170 * 1024), text('b', 170 * 1024), text('\u{1}', 320 * 1024 - 100)];
    for text in &texts {
        block_on(db.put("page", "p", &json!({ "text": text }))).unwrap();
    }
    for _ in 0..200 {
        match block_on(db.work(&handlers)).unwrap().next {
            Next::Now => {}
            Next::At(ms) => {
                let wait = u64::try_from(ms).unwrap().saturating_sub(clock.now().0);
                clock.advance_ms(wait.max(25 * 60 * 60 * 1000));
            }
            Next::Idle => break,
        }
    }
    let came = receiver.came.lock().unwrap();
    assert_eq!(came.len(), 2);
    for (event, pair) in came.iter().zip(texts.windows(2)) {
        assert!(event["old"]["text"] == json!(pair[0]) && event["new"]["text"] == json!(pair[1]));
    }
}

#[test]
fn a_position_beyond_the_end_of_a_stream_is_an_error() {
    let clock = ManualClock::new();
    let endpoint = OwnEndpoint::start(&clock);
    let store: Arc<dyn Store> = Arc::new(remote(&endpoint.url, ATTEMPTS_MAX));
    let db = open(&store, &clock);
    block_on(db.put("page", "p", &json!({ "text": "a" }))).unwrap();
    let newest = block_on(db.newest_position()).unwrap();
    assert!(block_on(db.events(&newest, 10)).unwrap().events.is_empty());
    let newest = newest.to_string();
    let (shard, _) = newest.rsplit_once(':').unwrap();
    let beyond = format!("{shard}:99999999999999999999").parse().unwrap();
    let error = block_on(db.events(&beyond, 10)).unwrap_err();
    assert!(matches!(error, Error::Store(StoreError::ChangesAhead { .. })), "{error}");
}
