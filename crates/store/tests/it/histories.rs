//! Every store answers every history like the memory store.

use keyloom_testkit::history;
use proptest::test_runner::{Config, FileFailurePersistence, TestRunner};

use crate::subjects::{STORES, reference};

/// Histories in a regular run; more with `PROPTEST_CASES`.
const HISTORIES: u32 = 500;
/// Seeds of histories that once failed. They are played first.
const REGRESSIONS: &str = "tests/it/histories.regressions";
/// Steps of the longest history.
pub(crate) const STEPS: usize = 100;

#[test]
fn every_store_answers_histories_like_the_memory_store() {
    for (name, make) in STORES {
        println!("playing histories on the {name}");
        let asked = std::env::var_os("PROPTEST_CASES").is_some();
        let mut config = Config::default();
        config.cases = if asked { config.cases } else { HISTORIES };
        let seeds = FileFailurePersistence::Direct(REGRESSIONS);
        config.failure_persistence = Some(Box::new(seeds));
        let result = TestRunner::new(config).run(&history::history(STEPS), |ops| {
            history::compare(reference().as_ref(), make().as_ref(), &ops);
            Ok(())
        });
        if let Err(error) = result {
            panic!("the {name} and the reference disagree: {error}");
        }
    }
}

#[test]
fn a_history_played_twice_has_the_same_outcome() {
    let config = Config { cases: 32, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&history::history(STEPS), |ops| {
        let [first, second] =
            [reference(), reference()].map(|subject| history::play(subject.as_ref(), &ops));
        assert_eq!(first, second);
        Ok(())
    });
    result.unwrap();
}
