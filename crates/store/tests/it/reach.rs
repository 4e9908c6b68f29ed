//! Histories cover what they are meant to. A generator that only makes refused requests, or pages
//! of one item, would let any store pass.

use std::collections::BTreeMap;

use keyloom_testkit::history::{self, Op, Outcome, ReadOp};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::histories::STEPS;
use crate::subjects::reference;

#[test]
fn histories_cover_every_kind_of_answer() {
    let mut runner = TestRunner::deterministic();
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for _ in 0..100 {
        let ops = history::history(STEPS).new_tree(&mut runner).unwrap().current();
        let outcomes = history::play(reference().as_ref(), &ops);
        for (op, outcome) in ops.iter().zip(&outcomes) {
            for fact in facts(op, outcome) {
                *seen.entry(fact).or_default() += 1;
            }
        }
    }
    for (fact, least) in EXPECTED {
        let count = seen.get(fact).copied().unwrap_or_default();
        assert!(count >= *least, "{fact}: {count} times, of at least {least}; all: {seen:#?}");
    }
}

/// What a hundred histories must cover, and how often at least.
const EXPECTED: &[(&str, u32)] = &[
    ("put accepted", 1000),
    ("put refused", 50),
    ("update accepted", 100),
    ("update refused", 50),
    ("delete returned an image", 10),
    ("transaction accepted", 30),
    ("transaction canceled", 20),
    ("transaction with a token used before", 5),
    ("batch written", 50),
    ("index added", 5),
    ("index query of several pages", 10),
    ("query of several pages", 25),
    ("query backward with items", 25),
    ("query refused", 30),
    ("scan of several pages", 20),
    ("scan of a segment with items", 15),
    ("snapshot read", 100),
    ("changes read", 40),
    ("expiry in the feed", 5),
];

fn facts(op: &Op, outcome: &Outcome) -> Vec<&'static str> {
    let refused = matches!(outcome, Outcome::Refused(_));
    let either = |accepted, otherwise| vec![if refused { otherwise } else { accepted }];
    match (op, outcome) {
        (Op::Put(_), _) => either("put accepted", "put refused"),
        (Op::Update(_), _) => either("update accepted", "update refused"),
        (Op::Delete(_), Outcome::Item(Some(_))) => vec!["delete returned an image"],
        (Op::TransactWrite(_), Outcome::Refused(words)) if words.starts_with("Canceled") => {
            vec!["transaction canceled"]
        }
        (Op::TransactWrite(_), Outcome::Refused(words)) if words.starts_with("TokenReused") => {
            vec!["transaction with a token used before"]
        }
        (Op::TransactWrite(_), Outcome::Done) => vec!["transaction accepted"],
        (Op::BatchWrite(_), Outcome::Unprocessed(_)) => vec!["batch written"],
        (Op::Alter(_, keyloom_store::Alteration::AddIndex(_)), Outcome::Spec { .. }) => {
            vec!["index added"]
        }
        (Op::ReadSnapshot(_), _) if !refused => vec!["snapshot read"],
        (Op::Changes { .. }, Outcome::Changes(changes)) => {
            let expired = |seen: &history::Seen| seen.cause == keyloom_store::Cause::Expiry;
            let expiry = changes.iter().any(expired).then_some("expiry in the feed");
            let some = (!changes.is_empty()).then_some("changes read");
            some.into_iter().chain(expiry).collect()
        }
        (Op::Read(read), _) => read_facts(read, outcome),
        _ => vec![],
    }
}

fn read_facts(op: &ReadOp, outcome: &Outcome) -> Vec<&'static str> {
    match (op, outcome) {
        (ReadOp::Query(_), Outcome::Refused(_)) => vec!["query refused"],
        (ReadOp::Query(query), Outcome::Pages(pages)) => {
            let several = pages.iter().filter(|page| page.scanned > 0).count() > 1;
            let backward = query.direction == keyloom_store::Direction::Backward;
            let facts = [
                (several, "query of several pages"),
                (several && query.index.is_some(), "index query of several pages"),
                (backward && pages[0].scanned > 1, "query backward with items"),
            ];
            facts.into_iter().filter_map(|(holds, fact)| holds.then_some(fact)).collect()
        }
        (ReadOp::Scan(scan), Outcome::Scanned { pages, items, .. }) => {
            let facts = [
                (pages.len() > 2, "scan of several pages"),
                (scan.segment.is_some() && !items.is_empty(), "scan of a segment with items"),
            ];
            facts.into_iter().filter_map(|(holds, fact)| holds.then_some(fact)).collect()
        }
        _ => vec![],
    }
}
