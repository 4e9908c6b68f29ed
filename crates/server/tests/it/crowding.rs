//! A light request beside clients that send heavy ones without a pause.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::rig::Rig;

/// How many clients send heavy requests.
pub(crate) const HEAVY_CLIENTS: usize = 32;
/// How often the light request is sent.
const LIGHT_REQUESTS: usize = 25;

/// Ends the load on drop, also when the test fails.
struct Over<'o>(&'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Asserts that a light request, beside [`HEAVY_CLIENTS`] that send heavy ones, waits for few of these at the
/// median. If requests did not take turns, it would wait for about one of each client.
pub(crate) fn assert_light_passes_heavy(rig: &Rig, light: &[u8], heavy: &[u8]) {
    let (is_over, answered) = (&AtomicBool::new(false), &AtomicUsize::new(0));
    let mut passed: Vec<usize> = std::thread::scope(|scope| {
        let _over = Over(is_over);
        for _ in 0..HEAVY_CLIENTS {
            scope.spawn(move || {
                let mut client = rig.client();
                while !is_over.load(Ordering::Relaxed) {
                    assert_eq!(client.send(heavy).status, 200);
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut client = rig.client();
        let ask = || {
            let before = answered.load(Ordering::Relaxed);
            assert_eq!(client.send(light).status, 200);
            answered.load(Ordering::Relaxed) - before
        };
        std::iter::repeat_with(ask).take(LIGHT_REQUESTS).collect()
    });
    passed.sort_unstable();
    assert!(passed[passed.len() / 2] < HEAVY_CLIENTS / 4, "{passed:?}");
}
