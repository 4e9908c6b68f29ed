//! Writers that change tasks at a fixed rate.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use keyloom_bench::HttpClient;

use crate::served::{Served, TASKS_EACH, send, task_id};
use crate::{Done, Setting, micros};

/// Connections that write.
const WRITERS: usize = 64;

pub(crate) struct Writers(Vec<JoinHandle<Vec<Done>>>);

impl Writers {
    pub(crate) fn start(served: &Served, setting: Setting, start: Instant) -> Writers {
        let writer = |index: usize| {
            let (client, tasks) = (served.client(), served.service.tasks());
            std::thread::spawn(move || write((client, tasks), index, setting, start))
        };
        Writers((0..WRITERS).map(writer).collect())
    }

    /// The acknowledged writes.
    pub(crate) fn join(self) -> Vec<Done> {
        self.0.into_iter().flat_map(|writer| writer.join().expect("a writer ends")).collect()
    }
}

fn write(
    (mut client, tasks): (HttpClient, &str),
    index: usize,
    setting: Setting,
    start: Instant,
) -> Vec<Done> {
    let (begun, mut times) = (Instant::now(), vec![]);
    let pause = Duration::from_secs_f64(WRITERS as f64 / setting.writes as f64);
    // Writers do not begin at the same moment.
    let mut next = begun + pause.mul_f64(index as f64 / WRITERS as f64);
    let mut random = index as u64 + 1;
    while begun.elapsed() < setting.time {
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        next += pause;
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let drawn = usize::try_from(random >> 33).unwrap_or(0);
        // One of the tasks on the page; half of the changes move it.
        let (owner, number) = (drawn % setting.queries, drawn / 7 % (TASKS_EACH / 2));
        let sent = micros(start);
        let body = match drawn.is_multiple_of(2) {
            true => format!(r#"{{"sent":{sent}}}"#),
            false => format!(r#"{{"sent":{sent},"rank":{}}}"#, drawn / 3 % (TASKS_EACH / 2)),
        };
        send(&mut client, ("PATCH", &format!("{tasks}/{}", task_id(owner, number))), &body, 200);
        times.push(Done { sent, at: micros(start) });
    }
    times
}
