//! Cases of the conformance suite that are known to fail, and why. `COMPAT.md` documents them.

use keyloom_testkit::conformance::Failure;

/// A case that fails.
#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "only the debug form shows it")]
pub(crate) struct Difference {
    /// The case, or the file of cases if it ends with `::`.
    pub(crate) case: &'static str,
    pub(crate) what: &'static str,
    /// Whether it fails regardless of timing.
    pub(crate) is_certain: bool,
}

impl Difference {
    pub(crate) fn covers(&self, case: &str) -> bool {
        if self.case.ends_with("::") { case.starts_with(self.case) } else { case == self.case }
    }

    /// Whether it fails every time. Concurrent cases may pass by chance.
    pub(crate) fn is_certain(&self) -> bool {
        self.is_certain && !self.case.starts_with("concurrency::")
    }
}

pub(crate) const fn differs(case: &'static str, what: &'static str) -> Difference {
    Difference { case, what, is_certain: true }
}

const NO_SNAPSHOTS: &str = "the service has no snapshots";
const UNITS: &str = "bytes read are known in units of 4 KB, unless all were returned";
const OWN_WORDS: &str = "the service reports it with its own message";

/// Differences of the remote store on any service.
pub(crate) const REMOTE: &[Difference] = &[
    differs("snapshots::", NO_SNAPSHOTS),
    differs("concurrency::a_transaction_is_seen_whole", NO_SNAPSHOTS),
    differs("concurrency::an_index_is_never_behind_its_table", NO_SNAPSHOTS),
    differs("queries::a_filter_drops_what_was_read", UNITS),
    differs("indexes::a_local_index_reads_the_table_for_the_rest", UNITS),
    differs("feed::each_change_has_its_images_and_its_time", "times of streams are whole seconds"),
    differs("limits::a_condition_has_at_most_300_operators", "their text is longer than 4 KB"),
    differs("conditions::other_tests_hold_where_they_should", "BETWEEN 9 AND 1 is refused"),
    differs("transactions::a_transaction_has_a_maximum_size", OWN_WORDS),
    differs("transactions::a_transactional_read_has_a_maximum_size_and_length", OWN_WORDS),
];

/// Asserts that only known cases fail, and that all of them do unless they may pass.
pub(crate) fn assert_known(failures: Vec<Failure>, known: &[&[Difference]]) {
    let known = || known.iter().flat_map(|list| list.iter());
    let is_known = |failure: &Failure| known().any(|difference| difference.covers(failure.case));
    let unknown = failures.iter().filter(|failure| !is_known(failure));
    let unknown = unknown.map(|failure| format!("- {}: {}", failure.case, failure.message));
    let unknown: Vec<String> = unknown.collect();
    assert!(unknown.is_empty(), "{} cases failed:\n{}", unknown.len(), unknown.join("\n"));
    let passed = known().filter(|difference| {
        difference.is_certain() && !failures.iter().any(|failure| difference.covers(failure.case))
    });
    let passed: Vec<&Difference> = passed.collect();
    assert!(passed.is_empty(), "these cases pass now, remove them from the list: {passed:#?}");
}
