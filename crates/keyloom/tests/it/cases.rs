//! Random cases: how many there are, and how a failure is reported.

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestRunner};

/// How many cases: so many in an ordinary run, or as many as `PROPTEST_CASES` says.
pub(crate) fn cases(ordinary: u32) -> u32 {
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    if asked { Config::default().cases } else { ordinary }
}

/// Plays cases, so many in an ordinary run. One that fails is made smaller first.
pub(crate) fn for_all<S: Strategy>(ordinary: u32, drawn: S, play: impl Fn(S::Value)) {
    let config = Config {
        cases: cases(ordinary),
        failure_persistence: None,
        max_shrink_iters: 400,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&drawn, |case| {
        play(case);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}
