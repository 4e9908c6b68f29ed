//! Each fault by itself: what is retried and how often, what is reported, and what was applied.

use std::collections::BTreeSet;
use std::time::Duration;

use keyloom_dynamodb::Remote;
use keyloom_store::{
    BatchAction, BatchGet, BatchWrite, CancelReason, Delete, Error, Get, Put, Read, Scan, Store,
    TransactAction, TransactGet, TransactWrite,
};
use keyloom_value::Item;
use pollster::block_on;

use super::faulty::{Fault, Faulty, remote};
use super::items::{addition, item, key, table};

const ATTEMPTS_MAX: u32 = 4;
/// Attempts at a transaction that conflicts with others.
const CONFLICTS_MAX: u32 = 12 * ATTEMPTS_MAX;
/// Long enough for a busy machine.
const PATIENT: Duration = Duration::from_secs(30);
/// How long a test waits for a server that does not respond.
const IMPATIENT: Duration = Duration::from_millis(200);

/// Refusals after which a retry may succeed.
const TRANSIENT: [Fault; 5] = [
    Fault::Refused(400, "ProvisionedThroughputExceededException"),
    Fault::Refused(400, "ThrottlingException"),
    Fault::Refused(400, "RequestLimitExceeded"),
    Fault::Refused(400, "LimitExceededException"),
    Fault::Refused(400, "TransactionConflictException"),
];
const THROTTLED: Fault = TRANSIENT[0];

/// Failures after which the outcome is unknown.
const NO_RESPONSE: [Fault; 7] = [
    Fault::Refused(500, "InternalServerError"),
    Fault::Refused(503, "ServiceUnavailable"),
    Fault::CutBefore,
    Fault::CutAfter,
    Fault::CutWithin,
    Fault::Garbage,
    Fault::Silence,
];

/// A write by one request without a token.
#[derive(Clone, Copy, Debug)]
enum Write {
    Put,
    Update,
    Delete,
    Batch,
}

impl Write {
    const ALL: [Write; 4] = [Write::Put, Write::Update, Write::Delete, Write::Batch];

    fn operation(self) -> &'static str {
        match self {
            Write::Put => "PutItem",
            Write::Update => "UpdateItem",
            Write::Delete => "DeleteItem",
            Write::Batch => "BatchWriteItem",
        }
    }

    fn to(self, remote: &Remote) -> Result<(), Error> {
        match self {
            Write::Put => block_on(remote.put(Put::new(&table(), item(1, 7)))).map(drop),
            Write::Update => block_on(remote.update(addition(1))).map(drop),
            Write::Delete => block_on(remote.delete(Delete::new(&table(), key(1)))).map(drop),
            Write::Batch => block_on(remote.batch_write(puts(1))).map(drop),
        }
    }
}

fn puts(count: u64) -> BatchWrite {
    let put = |id| BatchAction::Put(table(), item(id, 7));
    BatchWrite { actions: (0..count).map(put).collect() }
}

fn start() -> (Faulty, Remote) {
    let server = Faulty::start();
    let remote = server.remote(ATTEMPTS_MAX, PATIENT);
    // Fills the spec cache, so that later requests send nothing else.
    block_on(remote.get(Get::new(&table(), key(0)))).unwrap();
    (server, remote)
}

fn times(fault: Fault, count: u32) -> Vec<Fault> {
    vec![fault; count as usize]
}

fn stored(server: &Faulty) -> Vec<Item> {
    block_on(server.store.scan(Scan::new(&table()))).unwrap().items
}

#[track_caller]
fn assert_sent(server: &Faulty, operation: &str, count: u32) {
    assert_eq!(server.received(operation).len(), count as usize, "{operation} was sent");
}

#[test]
fn a_write_that_was_not_applied_is_retried() {
    let (server, remote) = start();
    for write in Write::ALL {
        for fault in TRANSIENT {
            server.script(write.operation(), &times(fault, ATTEMPTS_MAX - 1));
            write.to(&remote).unwrap_or_else(|error| panic!("{write:?}, {fault:?}: {error}"));
            assert_sent(&server, write.operation(), ATTEMPTS_MAX);
        }
    }
}

