//! Handlers, jobs and dead letters as the page about events shows them.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use keyloom::events::{Deliver, Delivery, Effects, Failure, Handlers, Job, Next};
use keyloom::{Change, Db, Error, Number, Value};
use keyloom_testkit::readme::blocks;
use serde_json::json;
use tokio::sync::mpsc;

use super::{open, run};

const PAGE: &str = include_str!("../../../../../docs/events.md");

/// Posts to nobody, and reports what it was given.
#[derive(Debug)]
struct Poster(mpsc::UnboundedSender<Delivery>);

impl Deliver for Poster {
    fn deliver(
        &self,
        delivery: Delivery,
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>> {
        self.0.send(delivery).unwrap();
        Box::pin(async { Ok(()) })
    }
}

#[expect(unused_variables, reason = "as on the page")]
async fn work<W: Future<Output = ()>>(
    db: Db,
    poster: Poster,
    wait_a_moment: impl Fn() -> W,
) -> Result<(), Error> {
    // The first example.
    let handlers = Handlers::new()
        .event("bill", |event| {
            let order = event.new.as_ref().ok_or_else(|| Failure::fatal("no order"))?;
            let amount = order.get("amount").and_then(Value::as_n).and_then(Number::to_i64);
            let invoice = json!({ "id": event.id, "amount": amount });
            let reminder =
                Job::new("remind").payload(&event.id)?.after(Duration::from_secs(14 * 86_400));
            Ok(Effects::new().change(Change::create("invoice", &invoice)?).schedule(reminder))
        })
        .job("remind", |job, db| async move {
            // Send a mail. A crash between sending and committing sends it twice.
            Ok(Effects::new().result("sent"))
        })
        .webhooks(Arc::new(poster));

    loop {
        match db.work(&handlers).await?.next {
            Next::Now => {}
            Next::At(_) | Next::Idle => wait_a_moment().await,
        }
    }
}

#[test]
fn an_order_is_billed_as_the_page_shows() {
    run(async {
        let shown = blocks(PAGE).into_iter().find(|block| block.language == "toml").unwrap();
        let db = open(&shown.text).await;
        let order = db.create("order", &json!({ "amount": 5 })).await.unwrap();
        db.update("order", order.id(), &json!({ "amount": 6 })).await.unwrap();
        let ((poster, mut posted), (waits, mut waiting)) =
            (mpsc::unbounded_channel(), mpsc::unbounded_channel());
        let wait = move || {
            waits.send(()).unwrap();
            std::future::pending()
        };
        let working = tokio::spawn(work(db.clone(), Poster(poster), wait));
        waiting.recv().await.unwrap();
        working.abort();
        let invoice = db.get("invoice", order.id()).await.unwrap().expect("it is billed");
        assert_eq!(invoice.get("amount"), Some(&Value::from(5)));
        let reminders = db.list("job", "by_status").by("status", "waiting").read().await.unwrap();
        assert_eq!(reminders.items.len(), 1);
        assert_eq!(posted.recv().await.unwrap().address, "https://example.com/orders");
    });
}

#[test]
fn a_process_tells_others_that_it_lives_as_the_page_shows() {
    run(async {
        let db = open("jobs = true\n[entity.order]").await;
        // The second example.
        let beating = tokio::spawn(async move {
            while let Ok(Next::At(_)) | Err(_) = db.heartbeat().await {
                tokio::time::sleep(Duration::from_secs(2)).await;
            }
        });
        // Its end: it goes on.
        tokio::task::yield_now().await;
        assert!(!beating.is_finished());
        beating.abort();
    });
}

async fn jobs(db: Db) -> Result<(), Error> {
    let time_ms = 4_102_444_800_000;
    // The third example.
    db.schedule(Job::new("remind").id("order-7").after(Duration::from_secs(600)).payload(&7)?)
        .await?;
    db.reschedule("order-7", time_ms).await?;
    db.cancel("order-7").await?;
    db.list("job", "by_status").by("status", "waiting").read().await?;
    // Its end.
    let job = db.get("job", "order-7").await?.expect("it is kept for a week");
    assert_eq!(job.get("status"), Some(&Value::from("canceled")));
    Ok(())
}

async fn dead_letters(db: Db) -> Result<(), Error> {
    let refuse = Handlers::new().job("remind", |_, _| async { Err(Failure::fatal("no address")) });
    for id in ["order-8", "order-9"] {
        db.schedule(Job::new("remind").id(id)).await?;
    }
    while db.work(&refuse).await?.next == Next::Now {}
    // The fourth example.
    let dead = db.list("job", "by_status").by("status", "failed").read().await?; // inspect
    db.replay(dead.items[0].id()).await?; // retry
    db.delete("job", dead.items[1].id()).await?; // drop
    // Its end.
    let status = async |status| db.list("job", "by_status").by("status", status).read().await;
    let left = (status("failed").await?.items.len(), status("waiting").await?.items.len());
    assert_eq!((dead.items.len(), left), (2, (0, 1)));
    Ok(())
}

#[test]
fn jobs_are_scheduled_and_replayed_as_the_page_shows() {
    run(async {
        jobs(open("jobs = true\n[entity.order]").await).await.unwrap();
        dead_letters(open("jobs = true\n[entity.order]").await).await.unwrap();
    });
}
