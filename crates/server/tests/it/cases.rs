//! Random cases: how many run, and how a failure is reported.

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestRunner};

/// Runs `PROPTEST_CASES` cases if that is set, otherwise this many. A failing case is shrunk first.
pub(crate) fn for_all<S: Strategy>(ordinary: u32, drawn: S, play: impl Fn(S::Value)) {
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    let cases = if asked { Config::default().cases } else { ordinary };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let played = TestRunner::new(config).run(&drawn, |case| {
        play(case);
        Ok(())
    });
    if let Err(error) = played {
        panic!("{error}");
    }
}