#[test]
fn a_service_that_stays_busy_is_reported_after_the_last_attempt_and_nothing_is_applied() {
    let (server, remote) = start();
    for write in Write::ALL {
        for fault in TRANSIENT {
            server.always(write.operation(), fault);
            let refused = write.to(&remote);
            let Fault::Refused(_, code) = fault else { unreachable!("refusals pass") };
            let has_code = |error: &Error| matches!(error, Error::Refused(refusal) if refusal.code.as_deref() == Some(code));
            assert!(refused.as_ref().is_err_and(has_code), "{write:?}, {fault:?}: {refused:?}");
            assert_sent(&server, write.operation(), ATTEMPTS_MAX);
            assert!(stored(&server).is_empty());
        }
    }
}

#[test]
fn a_write_that_may_have_been_applied_is_sent_once() {
    let server = Faulty::start();
    let (patient, impatient) =
        (server.remote(ATTEMPTS_MAX, PATIENT), server.remote(ATTEMPTS_MAX, IMPATIENT));
    for write in Write::ALL {
        for fault in NO_RESPONSE {
            server.always(write.operation(), fault);
            let remote = if fault == Fault::Silence { &impatient } else { &patient };
            let unanswered = write.to(remote);
            assert!(
                matches!(unanswered, Err(Error::Unanswered(_))),
                "{write:?}, {fault:?}: {unanswered:?}"
            );
            assert_sent(&server, write.operation(), 1);
        }
    }
}

#[test]
fn a_read_is_retried_after_every_failure() {
    let server = Faulty::start();
    let remote = server.remote(ATTEMPTS_MAX, IMPATIENT);
    block_on(server.store.put(Put::new(&table(), item(1, 7)))).unwrap();
    let get = || Get::new(&table(), key(1));
    for fault in [&TRANSIENT[..], &NO_RESPONSE[..]].concat() {
        server.script("GetItem", &[fault]);
        assert_eq!(block_on(remote.get(get())).unwrap(), Some(item(1, 7)), "{fault:?}");
        server.script("TransactGetItems", &[fault, Fault::Conflict]);
        let gets = TransactGet { gets: vec![get()] };
        let got = block_on(remote.transact_get(gets)).unwrap();
        assert_eq!(got, [Some(item(1, 7))], "{fault:?}");
        server.script("Scan", &[fault]);
        assert_eq!(block_on(remote.scan(Scan::new(&table()))).unwrap().items, [item(1, 7)]);
    }
}

#[test]
fn a_service_that_stays_down_is_reported_after_the_last_attempt() {
    let (server, remote) = start();
    for (fault, is_refusal) in
        [(THROTTLED, true), (NO_RESPONSE[0], false), (Fault::CutBefore, false)]
    {
        server.always("GetItem", fault);
        let error = block_on(remote.get(Get::new(&table(), key(1)))).unwrap_err();
        assert_eq!(matches!(error, Error::Refused(_)), is_refusal, "{fault:?}: {error}");
        assert_eq!(matches!(error, Error::Unanswered(_)), !is_refusal, "{fault:?}: {error}");
        assert_sent(&server, "GetItem", ATTEMPTS_MAX);
    }
}

#[test]
fn a_refused_connection_means_nothing_was_applied() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let remote = remote(&format!("http://127.0.0.1:{port}"), ATTEMPTS_MAX, PATIENT);
    let error = block_on(remote.put(Put::new(&table(), item(1, 7)))).unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error}");
    assert!(error.to_string().contains("refused"), "{error}");
}

/// Adds one to two items.
fn transaction() -> TransactWrite {
    TransactWrite::new([1, 2].map(|id| TransactAction::Update(addition(id))).into())
}

