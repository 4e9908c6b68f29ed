//! Random cases: how many run, and how a failure is reported.

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestRunner};

/// The number of cases: `PROPTEST_CASES` if it is set, otherwise the given default.
pub(crate) fn cases(ordinary: u32) -> u32 {
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    if asked { Config::default().cases } else { ordinary }
}

/// Runs random cases, by default so many. A failing case is shrunk first.
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