#[test]
fn a_transaction_is_retried_with_its_token_and_applied_once() {
    let server = Faulty::start();
    let (patient, impatient) =
        (server.remote(ATTEMPTS_MAX, PATIENT), server.remote(ATTEMPTS_MAX, IMPATIENT));
    let in_progress = Fault::Refused(400, "TransactionInProgressException");
    let faults = [&TRANSIENT[..], &NO_RESPONSE[..], &[in_progress, Fault::Conflict]].concat();
    for (count, fault) in (1..).zip(faults) {
        server.script("TransactWriteItems", &[fault, Fault::CutAfter, in_progress]);
        let remote = if fault == Fault::Silence { &impatient } else { &patient };
        block_on(remote.transact_write(transaction()))
            .unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        assert_eq!(stored(&server), [item(1, count), item(2, count)], "{fault:?}");
        let received = server.received("TransactWriteItems");
        let tokens: BTreeSet<_> =
            received.iter().map(|request| request.token.as_ref().unwrap()).collect();
        assert_eq!((received.len(), tokens.len()), (ATTEMPTS_MAX as usize, 1), "{fault:?}");
    }
}

#[test]
fn a_transaction_that_may_have_been_applied_is_never_reported_as_refused() {
    let (server, remote) = start();
    for done in [Fault::CutAfter, Fault::CutWithin, Fault::Garbage] {
        for last in [&TRANSIENT[..], &[Fault::Conflict]].concat() {
            let rest = match last {
                Fault::Conflict => times(last, CONFLICTS_MAX),
                _ => times(last, ATTEMPTS_MAX - 1),
            };
            server.script("TransactWriteItems", &[&[done], &rest[..]].concat());
            let error = block_on(remote.transact_write(transaction())).unwrap_err();
            assert!(matches!(error, Error::Unanswered(_)), "{done:?}, {last:?}: {error}");
        }
    }
}

#[test]
fn a_transaction_with_a_lasting_conflict_is_canceled_with_the_reason() {
    let (server, remote) = start();
    server.always("TransactWriteItems", Fault::Conflict);
    match block_on(remote.transact_write(transaction())) {
        Err(Error::Canceled { reasons }) => {
            assert!(matches!(reasons[..], [Some(CancelReason::Refused(_)), None]), "{reasons:?}");
        }
        other => panic!("{other:?}"),
    }
    assert_sent(&server, "TransactWriteItems", CONFLICTS_MAX);
    assert!(stored(&server).is_empty());
}

#[test]
fn unprocessed_parts_of_a_batch_are_retried() {
    let (server, remote) = start();
    let left = [Fault::Leftover(9), THROTTLED, Fault::Leftover(0)];
    server.script("BatchWriteItem", &left);
    assert_eq!(block_on(remote.batch_write(puts(25))).unwrap(), BatchWrite::default());
    assert_eq!(stored(&server).len(), 25);
    assert_sent(&server, "BatchWriteItem", ATTEMPTS_MAX);
}

#[test]
fn parts_unprocessed_after_the_last_attempt_are_returned() {
    let (server, remote) = start();
    for last in [Fault::Leftover(0), THROTTLED] {
        let faults = [&[Fault::Leftover(9)], &times(last, ATTEMPTS_MAX)[..]].concat();
        server.script("BatchWriteItem", &faults);
        let left = block_on(remote.batch_write(puts(25))).unwrap();
        assert_eq!(left.actions, puts(25).actions[9..], "{last:?}");
        assert_eq!(stored(&server).len(), 9);
        assert_sent(&server, "BatchWriteItem", ATTEMPTS_MAX);
    }
}

#[test]
fn a_batch_of_reads_is_retried_until_an_item_comes_and_returns_the_rest() {
    let (server, remote) = start();
    block_on(server.store.batch_write(puts(25))).unwrap();
    let gets: Vec<Get> = (0..25).map(|id| Get::new(&table(), key(id))).collect();
    server.script("BatchGetItem", &[Fault::Leftover(0), THROTTLED, Fault::Leftover(9)]);
    let got = block_on(remote.batch_get(BatchGet { gets: gets.clone() })).unwrap();
    assert_eq!((got.items.len(), &got.unprocessed[..]), (9, &gets[9..]));
    server.always("BatchGetItem", Fault::Leftover(0));
    let got = block_on(remote.batch_get(BatchGet { gets: gets.clone() })).unwrap();
    assert_eq!((got.items.len(), got.unprocessed), (0, gets));
    assert_sent(&server, "BatchGetItem", ATTEMPTS_MAX);
}
